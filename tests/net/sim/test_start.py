# SPDX-License-Identifier: GPL-2.0
"""What a cut tail loses, with and without the moving start."""
import pytest

from tests.net import lab, ltp
from tests.net.data import blob, check_message
from tests.net.test_reports import wait_report

SEG = ltp.seg_size(1500)
SEGS, HEAD, FLOWS, PARTS = 200, 8, 100, 8


@pytest.mark.parametrize("moving", [1, 0])
def test_holes_of_cut_tails(net: lab.Net, moving: int) -> None:
    """A link too slow for the deadline: the holes spread over the message, or do not."""
    pair = net.pair()
    pair.tx_host.netem("delay 1ms rate 100mbit")
    pair.rx_host.netem("delay 1ms")
    pair.tx.set(ltp.MOVING_START, moving)
    pair.tx.set(ltp.REPORTS, 1)
    # A whole message takes about 24 ms.
    pair.rx.want_control().set_thresholds(lt_us=0, deadline_us=18000)
    for end in pair.tx, pair.rx:
        end.set_timeouts(0)
    data = blob(SEGS * SEG)
    for _ in range(10):  # until the sender knows the link
        pair.tx.send_message(data)
        assert pair.rx.receive(len(data)).rcvinfo.reason == ltp.COMPLETE
        wait_report(pair.tx, 300)
    lost = [0] * SEGS
    for tag in range(FLOWS):
        pair.tx.send_message(data, tag=tag, flags=ltp.TOLERANT, critical=HEAD * SEG)
        got = pair.rx.receive(len(data))
        check_message(got, data)
        assert got.rcvinfo.reason == ltp.DEADLINE
        report, segments, _ = wait_report(pair.tx, 300)
        assert (report.tag, report.reason) == (tag, ltp.DEADLINE)
        assert segments == got.rcvmap
        for index in got.rcvmap.missing():
            lost[index] += 1
    assert sum(lost[:HEAD]) == 0
    size = (SEGS - HEAD) // PARTS
    parts = [sum(lost[HEAD + i * size:HEAD + (i + 1) * size]) for i in range(PARTS)]
    mean = sum(parts) / PARTS
    assert mean > 100
    if moving:
        assert min(parts) > 0.85 * mean and max(parts) < 1.15 * mean, parts
    else:
        assert parts == sorted(parts) and parts[0] < mean / 2 and parts[-1] == size * FLOWS, parts
