# SPDX-License-Identifier: GPL-2.0
"""Which congestion control an association has, and that data arrives whichever it is."""
import socket

import pytest

from tests.net import lab, ltp
from tests.net.data import blob, buffer, check_message, same
from tests.net.lab import MIB

NAMES = ["bdp", "reno"]


def carry(pair: lab.Pair, size: int) -> None:
    data = blob(size)
    sent = pair.net.background(pair.tx.send_message, data)
    check_message(pair.rx.want_control().receive_into(buffer(size)), data)
    assert sent.result() == size


@pytest.mark.parametrize("what", ["loss 1%", "loss 10%", "duplicate 20%", "delay 2ms 1500us"])
def test_reno_over_a_bad_link(net: lab.Net, what: str) -> None:
    rx_host, tx_host = net.link()
    for host in rx_host, tx_host:
        host.family.set_config(cc="reno")
    pair = lab.Pair(rx_host, tx_host)
    tx_host.netem(what, seed=11)
    rx_host.netem(what, seed=12)
    assert (pair.tx.congestion(), pair.rx.congestion()) == ("reno", "reno")
    with lab.Counting(tx_host) as moved:
        carry(pair, lab.scaled(4 * MIB, MIB))
        assert (moved["LossVerdicts"] > 0) == ("loss" in what or moved["Spurious"] > 0)
    for i in range(10):
        pair.rx.send_message(blob(MIB)[i:5000 + i])
        same(pair.tx.receive(5000).data, blob(MIB)[i:5000 + i])


def test_of_the_namespace(net: lab.Net) -> None:
    """New sockets have it, those that are there keep theirs."""
    host = net.alone()
    old = host.socket()
    host.ltpctl("set", "cc", "reno")
    assert old.congestion() == "bdp"
    assert host.socket().congestion() == "reno"
    assert host.family.config()["cc"] == "reno"
    assert net.alone().socket().congestion() == "bdp"


@pytest.mark.parametrize("name", NAMES)
def test_accepted_sockets_have_the_listeners(net: lab.Net, name: str) -> None:
    """As it was when the association came to be; the peer's is the peer's own."""
    host = net.alone()
    pair = lab.Pair(host, host)
    pair.listener.set(ltp.CONGESTION, name.encode())
    rx, tx = pair.more()
    assert (rx.congestion(), tx.congestion()) == (name, "bdp")
    pair.listener.set(ltp.CONGESTION, b"bdp")
    assert rx.congestion() == name
    assert pair.listener.congestion() == "bdp"
    tx.set(ltp.CONGESTION, b"reno")
    shown: dict[int, list[str]] = {}
    for assoc in host.family.assocs():
        shown.setdefault(socket.ntohs(assoc["local_port"]), []).append(assoc["cc"])
    assert shown[tx.getsockname()[1]] == ["reno"]
    assert sorted(shown[rx.getsockname()[1]]) == sorted(["bdp", name])
    assert f"cc {name}" in host.ltpctl("assoc", "show")


def test_before_connecting(pair: lab.Pair) -> None:
    sock = pair.tx_host.socket()
    sock.set(ltp.CONGESTION, b"reno")
    sock.connect(pair.listener.getsockname())
    assert sock.congestion() == "reno"
    assert sock.info().cwnd == 10 * sock.info().seg_size
    assert sock.info().btlbw == 0


def test_right_after_connecting(pair: lab.Pair) -> None:
    """Nothing was sent: as if it had been so from the beginning."""
    before = pair.tx.info()
    pair.tx.set(ltp.CONGESTION, b"reno")
    assert pair.tx.info().cwnd == before.cwnd
    carry(pair, 2 * MIB)
    # In congestion avoidance it would have grown by a segment a round trip.
    assert pair.tx.info().cwnd > 2 * before.cwnd


def test_under_way(pair: lab.Pair) -> None:
    """Changed again and again while a message is sent; kunit/cc_reno_test.c looks at the window."""
    pair.tx_host.netem("rate 20mbit delay 1ms")
    size = 4 * MIB
    data = blob(size)
    sent = pair.net.background(pair.tx.send_message, data)
    received = pair.net.background(pair.rx.want_control().receive_into, buffer(size))
    for i in range(8):
        goal = size // 16 * (i + 1)
        lab.until(lambda: pair.tx.info().bytes_acked >= goal, "some of it came")
        name = NAMES[(i + 1) % 2]
        pair.tx.set(ltp.CONGESTION, name.encode())
        assert pair.tx.congestion() == name
        assert pair.tx.info().pacing_rate > 0
    check_message(received.result(), data)
    assert sent.result() == size
