# SPDX-License-Identifier: GPL-2.0
"""How associations begin and end: connect, accept, shutdown, close, linger, reset."""
import errno
import fcntl
import os
import select
import socket
import struct

import pytest

from tests.net import calls, lab, ltp, wire
from tests.net.data import blob, check_message, same
from tests.net.lab import MIB
from tests.net.peer import Wire


def linger(sock: socket.socket, seconds: int) -> None:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("=ii", 1, seconds))


def no_assocs(*hosts: lab.Host) -> None:
    lab.until(lambda: all(host.family.assocs() == [] for host in hosts), "all have ended")


# ---- connect and accept


def test_refused(link: tuple[lab.Host, lab.Host]) -> None:
    """A port at which nobody listens."""
    here, there = link
    sock = here.socket()
    assert sock.connect_ex((there.addr, 5000)) == errno.ECONNREFUSED
    assert sock.error() == 0
    # It can be tried again with the same socket.
    there.listen()
    assert sock.connect_ex((there.addr, 5000)) == 0


def test_refused_without_waiting(link: tuple[lab.Host, lab.Host]) -> None:
    here, there = link
    sock = here.socket()
    sock.setblocking(False)
    assert sock.connect_ex((there.addr, 5000)) in (errno.EINPROGRESS, errno.ECONNREFUSED)
    assert select.select([], [sock], [], 10 * lab.SLOW)[1]
    assert sock.error() in (0, errno.ECONNREFUSED)


def test_connect_errors(link: tuple[lab.Host, lab.Host]) -> None:
    here, there = link
    there.listen()
    where = (there.addr, 5000)
    for addr, expected in (
        (("192.0.2.1", 5000), errno.ENETUNREACH),
        (("10.1.255.255", 5000), errno.ENETUNREACH),
        (("224.0.0.1", 5000), errno.ENETUNREACH),
        ((there.addr, 0), errno.EINVAL),
    ):
        assert here.socket().connect_ex(addr) == expected, addr
    sock = here.connect(there)
    assert sock.connect_ex(where) == errno.EISCONN
    listener = here.listen()
    assert listener.connect_ex(where) == errno.EISCONN
    sock = here.socket()
    for raw, expected in (
        (struct.pack("=HH4s", 2, 5000, b"\x0a\x01\0\2"), errno.EINVAL),  # 8 bytes
        (struct.pack("=HH12s", 10, 5000, b""), errno.EAFNOSUPPORT),
    ):
        assert calls.result(lab.libc.connect(sock.fileno(), raw, len(raw))) == -expected


def test_only_one_association_between_two_ports(link: tuple[lab.Host, lab.Host]) -> None:
    here, there = link
    listener = there.listen()
    first, second = here.socket(), here.socket()
    for sock in first, second:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((here.addr, 6000))
    first.connect((there.addr, 5000))
    assert second.connect_ex((there.addr, 5000)) == errno.EADDRNOTAVAIL
    first.close()
    listener.accept()[0].close()
    no_assocs(here, there)
    second.connect((there.addr, 5000))


def test_interrupted_connect(net: lab.Net) -> None:
    """EINTR; the connection goes on being made, and the next call says so."""
    far = Wire(net)
    sock = far.host.socket()
    addr = struct.pack("!HH4s8x", 2 << 8, 5000, socket.inet_aton("10.1.0.2"))

    def connect() -> int:
        return calls.result(lab.libc.connect(sock.fileno(), addr, 16))

    with calls.quiet_signal(restart=False):
        caller = calls.Caller(connect).wait_asleep()
        caller.interrupt()
        assert caller.end() == -errno.EINTR
    sock.setblocking(False)
    assert sock.connect_ex(("10.1.0.2", 5000)) == errno.EALREADY
    far.accept()
    assert sock.info().state == ltp.ESTABLISHED


def test_accept_waits(link: tuple[lab.Host, lab.Host]) -> None:
    here, there = link
    listener = there.listen()
    assert calls.error_of(here.socket().accept) == errno.EINVAL
    waiting = here.net.background(listener.accept)
    sock = here.connect(there)
    child, addr = waiting.result()
    here.net.sockets.append(child)
    assert addr == sock.getsockname()
    listener.setblocking(False)
    assert calls.error_of(listener.accept) == errno.EAGAIN


def test_accept_and_shutdown(net: lab.Net) -> None:
    """shutdown() of a listener wakes who waits for a connection."""
    listener = net.alone().listen()
    waiting = net.background(calls.error_of, listener.accept)
    with lab.Counting():
        listener.shutdown(socket.SHUT_RDWR)
    assert waiting.result() == errno.EINVAL


def test_interrupted_accept(net: lab.Net) -> None:
    listener = net.alone().listen()
    with calls.quiet_signal(restart=False):
        caller = calls.Caller(
            lambda: calls.result(lab.libc.accept(listener.fileno(), None, None))
        ).wait_asleep()
        caller.interrupt()
        assert caller.end() == -errno.EINTR


def test_full_accept_queue(link: tuple[lab.Host, lab.Host]) -> None:
    """Those beyond the backlog wait; as soon as one is accepted the next is let in."""
    here, there = link
    listener = there.listen(backlog=2)
    count = 6
    jobs = [here.net.background(here.connect, there) for _ in range(count)]
    lab.until(lambda: there.counters()["DropBacklog"] > 0, "the queue is full")
    socks = []
    for _ in range(count):
        child, _ = listener.accept()
        here.net.sockets.append(child)
        socks.append(child)
    for job in jobs:
        job.result().send(b"x")
    for sock in socks:
        assert sock.recv(10) == b"x"


def test_close_of_a_listener(link: tuple[lab.Host, lab.Host]) -> None:
    """Those that nobody has accepted are reset."""
    here, there = link
    listener = there.listen()
    socks = [here.connect(there) for _ in range(3)]
    listener.close()
    for sock in socks:
        assert calls.error_of(sock.recv, 10) == errno.ECONNRESET
    no_assocs(here, there)
    there.listen()


def test_children_outlive_their_listener(link: tuple[lab.Host, lab.Host]) -> None:
    """They keep its port, which a new listener with SO_REUSEADDR may share, as it is with TCP."""
    here, there = link
    pairs = []
    for _ in range(2):
        listener = there.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((there.addr, 5000))
        listener.listen()
        sock = here.connect(there)
        child, _ = listener.accept()
        here.net.sockets.append(child)
        pairs.append((sock, child))
        listener.close()
    for sock, child in pairs:
        sock.send(b"hello")
        assert child.recv(10) == b"hello"
    assert calls.error_of(there.socket().bind, (there.addr, 5000)) == errno.EADDRINUSE


def test_accepted_options(net: lab.Net) -> None:
    """A child begins with its listener's options."""
    rx_host, tx_host = net.link()
    listener = rx_host.listen().want_control()
    listener.set(ltp.HOLES, 1)
    listener.set(ltp.SEGSIZE, 512)
    listener.set_thresholds(fraction_ppm=1234, lt_us=5)
    tx_host.connect(rx_host)
    child, _ = listener.accept()
    net.sockets.append(child)
    assert [child.get(name) for name in (ltp.RECVRCVINFO, ltp.RECVRCVMAP, ltp.HOLES)] == [1, 1, 1]
    assert child.get(ltp.SEGSIZE) == child.info().seg_size == 512
    thresholds = child.getsockopt(ltp.SOL_LTP, ltp.THRESHOLDS, 100)
    assert ltp.THRESHOLDS_FORMAT.unpack(thresholds) == (1234, 3, 5, ltp.ADAPTIVE, 30000)


# ---- orderly ends


def test_shutdown_in_turn(pair: lab.Pair) -> None:
    """Each side ends when it likes; the other may go on sending."""
    pair.tx.send(b"request")
    pair.tx.shutdown(socket.SHUT_WR)
    assert pair.rx.recv(10) == b"request"
    assert pair.rx.recv(10) == b""
    for i in range(10):
        pair.rx.send(bytes([i]) * 100000)
    pair.rx.shutdown(socket.SHUT_WR)
    for i in range(10):
        assert pair.tx.recv(100000) == bytes([i]) * 100000
    assert pair.tx.recv(10) == pair.tx.recv(10) == b""
    no_assocs(pair.rx_host, pair.tx_host)
    assert pair.tx.info().state == pair.rx.info().state == ltp.CLOSED


def test_shutdown_waits_for_the_data(pair: lab.Pair) -> None:
    """What was sent before arrives, however slowly."""
    pair.tx_host.netem("rate 100mbit delay 2ms")
    data = blob(2 * MIB)
    pair.tx.send(data)
    pair.tx.shutdown(socket.SHUT_WR)
    check_message(pair.rx.want_control().receive(len(data)), data)
    assert pair.rx.recv(10) == b""


def test_close_waits_in_the_background(pair: lab.Pair) -> None:
    """close() returns at once and loses nothing."""
    pair.tx_host.netem("rate 100mbit delay 2ms loss 2%")
    data = blob(2 * MIB)
    pair.tx.send(data)
    pair.tx.close()
    check_message(pair.rx.want_control().receive(len(data)), data)
    assert pair.rx.recv(10) == b""
    pair.rx.close()
    no_assocs(pair.rx_host, pair.tx_host)


def test_shutdown_twice(pair: lab.Pair) -> None:
    for _ in range(3):
        pair.tx.shutdown(socket.SHUT_WR)
        pair.tx.shutdown(socket.SHUT_RDWR)
    assert pair.rx.recv(10) == b""
    pair.rx.shutdown(socket.SHUT_WR)
    no_assocs(pair.rx_host, pair.tx_host)
    for sock in pair.rx, pair.tx:
        assert calls.error_of(sock.shutdown, socket.SHUT_RDWR) in (0, errno.ENOTCONN)


def test_shutdown_errors(net: lab.Net) -> None:
    host = net.alone()
    assert calls.error_of(host.socket().shutdown, socket.SHUT_WR) == errno.ENOTCONN
    pair = lab.Pair(host, host)
    assert calls.error_of(pair.tx.shutdown, 3) == errno.EINVAL


def test_shutdown_wakes_the_reader(pair: lab.Pair) -> None:
    waiting = pair.net.background(pair.rx.recv, 10)
    pair.rx.shutdown(socket.SHUT_RD)
    assert waiting.result() == b""


def test_fin_is_repeated(net: lab.Net) -> None:
    far = Wire(net)
    sock, assoc = far.accepted()
    sock.shutdown(socket.SHUT_WR)
    first = assoc.receive(wire.FIN)
    second = assoc.receive(wire.FIN)
    assert first.flow == second.flow == assoc.host_flow
    assert second.pn > first.pn
    assoc.send(wire.FIN_ACK)
    lab.until(lambda: sock.info().state == ltp.CLOSING, "it is answered")
    # The peer's own FIN, and once more because its answer was lost.
    for _ in range(2):
        far.flush()
        assoc.send(wire.FIN, flow=assoc.flow)
        assert far.receive().kind in (wire.FIN_ACK, wire.RESET)
    assert sock.info().state == ltp.CLOSED


def test_half_written_message_is_given_up(pair: lab.Pair) -> None:
    """shutdown() in the middle of a tolerant message: its reader learns that it is not whole."""
    pair.tx.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32768)
    pair.tx_host.netem("delay 1ms")
    pair.tx.setblocking(False)
    sent = pair.tx.send_message(blob(MIB), flags=ltp.TOLERANT)
    assert 0 < sent < MIB
    pair.tx.shutdown(socket.SHUT_WR)
    got = pair.rx.want_control().receive(MIB)
    assert got.rcvinfo.reason == ltp.GAVE_UP
    check_message(got, blob(MIB))
    assert pair.rx.recv(10) == b""


# ---- abortive ends


def test_half_written_reliable_message_resets(pair: lab.Pair) -> None:
    """Zeros must not pass for the rest of it."""
    pair.tx.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32768)
    pair.tx_host.netem("delay 1ms")
    pair.tx.send(b"whole")
    assert 0 < pair.tx.send(bytes(MIB), socket.MSG_DONTWAIT) < MIB
    assert pair.rx.recv(10) == b"whole"
    pair.tx.close()
    assert calls.error_of(pair.rx.recv, MIB) == errno.ECONNRESET
    no_assocs(pair.rx_host, pair.tx_host)


def test_close_with_unread_data(pair: lab.Pair) -> None:
    """The peer gets ECONNRESET once, then EPIPE and EOF."""
    pair.tx.send(b"unread")
    lab.until(lambda: pair.rx.info().flows_in == 1, "it is there")
    pair.rx.close()
    lab.until(lambda: pair.tx.info().state == ltp.CLOSED, "the peer knows")
    assert calls.error_of(pair.tx.send, b"x") == errno.ECONNRESET
    assert calls.error_of(pair.tx.send, b"x") == errno.EPIPE
    assert pair.tx.recv(10) == b""
    no_assocs(pair.rx_host, pair.tx_host)


def test_data_for_a_closed_socket(pair: lab.Pair) -> None:
    """Who sends to one that has closed is reset."""
    pair.rx.close()
    assert pair.tx.recv(10) == b""
    pair.tx.send(b"too late")
    lab.until(lambda: pair.tx.info().state == ltp.CLOSED, "the peer resets")
    assert calls.error_of(pair.tx.recv, 10) in (0, errno.ECONNRESET)
    no_assocs(pair.rx_host, pair.tx_host)


def test_linger_zero(pair: lab.Pair) -> None:
    """close() with SO_LINGER 0 resets, and forgets what was sent."""
    pair.tx_host.netem("delay 20ms")
    pair.tx.send(bytes(MIB))
    linger(pair.tx, 0)
    pair.tx.close()
    assert calls.error_of(pair.rx.recv, 10) == errno.ECONNRESET
    no_assocs(pair.rx_host, pair.tx_host)


def test_linger_waits(pair: lab.Pair) -> None:
    """close() with SO_LINGER returns when the peer has all."""
    pair.tx_host.netem("rate 50mbit")
    linger(pair.tx, 30)
    received = pair.net.background(pair.rx.want_control().receive, MIB)
    pair.tx.send(blob(MIB))
    pair.tx.close()
    lab.until(received.done, "it was read", 1)
    check_message(received.result(), blob(MIB))


def test_read_after_reset(net: lab.Net) -> None:
    """Messages that had ended can be read after the end, then the error is told once."""
    far = Wire(net)
    sock, assoc = far.accepted()
    assoc.send_data(b"one", [0])
    assoc.send_data(b"two", [0], flow=assoc.flow + 1)
    assoc.send_data(bytes(2000), [0], flow=assoc.flow + 2)
    assoc.send_data(b"four", [0], flow=assoc.flow + 3)
    with lab.Counting(far.host) as moved:
        assoc.send(wire.RESET, body_tag=assoc.my_tag)
        assert moved["ClosedLost"] == 1
    assert sock.recv(10) == b"one"
    assert sock.recv(10) == b"two"
    assert calls.error_of(sock.recv, 10) == errno.ECONNRESET
    assert sock.recv(10) == sock.recv(10) == b""


@pytest.mark.parametrize("first", ["recv", "send", "SO_ERROR"])
def test_error_is_told_once(net: lab.Net, first: str) -> None:
    far = Wire(net)
    sock, assoc = far.accepted()
    assoc.send(wire.RESET, body_tag=assoc.my_tag)
    asks = {
        "recv": lambda: calls.error_of(sock.recv, 10),
        "send": lambda: calls.error_of(sock.send, b"x"),
        "SO_ERROR": sock.error,
    }
    assert asks[first]() == errno.ECONNRESET
    assert (asks["recv"](), asks["send"](), asks["SO_ERROR"]()) == (0, errno.EPIPE, 0)


def test_connect_again(pair: lab.Pair) -> None:
    """A socket whose association has ended, or was dissolved, can connect anew."""
    where = pair.tx.getpeername()
    unspec = struct.pack("=H14x", 0)
    for _ in range(3):
        assert lab.libc.connect(pair.tx.fileno(), unspec, 16) == 0
        assert pair.tx.info().state == ltp.CLOSED
        assert calls.error_of(pair.tx.getpeername) == errno.ENOTCONN
        pair.tx.connect(where)
        child, _ = pair.listener.accept()
        pair.net.sockets.append(child)
        pair.tx.send(b"again")
        assert child.recv(10) == b"again"
    pair.tx.shutdown(socket.SHUT_WR)
    child.shutdown(socket.SHUT_WR)
    no_assocs(pair.tx_host)
    assert pair.tx.connect_ex(where) in (0, errno.EISCONN)


def test_dead_time_can_be_set(net: lab.Net) -> None:
    """A peer that says no more: ETIMEDOUT after the time that ltpctl sets."""
    far = Wire(net)
    far.host.ltpctl("set", "dead", "200ms")
    sock, _ = far.accepted()
    with lab.Counting(far.host) as moved:
        sock.send(b"anybody?")
        assert calls.error_of(sock.recv, 10) == errno.ETIMEDOUT
        assert moved["AssocTimeout"] == 1
        assert moved["TailProbes"] > 1
    assert calls.error_of(sock.send, b"x") == errno.EPIPE
    connecting = far.host.socket()
    assert connecting.connect_ex(("10.1.0.2", 5000)) == errno.ETIMEDOUT


def test_orphans_end(net: lab.Net) -> None:
    """A closed socket whose peer says no more is gone after the dead time, and so is its port."""
    far = Wire(net)
    far.host.family.set_config(dead_ms=200)
    sock, _ = far.accepted()
    sock.send(b"anybody?")
    sock.close()
    assert len(far.host.family.assocs()) == 1
    no_assocs(far.host)


def test_messages_pass_while_others_come_and_go(pair: lab.Pair) -> None:
    """Associations made and ended all the time, in all ways, beside one that works."""
    stop: list[int] = []

    def churn(way: int) -> int:
        rounds = 0
        while not stop:
            sock = pair.tx_host.socket()
            if sock.connect_ex(pair.listener.getsockname()):
                continue
            child, _ = pair.listener.accept()
            sock.send(bytes(10000))
            if way == 1:
                child.recv(10000)
            if way == 2:
                linger(sock, 0)
            sock.close()
            child.close()
            rounds += 1
        return rounds

    jobs = [pair.net.background(churn, way) for way in range(3)]
    for i in range(20):
        data = blob(300000, i % 2)
        sent = pair.net.background(pair.tx.send, data)
        same(pair.rx.receive(300000).data, data)
        sent.result()
    stop.append(1)
    assert all(job.result() > 0 for job in jobs)


def test_descriptor_flags(net: lab.Net) -> None:
    """accept4() flags and what descriptors inherit."""
    host = net.alone()
    pair = lab.Pair(host, host)
    assert fcntl.fcntl(pair.rx, fcntl.F_GETFL) & os.O_NONBLOCK == 0
    raw = pair.listener.fileno()
    pair.tx_host.connect(host)
    fd = lab.libc.accept4(raw, None, None, os.O_NONBLOCK | os.O_CLOEXEC)
    assert fd >= 0
    child = ltp.Socket(fd)
    net.sockets.append(child)
    assert fcntl.fcntl(child, fcntl.F_GETFL) & os.O_NONBLOCK
    assert child.family == socket.AF_INET and child.type == socket.SOCK_SEQPACKET
    assert child.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL) == ltp.IPPROTO_LTP
    assert child.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE) == socket.SOCK_SEQPACKET
