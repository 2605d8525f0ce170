# SPDX-License-Identifier: GPL-2.0
"""Packet numbers and flow ids that pass 2^32 while megabytes move, and some of them get lost.

The peer chooses its own numbers. The host chooses its own at random: it is asked again and again,
which costs it nothing, until they are near the end.
"""
import random
from collections.abc import Callable

import pytest

from tests.net import lab, ltp, wire
from tests.net.data import blob, same
from tests.net.peer import Assoc, Wire
from tests.net.wire import Packet

U32 = ltp.U32_MAX
NEAR = 1 << 16  # to the end; as many questions are asked as packets or flows are sent then


class Receiver:
    """The peer as a receiver: it loses some of what comes, and acknowledges the rest."""

    def __init__(self, assoc: Assoc, loss: float) -> None:
        self.assoc = assoc
        self.loss = loss
        self.rng = random.Random(1)
        self.flows: dict[int, bytearray] = {}
        self.got: dict[int, set[int]] = {}
        self.base: dict[int, int] = {}
        self.numbers: list[int] = []
        self.next = assoc.host_flow  # the first flow that is not whole

    def take(self, packet: Packet) -> None:
        self.numbers.append(packet.pn)
        if self.rng.random() < self.loss:
            return
        data = self.flows.setdefault(packet.flow, bytearray(packet.len))
        got = self.got.setdefault(packet.flow, set())
        at = packet.seg * packet.seg_size
        data[at:at + len(packet.tail)] = packet.tail
        got.add(packet.seg)
        segs = (packet.len - 1) // packet.seg_size + 1
        base = self.base.get(packet.flow, 0)
        while base in got:
            base += 1
        self.base[packet.flow] = base
        first = max(packet.seg // 32 - 31, 0) * 32
        words = packet.seg // 32 - first // 32 + 1
        bits = wire.bitmap(*(i for i in range(32 * words) if first + i in got), words=words)
        while self.next in self.flows and self.whole(self.next, packet.seg_size):
            self.next = (self.next + 1) & U32
        fields = {"rwnd": 1 << 20, "rwnd_later": 1 << 19, "flow_limit": (self.next + 1024) & U32}
        flags = wire.WHOLE if len(got) == segs else 0
        ack = self.assoc.ack(packet, base, first=first, words=words, flags=flags, **fields)
        if self.rng.random() >= self.loss:
            self.assoc.wire.send(ack.with_tail(bits))

    def whole(self, flow: int, seg_size: int) -> bool:
        return len(self.got[flow]) == (len(self.flows[flow]) - 1) // seg_size + 1

    def until(self, done: Callable[[], bool], what: str) -> None:
        def step() -> bool:
            for packet, _ in self.assoc.wire.pending():
                if packet.kind == wire.DATA:
                    self.take(packet)
            return done()

        lab.until(step, what, 200)


def near_the_end(far: Wire, name: str) -> Assoc:
    """An association of which the host's first number is less than NEAR away from 2^32."""
    source, asked = 1024, 0
    while True:
        for _ in range(200):
            source = source + 1 if source < 65000 else 1025
            far.send(far.init(source))
        for ack, _ in far.pending():
            if ack.kind == wire.INIT_ACK and U32 - ack.fields[name] < NEAR:
                return far.connect_with(ack)
        asked += 200
        assert asked < 40 * NEAR, "the host's numbers are not random"


@pytest.mark.long
@pytest.mark.seconds(400)
@pytest.mark.parametrize("loss", [0, 0.05])
def test_packet_numbers_of_the_host(net: lab.Net, loss: float) -> None:
    """A message in small segments, until its packets are past 2^32 and some way on."""
    far = Wire(net)
    listener = far.host.listen()
    listener.set(ltp.SEGSIZE, 256)
    assoc = near_the_end(far, "body_pn")
    sock, _ = listener.accept()
    net.sockets.append(sock)
    sock.set_timeouts(300)
    receiver = Receiver(assoc, loss)
    size = 256 * 20000
    data = blob(size)
    flow = assoc.host_flow
    passed = False
    while not passed:
        sent = net.background(sock.send, data)
        receiver.until(lambda: receiver.next == (flow + 1) & U32, "the message is whole")
        same(receiver.flows.pop(flow), data)
        assert sent.result() == size
        numbers = receiver.numbers
        passed = any(n < 1 << 20 for n in numbers) and numbers[-1] < 1 << 31
        flow = (flow + 1) & U32
    # Each number once, one by one, and round.
    start = receiver.numbers[0]
    assert [(n - start) & U32 for n in receiver.numbers] == sorted(
        {(n - start) & U32 for n in receiver.numbers}
    )
    lab.until(lambda: sock.info().flows_out == 0, "the host knows")
    info = sock.info()
    assert info.bytes_acked % size == 0
    if not loss:
        assert info.lost == info.spurious


@pytest.mark.long
@pytest.mark.seconds(400)
def test_flows_of_the_host(net: lab.Net) -> None:
    """Messages of a byte until the ids are past 2^32, then large ones."""
    far = Wire(net)
    listener = far.host.listen()
    assoc = near_the_end(far, "flow")
    sock, _ = listener.accept()
    net.sockets.append(sock)
    sock.set_timeouts(300)
    receiver = Receiver(assoc, 0.01)
    left = (U32 - assoc.host_flow) + 100

    def send() -> None:
        for i in range(left):
            sock.send(bytes([i % 251]))
        for i in range(20):
            sock.send(blob(100000)[i:])

    sent = net.background(send)
    last = (assoc.host_flow + left + 20) & U32
    receiver.until(lambda: receiver.next == last, "all flows are whole")
    sent.result()
    for i in range(left):
        assert receiver.flows[(assoc.host_flow + i) & U32] == bytes([i % 251])
    for i in range(20):
        same(receiver.flows[(assoc.host_flow + left + i) & U32], blob(100000)[i:])
    lab.until(lambda: sock.info().flows_out == 0, "the host knows")


@pytest.mark.parametrize("loss", [0, 0.1])
def test_numbers_of_the_peer(net: lab.Net, loss: float) -> None:
    """Two megabytes from a peer whose packets and flows both pass the end, in any order."""
    far = Wire(net)
    sock, assoc = far.accepted(flow=U32 - 19, body_pn=U32 - 1000)
    sock.want_control()
    rng = random.Random(2)
    count, size = 40, 50000
    segs = (size - 1) // 1024 + 1
    first = assoc.flow
    for at in range(0, count, 4):
        todo = [(flow, seg) for flow in range(at, at + 4) for seg in range(segs)]
        rng.shuffle(todo)
        later = [one for one in todo if rng.random() < loss]
        again = [one for one in todo if rng.random() < loss]
        for flow, seg in [*(one for one in todo if one not in later), *again, *later]:
            message = blob(size + count)[flow:flow + size]
            far.send(assoc.data(bytes(message), seg, flow=(first + flow) & U32))
        for flow in range(at, at + 4):
            got = sock.receive(size)
            same(got.data, blob(size + count)[flow:flow + size])
            assert got.rcvinfo.flow == (first + flow) & U32
            assert got.rcvinfo.reason == ltp.COMPLETE
        far.flush()
    assert assoc.pn < 1 << 16 and sock.info().flows_in == 0
    assert sock.info().bytes_received == count * size
    # Flows of before the end are over, those of behind it are not yet.
    for flow, reason in ((first, "DropFlowClosed"), (first + count + 1024, "DropFlowLimit")):
        with lab.Counting(far.host) as moved:
            assoc.send_data(b"x", [0], flow=flow & U32)
            assert moved.drops() == {reason: 1}
    assoc.send(wire.FIN, flow=(first + count) & U32)
    assert sock.recv(10) == b""


def test_early_close_across_the_end(net: lab.Net) -> None:
    """Give-ups and CLOSE of flows on both sides of the end."""
    far = Wire(net)
    sock, assoc = far.accepted(flow=U32 - 2, body_pn=U32 - 5)
    sock.want_control()
    for i in range(8):
        flow = (assoc.flow + i) & U32
        message = blob(3000)
        assoc.send_data(bytes(message), [i % 3], flow=flow, flags=wire.TOLERANT)
        far.flush()
        assoc.send(wire.GIVEUP, flags=wire.TOLERANT, flow=flow, len=3000, seg_size=1024)
        close = assoc.receive(wire.CLOSE)
        assert (close.flow, close.missing, close.reason) == (flow, 2, ltp.GAVE_UP)
        assoc.send(wire.CLOSE_ACK, flow=flow, part=0)
        got = sock.receive(3000)
        assert (got.rcvinfo.flow, got.rcvmap.count()) == (flow, 1)
    assert far.host.family.flows() == []
    assoc.alive()
