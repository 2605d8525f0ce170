# SPDX-License-Identifier: GPL-2.0
"""ICMP errors that are late, broken or of others; what good ones do is in test_handshake.py."""
import errno

import pytest

from tests.net import lab, ltp, wire
from tests.net.peer import Wire
from tests.net.wire import Packet


@pytest.fixture(name="far")
def fixture_far(net: lab.Net) -> Wire:
    return Wire(net)


def test_late_icmp_errors(far: Wire) -> None:
    """Errors for packets of long ago: of the INIT, after the handshake or after the end."""
    listener = far.host.listen(5001)
    sock = far.host.socket()
    sock.setblocking(False)
    sock.connect_ex(("10.1.0.2", 5000))
    assoc = far.accept()
    assert sock.info().state == ltp.ESTABLISHED
    quoted_init = far.quote(assoc.host_port, assoc.port, 0)
    quoted = far.quote(assoc.host_port, assoc.port, assoc.my_tag)
    with lab.Counting(far.host) as moved:
        for kind, code in ((3, 1), (3, 2), (3, 3), (3, 4), (4, 0), (11, 0), (12, 0)):
            far.send_icmp(kind, code, quoted_init, 600)
        assert moved["DropTag"] == 7
    for kind, code in ((3, 1), (3, 2), (3, 3), (3, 15), (3, 16), (3, 255), (4, 0), (5, 1), (11, 0),
                       (12, 0)):
        far.send_icmp(kind, code, quoted, 600)
    assert (sock.info().state, sock.info().seg_size) == (ltp.ESTABLISHED, ltp.seg_size(1500))
    assoc.alive()
    assoc.send(wire.RESET, body_tag=assoc.my_tag)
    assert sock.error() == errno.ECONNRESET
    for old in quoted, quoted_init:
        far.send_icmp(3, 1, old)
    assert sock.error() == 0
    assert listener.error() == 0


def test_broken_icmp_errors(far: Wire) -> None:
    """Quotes cut at every length, of fragments, with options, of other protocols, of others."""
    sock = far.host.socket()
    sock.setblocking(False)
    sock.connect_ex(("10.1.0.2", 5000))
    init = far.receive(wire.INIT)
    good = far.quote(init.source, init.dest, 0)
    for length in range(len(good)):
        far.send_icmp(3, 1, good[:length])
    for at, value in ((0, 0x46), (0, 0x4F), (0, 0x41), (9, 6), (9, 17), (16, 11)):
        far.send_icmp(3, 1, good[:at] + bytes([value]) + good[at + 1:] + bytes(60))
    for source, dest in ((init.source ^ 1, init.dest), (init.source, init.dest ^ 1), (0, 0)):
        far.send_icmp(3, 1, far.quote(source, dest, 0))
    assert sock.info().state == ltp.INIT_SENT
    far.send_icmp(3, 1, good)
    assert sock.error() == errno.EHOSTUNREACH


def test_icmp_while_the_cookie_is_out(far: Wire) -> None:
    """In COOKIE_SENT there is a listener that answered: an error does not end the attempt."""
    sock = far.host.socket()
    sock.setblocking(False)
    sock.connect_ex(("10.1.0.2", 5000))
    init = far.receive(wire.INIT)
    ports = {"source": init.dest, "dest": init.source, "tag": init.body_tag}
    far.send(Packet(wire.INIT_ACK, ports | far.params()))
    echo = far.receive(wire.COOKIE_ECHO)
    for tag in (0, echo.tag):
        far.send_icmp(3, 1, far.quote(init.source, init.dest, tag))
    assert sock.info().state == ltp.COOKIE_SENT
    far.send(Packet(wire.COOKIE_ACK, ports))
    assert sock.error() == 0
    assert sock.info().state == ltp.ESTABLISHED
