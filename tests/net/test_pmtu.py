# SPDX-License-Identifier: GPL-2.0
"""Path MTU discovery: through a router, with ICMP and without, and against forgers."""
import errno
import socket
import time

import pytest

from tests.net import calls, lab, ltp, wire
from tests.net.data import blob, buffer, check_message
from tests.net.lab import MIB
from tests.net.narrow import (
    DO, DONT, INTERFACE, IP_MTU_DISCOVER, OMIT, PROBE, V6_DISCOVER, WANT, IcmpForger,
    Narrow, Seen, Tap, fragmented, quote,
)
from tests.net.test_reports import wait_report
from tests.net.ways import IPV4, IPV6, over
from tests.net.wire import Packet

SIZES = [1, 500, 5000, 65536, MIB]


pytestmark = over([IPV4, IPV6])


def full(path: Narrow, mtu: int) -> int:
    """The largest DATA packet on a path of that MTU."""
    return path.seg_size(mtu) + path.net.way.headers


def needs(net: lab.Net, mtu: int) -> None:
    if net.way.v6 and mtu < 1280:
        pytest.skip("no MTU of IPv6")


@pytest.mark.parametrize("mtu", [576, 1280, 1500, 9000, 65535])
def test_data_itself_confirms(net: lab.Net, mtu: int) -> None:
    """Where the path takes what the interface takes no probe is sent, and nothing fragmented."""
    needs(net, mtu)
    path = Narrow(net, mtu, mtu)
    tap = Tap(path.rx_host)
    with lab.Counting(path.tx_host, path.rx_host) as moved:
        for size in SIZES:
            got = path.carry(size)
            assert got.rcvmap.seg_size == path.seg_size(mtu)
        assert moved["PmtuProbes"] == moved["PmtuBlackHoles"] == moved["PmtuLost"] == 0
        assert moved.drops() == {}
        late = moved["TailProbes"]  # a busy machine: what is sent again may be cut
    packets = tap.data()
    assert packets and (late or not any(one.fragment for one in packets))
    # All but the first round trip carries don't-fragment.
    big = [one for one in packets if one.size > 576]
    assert late or all(one.df for one in big[len(big) // 2:])
    assert path.mtu() == path.tx.info().pmtu == mtu


@pytest.mark.parametrize("mtu", [576, 1000, 1280, 1400, 1492])
def test_icmp_passes(net: lab.Net, mtu: int) -> None:
    """The router says what it takes: the next flow's segments fit, and nothing is fragmented."""
    needs(net, mtu)
    path = Narrow(net)
    path.narrow(mtu)
    with lab.Counting(path.tx_host) as moved:
        got = path.carry(MIB)
        assert got.rcvmap.seg_size == path.seg_size(1500)
        if full(path, 1500) <= mtu:
            return
        assert moved["PmtuIcmp"] >= 1
        assert path.mtu() == mtu
        tap, before = Tap(path.rx_host), fragmented(path.router)
        for size in SIZES:
            got = path.carry(size)
            assert got.rcvmap.seg_size == path.seg_size(mtu)
        assert fragmented(path.router) == before
        packets = tap.data()
        assert packets and (moved["TailProbes"] or not any(one.fragment for one in packets))
        assert max(one.size for one in packets) == full(path, mtu)
        assert moved["PmtuProbes"] == moved["PmtuBlackHoles"] == 0


@pytest.mark.parametrize("mtu", [576, 1000, 1280, 1400, 1480])
def test_black_hole_from_the_beginning(net: lab.Net, mtu: int) -> None:
    """No ICMP: the data arrive all the same, and probes find what the path takes."""
    needs(net, mtu)
    path = Narrow(net)
    path.silence()
    path.narrow(mtu)
    with lab.Counting(path.tx_host) as moved:
        found(path, mtu)
        assert moved["PmtuBlackHoles"] == 1
        assert moved["PmtuIcmp"] == 0
        assert 1 <= moved["PmtuConfirmed"] <= moved["PmtuProbes"] <= 60
    nothing_is_fragmented(path, mtu)


def found(path: Narrow, mtu: int) -> None:
    """Messages go on, each arrives, and before long they fit the path."""
    start = time.monotonic()

    def fits() -> bool:
        path.carry(20000)
        # A segment's grain is the finest that is looked for.
        return path.seg_size(path.mtu()) == path.seg_size(mtu)

    lab.until(fits, f"{mtu} is found", 20)
    print(f"found {mtu} after {time.monotonic() - start:.3f} s")


def nothing_is_fragmented(path: Narrow, mtu: int) -> None:
    tap, before = Tap(path.rx_host), fragmented(path.router)
    with lab.Counting(path.tx_host) as moved:
        got = path.carry(MIB)
        late = moved["TailProbes"]
    assert got.rcvmap.seg_size == path.seg_size(mtu)
    assert fragmented(path.router) == before
    packets = tap.data()
    assert packets and (late or not any(one.fragment for one in packets))


@pytest.mark.parametrize("size", [1400, 3000, 100000, 4 * MIB])
def test_black_hole_later(net: lab.Net, size: int) -> None:
    """Confirmed, and then the path shrinks without a word: no message waits long."""
    path = Narrow(net)
    path.carry(MIB)
    path.silence()
    path.narrow(1400)
    waits = []
    for _ in range(20):
        start = time.monotonic()
        path.carry(size)
        waits.append(time.monotonic() - start)
    found(path, 1400)
    assert max(waits) < (1 + size / (4 * MIB)) * lab.SLOW, waits
    nothing_is_fragmented(path, 1400)


@pytest.mark.parametrize("silent", [False, True])
def test_shrinks_under_a_flow(net: lab.Net, silent: bool) -> None:
    """In the middle of a message, in the way there and in the way back."""
    path = Narrow(net)
    if silent:
        path.silence()
        path.router.tc("qdisc add dev r1 clsact")
        path.silence("r1")
    path.carry(MIB)
    path.carry(MIB, back=True)
    size = lab.scaled(32, 4) * MIB
    jobs = [(path.tx, path.rx, blob(size, 3)), (path.rx, path.tx, blob(size, 4))]
    for sock in path.tx, path.rx:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 256 << 10)
    sent = [net.background(tx.send, data) for tx, _, data in jobs]
    got = [net.background(rx.want_control().receive_into, buffer(size)) for _, rx, _ in jobs]
    lab.until(lambda: path.tx.info().bytes_acked > 2 * MIB, "it is under way")
    path.router.set_mtu(1280, "r1")
    path.router.set_mtu(1400, "r0")
    for job, future, (_, _, data) in zip(sent, got, jobs):
        assert job.result() == size
        message = future.result()
        check_message(message, data)
        assert message.rcvmap.seg_size == path.seg_size(1500)
    found(path, 1280)
    # The way back: the router takes no larger frames than it sends, and says nothing of that.
    fits = path.seg_size(1280 + 4)  # a tag of a VLAN may be there
    lab.until(lambda: path.carry(MIB, back=True).rcvmap.seg_size == fits, "back", 20)


@pytest.mark.parametrize("mtu", [576, 1280, 1500, 9000, 65535])
def test_narrow_behind_the_widest(net: lab.Net, mtu: int) -> None:
    """An interface of 65535 bytes, and every narrower path behind it."""
    needs(net, mtu)
    path = Narrow(net, 65535, mtu)
    for size in (*SIZES, MIB):
        path.carry(size)
        path.carry(size, back=True)
    assert path.seg_size(path.mtu()) == path.seg_size(mtu)
    assert path.carry(MIB).rcvmap.seg_size == path.seg_size(mtu)
    assert path.carry(MIB, back=True).rcvmap.seg_size == path.seg_size(mtu)


def test_device_mtu_changes(net: lab.Net) -> None:
    """Larger: one probe finds it. Smaller: at once, and nothing too large leaves the device."""
    path = Linked(net.pair(1500))
    hosts = path.rx_host, path.tx_host
    path.carry(MIB)
    for mtu in (9000, 65535):
        for host in hosts:
            host.set_mtu(mtu)
        with lab.Counting(path.tx_host) as moved:
            path.carry(1000)
            lab.until(lambda m=mtu: path.mtu() == m, "found")  # type: ignore[misc]
            assert (moved["PmtuProbes"], moved["PmtuConfirmed"]) == (1, 1)
        assert path.carry(MIB).rcvmap.seg_size == path.seg_size(mtu)
    tap = Tap(path.tx_host)
    for mtu in (9000, 1280) if net.way.v6 else (9000, 1280, 576):
        for host in reversed(hosts):
            host.set_mtu(mtu)
        tap.seen()
        assert path.carry(MIB).rcvmap.seg_size == path.seg_size(mtu)
        assert max(one.size for one in tap.seen()) <= mtu


class Linked(Narrow):
    """The same without a router."""

    def __init__(self, pair: lab.Pair) -> None:  # pylint: disable=super-init-not-called
        self.net, self.pair = pair.net, pair
        self.tx_host, self.rx_host = pair.tx_host, pair.rx_host
        self.tx, self.rx = pair.tx, pair.rx


@pytest.fixture(name="forged")
def fixture_forged(net: lab.Net) -> tuple[Narrow, IcmpForger, Packet]:
    """A path, one who forges ICMP messages on it, and a packet of the sender's to quote."""
    path = Narrow(net)
    tap = Tap(path.tx_host)
    path.carry(20000)
    last = [one for one in tap.data() if one.outgoing][-1]
    ports = {"source": path.tx.getsockname()[1], "dest": 5000}
    packet = Packet(wire.DATA, ports | {"tag": last.tag, "pn": last.pn})
    return path, IcmpForger(path.router, path.tx_host), packet


def send(path: Narrow, forger: IcmpForger, packet: Packet, mtu: int, length: int = 16) -> None:
    forger.too_big(quote(path.tx_host, path.rx_host, packet, length), mtu)


def test_forged_icmp(forged: tuple[Narrow, IcmpForger, Packet]) -> None:
    """A wrong tag, a packet never sent, absurd values: ignored and counted."""
    path, forger, packet = forged
    low = 1280 if path.net.way.v6 else 576
    with lab.Counting(path.tx_host) as moved:
        for bit in range(0, 32, 5):
            send(path, forger, packet.but(tag=packet.tag ^ 1 << bit), 1300)
        lab.until(lambda: moved["DropTag"] == 7, "wrong tags are dropped")
        # With the tag, but of a packet that was not sent, or long ago.
        for distance in (1000, 1 << 31, -70000):
            number = packet.pn + distance & ltp.U32_MAX
            send(path, forger, packet.but(pn=number), 1300)
        lab.until(lambda: moved["DropTag"] == 10, "so are other numbers")
        absurd = [1, 68, low - 1, 1500, 1501, 9000, 65535]
        if path.net.way.v6:
            absurd.insert(0, 0)  # IPv4 itself throws that away
        for i, mtu in enumerate(absurd):
            send(path, forger, packet, mtu)
            what = f"{mtu} is ignored"
            lab.until(lambda n=i + 1: moved["PmtuIcmpIgnored"] == n, what)  # type: ignore[misc]
        assert moved["PmtuIcmp"] == 0
        assert path.mtu() == 1500
        assert path.carry(20000).rcvmap.seg_size == path.seg_size(1500)
        assert set(moved.drops()) == {"DropTag"}


def test_believed_icmp(forged: tuple[Narrow, IcmpForger, Packet]) -> None:
    """Eight bytes of a packet are quoted at least; the smallest MTU is what IP guarantees."""
    path, forger, packet = forged
    low = 1280 if path.net.way.v6 else 576
    with lab.Counting(path.tx_host) as moved:
        send(path, forger, packet, 1400, 8)
        lab.until(lambda: path.mtu() == 1400, "it is believed")
        send(path, forger, packet, 1450)
        send(path, forger, packet, 1400)
        lab.until(lambda: moved["PmtuIcmpIgnored"] == 2, "more, and the same, is no news")
        send(path, forger, packet, low)
        lab.until(lambda: path.mtu() == low, "so is the smallest")
        assert moved["PmtuIcmp"] == 2
    assert path.carry(20000).rcvmap.seg_size == path.seg_size(low)


def test_icmp_while_a_system_call_has_the_socket(
    forged: tuple[Narrow, IcmpForger, Packet],
) -> None:
    """It is not lost: whoever has the socket acts on it when it is released."""
    path, forger, packet = forged
    path.tx.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    mtu = 1490
    for _ in range(lab.scaled(40, 10)):
        # Copying the message keeps the socket most of the time.
        sent = path.net.background(path.tx.send, blob(4 * MIB))
        got = path.net.background(path.rx.receive_into, buffer(4 * MIB))
        mtu -= 2
        send(path, forger, packet, mtu, 8)
        assert sent.result() == 4 * MIB
        check_message(got.result(), blob(4 * MIB))
        lab.until(lambda m=mtu: path.mtu() == m, f"{mtu} is known")  # type: ignore[misc]


def test_icmp_during_connect(net: lab.Net) -> None:
    """Unreachable, said while connect() itself still has the socket, ends it."""
    host, _, router = net.routed()
    nowhere = net.way.addr("10.2.0.9")
    router.ip("route", "add", "unreachable", f"{nowhere}/{128 if net.way.v6 else 32}")
    sock = host.socket()
    start = time.monotonic()
    assert calls.error_of(sock.connect, (nowhere, 5000)) in (errno.EHOSTUNREACH, errno.ENETUNREACH)
    assert time.monotonic() - start < 0.2 * lab.SLOW, "not only the second INIT told"


class Discover(Narrow):
    """A path whose sender has an IP_MTU_DISCOVER, or IPV6_MTU_DISCOVER, of its own."""

    def __init__(self, net: lab.Net, how: int) -> None:
        super().__init__(net)
        self.tx = self.tx_host.socket()
        self.level, self.option = socket.SOL_IP, IP_MTU_DISCOVER
        if net.way.v6:
            self.level, self.option = socket.IPPROTO_IPV6, V6_DISCOVER
        self.tx.setsockopt(self.level, self.option, how)
        self.tx.connect((self.rx_host.addr, 5000))
        self.rx = self.pair.listener.accept()[0]
        self.rx.set_timeouts(30 * lab.SLOW)
        net.sockets.append(self.rx)


@pytest.mark.parametrize("how", [DONT, WANT, DO, PROBE, INTERFACE, OMIT])
def test_mtu_discover(net: lab.Net, how: int) -> None:
    """It decides what carries don't-fragment, as ip(7) says."""
    path = Discover(net, how)
    tap = Tap(path.tx_host)
    with lab.Counting(path.tx_host) as moved:
        for size in SIZES:
            path.carry(size)
        late = moved["TailProbes"]
    packets = [one for one in tap.data() if one.outgoing]
    big = [one for one in packets if one.size > 576]
    assert path.tx.getsockopt(path.level, path.option) == how
    assert late or not any(one.fragment for one in packets)
    assert path.mtu() == 1500
    if net.way.v6:
        return  # there is no such bit
    if how in (DO, PROBE):
        assert all(one.df for one in packets)
    elif how == WANT:
        assert late or all(one.df for one in big[len(big) // 2:])
    else:
        assert not any(one.df for one in packets)


def test_dont(net: lab.Net) -> None:
    """IP_PMTUDISC_DONT: the router fragments, and nobody minds."""
    needs(net, 1000)
    path = Discover(net, DONT)
    path.narrow(1000)
    tap = Tap(path.tx_host)
    with lab.Counting(path.tx_host) as moved:
        for _ in range(3):
            assert path.carry(MIB).rcvmap.seg_size == path.seg_size(1500)
        assert not any(one.df for one in tap.data() if one.outgoing)
        assert moved["PmtuProbes"] == moved["PmtuIcmp"] == 0
    assert fragmented(path.router) > 0


def test_probe_goes_beyond_the_route(net: lab.Net) -> None:
    """IP_PMTUDISC_PROBE: only the device limits it, whatever the route is known to take."""
    path = Discover(net, PROBE)
    gateway = net.way.addr("10.1.0.254")
    path.tx_host.ip("route", "replace", "default", "via", gateway, "mtu", "1300")
    tap = Tap(path.tx_host)
    assert path.carry(20000).rcvmap.seg_size == path.seg_size(1500)
    packets = [one for one in tap.data() if one.outgoing]
    assert all(one.df and not one.fragment for one in packets)
    assert max(one.size for one in packets) == full(path, 1500)


def test_do_is_cautious(net: lab.Net) -> None:
    """IP_PMTUDISC_DO: nothing is ever fragmented, so nothing larger than is known is sent."""
    path = Discover(net, DO)
    path.narrow(1300)
    path.silence()
    tap = Tap(path.tx_host)
    assert path.carry(20000).rcvmap.seg_size == path.seg_size(1280 if net.way.v6 else 1200)
    found(path, 1300)
    packets: list[Seen] = [one for one in tap.data() if one.outgoing]
    assert packets and all(one.df and not one.fragment for one in packets)


def test_do_cannot_go_on(net: lab.Net) -> None:
    """Its path shrinks under a flow that is cut already: the program is told."""
    path = Discover(net, DO)
    found(path, 1500)
    path.silence()
    path.narrow(1300)
    with pytest.raises(OSError) as error:
        for _ in range(100):
            path.tx.send(blob(MIB))
    assert error.value.errno == errno.EMSGSIZE


def test_locked_route(net: lab.Net) -> None:
    """A route whose MTU is locked: segments fit it, and nothing carries don't-fragment."""
    path = Narrow(net)
    gateway = net.way.addr("10.1.0.254")
    path.tx_host.ip("route", "replace", "default", "via", gateway, "mtu", "lock", "1300")
    tap = Tap(path.tx_host)
    with lab.Counting(path.tx_host) as moved:
        assert path.carry(20000).rcvmap.seg_size == path.seg_size(1300)
        assert moved["PmtuProbes"] == 0
    packets = [one for one in tap.data() if one.outgoing]
    assert max(one.size for one in packets) == full(path, 1300)
    assert net.way.v6 or not any(one.df for one in packets)


def test_tolerant_maps_are_equal(net: lab.Net) -> None:
    """Loss, a black hole and Early Close together: both ends know the same map."""
    path = Narrow(net)
    path.carry(MIB)
    path.silence()
    path.narrow(1300 if net.way.v6 else 1100)
    path.tx_host.netem("delay 1ms loss 5%", seed=3)
    path.rx.set_thresholds(fraction_ppm=500000, lt_us=2000, deadline_us=40000)
    path.tx.set(ltp.REPORTS, 1)
    for tag in range(50):
        data = blob(100000)
        path.tx.send_message(data, tag=tag, flags=ltp.TOLERANT)
        got = path.rx.receive(100000)
        check_message(got, data)
        report, segments, _ = wait_report(path.tx, 30)
        assert (report.tag, report.reason) == (tag, got.rcvinfo.reason)
        assert segments == got.rcvmap
