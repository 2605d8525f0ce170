# SPDX-License-Identifier: GPL-2.0
"""Sockets of IPv6: two families with one set of ports, mapped addresses, scopes, labels.

TCP is the model: where both are asked the same, both must say the same.
"""
import ctypes
import errno
import itertools
import re
import socket
import struct
from collections.abc import Callable
from typing import Any

import pytest

from tests.net import calls, lab, ltp, wire
from tests.net.data import blob, buffer, check_message
from tests.net.lab import MIB
from tests.net.peer import Wire
from tests.net.ways import ALL, IPV6, MAPPED, over

SOL, V6 = socket.SOL_SOCKET, socket.IPPROTO_IPV6
V6ONLY, TCLASS, HOPS = socket.IPV6_V6ONLY, socket.IPV6_TCLASS, socket.IPV6_UNICAST_HOPS
FLOWINFO_SEND, AUTOFLOWLABEL, MTU = 33, 70, 24
SO_ATTACH_FILTER = 26

AnySocket = socket.socket | ltp.Socket


class Kind:
    """How to make sockets, of TCP or of LTP, in a host."""

    def __init__(self, host: lab.Host, tcp: bool) -> None:
        self.host, self.tcp = host, tcp

    def new(self, family: int) -> AnySocket:
        def make() -> AnySocket:
            if self.tcp:
                return socket.socket(family, socket.SOCK_STREAM)
            return ltp.Socket(family=family)

        sock = self.host.enter(make)
        self.host.net.sockets.append(sock)
        return sock


@pytest.fixture(name="host")
def fixture_host(net: lab.Net) -> lab.Host:
    """With addresses of both families, and two LTP hosts at its link."""
    return net.link()[0]


# ---- ports and addresses

ENDS = [
    (socket.AF_INET, "0.0.0.0", 0),
    (socket.AF_INET, "10.1.0.1", 0),
    (socket.AF_INET, "127.0.0.1", 0),
    (socket.AF_INET6, "::", 0),
    (socket.AF_INET6, "::", 1),
    (socket.AF_INET6, "::ffff:0.0.0.0", 0),
    (socket.AF_INET6, "::ffff:10.1.0.1", 0),
    (socket.AF_INET6, "::1", 0),
    (socket.AF_INET6, "fd00::a01:1", 0),
    (socket.AF_INET6, "::ffff:10.1.0.1", 1),
    (socket.AF_INET6, "10.1.0.1", 0),  # of the wrong family
    (socket.AF_INET6, "fe80::1", 0),  # without an interface
    (socket.AF_INET6, "fd00::99", 0),  # nobody's
    (socket.AF_INET6, "ff02::1", 0),
]


def raw_name(family: int, addr: str, port: int) -> bytes:
    """A socket address, also such as Python would refuse."""
    if ":" not in addr:
        packed = struct.pack("=HH4s8x", socket.AF_INET, socket.htons(port), socket.inet_aton(addr))
        return packed + bytes(12) if family == socket.AF_INET6 else packed
    packed = socket.inet_pton(socket.AF_INET6, addr)
    return struct.pack("=HHI16sI", socket.AF_INET6, socket.htons(port), 0, packed, 0)


def bound(kind: Kind, end: tuple[int, str, int], port: int, reuse: bool) -> tuple[AnySocket, int]:
    family, addr, only = end
    sock = kind.new(family)
    sock.setsockopt(SOL, socket.SO_REUSEADDR, reuse)
    if family == socket.AF_INET6:
        sock.setsockopt(V6, V6ONLY, only)
    raw = raw_name(family, addr, port)
    return sock, -calls.result(lab.libc.bind(sock.fileno(), raw, len(raw)))


@over([IPV6])
@pytest.mark.parametrize("reuse, listen", [(False, False), (True, False), (True, True)])
def test_conflicts_are_those_of_tcp(host: lab.Host, reuse: bool, listen: bool) -> None:
    """All pairs of binds (and listens) of both families: the same errors as TCP's."""
    kinds = [Kind(host, tcp=True), Kind(host, tcp=False)]
    seen = set()
    for port, (first, second) in enumerate(itertools.product(ENDS, ENDS), 5000):
        told = []
        for kind in kinds:
            one, error = bound(kind, first, port, reuse)
            if not error and listen:
                error = calls.error_of(one.listen)
            other, again = bound(kind, second, port, reuse)
            if not again and listen:
                again = calls.error_of(other.listen)
            told.append((error, again))
            one.close()
            other.close()
        assert told[0] == told[1], f"TCP and LTP differ about {first} and then {second}"
        seen.add(told[1])
    assert {(0, 0), (0, errno.EADDRNOTAVAIL), (0, errno.EINVAL)} <= seen
    assert ((0, errno.EADDRINUSE) in seen) == (listen or not reuse)


@over([IPV6])
def test_connect_errors_are_those_of_tcp(host: lab.Host) -> None:
    """What is no peer, or none for this socket."""
    targets: list[tuple[str, Callable[[AnySocket], None]]] = [
        (addr, change)
        for addr in (
            "ff02::1",
            "fe80::2",
            "10.1.0.2",
            "::ffff:10.1.0.2",
            "2001:db8::1",
            "::ffff:224.0.0.1",
            "::",
            "::ffff:0.0.0.0",
        )
        for change in (
            lambda _: None,
            lambda sock: sock.setsockopt(V6, V6ONLY, 1),
            lambda sock: sock.bind(("::ffff:10.1.0.1", 0)),
            lambda sock: sock.bind(("fd00::a01:1", 0)),
            lambda sock: sock.setsockopt(SOL, socket.SO_BINDTODEVICE, b"lo"),
        )
    ]
    seen = set()
    for i, (addr, change) in enumerate(targets):
        told = []
        for tcp in (True, False):
            sock = Kind(host, tcp).new(socket.AF_INET6)
            change(sock)
            sock.setblocking(False)
            raw = raw_name(socket.AF_INET6, addr, 5000)
            error = -calls.result(lab.libc.connect(sock.fileno(), raw, len(raw)))
            # Of TCP to this very host the RST is there before connect() returns.
            told.append(errno.EINPROGRESS if error == errno.ECONNREFUSED else error)
            sock.close()
        assert told[0] == told[1], f"TCP and LTP differ about {addr}, {i % 5}"
        seen.add(told[1])
    assert {errno.EINPROGRESS, errno.ENETUNREACH, errno.EINVAL, errno.EAFNOSUPPORT} <= seen
    short = Kind(host, False).new(socket.AF_INET6)
    raw = raw_name(socket.AF_INET6, "fd00::a01:2", 5000)
    assert calls.result(lab.libc.connect(short.fileno(), raw, 23)) == -errno.EINVAL
    # The forms that RFC 2133 had, without the scope, are taken.
    short.setblocking(False)
    assert calls.result(lab.libc.connect(short.fileno(), raw, 24)) == -errno.EINPROGRESS


@over([IPV6])
def test_failed_connect_changes_nothing(host: lab.Host) -> None:
    """Afterwards the socket is as before, and can connect elsewhere, to either family."""
    for addr in ("::ffff:10.1.0.2", "fd00::a01:2", "::1"):
        sock = host.socket()
        for bad in ("2001:db8::1", "::ffff:203.0.113.1", "fe80::9"):
            assert sock.connect_ex((bad, 5000)) in (errno.ENETUNREACH, errno.EINVAL)
            assert sock.getsockname()[0] == "::"
        assert sock.connect_ex((addr, 5000)) == errno.ECONNREFUSED


@over([IPV6])
def test_refused_then_another_family(net: lab.Net) -> None:
    """One socket, one connection after the other: IPv4, IPv6, IPv4."""
    here, there = net.link()
    listener = there.socket()
    listener.bind(("::", 5000))
    listener.listen()
    sock = here.socket()
    for addr in ("::ffff:10.1.0.2", "fd00::a01:2", "::ffff:10.1.0.2", "fd00::a01:2"):
        assert sock.connect_ex((addr, 5001)) == errno.ECONNREFUSED
        disconnect(sock)
        sock.connect((addr, 5000))
        child, peer = listener.accept()
        net.sockets.append(child)
        assert sock.getpeername()[0] == child.getsockname()[0] == addr
        assert peer == sock.getsockname()
        sock.send(b"hello")
        assert child.recv(10) == b"hello"
        child.close()
        assert sock.recv(10) == b""
        disconnect(sock)
        assert sock.getsockname() == ("::", 0, 0, 0)


def disconnect(sock: socket.socket) -> None:
    raw = struct.pack("=H26x", socket.AF_UNSPEC)
    assert calls.result(lab.libc.connect(sock.fileno(), raw, len(raw))) == 0


# ---- two families at one listener


@over([IPV6])
def test_dual_stack(net: lab.Net) -> None:
    """A listener at :: accepts both; the children know in which family they are."""
    here, there = net.link()
    listener = there.socket()
    listener.bind(("::", 5000))
    listener.listen()
    data = blob(100000)
    for family, addr, shown in (
        (socket.AF_INET, "10.1.0.2", "::ffff:10.1.0.1"),
        (socket.AF_INET6, "::ffff:10.1.0.2", "::ffff:10.1.0.1"),
        (socket.AF_INET6, "fd00::a01:2", "fd00::a01:1"),
    ):
        sock = Kind(here, False).new(family)
        sock.connect((addr, 5000))
        child, peer = listener.accept()
        net.sockets.append(child)
        assert peer == child.getpeername() == (shown, sock.getsockname()[1], 0, 0)
        assert child.getsockname()[:2] == (addr if ":" in addr else f"::ffff:{addr}", 5000)
        for one, other in ((sock, child), (child, sock)):
            sent = net.background(one.sendall, data)
            assert isinstance(other, ltp.Socket)
            got = other.want_control().receive_into(buffer(len(data)))
            check_message(got, data)
            sent.result()
        mapped = shown.startswith("::ffff")
        assert child.info().seg_size == (1424 if mapped else 1408)
        port = socket.htons(peer[1])
        (known,) = [one for one in there.family.assocs() if one["peer_port"] == port]
        assert ("local" in known, "local6" in known) == (mapped, not mapped)


@over([IPV6])
def test_v6only(net: lab.Net) -> None:
    """IPv4 has the port to itself, or nobody there."""
    here, there = net.link()
    listener = there.socket()
    listener.setsockopt(V6, V6ONLY, 1)
    listener.bind(("::", 5000))
    listener.listen()
    four = Kind(here, False).new(socket.AF_INET)
    assert four.connect_ex(("10.1.0.2", 5000)) == errno.ECONNREFUSED
    assert here.socket().connect_ex(("::ffff:10.1.0.2", 5000)) == errno.ECONNREFUSED
    here.socket().connect(("fd00::a01:2", 5000))
    other = Kind(there, False).new(socket.AF_INET)
    other.bind(("0.0.0.0", 5000))
    other.listen()
    four.connect(("10.1.0.2", 5000))
    assert other.accept()[1] == four.getsockname()
    assert listener.accept()[1][0] == "fd00::a01:1"


@over([IPV6])
def test_any_of_ipv4_is_none_of_ipv6(net: lab.Net) -> None:
    """A listener at 0.0.0.0 gets no packets of IPv6, nor does one at the mapped form of it."""
    here, there = net.link()
    for port, (family, addr) in enumerate(
        [(socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::ffff:0.0.0.0")], 5000
    ):
        listener = Kind(there, False).new(family)
        listener.bind((addr, port))
        listener.listen()
        assert here.socket().connect_ex(("fd00::a01:2", port)) == errno.ECONNREFUSED
        here.socket().connect(("::ffff:10.1.0.2", port))


@over([IPV6])
def test_one_port_two_families(net: lab.Net) -> None:
    """The same ports at both ends, once in each family: two associations that do not mix."""
    here, there = net.link()
    socks = []
    for family, mine, yours in (
        (socket.AF_INET, "10.1.0.1", "10.1.0.2"),
        (socket.AF_INET6, "fd00::a01:1", "fd00::a01:2"),
    ):
        listener = Kind(there, False).new(family)
        listener.bind((yours, 5000))
        listener.listen()
        sock = Kind(here, False).new(family)
        sock.bind((mine, 6000))
        sock.connect((yours, 5000))
        child, _ = listener.accept()
        net.sockets.append(child)
        socks.append((sock, child))
    for i, (sock, child) in enumerate(socks):
        sock.send(b"%d" % i)
        child.send(b"back %d" % i)
    for i, (sock, child) in enumerate(socks):
        assert child.recv(10) == b"%d" % i
        assert sock.recv(10) == b"back %d" % i
    for taken in ("10.1.0.1", "::ffff:10.1.0.1"):
        again = Kind(here, False).new(socket.AF_INET6 if ":" in taken else socket.AF_INET)
        assert calls.error_of(again.bind, (taken, 6000)) == errno.EADDRINUSE


@over([IPV6])
def test_children_share_nothing(net: lab.Net) -> None:
    """A listener with options, groups and labels of IPv6 that is closed before its children."""
    here, there = net.link()
    for port in 5000, 5001, 5002:
        listener = there.socket()
        index = there.index()
        group = socket.inet_pton(socket.AF_INET6, "ff02::77") + struct.pack("=i", index)
        listener.setsockopt(V6, socket.IPV6_JOIN_GROUP, group)
        listener.setsockopt(V6, socket.IPV6_RECVPKTINFO, 1)
        listener.setsockopt(V6, socket.IPV6_DSTOPTS, bytes([0, 0, 1, 4, 0, 0, 0, 0]))
        label = socket.inet_pton(socket.AF_INET6, "fd00::a01:1") + struct.pack(
            "!I", 0x12345
        ) + struct.pack("=BBHHHI", 0, 2, 1, 0, 6, 0)
        listener.setsockopt(V6, 32, label)  # IPV6_FLOWLABEL_MGR: get, create, any
        listener.bind(("::", port))
        listener.listen()
        for addr in ("fd00::a01:2", "::ffff:10.1.0.2"):
            sock = here.socket()
            sock.connect((addr, port))
            child, _ = listener.accept()
            net.sockets.append(child)
            sock.send(b"hello")
            assert child.recv(10) == b"hello"
        listener.close()
        child.send(b"still there")
        assert sock.recv(20) == b"still there"


# ---- scopes


def test_link_local(net: lab.Net) -> None:
    """Two interfaces with the same peer behind each: same addresses, same ports, two peers.

        +-------------+  e0      e0  +-------------+
        |             |--------------| fe80::2     |
        |   fe80::1   |              +-------------+
        |   at both   |  e1      e0  +-------------+
        |             |--------------| fe80::2     |
        +-------------+              +-------------+
    """
    here, left = net.link(addrs=("", ""))
    (right,) = net.new([""])
    lab.run("ip", "netns", "add", right.name)
    here.ip("link", "add", "e1", "type", "veth", "peer", "name", "e0", "netns", right.name)
    for host, dev, addr in (
        (here, "e0", "fe80::1"),
        (here, "e1", "fe80::1"),
        (left, "e0", "fe80::2"),
        (right, "e0", "fe80::2"),
    ):
        host.sysctl(f"ipv6/conf/{dev}/accept_dad", 0)
        host.sysctl(f"ipv6/conf/{dev}/addr_gen_mode", 1)
        host.down(dev)
        host.up(dev)
        host.set_addr6(addr, dev, 64)
    for host in here, left, right:
        host.await_addrs6()
    index = {dev: here.index(dev) for dev in ("e0", "e1")}
    six = Kind(here, False)

    # Without an interface it is nobody.
    lost = six.new(socket.AF_INET6)
    for name in (("fe80::2", 5000), ("fe80::2", 5000, 0, 0)):
        assert calls.error_of(lost.connect, name) == errno.EINVAL
    assert calls.error_of(lost.bind, ("fe80::1", 6000)) == errno.EINVAL
    lost.setsockopt(SOL, socket.SO_BINDTODEVICE, b"e1")
    assert calls.error_of(lost.connect, ("fe80::2", 5000, 0, index["e0"])) == errno.EINVAL

    # Out, from one port by both interfaces.
    pairs = []
    for dev, host in (("e0", left), ("e1", right)):
        listener = Kind(host, False).new(socket.AF_INET6)
        listener.bind(("::", 5000))
        listener.listen()
        sock = six.new(socket.AF_INET6)
        sock.bind(("fe80::1", 6000, 0, index[dev]))
        sock.connect(("fe80::2", 5000, 0, index[dev]))
        assert sock.getpeername() == ("fe80::2", 5000, 0, index[dev])
        assert sock.getsockname() == ("fe80::1", 6000, 0, index[dev])
        child, peer = listener.accept()
        net.sockets.append(child)
        assert peer == child.getpeername() == ("fe80::1", 6000, 0, host.index())
        pairs.append((sock, child))
    exchange(pairs)
    assert len(here.family.assocs()) == 2

    # In, from the same address and port at both interfaces.
    server = six.new(socket.AF_INET6)
    server.bind(("::", 5001))
    server.listen()
    pairs = []
    for dev, host in (("e0", left), ("e1", right)):
        sock = Kind(host, False).new(socket.AF_INET6)
        sock.bind(("::", 6001))
        sock.connect(("fe80::1", 5001, 0, host.index()))
        child, peer = server.accept()
        net.sockets.append(child)
        assert peer == ("fe80::2", 6001, 0, index[dev])
        pairs.append((sock, child))
    exchange(pairs)
    for listed, dev in zip(sorted(known["ifindex"] for known in here.family.assocs()), "0011"):
        assert listed == index[f"e{dev}"]

    # Answers to strangers find the right one as well.
    for dev in index:
        assert six.new(socket.AF_INET6).connect_ex(("fe80::2", 5999, 0, index[dev])) == (
            errno.ECONNREFUSED
        )
    # To oneself.
    sock = six.new(socket.AF_INET6)
    sock.connect(("fe80::1", 5001, 0, index["e1"]))
    assert server.accept()[1] == sock.getsockname()


def exchange(pairs: list[tuple[Any, Any]]) -> None:
    """Each pair has messages of its own, all sent before any is read."""
    for i, (sock, child) in enumerate(pairs):
        sock.send(b"there %d" % i)
        child.send(b"back %d" % i)
    for i, (sock, child) in enumerate(pairs):
        assert child.recv(10) == b"there %d" % i
        assert sock.recv(10) == b"back %d" % i


# ---- what is in the headers


def heard(far: Wire, count: int, port: int = 5000) -> list[bytes]:
    """That many IP packets that the host sends to this port, of whatever is LTP."""
    got: list[bytes] = []
    while len(got) < count:
        data, addr = far.sock.recvfrom(70000)
        if addr[2] == 4 or (found := far.way.unframe(data)) is None:
            continue
        if wire.parse(found[2]).dest == port:
            got.append(data)
    return got


def upcoming(far: Wire) -> bytes:
    """The next IP packet with LTP in it, which stays; neighbour discovery before it does not."""
    while True:
        data, addr = far.sock.recvfrom(70000, socket.MSG_PEEK)
        if addr[2] != 4 and far.way.unframe(data):
            return data
        far.sock.recvfrom(70000)


def label_of(packet: bytes) -> int:
    return struct.unpack_from("!I", packet)[0] & 0xFFFFF


@pytest.fixture(name="far")
def fixture_far(net: lab.Net) -> Wire:
    return Wire(net)


@over([IPV6])
def test_flow_label(far: Wire) -> None:
    """One for all packets of an association, another one for another; none if it is unwanted."""
    labels = set()
    listener = far.host.listen()
    for port in range(7000, 7010):
        assoc = far.connect(port)
        sock, _ = listener.accept()
        far.net.sockets.append(sock)
        sock.send(bytes(10000))
        own = {label_of(packet) for packet in heard(far, 8, port)}
        assoc.send_data(b"hello", [0])
        own |= {label_of(heard(far, 1, port)[0])}
        assert len(own) == 1
        labels |= own
    assert 0 not in labels and len(labels) > 5
    plain = far.host.socket()
    plain.setsockopt(V6, AUTOFLOWLABEL, 0)
    plain.setblocking(False)
    plain.connect_ex((far.far_addr, 5000))
    assert label_of(heard(far, 1)[0]) == 0


@over([IPV6])
def test_chosen_flow_label(far: Wire) -> None:
    """IPV6_FLOWINFO_SEND: the label of connect(), and no other."""
    sock = far.host.socket()
    sock.setsockopt(V6, FLOWINFO_SEND, 1)
    sock.setblocking(False)
    sock.connect_ex((far.far_addr, 5000, 0x12345, 0))
    first = upcoming(far)
    far.accept()
    sock.send(b"hello")
    assert label_of(first) == label_of(heard(far, 1)[0]) == 0x12345
    assert sock.getpeername()[2] == 0x12345


@over(ALL)
def test_traffic_class_and_hops(far: Wire) -> None:
    """IPV6_TCLASS and IPV6_UNICAST_HOPS, or IP_TOS and IP_TTL where the packets are of IPv4."""
    sock = far.host.socket()
    if far.way.v6:
        sock.setsockopt(V6, TCLASS, 0x48)
        sock.setsockopt(V6, HOPS, 7)
    else:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0x48)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 7)
    sock.setblocking(False)
    sock.connect_ex((far.far_addr, 5000))
    (first,) = heard(far, 1)
    if far.way.v6:
        assert (struct.unpack_from("!I", first)[0] >> 20 & 0xFF, first[7]) == (0x48, 7)
    else:
        assert (first[1], first[8]) == (0x48, 7)


@over(ALL)
def test_mark(net: lab.Net) -> None:
    """SO_MARK is on every packet that the host sends of this socket, from the first on."""
    here, there = net.link()
    ears = here.enter(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0))
    net.sockets.append(ears)
    # Of the packets that leave, those with mark 77, and with another mark: lengths tell them apart.
    skf_mark = (-0x1000 + 20) & ltp.U32_MAX
    program = [(0x20, 0, 0, skf_mark), (0x15, 0, 1, 77), (0x06, 0, 0, 1), (0x06, 0, 0, 2)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *one) for one in program))
    ears.setsockopt(
        SOL, SO_ATTACH_FILTER, struct.pack("=HxxxxxxQ", len(program), ctypes.addressof(code))
    )
    ears.bind(("e0", 3))
    listener = there.listen()
    sock = here.socket()
    sock.setsockopt(SOL, socket.SO_MARK, 77)
    sock.connect((there.addr, 5000))
    child, _ = listener.accept()
    net.sockets.append(child)
    sock.send(bytes(5000))
    assert len(child.recv(5000)) == 5000
    seen = []
    while (one := poll_one(ears)) is not None:
        data, addr = one
        if addr[2] == 4 and addr[1] == net.way.ethertype:
            seen.append(len(data))
    assert seen.count(1) >= 6
    # Neighbour discovery is IPv6 too, and nobody's socket.
    assert net.way.v6 or 2 not in seen


def poll_one(sock: socket.socket) -> tuple[bytes, Any] | None:
    try:
        return sock.recvfrom(100, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return None


@over([IPV6, MAPPED])
def test_bind_to_device(net: lab.Net) -> None:
    """Listeners and connections of other interfaces do not exist."""
    host, peer = net.link()
    listeners = {}
    for dev in (b"lo", b"e0"):
        sock = host.socket()
        sock.setsockopt(SOL, socket.SO_BINDTODEVICE, dev)
        sock.bind(("::", 5000))
        sock.listen()
        listeners[dev] = sock
    for there, addr, dev in ((host, net.way.addr("127.0.0.1"), b"lo"), (peer, host.addr, b"e0")):
        client = there.socket()
        client.connect((addr, 5000))
        child, _ = listeners[dev].accept()
        net.sockets.append(child)
        client.send(dev)
        assert child.recv(10) == dev
    if net.way.v6:  # an interface is a way to everywhere in IPv4
        elsewhere = host.socket()
        elsewhere.setsockopt(SOL, socket.SO_BINDTODEVICE, b"lo")
        assert elsewhere.connect_ex((peer.addr, 5000)) == errno.ENETUNREACH


# ---- narrow paths


@over([IPV6])
def test_router_with_a_narrow_link(net: lab.Net) -> None:
    """The router tells by ICMPv6; the host fragments what is cut already, and cuts smaller.

        +-------+  1500  +--------+  1300  +-------+
        | a     |--------| router |--------| b     |
        +-------+        +--------+        +-------+
    """
    a, router, b = net.new(["", "", ""])
    for host in (a, router, b):
        lab.run("ip", "netns", "add", host.name)
    a.ip("link", "add", "e0", "type", "veth", "peer", "name", "e0", "netns", router.name)
    b.ip("link", "add", "e0", "type", "veth", "peer", "name", "e1", "netns", router.name)
    router.sysctl("ipv6/conf/all/forwarding", 1)
    for host, dev, addr, mtu in (
        (a, "e0", "fd01::1", 1500),
        (router, "e0", "fd01::2", 1500),
        (router, "e1", "fd02::1", 1300),
        (b, "e0", "fd02::2", 1300),
    ):
        host.sysctl(f"ipv6/conf/{dev}/accept_dad", 0)
        host.set_mtu(mtu, dev)
        host.offloads_off(dev)
        host.up(dev)
        host.set_addr6(addr, dev, 64)
    for host in a, b, router:
        host.await_addrs6()
    a.ip("route", "add", "default", "via", "fd01::2")
    b.ip("route", "add", "default", "via", "fd02::1")
    listener = b.socket()
    listener.bind(("::", 5000))
    listener.listen()
    sock = a.socket()
    sock.connect(("fd02::2", 5000))
    child, _ = listener.accept()
    net.sockets.append(child)
    child.want_control()
    data = blob(MIB)
    for size in (IPV6.seg_size(1500), IPV6.seg_size(1300)):
        assert sock.info().seg_size == size
        sent = net.background(sock.send_message, data)
        got = child.receive_into(buffer(MIB))
        check_message(got, data)
        assert sent.result() == MIB
        assert got.rcvmap.seg_size == size
    lost = sock.info().lost
    assert 0 < lost < 200  # what was under way when the router told, no more
    fragments = dict(re.findall(r"(Ip6Frag\w+|Ip6Reasm\w+)\s+(\d+)", snmp6(a)))
    assert int(fragments["Ip6FragOKs"]) > 100
    # The other direction knows its own link.
    sent = net.background(child.send_message, data)
    check_message(sock.want_control().receive_into(buffer(MIB)), data)
    assert sent.result() == MIB


def snmp6(host: lab.Host) -> str:
    def read() -> str:
        with open("/proc/thread-self/net/snmp6", encoding="ascii") as file:
            return file.read()

    return host.enter(read)


@over([IPV6])
def test_ipv6_mtu(far: Wire) -> None:
    """The socket option: segments are cut for it."""
    listener = far.host.socket()
    listener.setsockopt(V6, MTU, 1400)
    listener.bind(("::", 5000))
    listener.listen()
    far.connect()
    sock, _ = listener.accept()
    far.net.sockets.append(sock)
    assert sock.info().seg_size == IPV6.seg_size(1400)


# ---- errors


@over([IPV6])
def test_unknown_next_header(far: Wire) -> None:
    """What IPv4 calls "protocol unreachable": the peer's kernel has no LTP."""
    sock = far.host.socket()
    sock.setblocking(False)
    sock.connect_ex((far.far_addr, 5000))
    init = far.receive(wire.INIT)
    quoted = far.quote(init.source, init.dest, 0)
    far.send_icmp(4, 0, quoted, 6)  # erroneous field: not that
    assert sock.info().state == ltp.INIT_SENT
    far.send_icmp(4, 1, quoted, 6)
    assert sock.error() == errno.EPROTO


@over([IPV6])
def test_mapped_addresses_on_the_wire(far: Wire) -> None:
    """A packet of IPv6 from a mapped address is no packet of IPv4, whatever its ports and tags."""
    listener = far.host.socket()
    listener.bind(("::", 5000))
    listener.listen()
    victim = Kind(far.host, False).new(socket.AF_INET)
    victim.bind(("10.1.0.1", 6000))
    victim.setblocking(False)
    victim.connect_ex(("10.1.0.2", 7000))
    mapped = [socket.inet_pton(socket.AF_INET6, f"::ffff:10.1.0.{i}") for i in (1, 2)]
    reset = wire.Packet(wire.RESET, {"source": 7000, "dest": 6000, "tag": 1})
    with lab.Counting(far.host) as moved:
        for source, dest in ((mapped[1], far.host_addr), (mapped[1], mapped[0])):
            for packet in (far.init(), reset):
                far.send_ip(IPV6.frame(packet.pack(source, dest), source, dest))
        assert far.pending() == []
        assert moved["DropTag"] == moved["OutPackets"] == 0
