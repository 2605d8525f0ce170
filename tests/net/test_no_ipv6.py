# SPDX-License-Identifier: GPL-2.0
"""A kernel that was booted with ipv6.disable=1: the module loads, and does IPv4 as ever."""
import errno
import os
import socket

import pytest

from tests.net import calls, lab, ltp
from tests.net.data import blob, buffer, check_message

pytestmark = pytest.mark.skipif(
    os.path.exists("/proc/sys/net/ipv6"), reason="needs scripts/lab/run --boot ipv6.disable=1"
)


def test_there_is_none(net: lab.Net) -> None:
    host = net.alone()
    kind = socket.SOCK_SEQPACKET
    error = host.enter(
        lambda: calls.error_of(socket.socket, socket.AF_INET6, kind, ltp.IPPROTO_LTP)
    )
    assert error == errno.EAFNOSUPPORT


@pytest.mark.parametrize("encap", [0, 9899])
def test_ipv4(net: lab.Net, encap: int) -> None:
    """Messages both ways, without UDP and in it; a refusal; namespaces that go."""
    for _ in range(3):
        here, there = net.link()
        for host in here, there:
            host.family.set_config(encap_port=encap, encap_peer=encap)
        assert here.socket().connect_ex((there.addr, 5001)) == errno.ECONNREFUSED
        pair = lab.Pair(there, here)
        data = blob(1 << 20)
        for tx, rx in ((pair.tx, pair.rx), (pair.rx, pair.tx)):
            sent = net.background(tx.send_message, data)
            check_message(rx.want_control().receive_into(buffer(len(data))), data)
            assert sent.result() == len(data)
