# SPDX-License-Identifier: MIT
"""Over a wire that loses packets: maps, critical heads, reports, and the mean of what arrived."""
import time

import numpy
import pytest
import torch
from conftest import SOON, bytes_of, in_thread, random_tensor

import ltp_torch


@pytest.fixture
def lossy(wire):
    """(client, server) over 20 % loss; the receiver closes early, and never waits long."""
    client, server = wire.pair()
    wire.set(loss=0.2, delay_ms=2, rate="200mbit")
    server.set_thresholds(fraction=0.6, lt=0.01, deadline=0.03)
    with client, server:
        yield client, server


def check_map(x, y, info, hole=0):
    """Every byte is right, or inside a hole of the map and then ``hole``."""
    a, b = bytes_of(x), bytes_of(y)
    arrived = info.map.repeat_interleave(info.seg_size)[:len(a)]
    assert len(arrived) == len(a)
    assert torch.equal(a[arrived], b[arrived])
    if hole is not None:
        assert (b[~arrived] == hole).all()
    assert info.received == int(arrived.sum())
    assert info.length == len(a)
    assert abs(info.fraction - float(info.map.float().mean())) < 1e-6
    assert (info.reason == "complete") == bool(info.map.all())
    assert torch.equal(info.element_mask(x).view(-1), arrived.view(-1, x.element_size()).all(1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.complex128, torch.uint8],
                         ids=str)
def test_map_and_data_agree(lossy, dtype):
    client, server = lossy
    holes = 0
    for seed, n in enumerate([1, 100, 1400, 20000, 300000, 123457, 5000]):
        x = random_tensor(n, dtype, seed)
        y = random_tensor(n, dtype, seed + 100)
        client.send(x, tolerant=True, tag=seed, timeout=SOON)
        info = server.recv(y, timeout=SOON)
        assert info.tag == seed and info.tolerant
        check_map(x, y, info)
        holes += int((~info.map).sum())
    assert holes        # or nothing was tested


def test_critical_head_is_always_right(lossy):
    client, server = lossy
    cut = 0
    for seed in range(60):
        x = torch.randn(40000)
        critical = [0, 4, 4000, 40000, 160000][seed % 5]
        y = torch.full_like(x, 7.0)
        client.send(x, tolerant=True, critical=critical, timeout=SOON)
        info = server.recv(y, timeout=SOON)
        check_map(x, y, info)
        assert torch.equal(x[:critical // 4], y[:critical // 4])
        cut += info.reason != "complete"
    assert cut > 10


def test_reliable_messages_are_whole(lossy):
    client, server = lossy
    for seed, n in enumerate([1, 1000, 100000, 1000000]):
        x = random_tensor(n, torch.float32, seed)
        y = torch.empty(n)
        sender = in_thread(lambda: client.send(x, timeout=SOON))
        info = server.recv(y, timeout=SOON)
        sender.join()
        assert torch.equal(bytes_of(x), bytes_of(y))
        assert info.reason == "complete" and info.fraction == 1.0 and not info.tolerant


def test_holes_can_keep_what_was_there(lossy):
    client, server = lossy
    server.keep_holes(True)
    x = random_tensor(200000, torch.uint8)
    for into in (torch.full_like(x, 99), torch.full((2, 200000), 99, dtype=torch.uint8).t()[:, 0]):
        client.send(x, tolerant=True, timeout=SOON)
        info = server.recv(into, timeout=SOON)
        assert not info.map.all()
        check_map(x, into, info, hole=99)


def test_tolerant_is_fast_and_says_why(lossy):
    client, server = lossy
    x, y = torch.randn(250000), torch.empty(250000)
    reasons = set()
    for _ in range(10):
        client.send(x, tolerant=True, timeout=SOON)
        info = server.recv(y, timeout=SOON)
        reasons.add(info.reason)
        assert info.elapsed < 1
    assert reasons <= {"complete", "fraction", "deadline"} and reasons - {"complete"}


def test_reports_equal_maps(lossy):
    client, server = lossy
    client.set_reports(True)
    for tag in range(30):
        x, y = torch.randn(30000), torch.empty(30000)
        client.send(x, tolerant=tag % 3 != 0, tag=tag, timeout=SOON)
        info = server.recv(y, timeout=SOON)
        end = time.monotonic() + 10
        report = None
        while report is None and time.monotonic() < end:
            report = client.report()
        assert report is not None
        assert (report.tag, report.length, report.received, report.reason, report.tolerant) == \
            (tag, info.length, info.received, info.reason, info.tolerant)
        assert torch.equal(report.map, info.map)
        assert torch.equal(report.element_mask(x), info.element_mask(y))
    assert client.report() is None


def test_thresholds_of_a_listener_are_inherited(wire):
    def listen():
        listener = ltp_torch.listen("127.0.0.1", 0)
        listener.set_thresholds(0.5, 0.1, 0.2)
        return listener
    with listen() as listener:
        with ltp_torch.connect(*listener.local, timeout=SOON), \
                listener.accept(timeout=SOON) as server:
            assert server.thresholds == pytest.approx((0.5, 0.1, 0.2))
            server.set_thresholds(lt=0.05)
            assert server.thresholds.lt == pytest.approx(0.05)


# -- the gather ----------------------------------------------------------------------------------

WORKERS = 3


@pytest.fixture
def group(wire):
    """(clients, servers) of several workers over the same wire, of which one loses a lot."""
    clients, servers = zip(*[wire.pair() for _ in range(WORKERS)])
    wire.set(loss=0.2, delay_ms=2, rate="200mbit")
    for i, server in enumerate(servers):
        server.set_thresholds(fraction=0.9 if i else 0.3, lt=0.02, deadline=0.06)
    yield clients, servers
    for endpoint in clients + servers:
        endpoint.close()


def send_all(clients, tensors, **kwargs):
    return [in_thread(lambda c=c, t=t: c.send(t, timeout=SOON, **kwargs))
            for c, t in zip(clients, tensors)]


def numpy_mean(tensors, infos, fill, previous=None):
    """What a gather has to give, by numpy and from the maps alone."""
    wide = numpy.float64 if tensors[0].dtype == torch.float64 else numpy.float32
    total = numpy.zeros(tensors[0].numel(), wide)
    count = numpy.zeros(tensors[0].numel(), wide)
    for i, (tensor, info) in enumerate(zip(tensors, infos)):
        mask = info.element_mask(tensor).numpy()
        value = tensor.to(torch.float64 if wide == numpy.float64 else torch.float32).numpy()
        stand_in = 0 if previous is None else previous[i]
        total += numpy.where(mask, value, stand_in).astype(wide)
        count += mask
    by = numpy.maximum(count, 1) if fill == "mean" else wide(len(tensors))
    return torch.from_numpy(total / by).to(tensors[0].dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16],
                         ids=str)
@pytest.mark.parametrize("fill", ["mean", "zero", "previous"])
def test_gather_equals_numpy(group, dtype, fill):
    clients, servers = group
    n = 60001
    gather = ltp_torch.Gather(servers, torch.empty(n, dtype=dtype), fill=fill)
    previous: list[numpy.ndarray] = [numpy.zeros(n) for _ in servers]
    out = torch.empty(n, dtype=dtype)
    shares = []
    for round_ in range(4):
        tensors = [torch.randn(n).to(dtype) for _ in clients]
        sending = send_all(clients, tensors, tolerant=True, tag=round_)
        info = gather(out, timeout=SOON)
        for task in sending:
            task.join()
        assert [w.tag for w in info.workers] == [round_] * WORKERS
        expected = numpy_mean(tensors, info.workers, fill,
                              previous if fill == "previous" else None)
        assert torch.equal(out, expected)
        for i, (tensor, w) in enumerate(zip(tensors, info.workers)):
            mask = w.element_mask(tensor).numpy()
            previous[i] = numpy.where(mask, tensor.double().numpy(), previous[i])
        count = sum(w.element_mask(out).int() for w in info.workers)
        assert torch.equal(info.counts.repeat_interleave(info.block)[:n], count)
        assert info.delivered == pytest.approx(float(count.float().mean()) / WORKERS, abs=1e-5)
        shares.append(info.delivered)
    assert min(shares) < 1      # or nothing was tested


def test_gather_counts_by_segment(group):
    """Uneven loss does not bias the mean: equal tensors have that mean where anybody delivered."""
    clients, servers = group
    x = torch.randn(100000)
    gather = ltp_torch.Gather(servers, x)
    out = torch.empty_like(x)
    sending = send_all(clients, [x] * WORKERS, tolerant=True)
    info = gather(out, timeout=SOON)
    for task in sending:
        task.join()
    count = info.counts.repeat_interleave(info.block)[:len(x)]
    assert count.min() < WORKERS
    assert torch.allclose(out[count > 0], x[count > 0], rtol=1e-6)
    assert not out[count == 0].any()


def test_broadcast_is_whole(group):
    clients, servers = group
    x = torch.randn(100000)
    sending = in_thread(lambda: ltp_torch.broadcast(servers, x, tag=9, timeout=SOON))
    for client in clients:
        y = torch.empty_like(x)
        info = client.recv(y, timeout=SOON)
        assert torch.equal(x, y) and info.tag == 9 and not info.tolerant
    sending.join()


def test_gather_names_who_is_missing(group):
    clients, servers = group
    x = torch.randn(100)
    gather = ltp_torch.Gather(servers, x)
    for i in (0, 2):
        clients[i].send(x, timeout=SOON)
    name = f"10.78.0.1:{clients[1].local[1]}"
    with pytest.raises(ltp_torch.LtpTimeout, match=r"[12] of 3 peers") as e:
        gather(torch.empty(100), timeout=0.5)
    assert name in str(e.value)
    clients[1].close()
    for i in (0, 2):
        clients[i].send(x, timeout=SOON)
    with pytest.raises(ltp_torch.PeerDied, match="closed") as e:
        gather(torch.empty(100), timeout=SOON)
    assert name in str(e.value)


def test_gather_of_another_size(group):
    clients, servers = group
    gather = ltp_torch.Gather(servers, torch.empty(100))
    for i, client in enumerate(clients):
        client.send(torch.empty(100 + (i == 1)), timeout=SOON)
    with pytest.raises(ltp_torch.SizeMismatch, match="404 bytes"):
        gather(torch.empty(100), timeout=SOON)


def test_bad_gathers(group):
    _clients, servers = group
    with pytest.raises(TypeError, match="int32"):
        ltp_torch.Gather(servers, torch.empty(3, dtype=torch.int32))
    with pytest.raises(ValueError, match="fill policy"):
        ltp_torch.Gather(servers, torch.empty(3), fill="nearest")
    gather = ltp_torch.Gather([servers[0]] * 2, torch.empty(3))
    with pytest.raises(ltp_torch.LtpError, match="twice"):
        gather(torch.empty(3), timeout=1)
    with pytest.raises(ValueError, match="2 elements.* 3 "):
        ltp_torch.mean([torch.empty(3)], [None], torch.empty(2))
    with pytest.raises(ValueError, match="contiguous"):
        ltp_torch.mean([torch.empty(6)[::2]], [None], torch.empty(3))


def test_mean_without_infos():
    xs = [torch.randn(1000) for _ in range(5)]
    out = torch.empty(1000)
    info = ltp_torch.mean(xs, [None] * 5, out)
    assert torch.allclose(out, torch.stack(xs).mean(0), atol=1e-6)
    assert info.delivered == 1.0
