# SPDX-License-Identifier: GPL-2.0
"""Path MTU discovery over minutes, and how long it makes anybody wait."""
import itertools
import time

import pytest

from tests.net import lab, ltp
from tests.net.data import blob, buffer, check_message
from tests.net.lab import MIB
from tests.net.narrow import Narrow, Tap
from tests.net.sim.clock import Watch

RAISE = 600  # seconds, RFC 8899
DELAY = 10  # milliseconds, one way


def far_away(net: lab.Net, silent: bool, loss: str = "") -> Narrow:
    path = Narrow(net)
    if silent:
        path.silence()
    path.tx_host.netem(f"delay {DELAY}ms {loss}", seed=1)
    path.rx_host.netem(f"delay {DELAY}ms {loss}", seed=2)
    # The handshake went faster: what a round trip takes has to be learnt anew.
    for _ in range(20):
        path.carry(1)
    return path


def settle(path: Narrow, mtu: int, seconds: float = 10) -> float:
    """Messages until segments fit; how long that took."""
    watch = Watch()
    while ltp.seg_size(path.mtu()) != ltp.seg_size(mtu):
        path.carry(20000)
        assert watch() < seconds, path.mtu()
    took = watch()
    # Until it is seen that it is no more than that.
    before, now = -1, path.tx_host.counters()["PmtuProbes"]
    while now != before:
        time.sleep(2)
        before, now = now, path.tx_host.counters()["PmtuProbes"]
    return took


@pytest.mark.parametrize("silent", [False, True])
def test_grows_back(net: lab.Net, silent: bool) -> None:
    """After ten minutes, when a message is sent, it is seen that the path takes more."""
    path = far_away(net, silent)
    path.narrow(1400)
    settle(path, 1400)
    path.narrow(1500)
    tap = Tap(path.tx_host)
    with lab.Counting(path.tx_host) as moved:
        for _ in range(9):
            time.sleep(RAISE / 10)
            path.carry(20000)
        assert moved["PmtuProbes"] == 0
        assert path.carry(1000).rcvmap.seg_size == ltp.seg_size(1400)
        time.sleep(RAISE / 10 + 5)
        assert moved["PmtuProbes"] == 0, "nothing is probed while nothing is sent"
        settle(path, 1500)
        assert moved["PmtuProbes"] == moved["PmtuConfirmed"] <= 2
    assert path.carry(MIB).rcvmap.seg_size == ltp.seg_size(1500)
    assert {one.size for one in tap.probes() if one.outgoing} <= {1408, 1416, 1500}


def test_still_narrow(net: lab.Net) -> None:
    """If nothing has changed, that is seen by the probes of one size."""
    path = far_away(net, True)
    path.narrow(1400)
    settle(path, 1400)
    for _ in range(3):
        with lab.Counting(path.tx_host) as moved:
            time.sleep(RAISE + 1)
            path.carry(20000)
            time.sleep(5)
            assert moved["PmtuProbes"] == moved["PmtuLost"] <= 4
            assert path.carry(20000).rcvmap.seg_size == ltp.seg_size(1400)


@pytest.mark.parametrize("size", [1400, 20000, MIB])
@pytest.mark.parametrize("silent", [False, True])
def test_nobody_waits_long(net: lab.Net, silent: bool, size: int) -> None:
    """The path shrinks: the next message takes some round trips longer, none after that."""
    path = far_away(net, silent)
    for _ in range(5):
        path.carry(size)
    usual = max(timed(path, size) for _ in range(5))
    path.narrow(1300)
    waits = [timed(path, size) for _ in range(30)]
    round_trip = 2 * DELAY / 1000
    assert max(waits) < usual + 8 * round_trip, waits
    assert waits[-1] < usual * 1.5 + round_trip, waits
    settle(path, 1300)
    assert ltp.seg_size(path.mtu()) == ltp.seg_size(1300)


def timed(path: Narrow, size: int) -> float:
    watch = Watch()
    path.carry(size)
    return watch()


@pytest.mark.parametrize("silent", [False, True])
@pytest.mark.parametrize("loss", ["", "loss 1%", "loss 5%"])
def test_changes_all_the_time(net: lab.Net, silent: bool, loss: str) -> None:
    """A path whose MTU changes under a long message, in both directions, and loses packets."""
    path = far_away(net, silent, loss)
    size = 20 * MIB
    jobs = []
    for tx, rx, seed in ((path.tx, path.rx, 1), (path.rx, path.tx, 2)):
        tx.set_timeouts(0)
        data = blob(size, seed)
        jobs.append((net.background(tx.send, data),
                     net.background(rx.want_control().receive_into, buffer(size)), data))
    mtus = itertools.cycle((1400, 1000, 1500, 576, 1280))
    while not all(got.done() for _, got, _ in jobs):
        time.sleep(0.2)
        path.narrow(next(mtus), both=True)
    for sent, got, data in jobs:
        assert sent.result() == size
        check_message(got.result(), data)
    path.narrow(1500, both=True)
    path.carry(MIB)
    path.carry(MIB, back=True)


def test_outage(net: lab.Net) -> None:
    """A path that is down for a while is no black hole."""
    path = far_away(net, False)
    path.carry(MIB)
    for down in (0.1, 1, 5, 20):
        with lab.Counting(path.tx_host, path.rx_host) as moved:
            sent = net.background(path.tx.send, blob(4 * MIB))
            got = net.background(path.rx.receive_into, buffer(4 * MIB))
            time.sleep(0.05)
            path.router.down("r1")
            time.sleep(down)
            path.router.up("r1")
            assert sent.result() == 4 * MIB
            check_message(got.result(), blob(4 * MIB))
            assert moved["PmtuBlackHoles"] == 0
        settle(path, 1500)
        assert path.carry(MIB).rcvmap.seg_size == ltp.seg_size(1500)
