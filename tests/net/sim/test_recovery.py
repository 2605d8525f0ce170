# SPDX-License-Identifier: GPL-2.0
"""How fast loss is repaired, what reordering costs, and when a peer is dead: in virtual time."""
import errno
import time

import pytest

from tests.net import calls, lab, ltp, wire
from tests.net.data import blob, buffer, check_message
from tests.net.lab import MIB
from tests.net.peer import Assoc, Wire
from tests.net.sim.clock import Watch, close_to

NAMES = ["bdp", "reno"]


@pytest.fixture(name="far")
def fixture_far(net: lab.Net) -> Wire:
    return Wire(net)


def measured(far: Wire, rtt: float) -> tuple[ltp.Socket, Assoc]:
    """An association whose host has seen the same RTT many times."""
    far.host.netem(f"delay {round(rtt * 1e6)}us")
    sock, assoc = far.accepted()
    for _ in range(60):
        sock.send(b"x")
        far.send(assoc.ack(assoc.receive(wire.DATA), 1, flags=wire.WHOLE))
    info = sock.info()
    assert close_to(info.srtt_us / 1e6, rtt, rtt / 50) and info.rttvar_us < info.srtt_us / 50
    return sock, assoc


# ---- the tail


@pytest.mark.parametrize("rtt", [0.002, 0.01, 0.1])
def test_tail_loss(far: Wire, rtt: float) -> None:
    """The last three segments are lost: two round trips after they were sent they are there."""
    sock, assoc = measured(far, rtt)
    sock.send(bytes(10 * 1424))
    for seg in range(10):
        packet = assoc.receive(wire.DATA)
        if seg < 7:
            far.send(assoc.ack(packet, seg + 1))
    watch = Watch()  # the last ones would have been here now: one RTT after they were sent
    probe = assoc.receive(wire.DATA)
    assert probe.flags & wire.ACK_NOW and probe.seg == 9
    # Its timer ran from the last transmission; on the way it was as long as that.
    assert close_to(watch(), rtt + 0.0002, rtt / 10)
    far.send(assoc.ack(probe, 7, first=0, words=1).with_tail(wire.bitmap(*range(7), 9)))
    again = [assoc.receive(wire.DATA) for _ in range(2)]
    assert [packet.seg for packet in again] == [7, 8]
    assert watch() < 2.2 * rtt + 0.0004
    counters = far.host.counters()
    assert (counters["TailProbes"], counters["LossVerdicts"]) == (1, 2)


def test_a_lone_segment(far: Wire) -> None:
    """A message of one segment that is lost: asked for after a round trip, not after 200 ms."""
    sock, assoc = measured(far, 0.01)
    sock.send(b"hello")
    assoc.receive(wire.DATA)
    watch = Watch()
    assert assoc.receive(wire.DATA).flags & wire.ACK_NOW
    assert close_to(watch(), 0.0102, 0.0005)


def test_an_ack_may_be_held_back(far: Wire) -> None:
    """While there is more to come of a message, a millisecond more is allowed for."""
    sock, assoc = measured(far, 0.01)
    sent = far.net.background(sock.send, bytes(1 << 20))
    first = [assoc.receive(wire.DATA) for _ in range(10)]
    watch = Watch()
    while not (probe := assoc.receive(wire.DATA)).flags & wire.ACK_NOW:
        first.append(probe)
        watch = Watch()
    assert not sent.done() or first[-1].seg < 700
    assert close_to(watch(), 0.0112, 0.0005)
    assert probe.seg == first[-1].seg


def test_a_path_that_became_longer(far: Wire) -> None:
    """The first probes come too early; the answers say how much, and the next ones do not."""
    sock, assoc = measured(far, 0.002)
    far.host.netem("delay 50ms")
    for i in range(20):
        probes = sock.info().probes
        sock.send(b"x")
        data = assoc.receive(wire.DATA)
        far.send(assoc.ack(data, 1, flags=wire.WHOLE))
        for packet, _ in far.pending():
            assert packet.flags & wire.ACK_NOW
        probes = sock.info().probes - probes
        assert (probes > 0) == (i == 0)
        time.sleep(0.2)
        far.flush()
    assert sock.info().srtt_us > 40000


def test_two_ask(far: Wire) -> None:
    """A probe in vain is followed by two packets at a time: the first in flight and the last."""
    sock, assoc = measured(far, 0.01)
    sock.send(bytes(5 * 1424))
    for seg in range(5):
        assert assoc.receive(wire.DATA).seg == seg
    assert [assoc.receive(wire.DATA).seg for _ in range(5)] == [4, 0, 4, 1, 4]
    info = sock.info()
    assert (info.probes, info.backoff, info.retransmitted) == (3, 3, 5)


def test_nothing_but_loss(net: lab.Net) -> None:
    """Half of all round trips fail: what has come to a halt goes on within a time that is seen."""
    pair = net.pair()
    for seed, host in enumerate([pair.tx_host, pair.rx_host]):
        host.netem("loss 30%", seed=3 + seed)
    pair.tx.set_timeouts(0)
    pair.rx.set_timeouts(0)
    pair.rx.want_control()
    for seed in range(20):
        data = blob(MIB, seed)
        watch = Watch()
        sent = net.background(pair.tx.send, data)
        check_message(pair.rx.receive_into(buffer(MIB)), data)
        assert sent.result() == MIB
        assert watch() < 3


def test_backoff(far: Wire) -> None:
    """From the fourth on each probe waits twice as long, eight times; an ACK ends that."""
    sock, assoc = measured(far, 0.01)
    sock.send(b"hello")
    first = assoc.receive(wire.DATA)
    gaps = []
    for _ in range(13):
        watch = Watch()
        probe = assoc.receive(wire.DATA, 70)
        gaps.append(watch())
    for i, gap in enumerate(gaps):
        assert close_to(gap, 0.0102 * 2 ** min(max(i - 3, 0), 8), 0.02 * gap)
    assert sock.info().backoff == 13
    far.send(assoc.ack(probe, 1, flags=wire.WHOLE))
    assert sock.info().backoff == 0
    sock.send(b"hello")
    again = assoc.receive(wire.DATA)
    watch = Watch()
    assert assoc.receive(wire.DATA).pn > again.pn > first.pn
    assert watch() < 0.1


# ---- verdicts that were wrong


def lose_first(far: Wire) -> tuple[ltp.Socket, Assoc, list[wire.Packet], wire.Packet]:
    """The first of ten segments is found lost: all as they were sent, and the one sent again."""
    sock, assoc = measured(far, 0.01)
    sock.send(bytes(10 * 1424))
    sent = [assoc.receive(wire.DATA) for _ in range(10)]
    for packet in sent[1:9]:
        far.send(
            assoc.ack(packet, 0, words=1).with_tail(wire.bitmap(*range(1, packet.seg + 1)))
        )
    again = assoc.receive(wire.DATA)
    info = sock.info()
    assert (again.seg, info.probes, info.lost, info.spurious) == (0, 0, 1, 0)
    return sock, assoc, sent, again


def test_not_lost_because_its_packet_is_named(far: Wire) -> None:
    """The ACK answers the very packet that had been found lost."""
    sock, assoc, sent, _ = lose_first(far)
    far.send(assoc.ack(sent[0], 9))
    assert sock.info().spurious == 1


def test_not_lost_because_it_is_too_early(far: Wire) -> None:
    """Acknowledged sooner than what was sent again can have been."""
    sock, assoc = measured(far, 0.01)
    sock.send(bytes(10 * 1424))
    sent = [assoc.receive(wire.DATA) for _ in range(10)]
    for packet in sent[1:9]:
        bits = wire.bitmap(*range(1, packet.seg + 1))
        far.send(assoc.ack(packet, 0, words=1).with_tail(bits))
    assert (sock.info().lost, sock.info().retransmitted) == (1, 1)
    far.send(assoc.ack(sent[9], 10, flags=wire.WHOLE))
    assert sock.info().spurious == 1


def test_not_lost_because_of_a_duplicate(far: Wire) -> None:
    """What was sent again came once too often."""
    sock, assoc, sent, again = lose_first(far)
    time.sleep(0.002)
    far.send(assoc.ack(sent[9], 10, flags=wire.WHOLE))
    assert sock.info().spurious == 0
    far.send(assoc.ack(again, 10, flags=wire.WHOLE | wire.DUP))
    assert sock.info().spurious == 1
    assert far.host.counters()["Spurious"] == 1
    # That tells nothing more, nor do packets that no verdict was about.
    for packet in (again, *sent):
        far.send(assoc.ack(packet, 10, flags=wire.WHOLE | wire.DUP))
    assert sock.info().spurious == 1


def test_lost_indeed(far: Wire) -> None:
    """The ACK names what was sent again: the network may double that and others as it likes."""
    sock, assoc, sent, again = lose_first(far)
    far.send(assoc.ack(again, 9))
    for packet in (again, sent[1], sent[2]):
        far.send(assoc.ack(packet, 9, flags=wire.DUP))
    assert sock.info().spurious == 0
    # But what was found lost came, after all.
    far.send(assoc.ack(sent[0], 9, flags=wire.DUP))
    assert sock.info().spurious == 1


def test_a_probe_is_no_verdict(far: Wire) -> None:
    """The answer to a packet that was only late, after a probe: nothing had been found lost."""
    sock, assoc = measured(far, 0.01)
    sock.send(b"hello")
    data = assoc.receive(wire.DATA)
    assert assoc.receive(wire.DATA).flags & wire.ACK_NOW
    far.send(assoc.ack(data, 1, flags=wire.WHOLE))
    assert (sock.info().lost, sock.info().spurious, sock.info().probes) == (0, 0, 1)


def test_reno_takes_its_reduction_back(far: Wire) -> None:
    far.host.family.set_config(cc="reno")
    sock, assoc, sent, _ = lose_first(far)
    halved = sock.info().cwnd
    far.send(assoc.ack(sent[0], 9))
    assert sock.info().cwnd >= 2 * halved


# ---- reordering


def carry(net: lab.Net, tx: ltp.Socket, rx: ltp.Socket, size: int) -> float:
    data = blob(size)
    sent = net.background(tx.send, data)
    watch = Watch()
    got = rx.receive_into(buffer(size))
    took = watch()
    assert sent.result() == size
    check_message(got, data)
    return took


def through_a_switch(net: lab.Net, name: str, forth: str, size: int) -> tuple[float, ltp.Info]:
    """
    sender --- 100 Mbit/s --- switch --- `forth` --- receiver, 10 ms back

    The second message: how long it took, and what was counted during it.
    """
    rx_host, tx_host = net.star(2)
    switch = net.hosts[-1]
    tx_host.family.set_config(cc=name)
    tx_host.netem("rate 100mbit")
    switch.netem(forth, dev="p1")
    rx_host.netem("delay 10ms")
    pair = lab.Pair(rx_host, tx_host)
    for sock in pair.tx, pair.rx:
        sock.set_timeouts(0)
    pair.rx.want_control()
    carry(net, pair.tx, pair.rx, size)
    before = pair.tx.info()
    took = carry(net, pair.tx, pair.rx, size)
    after = pair.tx.info()
    pair.tx.close()
    pair.rx.close()
    pair.listener.close()
    changes = [new - old for new, old in zip(after, before)]
    return took, ltp.Info(*changes)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "jitter", ["delay 10ms 1ms", "delay 10ms 5ms", "delay 10ms 9ms", "delay 10ms reorder 20%"]
)
def test_reordering(net: lab.Net, name: str, jitter: str) -> None:
    """Packets that overtake each other cost little, and few are sent twice."""
    size = 16 * MIB
    straight, _ = through_a_switch(net, name, "delay 10ms", size)
    took, moved = through_a_switch(net, name, jitter, size)
    share = straight / took
    print(f"{name} {jitter}: {share:.3f}, {moved.retransmitted} again of {moved.segments_out}, "
          f"{moved.spurious} spurious")
    assert share >= 0.8
    assert moved.retransmitted <= moved.segments_out // 50


# ---- death


def until_dead(sock: ltp.Socket, far: Wire) -> float:
    """Seconds from the first probe, or PING, until the program is told."""
    sock.set_timeouts(0)
    error = far.net.background(calls.error_of, sock.recv, 10)
    while not (packet := far.receive(0, 300)).flags & wire.ACK_NOW and packet.kind != wire.PING:
        pass
    watch = Watch()
    assert error.result() == errno.ETIMEDOUT
    return watch()


@pytest.mark.parametrize("own, dead", [(0, 2000), (500, 2000), (5000, 2000), (130000, 60000)])
@pytest.mark.parametrize("sends", [True, False])
def test_user_timeout(far: Wire, own: int, dead: int, sends: bool) -> None:
    """The socket's own time, if it has one; from when an answer was first waited for."""
    far.host.family.set_config(dead_ms=dead)
    sock, _ = far.accepted()
    sock.set(ltp.USER_TIMEOUT, own)
    if sends:
        sock.send(b"hello")
    assert close_to(until_dead(sock, far), (own or dead) / 1000, 0.002)
    assert far.host.counters()["AssocTimeout"] == 1
    assert sock.info().state == ltp.CLOSED


def test_user_timeout_while_waiting(net: lab.Net) -> None:
    """Made shorter, or longer, when an answer is waited for already."""
    for first, second, expected in ((60000, 3000, 3), (3000, 8000, 8), (60000, 500, 1)):
        one = Wire(net)
        sock, assoc = one.accepted()
        sock.set(ltp.USER_TIMEOUT, first)
        sock.set_timeouts(0)
        sock.send(b"hello")
        assoc.receive(wire.DATA)
        assoc.receive(wire.DATA)
        watch = Watch()
        time.sleep(1)
        sock.set(ltp.USER_TIMEOUT, second)
        assert calls.error_of(sock.recv, 10) == errno.ETIMEDOUT
        assert close_to(watch(), expected, 0.01)


def test_user_timeout_of_connect(far: Wire) -> None:
    sock = far.host.socket()
    sock.set_timeouts(0)
    sock.set(ltp.USER_TIMEOUT, 1100)
    watch = Watch()
    assert calls.error_of(sock.connect, ("10.1.0.2", 5000)) == errno.ETIMEDOUT
    assert close_to(watch(), 1.1, 0.002)


def test_user_timeout_is_inherited(far: Wire) -> None:
    listener = far.host.listen()
    listener.set(ltp.USER_TIMEOUT, 700)
    far.connect()
    sock, _ = listener.accept()
    assert sock.get(ltp.USER_TIMEOUT) == 700
    sock.send(b"hello")
    assert close_to(until_dead(sock, far), 0.7, 0.002)
