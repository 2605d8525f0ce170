# SPDX-License-Identifier: GPL-2.0
"""The integrity matrix: whatever the network does, no byte is wrong and both maps are equal.

Loss x reordering x duplicates x damage x MTU x size x way, in virtual time. `make check` runs rows
that have each pair of values, `make check-matrix` all rows (LTP_MATRIX=all). In each row, over one
association:

- a reliable message of that size arrives, and a small one the other way;
- tolerant messages are closed early or not: each byte is right or in a hole of the receiver's map,
  the holes are zeros, and the sender's report is the same map, once with this link, once more with
  30 % of the ACKs lost;
- what the network damages is dropped for its checksum and for no other reason.

LTP_SEED is the seed of everything; a row's link has its own, from that and the row.
"""
import dataclasses
import itertools
import os
import random
import time
import zlib
from collections.abc import Iterator

import pytest

from tests.net import lab, ltp, ways
from tests.net.data import blob, buffer, check_message
from tests.net.lab import MIB
from tests.net.test_reports import wait_report
from tests.net.ways import Way

SEED = int(os.environ.get("LTP_SEED", "1"))
ALL = os.environ.get("LTP_MATRIX", "") == "all"

LOSS = [0, 1, 10, 30]
YES = [False, True]
MTU = [576, 1280, 1500, 9000]
SIZE = [1, 1000, 64 << 10, MIB, 64 * MIB]
WAYS = [way for way in ways.ALL if way is not ways.MAPPED]

# What may happen to packets that are as they were sent: they come when their flow has ended, or
# too many at once while a system call has the socket.
UNDAMAGED = {
    "DropFlowClosed", "DropFlowUnknown", "DropState", "DropAckInvalid", "DropFlowLimit",
    "DropSocketBacklog",
}
# And to damaged ones. An Ethernet address has no checksum here: some become a multicast's. Nor has
# IPv6's header: some become shorter than a packet can be.
DAMAGED = {"DropChecksum", "DropNoAssoc", "DropShort"}


@dataclasses.dataclass(frozen=True)
class Row:
    way: Way
    mtu: int
    size: int
    loss: int
    reorder: bool
    duplicate: bool
    corrupt: bool

    def __str__(self) -> str:
        words = [str(self.way), f"mtu{self.mtu}", size_text(self.size), f"loss{self.loss}"]
        words += [name for name in ("reorder", "duplicate", "corrupt") if getattr(self, name)]
        return "-".join(words)

    @property
    def exists(self) -> bool:
        """IPv6 has no smaller MTU."""
        return not self.way.v6 or self.mtu >= 1280

    def netem(self, loss: int) -> str:
        what = "delay 1ms"
        if self.reorder:
            what += " 200us reorder 25% 50%"
        if loss:
            what += f" loss {loss}%"
        if self.duplicate:
            what += " duplicate 10%"
        if self.corrupt:
            what += " corrupt 2%"
        return what

    @property
    def seed(self) -> int:
        return zlib.crc32(f"{SEED} {self}".encode()) & 0x3FFFFFFF


def size_text(size: int) -> str:
    for unit, text in ((MIB, "M"), (1 << 10, "K")):
        if size >= unit:
            return f"{size // unit}{text}"
    return f"{size}"


def every_row() -> Iterator[Row]:
    for values in itertools.product(WAYS, MTU, SIZE, LOSS, YES, YES, YES):
        if (row := Row(*values)).exists:
            yield row


def pairs(row: Row) -> set[tuple[int, int, object, object]]:
    values = dataclasses.astuple(dataclasses.replace(row, way=row.way))
    values = (row.way.name, *values[1:])
    return {(i, j, values[i], values[j]) for i, j in itertools.combinations(range(len(values)), 2)}


def pairwise() -> list[Row]:
    """Few rows that have each pair of values; of a large message among them no more than needed."""
    rows = list(every_row())
    random.Random(SEED).shuffle(rows)
    missing = set().union(*(pairs(row) for row in rows))
    chosen = []
    while missing:
        best = max(rows, key=lambda row: len(pairs(row) & missing) - (row.size > MIB) / 2)
        missing -= pairs(best)
        chosen.append(best)
    return chosen


ROWS = list(every_row()) if ALL else pairwise()


@dataclasses.dataclass
class Result:
    """What the table at the end shows of a row."""

    row: Row
    seconds: float = 0
    sent: int = 0
    again: int = 0
    spurious: int = 0
    doubles: int = 0
    checksum: int = 0
    flows: int = 0
    early: int = 0
    holes: int = 0


def reliable(pair: lab.Pair, size: int, seed: int) -> None:
    data = blob(size, seed)
    sent = pair.net.background(pair.tx.send, data)
    got = pair.rx.receive_into(buffer(size))
    assert sent.result() == size
    assert got.rcvinfo.reason == ltp.COMPLETE
    check_message(got, data)
    answer = data[:min(size, 3000)]
    pair.rx.send(answer)
    check_message(pair.tx.receive_into(buffer(len(answer))), answer)


def tolerant(pair: lab.Pair, size: int, seed: int, result: Result) -> None:
    """Messages with a critical head, closed by fraction or by deadline."""
    data = blob(size, seed)
    for tag, (fraction, lt_us, deadline_us) in enumerate(
        [(900000, 1, 0), (600000, 3000, 5000), (1000000, 0, 4000)]
    ):
        pair.rx.set_thresholds(fraction, lt_us, deadline_us)
        critical = min(size, 3000)
        sent = pair.net.background(
            pair.tx.send_message, data, tag=tag, flags=ltp.TOLERANT, critical=critical
        )
        got = pair.rx.receive_into(buffer(size))
        assert sent.result() == size
        check_message(got, data)
        assert not any(i * got.rcvmap.seg_size < critical for i in got.rcvmap.missing())
        report, segments, _ = wait_report(pair.tx, 3000)
        assert (report.tag, report.reason) == (tag, got.rcvinfo.reason)
        assert (report.length, report.received) == (size, got.rcvinfo.received)
        assert segments == got.rcvmap
        result.flows += 1
        result.early += got.rcvinfo.reason != ltp.COMPLETE
        result.holes += len(segments.missing())


@pytest.fixture(name="net")
def fixture_net() -> Iterator[lab.Net]:
    """As the one of conftest.py; here the way is the row's."""
    world = lab.Net()
    yield world
    world.close()


@pytest.mark.seconds(200)
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(request: pytest.FixtureRequest, net: lab.Net, row: Row) -> None:
    net.way = row.way
    pair = net.pair(row.mtu)
    pair.tx_host.netem(row.netem(row.loss), seed=row.seed)
    pair.rx_host.netem(row.netem(row.loss), seed=row.seed + 1)
    for sock in pair.tx, pair.rx:
        sock.set_timeouts(0)
        sock.want_control()
    result = Result(row)
    request.config.stash.setdefault(TABLE, []).append(result)
    before = time.monotonic()
    with lab.Counting(pair.rx_host, pair.tx_host) as moved:
        reliable(pair, row.size, row.seed % 4)
        result.seconds = time.monotonic() - before
        lab.until(lambda: not pair.tx.info().flows_out, "all is acknowledged", 3000)
        pair.tx.set(ltp.REPORTS, 1)
        tolerant(pair, row.size, row.seed % 4, result)
        pair.rx_host.netem(row.netem(30), seed=row.seed + 2)
        tolerant(pair, row.size, row.seed % 4, result)
        changes = moved.moved()
    result.sent = changes["OutData"]
    result.again = changes.get("Retransmitted", 0)
    result.spurious = changes.get("Spurious", 0)
    result.doubles = changes.get("InDuplicate", 0)
    result.checksum = changes.get("DropChecksum", 0)
    drops = {name for name in changes if name.startswith("Drop")} - UNDAMAGED
    assert drops <= (DAMAGED if row.corrupt else set())
    # Half of a packet's first bytes are LTP's; UDP has a checksum of its own.
    if row.corrupt and result.sent > 2000 and not row.way.encap:
        assert result.checksum > result.sent // 400


TABLE = pytest.StashKey[list[Result]]()


def table(results: list[Result]) -> Iterator[str]:
    yield (
        "way   mtu  size loss reorder dup corrupt |  seconds    sent  again spurious doubles"
        " checksum | tolerant early  holes"
    )
    for one in results:
        row = one.row
        kinds = ["x" if kind else "-" for kind in (row.reorder, row.duplicate, row.corrupt)]
        yield (
            f"{row.way!s:5}{row.mtu:5}{size_text(row.size):>6}{row.loss:5}"
            f"{kinds[0]:>8}{kinds[1]:>4}{kinds[2]:>8} |"
            f"{one.seconds:9.3f}{one.sent:8}{one.again:7}{one.spurious:9}{one.doubles:8}"
            f"{one.checksum:9} |{one.flows:9}{one.early:6}{one.holes:7}"
        )


def test_table(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> None:
    """Last: what was done, in one table."""
    results = request.config.stash.get(TABLE, [])
    with capsys.disabled():
        print()
        for line in table(results):
            print(line)
        print(f"{len(results)} rows, seed {SEED}")
    assert len({result.row for result in results}) == len(results)
