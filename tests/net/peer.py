# SPDX-License-Identifier: GPL-2.0
"""A peer made of nothing but packets: it sees all that the host says, and says what it likes.

    +-----------+        +---------------------+
    | 10.1.0.1  |--------| no address, no IP;  |
    |        e0 |  veth  | e0 a packet socket  |
    +-----------+        +---------------------+

The host believes that 10.1.0.2, and 10.2.0.0/16 behind it, are at the other end. With another way
than IPv4 these are other addresses and other packets, which tests need not know.
"""
import select
import socket
import struct
import time

from tests.net import lab, ltp, ways, wire
from tests.net.ways import addr6, icmp_packet, ip_header
from tests.net.wire import Packet

PACKET_OUTGOING = 4


class Wire:
    """The far end of a host's only link."""

    def __init__(self, net: lab.Net, mtu: int = 1500) -> None:
        self.host, self.far = net.link(mtu, ("10.1.0.1", ""))
        self.net = net
        self.way = net.way
        self.far_addr = self.way.addr("10.1.0.2")  # as the host calls it
        self.addr = self.way.raw_addr("10.1.0.2")
        self.host_addr = self.way.raw_addr(self.host.addr4)
        self.udp_from = self.way.encap  # the UDP port that packets come from
        self.udp_to: list[tuple[int, int]] = []  # UDP ports of what the host sent
        self.host.ethtool(lab.ETHTOOL_STXCSUM, 0)  # so that checksums are there to be checked
        gateway = addr6("10.1.0.2") if self.way.v6 else "10.1.0.2"
        self.host.set_neighbour(gateway, self.far.mac())
        if not self.way.v6:  # there it is on the link, as all of fd00::/16
            self.host.ip("route", "add", "10.2.0.0/16", "via", gateway)
        kind = self.way.ethertype
        self.sock = self.far.enter(
            lambda: socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(kind))
        )
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 20)
        self.sock.bind(("e0", kind))
        self.to = ("e0", kind, 0, 0, self.host.mac())
        self.reassembly = ways.Reassembly()
        self.assocs: list[Assoc] = []
        net.at_end(self._close)

    def _close(self) -> None:
        """What is left at the host must not wait for answers of a peer that is no more."""
        for assoc in self.assocs:
            assoc.send(wire.RESET, body_tag=assoc.my_tag)
        self.sock.close()

    # ---- out

    def _source(self, saddr: str) -> bytes:
        return self.way.raw_addr(saddr) if saddr else self.addr

    def send_ip(self, data: bytes) -> None:
        """Anything, from its IP header on."""
        self.sock.sendto(data, self.to)

    def send_raw(self, payload: bytes, saddr: str = "") -> None:
        udp = (self.udp_from, self.way.encap)
        self.send_ip(self.way.frame(payload, self._source(saddr), self.host_addr, udp))

    def send(self, packet: Packet, saddr: str = "") -> int:
        """Returns how long it was, without the IP header."""
        data = self.way.pack(packet, self._source(saddr), self.host_addr)
        self.send_raw(data, saddr)
        return len(data)

    def send_to(self, packet: Packet, daddr: str) -> None:
        """To an address that is not the host's, though the frame is for it."""
        to = self.way.raw_addr(daddr)
        self.send_ip(self.way.frame(self.way.pack(packet, self.addr, to), self.addr, to))

    # ---- in

    def _next(self) -> tuple[Packet, int] | None:
        """A packet and its length, if one is there."""
        while True:
            try:
                data, addr = self.sock.recvfrom(70000, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return None
            if addr[2] == PACKET_OUTGOING or (whole := self.reassembly(data)) is None:
                continue
            if (got := self.way.unframe(whole)) is None:
                continue
            saddr, daddr, payload = got
            assert saddr == self.host_addr
            size = self.way.ip_header + self.way.udp_header + len(payload)
            self.way.check(saddr, daddr, whole[:size])
            if self.way.encap:
                self.udp_to.append(self.way.udp_ports(whole))
            return wire.parse(payload), len(payload)

    def pending(self) -> list[tuple[Packet, int]]:
        """What has come until now, and the lengths."""
        got = []
        while (one := self._next()) is not None:
            got.append(one)
        return got

    def flush(self) -> None:
        self.pending()

    def receive(self, kind: int = 0, seconds: float = 10) -> Packet:
        """The next packet, or the next of a type: those of other types are thrown away."""
        end = time.monotonic() + seconds * lab.SLOW
        while True:
            one = self._next()
            if one and kind in (0, one[0].kind):
                return one[0]
            if not one:
                left = end - time.monotonic()
                if left <= 0 or not select.select([self.sock], [], [], left)[0]:
                    raise AssertionError(f"no packet {wire.NAMES.get(kind, '')} came")

    def answer_for(self, seconds: float) -> None:
        """Answers every PING for a while, so that the host does not take its peers for dead."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(left, 1))  # not select(): that may be late by a thousandth
            for packet, _ in self.pending():
                for assoc in self.assocs:
                    if packet.kind == wire.PING and packet.tag == assoc.my_tag:
                        assoc.send(wire.PONG, token=packet.token, **assoc.window())

    # ---- errors

    def quote(self, source: int, dest: int, tag: int, length: int = 100) -> bytes:
        """The first bytes of a packet of the host's, as an ICMP error quotes them."""
        head = struct.pack("!HHI", source, dest, tag)
        proto = 253
        if self.way.encap:
            head = struct.pack("!HHHH", self.way.encap, self.udp_from, length, 0) + head
            proto = 17
        return ip_header(self.host_addr, self.addr, length, proto) + head

    def send_icmp(self, kind: int, code: int, quoted: bytes, info: int = 0) -> None:
        self.send_ip(icmp_packet(self.addr, self.host_addr, kind, code, quoted, info))

    def send_too_big(self, quoted: bytes, mtu: int) -> None:
        self.send_icmp(*((2, 0) if self.way.v6 else (3, 4)), quoted, mtu)

    def send_unreachable(self, code: int, quoted: bytes) -> None:
        self.send_icmp(1 if self.way.v6 else 3, code, quoted)

    # ---- handshakes

    def params(self, **fields: int) -> dict[str, int]:
        """What a well-behaved peer says of itself."""
        return {
            "body_tag": 0x11111111,
            "rwnd": 1 << 20,
            "flow": 100,
            "body_pn": 1000,
            "mtu": 1500,
            "max_flows": 1024,
            "grain": 16,
        } | fields

    def init(self, source: int = 7000, dest: int = 5000, **fields: int) -> Packet:
        return Packet(
            wire.INIT,
            {"source": source, "dest": dest} | self.params(**fields),
            bytes(wire.PADDING),
        )

    def get_cookie(self, source: int = 7000, saddr: str = "", **fields: int) -> Packet:
        """Sends an INIT; returns the INIT_ACK."""
        self.send(self.init(source, **fields), saddr)
        return self.receive(wire.INIT_ACK)

    def echo(self, init_ack: Packet) -> Packet:
        """The COOKIE_ECHO that answers an INIT_ACK."""
        cookie = {name: init_ack.fields[name] for name in wire.COOKIE}
        ports = {"source": init_ack.dest, "dest": init_ack.source, "tag": init_ack.body_tag}
        return Packet(wire.COOKIE_ECHO, ports | cookie)

    def connect(self, source: int = 7000, saddr: str = "", **fields: int) -> "Assoc":
        """An association that the host's listener at port 5000 accepts."""
        return self.connect_with(self.get_cookie(source, saddr, **fields), saddr, **fields)

    def connect_with(self, ack: Packet, saddr: str = "", **fields: int) -> "Assoc":
        """The second half: from the host's INIT_ACK on."""
        self.send(self.echo(ack), saddr)
        assert self.receive(wire.COOKIE_ACK).tag == ack.tag
        mine = self.params(**fields)
        return Assoc(self, ack.dest, ack.source, ack.tag, ack.body_tag, saddr, mine, ack.fields)

    def accepted(self, **fields: int) -> tuple[ltp.Socket, "Assoc"]:
        """A socket that the host has accepted from here."""
        listener = self.host.listen()
        assoc = self.connect(7000, "", **fields)
        sock, _ = listener.accept()
        sock.set_timeouts(30 * lab.SLOW)
        self.net.sockets.append(sock)
        return sock, assoc

    def accept(self, **fields: int) -> "Assoc":
        """Answers the host's connect(), which is under way."""
        init = self.receive(wire.INIT)
        mine = self.params(**fields)
        cookie = {"mac": 1, "time_ns": 2}
        for name, here in wire.PARAMS.items():
            cookie["peer_" + name] = init.fields[here]
            cookie["local_" + name] = mine.get(here, 0)
        ports = {"source": init.dest, "dest": init.source}
        self.send(Packet(wire.INIT_ACK, ports | {"tag": init.body_tag} | mine | cookie))
        echo = self.receive(wire.COOKIE_ECHO)
        assert {name: echo.fields[name] for name in cookie} == cookie
        self.send(Packet(wire.COOKIE_ACK, ports | {"tag": init.body_tag}))
        return Assoc(
            self, init.dest, init.source, mine["body_tag"], init.body_tag, "", mine, init.fields
        )


class Assoc:
    """The peer's end of an association."""

    def __init__(
        self,
        wire_: Wire,
        port: int,
        host_port: int,
        my_tag: int,
        host_tag: int,
        saddr: str,
        mine: dict[str, int],
        host: dict[str, int],
    ) -> None:
        self.wire = wire_
        wire_.assocs.append(self)
        self.saddr = saddr
        self.port, self.host_port = port, host_port
        # A packet carries the tag of the one it is for.
        self.my_tag, self.host_tag = my_tag, host_tag
        self.flow, self.pn = mine["flow"], mine["body_pn"]
        self.host_flow = host["flow"]
        self.done: set[int] = set()  # flows of the host of which everything was acknowledged

    def packet(self, kind: int, **fields: int) -> Packet:
        """A packet of this association, with the next number."""
        head = {"source": self.port, "dest": self.host_port, "tag": self.host_tag, "pn": self.pn}
        self.pn = (self.pn + 1) & 0xFFFFFFFF
        return Packet(kind, head | fields)

    def send(self, kind: int, **fields: int) -> int:
        return self.wire.send(self.packet(kind, **fields), self.saddr)

    def data(
        self,
        message: bytes,
        seg: int,
        seg_size: int = 1024,
        flow: int | None = None,
        tag: int = 0,
        critical: int = 0,
        flags: int = 0,
    ) -> Packet:
        """A segment of a message."""
        if seg < critical:
            flags |= wire.CRITICAL
        head = self.packet(
            wire.DATA,
            flags=flags,
            flow=self.flow if flow is None else flow,
            len=len(message),
            seg=seg,
            ncrit=critical,
            body_tag=tag,
            seg_size=seg_size,
        )
        return head.with_tail(message[seg * seg_size:(seg + 1) * seg_size])

    def send_data(self, message: bytes, segs: list[int], **how: int) -> None:
        for seg in segs:
            self.wire.send(self.data(message, seg, **how), self.saddr)

    def receive(self, kind: int = 0, seconds: float = 10) -> Packet:
        """The next packet, which must be for this association."""
        packet = self.wire.receive(kind, seconds)
        assert (packet.source, packet.dest) == (self.host_port, self.port)
        assert packet.tag == self.my_tag
        return packet

    def window(self, rwnd: int = 1 << 20, flows: int = 1024) -> dict[str, int]:
        """What ACK, PING and PONG tell the host that it may send."""
        limit = (self.host_flow + flows) & 0xFFFFFFFF
        return {"rwnd": rwnd, "rwnd_later": rwnd // 2, "flow_limit": limit}

    def ack(self, data: Packet, base: int, **fields: int) -> Packet:
        """The ACK of a DATA packet: every segment below `base` arrived."""
        usual = {
            "flow": data.flow,
            "acked_pn": data.pn,
            "base": base,
        }
        return self.packet(wire.ACK, **usual | self.window() | fields)

    def alive(self) -> None:
        """Does the host still answer? Throws away what it said before."""
        self.wire.flush()
        token = self.pn | 1
        self.send(wire.PING, token=token, **self.window())
        assert self.receive(wire.PONG).token == token
