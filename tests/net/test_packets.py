# SPDX-License-Identifier: GPL-2.0
"""Packets with one thing wrong: each is dropped for one reason, and changes nothing.

Each test has an association under way: the peer has sent a part of one flow and given up another,
the host has sent a flow that is not acknowledged.
"""
import dataclasses
import struct
from collections.abc import Iterator

import pytest

from tests.net import lab, ltp, wire
from tests.net.peer import Assoc, Wire
from tests.net.ways import IPV4, IPV6, over
from tests.net.wire import (
    ACK,
    CLOSE,
    CLOSE_ACK,
    COOKIE_ACK,
    COOKIE_ECHO,
    DATA,
    FIN,
    FIN_ACK,
    GIVEUP,
    INIT,
    INIT_ACK,
    PING,
    PONG,
    RESET,
    Packet,
)

pytestmark = over([IPV4, IPV6])  # not in UDP, which repairs the checksums that are to be wrong

U32 = 0xFFFFFFFF
# Nothing of these may be changed by a packet that is dropped.
STATE = (
    "state peer_window flows_out flows_in segments_in bytes_acked bytes_received seg_size".split()
)
FLOW = "direction flow length arrived critical critical_arrived reason".split()
# What the host says without being asked.
OWN = (DATA, PING, CLOSE)


@dataclasses.dataclass(repr=False)
class Bench:
    """The association and a good packet of each type."""

    far: Wire
    assoc: Assoc
    sock: ltp.Socket
    good: dict[int, Packet]
    message: bytes
    wrong: list[str] = dataclasses.field(default_factory=list)

    def state(self) -> list[dict[str, object]]:
        family = self.far.host.family
        assocs = [{name: one[name] for name in STATE} for one in family.assocs()]
        return assocs + [{name: one.get(name) for name in FLOW} for one in family.flows()]

    def answers(self) -> list[tuple[Packet, int]]:
        return [one for one in self.far.pending() if one[0].kind not in OWN]

    def check(self, data: bytes, reason: str, what: object, proven: bool = True) -> None:
        """Sends a packet, which must be dropped for this reason alone; done() tells."""
        self.far.flush()
        before = self.far.host.counters()
        self.far.send_raw(data)
        after = self.far.host.counters()
        moved = {
            name: after[name] - before[name]
            for name in after
            if name.startswith("Drop") and after[name] != before[name]
        }
        if moved != {reason: 1} or after["InPackets"] != before["InPackets"] + 1:
            self.wrong.append(f"{moved} instead of {reason}: {what}")
        answers = self.answers()
        # To an address that has proven nothing, no answer is larger than the question.
        if len(answers) > 1 or (not proven and sum(length for _, length in answers) > len(data)):
            self.wrong.append(f"answered by {', '.join(str(one) for one, _ in answers)}: {what}")

    def expect(self, packet: Packet, reason: str, proven: bool = True) -> None:
        data = packet.pack(self.far.addr, self.far.host_addr)
        self.check(data, reason, packet, proven)

    def accepted(self, packet: Packet) -> None:
        with lab.Counting(self.far.host) as moved:
            self.far.send(packet)
            assert moved.drops() == {}, packet

    def done(self, before: list[dict[str, object]]) -> None:
        """All were dropped as they should, nothing has changed, and the association still works."""
        assert not self.wrong, "\n".join(self.wrong[:20])
        assert self.state() == before
        self.assoc.alive()


@pytest.fixture(name="bench")
def fixture_bench(net: lab.Net) -> Bench:
    far = Wire(net)
    listener = far.host.listen()
    init_ack = far.get_cookie()
    echo = far.echo(init_ack)
    assoc = far.connect_with(init_ack)
    sock, _ = listener.accept()
    net.sockets.append(sock)
    sock.send_message(bytes(5000), flags=ltp.TOLERANT, tag=9)
    sent = assoc.receive(DATA)
    message = bytes(range(256)) * 30  # 8 segments of 1024, the last of them shorter
    assoc.send_data(message, [0, 2], critical=2, flags=wire.TOLERANT, tag=7)
    data = assoc.data(message, 3, critical=2, flags=wire.TOLERANT, tag=7)
    given_up = {"flow": assoc.flow + 1, "len": 2000, "seg_size": 1024, "body_tag": 8}
    assoc.send(GIVEUP, flags=wire.TOLERANT, **given_up)
    good = {
        INIT: far.init(source=7777),
        INIT_ACK: init_ack.but(source=7000, dest=5000, tag=assoc.host_tag),
        COOKIE_ECHO: echo,
        COOKIE_ACK: assoc.packet(COOKIE_ACK),
        DATA: data,
        ACK: assoc.ack(sent, 0, words=1).with_tail(wire.bitmap()),
        CLOSE: assoc.packet(
            CLOSE, flow=sent.flow, missing=2, parts=1, received=5000 - 2 * sent.seg_size,
            reason=ltp.FRACTION, ranges=2,
        ).with_tail(wire.ranges((0, 1), (2, 1))),
        CLOSE_ACK: assoc.packet(CLOSE_ACK, flow=assoc.flow + 1),
        GIVEUP: assoc.packet(GIVEUP, flags=wire.TOLERANT, **given_up | {"flow": assoc.flow + 2}),
        FIN: assoc.packet(FIN, flow=assoc.flow),
        FIN_ACK: assoc.packet(FIN_ACK),
        RESET: assoc.packet(RESET, body_tag=assoc.my_tag),
        PING: assoc.packet(PING, token=1, **assoc.window()),
        PONG: assoc.packet(PONG, token=0, **assoc.window()),
    }
    lab.until(lambda: sock.info().flows_in == 2, "the flows are there")
    return Bench(far, assoc, sock, good, message)


KINDS = [pytest.param(kind, id=wire.NAMES[kind]) for kind in sorted(wire.NAMES)]


@pytest.mark.parametrize("kind", KINDS)
def test_truncated(bench: Bench, kind: int) -> None:
    """At each length, with a checksum that is right for it."""
    before = bench.state()
    good = bench.good[kind]
    whole = good.raw()
    complete = wire.size_of(kind)
    proven = kind not in (INIT, INIT_ACK)
    for length in range(len(whole)):
        if kind in (PING, PONG) and length >= complete:
            continue
        cut = wire.seal(whole[:length], bench.far.addr, bench.far.host_addr)
        reason = "DropShort" if length < complete else "DropLength"
        if kind == INIT:  # its padding is a part of it
            reason = "DropShort"
        bench.check(cut, reason, f"{good} cut to {length}", proven)
    bench.done(before)


@pytest.mark.parametrize("kind", KINDS)
def test_too_long(bench: Bench, kind: int) -> None:
    """PING and PONG may be padded, no other."""
    before = bench.state()
    good = bench.good[kind]
    for more in (1, 4, 64, 1400 - len(good.raw())):
        longer = good.with_tail(good.tail + bytes(more))
        if kind in (PING, PONG):
            bench.accepted(longer)
        else:
            bench.expect(longer, "DropLength", kind not in (INIT, INIT_ACK))
    bench.done(before)


@pytest.mark.parametrize("kind", KINDS)
def test_checksum(bench: Bench, kind: int) -> None:
    """One bit of any byte is another one."""
    before = bench.state()
    data = bench.good[kind].pack(bench.far.addr, bench.far.host_addr)
    for i in range(len(data)):
        flipped = data[:i] + bytes([data[i] ^ 1 << i % 8]) + data[i + 1:]
        bench.check(flipped, "DropChecksum", f"byte {i} of {bench.good[kind]}", False)
    bench.done(before)


@pytest.mark.parametrize("kind", KINDS)
def test_header(bench: Bench, kind: int) -> None:
    """Ports, tag, type and flags."""
    before = bench.state()
    good = bench.good[kind]
    proven = kind not in (INIT, INIT_ACK)
    for name in "source", "dest":
        bench.expect(good.but(**{name: 0}), "DropField", False)
    elsewhere = good.but(source=7001)
    if kind == COOKIE_ECHO:
        bench.expect(elsewhere, "DropCookie", False)
    elif kind != INIT:
        bench.expect(elsewhere, "DropNoAssoc", False)
    bench.expect(good.but(dest=5001), "DropNoAssoc", False)
    if kind == INIT:
        bench.expect(good.but(tag=1), "DropField", proven)
    else:
        bench.expect(good.but(tag=0), "DropField", proven)
        for bit in range(32):
            bench.expect(good.but(tag=good.tag ^ 1 << bit), "DropTag", proven)
    for wrong in (0, 15, 16, 128, 255):
        bench.expect(good.but(type=wrong), "DropType", False)
    allowed = {DATA: 0xF, ACK: 0x7, GIVEUP: wire.TOLERANT, RESET: wire.REFLECT}.get(kind, 0)
    for bit in range(8):
        if not allowed & 1 << bit:
            bench.expect(good.but(flags=good.flags | 1 << bit), "DropFlags", proven)
    bench.done(before)


def fields_wrong(bench: Bench) -> Iterator[tuple[Packet, str]]:
    """Packets with a wrong field in their body, and why they are dropped."""
    good, flow, out = bench.good, bench.assoc.flow, bench.assoc.host_flow
    params = [
        ("body_tag", 0),
        ("rwnd", 0),
        ("max_flows", 0),
        ("grain", 0),
        ("grain", 8),
        ("grain", 17),
        ("mtu", 0),
        ("mtu", 575),
    ]
    for name, value in params:
        yield good[INIT].but(**{name: value}), "DropField"
        yield good[INIT_ACK].but(**{name: value}), "DropField"
        for who in "peer_", "local_":
            yield good[COOKIE_ECHO].but(**{who + name.replace("body_", ""): value}), "DropField"
    yield good[INIT_ACK], "DropState"  # nobody is waiting for one here

    data = good[DATA]
    yield data.but(len=0), "DropField"
    yield data.but(len=3 * 1024), "DropField"  # then there is no segment 3
    yield data.but(len=3 * 1024 + 1), "DropLength"  # then it is the last one
    yield data.but(len=len(bench.message) + 1), "DropFlowChanged"
    yield data.but(seg=8), "DropField"
    yield data.but(seg=U32), "DropField"
    yield data.but(seg=7), "DropLength"
    yield data.but(seg=1), "DropFlags"  # it would be critical
    yield data.but(ncrit=9), "DropField"
    yield data.but(ncrit=3), "DropFlowChanged"
    yield data.but(ncrit=4), "DropFlags"
    yield data.but(flags=wire.TOLERANT | wire.CRITICAL), "DropFlags"
    yield data.but(flags=0), "DropFlowChanged"
    yield data.but(body_tag=6), "DropFlowChanged"
    for size in (0, 1, 16, 240, 1023, 1025, 1032, 65409, 65535):
        yield data.but(seg_size=size), "DropField"
    yield data.but(seg_size=1040), "DropLength"
    yield data.but(seg_size=1040).with_tail(bytes(1040)), "DropFlowChanged"
    yield data.with_tail(b""), "DropLength"
    yield data.but(flow=flow + 1), "DropFlowChanged"  # the one that was given up
    yield data.but(flow=flow - 1), "DropFlowClosed"
    yield data.but(flow=flow + ltp.MAX_FLOWS), "DropFlowLimit"
    yield data.but(flow=flow + (1 << 31) - 1), "DropFlowLimit"

    giveup = good[GIVEUP]
    yield giveup.but(flags=0), "DropFlags"  # a reliable flow is not given up
    yield giveup.but(len=0), "DropField"
    yield giveup.but(seg=1), "DropField"
    yield giveup.but(seg_size=0), "DropField"
    yield giveup.but(ncrit=3), "DropField"
    yield giveup.with_tail(b"1234"), "DropLength"
    yield giveup.but(flow=flow), "DropFlowChanged"
    yield giveup.but(flow=flow + 1), "DropFlowClosed"
    yield giveup.but(flow=flow + ltp.MAX_FLOWS), "DropFlowLimit"

    ack = good[ACK]
    yield ack.but(reserved=1), "DropField"
    yield ack.but(words=0), "DropLength"
    yield ack.but(words=2), "DropLength"
    yield ack.but(words=33).with_tail(bytes(33 * 4)), "DropField"
    yield ack.but(words=65535), "DropField"
    yield ack.but(first=1), "DropField"
    yield ack.but(first=31), "DropField"
    yield ack.but(first=32), "DropAckInvalid"
    yield ack.but(first=0xFFFFFFE0), "DropField"
    yield ack.but(base=5), "DropAckInvalid"
    yield ack.but(base=U32), "DropAckInvalid"
    yield ack.but(acked_pn=ack.acked_pn + 100000), "DropAckInvalid"
    yield ack.but(flow=out + 1), "DropFlowUnknown"

    close = good[CLOSE]
    for reason in (ltp.OPEN, ltp.COMPLETE, ltp.LOST, 6, 65535):
        yield close.but(reason=reason), "DropField"
    yield close.but(reason=ltp.GAVE_UP), "DropAckInvalid"
    yield close.but(flow=out + 1), "DropFlowUnknown"
    yield close.but(parts=0), "DropField"
    yield close.but(part=1), "DropField"
    yield close.but(parts=2), "DropField"  # a part that is not the last is full
    yield close.but(part=9, parts=10), "DropAckInvalid"
    yield close.but(missing=1), "DropField"
    yield close.but(missing=3), "DropField"
    yield close.but(missing=5, part=1, parts=2), "DropAckInvalid"
    yield close.but(received=5001), "DropAckInvalid"
    for received in (0, close.received - 1, close.received + 1, close.received + 700, 5000):
        yield close.but(received=received), "DropAckInvalid"  # the map says otherwise
    yield close.but(ranges=1), "DropLength"
    yield close.but(ranges=3), "DropLength"
    yield close.but(ranges=0).with_tail(b""), "DropField"
    yield close.but(ranges=61, missing=61).with_tail(
        wire.ranges(*((i * 2, 1) for i in range(61)))
    ), "DropField"
    for wrong in (
        [(0, 0), (2, 2)],
        [(0, 1), (1, 1)],
        [(2, 1), (0, 1)],
        [(1, 1), (1, 1)],
        [(0, 1), (U32, 1)],
    ):
        yield close.with_tail(wire.ranges(*wrong)), "DropField"
    yield close.with_tail(wire.ranges((0, 1), (4, 1))), "DropAckInvalid"

    yield good[CLOSE_ACK].but(flow=flow + 5), "DropFlowUnknown"
    yield good[CLOSE_ACK].but(part=1), "DropAckInvalid"
    yield good[CLOSE_ACK].but(flow=flow), "DropAckInvalid"  # that one has not ended

    for wrong_end in (flow - 1, flow, flow + 1, flow + 2, flow + 100):
        yield good[FIN].but(flow=wrong_end), "DropState"
    yield good[FIN_ACK], "DropState"

    reset = good[RESET]
    for bit in range(32):
        yield reset.but(body_tag=reset.body_tag ^ 1 << bit), "DropTag"
    yield reset.but(body_tag=0), "DropTag"
    yield Packet(RESET, reset.fields | {"flags": wire.REFLECT}), "DropField"
    head = {name: reset.fields[name] for name in ("source", "dest", "tag")}
    reflected = Packet(RESET, head | {"flags": wire.REFLECT})
    yield reflected, "DropTag"  # the host's tag is not the one it puts into packets


def test_fields(bench: Bench) -> None:
    """Each field of each body, out of its range or at odds with another, or with the flow."""
    before = bench.state()
    for packet, reason in fields_wrong(bench):
        if packet.kind == RESET and packet.flags and "body_tag" in packet.fields:
            continue
        bench.expect(packet, reason, packet.kind not in (INIT, INIT_ACK))
    bench.done(before)


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind.values[0] not in (INIT_ACK, FIN, FIN_ACK)]
)
def test_good(bench: Bench, kind: int) -> None:
    """The packets that the others are made from are good ones."""
    bench.accepted(bench.good[kind])


def test_connecting(net: lab.Net) -> None:
    """A host that waits for an INIT_ACK, then for a COOKIE_ACK, takes nothing else."""
    far = Wire(net)
    sock = far.host.socket()
    sock.setblocking(False)
    sock.connect_ex((far.far_addr, 5000))
    init = far.receive(INIT)
    ports = {"source": init.dest, "dest": init.source, "tag": init.body_tag}
    good = Packet(INIT_ACK, ports | far.params())
    others = {
        COOKIE_ACK: {},
        DATA: {"flow": 100, "len": 4, "seg_size": 16},
        ACK: {"flow": init.flow},
        FIN: {"flow": 100},
        FIN_ACK: {},
        PING: {},
        PONG: {},
        CLOSE_ACK: {},
        GIVEUP: {"flags": wire.TOLERANT, "flow": 100, "len": 4, "seg_size": 16},
    }
    for kind, fields in others.items():
        with lab.Counting(far.host) as moved:
            tail = b"1234" if kind == DATA else b""
            far.send(Packet(kind, ports | fields, tail))
            assert moved.drops() == {"DropState": 1}, wire.NAMES[kind]
    with lab.Counting(far.host) as moved:
        far.send(good.but(tag=good.tag ^ 1))
        assert moved.drops() == {"DropTag": 1}
    assert sock.info().state == ltp.INIT_SENT
    far.send(good)
    assert sock.info().state == ltp.COOKIE_SENT
    far.receive(COOKIE_ECHO)
    with lab.Counting(far.host) as moved:
        far.send(good.but(body_tag=5))
        assert moved.drops() == {"DropState": 1}
    far.send(Packet(COOKIE_ACK, ports))
    assert sock.info().state == ltp.ESTABLISHED


def test_listener_takes_only_init_and_cookies(net: lab.Net) -> None:
    """All else is for an association that does not exist."""
    far = Wire(net)
    far.host.listen()
    for kind in (INIT_ACK, COOKIE_ACK, DATA, ACK, FIN, FIN_ACK, PING, PONG, CLOSE_ACK, GIVEUP):
        packet = Packet(kind, {"source": 7000, "dest": 5000, "tag": 99})
        if kind == INIT_ACK:
            packet = packet.but(**far.params())
        if kind in (DATA, GIVEUP):
            packet = packet.but(len=4, seg_size=16)
        if kind == DATA:
            packet = packet.with_tail(b"1234")
        if kind == GIVEUP:
            packet = packet.but(flags=wire.TOLERANT)
        with lab.Counting(far.host) as moved:
            asked = far.send(packet)
            assert moved.drops() == {"DropNoAssoc": 1}
        ((reset, length),) = far.pending()
        assert (reset.kind, reset.flags, reset.tag) == (RESET, wire.REFLECT, 99)
        assert length <= asked


def test_not_for_us(net: lab.Net) -> None:
    """A broadcast address, or a frame for somebody else, makes and answers nothing."""
    far = Wire(net)
    far.host.listen()
    wrong = ["255.255.255.255", "10.1.255.255", "224.0.0.1"]
    if far.way.v6:
        # A group that each host is in, the one of its address, and nobody.
        wrong = ["ff02::1", "ff02::1:ff01:1", "fd00::99"]
    for daddr in wrong:
        with lab.Counting(far.host) as moved:
            far.send_to(far.init(), daddr)
            assert far.pending() == []
            assert moved["OutPackets"] == 0


# ---- CLOSE in parts that contradict each other

SEGS = 400
SEG = 1024
LENGTH = SEGS * SEG - 100


def close_parts(assoc: Assoc, missing: list[int], reason: int = ltp.FRACTION) -> list[Packet]:
    """What a receiver says to whom these segments did not come, no two of them neighbours."""
    size = wire.CLOSE_RANGES
    received = LENGTH - sum(SEG - 100 if seg == SEGS - 1 else SEG for seg in missing)
    pieces = [missing[at:at + size] for at in range(0, len(missing), size)]
    return [
        assoc.packet(
            CLOSE, flow=assoc.host_flow, missing=len(missing), part=part, parts=len(pieces),
            received=received, reason=reason, ranges=len(piece),
        ).with_tail(wire.ranges(*((seg, 1) for seg in piece)))
        for part, piece in enumerate(pieces)
    ]


@pytest.fixture(name="sent")
def fixture_sent(net: lab.Net) -> tuple[ltp.Socket, Assoc]:
    """A tolerant flow of the host's, all of it in flight, and reports of what becomes of it."""
    far = Wire(net)
    sock, assoc = far.accepted(rwnd=1 << 30)
    sock.set(ltp.SEGSIZE, SEG)
    sock.set(ltp.REPORTS, 1)
    assert sock.send_message(bytes(LENGTH), flags=ltp.TOLERANT, tag=5) == LENGTH
    return sock, assoc


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 0, 2, 2, 1]])
def test_close_parts_in_any_order(sent: tuple[ltp.Socket, Assoc], order: list[int]) -> None:
    """Three parts; the report is exactly what they say together."""
    sock, assoc = sent
    missing = list(range(1, 300, 2)) + [SEGS - 1]
    parts = close_parts(assoc, missing)
    assert len(parts) == 3
    with lab.Counting(assoc.wire.host) as moved:
        for part in order:
            assoc.wire.send(parts[part])
        assert moved.drops() == {}
    assert sock.info().flows_out == 0
    control, bitmap = report(sock)
    assert struct.unpack_from("=QII", control) == (5, LENGTH, parts[0].received)
    assert [seg for seg in range(SEGS) if not bitmap[seg // 8] >> seg % 8 & 1] == missing


def report(sock: ltp.Socket) -> tuple[bytes, bytes]:
    bitmap, cmsgs, _, _ = sock.recvmsg(1000, 1000, 0x2000)
    return cmsgs[0][2], bitmap


@pytest.mark.parametrize("first", [0, 1])
def test_contradictory_parts(sent: tuple[ltp.Socket, Assoc], first: int) -> None:
    """A part that does not fit the others is dropped, not answered, and changes nothing."""
    sock, assoc = sent
    far = assoc.wire
    good = close_parts(assoc, list(range(1, 300, 2)) + [SEGS - 1])
    other = good[1 - first]
    far.send(good[first])
    far.flush()
    overlap = good[first].pairs[:1] + other.pairs[1:]
    wrong = [
        other.but(missing=other.missing - 1),
        other.but(missing=other.missing + 1),
        other.but(received=other.received - SEG),
        other.but(reason=ltp.DEADLINE),
        other.but(part=2, parts=4),
        other.with_tail(wire.ranges(*sorted(overlap))),
        # The last part decides whether the sums are right.
        good[2].with_tail(good[2].tail[:-8]).but(ranges=good[2].ranges - 1),
        good[2].with_tail(wire.ranges(*good[2].pairs[:-1], (SEGS - 2, 1))),
        good[2].with_tail(wire.ranges(*good[2].pairs[:-1], (SEGS - 2, 2))),
    ]
    for packet in wrong[:6]:
        with lab.Counting(far.host) as moved:
            far.send(packet)
            assert moved.drops() == {"DropAckInvalid": 1}, packet
    far.send(other)
    for packet in wrong[6:]:
        with lab.Counting(far.host) as moved:
            far.send(packet)
            assert moved.drops() == {"DropAckInvalid": 1}, packet
    answered = [packet.part for packet, _ in far.pending() if packet.kind == CLOSE_ACK]
    assert answered == [1 - first]
    assert sock.info().flows_out == 1
    far.send(good[2])
    assert sock.info().flows_out == 0
    assert struct.unpack_from("=QII", report(sock)[0])[2] == good[0].received


def test_close_of_what_was_never_sent(net: lab.Net) -> None:
    """Flows that are no flows, and one of which nothing has left yet."""
    far = Wire(net)
    sock, assoc = far.accepted(rwnd=1)
    sock.setblocking(False)
    for ahead in (0, 1, 1000, 1 << 30):
        with lab.Counting(far.host) as moved:
            packet = assoc.packet(
                CLOSE, flow=(assoc.host_flow + ahead) & U32, missing=1, parts=1,
                reason=ltp.FRACTION, ranges=1,
            )
            far.send(packet.with_tail(wire.ranges((0, 1))))
            assert moved.drops() == {"DropFlowUnknown": 1}
    for back in (1, 1000, 1 << 30):  # before the first: as if it had been, and were over
        packet = assoc.packet(
            CLOSE, flow=(assoc.host_flow - back) & U32, missing=1, parts=1, reason=ltp.FRACTION,
            ranges=1,
        )
        far.flush()
        far.send(packet.with_tail(wire.ranges((0, 1))))
        assert far.receive(CLOSE_ACK).flow == packet.flow
    assert sock.info().flows_out == 0
    assoc.alive()


def test_acks_of_packets_never_sent(net: lab.Net) -> None:
    """Of the future: dropped. Of the past before the first: no time can be measured with it."""
    far = Wire(net)
    sock, assoc = far.accepted(rwnd=2 * SEG)
    sock.set(ltp.SEGSIZE, SEG)
    sock.send(bytes(5 * SEG))
    sent = assoc.receive(DATA)
    before = sock.info().srtt_us
    for ahead in (1000, 1 << 20, (1 << 31) - 1):
        with lab.Counting(far.host) as moved:
            far.send(assoc.ack(sent.but(pn=(sent.pn + ahead) & U32), 1))
            assert moved.drops() == {"DropAckInvalid": 1}
    # Segments 2 to 4 wait for the window: to have them is a lie, the first two are believed.
    with lab.Counting(far.host) as moved:
        far.send(assoc.ack(sent.but(pn=(sent.pn - 1000) & U32), 5, **assoc.window(0)))
        assert moved.drops() == {"DropAckInvalid": 1}
    info = sock.info()
    assert (info.bytes_acked, info.in_flight, info.srtt_us) == (2 * SEG, 0, before)
    assert info.unsent == 3 * SEG
    assoc.alive()


def test_give_up_games(net: lab.Net) -> None:
    """GIVEUP before, between and after DATA, again and again, and for every flow there may be."""
    far = Wire(net)
    sock, assoc = far.accepted()
    sock.want_control().setblocking(False)
    fields = {"flags": wire.TOLERANT, "len": 3000, "seg_size": 1024}
    how = {"flags": wire.TOLERANT}
    with lab.Counting(far.host) as moved:
        # Nothing came: a message of holes.
        for _ in range(3):
            assoc.send(GIVEUP, flow=assoc.flow, **fields)
        assoc.send_data(bytes(3000), [0, 1, 2], **how)
        # Some came.
        assoc.send_data(b"x" * 3000, [1], flow=assoc.flow + 1, **how)
        assoc.send(GIVEUP, flow=assoc.flow + 1, **fields)
        # All came: it is too late.
        assoc.send_data(b"y" * 3000, [0, 1, 2], flow=assoc.flow + 2, **how)
        assoc.send(GIVEUP, flow=assoc.flow + 2, **fields)
        assert moved["ClosedGaveUp"] == 2
        assert moved["ClosedComplete"] == 1
        assert moved.drops() == {"DropFlowClosed": 2 + 3 + 1}
    for received, reason, data in (
        (0, ltp.GAVE_UP, bytes(3000)),
        (1024, ltp.GAVE_UP, bytes(1024) + b"x" * 1024 + bytes(952)),
        (3000, ltp.COMPLETE, b"y" * 3000),
    ):
        got = sock.receive(4000)
        assert (got.rcvinfo.received, got.rcvinfo.reason) == (received, reason)
        assert bytes(got.data) == data
    for flow in range(3, 3 + ltp.MAX_FLOWS):
        assoc.send(GIVEUP, flow=assoc.flow + flow, **fields)
        assoc.send(CLOSE_ACK, flow=assoc.flow + flow, part=0)
        far.flush()
    with lab.Counting(far.host) as moved:
        assoc.send(GIVEUP, flow=assoc.flow + 3 + ltp.MAX_FLOWS, **fields)
        assert moved.drops() == {"DropFlowLimit": 1}
    for _ in range(ltp.MAX_FLOWS):
        assert sock.receive(4000).rcvinfo.reason == ltp.GAVE_UP
    assoc.alive()


def test_close_acks_of_nothing(net: lab.Net) -> None:
    """CLOSE_ACK for parts that were not sent, and twice for one that was."""
    far = Wire(net)
    sock, assoc = far.accepted()
    fields = {"flags": wire.TOLERANT, "len": 3000, "seg_size": 1024}
    assoc.send(GIVEUP, flow=assoc.flow, **fields)
    assert assoc.receive(CLOSE).parts == 1
    for part in (1, 2, 1000, U32):
        with lab.Counting(far.host) as moved:
            assoc.send(CLOSE_ACK, flow=assoc.flow, part=part)
            assert moved.drops() == {"DropAckInvalid": 1}
    with lab.Counting(far.host) as moved:
        for _ in range(2):
            assoc.send(CLOSE_ACK, flow=assoc.flow, part=0)
        assert moved.drops() == {}
    assert sock.recv(4000) == bytes(3000)
    assert far.host.family.flows() == []
