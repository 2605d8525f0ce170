# SPDX-License-Identifier: GPL-2.0
"""recvmsg(): readers that may not wait, are interrupted, share a socket, or have no room."""
import ctypes
import errno
import select
import socket
import struct

import pytest

from tests.net import calls, lab, ltp, wire
from tests.net.data import blob, buffer, check_message, same
from tests.net.lab import MIB
from tests.net.peer import Assoc, Wire


def small_rcvbuf(net: lab.Net, rcvbuf: int = 256 << 10) -> lab.Pair:
    rx_host, tx_host = net.link()
    rx_host.family.set_config(rcvbuf=rcvbuf)
    return lab.Pair(rx_host, tx_host)


@pytest.mark.parametrize("edge", [False, True])
def test_large_message_without_waiting(net: lab.Net, edge: bool) -> None:
    """Many times the receive buffer, with epoll: the same buffer again until it is whole."""
    pair = small_rcvbuf(net)
    size = 16 * MIB
    data, space = blob(size), buffer(size)
    pair.rx.want_control().setblocking(False)
    poll = select.epoll()
    poll.register(pair.rx, select.EPOLLIN | (select.EPOLLET if edge else 0))
    sent = net.background(pair.tx.send, data)
    again, got = 0, None
    while got is None:
        assert poll.poll(20 * lab.SLOW), "nobody wakes the reader"
        try:
            while edge or got is None:
                got = pair.rx.receive_into(space)
                break
        except BlockingIOError:
            again += 1
    poll.close()
    check_message(got, data)
    assert sent.result() == size
    assert again > 1
    assert got.rcvinfo.length == size


def test_interrupted_reader(net: lab.Net) -> None:
    """EINTR in the middle of a message: the next call with the same buffer gets all of it."""
    pair = small_rcvbuf(net)
    size = 2 * MIB
    data, space = blob(size), buffer(size)
    pair.tx_host.netem(f"rate {lab.scaled(25, 5)}mbit")
    sent = net.background(pair.tx.send, data)
    where = [(calls.address_of(space), size)]
    interrupted = 0
    lab.until(lambda: pair.rx.info().bytes_received > 0, "some of it came")
    with calls.quiet_signal(restart=False):
        while True:
            caller = calls.Caller(calls.recvmsg, pair.rx, where)
            if interrupted < 5:
                caller.wait_asleep().interrupt()
            if caller.end() != -errno.EINTR:
                break
            interrupted += 1
    assert caller.end() == size
    assert interrupted > 0
    same(space, data)
    assert sent.result() == size


def test_interrupted_while_nothing_comes(pair: lab.Pair) -> None:
    """EINTR with a time-out or without SA_RESTART; restarted otherwise."""
    space = bytearray(10)
    where = [(calls.address_of(space), 10)]
    with calls.quiet_signal(restart=False):
        caller = calls.Caller(calls.recvmsg, pair.rx, where).wait_asleep()
        caller.interrupt()
        assert caller.end() == -errno.EINTR
    with calls.quiet_signal(restart=True):
        caller = calls.Caller(calls.recvmsg, pair.rx, where).wait_asleep()
        caller.interrupt()
        assert caller.end() == -errno.EINTR  # SO_RCVTIMEO is set
        pair.rx.set_timeouts(0)
        caller = calls.Caller(calls.recvmsg, pair.rx, where).wait_asleep()
        caller.interrupt()
        caller.wait_asleep()
        pair.tx.send(b"hello")
        assert caller.end() == 5


def test_receive_timeout(pair: lab.Pair) -> None:
    """SO_RCVTIMEO: EAGAIN, and the message that comes later is whole."""
    pair.rx.set_timeouts(0.02)
    with pytest.raises(BlockingIOError):
        pair.rx.recv(10)
    pair.tx.send(b"late")
    lab.until(lambda: pair.rx.info().flows_in == 1, "it is there")
    assert pair.rx.recv(10) == b"late"


def test_two_readers(pair: lab.Pair) -> None:
    """Each message goes to one reader, whole."""
    count, size = 60, 200000

    def read() -> list[int]:
        seen = []
        while (got := pair.rx.recv(size)) != b"":
            assert got == bytes([got[0]]) * size
            seen.append(got[0])
        return seen

    readers = [pair.net.background(read) for _ in range(3)]
    for i in range(count):
        pair.tx.send(bytes([i]) * size)
    pair.tx.shutdown(socket.SHUT_WR)
    assert sorted(sum((reader.result() for reader in readers), [])) == list(range(count))


def test_fault(pair: lab.Pair) -> None:
    """EFAULT: the message stays, and is whole in a good buffer."""
    data = blob(100000)
    pair.tx.send(data)
    lab.until(lambda: pair.rx.info().flows_in == 1, "it is there")
    assert calls.recvmsg(pair.rx, [(calls.BAD_POINTER, 100000)]) == -errno.EFAULT
    got = pair.rx.want_control().receive(100000)
    check_message(got, data)


def test_fault_in_the_middle(pair: lab.Pair) -> None:
    """What was placed before the bad page is in the good pages; the rest stays."""
    page = 4096
    size = 8 * page
    data, space = blob(size), buffer(size)
    pair.tx.send(data)
    lab.until(lambda: pair.rx.info().flows_in == 1, "it is there")
    start = calls.address_of(space)
    hole = [(start, 4 * page), (calls.BAD_POINTER, page), (start + 5 * page, 3 * page)]
    assert calls.recvmsg(pair.rx, hole) == -errno.EFAULT
    assert calls.recvmsg(pair.rx, [(start, size)]) == size
    same(space, data)


def test_refused(pair: lab.Pair) -> None:
    for expected, flags in ((errno.EOPNOTSUPP, socket.MSG_OOB), (errno.EAGAIN, 0x2000)):
        assert calls.error_of(pair.rx.recv, 10, flags) == expected  # 0x2000: MSG_ERRQUEUE
    assert calls.error_of(pair.rx.recv, 10, socket.MSG_DONTWAIT) == errno.EAGAIN
    assert calls.recvmsg(pair.rx, [], socket.MSG_DONTWAIT) == -errno.EAGAIN


def test_not_connected(net: lab.Net) -> None:
    host = net.alone()
    fresh, bound, listening = host.socket(), host.socket(), host.listen()
    bound.bind(("127.0.0.1", 7))
    for sock in fresh, bound, listening:
        assert calls.error_of(sock.recv, 10) == errno.ENOTCONN
        assert calls.error_of(sock.recv, 10, socket.MSG_DONTWAIT) == errno.ENOTCONN


def test_inq_and_outq(net: lab.Net) -> None:
    """SIOCINQ: the next message if it has ended. SIOCOUTQ: what the peer is not known to have."""
    far = Wire(net)
    listener = far.host.listen()
    assoc = far.connect()
    sock, _ = listener.accept()
    net.sockets.append(sock)

    def error_of(of: ltp.Socket, request: int) -> int:
        return calls.error_of(of.ioctl, request)

    assert sock.ioctl(ltp.SIOCINQ) == sock.ioctl(ltp.SIOCOUTQ) == 0
    message = bytes(3000)
    assoc.send_data(message, [1, 2])
    assert sock.ioctl(ltp.SIOCINQ) == 0
    assoc.send_data(message, [0])
    assert sock.ioctl(ltp.SIOCINQ) == 3000
    sock.recv(10)
    assert sock.ioctl(ltp.SIOCINQ) == 0
    sock.send(bytes(5000))
    assert sock.ioctl(ltp.SIOCOUTQ) == 5000
    assert sock.ioctl(ltp.SIOCOUTQNSD) == 0
    far.send(assoc.ack(assoc.receive(wire.DATA), 1))
    assert sock.ioctl(ltp.SIOCOUTQ) == 5000 - 1424
    assert error_of(listener, ltp.SIOCINQ) == error_of(listener, ltp.SIOCOUTQ) == errno.EINVAL
    assert error_of(sock, 0x5555) == errno.ENOTTY
    fresh = far.host.socket()
    assert fresh.ioctl(ltp.SIOCINQ) == fresh.ioctl(ltp.SIOCOUTQ) == 0


def test_order_is_the_senders(net: lab.Net) -> None:
    """Flows that are whole wait for the one before them."""
    far = Wire(net)
    listener = far.host.listen()
    assoc = far.connect()
    sock, _ = listener.accept()
    net.sockets.append(sock)
    sock.setblocking(False)
    for i in (3, 1, 2):
        assoc.send_data(bytes([i]) * 100, [0], flow=assoc.flow + i)
    assert sock.info().flows_in == 3
    assert calls.error_of(sock.recv, 100) == errno.EAGAIN
    assoc.send_data(bytes(100), [0], flow=assoc.flow)
    assert [sock.recv(100)[0] for _ in range(4)] == [0, 1, 2, 3]


def test_segments_in_any_order(net: lab.Net) -> None:
    """Backwards, with each one twice."""
    far = Wire(net)
    listener = far.host.listen()
    assoc = far.connect()
    sock, _ = listener.accept()
    net.sockets.append(sock)
    message = bytes(blob(100 * 1024 + 5))
    with lab.Counting(far.host) as moved:
        assoc.send_data(message, [seg for seg in reversed(range(101)) for _ in range(2)])
        assert moved["InData"] == 101
        # The second of the last one finds a flow that has ended.
        assert moved["InDuplicate"] + moved["DropFlowClosed"] == 101
    check_message(sock.want_control().receive(len(message)), message)


def test_map_with_holes_exactly(net: lab.Net) -> None:
    """Which segments come is known here: the map says so, bit by bit."""
    far = Wire(net)
    listener = far.host.listen()
    sock_options = listener.want_control()
    sock_options.set_thresholds(fraction_ppm=1, lt_us=1, deadline_us=1)
    assoc = far.connect()
    sock, _ = listener.accept()
    net.sockets.append(sock)
    message = bytes(blob(200 * 256 + 7))
    given_up = {"flow": assoc.flow, "len": len(message), "seg_size": 256, "ncrit": 1}
    assoc.send(wire.GIVEUP, flags=wire.TOLERANT, **given_up)
    got = sock.receive(len(message))
    assert got.rcvinfo.reason == ltp.GAVE_UP
    assert got.rcvmap.missing() == list(range(201))
    check_message(got, message)
    close = assoc.receive(wire.CLOSE)
    assert (close.missing, close.parts, close.ranges) == (201, 1, 1)
    assert close.pairs == [(0, 201)]


@pytest.mark.parametrize("late", [0, 3])
def test_close_in_parts(net: lab.Net, late: int) -> None:
    """A map with many holes is told in parts, each until it is answered; they are the map."""
    far = Wire(net)
    listener = far.host.listen()
    assoc = far.connect()
    sock, _ = listener.accept()
    net.sockets.append(sock)
    segs = 4001
    message = bytes(segs * 256)
    arrived = list(range(0, segs, 2))
    assoc.send_data(message, arrived, seg_size=256, flags=wire.TOLERANT)
    far.flush()
    assoc.send(
        wire.GIVEUP, flags=wire.TOLERANT, flow=assoc.flow, len=len(message), seg_size=256
    )
    parts: dict[int, wire.Packet] = {}
    expected = 2000 // wire.CLOSE_RANGES + 1

    def step() -> bool:
        close = assoc.receive(wire.CLOSE)
        assert close.missing == 2000 and close.parts == expected
        assert close.reason == ltp.GAVE_UP
        assert close.received == len(arrived) * 256
        parts[close.part] = close
        if not late or close.part % late:  # the others are told again
            assoc.send(wire.CLOSE_ACK, flow=assoc.flow, part=close.part)
        return len(parts) == expected

    lab.until(step, "all parts came")
    for part in range(expected):
        assoc.send(wire.CLOSE_ACK, flow=assoc.flow, part=part)
    missing = [one for part in range(expected) for one in parts[part].pairs]
    assert missing == [(seg, 1) for seg in range(1, segs, 2)]
    sock.recv(10)
    lab.until(lambda: far.host.family.flows() == [], "the flow is forgotten")


def placed(net: lab.Net) -> tuple[ltp.Socket, Assoc, memoryview, memoryview]:
    """A socket that does not wait, part of whose next message is in a buffer; the rest is to come.

    The message, and the buffer.
    """
    far = Wire(net)
    far.host.family.set_config(rcvbuf=64 << 10)
    sock, assoc = far.accepted()
    sock.setblocking(False)
    data, space = blob(40 * 1024), buffer(40 * 1024)
    assoc.send_data(bytes(data), list(range(20)))
    where = [(calls.address_of(space), len(space))]
    assert calls.recvmsg(sock, where) == -errno.EAGAIN
    same(space[:20 * 1024], data[:20 * 1024])
    return sock, assoc, data, space


@pytest.mark.parametrize("whole", [True, False])
def test_another_buffer_is_refused(net: lab.Net, whole: bool) -> None:
    """What was placed would be missing there: EINVAL, and the message is got by the first one."""
    sock, assoc, data, space = placed(net)
    if whole:
        assoc.send_data(bytes(data), list(range(20, 40)))
    other = buffer(40 * 1024)
    start, size = calls.address_of(space), len(space)
    for where in (
        [(calls.address_of(other), size)],
        [(start, size - 1)],
        [(start + 1, size - 1)],
        [(start, size), (calls.address_of(other), 1)],
        [(calls.address_of(other), 10), (start, size - 10)],
    ):
        for flags in (0, socket.MSG_PEEK, socket.MSG_TRUNC, socket.MSG_WAITALL):
            assert calls.recvmsg(sock, where, flags) == -errno.EINVAL
    assert bytes(other) == bytes(len(other))
    if not whole:
        assoc.send_data(bytes(data), list(range(20, 40)))
    assert calls.recvmsg(sock, [(start, size)], socket.MSG_PEEK) == size
    assert calls.recvmsg(sock, [(start, size // 2), (start + size // 2, size // 2)]) == size
    same(space, data)
    assoc.send_data(b"next", [0], flow=assoc.flow + 1)
    assert sock.recv(10) == b"next"


def test_no_buffer_throws_away(net: lab.Net) -> None:
    """A buffer of no length is no other buffer."""
    sock, assoc, data, _ = placed(net)
    assert calls.recvmsg(sock, []) == -errno.EAGAIN
    assoc.send_data(bytes(data), list(range(20, 40)))
    assert calls.recvmsg(sock, [], socket.MSG_TRUNC) == len(data)
    assoc.send_data(b"next", [0], flow=assoc.flow + 1)
    assert sock.recv(10) == b"next"


def receive_control(sock: ltp.Socket, room: int, flags: int = 0) -> tuple[int, int, bytes]:
    """recvmsg() with that much room for control messages: flags, length in use, and the memory."""
    space, memory = bytearray(5000), bytes(b"\xEE" * 1000)
    msg, keep = calls.message([(calls.address_of(space), len(space))], memory)
    msg.controllen = room
    assert calls.result(lab.libc.recvmsg(sock.fileno(), ctypes.byref(msg), flags)) >= 0
    return msg.flags, msg.controllen, keep[1].raw


def test_room_for_control_messages(pair: lab.Pair) -> None:
    """Each size from none to enough: what fits is right, MSG_CTRUNC if it was not all, no more."""
    pair.rx.want_control()
    whole = ltp.map_space(5000)
    pair.tx.send_message(blob(5000), tag=9)
    lab.until(lambda: pair.rx.info().flows_in == 1, "it is there")
    flags, used, expected = receive_control(pair.rx, 1000, socket.MSG_PEEK)
    assert flags == socket.MSG_EOR and used == whole
    for room in range(whole + 2):
        flags, used, memory = receive_control(pair.rx, room, socket.MSG_PEEK)
        assert used <= room
        assert bool(flags & socket.MSG_CTRUNC) == (room < whole)
        assert memory[room:] == b"\xEE" * (1000 - room)
        if used < 16:
            continue
        # A message that was cut says how much of it there is; its value is that of the whole one.
        length = struct.unpack_from("=Q", memory)[0]
        assert 16 <= length <= used
        assert memory[16:length] == expected[16:length]
    assert pair.rx.recv(5000) == blob(5000)


def test_room_for_a_report(pair: lab.Pair) -> None:
    """The same of the error queue."""
    pair.tx.set(ltp.REPORTS, 1)
    for room in range(0, 80, 4):
        pair.tx.send_message(b"x", tag=room)
        assert pair.rx.recv(1) == b"x"
        lab.until(lambda: pair.tx.info().flows_out == 0, "it is reported")
        flags, used, memory = receive_control(pair.tx, room, 0x2000)
        assert used <= room
        assert bool(flags & socket.MSG_CTRUNC) == (room < 16 + 32)
        assert memory[room:] == b"\xEE" * (1000 - room)
