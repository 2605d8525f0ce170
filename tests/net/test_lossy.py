# SPDX-License-Identifier: GPL-2.0
"""Reliable messages over links that lose, double, reorder and damage packets arrive identical."""
import pytest

from tests.net import lab
from tests.net.data import blob, buffer, check_message, same
from tests.net.lab import MIB
from tests.net.ways import ALL, IPV4

DIRTY = "delay 1ms 200us loss 5% duplicate 2% reorder 25% 50%"


@pytest.mark.seconds(200)
def test_dirty_link(pair: lab.Pair) -> None:
    """5 % loss, 2 % duplicates, 25 % out of order, both ways; sim/test_lossy.py sends 100 MB."""
    size = lab.scaled(16 * MIB, 5 * MIB)
    pair.tx_host.netem(DIRTY, seed=1)
    pair.rx_host.netem(DIRTY, seed=2)
    pair.rx.set_timeouts(0)
    pair.tx.set_timeouts(0)
    data = blob(size)
    sent = pair.net.background(pair.tx.send_message, data)
    with lab.Counting(pair.rx_host, pair.tx_host) as moved:
        got = pair.rx.want_control().receive_into(buffer(size))
        assert sent.result() == size
        check_message(got, data)
        assert moved["InDuplicate"] > 0
        assert moved["Retransmitted"] > size // 1424 * 4 // 100
        assert moved["ClosedComplete"] == 1


# What the checksum has to do with is tried by all ways.
EVERYWHERE = ["loss 10%", "corrupt 3%"]
ELSEWHERE = [
    "loss 1%",
    "loss 30%",
    "duplicate 30%",
    "delay 2ms 1500us",
    "delay 2ms reorder 50%",
    "loss gemodel 2% 20% 80% 0.1%",
    "rate 200mbit delay 1ms",
]


@pytest.mark.parametrize(
    "way, what",
    [(IPV4, what) for what in ELSEWHERE] + [(way, what) for way in ALL for what in EVERYWHERE],
    ids=str,
)
def test_link(pair: lab.Pair, what: str) -> None:
    """One kind of trouble at a time, both ways; 4 MB, small messages and answers."""
    size = lab.scaled(4 * MIB, MIB)
    pair.tx_host.netem(what, seed=3)
    pair.rx_host.netem(what, seed=4)
    pair.rx.want_control()
    data = blob(size)
    sent = pair.net.background(pair.tx.send_message, data)
    check_message(pair.rx.receive_into(buffer(size)), data)
    assert sent.result() == size
    for i in range(20):
        pair.tx.send_message(data[i:1000 + i])
        same(pair.rx.receive(2000).data, data[i:1000 + i])
        pair.rx.send_message(data[i:100 + i])
        same(pair.tx.receive(2000).data, data[i:100 + i])


def test_lost_acks(pair: lab.Pair) -> None:
    """Three of ten packets of the reverse direction are lost: that repeats little of the data."""
    size = lab.scaled(16 * MIB, 2 * MIB)
    pair.tx_host.netem("delay 500us", seed=1)
    pair.rx_host.netem("delay 500us loss 30%", seed=5)
    data = blob(size)
    with lab.Counting(pair.tx_host) as moved:
        sent = pair.net.background(pair.tx.send_message, data)
        check_message(pair.rx.want_control().receive_into(buffer(size)), data)
        assert sent.result() == size
        lab.until(lambda: pair.tx.info().flows_out == 0, "the sender knows that all arrived")
        changes = moved.moved()
        assert changes.get("Retransmitted", 0) < changes["OutData"] * 5 // 100


def test_outage(pair: lab.Pair) -> None:
    """A link that is dead for a while in the middle of a message."""
    size = 4 * MIB
    pair.tx_host.netem("rate 40mbit delay 1ms")
    pair.rx.want_control()
    # Each has a message of its own: the first outage may be over when little is left.
    for seed, direction in enumerate([pair.tx_host, pair.rx_host]):
        data = blob(size, seed)
        with lab.Counting(pair.rx_host) as came:
            sent = pair.net.background(pair.tx.send_message, data)
            received = pair.net.background(pair.rx.receive_into, buffer(size))
            lab.until(lambda: came["InData"] > 100, "some of it came")
        direction.netem("loss 100%")
        with lab.Counting(pair.tx_host) as moved:
            until_probes(moved, 3)
        direction.netem("rate 40mbit delay 1ms")
        check_message(received.result(), data)
        assert sent.result() == size


def until_probes(moved: lab.Counting, count: int) -> None:
    lab.until(lambda: moved["TailProbes"] >= count, "the sender probes")
