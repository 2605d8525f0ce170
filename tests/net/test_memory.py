# SPDX-License-Identifier: GPL-2.0
"""How much memory of the kernel a message needs, and that all of it comes back."""
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
