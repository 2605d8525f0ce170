# SPDX-License-Identifier: GPL-2.0
"""LTP_INFO: each field, with a peer of which every packet is known."""
import errno
import re
import socket
import struct
from pathlib import Path

import pytest

from tests.net import calls, lab, ltp, wire
from tests.net.data import blob
from tests.net.lab import MIB
from tests.net.peer import Assoc, Wire

UAPI = Path(__file__).resolve().parents[2] / "uapi/linux/ltp.h"
NEVER = ltp.U32_MAX
SEG = ltp.seg_size(1500)


@pytest.fixture(name="far")
def fixture_far(net: lab.Net) -> Wire:
    return Wire(net)


def accepted(far: Wire, **fields: int) -> tuple[ltp.Socket, Assoc]:
    """With a round trip that is long enough for a peer in Python to answer before a tail probe."""
    far.host.netem(f"delay {60 * lab.SLOW}ms")
    sock, assoc = far.accepted(**fields)
    sock.setblocking(False)
    return sock, assoc


def ack(assoc: Assoc, data: wire.Packet, base: int, **fields: int) -> None:
    assoc.wire.send(assoc.ack(data, base, **fields))


def settle(assoc: Assoc, count: int) -> list[wire.Packet]:
    """That many DATA packets."""
    return [assoc.receive(wire.DATA) for _ in range(count)]


def test_layout() -> None:
    """The members of the header, in order, are those that the tests know."""
    text = UAPI.read_text(encoding="ascii")
    found = re.search(r"^struct ltp_info \{\n(.*?)^\}", text, re.M | re.S)
    assert found
    names = re.findall(r"\t__(?:u32|aligned_u64) (\w+);", found[1])
    assert tuple(names) == ltp.Info._fields
    letters = "".join("I" if kind == "u32" else "Q"
                      for kind in re.findall(r"\t__(u32|aligned_u64) ", found[1]))
    assert struct.calcsize("=" + letters) == ltp.INFO_FORMAT.size
    assert struct.calcsize("@" + letters) == ltp.INFO_FORMAT.size  # no hole, whoever compiles it


def test_fresh_socket(net: lab.Net) -> None:
    """Nothing but what a socket has that never did anything."""
    host = net.alone()
    never = {name: NEVER for name in ltp.Info._fields if name.startswith("last_")}
    zero = ltp.Info(*[0] * len(ltp.Info._fields))._replace(**never)
    assert host.socket().info() == zero
    assert host.listen().info() == zero._replace(state=ltp.LISTEN)


@pytest.mark.parametrize("room", [0, 1, 4, 7, 120, 128, 200])
def test_prefix(net: lab.Net, room: int) -> None:
    """Programs built with a shorter structure get its part, and are told so."""
    host = net.alone()
    pair = lab.Pair(host, host)
    value = pair.tx.getsockopt(ltp.SOL_LTP, ltp.INFO, room) if room else b""
    assert len(value) == min(room, ltp.INFO_FORMAT.size)
    if room >= 4:
        assert struct.unpack_from("=I", value)[0] == ltp.ESTABLISHED
    assert len(pair.tx.getsockopt(ltp.SOL_LTP, ltp.INFO, 1000)) == ltp.INFO_FORMAT.size


def test_states(far: Wire) -> None:
    sock = far.host.socket()
    sock.setblocking(False)
    assert sock.info().state == ltp.CLOSED
    sock.connect_ex(("10.1.0.2", 5000))
    assert sock.info().state == ltp.INIT_SENT
    init = far.receive(wire.INIT)
    ports = {"source": init.dest, "dest": init.source, "tag": init.body_tag}
    far.send(wire.Packet(wire.INIT_ACK, ports | far.params()))
    assert sock.info().state == ltp.COOKIE_SENT
    assert (sock.info().age_us, sock.info().pmtu) == (0, 0)
    assert sock.info().last_heard_us != NEVER
    far.send(wire.Packet(wire.COOKIE_ACK, ports))
    assert sock.info().state == ltp.ESTABLISHED
    far.send(wire.Packet(wire.FIN, ports | {"flow": 100}))
    assert sock.info().state == ltp.CLOSING
    far.send(wire.Packet(wire.RESET, ports | {"body_tag": 0x11111111}))
    assert sock.info().state == ltp.CLOSED
    assert sock.error() == 0  # the peer had said all, and nothing was on its way to it


def test_sending(far: Wire) -> None:
    """What was sent, what is in flight, what was lost: packet by packet."""
    sock, assoc = accepted(far, rwnd=3 * SEG)
    length = 5 * SEG + 7
    assert sock.send(bytes(length)) == length
    first = settle(assoc, 3)
    info = sock.info()
    assert (info.flows_out, info.flows_in) == (1, 0)
    assert (info.segments_out, info.bytes_sent, info.in_flight) == (3, 3 * SEG, 3 * SEG)
    assert (info.unsent, info.lost_unsent) == (2 * SEG + 7, 0)
    assert (info.bytes_acked, info.retransmitted, info.bytes_retransmitted) == (0, 0, 0)
    assert (info.lost, info.spurious) == (0, 0)
    assert (info.peer_window, info.peer_window_later) == (3 * SEG, 3 * SEG // 2)
    assert sock.unacknowledged() == info.unsent + info.in_flight
    assert sock.ioctl(ltp.SIOCOUTQNSD) == info.unsent
    assert info.last_data_sent_us < NEVER
    assert info.last_ack_received_us == info.last_data_received_us == NEVER
    # The first is acknowledged and the window closed.
    ack(assoc, first[0], 1, rwnd=0, rwnd_later=0, ceiling=7)
    info = sock.info()
    assert (info.bytes_acked, info.in_flight) == (SEG, 2 * SEG)
    assert (info.peer_window, info.peer_window_later) == (0, 0)
    assert info.ceiling == 7 * 1024
    assert info.last_ack_received_us < NEVER
    assert sock.unacknowledged() == info.unsent + info.in_flight == 4 * SEG + 7


def test_loss(far: Wire) -> None:
    """A verdict, a retransmission, and that it was wrong."""
    sock, assoc = accepted(far)
    assert sock.send(bytes(8 * SEG)) == 8 * SEG
    sent = settle(assoc, 8)
    # 1 to 7 came, 0 did not: that is more than three behind. The window holds its retransmission.
    ack(assoc, sent[7], 0, words=1, rwnd=0, rwnd_later=0)
    bits = wire.bitmap(*range(1, 8))
    far.send(assoc.ack(sent[7], 0, words=1, rwnd=0, rwnd_later=0).with_tail(bits))
    info = sock.info()
    assert (info.lost, info.lost_unsent, info.in_flight) == (1, SEG, 0)
    assert (info.unsent, info.bytes_acked) == (0, 7 * SEG)
    assert sock.unacknowledged() == info.lost_unsent
    assert info.retransmitted == 0
    assoc.send(wire.PONG, **assoc.window())
    again = assoc.receive(wire.DATA)
    assert again.seg == 0
    info = sock.info()
    assert (info.retransmitted, info.bytes_retransmitted) == (1, SEG)
    assert (info.segments_out, info.bytes_sent) == (9, 9 * SEG)
    assert (info.lost_unsent, info.in_flight) == (0, SEG)
    ack(assoc, again, 8)
    info = sock.info()
    assert (info.flows_out, info.in_flight, info.bytes_acked) == (0, 0, 8 * SEG)


def test_lost_segments_that_were_not(far: Wire) -> None:
    """A late ACK for a segment that was found lost: the verdict was wrong."""
    sock, assoc = accepted(far)
    assert sock.send(bytes(8 * SEG)) == 8 * SEG
    sent = settle(assoc, 8)
    bits = wire.bitmap(*range(1, 8))
    far.send(assoc.ack(sent[7], 0, words=1, rwnd=0, rwnd_later=0).with_tail(bits))
    assert (sock.info().lost, sock.info().spurious) == (1, 0)
    ack(assoc, sent[0], 8)
    assert (sock.info().lost, sock.info().spurious) == (1, 1)
    assert sock.info().lost_unsent == 0


def test_probes(far: Wire) -> None:
    """Tail probes are counted, and how many in vain since something came."""
    sock, assoc = accepted(far)
    sock.send(b"anybody?")
    assoc.receive(wire.DATA)
    assert (sock.info().probes, sock.info().backoff) == (0, 0)
    for count in (1, 2):
        probe = assoc.receive(wire.DATA)
        assert probe.flags & wire.ACK_NOW
        info = sock.info()
        assert (info.probes, info.backoff, info.retransmitted) == (count, count, count)
    ack(assoc, probe, 1)
    assert (sock.info().probes, sock.info().backoff) == (2, 0)


def test_what_is_dropped_is_neither(far: Wire) -> None:
    """A CLOSE, a give-up and a reset forget segments, sent or not."""
    sock, assoc = accepted(far, rwnd=2 * SEG)
    assert sock.send_message(bytes(6 * SEG), flags=ltp.TOLERANT) == 6 * SEG
    settle(assoc, 2)
    assert sock.info().unsent == 4 * SEG
    close = assoc.packet(wire.CLOSE, flow=assoc.host_flow, missing=6, parts=1, reason=2, ranges=1)
    far.send(close.with_tail(struct.pack("!II", 0, 6)))
    info = sock.info()
    assert (info.flows_out, info.unsent, info.in_flight, info.lost_unsent) == (0, 0, 0, 0)
    assert sock.send(bytes(6 * SEG)) == 6 * SEG
    assert sock.info().unsent == 5 * SEG  # the window of later flows is the half
    assoc.send(wire.RESET, body_tag=assoc.my_tag)
    info = sock.info()
    assert (info.unsent, info.in_flight, info.lost_unsent) == (0, 0, 0)


def test_receiving(far: Wire) -> None:
    sock, assoc = accepted(far)
    before = sock.info()
    assert before.last_data_received_us == NEVER
    assoc.send_data(bytes(3000), [0, 2, 0])
    assoc.send_data(b"x", [0], flow=assoc.flow + 1)
    info = sock.info()
    assert (info.segments_in, info.duplicates, info.flows_in) == (3, 1, 2)
    assert info.bytes_received == 1024 + 3000 - 2048 + 1
    assert info.last_data_received_us < 10_000_000
    assert info.last_heard_us <= info.last_data_received_us
    assert info.window < before.window
    assert info.window_later < info.window
    assoc.send_data(bytes(3000), [1])
    assert sock.recv(3000) == bytes(3000)
    assert sock.info().flows_in == 1
    assert sock.info().window > info.window


def test_windows(far: Wire) -> None:
    """What LTP_INFO says of the window is what a PONG says."""
    sock, assoc = accepted(far)
    assoc.send_data(bytes(30000), [0, 2, 4, 6])
    far.flush()
    assoc.send(wire.PING, token=1, **assoc.window())
    pong = assoc.receive(wire.PONG)
    info = sock.info()
    assert (info.window, info.window_later) == (pong.rwnd, pong.rwnd_later)


def test_pmtu(far: Wire) -> None:
    """The smaller of the path's and the peer's."""
    sock, _ = accepted(far)
    assert (sock.info().pmtu, sock.info().seg_size) == (1500, SEG)
    other = far.host.listen(5001)
    assoc = far.connect_with(port_cookie(far, 5001, mtu=1000), mtu=1000)
    narrow, _ = other.accept()
    far.net.sockets.append(narrow)
    assert (narrow.info().pmtu, narrow.info().seg_size) == (1000, ltp.seg_size(1000))
    assoc.alive()


def port_cookie(far: Wire, dest: int, **fields: int) -> wire.Packet:
    far.send(far.init(7001, dest, **fields))
    return far.receive(wire.INIT_ACK)


def test_paths(pair: lab.Pair) -> None:
    """Between real hosts: what was sent is what was received, and times agree with each other."""
    pair.tx_host.netem("delay 5ms")
    receiver, sender = pair.more()
    for _ in range(4):
        sent = pair.net.background(sender.send, blob(MIB))
        assert receiver.receive(MIB).size == MIB
        sent.result()
    lab.until(lambda: sender.info().flows_out == 0, "all is acknowledged")
    tx, rx = sender.info(), receiver.info()
    assert tx.state == rx.state == ltp.ESTABLISHED
    assert tx.bytes_acked == rx.bytes_received == 4 * MIB
    assert tx.bytes_sent == 4 * MIB + tx.bytes_retransmitted
    assert tx.segments_out >= rx.segments_in
    assert 5000 <= tx.min_rtt_us <= tx.srtt_us + 4 * tx.rttvar_us
    assert tx.rtprop_us >= 5000
    assert tx.btlbw > 0 and tx.pacing_rate > 0 and tx.cwnd >= 4 * tx.seg_size
    assert 0 < tx.busy_us <= tx.age_us
    assert tx.window_limited_us + tx.sndbuf_limited_us <= tx.busy_us
    assert rx.busy_us == rx.bytes_sent == 0
    assert tx.last_ack_received_us <= tx.last_data_sent_us
    assert tx.last_heard_us <= tx.last_ack_received_us
    assert rx.last_data_sent_us == rx.last_ack_received_us == NEVER


def test_what_holds_a_sender_back(far: Wire) -> None:
    """The peer's window, the send buffer, or nothing: where the time goes."""
    sock, assoc = accepted(far, rwnd=2 * SEG)
    assert sock.info().busy_us == 0
    sock.send(bytes(4 * SEG))
    sent = settle(assoc, 2)
    lab.until(lambda: sock.info().window_limited_us > 2000, "it waits for the window")
    info = sock.info()
    assert info.sndbuf_limited_us == 0
    ack(assoc, sent[1], 2)
    sent = settle(assoc, 2)
    lab.until(lambda: sock.info().busy_us > info.busy_us + 5000, "it waits for an ACK")
    limited = sock.info().window_limited_us
    ack(assoc, sent[1], 4)
    info = sock.info()
    assert (info.in_flight, info.sndbuf_limited_us) == (0, 0)
    assert info.window_limited_us == limited < info.busy_us
    assert sock.info().busy_us == info.busy_us  # idle: it stands
    # Now the buffer: all of it is in flight, and the program has more.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    assert 0 < sock.send(bytes(100 * SEG)) < 100 * SEG
    lab.until(lambda: sock.info().sndbuf_limited_us > 2000, "it waits for buffer")
    assert sock.info().window_limited_us == limited


def test_after_the_end(far: Wire) -> None:
    """Counters stay, what is in force does not."""
    sock, assoc = accepted(far)
    sock.send(b"hello")
    ack(assoc, assoc.receive(wire.DATA), 1)
    before = sock.info()
    assoc.send(wire.RESET, body_tag=assoc.my_tag)
    after = sock.info()
    assert (after.state, after.seg_size, after.pmtu, after.window) == (ltp.CLOSED, 0, 0, 0)
    for name in ("segments_out", "bytes_acked", "bytes_sent", "srtt_us", "min_rtt_us"):
        assert getattr(after, name) == getattr(before, name)
    assert after.busy_us == before.busy_us
    assert calls.error_of(sock.recv, 1) == errno.ECONNRESET
    assert lab.libc.connect(sock.fileno(), struct.pack("=H14x", 0), 16) == 0
    assert sock.info().bytes_sent == sock.info().age_us == 0
