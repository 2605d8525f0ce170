# SPDX-License-Identifier: GPL-2.0
"""A large message, and many small ones, over bad links; test_matrix.py has all kinds of them."""
from tests.net import lab, ltp
from tests.net.data import blob, buffer, check_message
from tests.net.lab import MIB
from tests.net.test_reports import wait_report

DIRTY = "delay 1ms 200us loss 5% duplicate 2% reorder 25% 50%"


def carry(pair: lab.Pair, size: int, seed: int = 1) -> ltp.Message:
    """One message, which must arrive identical."""
    data = blob(size, seed)
    for sock in pair.tx, pair.rx:
        sock.set_timeouts(0)
    sent = pair.net.background(pair.tx.send, data)
    got = pair.rx.want_control().receive_into(buffer(size))
    assert sent.result() == size
    check_message(got, data)
    return got


def test_100_mb_over_a_dirty_link(pair: lab.Pair) -> None:
    """5 % loss, 2 % duplicates, 25 % out of order, in both directions."""
    pair.tx_host.netem(DIRTY, seed=1)
    pair.rx_host.netem(DIRTY, seed=2)
    with lab.Counting(pair.rx_host, pair.tx_host) as moved:
        carry(pair, 100 * 1000 * 1000)
        assert moved["InDuplicate"] > 0
        assert moved["Retransmitted"] > 3000
        assert moved["ClosedComplete"] == 1


def test_both_maps_are_equal(pair: lab.Pair) -> None:
    """Most ACKs are lost, and a fifth of the data: the report says what the receiver had."""
    pair.tx_host.netem("delay 1ms loss 20%", seed=21)
    pair.rx_host.netem("delay 1ms loss 60%", seed=22)
    pair.rx.set_thresholds(fraction_ppm=600000, lt_us=2000, deadline_us=30000)
    pair.tx.set(ltp.REPORTS, 1)
    pair.rx.want_control().set_timeouts(0)
    for tag in range(100):
        size = (tag * 7919) % 150000 + 1
        pair.tx.send_message(blob(MIB)[:size], tag=tag, flags=ltp.TOLERANT)
        got = pair.rx.receive(size)
        check_message(got, blob(MIB)[:size])
        report, segments, _ = wait_report(pair.tx, 300)
        assert (report.tag, report.reason) == (tag, got.rcvinfo.reason)
        assert segments == got.rcvmap
