# SPDX-License-Identifier: MIT
"""Tensors over loopback: dtypes, sizes, layouts."""
import pytest
import torch
from conftest import SOON, bytes_of, in_thread, random_tensor

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.uint8, torch.int8,
          torch.int16, torch.int32, torch.int64, torch.bool, torch.complex64, torch.complex128,
          torch.complex32, torch.float8_e4m3fn, torch.float8_e5m2]
DTYPES += [getattr(torch, name) for name in ("uint16", "uint32", "uint64") if hasattr(torch, name)]


def transfer(pair, tensor, into, **kwargs):
    client, server = pair
    sender = in_thread(lambda: client.send(tensor, timeout=SOON, **kwargs))
    info = server.recv(into, timeout=SOON)
    sender.join()
    return info


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(1,), (17,), (3, 5, 7), (100003,), ()], ids=str)
def test_dtypes(pair, dtype, shape):
    x = random_tensor(shape, dtype)
    y = torch.empty(shape, dtype=dtype)
    info = transfer(pair, x, y)
    assert torch.equal(bytes_of(x), bytes_of(y))
    assert info.length == info.received == x.nbytes
    assert info.fraction == 1.0 and info.reason == "complete" and not info.tolerant


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 255, 256, 16351, 16352, 16353, 1 << 18, (1 << 18) + 1,
                               1 << 20, 1 << 22, 1 << 24])
def test_sizes(pair, n):
    """1 element to 64 MB."""
    x = torch.arange(n, dtype=torch.int32)
    y = torch.empty_like(x)
    info = transfer(pair, x, y, tag=n)
    assert torch.equal(x, y)
    assert info.tag == n
    assert info.map.dtype == torch.bool and info.map.all()
    assert len(info.map) == -(-x.nbytes // info.seg_size)


def test_many_small_ones_keep_their_order(pair):
    client, server = pair

    def send():
        for i in range(500):
            client.send(torch.tensor([i]), tag=i, timeout=SOON)
    sender = in_thread(send)
    y = torch.empty(1, dtype=torch.int64)
    for i in range(500):
        assert server.recv(y, timeout=SOON).tag == i
        assert int(y) == i
    sender.join()


@pytest.mark.parametrize("shape", [(0,), (3, 0, 2)], ids=str)
def test_zero_elements(pair, shape):
    info = transfer(pair, torch.empty(shape), torch.empty(shape), tag=5, tolerant=True)
    assert (info.length, info.received, info.fraction, info.tag) == (0, 0, 1.0, 5)
    assert info.map.shape == (0,)
    # And the next one is not disturbed.
    y = torch.empty(4)
    transfer(pair, torch.arange(4.0), y)
    assert torch.equal(y, torch.arange(4.0))


def test_not_contiguous(pair):
    base = torch.arange(60.0).view(6, 10)
    for x in (base.t(), base[::2], base[:, 3], base.unfold(1, 3, 2), base[0].expand(4, 10)):
        y = torch.empty(x.shape)
        transfer(pair, x, y)
        assert torch.equal(x, y)
    into = torch.zeros(10, 6)
    transfer(pair, base.t(), into.t().t())
    assert torch.equal(into, base.t())
    wide = torch.zeros(6, 20)
    transfer(pair, base, wide[:, ::2])
    assert torch.equal(wide[:, ::2], base) and not wide[:, 1::2].any()


def test_views_and_autograd(pair):
    x = torch.randn(5, 5, requires_grad=True)
    y = torch.zeros(5, 5, requires_grad=True)
    version = y._version
    transfer(pair, x, y)
    assert torch.equal(x, y) and y.requires_grad and y.is_leaf
    assert y._version > version     # autograd sees that it was written
    # One row of a larger one, and other strides of the same size.
    big = torch.zeros(3, 5)
    transfer(pair, x[0], big[1])
    assert torch.equal(big[1], x[0]) and not big[0].any() and not big[2].any()
    with torch.inference_mode():
        z = torch.zeros(5, 5)
    transfer(pair, x, z)
    assert torch.equal(x, z)
    c = torch.randn(4, dtype=torch.complex64)
    d = torch.empty(4, dtype=torch.complex64)
    transfer(pair, c.conj(), d)
    assert torch.equal(d, c.conj())


def test_shapes_may_differ_if_the_bytes_are_the_same(pair):
    y = torch.empty(2, 6)
    transfer(pair, torch.arange(12.0), y)
    assert torch.equal(y.view(-1), torch.arange(12.0))


def test_both_directions_at_once(pair):
    client, server = pair
    a, b = torch.randn(1 << 20), torch.randn(1 << 20)
    got_a, got_b = torch.empty(1 << 20), torch.empty(1 << 20)
    tasks = [in_thread(lambda: client.send(a, timeout=SOON)),
             in_thread(lambda: server.send(b, timeout=SOON)),
             in_thread(lambda: server.recv(got_a, timeout=SOON)),
             in_thread(lambda: client.recv(got_b, timeout=SOON))]
    for task in tasks:
        task.join()
    assert torch.equal(a, got_a) and torch.equal(b, got_b)


def test_info_speaks_of_elements(pair):
    x = torch.randn(10, 3)
    info = transfer(pair, x, torch.empty(10, 3))
    mask = info.element_mask(x)
    assert mask.shape == x.shape and mask.dtype == torch.bool and mask.all()
    assert "complete" in repr(info)
    with pytest.raises(ValueError, match="size"):
        info.element_mask(torch.empty(3))


def test_stats(pair):
    client, server = pair
    transfer(pair, torch.ones(1 << 18), torch.empty(1 << 18))
    assert server.stats()["bytes_received"] == 1 << 20
    assert client.local == server.peer and client.peer == server.local
    assert client.fileno() >= 0
