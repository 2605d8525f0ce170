# SPDX-License-Identifier: GPL-2.0
"""Tens of thousands of damaged packets with the right tags: data still flows afterwards."""
import random

import pytest

from tests.net import lab, ltp, wire
from tests.net.peer import Assoc, Wire
from tests.net.wire import Packet

EDGES = (0, 1, 2, 31, 32, 33, 63, 64, 255, 256, 1024, 1424, 65408, 65535, 1 << 31, (1 << 32) - 1)
# A right RESET would end the association, and so would a FIN; that is tested elsewhere.
KINDS = [kind for kind in wire.NAMES if kind not in (wire.RESET, wire.FIN)]


def plausible(rng: random.Random, assoc: Assoc, kind: int, host_pn: int) -> Packet:
    """A packet of the association whose fields are near the truth, or at an edge, or anything."""
    fields: dict[str, int] = {}
    for name, letter in wire.layout(kind).items():
        if name in wire.HEADER:
            continue
        bits = {"B": 8, "H": 16, "I": 32, "Q": 64}[letter]
        near = {
            "flow": rng.choice((assoc.flow, assoc.host_flow)) + rng.randrange(-3, 6),
            "len": rng.randrange(1, 20000),
            "seg": rng.randrange(0, 20),
            "seg_size": rng.choice((256, 1024, 1424)),
            "acked_pn": host_pn - rng.randrange(0, 50),
            "base": rng.randrange(0, 10),
            "words": rng.randrange(0, 4),
            "parts": rng.randrange(0, 3),
            "ranges": rng.randrange(0, 4),
            "reason": rng.randrange(0, 6),
            "missing": rng.randrange(0, 8),
        }
        pick = rng.random()
        if pick < 0.6:
            value = near.get(name, 0)
        elif pick < 0.9:
            value = rng.choice(EDGES)
        else:
            value = rng.getrandbits(bits)
        fields[name] = value & (1 << bits) - 1
    tail = b""
    if kind == wire.DATA:
        size = min(fields["seg_size"], 1424)
        tail = rng.randbytes(size)
        if rng.random() < 0.8:
            fields |= {"len": size * 4, "seg_size": size, "seg": rng.randrange(5), "group": 0}
            fields |= {"ncrit": 0}
    elif kind == wire.ACK:
        tail = rng.randbytes(4 * min(fields["words"], 40))
        fields["reserved"] = 0
    elif kind == wire.CLOSE:
        tail = wire.ranges(
            *((rng.randrange(8), rng.randrange(3)) for _ in range(min(fields["ranges"], 80)))
        )
    elif kind in (wire.INIT, wire.PING):
        tail = bytes(rng.choice((wire.PADDING, 0, 700)))
    packet = assoc.packet(kind, **fields).with_tail(tail)
    if rng.random() < 0.3:
        packet = packet.but(flags=rng.getrandbits(4))
    if kind == wire.INIT:
        packet = packet.but(tag=0)
    return packet


def mutate(rng: random.Random, data: bytes) -> bytes:
    """Bits flipped, bytes cut off or added; ports and tag are left alone most of the time."""
    changed = bytearray(data)
    for _ in range(rng.choice((0, 0, 1, 1, 2, 8))):
        at = rng.randrange(8 if rng.random() < 0.95 else 0, len(changed))
        changed[at] = rng.choice((changed[at] ^ 1 << rng.randrange(8), rng.getrandbits(8)))
    pick = rng.random()
    if pick < 0.1:
        del changed[rng.randrange(len(changed)):]
    elif pick < 0.2:
        changed += rng.randbytes(rng.randrange(1, 100))
    return bytes(changed[:1480])


@pytest.mark.seconds(120)
@pytest.mark.parametrize("seed", range(2))
def test_damaged_packets(net: lab.Net, seed: int) -> None:
    """20,000 packets, then an association between real hosts' sockets, and this one, still work."""
    count = lab.scaled(20000, 4000) // 2
    rng = random.Random(seed)
    far = Wire(net)
    listener = far.host.listen()
    bystander = far.connect(7100)
    quiet, _ = listener.accept()
    net.sockets.append(quiet)
    assoc, sock, host_pn = None, None, 0
    restarts = 0
    with lab.Counting(far.host) as moved:
        for i in range(count):
            if sock is None or i % 100 == 0 and sock.info().state != ltp.ESTABLISHED:
                restarts += 1
                assoc = far.connect(7000, body_tag=rng.randrange(1, 1 << 32))
                sock, _ = listener.accept()
                net.sockets.append(sock)
                sock.setblocking(False)
                host_pn = 0
            assert assoc is not None
            if i % 50 == 0:
                drain(sock)
                for packet, _ in far.pending():
                    host_pn = packet.pn if packet.dest == 7000 else host_pn
            packet = plausible(rng, assoc, rng.choice(KINDS), host_pn)
            data = mutate(rng, packet.pack(far.addr, far.host_addr))
            if rng.random() < 0.95:
                data = wire.seal(data, far.addr, far.host_addr)
            far.send_raw(data)
        drops = moved.drops()
        assert moved["InPackets"] >= count
        assert len(drops) > 10, drops
    assert restarts < count // 100
    bystander.alive()
    bystander.send_data(b"still here", [0])
    assert quiet.recv(100) == b"still here"
    fresh = far.connect(7200)
    last, _ = listener.accept()
    net.sockets.append(last)
    fresh.send_data(b"and a new one", [0])
    assert last.recv(100) == b"and a new one"


def drain(sock: ltp.Socket) -> None:
    """What a program might do meanwhile: read, and send."""
    try:
        for _ in range(10):
            sock.recv(4096)
    except OSError:
        pass
    try:
        sock.send_message(bytes(4000), flags=ltp.TOLERANT)
    except OSError:
        pass
