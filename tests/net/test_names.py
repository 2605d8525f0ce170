# SPDX-License-Identifier: GPL-2.0
"""Addresses and ports: bind, conflicts, SO_REUSEADDR, names, devices."""
import ctypes
import errno
import socket

import pytest

from tests.net import calls, lab, ltp

SOL = socket.SOL_SOCKET
REUSE = socket.SO_REUSEADDR


@pytest.fixture(name="host")
def fixture_host(link: tuple[lab.Host, lab.Host]) -> lab.Host:
    host, _ = link
    host.ip("addr", "add", "10.1.0.11/16", "dev", "e0")
    return host


def bind(host: lab.Host, addr: str, port: int, reuse: bool = False) -> int:
    """0 or the error."""
    sock = host.socket()
    sock.setsockopt(SOL, REUSE, int(reuse))
    return calls.error_of(sock.bind, (addr, port))


def test_bind_errors(host: lab.Host) -> None:
    assert bind(host, "10.9.9.9", 5000) == errno.EADDRNOTAVAIL
    sock = host.socket()
    sock.bind((host.addr, 5000))
    assert calls.error_of(sock.bind, (host.addr, 5001)) == errno.EINVAL
    fresh = host.socket()
    for raw, expected in ((b"\2\0\0\0", errno.EINVAL), (b"\x0a" + bytes(27), errno.EAFNOSUPPORT)):
        assert calls.result(lab.libc.bind(fresh.fileno(), raw, len(raw))) == -expected
    connected = lab.Pair(host, host, 5005).tx
    assert calls.error_of(connected.bind, (host.addr, 5002)) == errno.EINVAL


def test_conflicts(host: lab.Host) -> None:
    """The same port: on different addresses, yes; on the same, or on any, no."""
    assert bind(host, "10.1.0.1", 5000) == 0
    assert bind(host, "10.1.0.11", 5000) == 0
    assert bind(host, "10.1.0.1", 5000) == errno.EADDRINUSE
    assert bind(host, "0.0.0.0", 5000) == errno.EADDRINUSE
    assert bind(host, "0.0.0.0", 5001) == 0
    assert bind(host, "10.1.0.1", 5001) == errno.EADDRINUSE


def test_reuse(host: lab.Host) -> None:
    """Both have to want it, and neither may listen."""
    assert bind(host, "10.1.0.1", 5000, True) == 0
    assert bind(host, "10.1.0.1", 5000, False) == errno.EADDRINUSE
    assert bind(host, "10.1.0.1", 5000, True) == 0
    assert bind(host, "0.0.0.0", 5000, True) == 0
    first, second = host.socket(), host.socket()
    for sock in first, second:
        sock.setsockopt(SOL, REUSE, 1)
        sock.bind(("10.1.0.1", 6000))
    first.listen()
    assert calls.error_of(second.listen) == errno.EADDRINUSE
    assert bind(host, "10.1.0.1", 6000, True) == errno.EADDRINUSE
    first.close()
    second.listen()


def test_port_is_free_after_close(host: lab.Host) -> None:
    for _ in range(3):
        sock = host.socket()
        sock.bind((host.addr, 5000))
        sock.close()
        listener = host.listen()
        listener.close()


def test_ports_are_not_those_of_tcp(host: lab.Host) -> None:
    tcp = host.enter(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))
    tcp.bind((host.addr, 5000))
    assert bind(host, host.addr, 5000) == 0
    tcp.close()


def test_any_port(host: lab.Host) -> None:
    """Port 0: one of the range, each once; when all are taken EADDRINUSE, EAGAIN from connect()."""
    host.enter(lambda: set_range(40000, 40009))
    socks = [host.socket() for _ in range(10)]
    for sock in socks:
        sock.bind((host.addr, 0))
    assert {sock.getsockname()[1] for sock in socks} == set(range(40000, 40010))
    assert bind(host, host.addr, 0) == errno.EADDRINUSE
    other = host.socket()
    other.bind(("10.1.0.11", 0))  # for another address they are all free
    fresh = host.socket()
    assert fresh.connect_ex(("10.1.0.2", 5000)) == errno.EAGAIN
    assert calls.error_of(fresh.listen) == errno.EAGAIN
    other.close()
    socks[0].close()
    assert fresh.connect_ex(("10.1.0.2", 5000)) == errno.ECONNREFUSED


def set_range(low: int, high: int) -> None:
    with open("/proc/sys/net/ipv4/ip_local_port_range", "w", encoding="ascii") as file:
        file.write(f"{low} {high}")


def test_names(host: lab.Host) -> None:
    sock = host.socket()
    assert sock.getsockname() == ("0.0.0.0", 0)
    assert calls.error_of(sock.getpeername) == errno.ENOTCONN
    sock.bind(("0.0.0.0", 5000))
    assert sock.getsockname() == ("0.0.0.0", 5000)
    sock.listen()
    assert calls.error_of(sock.getpeername) == errno.ENOTCONN
    for addr in "10.1.0.1", "10.1.0.11", "127.0.0.1":
        client = host.socket()
        client.connect((addr, 5000))
        child, peer = sock.accept()
        host.net.sockets.append(child)
        assert client.getpeername() == child.getsockname() == (addr, 5000)
        assert client.getsockname() == child.getpeername() == peer


def test_source_address(link: tuple[lab.Host, lab.Host]) -> None:
    """A bound address is the one that the peer sees."""
    here, there = link
    here.ip("addr", "add", "10.1.0.11/16", "dev", "e0")
    listener = there.listen()
    for addr in "10.1.0.1", "10.1.0.11":
        sock = here.socket()
        sock.bind((addr, 0))
        sock.connect((there.addr, 5000))
        child, peer = listener.accept()
        here.net.sockets.append(child)
        assert peer == sock.getsockname() == (addr, peer[1])


def test_most_specific_listener(link: tuple[lab.Host, lab.Host]) -> None:
    """A listener at an address comes before one at all addresses."""
    here, there = link
    there.ip("addr", "add", "10.1.0.12/16", "dev", "e0")
    listeners = {}
    for addr in "10.1.0.2", "10.1.0.12":
        listeners[addr] = there.socket()
        listeners[addr].bind((addr, 5000))
        listeners[addr].listen()
    anywhere = there.socket()
    anywhere.bind(("0.0.0.0", 5001))
    anywhere.listen()
    for addr, listener in listeners.items():
        sock = here.socket()
        sock.connect((addr, 5000))
        child, _ = listener.accept()
        here.net.sockets.append(child)
        assert child.getsockname() == (addr, 5000)
        sock = here.socket()
        sock.connect((addr, 5001))
        child, _ = anywhere.accept()
        here.net.sockets.append(child)
        assert child.getsockname() == (addr, 5001)


def test_bind_to_device(host: lab.Host) -> None:
    """SO_BINDTODEVICE: listeners and connections of other interfaces do not exist."""
    listener = host.socket()
    listener.setsockopt(SOL, socket.SO_BINDTODEVICE, b"lo")
    listener.bind(("0.0.0.0", 5000))
    listener.listen()
    peer = host.net.hosts[1]
    assert peer.socket().connect_ex((host.addr, 5000)) == errno.ECONNREFUSED
    client = host.socket()
    client.connect(("127.0.0.1", 5000))
    host.net.sockets.append(listener.accept()[0])
    # The same port on the other interface is free.
    other = host.socket()
    other.setsockopt(SOL, socket.SO_BINDTODEVICE, b"e0")
    other.bind(("0.0.0.0", 5000))
    other.listen()
    sock = peer.socket()
    sock.connect((host.addr, 5000))
    child, _ = other.accept()
    host.net.sockets.append(child)
    sock.send(b"hello")
    assert child.recv(10) == b"hello"


def test_privileged_ports(net: lab.Net) -> None:
    """Ports below 1024 need CAP_NET_BIND_SERVICE; see test_users.py for those who lack it."""
    assert bind(net.alone(), "127.0.0.1", 7) == 0


def test_address_goes_away(pair: lab.Pair) -> None:
    """An association whose address was removed and comes back goes on."""
    pair.tx_host.ip("addr", "del", "10.1.0.2/16", "dev", "e0")
    sent = pair.net.background(pair.tx.send, bytes(100000))
    pair.tx_host.ip("addr", "add", "10.1.0.2/16", "dev", "e0")
    assert pair.rx.receive(100000).size == 100000
    assert sent.result() == 100000


def test_link_goes_down_and_up(pair: lab.Pair) -> None:
    pair.tx_host.down()
    sent = pair.net.background(pair.tx.send, bytes(100000))
    with lab.Counting(pair.tx_host) as moved:
        lab.until(lambda: moved["OutErrors"] > 0, "the route is not there")
    pair.tx_host.up("e0")
    assert pair.rx.receive(100000).size == 100000
    assert sent.result() == 100000


def test_protocol_names(net: lab.Net) -> None:
    """What the socket says of itself, and what sockets there are not."""
    host = net.alone()
    sock = host.socket()
    assert sock.getsockopt(SOL, socket.SO_PROTOCOL) == ltp.IPPROTO_LTP
    assert sock.getsockopt(SOL, socket.SO_DOMAIN) == socket.AF_INET
    for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
        error = calls.error_of(socket.socket, socket.AF_INET, kind, ltp.IPPROTO_LTP)
        assert error in (errno.EPROTONOSUPPORT, errno.ESOCKTNOSUPPORT)
    pair = (ctypes.c_int * 2)()
    assert (
        calls.result(lab.libc.socketpair(socket.AF_INET, socket.SOCK_SEQPACKET, 253, pair))
        == -errno.EOPNOTSUPP
    )
