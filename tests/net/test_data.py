# SPDX-License-Identifier: GPL-2.0
"""Messages over a link that loses nothing arrive identical, whatever their size and number."""
import socket

import pytest

from tests.net import lab, ltp
from tests.net.data import blob, check_message, same
from tests.net.lab import MIB
from tests.net.ways import ALL, IPV4, every_way

SEG = ltp.seg_size(1500)
MTUS = [576, 577, 1280, 1281, 9000, 65535]


def transfer(tx: ltp.Socket, rx: ltp.Socket, net: lab.Net, data: bytes, **how: int) -> ltp.Message:
    sent = net.background(tx.send_message, data, **how)
    got = rx.receive(len(data))
    assert sent.result() == len(data)
    return got


def test_sizes_around_a_segment(pair: lab.Pair) -> None:
    """Each size from 1 to a segment and one, and around two and three."""
    assert pair.tx.info().seg_size == SEG == 1424
    rx = pair.rx.want_control()
    data = blob(4 * SEG)
    sizes = [*range(1, SEG + 2), *(n * SEG + more for n in (2, 3) for more in (-1, 0, 1))]
    with lab.Counting(pair.rx_host) as moved:
        for size in sizes:
            assert pair.tx.send_message(data[:size], tag=size) == size
            got = rx.receive(4 * SEG)
            assert got.size == size
            assert got.flags == socket.MSG_EOR
            assert got.rcvinfo.tag == size
            check_message(got, data[:size])
        assert moved["FlowsReceived"] == moved["ClosedComplete"] == len(sizes)
        assert moved["InData"] == sum((size - 1) // SEG + 1 for size in sizes)
        assert moved.drops() == {}


@every_way
@pytest.mark.parametrize("size", [65535, 65536, 65537, MIB - 1, MIB, MIB + 1, 64 * MIB])
def test_large(pair: lab.Pair, size: int) -> None:
    most = 64 * MIB if pair.net.way == IPV4 else 16 * MIB
    data = blob(min(size, lab.scaled(most, 8 * MIB)))
    got = transfer(pair.tx, pair.rx.want_control(), pair.net, data, tag=1 << 63)
    assert got.flags == socket.MSG_EOR
    assert got.rcvinfo.tag == 1 << 63
    assert got.rcvinfo.reason == ltp.COMPLETE
    check_message(got, data)


def test_plain_program(pair: lab.Pair) -> None:
    """send() and recv() and no control messages, as one who never heard of LTP."""
    data = blob(300000)
    sent = pair.net.background(pair.tx.send, data)
    same(pair.rx.recv(400000), data)
    assert sent.result() == len(data)
    pair.rx.sendall(b"answer")
    assert pair.tx.recv(100) == b"answer"


@pytest.mark.parametrize("size", [1, 10000])
def test_many(pair: lab.Pair, size: int) -> None:
    """One after the other without waiting, in order, none lost, none doubled."""
    count = lab.scaled(5000, 1000)
    data = blob(size + count)

    def send() -> None:
        for i in range(count):
            assert pair.tx.send_message(data[i:i + size], tag=i) == size

    sent = pair.net.background(send)
    pair.rx.set(ltp.RECVRCVINFO, 1)
    buffer = bytearray(size)
    for i in range(count):
        got = pair.rx.receive_into(buffer, 64)
        assert got.rcvinfo.tag == i
        same(buffer, data[i:i + size])
    sent.result()


@every_way
def test_both_directions(pair: lab.Pair) -> None:
    """What two sides send at the same time does not disturb each other."""
    count, size = 20, MIB

    def send(sock: ltp.Socket, seed: int) -> None:
        for i in range(count):
            assert sock.send_message(blob(size, seed + i % 2), tag=i) == size

    def receive(sock: ltp.Socket, seed: int) -> None:
        for i in range(count):
            got = sock.receive(size)
            assert got.rcvinfo.tag == i
            same(got.data, blob(size, seed + i % 2))

    pair.rx.want_control()
    pair.tx.want_control()
    jobs = [
        pair.net.background(send, pair.tx, 10),
        pair.net.background(send, pair.rx, 20),
        pair.net.background(receive, pair.rx, 10),
        pair.net.background(receive, pair.tx, 20),
    ]
    for job in jobs:
        job.result()


def test_flows_in_flight(pair: lab.Pair) -> None:
    """Flows that nobody reads yet all come, and are there when the reader wants them."""
    size, count = 20000, 100
    for i in range(count):
        pair.tx.send_message(blob(size, 7)[:size - i], tag=i)
    lab.until(lambda: pair.rx.info().flows_in == count, "all flows are there")
    lab.until(lambda: pair.tx.info().flows_out == 0, "the sender knows it")
    pair.rx.want_control()
    for i in range(count):
        got = pair.rx.receive(size)
        assert got.rcvinfo.tag == i
        check_message(got, blob(size, 7)[:size - i])


def test_associations_side_by_side(pair: lab.Pair) -> None:
    """Many associations between the same two hosts keep their messages apart."""
    pairs = [pair.more() for _ in range(16)]
    data = [blob(200000, i) for i in range(16)]
    jobs = [pair.net.background(tx.send_message, data[i]) for i, (_, tx) in enumerate(pairs)]
    for i, (rx, _) in enumerate(pairs):
        same(rx.receive(200000).data, data[i])
    for job in jobs:
        job.result()


@every_way
def test_star(net: lab.Net) -> None:
    """A gather and a broadcast through a switch."""
    server, *workers = net.star(5)
    listener = server.listen()
    socks = [worker.connect(server) for worker in workers]
    accepted = {}
    for _ in workers:
        sock, peer = listener.accept()
        net.sockets.append(sock)
        accepted[peer[0]] = sock
    jobs = [net.background(sock.send_message, blob(MIB, i)) for i, sock in enumerate(socks)]
    for i, worker in enumerate(workers):
        same(accepted[worker.addr].receive(MIB).data, blob(MIB, i))
        jobs[i].result()
    jobs = [net.background(sock.send_message, blob(MIB, 9)) for sock in accepted.values()]
    for sock in socks:
        same(sock.receive(MIB).data, blob(MIB, 9))


@pytest.mark.parametrize(
    "way, mtu", [(w, mtu) for w in ALL for mtu in MTUS if mtu >= 1280 or not w.v6], ids=str
)
def test_mtu(net: lab.Net, mtu: int) -> None:
    """Segments follow the MTU; nothing has to be fragmented."""
    pair = net.pair(mtu)
    seg = net.way.seg_size(mtu)
    assert pair.tx.info().seg_size == seg
    rx = pair.rx.want_control()
    for size in (1, seg - 1, seg, seg + 1, 10 * seg + 5, MIB):
        got = transfer(pair.tx, rx, net, blob(MIB)[:size])
        assert got.rcvmap.seg_size == seg
        check_message(got, blob(MIB)[:size])
    # But a tail probe that is too early, on a slow machine, is cut as long as its size is in doubt.
    again = pair.tx_host.counters()["Retransmitted"]
    assert not fragments(pair.tx_host) or (again and lab.KERNEL != "plain")


def fragments(host: lab.Host) -> int:
    """How many this host has made."""

    def read() -> int:
        if host.net.way.v6:
            with open("/proc/thread-self/net/snmp6", encoding="ascii") as file:
                return int(dict(line.split() for line in file)["Ip6FragCreates"])
        with open("/proc/thread-self/net/snmp", encoding="ascii") as file:
            names, values = [line.split() for line in file if line.startswith("Ip:")]
        return int(values[names.index("FragCreates")])

    return host.enter(read)


@every_way
def test_mtu_shrinks(net: lab.Net) -> None:
    """A smaller path MTU fragments the flow under way and shrinks the next flow's segments."""
    pair = net.pair(1500)
    rx = pair.rx.want_control()
    pair.tx.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 << 10)
    pair.tx_host.netem("delay 2ms")
    data = blob(MIB)
    pair.tx.setblocking(False)
    first = pair.tx.send(data)
    seg = net.way.seg_size(1500)
    assert 0 < first < MIB and first % seg == 0
    small = 1300 if net.way.v6 else 1000
    for host in pair.rx_host, pair.tx_host:
        host.set_mtu(small)
    pair.tx.setblocking(True)
    rest = net.background(pair.tx.send_message, data[first:])
    got = rx.receive(MIB)
    assert rest.result() == MIB - first
    assert got.rcvmap.seg_size == seg
    check_message(got, data)
    assert fragments(pair.tx_host) > 0
    got = transfer(pair.tx, rx, net, data)
    assert got.rcvmap.seg_size == net.way.seg_size(small)
    check_message(got, data)


@pytest.mark.parametrize("size", [256, 1024, 1408])
def test_segsize_option(pair: lab.Pair, size: int) -> None:
    pair.tx.set(ltp.SEGSIZE, size)
    assert pair.tx.info().seg_size == size
    got = transfer(pair.tx, pair.rx.want_control(), pair.net, blob(MIB))
    assert got.rcvmap.seg_size == size
    check_message(got, blob(MIB))


@every_way
def test_loopback(net: lab.Net) -> None:
    """Both ends on one host, segments as large as its MTU of 65536 allows."""
    host = net.alone()
    pair = lab.Pair(host, host)
    got = transfer(pair.tx, pair.rx.want_control(), net, blob(8 * MIB))
    assert got.rcvmap.seg_size == ltp.SEG_MAX
    check_message(got, blob(8 * MIB))


def test_scattered_buffers(pair: lab.Pair) -> None:
    """A message from many pieces into many others."""
    data = blob(300000)
    cuts = [0, 1, 3, 1000, 1424, 5000, 5001, 200000, 300000]
    parts = [data[a:b] for a, b in zip(cuts, cuts[1:])]
    sent = pair.net.background(pair.tx.sendmsg, parts)
    into = [bytearray(n) for n in (7, 1, 99999, 1424, 198569)]
    size, _, flags, _ = pair.rx.recvmsg_into(into)
    assert size == sent.result() == len(data)
    assert flags == socket.MSG_EOR
    same(b"".join(into), data)


def test_control_memory_is_not_leaked(pair: lab.Pair) -> None:
    """After all was read nothing stays charged to either socket."""
    for _ in range(20):
        transfer(pair.tx, pair.rx, pair.net, blob(MIB))
    lab.until(lambda: pair.tx.meminfo().wmem_queued == 0, "the sender has forgotten all segments")
    assert pair.rx.meminfo().rmem_alloc == 0
    assert pair.rx.info().flows_in == 0
    assert pair.tx.info().flows_out == pair.tx.info().in_flight == 0
    lab.until(lambda: pair.tx.meminfo().wmem_alloc <= 1, "what was sent is freed")
