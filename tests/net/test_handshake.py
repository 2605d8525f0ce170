# SPDX-License-Identifier: GPL-2.0
"""The handshake, packet by packet: only a cookie that comes back as it was makes anything."""
import errno
import select
import socket
import struct

import pytest

from tests.net import calls, lab, ltp, wire
from tests.net.peer import Wire
from tests.net.ways import ALL, over
from tests.net.wire import Packet


pytestmark = over(ALL)


@pytest.fixture(name="far")
def fixture_far(net: lab.Net) -> Wire:
    return Wire(net)


def test_passive(far: Wire) -> None:
    """INIT, INIT_ACK, COOKIE_ECHO, COOKIE_ACK: what each of them says."""
    listener = far.host.listen()
    init = far.init()
    asked = far.send(init)
    answers = far.pending()
    assert [packet.kind for packet, _ in answers] == [wire.INIT_ACK]
    ack, length = answers[0]
    assert length == asked
    assert (ack.source, ack.dest, ack.tag, ack.flags) == (5000, 7000, init.body_tag, 0)
    assert ack.body_tag != 0
    assert 0 < ack.rwnd <= listener.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2
    assert ack.max_flows == ltp.MAX_FLOWS
    assert ack.grain == ltp.GRAIN
    for name, here in wire.PARAMS.items():
        assert ack.fields["peer_" + name] == init.fields.get(here, 0)
        assert ack.fields["local_" + name] == ack.fields[here]
    assert far.host.family.assocs() == []
    far.send(far.echo(ack))
    answers = far.pending()
    assert [packet.kind for packet, _ in answers] == [wire.COOKIE_ACK]
    assert answers[0][0].tag == init.body_tag
    sock, addr = listener.accept()
    assert addr == far.way.name_of("10.1.0.2", 7000)
    assert sock.getsockname() == far.way.name_of("10.1.0.1", 5000)
    assert sock.info().state == ltp.ESTABLISHED
    far.net.sockets.append(sock)


def test_active(far: Wire) -> None:
    """The same from the side of connect()."""
    sock = far.host.socket()
    sock.setblocking(False)
    assert sock.connect_ex((far.far_addr, 5000)) == errno.EINPROGRESS
    assert sock.connect_ex((far.far_addr, 5000)) == errno.EALREADY
    assert sock.info().state == ltp.INIT_SENT
    assert select.select([], [sock], [], 0)[1] == []
    assoc = far.accept()
    assert select.select([], [sock], [], 0)[1] == [sock]
    assert sock.error() == 0
    assert sock.info().state == ltp.ESTABLISHED
    assert sock.connect_ex((far.far_addr, 5000)) in (0, errno.EISCONN)
    assoc.alive()
    sock.send(b"hello")
    data = assoc.receive(wire.DATA)
    assert data.tail == b"hello"
    assert (data.flow, data.len, data.seg) == (assoc.host_flow, 5, 0)
    assert data.seg_size == far.way.seg_size(1500)
    assert data.flags == wire.LAST


def test_the_peers_parameters_are_obeyed(far: Wire) -> None:
    """Its MTU, its window and its flow limit."""
    listener = far.host.listen()
    assoc = far.connect(mtu=1000, rwnd=3000, max_flows=2)
    sock, _ = listener.accept()
    far.net.sockets.append(sock)
    size = far.way.seg_size(1000)
    assert sock.info().seg_size == size
    assert sock.info().peer_window == 3000
    sock.setblocking(False)
    assert sock.send(bytes(10000)) == 10000
    first = [assoc.receive(wire.DATA) for _ in range(3)]
    assert [packet.seg for packet in first] == [0, 1, 2]
    assert sock.info().in_flight == 3 * size
    assert sock.send(bytes(10)) == 10
    with pytest.raises(BlockingIOError):  # a third flow would be beyond the limit
        sock.send(bytes(10))
    far.send(assoc.ack(first[2], 3, **assoc.window(size, 3)))
    lab.until(lambda: assoc.receive(wire.DATA).seg == 3, "the next segment comes")
    assert sock.send(bytes(10)) == 10
    with pytest.raises(BlockingIOError):
        sock.send(bytes(10))


def test_cookie_ack_lost(far: Wire) -> None:
    """The repeated COOKIE_ECHO gets its answer, and makes no second association."""
    listener = far.host.listen()
    ack = far.get_cookie()
    for _ in range(3):
        far.send(far.echo(ack))
        assert far.receive(wire.COOKIE_ACK).tag == ack.tag
    assert len(far.host.family.assocs()) == 1
    sock, _ = listener.accept()
    far.net.sockets.append(sock)
    listener.setblocking(False)
    with pytest.raises(BlockingIOError):
        listener.accept()


def test_cookie_ack_is_whatever_comes_first(far: Wire) -> None:
    """A connecting host takes the first packet of the new association for its COOKIE_ACK."""
    sock = far.host.socket()
    sock.setblocking(False)
    sock.connect_ex((far.far_addr, 5000))
    init = far.receive(wire.INIT)
    mine = far.params()
    ports = {"source": init.dest, "dest": init.source, "tag": init.body_tag}
    far.send(Packet(wire.INIT_ACK, ports | mine))
    far.receive(wire.COOKIE_ECHO)
    far.send(
        Packet(wire.DATA, ports | {"pn": 1000, "flow": 100, "len": 2, "seg_size": 16}, b"hi")
    )
    assert sock.recv(10) == b"hi"


@pytest.mark.parametrize("name", wire.COOKIE)
def test_altered_cookie(far: Wire, name: str) -> None:
    """One bit of any field of it."""
    far.host.listen()
    echo = far.echo(far.get_cookie())
    with lab.Counting(far.host) as moved:
        far.send(echo.but(**{name: echo.fields[name] ^ 16}))
        assert far.pending() == []
        (reason,) = moved.drops()
        assert reason in ("DropCookie", "DropField")
        assert (reason == "DropCookie") or name.endswith(("mtu", "grain", "rwnd", "max_flows"))
    assert far.host.family.assocs() == []
    far.send(echo)
    assert far.receive(wire.COOKIE_ACK)


def test_cookie_is_of_one_peer(far: Wire) -> None:
    """It is worth nothing from another address or port, for another port or with another tag."""
    far.host.listen()
    far.host.listen(5001)
    echo = far.echo(far.get_cookie())
    for packet, saddr, reason in (
        (echo, "10.2.0.2", "DropCookie"),
        (echo.but(source=7001), "", "DropCookie"),
        (echo.but(dest=5001), "", "DropCookie"),
        (echo.but(tag=echo.tag ^ 1), "", "DropTag"),
    ):
        with lab.Counting(far.host) as moved:
            far.send(packet, saddr)
            assert moved.drops() == {reason: 1}
            assert far.pending() == []
    assert far.host.family.assocs() == []


def test_cookie_of_another_host(net: lab.Net) -> None:
    """Each namespace has its own secret."""
    one, other = Wire(net), Wire(net)
    for far in one, other:
        far.host.listen()
    echo = one.echo(one.get_cookie())
    with lab.Counting(other.host) as moved:
        other.send(echo)
        assert moved.drops() == {"DropCookie": 1}
    one.send(echo)
    assert one.receive(wire.COOKIE_ACK)


def ended(far: Wire, listener: ltp.Socket, echo: Packet) -> None:
    """An association that this cookie makes, and that its peer ends."""
    far.send(echo)
    far.receive(wire.COOKIE_ACK)
    sock, _ = listener.accept()
    far.send(Packet(wire.RESET, {"source": echo.source, "dest": 5000, "tag": echo.tag,
                                 "body_tag": echo.peer_tag}))
    lab.until(lambda: sock.info().state == ltp.CLOSED, "it is reset")
    sock.close()


def refused(far: Wire, echo: Packet) -> None:
    """A cookie that is not believed makes nothing; who sends it is told that there is nothing."""
    far.flush()
    with lab.Counting(far.host) as moved:
        asked = far.send(echo)
        assert moved.drops() == {"DropCookieUsed": 1}
        ((reset, length),) = far.pending()
    assert (reset.kind, reset.flags, reset.tag) == (wire.RESET, wire.REFLECT, echo.tag)
    assert length < asked


def test_replayed_cookie(far: Wire) -> None:
    """The cookie of an association that has ended, within its life, makes nothing any more."""
    listener = far.host.listen()
    old = far.echo(far.get_cookie())
    ended(far, listener, old)
    refused(far, old)
    assert far.host.family.assocs() == []
    # Nor does it disturb a later association between the same ports.
    assoc = far.connect(body_tag=0x22222222)
    sock, _ = listener.accept()
    far.net.sockets.append(sock)
    before = far.host.family.assocs()
    refused(far, old)
    assoc.alive()
    assert [one["cookie"] for one in far.host.family.assocs()] == [before[0]["cookie"]]
    assert sock.info().state == ltp.ESTABLISHED
    listener.setblocking(False)
    assert calls.error_of(listener.accept) == errno.EAGAIN


def test_second_cookie_of_an_association(far: Wire) -> None:
    """A repeated INIT gets a cookie for the association there is, worth nothing after that."""
    listener = far.host.listen()
    first = far.echo(far.get_cookie())
    far.send(first)
    far.receive(wire.COOKIE_ACK)
    second = far.echo(far.get_cookie())
    assert second.local_tag == first.local_tag
    assert second.mac != first.mac
    sock, _ = listener.accept()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("=ii", 1, 0))
    sock.close()
    for echo in first, second:
        refused(far, echo)
    # Closed without having been accepted: the same.
    third = far.echo(far.get_cookie(body_tag=3))
    far.send(third)
    far.receive(wire.COOKIE_ACK)
    listener.close()
    listener = far.host.listen()
    refused(far, third)


def test_replays_of_many(far: Wire) -> None:
    """More associations than are remembered: none of their cookies makes another."""
    listener = far.host.listen()
    early = far.echo(far.get_cookie(6999, body_tag=5))
    count = lab.scaled(3000, 1100)
    echoes = []
    for i in range(count):
        echo = far.echo(far.get_cookie(7000 + i % 1000, body_tag=i + 10))
        ended(far, listener, echo)
        echoes.append(echo)
    with lab.Counting(far.host) as moved:
        for echo in echoes:
            far.send(echo)
            far.flush()
        young = {"DropCookieUsed": count}
        drops = moved.drops()
        assert sum(drops.values()) == count
        assert drops == young or set(drops) == {"DropCookieUsed", "DropCookieOld"}
    assert far.host.family.assocs() == []
    # One that was made before all of these is new. Where too many were remembered that is not
    # known any more (tests/kunit/replay_test.c has what decides): then it is refused.
    with lab.Counting(far.host) as moved:
        far.send(early)
        assert moved["AssocPassive"] + sum(moved.drops().values()) == 1
        assert set(moved.drops()) <= {"DropCookieUsed", "DropCookieOld"}
        if moved["AssocPassive"]:
            far.net.sockets.append(listener.accept()[0])
    far.flush()
    # Who asks for another one gets in.
    far.connect(6999, body_tag=6)
    far.net.sockets.append(listener.accept()[0])


def test_peer_that_starts_anew(far: Wire) -> None:
    """A peer that has crashed and connects from the same port: the old association ends."""
    listener = far.host.listen()
    far.connect()
    old, _ = listener.accept()
    assoc = far.connect(body_tag=0x33333333)
    new, _ = listener.accept()
    far.net.sockets += [old, new]
    with pytest.raises(ConnectionResetError):
        old.recv(10)
    assoc.send_data(b"new", [0])
    assert new.recv(10) == b"new"


def test_listener_without_room(far: Wire) -> None:
    """The accept queue is full: the cookie is dropped, and is good again when there is room."""
    listener = far.host.listen(backlog=1)
    far.connect(7000)
    far.connect(7001)
    echo = far.echo(far.get_cookie(7002))
    with lab.Counting(far.host) as moved:
        far.send(echo)
        assert moved.drops() == {"DropBacklog": 1}
        assert far.pending() == []
    far.net.sockets.append(listener.accept()[0])
    far.send(echo)
    assert far.receive(wire.COOKIE_ACK)


def test_init_for_nobody(far: Wire) -> None:
    """The RESET knows the tag of the INIT, and is smaller than it."""
    with lab.Counting(far.host) as moved:
        asked = far.send(far.init())
        ((reset, length),) = far.pending()
        assert moved.drops() == {"DropNoAssoc": 1}
    assert reset.kind == wire.RESET and reset.flags == 0
    assert (reset.tag, reset.body_tag, reset.source, reset.dest) == (0x11111111, 0, 5000, 7000)
    assert length < asked


def test_refused(far: Wire) -> None:
    """A RESET ends a connect() only if it knows its tag and has none of its own."""
    sock = far.host.socket()
    sock.setblocking(False)
    sock.connect_ex((far.far_addr, 5000))
    init = far.receive(wire.INIT)
    reset = Packet(
        wire.RESET, {"source": init.dest, "dest": init.source, "tag": init.body_tag}
    )
    for bad in (
        reset.but(tag=init.body_tag ^ 1),
        reset.but(body_tag=1),
        Packet(wire.RESET, reset.fields | {"flags": wire.REFLECT}),
    ):
        with lab.Counting(far.host) as moved:
            far.send(bad)
            assert moved.drops() == {"DropTag": 1}
        assert sock.info().state == ltp.INIT_SENT
    far.send(reset)
    assert sock.error() == errno.ECONNREFUSED


def test_init_ack_for_nobody(far: Wire) -> None:
    """An INIT_ACK that nobody asked for is answered by a RESET that returns its tag, no more."""
    ack = Packet(wire.INIT_ACK, {"source": 7000, "dest": 5000, "tag": 77} | far.params())
    asked = far.send(ack)
    ((reset, length),) = far.pending()
    assert (reset.kind, reset.flags, reset.tag) == (wire.RESET, wire.REFLECT, 77)
    assert length < asked


def test_resets_are_not_answered(far: Wire) -> None:
    for flags in (0, wire.REFLECT):
        with lab.Counting(far.host) as moved:
            far.send(Packet(wire.RESET, {"source": 7000, "dest": 5000, "tag": 77, "flags": flags}))
            assert moved.drops() == {"DropNoAssoc": 1}
        assert far.pending() == []


def test_many_cookies_cost_nothing(far: Wire) -> None:
    """Thousands of INITs leave no trace but their answers."""
    far.host.listen()
    count = lab.scaled(5000, 1000)
    protocols = slab_of_sockets()
    for i in range(count):
        far.send(far.init(source=1024 + i % 60000, body_tag=i + 1))
        far.flush()
    assert far.host.family.assocs() == []
    assert slab_of_sockets() == protocols
    assert far.host.counters()["OutPackets"] == count


def slab_of_sockets() -> list[str]:
    """Of /proc/net/protocols: sockets and memory in use, of both families."""
    with open("/proc/net/protocols", encoding="ascii") as file:
        return [" ".join(line.split()[:4]) for line in file if line.startswith("LTP")]


def test_icmp_says_that_the_path_is_narrow(far: Wire) -> None:
    """Too big: the next flow's segments are smaller, if it quotes the right tag."""
    sock, assoc = far.accepted()
    size = far.way.seg_size(1500)
    assert sock.info().seg_size == size
    if not far.way.encap:  # of UDP the kernel believes any, and tells the route itself
        far.send_too_big(far.quote(5000, assoc.port, assoc.my_tag ^ 1), 1300)
        assert sock.info().seg_size == size
    far.send_too_big(far.quote(5000, assoc.port, assoc.my_tag), 1300)
    assert sock.info().seg_size == far.way.seg_size(1300)
    sock.send(bytes(2000))
    assert assoc.receive(wire.DATA).seg_size == far.way.seg_size(1300)
    # Smaller than IPv4 or IPv6 allows: nobody has to believe that.
    far.send_too_big(far.quote(5000, assoc.port, assoc.my_tag), 68)
    assert sock.info().seg_size >= (far.way.seg_size(1280) if far.way.v6 else 512 - 16)


def test_send_while_connecting(far: Wire) -> None:
    """It waits for the end of the handshake, or says EAGAIN."""
    sock = far.host.socket()
    sock.setblocking(False)
    sock.connect_ex((far.far_addr, 5000))
    assert calls.error_of(sock.send, b"hello") == errno.EAGAIN
    assert calls.error_of(sock.recv, 10) in (errno.EAGAIN, errno.ENOTCONN)
    sock.setblocking(True)
    sent = far.net.background(sock.send, b"hello")
    assoc = far.accept()
    assert sent.result() == 5
    assert assoc.receive(wire.DATA).tail == b"hello"


def test_cookie_for_an_association_whose_listener_is_gone(far: Wire) -> None:
    """The same cookie is answered, another one is not."""
    listener = far.host.listen()
    echo = far.echo(far.get_cookie())
    far.send(echo)
    far.receive(wire.COOKIE_ACK)
    sock, _ = listener.accept()
    far.net.sockets.append(sock)
    listener.close()
    far.send(echo)
    assert far.receive(wire.COOKIE_ACK)
    with lab.Counting(far.host) as moved:
        far.send(echo.but(peer_tag=echo.peer_tag ^ 1))
        assert moved.drops() == {"DropState": 1}
    assert far.pending() == []


def test_listen_again_changes_the_backlog(far: Wire) -> None:
    listener = far.host.listen(backlog=0)
    far.connect(7000)
    echo = far.echo(far.get_cookie(7001))
    with lab.Counting(far.host) as moved:
        far.send(echo)
        assert moved.drops() == {"DropBacklog": 1}
    listener.listen(5)
    far.send(echo)
    assert far.receive(wire.COOKIE_ACK)


def test_numbers_wrap_round(far: Wire) -> None:
    """Flow ids and packet numbers of the peer pass 2^32."""
    listener = far.host.listen().want_control()
    assoc = far.connect(flow=0xFFFFFFFD, body_pn=0xFFFFFFF8)
    sock, _ = listener.accept()
    far.net.sockets.append(sock)
    first = assoc.flow
    for i in (1, 0, 3, 2, 5, 4):
        flow = (first + i) & ltp.U32_MAX
        for seg in (1, 0):
            data = assoc.data(bytes([i]) * 2000, seg, flow=flow)
            far.send(data)
        lab.until(lambda: assoc.receive(wire.ACK).acked_pn == data.pn, "the last one is answered")
    for i in range(6):
        got = sock.receive(2000)
        assert bytes(got.data) == bytes([i]) * 2000
        assert got.rcvinfo.flow == (first + i) & ltp.U32_MAX
    with lab.Counting(far.host) as moved:
        assoc.send_data(b"x", [0], flow=first)
        assert moved.drops() == {"DropFlowClosed": 1}
    # The host believes a window that comes with a number behind the wrap.
    assoc.alive()
    assert assoc.pn < 100
    assoc.send(wire.FIN, flow=(first + 6) & ltp.U32_MAX)
    assert sock.recv(10) == b""


def test_icmp_errors(far: Wire) -> None:
    """An ICMP error ends a connect() only if it quotes its packet; never an open association."""
    listener = far.host.listen()
    assoc = far.connect()
    sock, _ = listener.accept()
    far.net.sockets.append(sock)
    quoted = far.quote(assoc.host_port, assoc.port, assoc.my_tag)
    for code in range(8) if far.way.v6 else (0, 1, 2, 3, 9, 10, 13):
        far.send_unreachable(code, quoted)
    assoc.alive()
    assert sock.info().state == ltp.ESTABLISHED
    new = far.host.socket()
    new.setblocking(False)
    new.connect_ex((far.far_addr, 5000))
    init = far.receive(wire.INIT)
    code = 3 if far.way.v6 else 1  # address, or host
    far.send_unreachable(code, far.quote(init.source, init.dest, 12345))
    assert new.info().state == ltp.INIT_SENT
    far.send_unreachable(code, far.quote(init.source, init.dest, 0))
    assert new.error() == errno.EHOSTUNREACH
