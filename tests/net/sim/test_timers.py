# SPDX-License-Identifier: GPL-2.0
"""How long things are waited for, and how often they are repeated."""
import errno
import socket
import struct
import time

import pytest

from tests.net import calls, lab, ltp, wire
from tests.net.peer import Wire
from tests.net.sim.clock import Watch, about, close_to


@pytest.fixture(name="far")
def fixture_far(net: lab.Net) -> Wire:
    return Wire(net)


def times(far: Wire, kind: int, count: int, seconds: float = 1000) -> list[float]:
    """When the next packets of a type come, counted from the first of them."""
    far.receive(kind, seconds)
    watch = Watch()
    result = [0.0]
    while len(result) < count:
        far.receive(kind, seconds)
        result.append(round(watch(), 4))
    return result


def forever(sock: ltp.Socket) -> ltp.Socket:
    sock.set_timeouts(0)
    return sock


# ---- the handshake


def test_init_is_repeated(far: Wire) -> None:
    """After 250 ms, each time twice as long, never more than 4 s; ETIMEDOUT after a minute."""
    sock = forever(far.host.socket())
    watch = Watch()
    connected = far.net.background(sock.connect_ex, ("10.1.0.2", 5000))
    assert times(far, wire.INIT, 8) == [0, 0.25, 0.75, 1.75, 3.75, 7.75, 11.75, 15.75]
    assert connected.result() == errno.ETIMEDOUT
    assert 60 <= watch() <= 64
    assert far.host.counters()["AssocTimeout"] == 1


def test_cookie_echo_is_repeated(far: Wire) -> None:
    """And when the cookie is half as old as it may be, everything starts anew."""
    far.host.netem("delay 10ms")
    sock = far.host.socket()
    sock.setblocking(False)
    sock.connect_ex(("10.1.0.2", 5000))
    init = far.receive(wire.INIT)
    watch = Watch()
    ports = {"source": init.dest, "dest": init.source, "tag": init.body_tag}
    far.send(wire.Packet(wire.INIT_ACK, ports | far.params()))
    gaps = times(far, wire.COOKIE_ECHO, 4)
    steps = [later - earlier for earlier, later in zip(gaps, gaps[1:])]
    assert steps[0] > 0.01
    assert close_to(steps[1], 2 * steps[0]) and close_to(steps[2], 4 * steps[0])
    far.receive(wire.INIT)
    assert 5 <= watch() <= 10
    assert sock.info().state == ltp.INIT_SENT
    assoc = far.accept()
    assoc.alive()


@pytest.mark.parametrize("age, good", [(0, True), (5, True), (9.99, True), (10.01, False)])
def test_age_of_a_cookie(far: Wire, age: float, good: bool) -> None:
    """It is good for ten seconds."""
    far.host.listen()
    echo = far.echo(far.get_cookie())
    time.sleep(age)
    with lab.Counting(far.host) as moved:
        far.send(echo)
        answers = [packet.kind for packet, _ in far.pending()]
        assert answers == ([wire.COOKIE_ACK] if good else [])
        assert moved.drops() == ({} if good else {"DropCookieOld": 1})


def test_answered_late(far: Wire) -> None:
    """An INIT_ACK to the third INIT is as good; the round-trip time is that of the COOKIE_ECHO."""
    far.host.netem("delay 10ms")
    sock = far.host.socket()
    sock.setblocking(False)
    sock.connect_ex(("10.1.0.2", 5000))
    for _ in range(2):
        far.receive(wire.INIT)
    assoc = far.accept()
    assoc.alive()
    assert sock.info().state == ltp.ESTABLISHED
    assert close_to(sock.info().rtprop_us, 10000, 1)


# ---- ACKs


def test_ack_delay(far: Wire) -> None:
    """Every fourth packet is answered at once, any other within a millisecond."""
    _, assoc = far.accepted()
    message = bytes(100 * 1024)
    watch = Watch()
    assoc.send_data(message, [0])
    assert far.pending() == []
    ack = assoc.receive(wire.ACK)
    assert close_to(watch(), 0.001, 0.00001)
    assert (ack.base, ack.delay_us) == (1, 1000)
    assoc.send_data(message, [1, 2, 3])
    assert far.pending() == []
    assoc.send_data(message, [4])
    ((ack, _),) = far.pending()
    assert (ack.base, ack.delay_us) == (5, 0)


@pytest.mark.parametrize("flags", [wire.LAST, wire.ACK_NOW])
def test_ack_at_once(far: Wire, flags: int) -> None:
    """The last packet of a flow and a probe are answered at once; a duplicate too."""
    _, assoc = far.accepted()
    message = bytes(100 * 1024)
    assoc.send_data(message, [0], flags=flags)
    ((ack, _),) = far.pending()
    assert ack.delay_us == 0 and ack.flags == 0
    assoc.send_data(message, [0])
    ((ack, _),) = far.pending()
    assert ack.flags == wire.DUP


def test_acked_packet_number(far: Wire) -> None:
    _, assoc = far.accepted()
    message = bytes(100 * 1024)
    sent = [assoc.data(message, seg) for seg in range(4)]
    for packet in sent:
        far.send(packet)
    assert assoc.receive(wire.ACK).acked_pn == sent[3].pn


# ---- sending again


def test_tail_probes(far: Wire) -> None:
    """Without an answer: a probe, and from the fourth on each after twice the time; after a minute
    the peer is dead."""
    sock, assoc = far.accepted()
    forever(sock)
    watch = Watch()
    sock.send(b"hello")
    first = assoc.receive(wire.DATA)
    gaps = []
    last = watch()
    error = far.net.background(calls.error_of, sock.recv, 10)
    probes = 0
    while not error.done() and watch() < 200:
        try:
            probe = far.receive(wire.DATA, 70)
        except AssertionError:
            break
        assert probe.tail == first.tail and probe.flags & wire.ACK_NOW
        gaps.append(watch() - last)
        last = watch()
        probes += 1
    assert error.result() == errno.ETIMEDOUT
    assert 60 <= watch() <= 200
    assert all(close_to(gap, gaps[0], gaps[0] / 10) for gap in gaps[:4])
    for shorter, longer in zip(gaps[3:], gaps[4:9]):
        assert longer >= shorter * 1.9
    assert far.host.counters()["TailProbes"] == probes
    assert calls.error_of(sock.send, b"x") == errno.EPIPE


def test_a_late_answer_revives(far: Wire) -> None:
    """A peer that answers after 50 s is not dead."""
    sock, assoc = far.accepted()
    sock.send(b"hello")
    first = assoc.receive(wire.DATA)
    time.sleep(50)
    far.send(assoc.ack(first, 1, flags=wire.WHOLE))
    time.sleep(15)
    assert sock.info().state == ltp.ESTABLISHED
    assert sock.info().flows_out == 0


def test_lost_segment_is_found_by_later_ones(far: Wire) -> None:
    """By the order of transmissions: long before any time-out."""
    sock, assoc = far.accepted()
    sock.send(bytes(10 * 1424))
    sent = [assoc.receive(wire.DATA) for _ in range(10)]
    watch = Watch()
    for packet in sent[1:]:
        bits = wire.bitmap(*range(1, packet.seg + 1))
        far.send(assoc.ack(packet, 0, words=1).with_tail(bits))
    again = assoc.receive(wire.DATA)
    assert again.seg == 0 and again.pn > sent[-1].pn
    assert watch() < 0.02
    counters = far.host.counters()
    assert counters["LossVerdicts"] == counters["Retransmitted"] == 1


def test_giveup(far: Wire) -> None:
    """giveup_us after sendmsg(): GIVEUP, repeated until a CLOSE comes."""
    sock, assoc = far.accepted()
    watch = Watch()
    sock.send_message(bytes(5000), tag=3, flags=ltp.TOLERANT, giveup_us=2500000)
    giveup = assoc.receive(wire.GIVEUP)
    assert close_to(watch(), 2.5, 0.0001)
    assert (giveup.flow, giveup.len, giveup.body_tag) == (assoc.host_flow, 5000, 3)
    assert assoc.receive(wire.GIVEUP).pn > giveup.pn
    close = assoc.packet(
        wire.CLOSE,
        flow=giveup.flow,
        missing=4,
        parts=1,
        reason=ltp.GAVE_UP,
        ranges=1,
    ).with_tail(wire.ranges((0, 4)))
    far.send(close)
    assoc.receive(wire.CLOSE_ACK)
    far.flush()
    time.sleep(10)
    assert far.pending() == []
    assert sock.info().flows_out == 0


def test_giveup_of_what_had_arrived(far: Wire) -> None:
    """All had arrived, its ACKs were lost: the answer to GIVEUP says so, and so does the report."""
    sock, assoc = far.accepted()
    sock.set(ltp.REPORTS, 1)
    sock.send_message(b"hello", flags=ltp.TOLERANT, giveup_us=1000000)
    data = assoc.receive(wire.DATA)
    assoc.receive(wire.GIVEUP)
    far.send(assoc.ack(data, 1, flags=wire.WHOLE | wire.DUP))
    assert sock.info().flows_out == 0
    _, cmsgs, _, _ = sock.recvmsg(100, 100, 0x2000)
    assert struct.unpack_from("=QIIIIIH", cmsgs[0][2])[6] == ltp.COMPLETE


def test_giveup_that_is_not_needed(far: Wire) -> None:
    sock, assoc = far.accepted()
    sock.send_message(b"hello", flags=ltp.TOLERANT, giveup_us=1000000)
    far.send(assoc.ack(assoc.receive(wire.DATA), 1, flags=wire.WHOLE))
    time.sleep(10)
    assert [packet.kind for packet, _ in far.pending()] == []


def test_close_is_repeated(far: Wire) -> None:
    """A flow that ended early: CLOSE until it is answered, less and less often."""
    sock, assoc = far.accepted()
    sock.set_thresholds(1000000, 0, 1000)
    assoc.send_data(bytes(5000), [1], flags=wire.TOLERANT)
    gaps = times(far, wire.CLOSE, 6)
    steps = [later - earlier for earlier, later in zip(gaps, gaps[1:])]
    assert all(longer > 1.5 * shorter for shorter, longer in zip(steps, steps[1:]))
    sock.recv(5000)
    assert len(far.host.family.flows()) == 1
    assoc.send(wire.CLOSE_ACK, flow=assoc.flow)
    assert far.host.family.flows() == []
    far.flush()
    time.sleep(30)
    assert [packet.kind for packet, _ in far.pending()] in ([], [wire.PING])


# ---- liveness


def test_idle_peer_is_asked(far: Wire) -> None:
    """After a third of the dead time; an answer is enough for another third."""
    sock, assoc = far.accepted()
    watch = Watch()
    for i in range(1, 4):
        ping = assoc.receive(wire.PING, 100)
        assert close_to(watch(), 20 * i, 0.1)
        assoc.send(wire.PONG, token=ping.token, **assoc.window())
    assert sock.info().state == ltp.ESTABLISHED


def test_idle_peer_that_is_dead(far: Wire) -> None:
    """Nothing is sent, nothing is answered: the reader learns of it all the same."""
    sock, _ = far.accepted()
    forever(sock)
    watch = Watch()
    assert calls.error_of(sock.recv, 10) == errno.ETIMEDOUT
    assert 60 <= watch() <= 130
    assert far.host.counters()["AssocTimeout"] == 1


def test_dead_time_is_of_the_namespace(far: Wire) -> None:
    far.host.ltpctl("set", "dead", "5s")
    sock, _ = far.accepted()
    forever(sock)
    watch = Watch()
    sock.send(b"hello")
    assert calls.error_of(sock.recv, 10) == errno.ETIMEDOUT
    assert 5 <= watch() <= 11


def test_shut_window_is_asked_about(far: Wire) -> None:
    """A window of 0: PING until it opens, and the peer is not taken for dead while it answers."""
    sock, assoc = far.accepted()
    sock.send(bytes(200000))
    watch = Watch()
    asked = base = 0
    while watch() < 200:
        for packet, _ in far.pending():
            if packet.kind == wire.PING:
                assoc.send(wire.PONG, token=packet.token, **assoc.window(0))
                asked += 1
            elif packet.kind == wire.DATA:
                base = max(base, packet.seg + 1)
                far.send(assoc.ack(packet, base, **assoc.window(0)))
        time.sleep(0.01)
    assert 3 < asked < 2000
    assert sock.info().state == ltp.ESTABLISHED
    far.flush()
    assoc.send(wire.PONG, token=0, **assoc.window())
    assert assoc.receive(wire.DATA)


# ---- the program's own limits


def test_receive_and_send_timeouts(far: Wire) -> None:
    sock, _ = far.accepted()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32768)
    sock.set_timeouts(3.5)
    watch = Watch()
    assert calls.error_of(sock.recv, 10) == errno.EAGAIN
    assert about(watch(), 3.5)
    assert sock.send(bytes(1 << 20)) < 1 << 20
    assert about(watch(), 7)
    assert calls.error_of(sock.send, bytes(1000)) in (errno.EAGAIN, errno.EINVAL)


def test_accept_and_connect_timeouts(far: Wire) -> None:
    listener = far.host.listen()
    listener.set_timeouts(2)
    watch = Watch()
    assert calls.error_of(listener.accept) == errno.EAGAIN
    assert about(watch(), 2)
    sock = far.host.socket()
    sock.set_timeouts(2)
    watch = Watch()
    assert sock.connect_ex(("10.1.0.2", 5000)) == errno.EINPROGRESS
    assert about(watch(), 2)


def test_linger(far: Wire) -> None:
    """close() waits so long and no longer."""
    sock, _ = far.accepted()
    sock.send(b"hello")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("=ii", 1, 7))
    watch = Watch()
    sock.close()
    assert about(watch(), 7)


def test_orphan(far: Wire) -> None:
    """A closed socket whose peer says nothing is gone soon after the dead time."""
    sock, _ = far.accepted()
    sock.send(b"hello")
    watch = Watch()
    sock.close()
    assert close_to(watch(), 0)
    lab.until(lambda: far.host.family.assocs() == [], "it is gone", 1000)
    assert 60 <= watch() <= 200


def test_orphan_whose_peer_takes_nothing(far: Wire) -> None:
    """The peer answers, but its window stays shut: ten times the dead time without progress."""
    sock, assoc = far.accepted()
    far.host.family.set_config(dead_ms=2000)
    sock.send(bytes(100000))
    sock.close()
    watch = Watch()
    base = 0
    while far.host.family.assocs() and watch() < 100:
        for packet, _ in far.pending():
            if packet.kind == wire.PING:
                assoc.send(wire.PONG, token=packet.token, **assoc.window(0))
            elif packet.kind == wire.DATA and packet.seg >= base:
                base = packet.seg + 1
                far.send(assoc.ack(packet, base, **assoc.window(0)))
        time.sleep(0.01)
    assert 20 <= watch() <= 40
    assert any(packet.kind == wire.RESET for packet, _ in far.pending())


def test_orphan_whose_peer_never_ends(far: Wire) -> None:
    """The peer has all, and answers, but does not close its side."""
    sock, assoc = far.accepted()
    watch = Watch()
    sock.close()
    assoc.receive(wire.FIN)
    assoc.send(wire.FIN_ACK)
    while far.host.family.assocs() and watch() < 500:
        for packet, _ in far.pending():
            if packet.kind == wire.PING:
                assoc.send(wire.PONG, token=packet.token, **assoc.window())
        time.sleep(0.1)
    assert 60 <= watch() <= 130


def test_close_is_repeated_less_and_less(far: Wire) -> None:
    """To a peer that answers none: each time after twice as long, at last each 10 s."""
    _, assoc = far.accepted()
    fields = {"flags": wire.TOLERANT, "len": 3000, "seg_size": 1024}
    for flow in range(100):
        assoc.send(wire.GIVEUP, flow=assoc.flow + flow, **fields)
    far.answer_for(40)
    far.flush()
    with lab.Counting(far.host) as moved:
        far.answer_for(100)
        assert 1000 <= moved["OutPackets"] <= 1100
