# SPDX-License-Identifier: GPL-2.0
"""Routers that mark packets instead of dropping them (RFC 3168)."""
import pytest

from tests.net import lab, ltp, ways
from tests.net.data import blob, buffer
from tests.net.lab import MIB


def send(pair: lab.Pair, size: int) -> None:
    data = blob(size)
    sent = pair.net.background(pair.tx.send_message, data)
    assert pair.rx.receive_into(buffer(size)).data == data
    assert sent.result() == size


@pytest.mark.parametrize("way", ways.ALL, ids=str)
def test_marked_not_lost(net: lab.Net, way: ways.Way) -> None:
    """netem marks where it would lose, if the packet says that it may be marked."""
    net.way = way
    pair = net.pair()
    pair.tx_host.netem("delay 1ms loss 20% ecn")
    with lab.Counting(pair.rx_host, pair.tx_host) as moved:
        send(pair, MIB)
        assert moved["InCe"] > MIB // 1424 // 10
        # What is no DATA is lost as ever: an ACK may be probed for.
        assert moved["Retransmitted"] == moved["TailProbes"] == moved["InDuplicate"] <= 2


def test_answered(net: lab.Net) -> None:
    """The receiver says so, and the sender slows down: reno halves its window for each mark."""
    windows = []
    for how in "delay 1ms", "delay 1ms loss 2% ecn":
        pair = net.pair()
        pair.tx.set(ltp.CONGESTION, b"reno")
        pair.tx_host.netem(how)
        with lab.Counting(pair.rx_host, pair.tx_host) as moved:
            send(pair, 4 * MIB)
            assert moved["Retransmitted"] == 0
        windows.append(pair.tx.info().cwnd)
    assert windows[1] < windows[0] / 4
