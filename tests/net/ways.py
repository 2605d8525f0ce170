# SPDX-License-Identifier: GPL-2.0
"""The ways LTP can take: sockets of either family, packets in IPv4, IPv6 or UDP in one of them."""
import dataclasses
import ipaddress
import socket
import struct
from collections.abc import Iterable
from typing import Any

import pytest

from tests.net import ltp, wire
from tests.net.wire import Packet

ETH_P_IP, ETH_P_IPV6 = 0x0800, 0x86DD
IPPROTO_UDP, IPPROTO_FRAGMENT, IPPROTO_ICMPV6 = 17, 44, 58
NET6 = int(ipaddress.IPv6Address("fd00::"))
LTP_HEADERS = ltp.HEADERS - 20


def addr6(addr4: str) -> str:
    """The IPv6 address of a host that has this IPv4 address."""
    if addr4 == "127.0.0.1":
        return "::1"
    return str(ipaddress.IPv6Address(NET6 | int(ipaddress.IPv4Address(addr4))))


@dataclasses.dataclass(frozen=True)
class Way:
    """What tests are parametrised with; hosts are named by their IPv4 addresses in all of them."""

    name: str
    family: int = socket.AF_INET  # of the sockets
    v6: bool = False  # the packets
    encap: int = 0  # the UDP port, if they are in UDP

    def __str__(self) -> str:
        return self.name

    def addr(self, addr4: str) -> str:
        """What a socket calls the host with this IPv4 address."""
        if self.v6:
            return addr6(addr4)
        return f"::ffff:{addr4}" if self.family == socket.AF_INET6 else addr4

    def name_of(self, addr4: str, port: int) -> tuple[Any, ...]:
        """What getsockname(), getpeername() and accept() say of it."""
        rest = (0, 0) if self.family == socket.AF_INET6 else ()
        return (self.addr(addr4), port, *rest)

    def any(self) -> str:
        return "::" if self.family == socket.AF_INET6 else "0.0.0.0"

    # ---- packets

    @property
    def ip_header(self) -> int:
        return 40 if self.v6 else 20

    @property
    def udp_header(self) -> int:
        return 8 if self.encap else 0

    @property
    def ethertype(self) -> int:
        return ETH_P_IPV6 if self.v6 else ETH_P_IP

    @property
    def headers(self) -> int:
        """Before the payload of a DATA packet."""
        return self.ip_header + self.udp_header + LTP_HEADERS

    def seg_size(self, mtu: int) -> int:
        return ltp.seg_size(mtu, headers=self.headers)

    def raw_addr(self, addr4: str) -> bytes:
        """Of a host, or of a group or anything else that has an IPv6 address only."""
        if ":" in addr4:
            return socket.inet_pton(socket.AF_INET6, addr4)
        if self.v6:
            return socket.inet_pton(socket.AF_INET6, addr6(addr4))
        return socket.inet_aton(addr4)

    def pack(self, packet: Packet, saddr: bytes, daddr: bytes) -> bytes:
        """An LTP packet as it is behind an IP or UDP header."""
        if not self.encap:
            return packet.pack(saddr, daddr)
        return packet.raw()  # the checksum is UDP's

    def frame(
        self, payload: bytes, saddr: bytes, daddr: bytes, udp: tuple[int, int] | None = None
    ) -> bytes:
        """An IP packet with what pack() gave; the UDP ports may be others than usual."""
        if self.encap:
            payload = udp_packet(payload, saddr, daddr, *(udp or (self.encap, self.encap)))
        proto = IPPROTO_UDP if self.encap else ltp.IPPROTO_LTP
        return ip_header(saddr, daddr, len(payload), proto) + payload

    def unframe(self, data: bytes) -> tuple[bytes, bytes, bytes] | None:
        """Source, destination and the LTP packet in an IP packet; None if there is none."""
        if self.v6:
            if data[0] >> 4 != 6:
                return None
            proto, size = data[6], 40 + struct.unpack_from("!H", data, 4)[0]
            saddr, daddr, payload = data[8:24], data[24:40], data[40:size]
        else:
            if data[0] >> 4 != 4:
                return None
            assert wire.checksum(data[:20]) == 0, "IP checksum"
            proto, size = data[9], struct.unpack_from("!H", data, 2)[0]
            saddr, daddr, payload = data[12:16], data[16:20], data[20:size]
        if proto != (IPPROTO_UDP if self.encap else ltp.IPPROTO_LTP):
            return None
        return saddr, daddr, payload[8:] if self.encap else payload

    def udp_ports(self, data: bytes) -> tuple[int, int]:
        """Source and destination of an IP packet with UDP in it."""
        source, dest = struct.unpack_from("!HH", data, self.ip_header)
        return source, dest

    def check(self, saddr: bytes, daddr: bytes, data: bytes) -> None:
        """The checksum in a received IP packet must be right."""
        payload = data[self.ip_header:]
        if self.encap:
            assert payload[18:20] == b"\0\0", "a checksum within UDP"
            proto, size = IPPROTO_UDP, struct.unpack_from("!H", payload, 4)[0]
            assert payload[6:8] != b"\0\0", "no UDP checksum"
        else:
            proto, size = ltp.IPPROTO_LTP, len(payload)
        assert size == len(payload)
        assert wire.checksum(wire.pseudo(saddr, daddr, size, proto) + payload) == 0, "checksum"


def ip_header(saddr: bytes, daddr: bytes, length: int, proto: int) -> bytes:
    """Of whichever family the addresses are."""
    if len(saddr) == 16:
        return struct.pack("!IHBB", 6 << 28, length, proto, 64) + saddr + daddr
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + length, 0, 0, 64, proto, 0, saddr, daddr)
    return head[:10] + struct.pack("!H", wire.checksum(head)) + head[12:]


def udp_packet(payload: bytes, saddr: bytes, daddr: bytes, source: int, dest: int) -> bytes:
    head = struct.pack("!HHHH", source, dest, 8 + len(payload), 0)
    pseudo = wire.pseudo(saddr, daddr, 8 + len(payload), IPPROTO_UDP)
    check = wire.checksum(pseudo + head + payload) or 0xFFFF
    return head[:6] + struct.pack("!H", check) + payload


def icmp_packet(
    saddr: bytes, daddr: bytes, kind: int, code: int, quoted: bytes, info: int = 0
) -> bytes:
    """An ICMP or ICMPv6 error."""
    body = struct.pack("!BBHI", kind, code, 0, info) + quoted
    proto = IPPROTO_ICMPV6 if len(saddr) == 16 else 1
    pseudo = wire.pseudo(saddr, daddr, len(body), proto) if proto == IPPROTO_ICMPV6 else b""
    body = body[:2] + struct.pack("!H", wire.checksum(pseudo + body)) + body[4:]
    return ip_header(saddr, daddr, len(body), proto) + body


class Reassembly:
    """Puts fragments together, as any host does; both families."""

    def __init__(self) -> None:
        self.parts: dict[bytes, dict[int, tuple[bytes, bool]]] = {}

    def __call__(self, data: bytes) -> bytes | None:
        """The IP packet that this one is, or makes complete."""
        if data[0] >> 4 == 6:
            if data[6] != IPPROTO_FRAGMENT:
                return data
            where, = struct.unpack_from("!H", data, 42)
            offset, more = where & 0xFFF8, bool(where & 1)
            key, head, body = data[8:40] + data[44:48], 40, data[48:]
        else:
            size, ident, where = struct.unpack_from("!HHH", data, 2)
            if not where & 0x3FFF:
                return data
            offset, more = (where & 0x1FFF) * 8, bool(where & 0x2000)
            key, head, body = data[12:20] + struct.pack("!H", ident), 20, data[20:size]
        parts = self.parts.setdefault(key, {})
        parts[offset] = body, more
        whole = b""
        while (part := parts.get(len(whole))) is not None:
            whole += part[0]
            if not part[1]:
                del self.parts[key]
                proto = data[40] if head == 40 else data[9]
                return ip_header(*addresses(data), len(whole), proto) + whole
        return None


def addresses(data: bytes) -> tuple[bytes, bytes]:
    """Source and destination of an IP packet."""
    return (data[8:24], data[24:40]) if data[0] >> 4 == 6 else (data[12:16], data[16:20])


IPV4 = Way("ipv4")
IPV6 = Way("ipv6", socket.AF_INET6, v6=True)
MAPPED = Way("mapped", socket.AF_INET6)
ENCAP4 = Way("encap4", encap=9899)
ENCAP6 = Way("encap6", socket.AF_INET6, v6=True, encap=9899)
ALL = [IPV4, IPV6, MAPPED, ENCAP4, ENCAP6]
NATIVE = [IPV4, IPV6, MAPPED]


def over(ways: Iterable[Way]) -> pytest.MarkDecorator:
    """The test, or all of a file, once for each of these; the fixtures `net` and `way` know it."""
    return pytest.mark.parametrize("way", ways, ids=str)


every_way = over(ALL)
