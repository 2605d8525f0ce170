# SPDX-License-Identifier: GPL-2.0
"""Thresholds that nobody set: what they are, and whose.

The peers are made of packets, so that it is known when each segment arrives.
"""
import socket
import struct
from typing import Any

import pytest

from tests.net import lab, ltp, wire
from tests.net.data import blob, check_message
from tests.net.peer import Assoc, Wire
from tests.net.sim.clock import Watch, close_to, now
from tests.net.test_reports import wait_report

SEG = 1024
SEGS = 100
MESSAGE = bytes(blob(SEGS * SEG))
RTT = 0.040
DCN, WAN = 0.030, 0.100
LT = 1.5 * RTT + 0.200


class Worker:
    """One that sends messages of a hundred segments, packet by packet."""

    def __init__(self, far: Wire, sock: ltp.Socket, assoc: Assoc) -> None:
        self.far, self.sock, self.assoc = far, sock, assoc
        sock.set_timeouts(0)
        sock.want_control()
        self.watch = Watch()
        self.tag = 0

    def send(self, segs: range, **how: int) -> None:
        how = {"flags": wire.TOLERANT, "tag": self.tag} | how
        self.assoc.send_data(MESSAGE, list(segs), **how)

    def begin(self, segs: range = range(1), **how: int) -> Watch:
        """The next flow, and the clock that starts with it."""
        self.watch = Watch()
        self.send(segs, **how)
        return self.watch

    def at(self, seconds: float) -> None:
        self.far.answer_for(seconds - self.watch())

    def read(self) -> ltp.Message:
        got = self.sock.receive(len(MESSAGE))
        check_message(got, MESSAGE)
        self.assoc.flow += 1
        return got

    def ends(self, seconds: float, reason: int, arrived: int = SEGS) -> None:
        """It is read at that time, with that reason."""
        got = self.read()
        assert close_to(self.watch(), seconds, 0.0005), f"after {self.watch()} s"
        assert (got.rcvinfo.reason, got.rcvmap.count()) == (reason, arrived)

    def whole(self, seconds: float, **how: int) -> None:
        """A flow that takes so long, and is complete."""
        self.begin(range(50), **how)
        self.at(seconds)
        self.send(range(50, SEGS), **how)
        self.ends(seconds, ltp.COMPLETE)

    def open(self) -> bool:
        flows = self.far.host.family.flows()
        return any(
            (one["flow"], one["reason"]) == (self.assoc.flow, ltp.OPEN)
            and one["peer_port"] == socket.htons(self.assoc.port)
            for one in flows
        )

    def lt(self) -> float:
        return self.sock.info().lt_us / 1e6

    def deadline(self) -> float:
        return self.sock.info().deadline_us / 1e6


def join(far: Wire, listener: ltp.Socket, port: int, rtt: float = RTT) -> Worker:
    """A worker so far away."""
    init_ack = far.get_cookie(port)
    far.answer_for(rtt)
    assoc = far.connect_with(init_ack)
    sock, _ = listener.accept()
    far.net.sockets.append(sock)
    return Worker(far, sock, assoc)


@pytest.fixture(name="far")
def fixture_far(net: lab.Net) -> Wire:
    return Wire(net)


@pytest.fixture(name="listener")
def fixture_listener(far: Wire) -> ltp.Socket:
    return far.host.listen()


@pytest.fixture(name="worker")
def fixture_worker(far: Wire, listener: ltp.Socket) -> Worker:
    return join(far, listener, 7000)


# ---- calibration


def test_the_first_flow_is_whole(worker: Worker) -> None:
    """Nothing was measured: it is waited for, however long it takes, and whatever came."""
    worker.begin(range(99))
    worker.at(500)
    assert worker.open()
    info = worker.sock.info()
    assert (info.calibrating, info.lt_us, info.deadline_us) == (1, 0, 0)
    (flow,) = worker.far.host.family.flows()
    assert flow["calibrating"] and flow["lt_us"] == flow["deadline_us"] == 0
    worker.send(range(99, 100))
    worker.ends(500, ltp.COMPLETE)
    assert worker.sock.info().calibrating == 0


def test_first_epoch(worker: Worker) -> None:
    """1.5 RTprop + size / BtlBw; from then on the fraction, and 30 ms later the deadline."""
    worker.whole(0.2)
    worker.begin(range(95))
    assert close_to(worker.lt(), LT) and close_to(worker.deadline(), LT + DCN)
    (flow,) = worker.far.host.family.flows()
    assert "calibrating" not in flow
    assert close_to(flow["lt_us"] / 1e6, LT) and close_to(flow["deadline_us"] / 1e6, LT + DCN)
    worker.ends(LT, ltp.FRACTION, 95)
    # A faster one counts at once, a slower one never.
    worker.whole(0.1)
    worker.begin(range(80))
    worker.ends(1.5 * RTT + 0.1 + DCN, ltp.DEADLINE, 80)
    # Four flows are a first epoch: now the measure is LT.
    assert worker.sock.info().epochs == 1
    worker.begin(range(95))
    worker.ends(0.1, ltp.FRACTION, 95)


def test_a_reliable_flow_measures_too(worker: Worker) -> None:
    worker.whole(0.2, flags=0)
    worker.begin(range(95))
    worker.ends(LT, ltp.FRACTION, 95)


def test_one_segment_measures_nothing(worker: Worker) -> None:
    for _ in range(3):
        worker.assoc.send_data(b"x" * SEG, [0], flags=wire.TOLERANT)
        assert worker.sock.receive(SEG).rcvinfo.reason == ltp.COMPLETE
        worker.assoc.flow += 1
    assert worker.sock.info().calibrating == 1
    worker.begin(range(99))
    worker.at(100)
    assert worker.open()


def test_a_running_flow_learns_from_an_earlier_one(worker: Worker) -> None:
    """Two at a time: when the first is whole, the second has thresholds."""
    first = worker.begin(range(50))
    worker.at(0.1)
    second = Watch()
    worker.send(range(80), flow=worker.assoc.flow + 1)
    worker.at(0.2)
    worker.send(range(50, SEGS))
    worker.ends(0.2, ltp.COMPLETE)
    assert close_to(first(), 0.2)
    worker.watch = second
    worker.ends(LT + DCN, ltp.DEADLINE, 80)


def test_critical_segments_and_the_deadline(worker: Worker) -> None:
    """An adaptive deadline ends no flow without them either."""
    worker.whole(0.2, critical=2)
    worker.begin(range(1, SEGS), critical=2)
    worker.at(50)
    assert worker.open()
    worker.send(range(1), critical=2)
    worker.ends(50, ltp.COMPLETE)


def test_without_a_round_trip_time(far: Wire, listener: ltp.Socket) -> None:
    """The cookie came late, the path is unknown: it is asked for by PING, and known then."""
    worker = join(far, listener, 7000, 2)
    assert worker.sock.info().rtprop_us == 0
    worker.begin(range(50))
    ping = worker.assoc.receive(wire.PING)
    worker.at(0.2)
    worker.send(range(50, SEGS))
    worker.ends(0.2, ltp.COMPLETE)
    # Measured, but not how far away the worker is.
    worker.begin(range(95))
    worker.far.flush()
    assert worker.lt() == 0
    worker.at(10)
    assert worker.open()
    worker.send(range(95, SEGS))
    worker.ends(10, ltp.COMPLETE)
    # An answer to what was not asked teaches nothing.
    worker.assoc.send(wire.PONG, token=ping.token ^ 2, **worker.assoc.window())
    worker.begin()
    assert worker.lt() == 0
    worker.assoc.send(wire.PONG, token=ping.token, **worker.assoc.window())
    assert worker.lt() > 10


# ---- epochs


def test_epoch_by_number(far: Wire, worker: Worker) -> None:
    """After so many flows the fastest complete one replaces the sum."""
    far.host.family.set_config(epoch=3)
    worker.whole(0.2)
    worker.whole(0.25)
    assert worker.sock.info().epochs == 0
    worker.begin(range(95))
    worker.ends(LT, ltp.FRACTION, 95)
    assert worker.sock.info().epochs == worker.sock.get(ltp.EPOCH) == 1
    worker.begin(range(95))
    worker.ends(0.2, ltp.FRACTION, 95)
    worker.begin(range(80))
    worker.ends(0.2 + DCN, ltp.DEADLINE, 80)
    # Faster ones count when the epoch is over.
    worker.whole(0.15)
    worker.begin(range(95))
    worker.ends(0.15, ltp.FRACTION, 95)


@pytest.mark.parametrize("who", ["association", "listener"])
def test_epoch_by_the_program(listener: ltp.Socket, worker: Worker, who: str) -> None:
    worker.sock.set(ltp.EPOCH_FLOWS, 0)
    for _ in range(70):
        worker.whole(0.2)
    assert worker.sock.info().epochs == 0
    worker.begin(range(95))
    worker.at(0.1)
    # The flow that runs has new thresholds; of a listener's mark it hears when it looks again.
    if who == "association":
        worker.sock.set(ltp.EPOCH, 1)
        worker.ends(0.2, ltp.FRACTION, 95)
    else:
        listener.set(ltp.EPOCH, 1)
        worker.ends(LT, ltp.DEADLINE, 95)
    assert worker.sock.get(ltp.EPOCH) == 1
    worker.begin(range(95))
    worker.ends(0.2, ltp.FRACTION, 95)


def test_scaled_by_size(worker: Worker) -> None:
    worker.whole(0.2)
    worker.sock.set(ltp.EPOCH, 1)
    message = MESSAGE * 2
    watch = Watch()
    worker.assoc.send_data(message, list(range(190)), flags=wire.TOLERANT)
    got = worker.sock.receive(len(message))
    assert got.rcvinfo.reason == ltp.FRACTION
    assert close_to(watch(), 0.4)


def test_an_epoch_without_a_complete_flow(worker: Worker) -> None:
    """The threshold stays if the fraction was there in time, and grows if it was not."""
    worker.sock.set(ltp.EPOCH_FLOWS, 2)
    for _ in range(2):
        worker.whole(0.2)
    for _ in range(4):
        worker.begin(range(95))
        worker.ends(0.2, ltp.FRACTION, 95)
    for lt_ in (0.2, 0.23, 0.26):
        for _ in range(2):
            worker.begin(range(50))
            worker.ends(lt_ + 0.03, ltp.DEADLINE, 50)
    worker.whole(0.25)
    worker.begin(range(95))
    worker.ends(0.29, ltp.FRACTION, 95)
    worker.begin(range(95))
    worker.ends(0.25, ltp.FRACTION, 95)


def test_time_with_a_shut_window_is_not_measured(far: Wire) -> None:
    """Nor does it count: the reader pauses for 100 s in the first flow."""
    far.host.family.set_config(rcvbuf=64 << 10)
    sock, assoc = far.accepted()
    sock.want_control()
    message = bytes(100 * SEG)
    space = bytearray(len(message))

    def flow(segs: int) -> None:
        for seg in range(segs):
            assoc.send_data(message, [seg], flags=wire.TOLERANT)
            far.answer_for(0.002)
            if sock.info().window == 0:
                far.answer_for(100)
                with pytest.raises(BlockingIOError):
                    sock.receive_into(space, None, socket.MSG_DONTWAIT)

    start = now()
    flow(100)
    assert sock.receive_into(space).rcvinfo.reason == ltp.COMPLETE
    assert now() - start > 100
    sock.set(ltp.EPOCH, 1)
    assoc.flow += 1
    assoc.send_data(message, [0], flags=wire.TOLERANT)
    assert 0.15 < sock.info().lt_us / 1e6 < 0.25


# ---- the group


def test_deadline_of_a_group_with_one_slow_worker(far: Wire, listener: ltp.Socket) -> None:
    """All wait as long as the slowest may need; the fraction ends a flow at its own LT."""
    far.host.family.set_config(epoch=0)
    fast, slow = join(far, listener, 7000), join(far, listener, 7001)
    fast.whole(0.2)
    slow.whole(1.0)
    slow_lt = 1.5 * RTT + 1.0
    slow.begin(range(80))
    fast.begin(range(80))
    assert close_to(fast.lt(), LT) and close_to(fast.deadline(), slow_lt + DCN)
    fast.ends(slow_lt + DCN, ltp.DEADLINE, 80)
    slow.ends(slow_lt + DCN, ltp.DEADLINE, 80)
    fast.begin(range(95))
    fast.ends(LT, ltp.FRACTION, 95)
    # It does not come back: its threshold stays as long as it is a member ...
    fast.begin(range(80))
    fast.ends(slow_lt + DCN, ltp.DEADLINE, 80)
    # ... and no longer.
    slow.assoc.send(wire.FIN, flow=slow.assoc.flow)
    slow.assoc.receive(wire.FIN_ACK)
    fast.begin(range(80))
    fast.ends(LT + DCN, ltp.DEADLINE, 80)


@pytest.mark.parametrize("how", ["reset", "close", "epoch", "faster", "off"])
def test_the_slowest_leaves(far: Wire, listener: ltp.Socket, how: str) -> None:
    """Or is no longer slow: the running flow's deadline moves, and it sees that lazily."""
    fast, slow = join(far, listener, 7000), join(far, listener, 7001)
    fast.whole(0.2)
    slow.whole(1.0)
    slow.begin(range(80))
    fast.begin(range(80))
    fast.at(0.5)
    after = 0.0
    if how == "reset":
        slow.assoc.send(wire.RESET, body_tag=slow.assoc.my_tag)
    elif how == "close":
        slow.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("=ii", 1, 0))
        slow.sock.close()
    elif how == "epoch":
        slow.sock.set(ltp.EPOCH, 1)
        after = 1.0
    elif how == "faster":
        slow.sock.set_thresholds(lt_us=700000)
        after = 0.7
    else:
        slow.sock.set_thresholds(lt_us=0)
        after = 1.5 * RTT + 1.0
    assert close_to(fast.deadline(), max(after, LT) + DCN)
    fast.at(0.9)
    fast.send(range(80, 81))  # a packet makes it look
    fast.ends(max(after + DCN, 0.9), ltp.DEADLINE, 81)


def test_associations_of_other_listeners(far: Wire, listener: ltp.Socket) -> None:
    """They are another group, and so is one that connected itself."""
    fast, slow = join(far, listener, 7000), join(far, listener, 7001)
    slow.whole(1.0)
    fast.whole(0.2)
    other = far.host.listen(5001)
    init = far.init(7002, 5001)
    far.send(init)
    assoc = far.connect_with(far.receive(wire.INIT_ACK))
    sock, _ = other.accept()
    far.net.sockets.append(sock)
    stranger = Worker(far, sock, assoc)
    stranger.whole(0.2)
    stranger.begin(range(80))
    assert stranger.deadline() < 0.3 < 1 < fast.deadline()
    out = far.host.socket()
    connected = far.net.background(out.connect, ("10.1.0.2", 6000))
    own = Worker(far, out, far.accept())
    connected.result()
    own.whole(0.2)
    own.begin(range(80))
    assert 0.2 < own.deadline() < 0.3
    assert slow.open() is False


# ---- profiles


@pytest.mark.parametrize("how", ["socket", "listener", "namespace"])
def test_profile(far: Wire, listener: ltp.Socket, how: str) -> None:
    if how == "listener":
        listener.set(ltp.PROFILE, ltp.PROFILE_WAN)
    worker = join(far, listener, 7000)
    if how == "socket":
        worker.sock.set(ltp.PROFILE, ltp.PROFILE_WAN)
    elif how == "namespace":
        far.host.ltpctl("set", "profile", "wan")
    worker.whole(0.2)
    worker.begin(range(80))
    worker.ends(LT + WAN, ltp.DEADLINE, 80)


@pytest.mark.parametrize("how", ["socket", "namespace"])
def test_profile_changes_while_a_flow_runs(far: Wire, worker: Worker, how: str) -> None:
    def change(profile: int) -> None:
        if how == "socket":
            worker.sock.set(ltp.PROFILE, profile)
        else:
            far.host.family.set_config(profile=profile)

    worker.whole(0.2)
    change(ltp.PROFILE_WAN)
    worker.begin(range(80))
    worker.at(LT + 0.05)
    change(ltp.PROFILE_DCN)
    worker.ends(LT + 0.05, ltp.DEADLINE, 80)
    worker.begin(range(80))
    worker.at(LT + 0.01)
    change(ltp.PROFILE_WAN)
    worker.ends(LT + WAN, ltp.DEADLINE, 80)


def test_slack(far: Wire, worker: Worker) -> None:
    worker.whole(0.2)
    far.host.ltpctl("set", "slack", "5ms")
    worker.begin(range(80))
    worker.ends(LT + 0.005, ltp.DEADLINE, 80)
    worker.sock.set_thresholds(slack_us=0)
    worker.begin(range(80))
    worker.ends(LT, ltp.DEADLINE, 80)


# ---- rules


def test_rule_for_a_flow_that_runs(far: Wire, worker: Worker) -> None:
    """It counts at once, when it comes, is replaced and goes."""
    worker.whole(0.2)
    rule: dict[str, Any] = {"peer": "10.1.0.0", "prefix_len": 16, "local_port": 5000}
    worker.begin(range(80))
    worker.at(0.1)
    far.host.family.add_rule(**rule, profile=ltp.PROFILE_WAN)
    worker.at(LT + 0.05)
    assert worker.open()
    far.host.family.set_rule(**rule, slack_us=60000)
    worker.ends(LT + 0.06, ltp.DEADLINE, 80)
    worker.begin(range(80))
    worker.at(LT + 0.05)
    far.host.family.del_rule(**rule)
    worker.ends(LT + 0.05, ltp.DEADLINE, 80)
    worker.begin(range(80))
    worker.at(0.1)
    far.host.ltpctl("rule", "add", "peer", "10.1.0.2", "fraction", "0.7", "lt", "110ms")
    worker.ends(0.11, ltp.FRACTION, 80)


def test_socket_before_rule_before_namespace(far: Wire, listener: ltp.Socket) -> None:
    """Two workers, of whom a rule is for one."""
    near, other = join(far, listener, 7000), join(far, listener, 7001)
    far.host.family.set_config(fraction_ppm=900000, lt_us=300000, deadline_us=400000)
    far.host.family.add_rule(peer_port=7000, lt_us=200000, fraction_ppm=800000)
    near.begin(range(85))
    other.begin(range(85))
    near.ends(0.2, ltp.FRACTION, 85)
    other.ends(0.4, ltp.DEADLINE, 85)
    near.sock.set_thresholds(lt_us=100000)
    near.begin(range(85))
    near.ends(0.1, ltp.FRACTION, 85)
    # The rule's none is one, too.
    far.host.family.set_rule(peer_port=7000, lt_us=0, deadline_us=0)
    near.sock.set_thresholds()
    near.begin(range(99))
    near.at(100)
    assert near.open()
    far.host.family.flush_rules()
    near.ends(100, ltp.DEADLINE, 99)


def test_epoch_of_a_rule(far: Wire, worker: Worker) -> None:
    far.host.family.add_rule(local_port=5000, epoch=2)
    for _ in range(2):
        worker.whole(0.2)
    worker.begin(range(95))
    worker.ends(0.2, ltp.FRACTION, 95)


# ---- what is set and what is not


def test_fields_that_are_set(worker: Worker) -> None:
    """Each wins over what is adaptive; the others adapt."""
    worker.far.host.family.set_config(epoch=0)
    worker.whole(0.2)
    worker.sock.set_thresholds(lt_us=100000)
    worker.begin(range(95))
    worker.ends(0.1, ltp.FRACTION, 95)
    worker.begin(range(80))
    worker.ends(0.1 + DCN, ltp.DEADLINE, 80)
    worker.sock.set_thresholds(deadline_us=150000)
    worker.begin(range(95))
    worker.ends(0.15, ltp.DEADLINE, 95)
    worker.sock.set_thresholds(fraction_ppm=960000)
    worker.begin(range(95))
    worker.ends(LT + DCN, ltp.DEADLINE, 95)


def test_off(far: Wire, worker: Worker) -> None:
    """0 is none: such a flow is never closed early, whatever was learnt."""
    worker.whole(0.2)
    worker.sock.set_thresholds(lt_us=0, deadline_us=0)
    worker.begin(range(99))
    worker.at(500)
    worker.send(range(99, SEGS))
    worker.ends(500, ltp.COMPLETE)
    worker.sock.set_thresholds()
    far.host.ltpctl("set", "lt", "none", "deadline", "none")
    worker.begin(range(99))
    worker.at(500)
    assert worker.open()
    # The socket can have it adaptive all the same.
    worker.sock.set_thresholds(lt_us=ltp.ADAPTIVE)
    worker.ends(500, ltp.FRACTION, 99)


def test_no_fraction_but_a_deadline(worker: Worker) -> None:
    worker.whole(0.2)
    worker.sock.set_thresholds(lt_us=0)
    worker.begin(range(95))
    worker.ends(LT + DCN, ltp.DEADLINE, 95)


# ---- real senders


def test_default_settings(net: lab.Net) -> None:
    """Nothing set anywhere, a lossy path: the first is whole, none is late, all maps are equal."""
    pair = net.pair()
    pair.tx_host.netem("delay 5ms rate 200mbit loss 2%", seed=5)
    pair.rx_host.netem("delay 5ms")
    pair.tx.set(ltp.REPORTS, 1)
    pair.rx.want_control()
    for end in pair.tx, pair.rx:
        end.set_timeouts(0)
    data = blob(1 << 20)
    reasons = []
    for tag in range(80):
        pair.tx.send_message(data, tag=tag, flags=ltp.TOLERANT)
        got = pair.rx.receive(len(data))
        check_message(got, data)
        report, segments, _ = wait_report(pair.tx, 300)
        assert (report.tag, report.reason) == (tag, got.rcvinfo.reason)
        assert segments == got.rcvmap
        reasons.append(got.rcvinfo.reason)
        info = pair.rx.info()
        if tag:
            assert got.rcvinfo.elapsed_us <= info.deadline_us
            assert got.rcvmap.count() >= got.rcvmap.segments * 0.9
    assert reasons[0] == ltp.COMPLETE
    assert ltp.FRACTION in reasons
    assert pair.rx.info().epochs == 5  # of 4 flows, and four of 16
