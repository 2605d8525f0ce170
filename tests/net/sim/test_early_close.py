# SPDX-License-Identifier: GPL-2.0
"""Early Close, row by row of its table, to the microsecond.

The peer is made of packets, so that it is known when each segment arrives.
"""
import dataclasses
import time

import pytest

from tests.net import lab, ltp, wire
from tests.net.data import check_message
from tests.net.peer import Assoc, Wire
from tests.net.sim.clock import Watch, close_to

SEG = 1024
MESSAGE = bytes(range(1, 251)) * 41  # 10250 bytes: 11 segments, the last one short
SEGS = 11


@dataclasses.dataclass
class Flow:
    """One tolerant flow of MESSAGE towards a host, and when what happens to it."""

    far: Wire
    sock: ltp.Socket
    assoc: Assoc
    critical: int = 0
    watch: Watch | None = None

    def arrive(self, *segs: int) -> None:
        """These segments arrive now; the first time starts the clock."""
        if self.watch is None:
            self.watch = Watch()
        self.assoc.send_data(MESSAGE, list(segs), flags=wire.TOLERANT, critical=self.critical)

    def at(self, seconds: float) -> None:
        assert self.watch is not None
        self.far.answer_for(seconds - self.watch())

    def open(self) -> bool:
        flows = self.far.host.family.flows()
        (reason,) = (one["reason"] for one in flows if one["flow"] == self.assoc.flow)
        return reason == ltp.OPEN

    def ends(self, seconds: float, reason: int, arrived: int) -> None:
        """It is read at that time, with that reason."""
        assert self.watch is not None
        got = self.sock.receive(len(MESSAGE))
        assert close_to(self.watch(), seconds, 0.0001), f"after {self.watch()} s"
        assert close_to(got.rcvinfo.elapsed_us / 1e6, seconds, 0.0001)
        assert got.rcvinfo.reason == reason
        assert got.rcvmap.count() == arrived
        check_message(got, MESSAGE)


@pytest.fixture(name="flow")
def fixture_flow(net: lab.Net) -> Flow:
    far = Wire(net)
    sock, assoc = far.accepted()
    sock.set_timeouts(0)
    sock.want_control()
    return Flow(far, sock, assoc)


def test_all_before_lt(flow: Flow) -> None:
    flow.sock.set_thresholds(500000, 2000000, 3000000)
    flow.arrive(*range(10))
    flow.at(1)
    flow.arrive(10)
    flow.ends(1, ltp.COMPLETE, 11)


def test_fraction_at_lt(flow: Flow) -> None:
    """It was reached before: the flow ends when LT comes, not earlier."""
    flow.sock.set_thresholds(500000, 2000000, 3000000)
    flow.arrive(*range(6))
    flow.ends(2, ltp.FRACTION, 6)


def test_fraction_after_lt(flow: Flow) -> None:
    """It ends with the segment that completes the fraction."""
    flow.sock.set_thresholds(500000, 2000000, 3000000)
    flow.arrive(*range(5))
    flow.at(2.5)
    assert flow.open()
    flow.arrive(9)
    flow.ends(2.5, ltp.FRACTION, 6)


def test_deadline(flow: Flow) -> None:
    """Whatever has arrived, if no segment is critical."""
    flow.sock.set_thresholds(500000, 2000000, 3000000)
    flow.arrive(4)
    flow.ends(3, ltp.DEADLINE, 1)


def test_deadline_without_lt(flow: Flow) -> None:
    flow.sock.set_thresholds(100000, 0, 3000000)
    flow.arrive(*range(9))
    flow.ends(3, ltp.DEADLINE, 9)


def test_lt_without_deadline(flow: Flow) -> None:
    """Too little for the fraction: it is waited for, for ever."""
    flow.sock.set_thresholds(500000, 2000000, 0)
    flow.arrive(*range(5))
    flow.at(500)
    assert flow.open()
    flow.arrive(5)
    flow.ends(500, ltp.FRACTION, 6)


def test_nothing_set(flow: Flow) -> None:
    flow.arrive(*range(10))
    flow.at(500)
    assert flow.open()
    flow.arrive(10)
    flow.ends(500, ltp.COMPLETE, 11)


@pytest.mark.parametrize(
    "ppm, enough",
    [(1, 1), (90909, 1), (90910, 2), (900000, 10), (909091, 11), (999999, 11), (1000000, 11)],
)
def test_rounding(flow: Flow, ppm: int, enough: int) -> None:
    """The fraction of 11 segments is rounded up to whole ones."""
    flow.sock.set_thresholds(ppm, 1000000, 9000000)
    if enough > 1:
        flow.arrive(*range(enough - 1))
        flow.at(2)
        assert flow.open()
        flow.arrive(enough - 1)
        flow.ends(2, ltp.COMPLETE if enough == SEGS else ltp.FRACTION, enough)
    else:
        flow.arrive(0)
        flow.ends(1, ltp.FRACTION, 1)


def test_critical_segments_before_lt_and_fraction(flow: Flow) -> None:
    """The fraction is there, a critical segment is not: it ends when that comes."""
    flow.critical = 2
    flow.sock.set_thresholds(500000, 2000000, 3000000)
    flow.arrive(0, *range(2, 11))
    flow.at(2.25)
    assert flow.open()
    flow.arrive(1)
    flow.ends(2.25, ltp.COMPLETE, 11)


def test_critical_segments_and_fraction(flow: Flow) -> None:
    flow.critical = 2
    flow.sock.set_thresholds(500000, 2000000, 3000000)
    flow.arrive(0, *range(3, 10))
    flow.at(2.25)
    flow.arrive(1)
    flow.ends(2.25, ltp.FRACTION, 9)


def test_critical_segments_after_the_deadline(flow: Flow) -> None:
    """Not even the deadline ends a flow without them."""
    flow.critical = 3
    flow.sock.set_thresholds(500000, 2000000, 3000000)
    flow.arrive(0, 2, 9)
    flow.at(100)
    assert flow.open()
    flow.arrive(1)
    flow.ends(100, ltp.DEADLINE, 4)


def test_time_starts_with_the_first_packet(flow: Flow) -> None:
    """Whatever its segment is, and however long the association exists."""
    flow.far.answer_for(77)
    flow.sock.set_thresholds(1000000, 0, 1000000)
    flow.arrive(10)
    flow.ends(1, ltp.DEADLINE, 1)


def test_reliable_flow(flow: Flow) -> None:
    """The same thresholds mean nothing to a flow that is not tolerant."""
    flow.sock.set_thresholds(1, 1, 1)
    flow.assoc.send_data(MESSAGE, list(range(10)))
    flow.far.answer_for(50)
    assert flow.open()
    flow.assoc.send_data(MESSAGE, [10])
    assert flow.sock.receive(len(MESSAGE)).rcvinfo.reason == ltp.COMPLETE


def test_two_flows_at_a_time(flow: Flow) -> None:
    """Each has its own clock."""
    flow.sock.set_thresholds(1000000, 0, 2000000)
    flow.arrive(1)
    flow.at(1)
    flow.assoc.send_data(MESSAGE, [5], flow=flow.assoc.flow + 1, flags=wire.TOLERANT)
    flow.ends(2, ltp.DEADLINE, 1)
    got = flow.sock.receive(len(MESSAGE))
    assert flow.watch and close_to(flow.watch(), 3)
    assert got.rcvinfo.reason == ltp.DEADLINE


# ---- where the thresholds come from


def test_namespace(flow: Flow) -> None:
    flow.far.host.ltpctl("set", "fraction", "0.5", "lt", "2s", "deadline", "3s")
    flow.arrive(*range(6))
    flow.ends(2, ltp.FRACTION, 6)


def test_socket_comes_before_the_namespace(flow: Flow) -> None:
    """Each member for itself."""
    flow.far.host.ltpctl("set", "fraction", "0.1", "lt", "1s", "deadline", "5s")
    flow.sock.set_thresholds(lt_us=2000000)
    flow.arrive(*range(6))
    flow.ends(2, ltp.FRACTION, 6)
    flow.sock.set_thresholds(fraction_ppm=1000000)
    flow.assoc.flow += 1
    flow.watch = None
    flow.arrive(*range(6))
    flow.ends(5, ltp.DEADLINE, 6)


@pytest.mark.parametrize("how", ["socket", "ltpctl"])
def test_changed_while_it_runs(flow: Flow, how: str) -> None:
    """Sooner: it ends at once. Later: it ends later."""

    def change(lt: int, deadline: int) -> None:
        if how == "socket":
            flow.sock.set_thresholds(500000, lt * 1000000, deadline * 1000000)
        else:
            words = ("fraction", "0.5", "lt", f"{lt}s", "deadline", f"{deadline}s")
            flow.far.host.ltpctl("set", *words)

    change(10, 20)
    flow.arrive(*range(6))
    flow.at(3)
    change(2, 20)
    flow.ends(3, ltp.FRACTION, 6)
    change(10, 20)
    flow.assoc.flow += 1
    flow.watch = None
    flow.arrive(*range(3))
    flow.at(15)
    change(10, 30)
    flow.at(25)
    assert flow.open()
    flow.ends(30, ltp.DEADLINE, 3)
    flow.assoc.flow += 1
    flow.watch = None
    flow.arrive(*range(3))
    flow.at(15)
    change(10, 17)
    flow.ends(17, ltp.DEADLINE, 3)


def test_set_for_the_first_time_while_it_runs(flow: Flow) -> None:
    flow.arrive(*range(6))
    flow.at(7)
    flow.far.host.ltpctl("set", "deadline", "9s")
    flow.ends(9, ltp.DEADLINE, 6)


def test_no_more_thresholds_while_it_runs(flow: Flow) -> None:
    flow.sock.set_thresholds(500000, 2000000, 3000000)
    flow.arrive(*range(6))
    flow.at(1)
    flow.sock.set_thresholds(500000, 0, 0)
    flow.at(100)
    assert flow.open()
    flow.arrive(*range(6, 11))
    flow.ends(100, ltp.COMPLETE, 11)


# ---- what does not count


def test_clock_stands_while_the_window_is_shut(net: lab.Net) -> None:
    """The reader pauses with a full buffer: that time does not count for LT and deadline."""
    far = Wire(net)
    far.host.family.set_config(rcvbuf=64 << 10)
    sock, assoc = far.accepted()
    sock.want_control()
    sock.set_thresholds(1000000, 0, 10000000)
    message = bytes(2000 * SEG)
    watch = Watch()
    for seg in range(200):
        assoc.send_data(message, [seg], flags=wire.TOLERANT)
        time.sleep(0.002)  # longer than an ACK is delayed
        if any(packet.kind == wire.ACK and packet.rwnd == 0 for packet, _ in far.pending()):
            break
    else:
        pytest.fail("the window is never shut")
    shut = watch()
    far.answer_for(100 - watch())
    space = bytearray(len(message))
    with pytest.raises(BlockingIOError):  # it places what is there, and the window opens
        sock.receive_into(space, None, 0x40)
    assert any(packet.rwnd for packet, _ in far.pending())
    got = sock.receive_into(space)
    assert got.rcvinfo.reason == ltp.DEADLINE
    assert close_to(watch(), 100 + 10 - shut, 0.01)
    check_message(got, message)
