# SPDX-License-Identifier: GPL-2.0
"""LTP in UDP: what is different from LTP without. The rest is tested by the ways encap4, encap6."""
import errno
import functools
import socket
import struct

import pytest

from tests.net import calls, lab, ltp, wire
from tests.net.data import blob, buffer, check_message
from tests.net.lab import MIB
from tests.net.peer import Wire
from tests.net.ways import ENCAP4, ENCAP6, IPV4, IPV6, MAPPED, Way, ip_header, over, udp_packet

UDP = 9899
BOTH = [ENCAP4, ENCAP6]


@pytest.fixture(name="far")
def fixture_far(net: lab.Net) -> Wire:
    return Wire(net)


def shown(host: lab.Host) -> list[int]:
    """The peers' UDP ports of a host's associations, 0 for those that are not in UDP."""
    return sorted(one.get("encap_port", 0) for one in host.family.assocs())


# ---- where it is switched on


@over([IPV4, IPV6, MAPPED])
def test_by_socket(net: lab.Net) -> None:
    """LTP_ENCAP: this one goes in UDP, those beside it do not; the listener takes both."""
    here, there = net.link()
    for host in here, there:
        host.family.set_config(encap_port=UDP)
    listener = there.listen()
    data = blob(100000)
    for port in (UDP, 0, UDP):
        sock = here.socket()
        sock.set(ltp.ENCAP, port)
        with lab.Counting(here) as moved:
            sock.connect((there.addr, 5000))
            child, _ = listener.accept()
            net.sockets.append(child)
            sent = net.background(sock.send_message, data)
            check_message(child.want_control().receive_into(buffer(len(data))), data)
            sent.result()
            assert (moved["OutEncap"] == moved["OutPackets"]) == bool(port)
            assert (moved["OutEncap"] > 0) == (moved["InEncap"] > 0) == bool(port)
        for one in sock, child:
            assert one.get(ltp.ENCAP) == one.info().encap == port
            overhead = net.way.headers + (8 if port else 0)
            assert one.info().seg_size == ltp.seg_size(1500, headers=overhead)
    assert shown(here) == shown(there) == [0, UDP, UDP]


@over([IPV4, IPV6])
def test_option(net: lab.Net) -> None:
    """Its values, when it may be set, and what it says."""
    host = net.alone()
    sock = host.socket()
    assert sock.get(ltp.ENCAP) == 0
    for bad in (-1, 65536, 1 << 30):
        assert calls.error_of(sock.set, ltp.ENCAP, bad) == errno.EINVAL
    assert calls.error_of(sock.set, ltp.ENCAP, b"\0\0") == errno.EINVAL
    sock.set(ltp.ENCAP, UDP)
    assert sock.get(ltp.ENCAP) == UDP
    # Answers would not be heard.
    assert sock.connect_ex((host.addr, 5000)) == errno.EOPNOTSUPP
    assert sock.getsockname()[0] == net.way.any()
    host.family.set_config(encap_port=UDP, encap_peer=1234)
    fresh = host.socket()
    assert fresh.get(ltp.ENCAP) == 1234
    fresh.set(ltp.ENCAP, 0)
    assert fresh.get(ltp.ENCAP) == 0
    listener = host.listen()
    sock.connect((host.addr, 5000))
    child, _ = listener.accept()
    net.sockets.append(child)
    for one in sock, child:
        assert calls.error_of(one.set, ltp.ENCAP, 0) == errno.EISCONN
        assert one.get(ltp.ENCAP) == UDP


@over([IPV4])
def test_configuration(net: lab.Net) -> None:
    """A port that is taken, or a peer without one, is refused, and nothing changes."""
    host = net.alone()
    family = host.family
    taken = host.enter(lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM))
    taken.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    taken.bind(("::", UDP))
    with pytest.raises(OSError) as error:
        family.set_config(encap_port=UDP, dead_ms=777)
    assert error.value.errno == errno.EADDRINUSE
    assert (family.config()["encap_port"], family.config()["dead_ms"]) == (0, 60000)
    # Neither is the half of it that could be had.
    half = host.enter(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    half.bind(("0.0.0.0", UDP))
    half.close()
    taken.close()
    family.set_config(encap_port=UDP)
    for family_, addr in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        other = host.enter(functools.partial(socket.socket, family_, socket.SOCK_DGRAM))
        assert calls.error_of(other.bind, (addr, UDP)) == errno.EADDRINUSE
        other.close()
    for bad in ({"encap_port": 0, "encap_peer": 5}, {"encap_port": 65536}):
        with pytest.raises(OSError):
            family.set_config(**bad)
    family.set_config(encap_peer=5)
    with pytest.raises(OSError):
        family.set_config(encap_port=0)
    for port in (UDP + 1, UDP, UDP):
        family.set_config(encap_port=port)
        assert family.config()["encap_port"] == port
    family.set_config(encap_port=0, encap_peer=0)
    again = host.enter(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    again.bind(("0.0.0.0", UDP))
    again.close()


@over([IPV4, IPV6])
def test_nobody_there(net: lab.Net) -> None:
    """The peer's namespace has it off: its UDP says so, and connect() fails at once."""
    here, there = net.link()
    here.family.set_config(encap_port=UDP, encap_peer=UDP)
    there.listen()
    with lab.Counting(there) as moved:
        assert here.socket().connect_ex((there.addr, 5000)) == errno.ECONNREFUSED
        assert moved["InPackets"] == 0
    there.family.set_config(encap_port=UDP)
    here.socket().connect((there.addr, 5000))


@over(BOTH)
def test_refused_in_kind(net: lab.Net) -> None:
    """Nobody listens: the RESET comes in UDP as well."""
    here, there = net.link()
    with lab.Counting(there) as moved:
        assert here.socket().connect_ex((there.addr, 5000)) == errno.ECONNREFUSED
        assert moved["OutEncap"] == moved["OutResets"] == moved["InEncap"] == 1


# ---- traffic


@over(BOTH)
def test_loss_and_offloads(net: lab.Net) -> None:
    """A lossy link, then one with all offloads on; both ways."""
    pair = net.pair()
    data = blob(lab.scaled(4 * MIB, MIB))
    for seed, host in enumerate((pair.rx_host, pair.tx_host), 1):
        host.netem("loss 3% delay 500us", seed)
    for turn in range(2):
        for tx, rx in ((pair.tx, pair.rx), (pair.rx, pair.tx)):
            sent = net.background(tx.send_message, data)
            check_message(rx.want_control().receive_into(buffer(len(data))), data)
            assert sent.result() == len(data)
        if not turn:
            for host in pair.rx_host, pair.tx_host:
                host.tc("qdisc del dev e0 root")
                for command in (lab.ETHTOOL_STSO, lab.ETHTOOL_SGSO, lab.ETHTOOL_SGRO):
                    host.ethtool(command, 1)


@over(BOTH)
def test_smaller_route(net: lab.Net) -> None:
    """The MTU of the link shrinks under way: what is cut already is fragmented."""
    pair = net.pair()
    data = blob(MIB)
    pair.tx_host.netem("rate 100mbit")
    sent = net.background(pair.tx.send_message, data)
    received = net.background(pair.rx.want_control().receive_into, buffer(len(data)))
    lab.until(lambda: pair.rx.info().segments_in > 50, "some of it came")
    pair.tx_host.set_mtu(1300)
    check_message(received.result(), data)
    assert sent.result() == len(data)
    assert pair.tx.info().seg_size == net.way.seg_size(1300)


# ---- what is not taken


@over(BOTH)
def test_bad_packets(far: Wire) -> None:
    """Without a UDP checksum, with a wrong one, with one of LTP, from port 0, too short."""
    sock, assoc = far.accepted()
    assoc.send_data(b"first", [0])
    assert sock.recv(10) == b"first"
    flow = assoc.flow + 1
    good = far.way.pack(assoc.data(b"hello", 0, flow=flow), far.addr, far.host_addr)

    def send(payload: bytes, source: int = UDP, check: int | None = None, cut: int = 0) -> None:
        udp = udp_packet(payload, far.addr, far.host_addr, source, UDP)
        if check is not None:
            udp = udp[:6] + struct.pack("!H", check) + udp[8:]
        udp = udp[:len(udp) - cut]
        far.send_ip(ip_header(far.addr, far.host_addr, len(udp), 17) + udp)

    for how, reason in (
        ({"payload": good, "check": 0}, "DropEncap"),
        ({"payload": good, "check": 0x1234}, ""),
        ({"payload": good, "source": 0}, "DropEncap"),
        ({"payload": good, "cut": 1}, ""),
        ({"payload": good[:10] + b"\1\2" + good[12:]}, "DropChecksum"),
        ({"payload": good[:12]}, "DropShort"),
        ({"payload": b""}, "DropShort"),
    ):
        if far.way.v6 and how.get("check") == 0:
            reason = ""  # UDP itself takes none without
        with lab.Counting(far.host) as moved:
            send(**how)
            assert moved.drops() == ({reason: 1} if reason else {}), how
            assert moved["InData"] == 0
    send(good)
    assert sock.recv(10) == b"hello"


@over(BOTH)
def test_native_checksum_is_needed_without_udp(far: Wire) -> None:
    """A checksum of 0 is good in UDP only."""
    far.host.listen()
    native = IPV6 if far.way.v6 else IPV4
    packet = far.init().raw()
    with lab.Counting(far.host) as moved:
        far.send_ip(native.frame(packet, far.addr, far.host_addr))
        assert moved.drops() == {"DropChecksum": 1}


# ---- answers in kind


def native_of(way: Way) -> Way:
    return IPV6 if way.v6 else IPV4


@over(BOTH)
def test_answers_in_kind(far: Wire) -> None:
    """From whatever port, in UDP or not: that is where answers go, each time anew."""
    far.host.listen()
    for port in (9899, 1, 65535, 40000):
        far.udp_from = port
        far.udp_to.clear()
        far.send(far.init(source=7000 + port % 100))
        assert far.receive(wire.INIT_ACK)
        assert far.udp_to == [(UDP, port)]
    # One without UDP gets its answer without.
    native = native_of(far.way)
    packet = far.init(source=7777)
    far.send_ip(native.frame(packet.pack(far.addr, far.host_addr), far.addr, far.host_addr))
    while True:
        data = far.sock.recvfrom(70000)[0]
        if (got := native.unframe(data)) is not None:
            assert wire.parse(got[2]).kind == wire.INIT_ACK
            break


@over(BOTH)
def test_nat_gives_another_port(far: Wire) -> None:
    """The port changes under way: the next packets go to the new one, the association goes on."""
    sock, assoc = far.accepted()
    for port in (50000, 50001, 9899):
        far.udp_from = port
        with lab.Counting(far.host) as moved:
            assoc.alive()
            assert moved["EncapMoved"] == 1
        assert far.udp_to[-1] == (UDP, port)
        far.udp_to.clear()
        sock.send(b"hello")
        data = assoc.receive(wire.DATA)
        assert data.tail == b"hello"
        assert set(far.udp_to) == {(UDP, port)}
        far.send(assoc.ack(data, 1))
        assert sock.get(ltp.ENCAP) == port


@over(BOTH)
def test_spoofed_packets_redirect_nothing(far: Wire) -> None:
    """A wrong tag, or an old packet once more from another port, leads nowhere."""
    sock, assoc = far.accepted()
    old = assoc.packet(wire.PING, token=5, **assoc.window())
    far.send(old)
    assert far.receive(wire.PONG).token == 5
    assoc.alive()
    far.flush()
    far.udp_from = 6666
    with lab.Counting(far.host) as moved:
        for kind in (wire.PING, wire.PONG, wire.FIN_ACK, wire.COOKIE_ACK):
            far.send(assoc.packet(kind).but(tag=assoc.host_tag ^ 1))
        assert moved["DropTag"] == 4
        # Right in all but that it has been there before: it is answered to where the peer is.
        far.udp_to.clear()
        far.send(old)
        assert far.receive(wire.PONG).token == 5
        assert far.udp_to == [(UDP, 9899)]
        # So is one without UDP.
        native = native_of(far.way)
        data = old.pack(far.addr, far.host_addr)
        far.send_ip(native.frame(data, far.addr, far.host_addr))
        assert far.receive(wire.PONG).token == 5
        assert moved["EncapMoved"] == 0
    assert sock.get(ltp.ENCAP) == 9899
    far.udp_from = 9899
    assoc.alive()


@over(BOTH)
def test_from_udp_to_none_and_back(far: Wire) -> None:
    """A peer that stops using UDP, and begins again."""
    sock, assoc = far.accepted()
    native = native_of(far.way)
    ping = assoc.packet(wire.PING, token=9, **assoc.window())
    far.send_ip(
        native.frame(ping.pack(far.addr, far.host_addr), far.addr, far.host_addr)
    )
    while True:
        data = far.sock.recvfrom(70000)[0]
        if (got := native.unframe(data)) is not None and wire.parse(got[2]).kind == wire.PONG:
            native.check(got[0], got[1], data[:native.ip_header + len(got[2])])
            break
    assert sock.get(ltp.ENCAP) == 0
    assert sock.info().seg_size == native.seg_size(1500)
    assoc.alive()
    assert sock.get(ltp.ENCAP) == UDP
    assert sock.info().seg_size == far.way.seg_size(1500)


@over(BOTH)
def test_connect_follows_the_answer(far: Wire) -> None:
    """The INIT_ACK comes from another port: the COOKIE_ECHO goes there."""
    sock = far.host.socket()
    sock.setblocking(False)
    sock.connect_ex((far.far_addr, 5000))
    far.udp_from = 33333
    assoc = far.accept()
    assert far.udp_to == [(UDP, 9899), (UDP, 33333)]
    sock.send(b"hello")
    assert assoc.receive(wire.DATA).tail == b"hello"


# ---- errors


@over(BOTH)
def test_icmp_that_quotes_too_little(far: Wire) -> None:
    """Eight bytes behind the IP header are UDP's: nobody knows whose packet it was."""
    sock = far.host.socket()
    sock.setblocking(False)
    sock.connect_ex((far.far_addr, 5000))
    init = far.receive(wire.INIT)
    quoted = far.quote(init.source, init.dest, 0)
    far.send_unreachable(3, quoted[:far.way.ip_header + 8])
    far.send_unreachable(3, quoted[:-1])
    assert sock.info().state == ltp.INIT_SENT
    far.send_unreachable(4 if far.way.v6 else 3, quoted)  # the port
    assert sock.error() == errno.ECONNREFUSED


# ---- coming and going


@over(BOTH)
def test_port_of_the_namespace_changes(net: lab.Net) -> None:
    """Associations go on from the new port, and stop when it is switched off."""
    pair = net.pair()
    pair.tx_host.family.set_config(encap_port=7777)
    pair.tx.send(b"hello")
    assert pair.rx.recv(10) == b"hello"
    assert shown(pair.rx_host) == [7777]
    pair.rx.send(b"back")
    assert pair.tx.recv(10) == b"back"
    pair.tx_host.family.set_config(encap_port=0, encap_peer=0)
    with lab.Counting(pair.tx_host) as moved:
        pair.tx.send(b"lost")
        lab.until(lambda: moved["OutErrors"] > 0, "nothing can leave")
        assert moved["OutEncap"] == 0
    pair.tx_host.family.set_config(encap_port=UDP)
    assert pair.rx.recv(10) == b"lost"
    assert shown(pair.rx_host) == [UDP]


@over(BOTH)
def test_namespaces_come_and_go(net: lab.Net) -> None:
    """With their tunnels open and packets on their way, again and again."""
    for i in range(lab.scaled(20, 5)):
        here, there = net.link()
        listener = there.listen()
        sock = here.socket()
        sock.connect((there.addr, 5000))
        child, _ = listener.accept()
        sock.setblocking(False)
        sock.send(bytes(100000))
        for one in sock, child, listener:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("=ii", 1, 0))
            one.close()
        if i % 2:
            here.family.set_config(encap_port=0, encap_peer=0)
        for host in here, there:
            net.hosts.remove(host)
            host.close()


@over(BOTH)
def test_switching_under_traffic(net: lab.Net) -> None:
    """The tunnel's sockets are closed and opened while packets come."""
    pair = net.pair()
    data = blob(2 * MIB)
    pair.tx_host.netem("rate 30mbit")
    sent = net.background(pair.tx.send_message, data)
    received = net.background(pair.rx.want_control().receive_into, buffer(len(data)))
    port = UDP
    with lab.Counting(pair.rx_host) as moved:
        while not received.done():
            port = port + 1 if port < UDP + 100 else UDP
            before = moved["EncapMoved"]
            pair.tx_host.family.set_config(encap_port=port)
            # The receiver has nothing to say until it hears of the new one.
            while moved["EncapMoved"] == before and not received.done():
                pass
        check_message(received.result(), data)
        assert sent.result() == len(data)
        assert moved["EncapMoved"] > 3
