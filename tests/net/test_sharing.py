# SPDX-License-Identifier: GPL-2.0
"""One socket, several processes, threads and descriptors: fork, passing, dup, close, signals."""
import array
import errno
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Callable

import pytest

from tests.net import calls, lab, ltp, wire
from tests.net.data import blob, buffer, check_message
from tests.net.lab import MIB
from tests.net.peer import Wire

# Python warns of fork() beside threads, which is what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


def fork(body: Callable[[], object]) -> int:
    """Runs a function in a child of this process, which ends with it: 0, or 1 if it raises."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        signal.alarm(60 * lab.SLOW)
        body()
        status = 0
    finally:
        os._exit(status)


def ended_well(pid: int) -> bool:
    return os.waitpid(pid, 0)[1] == 0


def pass_on(sock: socket.socket) -> ltp.Socket:
    """The same socket by another descriptor, through a UNIX socket."""
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    rights = array.array("i", [sock.fileno()])
    one.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
    _, cmsgs, _, _ = other.recvmsg(1, socket.CMSG_SPACE(4))
    one.close()
    other.close()
    return ltp.Socket(struct.unpack("=i", cmsgs[0][2])[0])


# ---- processes


def test_both_processes_send(pair: lab.Pair) -> None:
    """Messages of two processes on one association do not mix."""
    count, size = 20, 50000
    pair.tx.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 << 10)

    def send(letter: bytes) -> None:
        for _ in range(count):
            assert pair.tx.send(letter * size) == size

    child = fork(lambda: send(b"c"))
    sent = pair.net.background(send, b"p")
    seen = {b"c": 0, b"p": 0}
    for _ in range(2 * count):
        got = pair.rx.recv(size)
        assert got == got[:1] * size
        seen[got[:1]] += 1
    sent.result()
    assert seen == {b"c": count, b"p": count}
    assert ended_well(child)


def test_both_processes_receive(pair: lab.Pair) -> None:
    """Each message goes to one of them; the end is told to both."""
    told, tell = os.pipe()

    def receive() -> None:
        while got := pair.rx.recv(10):
            os.write(tell, got)

    children = [fork(receive) for _ in range(2)]
    for i in range(50):
        pair.tx.send(b"%03d" % i)
    pair.tx.shutdown(socket.SHUT_WR)
    assert all(ended_well(child) for child in children)
    os.close(tell)
    with os.fdopen(told, "rb") as file:
        text = file.read()
    assert sorted(text[i:i + 3] for i in range(0, len(text), 3)) == [b"%03d" % i for i in range(50)]


def test_prefork_server(net: lab.Net) -> None:
    """Several processes accept from one listener, as servers do that fork before."""
    rx_host, tx_host = net.link()
    listener = rx_host.listen()

    def serve() -> None:
        while True:
            child, _ = listener.accept()
            request = child.recv(100)
            child.send(request)
            child.recv(1)
            child.close()
            if request == b"end":
                return

    children = [fork(serve) for _ in range(3)]
    for i in range(30):
        sock = tx_host.connect(rx_host)
        sock.send(b"%d" % i)
        assert sock.recv(10) == b"%d" % i
        sock.close()
    for _ in children:
        sock = tx_host.connect(rx_host)
        sock.send(b"end")
        assert sock.recv(10) == b"end"
        sock.close()
    assert all(ended_well(child) for child in children)


def test_passed_listener(net: lab.Net) -> None:
    """A listener through a UNIX socket: both descriptors accept, until both are closed."""
    rx_host, tx_host = net.link()
    listener = rx_host.listen()
    passed = pass_on(listener)
    for one in listener, passed:
        tx_host.connect(rx_host)
        child, _ = one.accept()
        net.sockets.append(child)
    listener.close()
    tx_host.connect(rx_host)
    net.sockets.append(passed.accept()[0])
    passed.close()
    assert tx_host.socket().connect_ex((rx_host.addr, 5000)) == errno.ECONNREFUSED


def test_passed_in_the_middle(pair: lab.Pair) -> None:
    """A half-written message is continued through another descriptor, by another process."""
    pair.tx.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 << 10)
    pair.tx_host.netem("delay 2ms")
    data = blob(MIB)
    at = pair.tx.send(data, socket.MSG_DONTWAIT)
    assert 0 < at < MIB
    passed = pass_on(pair.tx)
    child = fork(lambda: passed.sendall(data[at:]))
    check_message(pair.rx.want_control().receive(MIB), data)
    assert ended_well(child)
    passed.close()


def test_dup(pair: lab.Pair) -> None:
    """The association ends with its last descriptor; flags of the file are shared."""
    copy = ltp.Socket(os.dup(pair.tx.fileno()))
    copy.setblocking(False)
    assert calls.recvmsg(pair.tx, [(calls.address_of(bytearray(1)), 1)]) == -errno.EAGAIN
    pair.tx.close()
    copy.send(b"still here")
    assert pair.rx.recv(100) == b"still here"
    copy.close()
    assert pair.rx.recv(100) == b""


# ---- close() under calls that wait


def waiting(call: Callable[..., int], *args: object) -> calls.Caller:
    return calls.Caller(lambda: calls.result(call(*args))).wait_asleep()


def test_close_under_a_sender(net: lab.Net) -> None:
    """The call has the socket for itself and goes on; its message arrives."""
    pair = net.pair()
    pair.tx.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32 << 10)
    pair.rx.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
    data = bytearray(blob(MIB))
    caller = calls.Caller(calls.sendmsg, pair.tx, [(calls.address_of(data), MIB)]).wait_asleep()
    pair.tx.close()
    check_message(pair.rx.want_control().receive(MIB), bytes(data))
    assert caller.end() == MIB
    assert pair.rx.recv(10) == b""


def test_close_under_accept(net: lab.Net) -> None:
    """As with TCP: the call goes on, and may still accept; then nobody listens any more."""
    rx_host, tx_host = net.link()
    listener = rx_host.listen()
    caller = waiting(lab.libc.accept, listener.fileno(), None, None)
    listener.close()
    tx_host.connect(rx_host)
    child = ltp.Socket(caller.end())
    net.sockets.append(child)
    lab.until(
        lambda: tx_host.socket().connect_ex((rx_host.addr, 5000)) == errno.ECONNREFUSED,
        "nobody listens",
    )


def test_close_under_connect(net: lab.Net) -> None:
    """The call goes on, and says how it went."""
    far = Wire(net)
    sock = far.host.socket()
    where = struct.pack("!HH4s8x", 2 << 8, 5000, socket.inet_aton("10.1.0.2"))
    caller = waiting(lab.libc.connect, sock.fileno(), where, 16)
    sock.close()
    far.accept()
    assert caller.end() == 0
    far.receive(wire.FIN)


def test_shutdown_under_connect(net: lab.Net) -> None:
    """It ends the attempt, as with TCP."""
    far = Wire(net)
    sock = far.host.socket()
    where = struct.pack("!HH4s8x", 2 << 8, 5000, socket.inet_aton("10.1.0.2"))
    caller = waiting(lab.libc.connect, sock.fileno(), where, 16)
    sock.shutdown(socket.SHUT_RDWR)
    assert caller.end() == -errno.ECONNABORTED
    assert sock.info().state == ltp.CLOSED
    assert far.host.family.assocs() == []


# ---- signals


@pytest.mark.parametrize("what", ["recv", "send", "accept", "connect"])
def test_restarted_calls(net: lab.Net, what: str) -> None:
    """SA_RESTART: the signal is not seen, however many come, unless there is a time-out."""
    far = Wire(net)
    sock, assoc = far.accepted(rwnd=1 << 30)
    space = bytearray(10)
    listener = far.host.listen(5001)
    fresh = far.host.socket()
    for one in sock, listener, fresh:
        one.set_timeouts(0)
    where = struct.pack("!HH4s8x", 2 << 8, 5009, socket.inet_aton("10.1.0.2"))
    if what == "send":
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
        while calls.error_of(sock.send, bytes(1000), socket.MSG_DONTWAIT) == 0:
            pass
    call: dict[str, Callable[[], int]] = {
        "recv": lambda: lab.libc.recv(sock.fileno(), calls.pointer(space), 10, 0),
        "send": lambda: lab.libc.send(sock.fileno(), calls.pointer(space), 10, 0),
        "accept": lambda: lab.libc.accept(listener.fileno(), None, None),
        "connect": lambda: lab.libc.connect(fresh.fileno(), where, 16),
    }
    with calls.quiet_signal(restart=True):
        caller = calls.Caller(lambda: calls.result(call[what]())).wait_asleep()
        for _ in range(5):
            caller.interrupt()
            caller.wait_asleep()
        assert caller.thread.is_alive()
        if what == "recv":
            assoc.send_data(b"hello", [0])
        elif what == "accept":
            far.send(far.init(7001, 5001))
            far.send(far.echo(far.receive(wire.INIT_ACK)))
        elif what == "send":
            for packet, _ in far.pending():
                if packet.kind == wire.DATA:
                    far.send(assoc.ack(packet, 1))
        else:
            far.accept()
        result = caller.end()
        if what == "accept":
            net.sockets.append(ltp.Socket(result))
        else:
            assert result == {"recv": 5, "send": 10, "connect": 0}[what]


@pytest.mark.parametrize("timeout", [False, True])
def test_interrupted_with_and_without_a_timeout(net: lab.Net, timeout: bool) -> None:
    """signal(7): a call with SO_RCVTIMEO or SO_SNDTIMEO is not restarted, even with SA_RESTART."""
    pair = net.pair()
    pair.rx.set_timeouts(100 if timeout else 0)
    space = bytearray(10)
    with calls.quiet_signal(restart=True):
        caller = calls.Caller(
            lambda: calls.result(lab.libc.recv(pair.rx.fileno(), calls.pointer(space), 10, 0))
        ).wait_asleep()
        caller.interrupt()
        if timeout:
            assert caller.end() == -errno.EINTR
            return
        pair.tx.send(b"hello")
        assert caller.end() == 5


# ---- SO_LINGER


def linger(sock: socket.socket, on: int, seconds: int) -> None:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("=ii", on, seconds))


def close_time(sock: socket.socket) -> float:
    start = time.monotonic()
    sock.close()
    return time.monotonic() - start


@pytest.mark.parametrize("size", [100, MIB])
def test_linger_is_over(net: lab.Net, size: int) -> None:
    """Data that is sent and not acknowledged, or not even sent: close() waits its time, then goes.

    What is left goes on in the background, and arrives.
    """
    far = Wire(net)
    sock, assoc = far.accepted(rwnd=2000)
    sock.send(bytes(size))
    linger(sock, 1, 1)
    taken = close_time(sock)
    assert 0.9 < taken < 5 * lab.SLOW
    first = assoc.receive(wire.DATA)
    far.send(assoc.ack(first, 1))
    if size == 100:
        assert assoc.receive(wire.FIN)
    else:
        assert lab.until(lambda: assoc.receive(wire.DATA).seg > 0, "it goes on")


def test_linger_of_what_is_acknowledged(pair: lab.Pair) -> None:
    """Nothing is left to wait for but the peer's answer."""
    pair.tx.send(b"hello")
    assert pair.rx.recv(10) == b"hello"
    lab.until(lambda: pair.tx.unacknowledged() == 0, "it is acknowledged")
    linger(pair.tx, 1, 100)
    assert close_time(pair.tx) < 5 * lab.SLOW
    assert pair.rx.recv(10) == b""


def test_linger_without_waiting(net: lab.Net) -> None:
    """O_NONBLOCK does not keep close() from lingering; SO_LINGER off does, and a killed process."""
    far = Wire(net)
    sock, _ = far.accepted()
    sock.setblocking(False)
    sock.send(b"hello")
    linger(sock, 0, 100)
    assert close_time(sock) < 5 * lab.SLOW


def test_linger_and_reset(net: lab.Net) -> None:
    """A lingering close() ends when the peer resets."""
    far = Wire(net)
    sock, assoc = far.accepted()
    sock.send(b"hello")
    linger(sock, 1, 100)
    closing = net.background(close_time, sock)
    assoc.receive(wire.DATA)
    lab.until(lambda: assoc.send(wire.RESET, body_tag=assoc.my_tag) and closing.done(), "it ends")
    assert closing.result() < 50


def test_linger_zero_with_nothing_sent(net: lab.Net) -> None:
    """SO_LINGER 0 resets even when nothing is left to do."""
    far = Wire(net)
    sock, assoc = far.accepted()
    linger(sock, 1, 0)
    sock.close()
    assert assoc.receive(wire.RESET).body_tag == assoc.host_tag
    assert far.host.family.assocs() == []


# ---- time-outs


def test_timeouts_of_accept_and_connect(net: lab.Net) -> None:
    """SO_RCVTIMEO is accept()'s, SO_SNDTIMEO connect()'s; with EINPROGRESS it goes on."""
    far = Wire(net)
    listener = far.host.listen()
    listener.set_timeouts(0.05)
    assert calls.error_of(listener.accept) == errno.EAGAIN
    sock = far.host.socket()
    sock.set_timeouts(0.05)
    assert calls.error_of(sock.connect, ("10.1.0.2", 5000)) == errno.EINPROGRESS
    far.accept()
    assert select.select([], [sock], [], 10 * lab.SLOW)[1]
    assert sock.connect_ex(("10.1.0.2", 5000)) in (0, errno.EISCONN)


def test_turns_and_timeouts(pair: lab.Pair) -> None:
    """Who waits for another reader's or writer's turn gives up in time, too."""
    space = buffer(MIB)
    reader = calls.Caller(
        calls.recvmsg, pair.rx, [(calls.address_of(space), 100)]
    ).wait_asleep()
    assert calls.error_of(pair.rx.recv, 10, socket.MSG_DONTWAIT) == errno.EAGAIN
    pair.tx.send(b"hello")
    assert reader.end() == 5
    pair.tx.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    pair.rx.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    writer = calls.Caller(calls.sendmsg, pair.tx, [(calls.address_of(space), MIB)]).wait_asleep()
    assert calls.error_of(pair.tx.send, b"x", socket.MSG_DONTWAIT) == errno.EAGAIN
    assert pair.rx.receive(MIB).size == MIB
    assert writer.end() == MIB
