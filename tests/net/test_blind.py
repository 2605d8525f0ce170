# SPDX-License-Identifier: GPL-2.0
"""Somebody who is not on the path and does not know the tags cannot disturb an association.

    +-----------+     +--------+     +-----------+
    | 10.1.0.1  |-----|  br0   |-----| 10.1.0.2  |
    | rx        |     +---+----+     | tx        |
    +-----------+         |          +-----------+
                    +-----------+
                    | 10.1.0.3  |
                    | forger    |
                    +-----------+
"""
import random
import socket

import pytest

from tests.net import lab, ltp, wire
from tests.net.data import blob, buffer, check_message
from tests.net.lab import MIB
from tests.net.ways import ALL, over
from tests.net.wire import Packet

ETH_P_ALL = 3  # what leaves as well

pytestmark = over(ALL)


class Forger:
    """Sends packets in the name of others."""

    def __init__(self, host: lab.Host) -> None:
        self.sock = host.enter(
            lambda: socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
        )
        self.way = host.net.way
        self.sock.bind(("e0", self.way.ethertype))
        host.net.at_end(self.sock.close)

    def send(self, packet: Packet, source: lab.Host, target: lab.Host) -> None:
        saddr, daddr = (self.way.raw_addr(host.addr4) for host in (source, target))
        frame = self.way.frame(self.way.pack(packet, saddr, daddr), saddr, daddr)
        self.sock.sendto(frame, ("e0", self.way.ethertype, 0, 0, target.mac()))


class Ears:
    """Hears a host's link: what one learns who is on the path."""

    def __init__(self, host: lab.Host) -> None:
        self.sock = host.enter(
            lambda: socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
        )
        self.way = host.net.way
        self.sock.bind(("e0", ETH_P_ALL))
        host.net.at_end(self.sock.close)

    def first(self, kind: int) -> Packet:
        while True:
            data, addr = self.sock.recvfrom(70000)
            if addr[1] != self.way.ethertype or (got := self.way.unframe(data)) is None:
                continue
            if got[2][8] == kind:
                return wire.parse(got[2])


def packets(rng: random.Random, source: int, dest: int) -> list[Packet]:
    """One of each type, without the right tags; the rest is as good as can be."""
    ports = {"source": source, "dest": dest}
    tag = rng.randrange(1, 1 << 32)
    flow = rng.randrange(1 << 32)
    head = ports | {"tag": tag, "pn": rng.randrange(1 << 32)}
    window = {"rwnd": 0, "rwnd_later": 0, "flow_limit": flow}
    return [
        Packet(wire.DATA, head | {"flow": flow, "len": 16, "seg_size": 16}, bytes(16)),
        Packet(wire.ACK, head | {"flow": flow, "base": 1} | window),
        Packet(
            wire.CLOSE,
            head | {"flow": flow, "missing": 1, "parts": 1, "reason": 2, "ranges": 1},
            wire.ranges((0, 1)),
        ),
        Packet(wire.CLOSE_ACK, head | {"flow": flow}),
        Packet(
            wire.GIVEUP, head | {"flags": wire.TOLERANT, "flow": flow, "len": 16, "seg_size": 16}
        ),
        Packet(wire.FIN, head | {"flow": flow}),
        Packet(wire.FIN_ACK, head),
        Packet(wire.RESET, head | {"body_tag": rng.randrange(1 << 32)}),
        Packet(wire.RESET, head | {"flags": wire.REFLECT}),
        Packet(wire.PING, head | {"token": 1} | window),
        Packet(wire.PONG, head | window),
        Packet(wire.COOKIE_ACK, head),
    ]


def test_forged_packets(net: lab.Net) -> None:
    """All types, at both ends, while a message is under way."""
    rx_host, tx_host, third = net.star(3)
    pair = lab.Pair(rx_host, tx_host)
    forger = Forger(third)
    rng = random.Random(1)
    tx_host.netem("rate 100mbit")
    data = blob(4 * MIB)
    port = pair.tx.getsockname()[1]
    with lab.Counting(rx_host, tx_host) as moved:
        sent = net.background(pair.tx.send_message, data, tag=5)
        received = net.background(pair.rx.want_control().receive_into, buffer(len(data)))
        count = 0
        while not received.done() and count < 3000:
            for packet in packets(rng, port, 5000):
                forger.send(packet, tx_host, rx_host)
            for packet in packets(rng, 5000, port):
                forger.send(packet, rx_host, tx_host)
            count += 24
        check_message(received.result(), data)
        assert sent.result() == len(data)
        # One that came while a system call had the socket may have found the backlog full.
        lab.until(lambda: sum(moved.drops().values()) >= count, "all forged packets are dropped")
        assert moved["DropTag"] >= count * 9 // 10
        assert moved["AssocReset"] == 0
        # What the sender itself sent once too often may come after the end of its flow.
        assert moved["DropFlowClosed"] <= moved["Retransmitted"]
        late = {"DropSocketBacklog", "DropRcvbuf", "DropFlowClosed"}
        assert set(moved.drops()) <= {"DropTag"} | late
    assert pair.rx.info().state == pair.tx.info().state == ltp.ESTABLISHED


def test_reset_needs_both_tags(net: lab.Net) -> None:
    """One tag, or both in the wrong places, is not enough; both are."""
    rx_host, tx_host, third = net.star(3)
    pair = lab.Pair(rx_host, tx_host)
    forger, ears = Forger(third), Ears(rx_host)
    pair.tx.send(b"hello")
    pair.rx.recv(10)
    to_rx, to_tx = ears.first(wire.DATA).tag, ears.first(wire.ACK).tag
    port = pair.tx.getsockname()[1]
    reset = Packet(wire.RESET, {"source": port, "dest": 5000})
    with lab.Counting(rx_host) as moved:
        for tag, body_tag in ((to_rx, 0), (to_rx, to_rx), (to_tx, to_tx), (to_tx, to_rx)):
            forger.send(reset.but(tag=tag, body_tag=body_tag), tx_host, rx_host)
        forger.send(
            Packet(wire.RESET, reset.fields | {"tag": to_rx, "flags": wire.REFLECT}),
            tx_host,
            rx_host,
        )
        lab.until(lambda: moved["DropTag"] == 5, "all are dropped")
        assert pair.rx.info().state == ltp.ESTABLISHED
        forger.send(reset.but(tag=to_rx, body_tag=to_tx), tx_host, rx_host)
        lab.until(lambda: moved["AssocReset"] == 1, "the right one is believed")
    with pytest.raises(ConnectionResetError):
        pair.rx.recv(10)


def test_replayed_handshake(net: lab.Net) -> None:
    """The packets that made an association, sent again by a third, make and break nothing."""
    rx_host, tx_host, third = net.star(3)
    ears = Ears(rx_host)
    pair = lab.Pair(rx_host, tx_host)
    forger = Forger(third)
    shaken = {
        kind: ears.first(kind)
        for kind in (wire.INIT, wire.INIT_ACK, wire.COOKIE_ECHO, wire.COOKIE_ACK)
    }
    with lab.Counting(rx_host, tx_host) as moved:
        for _ in range(50):
            forger.send(shaken[wire.INIT], tx_host, rx_host)
            forger.send(shaken[wire.COOKIE_ECHO], tx_host, rx_host)
            forger.send(shaken[wire.INIT_ACK], rx_host, tx_host)
            forger.send(shaken[wire.COOKIE_ACK], rx_host, tx_host)
        # The listener answers each INIT; nobody waits for those answers, or for the replayed one.
        lab.until(lambda: moved["DropState"] == 100, "none of it is believed")
        assert moved["AssocEstablished"] == 0
    assert len(rx_host.family.assocs()) == len(tx_host.family.assocs()) == 1
    pair.tx.send(b"hello")
    assert pair.rx.recv(10) == b"hello"


def test_replayed_data(net: lab.Net) -> None:
    """Data and ACKs of the past, sent again by one who heard them, are duplicates and no more."""
    rx_host, tx_host, third = net.star(3)
    pair = lab.Pair(rx_host, tx_host)
    forger, ears = Forger(third), Ears(rx_host)
    pair.tx.send(b"one")
    assert pair.rx.recv(10) == b"one"
    data, ack = ears.first(wire.DATA), ears.first(wire.ACK)
    pair.tx.send(b"two")
    assert pair.rx.recv(10) == b"two"
    with lab.Counting(rx_host, tx_host) as moved:
        for _ in range(50):
            forger.send(data, tx_host, rx_host)
            forger.send(ack, rx_host, tx_host)
        lab.until(lambda: moved["DropFlowClosed"] == 50, "the data is dropped")
        assert moved["InData"] == 0
    assert pair.rx.info().flows_in == 0
    pair.tx.send(b"three")
    assert pair.rx.recv(10) == b"three"
