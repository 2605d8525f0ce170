# SPDX-License-Identifier: GPL-2.0
"""sendmsg(): what it takes, when it waits, what it says when it may not, and what it refuses."""
import ctypes
import errno
import mmap
import signal
import socket
import struct

import pytest

from tests.net import calls, lab, ltp, wire
from tests.net.data import blob, buffer, check_message, same
from tests.net.lab import MIB
from tests.net.peer import Assoc, Wire

SEG = ltp.seg_size(1500)
SOL_LTP = ltp.SOL_LTP


def silent_peer(net: lab.Net, sndbuf: int = 32768) -> tuple[ltp.Socket, Assoc]:
    """A socket whose peer takes much and acknowledges nothing by itself."""
    far = Wire(net)
    listener = far.host.listen()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, sndbuf)
    assoc = far.connect(rwnd=1 << 30)
    sock, _ = listener.accept()
    sock.set_timeouts(30 * lab.SLOW)
    net.sockets.append(sock)
    return sock, assoc


def ack_all(assoc: Assoc, sock: ltp.Socket) -> None:
    """Acknowledges everything that was sent, until nothing is in flight."""

    def step() -> bool:
        for packet, _ in assoc.wire.pending():
            if packet.kind == wire.DATA:
                bits = wire.bitmap(packet.seg % 32)
                reply = assoc.ack(packet, 0, first=packet.seg // 32 * 32, words=1)
                assoc.wire.send(reply.with_tail(bits))
        return sock.unacknowledged() == 0

    lab.until(step, "all is acknowledged")


# ---- without waiting


def test_short_and_continued(net: lab.Net) -> None:
    """A send that may not wait ends at a segment, and the next continues the message."""
    sock, assoc = silent_peer(net)
    sock.setblocking(False)
    data = blob(MIB)
    first = sock.send_message(data, tag=1, flags=ltp.TOLERANT, critical=10)
    assert 0 < first < MIB
    assert first % SEG == 0
    for _ in range(3):
        with pytest.raises(BlockingIOError):
            sock.send(data[first:])
    assert sock.info().flows_out == 1
    ack_all(assoc, sock)
    # Whatever its control message says: it is the same message.
    second = sock.send_message(data[first:], tag=2)
    assert 0 < second < MIB - first
    assert second % SEG == 0
    assert sock.info().flows_out == 1
    (flow,) = [one for one in assoc.wire.host.family.flows() if one["direction"] == 1]
    assert (flow["tag"], flow["length"], flow["critical"]) == (1, MIB, 1)


def test_what_continues_a_message(pair: lab.Pair) -> None:
    """EMSGSIZE for more than is left, EINVAL for less than a segment; neither harms the message."""
    pair.tx.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32768)
    pair.tx_host.netem("delay 5ms")
    data = blob(40 * SEG + 100)
    pair.tx.setblocking(False)
    at = pair.tx.send(data)
    assert 0 < at < len(data)
    pair.tx.setblocking(True)
    with pytest.raises(OSError) as caught:
        pair.tx.send(bytes(len(data) - at + 1))
    assert caught.value.errno == errno.EMSGSIZE
    with pytest.raises(OSError) as caught:
        pair.tx.send(data[at:at + SEG - 1])
    assert caught.value.errno == errno.EINVAL
    assert calls.error_of(pair.tx.send, b"") == errno.EINVAL
    received = pair.net.background(pair.rx.want_control().receive, len(data))
    assert pair.tx.send(data[at:at + SEG + 5]) == SEG  # whole segments only
    at += SEG
    while at < len(data):
        at += pair.tx.send(data[at:at + 3 * SEG])
    check_message(received.result(), data)


def test_nothing_taken_is_no_message(net: lab.Net) -> None:
    """EAGAIN: no message was begun, none is left half-written."""
    sock, assoc = silent_peer(net)
    sock.setblocking(False)
    while calls.error_of(sock.send, bytes(SEG)) == 0:
        pass
    count = sock.info().flows_out
    assert calls.error_of(sock.send, bytes(MIB)) == errno.EAGAIN
    assert calls.error_of(sock.send, b"", socket.MSG_DONTWAIT) == errno.EAGAIN
    assert sock.info().flows_out == count
    ack_all(assoc, sock)
    assert sock.info().flows_out == 0
    assert sock.send(b"next") == 4


def test_dontwait(net: lab.Net) -> None:
    """MSG_DONTWAIT does for one call what O_NONBLOCK does for all."""
    sock, _ = silent_peer(net)
    assert 0 < sock.send(bytes(MIB), socket.MSG_DONTWAIT) < MIB
    assert calls.error_of(sock.send, bytes(MIB // 2), socket.MSG_DONTWAIT) == errno.EAGAIN


def test_smallest_buffer(pair: lab.Pair) -> None:
    """A send buffer that holds less than a segment's memory still sends."""
    pair.tx.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    data = blob(200000)
    sent = pair.net.background(pair.tx.send, data)
    same(pair.rx.receive(200000).data, data)
    assert sent.result() == len(data)


# ---- waiting


def test_blocked_until_the_reader_reads(net: lab.Net) -> None:
    """A window that closes stops the sender; one that opens lets it go on."""
    rx_host, tx_host = net.link()
    rx_host.family.set_config(rcvbuf=128 << 10)
    tx_host.family.set_config(sndbuf=128 << 10)
    pair = lab.Pair(rx_host, tx_host)
    data = blob(2 * MIB)
    with lab.Counting(rx_host) as moved:
        sent = net.background(pair.tx.send, data)
        lab.until(lambda: pair.tx.info().peer_window < SEG, "the window is closed")
        assert not sent.done()
        check_message(pair.rx.want_control().receive(len(data)), data)
        assert sent.result() == len(data)
        assert few_drops(moved)


def test_slow_reader_of_many(net: lab.Net) -> None:
    """Messages wait in the sender when the receiver's buffer is full of them."""
    rx_host, tx_host = net.link()
    rx_host.family.set_config(rcvbuf=128 << 10)
    tx_host.family.set_config(sndbuf=64 << 10)
    pair = lab.Pair(rx_host, tx_host)
    count = 200

    def send() -> None:
        for i in range(count):
            pair.tx.send(blob(10000)[i:])

    with lab.Counting(rx_host) as moved:
        sent = net.background(send)
        lab.until(lambda: pair.rx.info().flows_in > 2, "some wait there")
        lab.until(lambda: pair.tx.meminfo().wmem_queued > 60000, "some wait here")
        assert not sent.done()
        for i in range(count):
            same(pair.rx.recv(20000), blob(10000)[i:])
        sent.result()
        assert few_drops(moved)


def few_drops(moved: lab.Counting) -> bool:
    """Nothing but a segment now and then that tries whether there is room again."""
    drops = moved.drops()
    return set(drops) <= {"DropRcvbuf"} and sum(drops.values()) * 50 <= moved["InPackets"]


def test_flow_limit(pair: lab.Pair) -> None:
    """1024 unread messages may wait at a receiver; the next one waits at its sender."""
    pair.tx.setblocking(False)
    for i in range(ltp.MAX_FLOWS):
        assert pair.tx.send_message(b"x", tag=i) == 1
    lab.until(lambda: pair.rx.info().flows_in == ltp.MAX_FLOWS, "all are there")
    assert calls.error_of(pair.tx.send, b"x") == errno.EAGAIN
    pair.tx.setblocking(True)
    sent = pair.net.background(pair.tx.send, b"last")
    for _ in range(ltp.MAX_FLOWS):
        assert pair.rx.recv(10) == b"x"
    assert sent.result() == 4
    assert pair.rx.recv(10) == b"last"


def test_two_writers(net: lab.Net) -> None:
    """Messages of two threads do not mix, however often each has to wait."""
    rx_host, tx_host = net.link()
    tx_host.family.set_config(sndbuf=16 << 10)
    pair = lab.Pair(rx_host, tx_host)
    count, size = 30, 100000

    def send(letter: int) -> None:
        for _ in range(count):
            assert pair.tx.send(bytes([letter]) * size) == size

    jobs = [net.background(send, letter) for letter in (1, 2, 3)]
    seen = [0] * 4
    for _ in range(3 * count):
        got = pair.rx.recv(size)
        assert got == bytes([got[0]]) * size
        seen[got[0]] += 1
    assert seen == [0, count, count, count]
    for job in jobs:
        job.result()


def test_interrupted_before_anything(net: lab.Net) -> None:
    """EINTR, and no message was begun."""
    sock, _ = silent_peer(net)
    while calls.error_of(sock.send, bytes(SEG), socket.MSG_DONTWAIT) == 0:
        pass
    count = sock.info().flows_out
    space = buffer(MIB)
    with calls.quiet_signal(restart=False):
        caller = calls.Caller(calls.sendmsg, sock, [(calls.address_of(space), MIB)]).wait_asleep()
        caller.interrupt()
        assert caller.end() == -errno.EINTR
    assert sock.info().flows_out == count


def test_interrupted_in_the_middle(net: lab.Net) -> None:
    """What was taken over counts; the rest can follow."""
    sock, assoc = silent_peer(net)
    space = buffer(MIB)
    with calls.quiet_signal(restart=False):
        caller = calls.Caller(calls.sendmsg, sock, [(calls.address_of(space), MIB)]).wait_asleep()
        caller.interrupt()
        sent = caller.end()
    assert 0 < sent < MIB and sent % SEG == 0
    ack_all(assoc, sock)
    more = sock.send(space[sent:], socket.MSG_DONTWAIT)
    assert more > 0 and sock.info().flows_out == 1


def test_send_timeout(net: lab.Net) -> None:
    """SO_SNDTIMEO: short if something was taken over, else EAGAIN."""
    sock, _ = silent_peer(net)
    sock.set_timeouts(0.05)
    assert 0 < sock.send(bytes(MIB)) < MIB
    assert calls.error_of(sock.send, bytes(MIB // 2)) == errno.EAGAIN


# ---- refused


def test_refused(pair: lab.Pair) -> None:
    """Errors that leave the association and the next message alone."""
    where = pair.tx.getpeername()
    for expected, call in (
        (errno.EINVAL, lambda: pair.tx.send(b"")),
        (errno.EOPNOTSUPP, lambda: pair.tx.send(b"x", socket.MSG_OOB)),
        (errno.EISCONN, lambda: pair.tx.sendto(b"x", where)),
        (errno.EFAULT, lambda: faulty_send(pair.tx)),
    ):
        assert calls.error_of(call) == expected
        assert pair.tx.info().flows_out == 0
    pair.tx.send(b"next")
    assert pair.rx.recv(10) == b"next"


def faulty_send(sock: socket.socket) -> None:
    error = -calls.sendmsg(sock, [(calls.BAD_POINTER, 100)])
    raise OSError(error, "sendmsg")


def test_fault_in_the_middle(pair: lab.Pair) -> None:
    """The segments before the bad page are taken over; shutdown() gives a tolerant message up."""
    page = mmap.PAGESIZE
    pages = buffer(4 * page)
    start = calls.address_of(pages)
    assert lab.libc.munmap(ctypes.c_void_p(start + 2 * page), page) == 0
    tolerant = cmsg(SOL_LTP, ltp.SNDINFO, ltp.sndinfo(flags=ltp.TOLERANT)[2])
    sent = calls.sendmsg(pair.tx, [(start, 4 * page)], tolerant)
    assert sent == 2 * page // SEG * SEG
    pair.tx.shutdown(socket.SHUT_WR)
    got = pair.rx.want_control().receive(4 * page)
    assert got.rcvinfo.reason == ltp.GAVE_UP
    assert got.rcvinfo.length == 4 * page
    assert pair.rx.recv(10) == b""


def cmsg(level: int, kind: int, data: bytes, length: int | None = None) -> bytes:
    """A control message as in memory, with a length that may be a lie."""
    if length is None:
        length = 16 + len(data)
    return struct.pack("=Qii", length, level, kind) + data.ljust((len(data) + 7) & ~7, b"\0")


GOOD = ltp.sndinfo(tag=3)[2]
BAD_CONTROL = {
    "too short a value": cmsg(SOL_LTP, ltp.SNDINFO, GOOD[:-1]),
    "too long a value": cmsg(SOL_LTP, ltp.SNDINFO, GOOD + b"x"),
    "no value": cmsg(SOL_LTP, ltp.SNDINFO, b""),
    "twice": cmsg(SOL_LTP, ltp.SNDINFO, GOOD) * 2,
    "an unknown type": cmsg(SOL_LTP, 99, GOOD),
    "one for recvmsg": cmsg(SOL_LTP, ltp.RCVINFO, GOOD),
    "length 0": cmsg(SOL_LTP, ltp.SNDINFO, GOOD, 0),
    "length below a header": cmsg(SOL_LTP, ltp.SNDINFO, GOOD, 15),
    "length beyond the end": cmsg(SOL_LTP, ltp.SNDINFO, GOOD, 1000),
    "huge length": cmsg(SOL_LTP, ltp.SNDINFO, GOOD, (1 << 64) - 1),
    "a bad one behind a good one": cmsg(SOL_LTP, ltp.SNDINFO, GOOD) + cmsg(SOL_LTP, 99, b""),
    "an unknown flag": cmsg(SOL_LTP, ltp.SNDINFO, ltp.sndinfo(flags=2)[2]),
    "all flags": cmsg(SOL_LTP, ltp.SNDINFO, ltp.sndinfo(flags=0xFFFF)[2]),
    "giving up a reliable message": cmsg(SOL_LTP, ltp.SNDINFO, ltp.sndinfo(giveup_us=1)[2]),
    "reserved 1": cmsg(SOL_LTP, ltp.SNDINFO, ltp.sndinfo(reserved=1)[2]),
    "reserved 2": cmsg(SOL_LTP, ltp.SNDINFO, ltp.sndinfo(reserved=1 << 16)[2]),
    "reserved 3": cmsg(SOL_LTP, ltp.SNDINFO, ltp.sndinfo(reserved=1 << 47)[2]),
}


@pytest.mark.parametrize("what", BAD_CONTROL)
def test_bad_control_message(pair: lab.Pair, what: str) -> None:
    """EINVAL, and no message was begun."""
    data = bytearray(b"hello")
    where = [(calls.address_of(data), 5)]
    assert calls.sendmsg(pair.tx, where, BAD_CONTROL[what]) == -errno.EINVAL
    assert pair.tx.info().flows_out == 0
    assert calls.sendmsg(pair.tx, where, cmsg(SOL_LTP, ltp.SNDINFO, GOOD)) == 5
    got = pair.rx.want_control().receive(10)
    assert (bytes(got.data), got.rcvinfo.tag) == (b"hello", 3)


def test_control_of_others_is_ignored(pair: lab.Pair) -> None:
    data = bytearray(b"hello")
    control = (
        cmsg(socket.IPPROTO_TCP, 1, b"what")
        + cmsg(SOL_LTP, ltp.SNDINFO, GOOD)
        + cmsg(socket.IPPROTO_IPV6, 9, b"")
    )
    assert calls.sendmsg(pair.tx, [(calls.address_of(data), 5)], control) == 5
    assert pair.rx.want_control().receive(10).rcvinfo.tag == 3


# ---- after the end


def test_pipe(pair: lab.Pair) -> None:
    """EPIPE and SIGPIPE after the own side ended, no signal with MSG_NOSIGNAL."""
    pair.tx.shutdown(socket.SHUT_WR)
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})
    try:
        assert calls.error_of(pair.tx.send, b"x", socket.MSG_NOSIGNAL) == errno.EPIPE
        assert signal.SIGPIPE not in signal.sigpending()
        assert calls.error_of(pair.tx.send, b"x") == errno.EPIPE
        assert signal.SIGPIPE in signal.sigpending()
        signal.sigwait({signal.SIGPIPE})
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGPIPE, before)


def test_not_connected(net: lab.Net) -> None:
    host = net.alone()
    fresh, bound, listening = host.socket(), host.socket(), host.listen()
    bound.bind(("127.0.0.1", 7))
    for sock in fresh, bound, listening:
        assert calls.error_of(sock.send, b"x") == errno.ENOTCONN
        assert calls.error_of(sock.sendto, b"x", ("127.0.0.1", 5000)) == errno.ENOTCONN


def test_blocked_sender_and_the_end(net: lab.Net) -> None:
    """A sender that waits is told when its peer resets, or its own program shuts down."""
    sock, assoc = silent_peer(net)
    space = buffer(MIB)
    caller = calls.Caller(calls.sendmsg, sock, [(calls.address_of(space), MIB)]).wait_asleep()
    assoc.send(wire.RESET, body_tag=assoc.my_tag)
    assert 0 < caller.end() < MIB
    assert calls.error_of(sock.send, b"x") == errno.ECONNRESET
    assert calls.error_of(sock.send, b"x") == errno.EPIPE


def test_blocked_sender_that_has_sent_nothing_and_the_end(net: lab.Net) -> None:
    sock, assoc = silent_peer(net)
    while calls.error_of(sock.send, bytes(SEG), socket.MSG_DONTWAIT) == 0:
        pass
    space = buffer(MIB)
    caller = calls.Caller(calls.sendmsg, sock, [(calls.address_of(space), MIB)]).wait_asleep()
    assoc.send(wire.RESET, body_tag=assoc.my_tag)
    assert caller.end() == -errno.ECONNRESET
    assert calls.error_of(sock.send, b"x") == errno.EPIPE


def test_blocked_sender_and_shutdown(net: lab.Net) -> None:
    sock, _ = silent_peer(net)
    while calls.error_of(sock.send, bytes(SEG), socket.MSG_DONTWAIT) == 0:
        pass
    space = buffer(MIB)
    caller = calls.Caller(calls.sendmsg, sock, [(calls.address_of(space), MIB)]).wait_asleep()
    sock.shutdown(socket.SHUT_WR)
    assert caller.end() == -errno.EPIPE


# ---- the largest


def test_too_long(pair: lab.Pair) -> None:
    """EMSGSIZE, also for what the system call layer would cut."""
    data = buffer(4 * MIB)
    for pieces, rest in ((511, ltp.MESSAGE_MAX + 1 - 511 * 4 * MIB), (512, 0), (1024, 0)):
        out = [(calls.address_of(data), 4 * MIB)] * pieces
        if rest:
            out.append((calls.address_of(data), rest))
        assert calls.sendmsg(pair.tx, out) == -errno.EMSGSIZE
    assert pair.tx.info().flows_out == 0


@pytest.mark.long
@pytest.mark.seconds(600)
def test_largest_message(net: lab.Net) -> None:
    """From and to the same few pages."""
    pair = net.pair(9000)
    data, space = buffer(4 * MIB), buffer(4 * MIB)
    rest = ltp.MESSAGE_MAX % (4 * MIB)
    out = [(calls.address_of(data), 4 * MIB)] * (ltp.MESSAGE_MAX // (4 * MIB))
    out.append((calls.address_of(data), rest))
    into = [(calls.address_of(space), size) for _, size in out]
    sent = net.background(calls.sendmsg, pair.tx, out)
    assert calls.recvmsg(pair.rx, into) == ltp.MESSAGE_MAX
    assert sent.result() == ltp.MESSAGE_MAX
