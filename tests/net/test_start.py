# SPDX-License-Identifier: GPL-2.0
"""The moving start: in which order the segments of a flow leave for the first time."""
import ctypes
import errno
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.net import calls, lab, ltp, wire
from tests.net.data import blob, buffer, check_message, same
from tests.net.lab import MIB
from tests.net.peer import Assoc, Wire
from tests.net.test_reports import wait_report
from tests.net.test_send import cmsg, silent_peer

SEG = ltp.seg_size(1500)
TRAIN = 16
STEP = 0x9E3779B9  # 2^32 / golden ratio
MANY = 64 << 20
TOLERANT = cmsg(ltp.SOL_LTP, ltp.SNDINFO, ltp.sndinfo(flags=ltp.TOLERANT)[2])


def start_of(flow: int, segs: int, ncrit: int = 0) -> int:
    return ncrit + (flow * STEP % (1 << 32) * (segs - ncrit) >> 32)


def order_of(flow: int, segs: int, ncrit: int = 0) -> list[int]:
    """As Documentation/protocol.rst has it."""
    start = start_of(flow, segs, ncrit)
    return [*range(ncrit), *range(start, segs), *range(ncrit, start)]


def first_transmissions(assoc: Assoc, count: int) -> list[wire.Packet]:
    """That many of the newest flow, each acknowledged as it comes, without those sent again."""
    seen: dict[int, wire.Packet] = {}
    while len(seen) < count:
        packet = assoc.receive(wire.DATA)
        if packet.flow in assoc.done:
            continue  # a probe that was too early, on a slow machine
        if seen and packet.flow != next(iter(seen.values())).flow:
            seen = {}
        first = packet.seg // 32 * 32
        reply = assoc.ack(packet, 0, first=first, words=1)
        assoc.wire.send(reply.with_tail(wire.bitmap(packet.seg - first)))
        seen.setdefault(packet.seg, packet)
    assoc.done.add(packet.flow)
    return list(seen.values())


@pytest.fixture(name="far")
def fixture_far(net: lab.Net) -> Wire:
    return Wire(net)


# ---- on the wire


@pytest.mark.parametrize("segs, critical", [(2, 0), (9, 0), (30, 1), (30, 7), (300, 20), (7, 7)])
def test_order(far: Wire, segs: int, critical: int) -> None:
    """The critical head, from the start to the end, and round; LAST is with the one sent last."""
    sock, assoc = far.accepted(rwnd=1 << 30)
    data = blob(segs * SEG - 5)
    flow = assoc.host_flow
    starts = set()
    for _ in range(5):
        how = {"flags": ltp.TOLERANT, "critical": critical * SEG}
        assert sock.send_message(data, **how) == len(data)
        packets = first_transmissions(assoc, segs)
        assert [packet.seg for packet in packets] == order_of(flow, segs, critical)
        assert {packet.flow for packet in packets} == {flow}
        for i, packet in enumerate(packets):
            at = packet.seg * SEG
            assert packet.tail == data[at:at + SEG]
            # All of those that leave together with the last one are marked.
            assert packet.flags & wire.LAST or i < segs - 1
            assert not packet.flags & wire.LAST or i >= segs - TRAIN
            assert bool(packet.flags & wire.CRITICAL) == (packet.seg < critical)
        lab.until(lambda: sock.info().flows_out == 0, "it has ended")
        starts.add(packets[-1].seg)
        flow += 1
    assert segs - critical < 9 or len(starts) == 5


def test_reliable_flows_are_in_order(far: Wire) -> None:
    sock, assoc = far.accepted(rwnd=1 << 30)
    for _ in range(3):
        sock.send_message(blob(30 * SEG), critical=3 * SEG)
        assert [packet.seg for packet in first_transmissions(assoc, 30)] == list(range(30))


def test_switched_off(far: Wire) -> None:
    """By socket; a child has its listener's."""
    listener = far.host.listen()
    listener.set(ltp.MOVING_START, 0)
    assoc = far.connect(rwnd=1 << 30)
    sock, _ = listener.accept()
    far.net.sockets.append(sock)
    assert sock.get(ltp.MOVING_START) == 0
    for on in (0, 1, 0):
        sock.set(ltp.MOVING_START, on)
        flow = sock.info().flows_out, assoc.host_flow
        sock.send_message(blob(30 * SEG), flags=ltp.TOLERANT)
        packets = first_transmissions(assoc, 30)
        expected = order_of(packets[0].flow, 30) if on else list(range(30))
        assert [packet.seg for packet in packets] == expected, flow


def test_what_might_return_short_is_in_order(net: lab.Net) -> None:
    """Without waiting, or with a limit, a message that does not fit begins with its beginning."""
    for timeout in (None, 0.05):
        sock, assoc = silent_peer(net, 65536)
        if timeout:
            sock.set_timeouts(timeout)
        else:
            sock.setblocking(False)
        sent = sock.send_message(blob(MIB), flags=ltp.TOLERANT)
        assert 0 < sent < MIB and sent % SEG == 0
        packets = first_transmissions(assoc, sent // SEG)
        assert [packet.seg for packet in packets] == list(range(sent // SEG))
        sock.close()


def test_without_waiting_what_fits_moves(far: Wire) -> None:
    sock, assoc = far.accepted(rwnd=1 << 30)
    sock.setblocking(False)
    flow = assoc.host_flow
    for _ in range(3):
        assert sock.send_message(blob(300 * SEG), flags=ltp.TOLERANT) == 300 * SEG
        packets = first_transmissions(assoc, 300)
        assert [packet.seg for packet in packets] == order_of(flow, 300)
        flow += 1


def test_larger_than_the_buffer(net: lab.Net) -> None:
    """A send that waits as long as it takes moves, too."""
    sock, assoc = silent_peer(net, 65536)
    sock.set_timeouts(0)
    data = blob(500 * SEG + 1)
    sent = net.background(sock.send_message, data, flags=ltp.TOLERANT, critical=5000)
    packets = first_transmissions(assoc, 501)
    assert sent.result() == len(data)
    assert [packet.seg for packet in packets] == order_of(packets[0].flow, 501, 4)
    for packet in packets:
        assert packet.tail == data[packet.seg * SEG:(packet.seg + 1) * SEG]


# ---- what arrives


@pytest.mark.parametrize("size", [1, SEG, SEG + 1, 2 * SEG, 10 * SEG - 1, 100001, 20 * MIB])
@pytest.mark.parametrize("where", ["buffer", "pieces"])
def test_data(pair: lab.Pair, size: int, where: str) -> None:
    """Every byte at its place, whatever the program's buffers are like."""
    pair.tx.set_timeouts(0)
    pair.rx.want_control().set_thresholds(lt_us=0, deadline_us=0)
    data = blob(size)
    parts: list[memoryview] = [data]
    if where == "pieces":
        edges = sorted({0, 1, 2, SEG - 1, SEG, size // 3, size // 2, size - 1, size})
        edges = [edge for edge in edges if edge <= size]
        parts = [data[a:b] for a, b in zip(edges, edges[1:])]
    for critical in (0, 3 * SEG):
        got = pair.net.background(pair.rx.receive_into, buffer(size))
        assert pair.tx.send_message(parts, flags=ltp.TOLERANT, critical=critical) == size
        check_message(got.result(), data)


def test_maps_are_equal(pair: lab.Pair) -> None:
    """Cut tails, wherever they are; the critical head is always there."""
    pair.tx_host.netem("rate 100mbit delay 1ms loss 2%", seed=3)
    pair.tx.set(ltp.REPORTS, 1)
    pair.rx.want_control().set_thresholds(500000, 3000, 12000)
    data = blob(200 * SEG)
    holes = set()
    for tag in range(lab.scaled(60, 15)):
        pair.tx.send_message(data, tag=tag, flags=ltp.TOLERANT, critical=4 * SEG)
        got = pair.rx.receive(len(data))
        check_message(got, data)
        report, segments, _ = wait_report(pair.tx, 300)
        assert (report.tag, report.reason) == (tag, got.rcvinfo.reason)
        assert segments == got.rcvmap
        missing = got.rcvmap.missing()
        assert not missing or min(missing) >= 4
        holes.update(missing)
    assert any(hole < 50 for hole in holes)


def test_splice(pair: lab.Pair) -> None:
    """sendfile(): what the kernel gives is sent as well."""
    data = blob(300000)
    reader, writer = os.pipe()
    got = pair.net.background(pair.rx.want_control().receive, 300000)
    with os.fdopen(reader, "rb") as source, os.fdopen(writer, "wb") as sink:
        sink.write(data[:50000])
        sink.flush()
        # Reliable: splice() cannot say otherwise. It goes through the same code.
        moved = os.splice(source.fileno(), pair.tx.fileno(), 50000)
    same(got.result().data, data[:moved])


# ---- a call that ends in the middle


def blocked(net: lab.Net) -> tuple[ltp.Socket, Assoc, calls.Caller, memoryview]:
    """A send of a moving message that waits for room."""
    sock, assoc = silent_peer(net)
    sock.set_timeouts(0)
    sock.set(ltp.REPORTS, 1)
    space = buffer(MIB)
    space[:] = blob(MIB)
    piece = [(calls.address_of(space), MIB)]
    caller = calls.Caller(calls.sendmsg, sock, piece, TOLERANT)

    def waits() -> bool:
        """Killable, not interruptible: it is in state D."""
        with open(f"/proc/self/task/{caller.tid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] == "D"

    lab.until(lambda: caller.tid and sock.info().unsent > 0 and waits(), "it waits")
    return sock, assoc, caller, space


def test_a_signal_does_not_cut_it(net: lab.Net) -> None:
    """Its handler runs when the message has been taken over."""
    sock, assoc, caller, space = blocked(net)
    with calls.quiet_signal(restart=False):
        caller.interrupt()
        packets = first_transmissions(assoc, -(-MIB // SEG))
        assert caller.end() == MIB
    assert [packet.seg for packet in packets] == order_of(packets[0].flow, len(packets))
    assert b"".join(p.tail for p in sorted(packets, key=lambda p: p.seg)) == bytes(space)
    assert sock.send(b"next") == 4


def test_interrupted_before_it_begins(net: lab.Net) -> None:
    """As any other: EINTR, and no message was begun."""
    sock, _ = silent_peer(net)
    sock.set_timeouts(0)
    while calls.error_of(sock.send, bytes(SEG), socket.MSG_DONTWAIT) == 0:
        pass
    count = sock.info().flows_out
    space = buffer(MIB)
    piece = [(calls.address_of(space), MIB)]
    with calls.quiet_signal(restart=False):
        caller = calls.Caller(calls.sendmsg, sock, piece, TOLERANT).wait_asleep()
        caller.interrupt()
        assert caller.end() == -errno.EINTR
    assert sock.info().flows_out == count


def test_reset_in_the_middle(net: lab.Net) -> None:
    """What was taken is no prefix: it is an error, never a short count."""
    sock, assoc, caller, _ = blocked(net)
    assoc.send(wire.RESET, body_tag=assoc.my_tag)
    assert caller.end() == -errno.ECONNRESET
    assert calls.error_of(sock.send, b"x") == errno.EPIPE


def test_shutdown_in_the_middle(net: lab.Net) -> None:
    """By another thread: the message is given up."""
    sock, assoc, caller, _ = blocked(net)
    sock.shutdown(socket.SHUT_WR)
    assert caller.end() == -errno.EPIPE
    assert assoc.receive(wire.GIVEUP).flags == wire.TOLERANT
    assert sock.info().unsent == 0


def test_closed_early_in_the_middle(net: lab.Net) -> None:
    """The receiver has enough: the rest is swallowed, and the call succeeds."""
    sock, assoc, caller, _ = blocked(net)
    data = assoc.receive(wire.DATA)
    segs = -(-MIB // SEG)
    close = {
        "flow": data.flow,
        "missing": segs - 1,
        "part": 0,
        "parts": 1,
        "received": SEG,
        "reason": ltp.DEADLINE,
    }
    ranges = [(0, data.seg), (data.seg + 1, segs - data.seg - 1)]
    ranges = [one for one in ranges if one[1]]
    tail = b"".join(first.to_bytes(4, "big") + count.to_bytes(4, "big") for first, count in ranges)
    packet = assoc.packet(wire.CLOSE, **close, ranges=len(ranges))
    assoc.wire.send(packet.with_tail(tail))
    assert caller.end() == MIB
    report, segments, _ = wait_report(sock, MIB)
    assert report.reason == ltp.DEADLINE
    assert segments.count() == 1 and segments.arrived(data.seg)
    assert sock.send(b"next") == 4


def test_given_up_in_the_middle(net: lab.Net) -> None:
    """By its own time: swallowed as well."""
    sock, assoc = silent_peer(net)
    sock.set_timeouts(0)
    sent = net.background(sock.send_message, blob(MIB), flags=ltp.TOLERANT, giveup_us=20000)
    assoc.receive(wire.GIVEUP)
    assert sent.result() == MIB


KILLED = """
import sys
sys.path.insert(0, {repo!r})
from tests.net import lab, ltp
sock = ltp.Socket(3)
sock.send_message(bytes({size}), flags=ltp.TOLERANT)
"""


def test_killed_in_the_middle(net: lab.Net) -> None:
    """It dies at once, and its message is given up."""
    sock, assoc = silent_peer(net)
    sock.set_timeouts(0)
    os.set_inheritable(sock.fileno(), True)
    code = KILLED.format(repo=str(Path(__file__).resolve().parents[2]), size=MANY)
    fd = sock.fileno()
    with subprocess.Popen(
        [sys.executable, "-c", code], preexec_fn=lambda: os.dup2(fd, 3), pass_fds=[3, fd]
    ) as child:
        assoc.receive(wire.DATA, 60)

        def asleep() -> bool:
            with open(f"/proc/{child.pid}/stat", encoding="ascii") as file:
                return file.read().rpartition(")")[2].split()[0] == "D"

        lab.until(asleep, "it waits for room")
        child.send_signal(signal.SIGKILL)
        assert child.wait(30 * lab.SLOW) == -signal.SIGKILL
    assert assoc.receive(wire.GIVEUP).flags == wire.TOLERANT
    # The socket is not the dead one's alone: the next message is a new one.
    assert sock.send_message(b"next", socket.MSG_DONTWAIT) == 4


def test_fault(pair: lab.Pair) -> None:
    """A buffer of which a part is not there is taken in order, up to that part."""
    space = buffer(16 * 4096)
    address = calls.address_of(space)
    assert lab.libc.munmap(ctypes.c_void_p(address + 8 * 4096), 4096) == 0
    sent = calls.sendmsg(pair.tx, [(address, 16 * 4096)], TOLERANT)
    assert sent == 8 * 4096 // SEG * SEG


# ---- the option


def test_option(net: lab.Net) -> None:
    sock = net.alone().socket()
    assert sock.get(ltp.MOVING_START) == 1
    for value in (0, 1, 0):
        sock.set(ltp.MOVING_START, value)
        assert sock.get(ltp.MOVING_START) == value
    for bad in (2, -1):
        assert calls.error_of(sock.set, ltp.MOVING_START, bad) == errno.EINVAL
