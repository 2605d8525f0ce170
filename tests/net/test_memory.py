# SPDX-License-Identifier: GPL-2.0
"""How much memory of the kernel a message needs, and that all of it comes back."""
import errno
import select
import socket
import struct
import threading
import time

import pytest

from tests.net import calls, lab, ltp, wire
from tests.net.data import BLOCK, blob, buffer, same
from tests.net.lab import MIB
from tests.net.peer import Wire


def pages_of_protocol() -> int:
    """What the line of /proc/net/protocols says: pages charged to all LTP sockets."""
    with open("/proc/net/protocols", encoding="ascii") as file:
        return int(next(line.split()[3] for line in file if line.startswith("LTP ")))


def kernel_memory() -> int:
    """Bytes that neither programs nor the page cache have."""
    with open("/proc/meminfo", encoding="ascii") as file:
        info = {line.split(":")[0]: int(line.split()[1]) << 10 for line in file}
    names = ("MemFree", "Buffers", "Cached", "AnonPages")
    return info["MemTotal"] - sum(info[name] for name in names)


class Sampler:
    """Looks at a receiver again and again, and remembers the largest of each."""

    def __init__(self, sock: ltp.Socket) -> None:
        self.sock = sock
        self.start = kernel_memory()
        self.socket = self.pages = self.kernel = self.count = 0
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        while not self.stop.is_set():
            info = self.sock.meminfo()
            self.socket = max(self.socket, info.rmem_alloc + info.backlog + info.fwd_alloc)
            self.pages = max(self.pages, pages_of_protocol())
            self.kernel = max(self.kernel, kernel_memory() - self.start)
            self.count += 1
            time.sleep(0.005)

    def done(self) -> None:
        self.stop.set()
        self.thread.join()


@pytest.mark.seconds(120)
def test_500_mb_message(pair: lab.Pair) -> None:
    """Identical, and the receiver's kernel needs less than 16 MB for it."""
    blocks = lab.scaled(500, 40)
    size = blocks * BLOCK - 77
    block = blob(BLOCK)
    space = buffer(size)
    source = bytearray(block)
    where = [(calls.address_of(source), BLOCK)] * (blocks - 1)
    where += [(calls.address_of(source), BLOCK - 77)]
    sampler = Sampler(pair.rx)
    sent = pair.net.background(calls.sendmsg, pair.tx, where)
    got = calls.recvmsg(pair.rx, [(calls.address_of(space), size)])
    sampler.done()
    assert got == sent.result() == size
    for at in range(0, size, BLOCK):
        same(space[at:at + BLOCK], block[:min(BLOCK, size - at)])
    assert sampler.count > 3
    assert sampler.socket < 16 * MIB
    # Sender and receiver together, each has a buffer of 8 MB.
    assert sampler.pages < 2 * 16 * MIB // 4096
    assert sampler.kernel < 2 * 16 * MIB


def test_all_comes_back(net: lab.Net) -> None:
    """After many associations ended in all ways no socket and no page is left."""
    pair = net.pair()
    before = pages_of_protocol()
    for i in range(lab.scaled(100, 30)):
        rx, tx = pair.more()
        tx.setblocking(False)
        tx.send_message(bytes(MIB), flags=ltp.TOLERANT * (i & 1))
        if i % 3 == 1:
            rx.recv(MIB)
        if i % 5 == 2:
            tx.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("=ii", 1, 0))
        (rx if i % 2 else tx).close()
        (tx if i % 2 else rx).close()
    hosts = [pair.rx_host, pair.tx_host]
    lab.until(lambda: [len(host.family.assocs()) for host in hosts] == [1, 1], "all others ended")
    lab.until(lambda: pages_of_protocol() <= before + 64, "their memory is given back")


def test_later_flows_have_a_half(net: lab.Net) -> None:
    """A buffer full of later flows still has room for the one that the reader needs."""
    far = Wire(net)
    far.host.family.set_config(rcvbuf=256 << 10)
    sock, assoc = far.accepted()
    with lab.Counting(far.host) as moved:
        for flow in range(1, 400):
            assoc.send_data(bytes(1024), [0], flow=assoc.flow + flow)
        assert moved["DropRcvbuf"] > 0
        assert sock.meminfo().rmem_alloc <= 128 << 10
        assoc.send_data(bytes(20 * 1024), list(range(20)))
        assert moved["ClosedComplete"] > 1
    assert sock.recv(1 << 20) == bytes(20 * 1024)


def test_cheap_flows_are_charged(net: lab.Net) -> None:
    """Flows of one byte and flows with large maps cannot take more than the buffer."""
    far = Wire(net)
    far.host.family.set_config(rcvbuf=64 << 10)
    sock, assoc = far.accepted()
    with lab.Counting(far.host) as moved:
        for flow in range(1000):
            head = assoc.packet(
                wire.DATA, flow=assoc.flow + flow, len=ltp.U32_MAX, seg=1, seg_size=256
            )
            far.send(head.with_tail(bytes(256)))
        # A map of 16 million segments is 2 MB: only the first flow is let in without room.
        assert moved["FlowsReceived"] == 1
        assert moved["DropRcvbuf"] == 999
        for flow in range(1000):
            assoc.send_data(b"x", [0], flow=assoc.flow + 1 + flow)
        assert moved["FlowsReceived"] < 200
    info = sock.meminfo()
    assert info.rmem_alloc <= 64 << 10


def test_ack_and_close_of_a_huge_flow(net: lab.Net) -> None:
    """The largest flow there can be: 16777216 segments, almost all of them missing."""
    far = Wire(net)
    sock, assoc = far.accepted()
    fields = {
        "flags": wire.TOLERANT,
        "flow": assoc.flow,
        "len": ltp.U32_MAX,
        "seg_size": 256,
    }
    for seg in (0, 5, 1 << 20, (1 << 24) - 2):
        far.send(assoc.packet(wire.DATA, seg=seg, **fields).with_tail(bytes(256)))
    assert sock.info().flows_in == 1
    assoc.wire.flush()
    assoc.send(wire.GIVEUP, **fields)
    close = assoc.receive(wire.CLOSE)
    assert close.missing == (1 << 24) - 4
    assert close.pairs == [
        (1, 4),
        (6, (1 << 20) - 6),
        ((1 << 20) + 1, (1 << 24) - 2 - (1 << 20) - 1),
        ((1 << 24) - 1, 1),
    ]
    sock.want_control()
    got = sock.receive_into(bytearray(100), 100)
    assert got.rcvinfo.length == ltp.U32_MAX
    assert got.rcvinfo.received == 4 * 256


# ---- what all sockets together may have


def fill_memory(net: lab.Net) -> ltp.Socket:
    """A socket that has all the memory there is for LTP: its peer takes nothing."""
    far = Wire(net)
    sock, _ = far.accepted(rwnd=1)
    sock.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 30)
    space = buffer(4 * MIB)
    where = [(calls.address_of(space), 4 * MIB)] * 500
    assert 0 < calls.sendmsg(sock, where, flags=socket.MSG_DONTWAIT) < 500 * 4 * MIB
    assert calls.error_of(sock.send, bytes(MIB), socket.MSG_DONTWAIT) == errno.EAGAIN
    assert sock.meminfo().wmem_queued < sock.meminfo().sndbuf // 2  # that is not what was full
    return sock


def reset(sock: ltp.Socket) -> None:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("=ii", 1, 0))
    sock.close()


SO_SNDBUFFORCE = 32


@pytest.mark.seconds(120)
def test_send_waits_for_memory(pair: lab.Pair) -> None:
    """Never ENOBUFS: it waits, or says EAGAIN, and nothing of the message is lost or twice."""
    hog = fill_memory(pair.net)
    try:
        assert calls.error_of(pair.tx.send, b"x", socket.MSG_DONTWAIT) == errno.EAGAIN
        pair.tx.set_timeouts(0.1)
        start = time.monotonic()
        assert calls.error_of(pair.tx.send, b"x") == errno.EAGAIN
        assert time.monotonic() - start >= 0.09
        assert pair.tx.info().flows_out == 0
        pair.tx.set_timeouts(30 * lab.SLOW)
        space = bytearray(blob(MIB))
        where = [(calls.address_of(space), MIB)]
        with calls.quiet_signal(restart=False):
            caller = calls.Caller(calls.sendmsg, pair.tx, where).wait_asleep()
            caller.interrupt()
            assert caller.end() == -errno.EINTR
        assert pair.tx.info().flows_out == 0
        caller = calls.Caller(calls.sendmsg, pair.tx, where).wait_asleep()
    finally:
        reset(hog)
    same(pair.rx.receive(MIB).data, blob(MIB))
    assert caller.end() == MIB


@pytest.mark.seconds(120)
def test_poll_and_memory(pair: lab.Pair) -> None:
    """One that polls is not told again and again to try what fails."""
    hog = fill_memory(pair.net)
    pair.tx.setblocking(False)
    poll = select.poll()
    poll.register(pair.tx, select.POLLOUT)
    try:
        tries = 0
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            if poll.poll(100):
                assert calls.error_of(pair.tx.send, b"x") == errno.EAGAIN
                tries += 1
        assert 1 < tries <= 26  # a try each 20 ms
        assert calls.error_of(pair.tx.send, b"x") == errno.EAGAIN
    finally:
        reset(hog)
    assert poll.poll(10000 * lab.SLOW)
    assert pair.tx.send(b"x") == 1
    assert pair.rx.recv(10) == b"x"


@pytest.mark.seconds(120)
def test_blocked_sender_without_memory_and_the_end(net: lab.Net) -> None:
    far = Wire(net)
    sock, assoc = far.accepted()
    hog = fill_memory(net)
    try:
        space = bytearray(100)
        where = [(calls.address_of(space), 100)]
        caller = calls.Caller(calls.sendmsg, sock, where).wait_asleep()
        assoc.send(wire.RESET, body_tag=assoc.my_tag)
        assert caller.end() == -errno.ECONNRESET
    finally:
        reset(hog)


@pytest.mark.seconds(120)
def test_receive_without_memory(net: lab.Net) -> None:
    """A message is read all the same, bit by bit: who waits is never waited for in vain."""
    far = Wire(net)
    sock, assoc = far.accepted()
    data = blob(50 * 1024)
    hog = fill_memory(net)
    try:
        with lab.Counting(far.host) as moved:
            received = net.background(sock.receive, len(data))

            def again() -> bool:
                assoc.send_data(bytes(data), list(range(50)))
                return received.done()

            lab.until(again, "all segments have come in")
            assert moved["DropMemory"] > 0
        same(received.result().data, data)
        # One for nobody to read yet is not needed.
        assoc.send_data(bytes(2048), [0], flow=assoc.flow + 2)
        assert sock.info().bytes_received <= len(data) + 1024
    finally:
        reset(hog)
