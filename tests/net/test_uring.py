# SPDX-License-Identifier: GPL-2.0
"""io_uring, splice(), sendfile() and AIO on sockets."""
import ctypes
import errno
import os
import socket
import struct
import tempfile
from collections.abc import Iterator

import pytest

from tests.net import calls, lab, ltp, uring
from tests.net.data import blob, buffer, same
from tests.net.lab import MIB
from tests.net.uring import Ring

MSG_WAITALL = socket.MSG_WAITALL
LATER = [0, uring.ASYNC]  # tried at once and polled for, or by a worker that sleeps in the call


@pytest.fixture(name="ring")
def fixture_ring() -> Iterator[Ring]:
    ring = Ring()
    yield ring
    ring.close()


def sockaddr(host: lab.Host, port: int = 5000) -> bytearray:
    return bytearray(struct.pack("!2xH4s8x", port, socket.inet_aton(host.addr))).replace(
        b"\0\0", struct.pack("=H", socket.AF_INET), 1
    )


@pytest.mark.parametrize("flags", LATER)
def test_messages(pair: lab.Pair, ring: Ring, flags: int) -> None:
    """Send and receive, in both orders, with all operations there are for it."""
    tx, rx = pair.tx.fileno(), pair.rx.fileno()
    for way_out, way_in in ((uring.SEND, uring.RECV), (uring.WRITE, uring.READ)):
        for first in ("send", "receive"):
            space = bytearray(100)
            if first == "send":
                out = ring.send(tx, b"hello", opcode=way_out, flags=flags)
                into = ring.receive(rx, space, opcode=way_in, flags=flags)
            else:
                into = ring.receive(rx, space, opcode=way_in, flags=flags)
                out = ring.send(tx, b"hello", opcode=way_out, flags=flags)
            assert ring.both(out, into) == [5, 5]
            assert space[:5] == b"hello"


@pytest.mark.parametrize("flags", LATER)
def test_control_messages(pair: lab.Pair, ring: Ring, flags: int) -> None:
    """sendmsg and recvmsg with theirs."""
    data, space, control = bytearray(b"hello"), bytearray(100), bytearray(64)
    level, kind, value = ltp.sndinfo(tag=7, flags=ltp.TOLERANT)
    cmsg = struct.pack("=Qii", 16 + len(value), level, kind) + value
    out, keep_out = calls.message([(calls.address_of(data), 5)], cmsg)
    into, keep_in = calls.message([(calls.address_of(space), 100)], bytes(control))
    pair.rx.want_control()
    received = ring.submit(uring.RECVMSG, pair.rx.fileno(), ctypes.addressof(into), 1, flags=flags)
    sent = ring.submit(uring.SENDMSG, pair.tx.fileno(), ctypes.addressof(out), 1, flags=flags)
    assert ring.both(sent, received) == [5, 5]
    info = ltp.RcvInfo(*ltp.RCVINFO_FORMAT.unpack_from(keep_in[1], 16))
    assert (info.tag, info.flags, info.length) == (7, ltp.TOLERANT, 5)
    assert into.flags & socket.MSG_EOR
    assert keep_out


@pytest.mark.parametrize("flags", LATER)
def test_large_message(net: lab.Net, ring: Ring, flags: int) -> None:
    """Many times all buffers: one receive, and one send with MSG_WAITALL."""
    rx_host, tx_host = net.link()
    rx_host.family.set_config(rcvbuf=256 << 10)
    tx_host.family.set_config(sndbuf=256 << 10)
    pair = lab.Pair(rx_host, tx_host)
    data, space = blob(8 * MIB), buffer(8 * MIB)
    into = ring.receive(pair.rx.fileno(), space, flags=flags)
    out = ring.send(pair.tx.fileno(), data, MSG_WAITALL, flags=flags)
    assert ring.both(out, into) == [8 * MIB, 8 * MIB]
    same(space, data)


def test_short_send(pair: lab.Pair, ring: Ring) -> None:
    """Without MSG_WAITALL a send is one that does not wait: short, and the next one continues."""
    pair.tx.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 << 10)
    pair.tx_host.netem("delay 2ms")
    data, space = blob(MIB), buffer(MIB)
    received = pair.net.background(pair.rx.receive_into, space)
    at = sends = 0
    while at < MIB:
        done = ring.wait(ring.send(pair.tx.fileno(), data[at:]))
        assert 0 < done.result <= MIB - at
        at += done.result
        sends += 1
    assert sends > 1
    assert received.result().size == MIB
    same(space, data)


@pytest.mark.parametrize("flags", LATER)
def test_connect_and_accept(net: lab.Net, ring: Ring, flags: int) -> None:
    rx_host, tx_host = net.link()
    listener, sock = rx_host.listen(), tx_host.socket()
    where = sockaddr(rx_host)
    accepted = ring.submit(uring.ACCEPT, listener.fileno(), flags=flags)
    connected = ring.submit(uring.CONNECT, sock.fileno(), calls.address_of(where), off=16,
                            flags=flags)
    fd, error = ring.both(accepted, connected)
    assert error == 0 and fd >= 0
    child = ltp.Socket(fd)
    net.sockets.append(child)
    assert child.getpeername() == sock.getsockname()
    ring.both(ring.send(sock.fileno(), b"hello"))
    assert child.recv(10) == b"hello"
    # Nobody listens there.
    fresh = tx_host.socket()
    where[2:4] = struct.pack("!H", 5999)
    refused = ring.submit(uring.CONNECT, fresh.fileno(), calls.address_of(where), off=16,
                          flags=flags)
    assert ring.wait(refused).result == -errno.ECONNREFUSED


def test_accept_many(net: lab.Net, ring: Ring) -> None:
    """One request for all that come; shutdown() of the listener ends it."""
    rx_host, tx_host = net.link()
    listener = rx_host.listen()
    request = ring.submit(uring.ACCEPT, listener.fileno(), ioprio=uring.ACCEPT_MULTISHOT)
    for _ in range(5):
        sock = tx_host.connect(rx_host)
        done = ring.wait(request)
        assert done.flags & uring.CQE_MORE
        child = ltp.Socket(done.result)
        net.sockets.append(child)
        assert child.getpeername() == sock.getsockname()
    listener.shutdown(socket.SHUT_RD)
    assert ring.wait(request).result == -errno.EINVAL


def test_poll(pair: lab.Pair, ring: Ring) -> None:
    """POLL_ADD completes when there is something, POLL_REMOVE takes it back."""
    fd = pair.rx.fileno()
    request = ring.submit(uring.POLL_ADD, fd, op_flags=1)
    assert ring.reap() is None
    pair.tx.send(b"hello")
    assert ring.wait(request).result & 1
    assert pair.rx.recv(10) == b"hello"
    request = ring.submit(uring.POLL_ADD, fd, op_flags=1)
    removed = ring.submit(uring.POLL_REMOVE, -1, addr=request)
    assert ring.both(request, removed) == [-errno.ECANCELED, 0]
    out = ring.submit(uring.POLL_ADD, pair.tx.fileno(), op_flags=4)
    assert ring.wait(out).result & 4


@pytest.mark.parametrize("flags", LATER)
def test_cancel(net: lab.Net, ring: Ring, flags: int) -> None:
    """Receive, send, accept and connect that wait: all can be taken back, and nothing is harmed."""
    pair = net.pair()
    fresh, (idle, other) = pair.tx_host.socket(), pair.more()
    pair.tx.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    pair.tx_host.netem(f"delay {lab.scaled(1, 10)}s")
    while calls.error_of(pair.tx.send, bytes(1000), socket.MSG_DONTWAIT) == 0:
        pass
    pair.tx_host.set_neighbour("10.1.0.9", b"\2\0\0\0\0\1")
    space, nowhere = bytearray(10), sockaddr(pair.rx_host)
    nowhere[4:8] = socket.inet_aton("10.1.0.9")
    requests = [
        ring.send(pair.tx.fileno(), b"more", flags=flags),
        ring.receive(idle.fileno(), space, flags=flags),
        ring.submit(uring.ACCEPT, pair.listener.fileno(), flags=flags),
        ring.submit(uring.CONNECT, fresh.fileno(), calls.address_of(nowhere), off=16, flags=flags),
    ]
    for request in requests:
        cancel = ring.submit(uring.ASYNC_CANCEL, -1, addr=request)
        results = ring.both(request, cancel)
        assert results[0] in (-errno.ECANCELED, -errno.EINTR), results
        assert results[1] in (0, -errno.EALREADY)
    # The sockets still work.
    assert pair.tx.info().flows_out
    pair.tx_host.netem("delay 0ms")
    out = ring.send(other.fileno(), b"hello")
    assert ring.wait(out).result == 5
    assert idle.recv(10) == b"hello"


@pytest.mark.parametrize("flags", LATER)
def test_timeout(pair: lab.Pair, ring: Ring, flags: int) -> None:
    """A receive with a linked timeout of a millisecond."""
    space, when = bytearray(10), bytearray(struct.pack("=qq", 0, 1000000))
    received = ring.receive(pair.rx.fileno(), space, flags=flags | uring.LINK)
    timeout = ring.submit(uring.LINK_TIMEOUT, -1, calls.address_of(when), 1)
    results = ring.both(received, timeout)
    assert results[0] in (-errno.ECANCELED, -errno.EINTR)
    assert results[1] in (-errno.ETIME, -errno.EALREADY, -errno.ENOENT, 0)
    pair.tx.send(b"late")
    assert pair.rx.recv(10) == b"late"


@pytest.mark.parametrize("flags", LATER)
def test_the_end(pair: lab.Pair, ring: Ring, flags: int) -> None:
    """Requests that wait are told when the peer resets or ends, or the own side shuts down."""
    one, two = pair.more(), pair.more()
    ended = ring.receive(one[0].fileno(), bytearray(10), flags=flags)
    one[1].shutdown(socket.SHUT_WR)
    assert ring.wait(ended).result == 0
    reset = ring.receive(two[0].fileno(), bytearray(10), flags=flags)
    two[1].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("=ii", 1, 0))
    two[1].close()
    assert ring.wait(reset).result == -errno.ECONNRESET
    shut = ring.receive(pair.rx.fileno(), bytearray(10), flags=flags)
    done = ring.submit(uring.SHUTDOWN, pair.rx.fileno(), length=socket.SHUT_RDWR)
    assert ring.both(shut, done) == [0, 0]
    assert ring.wait(ring.send(pair.rx.fileno(), b"x", socket.MSG_NOSIGNAL)).result == -errno.EPIPE


def test_closed_ring(pair: lab.Pair) -> None:
    """A ring that goes away with requests that wait: the sockets work on."""
    ring = Ring()
    for flags in LATER:
        ring.receive(pair.rx.fileno(), bytearray(10), flags=flags)
        ring.submit(uring.ACCEPT, pair.listener.fileno(), flags=flags)
    ring.close()
    pair.net.sockets += [*pair.more()]
    pair.tx.send(b"hello")
    lab.until(lambda: pair.rx.info().flows_in == 1 or pair.rx.info().bytes_received, "it is there")


def test_zero_copy_is_refused(pair: lab.Pair, ring: Ring) -> None:
    out = ring.send(pair.tx.fileno(), b"hello", opcode=uring.SEND_ZC)
    assert ring.wait(out).result == -errno.EOPNOTSUPP


# ---- splice, sendfile, AIO


def test_sendfile(pair: lab.Pair) -> None:
    """Each piece that the kernel hands over is a message; together they are the file."""
    data = blob(300000)
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        sent = 0
        while sent < len(data):
            sent += os.sendfile(pair.tx.fileno(), file.fileno(), sent, len(data) - sent)
    pair.tx.shutdown(socket.SHUT_WR)
    got = b""
    while piece := pair.rx.recv(MIB):
        got += piece
    same(got, data)


def test_splice(pair: lab.Pair) -> None:
    """Into a socket as sendfile(); out of a socket EINVAL, and nothing is lost."""
    out, into = os.pipe()
    os.write(into, b"hello")
    assert os.splice(out, pair.tx.fileno(), 5) == 5
    lab.until(lambda: pair.rx.info().flows_in == 1, "it is there")
    assert calls.error_of(os.splice, pair.rx.fileno(), into, 100) == errno.EINVAL
    assert pair.rx.recv(10) == b"hello"
    os.close(out)
    os.close(into)


def test_sendfile_to_a_reset_socket(pair: lab.Pair) -> None:
    pair.rx.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("=ii", 1, 0))
    pair.rx.close()
    lab.until(lambda: pair.tx.info().state == ltp.CLOSED, "it is reset")
    with tempfile.TemporaryFile() as file:
        file.write(b"x" * 1000)
        file.flush()
        for expected in (errno.ECONNRESET, errno.EPIPE):
            assert calls.error_of(
                os.sendfile, pair.tx.fileno(), file.fileno(), 0, 1000
            ) == expected


SYS_IO_SETUP, SYS_IO_DESTROY, SYS_IO_GETEVENTS, SYS_IO_SUBMIT = 206, 207, 208, 209
IOCB = struct.Struct("=QIiHhIQQqQII")


def test_aio(pair: lab.Pair) -> None:
    """Linux AIO: reads and writes, which wait as read() and write() do."""
    context = ctypes.c_ulong()
    lab.check(lab.libc.syscall(SYS_IO_SETUP, 4, ctypes.byref(context)), "io_setup")
    data, space = bytearray(b"hello"), bytearray(10)
    for opcode, sock, memory in ((1, pair.tx, data), (0, pair.rx, space)):
        block = bytearray(IOCB.pack(9, 0, 0, opcode, 0, sock.fileno(), calls.address_of(memory),
                                    len(memory), 0, 0, 0, 0))
        pointers = (ctypes.c_void_p * 1)(calls.address_of(block))
        assert lab.libc.syscall(SYS_IO_SUBMIT, context, 1, pointers) == 1
        event = bytearray(32)
        assert lab.libc.syscall(SYS_IO_GETEVENTS, context, 1, 1, calls.pointer(event), None) == 1
        assert struct.unpack("=QQqq", event)[2] == 5
    assert space[:5] == b"hello"
    lab.check(lab.libc.syscall(SYS_IO_DESTROY, context), "io_destroy")


def test_receive_with_waitall(pair: lab.Pair, ring: Ring) -> None:
    """io_uring's own way with MSG_WAITALL: it goes on to the next message while there is room."""
    space = bytearray(10)
    into = ring.receive(pair.rx.fileno(), space, MSG_WAITALL)
    pair.tx.send(b"hello")
    pair.tx.send(b"world")
    assert ring.wait(into).result == 10
    assert space == b"helloworld"
