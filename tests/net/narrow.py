# SPDX-License-Identifier: GPL-2.0
"""A path with a narrow link behind a router, what passes it, and forged ICMP messages."""
import socket
import struct
from typing import NamedTuple

from tests.net import lab, ltp, wire
from tests.net.data import blob, buffer, check_message
from tests.net.ways import ETH_P_IP, ETH_P_IPV6, icmp_packet, ip_header
from tests.net.wire import Packet

IP_MTU_DISCOVER, IP_MTU = 10, 14
DONT, WANT, DO, PROBE, INTERFACE, OMIT = range(6)
ETH_P_ALL = 3
V6_DISCOVER, V6_MTU = 23, 24
SO_RCVBUFFORCE = 33
NEXT_FRAGMENT = 44


def fragmented(host: lab.Host) -> int:
    """Packets that a host has fragmented, of either family."""

    def read() -> int:
        with open("/proc/thread-self/net/snmp", encoding="ascii") as file:
            names, values = [line.split() for line in file if line.startswith("Ip:")]
        count = int(values[names.index("FragOKs")])
        with open("/proc/thread-self/net/snmp6", encoding="ascii") as file:
            return count + sum(int(line.split()[1]) for line in file if "Ip6FragOKs" in line)

    return host.enter(read)


class Seen(NamedTuple):
    """A packet of LTP, or the first fragment of one, or another: then `kind` is 0."""

    kind: int
    size: int
    df: bool
    fragment: bool
    outgoing: bool
    seg_size: int
    tag: int
    pn: int


def dissect(data: bytes, outgoing: bool) -> Seen | None:
    """The beginning of an IP packet."""
    kind = seg_size = tag = number = 0
    if data[0] >> 4 == 6:
        size, proto, at = 40 + struct.unpack_from("!H", data, 4)[0], data[6], 40
        offset = more = 0
        if proto == NEXT_FRAGMENT:
            proto, at = data[40], 48
            offset, more = data[43] & 0xF8 | data[42], data[43] & 1
        df = not (offset or more)
    else:
        size, _, frag = struct.unpack_from("!HHH", data, 2)
        proto, at = data[9], 20
        offset, more, df = frag & 0x1FFF, frag & 0x2000, bool(frag & 0x4000)
    if proto != ltp.IPPROTO_LTP:
        return None
    if not offset:
        kind = data[at + 8]
        tag, = struct.unpack_from("!I", data, at + 4)
        number, = struct.unpack_from("!I", data, at + 12)
        if kind == wire.DATA:
            seg_size, = struct.unpack_from("!H", data, at + 16 + 24)
    return Seen(kind, size, df, bool(offset or more), outgoing, seg_size, tag, number)


class Tap:
    """Sees all LTP packets of a host's interface, fragments as they are."""

    def __init__(self, host: lab.Host, dev: str = "e0") -> None:
        self.sock = host.enter(
            lambda: socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
        )
        self.sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        self.sock.bind((dev, ETH_P_ALL))
        host.net.at_end(self.sock.close)

    def seen(self) -> list[Seen]:
        """What passed since the last call."""
        got: list[Seen] = []
        while True:
            try:
                data, addr = self.sock.recvfrom(200, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return got
            if addr[1] in (ETH_P_IP, ETH_P_IPV6) and (one := dissect(data, addr[2] == 4)):
                got.append(one)

    def data(self) -> list[Seen]:
        return [one for one in self.seen() if one.kind == wire.DATA or one.fragment]

    def probes(self) -> list[Seen]:
        """Padded PINGs."""
        return [one for one in self.seen() if one.kind == wire.PING and one.size > 100]


class Narrow:
    """An association over a router: `tx` at the side of the wide link, `rx` at the other."""

    def __init__(self, net: lab.Net, wide: int = 1500, narrow: int = 1500) -> None:
        self.net = net
        self.tx_host, self.rx_host, self.router = net.routed((wide, narrow))
        self.pair = lab.Pair(self.rx_host, self.tx_host)
        self.tx, self.rx = self.pair.tx, self.pair.rx.want_control()

    def narrow(self, mtu: int, both: bool = False) -> None:
        """The MTU of the router's far interface, or of the whole far link."""
        self.router.set_mtu(mtu, "r1")
        if both:
            self.rx_host.set_mtu(mtu)

    def silence(self, dev: str = "r0") -> None:
        """The router's "too big" does not leave it any more."""
        self.router.tc(f"qdisc replace dev {dev} clsact")
        what = "protocol ip u32 match ip protocol 1 0xff"
        if self.net.way.v6:
            what = "protocol ipv6 u32 match ip6 protocol 58 0xff match u8 2 0xff at 40"
        self.router.tc(f"filter add dev {dev} egress {what} action drop")

    def seg_size(self, mtu: int) -> int:
        return self.net.way.seg_size(mtu)

    def carry(self, size: int, seed: int = 1, back: bool = False) -> ltp.Message:
        """One message, which must arrive identical."""
        data = blob(size, seed)
        tx, rx = (self.rx, self.tx) if back else (self.tx, self.rx)
        rx.want_control()
        sent = self.net.background(tx.send, data)
        got = rx.receive_into(buffer(size))
        assert sent.result() == size
        check_message(got, data)
        return got

    def mtu(self) -> int:
        if self.net.way.v6:
            return self.tx.getsockopt(socket.IPPROTO_IPV6, V6_MTU)
        return self.tx.getsockopt(socket.SOL_IP, IP_MTU)


def quote(
    src: lab.Host, dst: lab.Host, packet: Packet, length: int = 16, total: int = 1424
) -> bytes:
    """The beginning of a packet from `src` to `dst`, as a router would quote it."""
    way = src.net.way
    head = ip_header(way.raw_addr(src.addr4), way.raw_addr(dst.addr4), total, ltp.IPPROTO_LTP)
    return head + packet.raw()[:length]


class IcmpForger:
    """Sends "too big" from a router's interface, in the name of anybody."""

    def __init__(self, where: lab.Host, target: lab.Host, dev: str = "r0") -> None:
        self.sock = where.enter(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0))
        self.way = target.net.way
        self.to = (dev, self.way.ethertype, 0, 0, target.mac())
        self.target = target
        where.net.at_end(self.sock.close)

    def too_big(self, quoted: bytes, mtu: int, source: str = "10.1.0.254") -> None:
        kind, code = (2, 0) if self.way.v6 else (3, 4)
        saddr, daddr = (self.way.raw_addr(addr) for addr in (source, self.target.addr4))
        self.sock.sendto(icmp_packet(saddr, daddr, kind, code, quoted, mtu), self.to)
