# SPDX-License-Identifier: GPL-2.0
"""Tolerant messages: what is lost is a hole of the map, what is critical is never lost."""
import errno
import random
import socket

import pytest

from tests.net import calls, lab, ltp
from tests.net.data import blob, buffer, check_message, same, with_holes
from tests.net.lab import MIB


@pytest.mark.seconds(120)
def test_1000_messages_under_loss(pair: lab.Pair) -> None:
    """1 byte to 1 MB, a fifth of the packets lost; messages end early, with holes."""
    count = lab.scaled(1000, 100)
    rng = random.Random(1)
    data = blob(2 * MIB)
    pair.tx_host.netem("delay 100us loss 20%", seed=6)
    pair.rx_host.netem("delay 100us loss 20%", seed=7)
    pair.rx.set_thresholds(fraction_ppm=700000, lt_us=1, deadline_us=5000)
    plan = []
    for i in range(count):
        size = min(int(2 ** rng.uniform(0, 20.1)), MIB)
        plan.append((rng.randrange(MIB), size, rng.choice([0, 0, 1, 5000, size])))

    def send() -> None:
        for i, (at, size, critical) in enumerate(plan):
            how = {"tag": i, "critical": critical, "flags": ltp.TOLERANT}
            assert pair.tx.send_message(data[at:at + size], **how) == size

    sent = pair.net.background(send)
    rx = pair.rx.want_control()
    space = buffer(MIB)
    reasons = {reason: 0 for reason in range(6)}
    for i, (at, size, critical) in enumerate(plan):
        got = rx.receive_into(space[:size], ltp.map_space(size))
        assert got.size == size and got.flags == socket.MSG_EOR
        assert got.rcvinfo.tag == i
        assert got.rcvinfo.flags == ltp.TOLERANT
        check_message(got, data[at:at + size])
        needed = (min(critical, size) + got.rcvmap.seg_size - 1) // got.rcvmap.seg_size
        assert all(got.rcvmap.arrived(segment) for segment in range(needed))
        reasons[got.rcvinfo.reason] += 1
    sent.result()
    assert reasons[ltp.FRACTION] + reasons[ltp.DEADLINE] > count // 10
    assert reasons[ltp.COMPLETE] > count // 10
    assert reasons[ltp.OPEN] == reasons[ltp.GAVE_UP] == reasons[ltp.LOST] == 0
    lab.until(lambda: pair.tx.info().flows_out == 0, "the sender knows of all ends")


def lossy_message(pair: lab.Pair, data: memoryview, space: memoryview, **how: int) -> ltp.Message:
    """One tolerant message of which something is lost, into a buffer of the caller's."""
    pair.tx_host.netem("loss 30%", seed=8)
    pair.rx.set_thresholds(fraction_ppm=100000, lt_us=1, deadline_us=2)
    pair.tx.send_message(data, flags=ltp.TOLERANT, **how)
    got = pair.rx.want_control().receive_into(space)
    assert got.rcvmap.missing()
    return got


def test_holes_are_zero(pair: lab.Pair) -> None:
    """Bubble filling: also where the reader's buffer was not zero."""
    space = buffer(100000)
    space[:] = b"\xAA" * len(space)
    got = lossy_message(pair, blob(100000), space)
    check_message(got, blob(100000))


def test_holes_are_kept(pair: lab.Pair) -> None:
    """LTP_HOLES_KEEP: holes keep what the reader's buffer held."""
    assert pair.rx.get(ltp.HOLES) == ltp.HOLES_ZERO
    pair.rx.set(ltp.HOLES, ltp.HOLES_KEEP)
    space = buffer(100000)
    space[:] = b"\xAA" * len(space)
    got = lossy_message(pair, blob(100000), space)
    check_message(got, blob(100000), b"\xAA")


def test_reliable_ignores_thresholds(pair: lab.Pair) -> None:
    pair.tx_host.netem("loss 20%", seed=9)
    pair.rx.set_thresholds(fraction_ppm=1, lt_us=1, deadline_us=1)
    for tag in range(20):
        data = blob(100000)[tag:]
        pair.tx.send_message(data, tag=tag, critical=5000)
        got = pair.rx.want_control().receive(100000)
        assert got.rcvinfo.reason == ltp.COMPLETE
        assert got.rcvinfo.flags == 0
        check_message(got, data)


def test_all_critical_is_reliable(pair: lab.Pair) -> None:
    pair.tx_host.netem("loss 20%", seed=10)
    pair.rx.set_thresholds(fraction_ppm=1, lt_us=1, deadline_us=1)
    data = blob(300000)
    pair.tx.send_message(data, critical=ltp.U32_MAX, flags=ltp.TOLERANT)
    got = pair.rx.want_control().receive(300000)
    assert got.rcvinfo.reason == ltp.COMPLETE
    check_message(got, data)


def test_without_thresholds_it_is_waited_for(pair: lab.Pair) -> None:
    """The defaults of a namespace have neither LT threshold nor deadline."""
    pair.tx_host.netem("loss 20%", seed=11)
    data = blob(300000)
    pair.tx.send_message(data, flags=ltp.TOLERANT)
    got = pair.rx.want_control().receive(300000)
    assert got.rcvinfo.reason == ltp.COMPLETE
    check_message(got, data)


def test_thresholds_of_the_namespace(pair: lab.Pair) -> None:
    pair.rx_host.ltpctl("set", "fraction", "0.1", "lt", "1us", "deadline", "2us")
    pair.tx_host.netem("loss 30%", seed=12)
    pair.tx.send_message(blob(100000), flags=ltp.TOLERANT)
    got = pair.rx.want_control().receive(100000)
    assert got.rcvinfo.reason in (ltp.FRACTION, ltp.DEADLINE)
    check_message(got, blob(100000))


def test_truncated_map(pair: lab.Pair) -> None:
    """A control buffer too small for the map: as much of it as fits, and MSG_CTRUNC."""
    data = blob(300 * ltp.seg_size(1500))
    pair.rx.want_control()
    whole = ltp.map_space(len(data))
    info = socket.CMSG_SPACE(ltp.RCVINFO_FORMAT.size)
    for space in (whole, whole - 8, info + 48, info + 32, info + 24, info, info - 8, 0):
        pair.tx.send_message(data)
        got = pair.rx.receive_into(buffer(len(data)), space)
        assert bool(got.flags & socket.MSG_CTRUNC) == (space < whole)
        assert got.flags & ~socket.MSG_CTRUNC == socket.MSG_EOR
        same(got.data, data)
        if space < info:
            continue
        assert got.rcvinfo.length == len(data)
        if space < info + 24:
            continue
        assert got.rcvmap.segments == 300
        words = min((space - info - 24) // 8, 5)
        assert len(got.rcvmap.words) == words
        assert got.rcvmap.words[:4] == ((1 << 64) - 1,) * min(words, 4)


def test_small_buffer(pair: lab.Pair) -> None:
    """MSG_TRUNC: the head of the message, its tail is gone; the map is of all of it."""
    data = blob(10000)
    rx = pair.rx.want_control()
    for room in (0, 1, 1423, 1424, 1425, 9999, 10000, 10001):
        pair.tx.send_message(data, tag=room)
        got = rx.receive_into(bytearray(room), 1000)
        assert got.size == min(room, 10000)
        assert got.flags == socket.MSG_EOR | (socket.MSG_TRUNC if room < 10000 else 0)
        same(got.data, data[:room])
        assert got.rcvinfo.length == got.rcvinfo.received == 10000
        assert got.rcvmap.count() == got.rcvmap.segments == 8


def test_small_buffer_with_holes(pair: lab.Pair) -> None:
    space = buffer(100000)
    space[:] = b"\xAA" * len(space)
    data = blob(100000)
    got = lossy_message(pair, data, space[:50000])
    assert got.flags == socket.MSG_EOR | socket.MSG_TRUNC
    same(got.data, with_holes(data, got.rcvmap)[:50000])
    assert bytes(space[50000:]) == b"\xAA" * 50000


def test_real_length(pair: lab.Pair) -> None:
    """recv(MSG_TRUNC) returns the length of the message, as for datagrams."""
    pair.tx.send(blob(10000))
    size, _, flags, _ = pair.rx.recvmsg_into([bytearray(10)], 0, socket.MSG_TRUNC)
    assert size == 10000
    assert flags == socket.MSG_EOR | socket.MSG_TRUNC


def test_peek(pair: lab.Pair) -> None:
    """MSG_PEEK shows the message and its control messages and leaves both there."""
    rx = pair.rx.want_control()
    for tag, data in enumerate((blob(1), blob(10000), blob(500000))):
        pair.tx.send_message(data, tag=tag)
        for flags in (socket.MSG_PEEK, socket.MSG_PEEK, 0):
            got = rx.receive(len(data), None, flags)
            assert got.flags == socket.MSG_EOR
            assert got.rcvinfo.tag == tag
            check_message(got, data)


def test_peek_a_part(pair: lab.Pair) -> None:
    pair.tx.send(blob(10000))
    same(pair.rx.recv(7, socket.MSG_PEEK), blob(10000)[:7])
    same(pair.rx.recv(10000), blob(10000))


def test_peek_at_what_does_not_fit(pair: lab.Pair) -> None:
    """A message larger than the receive buffer is taken as it comes, or it never comes whole."""
    pair.rx.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    sent = pair.net.background(pair.tx.send, blob(16 * MIB))
    error = calls.error_of(pair.rx.recv, 100, socket.MSG_PEEK)
    assert error == errno.EMSGSIZE
    same(pair.rx.receive(16 * MIB).data, blob(16 * MIB))
    assert sent.result() == 16 * MIB


def test_tag_that_never_comes(pair: lab.Pair) -> None:
    """ENOMSG when the peer has ended; the other messages are still there."""
    pair.tx.send_message(b"one", tag=1)
    pair.rx.set_rcvtag(2)
    waiting = pair.net.background(calls.error_of, pair.rx.recv, 10)
    pair.tx.shutdown(socket.SHUT_WR)
    assert waiting.result() == errno.ENOMSG
    pair.rx.set_rcvtag(1)
    assert pair.rx.recv(10) == b"one"
    assert pair.rx.recv(10) == b""


def test_tags(pair: lab.Pair) -> None:
    """LTP_RCVTAG: the next recvmsg() takes the first flow of that tag."""
    rx = pair.rx.want_control()
    for tag, size in ((1, 1000), (2, 2000), (3, 3000), (2, 4000), (1 << 63, 5000)):
        pair.tx.send_message(blob(size), tag=tag)
    order = []
    for wanted in (2, 1 << 63, None, 2, None):
        if wanted is not None:
            rx.set_rcvtag(wanted)
        got = rx.receive(5000)
        order.append(got.size)
        check_message(got, blob(got.size))
    assert order == [2000, 5000, 1000, 4000, 3000]


def test_a_late_flow_holds_up_no_other(pair: lab.Pair) -> None:
    """The reader asks for a tag that has not come yet, and later reads what came before."""
    rx = pair.rx.want_control()
    pair.tx.send_message(blob(1000), tag=1)
    rx.set_rcvtag(2)
    waiting = pair.net.background(rx.receive, 2000)
    pair.tx.send_message(blob(3000), tag=3)
    lab.until(lambda: rx.info().flows_in == 2, "both are there")
    assert not waiting.done()
    pair.tx.send_message(blob(2000), tag=2)
    assert waiting.result().rcvinfo.tag == 2
    assert rx.receive(5000).rcvinfo.tag == 1
    assert rx.receive(5000).rcvinfo.tag == 3
