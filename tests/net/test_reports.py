# SPDX-License-Identifier: GPL-2.0
"""Reports: the sender learns of each flow exactly what its receiver has."""
import errno
import socket
import struct
from typing import NamedTuple

import pytest

from tests.net import calls, lab, ltp, wire
from tests.net.data import blob, buffer, check_message
from tests.net.lab import MIB
from tests.net.ways import every_way
from tests.net.peer import Wire

MSG_ERRQUEUE = 0x2000
FORMAT = struct.Struct("=QIIIIIHH")


class Report(NamedTuple):
    tag: int
    length: int
    received: int
    flow: int
    seg_size: int
    segments: int
    reason: int
    flags: int


def read(sock: ltp.Socket, room: int = 1 << 16, control: int = 100) -> tuple[Report, ltp.Map, int]:
    """The next report, which must be there."""
    data, cmsgs, flags, _ = sock.recvmsg(room, control, MSG_ERRQUEUE)
    ((level, kind, value),) = cmsgs
    assert (level, kind) == (ltp.SOL_LTP, ltp.REPORT)
    report = Report(*FORMAT.unpack(value[:FORMAT.size]))
    words = struct.unpack(f"={len(data) // 8}Q", data[:len(data) // 8 * 8])
    return report, ltp.Map(report.seg_size, report.segments, words), flags


def wait_report(sock: ltp.Socket, seconds: float = 30) -> tuple[Report, ltp.Map, int]:
    found: list[tuple[Report, ltp.Map, int]] = []

    def step() -> bool:
        try:
            found.append(read(sock))
        except BlockingIOError:
            return False
        return True

    lab.until(step, "a report is there", seconds)
    return found[0]


def test_none(pair: lab.Pair) -> None:
    """Off at first; EAGAIN when there is none, however long one would wait."""
    pair.tx.send(b"hello")
    pair.rx.recv(10)
    lab.until(lambda: pair.tx.info().flows_out == 0, "it is acknowledged")
    assert calls.error_of(pair.tx.recv, 10, MSG_ERRQUEUE) == errno.EAGAIN


def test_complete(pair: lab.Pair) -> None:
    pair.tx.set(ltp.REPORTS, 1)
    pair.rx.want_control()
    for tag, size in enumerate((1, 1424, 1425, 100000)):
        pair.tx.send_message(blob(size), tag=tag, flags=ltp.TOLERANT)
        got = pair.rx.receive(size)
        report, segments, flags = wait_report(pair.tx)
        assert report == Report(
            tag, size, size, got.rcvinfo.flow, 1424, got.rcvmap.segments, ltp.COMPLETE, 1
        )
        assert segments == got.rcvmap
        assert flags & MSG_ERRQUEUE and not flags & socket.MSG_TRUNC


@every_way
@pytest.mark.parametrize("ack_loss", [0, 30])
def test_both_maps_are_equal(pair: lab.Pair, ack_loss: int) -> None:
    """Whatever is lost in either direction."""
    count = lab.scaled(150, 40)
    pair.tx_host.netem("delay 100us loss 20%", seed=21)
    pair.rx_host.netem(f"delay 100us loss {ack_loss}%", seed=22)
    pair.rx.set_thresholds(fraction_ppm=600000, lt_us=500, deadline_us=8000)
    pair.tx.set(ltp.REPORTS, 1)
    sizes = [(i * 7919) % 150000 + 1 for i in range(count)]

    def send() -> None:
        for tag, size in enumerate(sizes):
            pair.tx.send_message(
                blob(MIB)[tag:tag + size], tag=tag, flags=ltp.TOLERANT, critical=tag % 5 * 1000
            )

    sent = pair.net.background(send)
    rx = pair.rx.want_control()
    space = buffer(MIB)
    received = {}
    for tag, size in enumerate(sizes):
        got = rx.receive_into(space[:size])
        check_message(got, blob(MIB)[tag:tag + size])
        received[got.rcvinfo.flow] = (got.rcvinfo, got.rcvmap)
    sent.result()
    early = 0
    for _ in range(count):
        report, segments, _ = wait_report(pair.tx)
        info, rcvmap = received.pop(report.flow)
        assert segments == rcvmap
        assert (report.tag, report.length, report.received) == (
            info.tag,
            info.length,
            info.received,
        )
        assert report.reason == info.reason
        early += report.reason != ltp.COMPLETE
    assert early > count // 10


def test_given_up(pair: lab.Pair) -> None:
    """What the receiver had at that time."""
    pair.tx.set(ltp.REPORTS, 1)
    pair.tx_host.netem("rate 20mbit")
    pair.tx.send_message(blob(MIB), tag=4, flags=ltp.TOLERANT, giveup_us=50000)
    got = pair.rx.want_control().receive(MIB)
    assert got.rcvinfo.reason == ltp.GAVE_UP
    check_message(got, blob(MIB))
    report, segments, _ = wait_report(pair.tx)
    assert (report.tag, report.reason, report.flags) == (4, ltp.GAVE_UP, ltp.TOLERANT)
    assert report.received == got.rcvinfo.received
    assert segments == got.rcvmap


def test_lost(net: lab.Net) -> None:
    """The association ends first: what was acknowledged, for each flow that had not ended."""
    far = Wire(net)
    sock, assoc = far.accepted()
    sock.set(ltp.REPORTS, 1)
    for tag in range(3):
        sock.send_message(bytes(5000), tag=tag)
    far.send(assoc.ack(assoc.receive(wire.DATA), 2))
    assoc.send(wire.RESET, body_tag=assoc.my_tag)
    for tag in range(3):
        report, segments, _ = wait_report(sock)
        assert (report.tag, report.reason) == (tag, ltp.LOST)
        assert segments.missing() == ([2, 3] if tag == 0 else [0, 1, 2, 3])


def test_too_small(pair: lab.Pair) -> None:
    """MSG_TRUNC for the map, MSG_CTRUNC for the rest; the report is gone all the same."""
    pair.tx.set(ltp.REPORTS, 1)
    for tag in range(3):
        pair.tx.send_message(bytes(200000), tag=tag)
        pair.rx.recv(200000)
    lab.until(lambda: pair.tx.info().flows_out == 0, "all are acknowledged")
    report, segments, flags = read(pair.tx, 8)
    assert report.tag == 0 and report.segments == 141
    assert segments.words == ((1 << 64) - 1,)
    assert flags & socket.MSG_TRUNC
    _, _, flags, _ = pair.tx.recvmsg(100, 0, MSG_ERRQUEUE)
    assert flags & socket.MSG_CTRUNC
    assert wait_report(pair.tx)[0].tag == 2


def test_unread_reports_are_limited(net: lab.Net) -> None:
    """Those beyond the receive buffer are dropped and counted; the oldest stay."""
    rx_host, tx_host = net.link()
    tx_host.family.set_config(rcvbuf=16384)
    pair = lab.Pair(rx_host, tx_host)
    pair.tx.set(ltp.REPORTS, 1)
    count = 200
    with lab.Counting(tx_host) as moved:
        for tag in range(count):
            pair.tx.send_message(b"x", tag=tag)
            pair.rx.recv(1)
        lab.until(lambda: pair.tx.info().flows_out == 0, "all are acknowledged")
        lost = moved["ReportsLost"]
    assert 0 < lost < count
    for tag in range(count - lost):
        assert read(pair.tx)[0].tag == tag
    assert calls.error_of(pair.tx.recv, 10, MSG_ERRQUEUE) == errno.EAGAIN
    # Messages still come through.
    pair.rx.send(b"hello")
    assert pair.tx.recv(10) == b"hello"
