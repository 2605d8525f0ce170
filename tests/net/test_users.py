# SPDX-License-Identifier: GPL-2.0
"""Who may use it: processes that share sockets, threads that race, users without privileges."""
import array
import errno
import os
import random
import socket
import struct
import subprocess
import sys
import textwrap

from tests.net import calls, lab, ltp
from tests.net.data import blob, same
from tests.net.lab import MIB


def in_child(body: str, *fds: int) -> "subprocess.Popen[str]":
    """A Python program with the sockets of these descriptors as `socks`."""
    head = f"""
        import errno, os, socket, struct
        socks = [socket.socket(2, 5, 253, fileno=fd) for fd in {list(fds)}]
    """
    program = textwrap.dedent(head) + textwrap.dedent(body)
    return subprocess.Popen(
        [sys.executable, "-c", program], pass_fds=fds, text=True, stdout=subprocess.PIPE
    )


def test_inherited(pair: lab.Pair) -> None:
    """A child sends with the socket of its parent, after the parent has closed it."""
    child = in_child("socks[0].send(b'x' * 1000000); print('sent')", pair.tx.fileno())
    pair.tx.close()
    assert pair.rx.receive(MIB).data == b"x" * 1000000
    assert child.communicate()[0] == "sent\n"
    assert child.returncode == 0
    assert pair.rx.recv(10) == b""


def test_killed_in_the_middle(pair: lab.Pair) -> None:
    """A sender that dies in the middle of a message: a reset, zeros must not pass for the rest."""
    pair.tx.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32768)
    pair.tx_host.netem("rate 20mbit")
    child = in_child("socks[0].send(bytes(100000000))", pair.tx.fileno())
    pair.tx.close()
    lab.until(lambda: pair.rx.info().bytes_received > 100000, "some of it came")
    child.kill()
    child.wait()
    assert calls.error_of(pair.rx.recv, 1000) == errno.ECONNRESET
    assert pair.rx.recv(10) == b""


def test_passed(pair: lab.Pair) -> None:
    """A descriptor through a UNIX socket."""
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    rights = array.array("i", [pair.tx.fileno()])
    one.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
    pair.tx.close()
    _, cmsgs, _, _ = other.recvmsg(1, socket.CMSG_SPACE(4))
    sock = ltp.Socket(struct.unpack("=i", cmsgs[0][2])[0])
    pair.net.sockets.append(sock)
    sock.send(b"hello")
    assert pair.rx.recv(10) == b"hello"
    one.close()
    other.close()


def test_in_flight_descriptor_is_collected(pair: lab.Pair) -> None:
    """The only descriptor is in a message that nobody reads."""
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    rights = array.array("i", [pair.tx.fileno()])
    one.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
    pair.tx.close()
    one.close()
    other.close()
    assert pair.rx.recv(10) == b""


def test_threads_race(pair: lab.Pair) -> None:
    """Many threads do all that one can do with one socket, while messages pass."""
    stop: list[int] = []

    def poke(seed: int) -> int:
        rng = random.Random(seed)
        count = 0
        while not stop:
            sock = rng.choice((pair.rx, pair.tx))
            rng.choice(
                (
                    sock.info,
                    sock.meminfo,
                    sock.getsockname,
                    sock.getpeername,
                    lambda: sock.set_thresholds(rng.randrange(1, 10**6), 5, 10**6),
                    lambda: sock.set(ltp.SEGSIZE, rng.randrange(16, 80) * 16),
                    lambda: sock.setsockopt(
                        socket.SOL_SOCKET, socket.SO_SNDBUF, rng.randrange(1 << 16, 1 << 20)
                    ),
                    lambda: sock.ioctl(ltp.SIOCOUTQ),
                    lambda: calls.error_of(sock.recv, 10, 0x2000),
                    lambda: calls.error_of(sock.connect, ("10.1.0.1", 5000)),
                    lambda: calls.error_of(sock.bind, ("10.1.0.1", 5000)),
                    lambda: calls.error_of(sock.listen),
                    lambda: lab.run("true") if rng.random() < 0.01 else "",
                )
            )()
            count += 1
        return count

    jobs = [pair.net.background(poke, seed) for seed in range(6)]
    data = blob(MIB)
    for i in range(lab.scaled(60, 10)):
        sent = pair.net.background(pair.tx.send, data[i:])
        same(pair.rx.receive(MIB).data, data[i:])
        assert sent.result() == MIB - i
    stop.append(1)
    assert all(job.result() > 0 for job in jobs)


def test_close_under_a_sleeper(pair: lab.Pair) -> None:
    """close() of a descriptor in whose call another thread sleeps: the call goes on."""
    space = bytearray(10)
    caller = calls.Caller(calls.recvmsg, pair.rx, [(calls.address_of(space), 10)]).wait_asleep()
    pair.rx.close()
    pair.tx.send(b"hello")
    assert caller.end() == 5


def test_namespace_goes_away(net: lab.Net) -> None:
    """Open sockets keep their namespace; it ends when they do."""
    pair = net.pair()
    pair.tx.send(b"one")
    for host in net.hosts:
        lab.check(lab.libc.umount2(host.path.encode(), lab.MNT_DETACH), "umount2")
    pair.tx.send(b"two")
    assert (pair.rx.recv(10), pair.rx.recv(10)) == (b"one", b"two")
    pair.tx.send(bytes(10 * MIB), socket.MSG_DONTWAIT)
    pair.tx.close()


def test_namespace_goes_away_with_its_links(net: lab.Net) -> None:
    """The link vanishes in the middle of a message."""
    pair = net.pair()
    pair.tx.send(bytes(100000))
    pair.rx.recv(100000)
    pair.tx_host.netem("rate 10mbit")
    pair.tx.send(bytes(MIB), socket.MSG_DONTWAIT)
    pair.tx_host.ip("link", "del", "e0")
    for sock in pair.tx, pair.rx:
        assert calls.error_of(sock.recv, 10, socket.MSG_DONTWAIT) == errno.EAGAIN


USERS = """
import errno, os, socket, struct, sys
def new():
    return socket.socket(2, 5, 253)
def error(function, *args):
    try:
        function(*args)
    except OSError as err:
        return errno.errorcode[err.errno]
    return "0"
"""


def unprivileged(body: str, *how: str) -> str:
    """A program of a user who is nobody; what it prints."""
    program = USERS + textwrap.dedent(body)
    return lab.run(*how, sys.executable, "-c", program)


LO_UP = """
    import fcntl
    fcntl.ioctl(new(), 0x8914, struct.pack("=16sh22x", b"lo", 1))
"""
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all")
BODY = """
    print(error(new().bind, ("127.0.0.1", 7)))
    listener = new()
    listener.bind(("127.0.0.1", 5000))
    listener.listen()
    sock = new()
    sock.connect(("127.0.0.1", 5000))
    child, _ = listener.accept()
    sock.send(b"x" * 1000000)
    print(len(child.recv(1000000)))
    print(error(sock.setsockopt, 1, 36, struct.pack("=i", 5)))
    print(error(socket.socket, 2, 3, 253))
"""


def test_nobody(net: lab.Net) -> None:
    """Without privileges: all but low ports, marks and raw packets."""
    host = net.alone()
    output = unprivileged(BODY, "ip", "netns", "exec", host.name, *NOBODY)
    assert output.split() == ["EACCES", "1000000", "EPERM", "EPERM"]


def test_user_namespace() -> None:
    """Root of a user namespace with a network of its own: everything."""
    how = ("unshare", "--user", "--map-root-user", "--net")
    output = unprivileged(LO_UP + BODY, *NOBODY, *how)
    assert output.split() == ["0", "1000000", "0", "0"]


def test_counters_are_of_a_namespace(pair: lab.Pair, net: lab.Net) -> None:
    other = net.alone()
    pair.tx.send(b"hello")
    pair.rx.recv(10)
    assert set(other.counters().values()) == {0}
    assert pair.rx_host.counters()["InData"] == pair.tx_host.counters()["OutData"] == 1
    assert os.path.exists(pair.rx_host.path)
