# SPDX-License-Identifier: GPL-2.0
"""poll() and epoll: the table of ltp(7), row by row, and who is woken when."""
import errno
import fcntl
import os
import select
import signal
import socket
import struct

import pytest

from tests.net import calls, lab, ltp, wire
from tests.net.lab import MIB
from tests.net.peer import Wire

IN, OUT, ERR, HUP, RDHUP = (
    select.POLLIN,
    select.POLLOUT,
    select.POLLERR,
    select.POLLHUP,
    select.POLLRDHUP,
)
ALL = IN | OUT | ERR | HUP | RDHUP | select.POLLPRI
NAMES = {IN: "IN", OUT: "OUT", ERR: "ERR", HUP: "HUP", RDHUP: "RDHUP", select.POLLPRI: "PRI"}


def events(sock: socket.socket, milliseconds: float = 0) -> str:
    """What poll() says of a socket, in words."""
    poll = select.poll()
    poll.register(sock, ALL)
    got = dict(poll.poll(milliseconds)).get(sock.fileno(), 0)
    return " ".join(name for bit, name in NAMES.items() if got & bit)


def until_events(sock: socket.socket, expected: str) -> None:
    lab.until(lambda: events(sock) == expected, f"poll says {expected}, not {events(sock)}")


@pytest.fixture(name="far")
def fixture_far(net: lab.Net) -> Wire:
    return Wire(net)


# ---- the table


def test_new_and_bound(net: lab.Net) -> None:
    sock = net.alone().socket()
    assert events(sock) == "OUT HUP"
    sock.bind(("127.0.0.1", 0))
    assert events(sock) == "OUT HUP"


def test_listening(pair: lab.Pair) -> None:
    assert events(pair.listener) == ""
    sock = pair.tx_host.connect(pair.rx_host)
    until_events(pair.listener, "IN")
    pair.net.sockets.append(pair.listener.accept()[0])
    assert events(pair.listener) == ""
    sock.close()


def test_connecting_and_connected(far: Wire) -> None:
    sock = far.host.socket()
    sock.setblocking(False)
    sock.connect_ex(("10.1.0.2", 5000))
    assert events(sock) == ""
    assoc = far.accept()
    assert events(sock) == "OUT"
    assoc.send_data(b"hello", [0])
    assert events(sock) == "IN OUT"
    sock.recv(10)
    assert events(sock) == "OUT"


def test_connection_failed(far: Wire) -> None:
    sock = far.host.socket()
    sock.setblocking(False)
    sock.connect_ex(("10.1.0.2", 5000))
    init = far.receive(wire.INIT)
    ports = {"source": init.dest, "dest": init.source}
    far.send(wire.Packet(wire.RESET, ports | {"tag": init.body_tag}))
    assert events(sock) == "IN OUT ERR HUP RDHUP"
    assert sock.error() == errno.ECONNREFUSED


def test_peer_has_ended(far: Wire) -> None:
    """IN; and RDHUP only when all was read."""
    sock, assoc = far.accepted()
    assoc.send_data(b"hello", [0])
    assoc.send(wire.FIN, flow=assoc.flow + 1)
    assert events(sock) == "IN OUT"
    sock.recv(10)
    assert events(sock) == "IN OUT RDHUP"
    assert sock.recv(10) == b""


def test_shutdown_rd(far: Wire) -> None:
    sock, _ = far.accepted()
    sock.shutdown(socket.SHUT_RD)
    assert events(sock) == "IN OUT RDHUP"


def test_shutdown_wr(far: Wire) -> None:
    sock, _ = far.accepted()
    sock.shutdown(socket.SHUT_WR)
    assert events(sock) == "OUT"


def test_both_ended(far: Wire) -> None:
    sock, assoc = far.accepted()
    sock.shutdown(socket.SHUT_WR)
    assoc.receive(wire.FIN)
    assoc.send(wire.FIN_ACK)
    assoc.send(wire.FIN, flow=assoc.flow)
    assert events(sock) == "IN OUT HUP RDHUP"


def test_reset(far: Wire) -> None:
    sock, assoc = far.accepted()
    assoc.send(wire.RESET, body_tag=assoc.my_tag)
    assert events(sock) == "IN OUT ERR HUP RDHUP"
    assert sock.error() == errno.ECONNRESET
    assert events(sock) == "IN OUT HUP RDHUP"


def test_report_queued(far: Wire) -> None:
    sock, assoc = far.accepted()
    sock.set(ltp.REPORTS, 1)
    sock.send(b"hello")
    far.send(assoc.ack(assoc.receive(wire.DATA), 1, flags=wire.WHOLE))
    assert events(sock) == "OUT ERR"
    sock.recv(100, 0x2000)
    assert events(sock) == "OUT"


# ---- when


def test_in_means_progress(far: Wire) -> None:
    """Not for a segment of a message that has not ended, unless there is enough to place."""
    sock, assoc = far.accepted()
    sock.setblocking(False)
    message = bytes(2 * MIB)
    seg = 0
    while events(sock) == "OUT":
        assoc.send_data(message, [seg], seg_size=1424)
        seg += 1
    assert seg > 10 and sock.meminfo().rmem_alloc >= 256 << 10
    space = bytearray(len(message))
    assert calls.error_of(sock.recv_into, space) == errno.EAGAIN
    assert events(sock) == "OUT"
    assert sock.meminfo().rmem_alloc == 0


def test_out_needs_a_third(far: Wire) -> None:
    """A third of the send buffer has to be free; a wake-up comes when it is."""
    sock, assoc = far.accepted(rwnd=1 << 30)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32768)
    sock.setblocking(False)
    assert events(sock) == "OUT"
    epoll = select.epoll()
    epoll.register(sock, select.EPOLLOUT | select.EPOLLET)
    assert epoll.poll(0)
    assert sock.send(bytes(MIB)) < MIB
    assert events(sock) == ""
    assert epoll.poll(0) == []
    answered = 0
    while not epoll.poll(0):
        far.send(assoc.ack(assoc.receive(wire.DATA), answered + 1))
        answered += 1
    info = sock.meminfo()
    assert events(sock) == "OUT"
    assert info.wmem_queued <= info.sndbuf * 2 // 3
    epoll.close()


def test_out_needs_a_flow(far: Wire) -> None:
    """The peer has to take another flow."""
    sock, assoc = far.accepted(max_flows=1)
    sock.send(b"x")
    assert events(sock) == ""
    far.send(assoc.ack(assoc.receive(wire.DATA), 1, **assoc.window(flows=2)))
    assert events(sock) == "OUT"


def test_edges(pair: lab.Pair) -> None:
    """EPOLLET: a wake-up when a message comes to a reader who has read all, none without."""
    epoll = select.epoll()
    epoll.register(pair.rx, select.EPOLLIN | select.EPOLLET)
    assert epoll.poll(0) == []
    for i in range(1, 5):
        for _ in range(i):
            pair.tx.send(b"hello")
        assert epoll.poll(10 * lab.SLOW), f"message {i}"
        for _ in range(i):
            assert pair.rx.recv(10) == b"hello"
        assert calls.error_of(pair.rx.recv, 10, socket.MSG_DONTWAIT) == errno.EAGAIN
    pair.tx.shutdown(socket.SHUT_WR)
    assert epoll.poll(10 * lab.SLOW)
    epoll.close()


def test_edge_on_accept(pair: lab.Pair) -> None:
    epoll = select.epoll()
    epoll.register(pair.listener, select.EPOLLIN | select.EPOLLET)
    assert epoll.poll(0) == []
    for _ in range(2):
        sock = pair.tx_host.connect(pair.rx_host)
        assert epoll.poll(10 * lab.SLOW)
        pair.net.sockets.append(pair.listener.accept()[0])
        sock.close()
    epoll.close()


def test_tag_that_is_there_already(pair: lab.Pair) -> None:
    """LTP_RCVTAG wakes those who poll, if its message has come before."""
    pair.tx.send_message(b"one", tag=1)
    pair.tx.send_message(b"two", tag=2)
    lab.until(lambda: pair.rx.info().flows_in == 2, "both are there")
    pair.rx.set_rcvtag(3)
    assert events(pair.rx) == "OUT"
    epoll = select.epoll()
    epoll.register(pair.rx, select.EPOLLIN | select.EPOLLET)
    assert epoll.poll(0) == []
    pair.rx.set_rcvtag(2)
    assert epoll.poll(0)
    assert pair.rx.recv(10) == b"two"
    epoll.close()


def test_signal_driven(pair: lab.Pair) -> None:
    """O_ASYNC: the owner gets its signal when a message comes."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGIO})
    try:
        fcntl.fcntl(pair.rx, fcntl.F_SETOWN, os.getpid())
        flags = fcntl.fcntl(pair.rx, fcntl.F_GETFL)
        fcntl.fcntl(pair.rx, fcntl.F_SETFL, flags | os.O_ASYNC)
        pair.tx.send(b"hello")
        assert signal.sigtimedwait({signal.SIGIO}, 10 * lab.SLOW) is not None
    finally:
        fcntl.fcntl(pair.rx, fcntl.F_SETFL, flags)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def test_select_of_many(pair: lab.Pair) -> None:
    """One poller of many sockets is told of exactly those that have something."""
    pairs = [pair.more() for _ in range(20)]
    epoll = select.epoll()
    for rx, _ in pairs:
        epoll.register(rx, select.EPOLLIN)
    for i in range(0, 20, 3):
        pairs[i][1].send(struct.pack("=I", i))
    lab.until(lambda: len(epoll.poll(0)) == 7, "seven are ready")
    assert {fd for fd, _ in epoll.poll(0)} == {pairs[i][0].fileno() for i in range(0, 20, 3)}
    epoll.close()
