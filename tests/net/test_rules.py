# SPDX-License-Identifier: GPL-2.0
"""Rules: what ltpctl and netlink make of them, and whom they reach."""
import errno
import json
import socket
import struct
import subprocess
from typing import Any

import pytest

from tests.net import calls, genl, lab, ltp
from tests.net.test_ltpctl import REFUSED, USAGE, as_json, ltpctl, run

LIMIT = 1024
TH = ltp.THRESHOLDS_FORMAT


@pytest.fixture(name="host")
def fixture_host(net: lab.Net) -> lab.Host:
    return net.alone()


def shown(host: lab.Host) -> list[str]:
    return ltpctl("rule", "show", netns=host.name).stdout.splitlines()


# ---- the store


@pytest.mark.parametrize(
    "line, json_form",
    [
        ("peer 10.0.0.0/8 fraction 0.8", {"peer": "10.0.0.0/8", "fraction": 0.8}),
        ("peer 10.1.2.3/32 lt 20ms", {"peer": "10.1.2.3/32", "lt_us": 20000}),
        ("peer 0.0.0.0/0 lt adaptive", {"peer": "0.0.0.0/0", "lt_us": "adaptive"}),
        ("peer 2001:db8::/32 deadline none", {"peer": "2001:db8::/32", "deadline_us": 0}),
        ("peer ::/0 profile wan", {"peer": "::/0", "profile": "wan"}),
        ("port 5000 slack 5ms", {"port": 5000, "slack_us": 5000}),
        ("peer_port 65535 epoch 7", {"peer_port": 65535, "epoch": 7}),
        ("port 1 peer_port 2 epoch none", {"port": 1, "peer_port": 2, "epoch": 0}),
        ("port 5000 cc bdp", {"port": 5000, "cc": "bdp"}),
        (
            "peer fe80::1/128 port 1 peer_port 2 fraction 0.5 lt 1ms deadline 2ms profile dcn "
            "slack 0us epoch 1 cc bdp",
            {
                "peer": "fe80::1/128",
                "port": 1,
                "peer_port": 2,
                "fraction": 0.5,
                "lt_us": 1000,
                "deadline_us": 2000,
                "profile": "dcn",
                "slack_us": 0,
                "epoch": 1,
                "cc": "bdp",
            },
        ),
    ],
)
def test_add_show_and_del(host: lab.Host, line: str, json_form: dict[str, Any]) -> None:
    """What is shown is what was added, and can be added again."""
    words = line.split()
    ltpctl("rule", "add", *words, netns=host.name)
    assert shown(host) == [line]
    assert as_json("rule", netns=host.name) == [json_form]
    text = ltpctl("rule", "add", *words, netns=host.name, code=REFUSED).stderr
    assert text == "ltpctl: there is a rule for this peer and these ports\n"
    whom = [w for pair in zip(words[::2], words[1::2]) for w in pair
            if pair[0] in ("peer", "port", "peer_port")]
    ltpctl("rule", "del", *whom, netns=host.name)
    assert shown(host) == []
    text = ltpctl("rule", "del", *whom, netns=host.name, code=REFUSED).stderr
    assert text == "ltpctl: there is no rule for this peer and these ports\n"


def test_addresses(host: lab.Host) -> None:
    """An address alone is all of it; IPv4 written as IPv6 is IPv4."""
    ltpctl("rule", "add", "peer", "10.1.2.3", "epoch", "1", netns=host.name)
    ltpctl("rule", "add", "peer", "2001:db8::1", "epoch", "2", netns=host.name)
    assert shown(host) == ["peer 2001:db8::1/128 epoch 2", "peer 10.1.2.3/32 epoch 1"]
    for peer in ("::ffff:10.1.2.3", "::ffff:10.1.2.3/128"):
        ltpctl("rule", "add", "peer", peer, "epoch", "3", netns=host.name, code=REFUSED)
    ltpctl("rule", "del", "peer", "::ffff:10.1.2.3", netns=host.name)
    ltpctl("rule", "add", "peer", "::ffff:10.1.0.0/112", "epoch", "3", netns=host.name)
    assert shown(host) == ["peer 2001:db8::1/128 epoch 2", "peer 10.1.0.0/16 epoch 3"]


def test_order_and_replace(host: lab.Host) -> None:
    lines = [
        "peer 10.1.2.3/32 epoch 1",
        "peer 10.1.0.0/16 port 5 peer_port 6 epoch 2",
        "peer 10.1.0.0/16 port 5 epoch 3",
        "peer 10.1.0.0/16 peer_port 6 epoch 4",
        "peer 10.1.0.0/16 epoch 5",
        "peer 10.2.0.0/16 epoch 6",
        "peer 0.0.0.0/0 epoch 7",
        "port 5 epoch 8",
        "peer_port 5 epoch 9",
    ]
    for line in lines[::2] + lines[1::2]:
        ltpctl("rule", "add", *line.split(), netns=host.name)
    assert shown(host) == lines
    ltpctl("rule", "replace", "port", "5", "fraction", "0.7", netns=host.name)
    ltpctl("rule", "replace", "port", "6", "fraction", "0.6", netns=host.name)
    lines[7:8] = ["port 5 fraction 0.7", "port 6 fraction 0.6"]
    assert shown(host) == lines
    ltpctl("rule", "flush", netns=host.name)
    assert shown(host) == []
    ltpctl("rule", "flush", netns=host.name)


def test_limit(host: lab.Host) -> None:
    """1024 of them; a dump that needs several messages tells of each once, in order."""
    family = host.family
    for i in range(LIMIT):
        family.add_rule(peer=f"10.0.{i >> 8}.{i & 255}", epoch=i)
    with pytest.raises(OSError) as refused:
        family.add_rule(local_port=5, epoch=1)
    assert refused.value.errno == errno.ENOSPC
    text = ltpctl("rule", "add", "port", "5", "epoch", "1", netns=host.name, code=REFUSED).stderr
    assert text == "ltpctl: a namespace has at most 1024 rules\n"
    assert [rule["epoch"] for rule in family.rules()] == list(range(LIMIT))
    family.set_rule(peer="10.0.0.0", epoch=5)
    family.del_rule(peer="10.0.0.1")
    family.add_rule(local_port=5, epoch=1)
    assert len(family.rules()) == LIMIT
    family.flush_rules()
    assert family.rules() == []


def test_namespaces_are_independent(host: lab.Host, net: lab.Net) -> None:
    other = net.alone()
    host.family.add_rule(local_port=5, epoch=1)
    assert other.family.rules() == [] and len(host.family.rules()) == 1


def test_a_namespace_goes_with_its_rules(net: lab.Net) -> None:
    """And a dump that was begun holds nobody up, nor does it see what comes later."""
    host = net.alone()
    for i in range(LIMIT):
        host.family.add_rule(peer=f"10.0.{i >> 8}.{i & 255}", epoch=i)
    header = struct.pack("=IHHIIBBH", 20, host.family.ident, 0x301, 1, 0, genl.RULE_GET, 1, 0)
    dump = host.enter(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16))
    dump.send(header)
    assert dump.recv(4096)
    host.family.flush_rules()
    seen = 0
    while struct.unpack_from("=IH", chunk := dump.recv(1 << 17))[1] != 3:
        seen += len(chunk)
    assert seen > 1000
    dump.send(header)
    dump.recv(4096)
    dump.close()
    host.family.add_rule(local_port=5, epoch=1)


# ---- what is refused


@pytest.mark.parametrize(
    "fields, error",
    [
        ({"epoch": 1}, errno.EINVAL),
        ({"peer": "10.0.0.0", "prefix_len": 8}, errno.EINVAL),
        ({"local_port": 1}, errno.EINVAL),
        ({"prefix_len": 8, "epoch": 1}, errno.EINVAL),
        ({"prefix_len": 8, "local_port": 1, "epoch": 1}, errno.EINVAL),
        ({"peer": "10.0.0.0", "peer6": "::1", "epoch": 1}, errno.EINVAL),
        ({"peer": "10.0.0.0", "prefix_len": 33, "epoch": 1}, errno.ERANGE),
        ({"peer6": "::", "prefix_len": 129, "epoch": 1}, errno.ERANGE),
        ({"peer6": "::", "prefix_len": ltp.U32_MAX, "epoch": 1}, errno.ERANGE),
        ({"peer": "10.0.0.1", "prefix_len": 8, "epoch": 1}, errno.EINVAL),
        ({"peer": "10.0.0.1", "prefix_len": 0, "epoch": 1}, errno.EINVAL),
        ({"peer6": "2001:db8::1", "prefix_len": 127, "epoch": 1}, errno.EINVAL),
        ({"local_port": 0, "epoch": 1}, errno.ERANGE),
        ({"peer_port": 0, "epoch": 1}, errno.ERANGE),
        ({"local_port": 1, "fraction_ppm": 0}, errno.ERANGE),
        ({"local_port": 1, "fraction_ppm": 1000001}, errno.ERANGE),
        ({"local_port": 1, "lt_us": ltp.TIME_MAX_US + 1}, errno.ERANGE),
        ({"local_port": 1, "deadline_us": ltp.ADAPTIVE - 1}, errno.ERANGE),
        ({"local_port": 1, "lt_us": 2, "deadline_us": 1}, errno.EINVAL),
        ({"local_port": 1, "slack_us": ltp.TIME_MAX_US + 1}, errno.ERANGE),
        ({"local_port": 1, "slack_us": ltp.ADAPTIVE}, errno.EINVAL),
        ({"local_port": 1, "profile": 0}, errno.ERANGE),
        ({"local_port": 1, "profile": 3}, errno.ERANGE),
        ({"local_port": 1, "epoch": 1 << 31}, errno.ERANGE),
        ({"local_port": 1, "cc": "cubic"}, errno.ENOENT),
        # Wrong sizes.
        ({"local_port": b"\0", "epoch": 1}, errno.EINVAL),
        ({"peer": b"\x0a\0\0", "epoch": 1}, errno.EINVAL),
        ({"peer6": bytes(15), "epoch": 1}, errno.ERANGE),
        ({"peer6": bytes(17), "epoch": 1}, errno.ERANGE),
        ({"local_port": 1, "lt_us": bytes(4)}, errno.EINVAL),
        ({"local_port": 1, "cc": b"bdp"}, errno.EINVAL),
    ],
)
def test_bad_requests(host: lab.Host, fields: dict[str, Any], error: int) -> None:
    host.family.add_rule(local_port=9, epoch=9)
    before = host.family.rules()
    for change in host.family.add_rule, host.family.set_rule:
        with pytest.raises(OSError) as refused:
            change(**fields)
        assert refused.value.errno == error
    assert host.family.rules() == before


@pytest.mark.parametrize(
    "fields, error",
    [
        ({}, errno.EINVAL),
        ({"local_port": 8}, errno.ENOENT),
        ({"peer_port": 9}, errno.ENOENT),
        ({"local_port": 9, "peer_port": 9}, errno.ENOENT),
        ({"peer": "10.0.0.0", "prefix_len": 8, "local_port": 9}, errno.ENOENT),
        ({"local_port": 0}, errno.ERANGE),
        ({"peer": "10.0.0.1", "prefix_len": 8}, errno.EINVAL),
        # To delete is not to set.
        ({"local_port": 9, "epoch": 9}, errno.EINVAL),
    ],
)
def test_bad_deletions(host: lab.Host, fields: dict[str, Any], error: int) -> None:
    host.family.add_rule(local_port=9, epoch=9)
    with pytest.raises(OSError) as refused:
        host.family.del_rule(**fields)
    assert refused.value.errno == error
    assert len(host.family.rules()) == 1


@pytest.mark.parametrize(
    "line, text",
    [
        ("add", "rule add: for whom? Name a peer or a port"),
        ("del", "rule del: for whom? Name a peer or a port"),
        ("add peer", "rule add: peer lacks its value"),
        ("add port 5 port 6 epoch 1", "rule add: port is given twice"),
        ("add speed 5", 'rule add: there is no "speed"'),
        ("del port 5 epoch 1", 'rule del: there is no "epoch"'),
        ("add port x epoch 1", 'port: "x" is not a number'),
        ("add port 65536 epoch 1", 'port: "65536" is not a port'),
        ("add port 5 epoch x", 'epoch: "x" is not a number: write 64 or none'),
        ("add port 5 profile lan", 'profile: "lan" is not a profile: write dcn or wan'),
        ("add peer 10.0.0.0/x epoch 1", 'peer: "x" is not a number'),
        (
            "add peer 10.0.0 epoch 1",
            'peer: "10.0.0" is not an address or a prefix: write 10.1.0.0/16 or 2001:db8::1',
        ),
        ("show all", '"all" is too much'),
        ("flush all", '"all" is too much'),
        ("list", 'rule: there is no command "list", see ltpctl rule help'),
    ],
)
def test_wrong_lines(line: str, text: str) -> None:
    assert ltpctl("rule", *line.split(), code=USAGE).stderr == f"ltpctl: {text}\n"


@pytest.mark.parametrize(
    "line, text",
    [
        ("add port 5", "a rule needs something to set"),
        ("add epoch 5", "a rule needs a peer or a port"),
        ("add port 0 epoch 1", "port must be 1 to 65535"),
        ("add peer 10.0.0.1/8 epoch 1", "peer has bits beyond its prefix"),
        ("add peer 10.0.0.0/33 epoch 1", "peer: prefix-len must be 0 to 32 (IPv4) or 128 (IPv6)"),
        ("add port 5 lt 2s deadline 1s", "deadline must be 0 (none) or at least lt"),
    ],
)
def test_refused_lines(host: lab.Host, line: str, text: str) -> None:
    stderr = ltpctl("rule", *line.split(), netns=host.name, code=REFUSED).stderr
    assert stderr == f"ltpctl: {text}\n"


def test_unprivileged(host: lab.Host) -> None:
    """Everybody may look, nobody without CAP_NET_ADMIN may change anything."""
    host.family.add_rule(local_port=9, epoch=9)
    who = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c"]
    tool = lab.LTPCTL

    def attempt(line: str) -> subprocess.CompletedProcess:
        return run("ip", "netns", "exec", host.name, *who, f"{tool} {line}")

    assert attempt("rule show").stdout == "port 9 epoch 9\n"
    for line in ("rule add port 5 epoch 1", "rule del port 9", "rule flush", "profile wan"):
        assert attempt(line).returncode == REFUSED
    assert len(host.family.rules()) == 1


# ---- ltpctl profile


def test_profile(host: lab.Host) -> None:
    assert ltpctl("profile", netns=host.name).stdout == "dcn\n"
    ltpctl("profile", "wan", netns=host.name)
    assert ltpctl("profile", "show", netns=host.name).stdout == "wan\n"
    assert json.loads(ltpctl("-j", "profile", netns=host.name).stdout) == {"profile": "wan"}
    assert as_json("show", netns=host.name)["profile"] == "wan"
    ltpctl("profile", "dcn", netns=host.name)
    assert ltpctl("profile", netns=host.name).stdout == "dcn\n"
    text = ltpctl("profile", "lan", netns=host.name, code=USAGE).stderr
    assert text == 'ltpctl: profile: there is no command "lan", see ltpctl profile help\n'


# ---- whom they reach


def in_force(sock: ltp.Socket) -> tuple[int, ...]:
    fraction, _, lt_, deadline, slack = TH.unpack(sock.getsockopt(ltp.SOL_LTP, ltp.THRESHOLDS, 32))
    return fraction, lt_, deadline, slack


def test_precedence(pair: lab.Pair) -> None:
    """Socket, rules from the most specific on, namespace: each field for itself."""
    host, family = pair.rx_host, pair.rx_host.family
    family.set_config(fraction_ppm=100000, lt_us=1000, deadline_us=2000, slack_us=3000, epoch=4)
    assert in_force(pair.rx) == (100000, 1000, 2000, 3000)
    family.add_rule(peer="10.1.0.0", prefix_len=16, fraction_ppm=200000, lt_us=1100)
    assert in_force(pair.rx) == (200000, 1100, 2000, 3000)
    family.add_rule(peer=pair.tx_host.addr, fraction_ppm=300000)
    assert in_force(pair.rx) == (300000, 1100, 2000, 3000)
    pair.rx.set_thresholds(fraction_ppm=400000)
    assert in_force(pair.rx) == (400000, 1100, 2000, 3000)
    family.add_rule(local_port=5000, fraction_ppm=1, deadline_us=2200, profile=ltp.PROFILE_WAN)
    assert in_force(pair.rx) == (400000, 1100, 2200, 100000)
    assert (pair.rx.get(ltp.PROFILE), pair.rx.get(ltp.EPOCH_FLOWS)) == (ltp.PROFILE_WAN, 4)
    # Without a peer there is no rule.
    assert in_force(pair.listener) == (100000, 1000, 2000, 3000)
    # Others, and the other end, have other peers.
    family.add_rule(peer="10.1.0.77", fraction_ppm=5)
    family.add_rule(local_port=5001, fraction_ppm=5)
    family.add_rule(peer_port=5000, fraction_ppm=5)
    assert in_force(pair.rx) == (400000, 1100, 2200, 100000)
    pair.rx.set_thresholds()
    family.del_rule(peer=pair.tx_host.addr)
    assert in_force(pair.rx) == (200000, 1100, 2200, 100000)
    ltpctl("rule", "flush", netns=host.name)
    assert in_force(pair.rx) == (100000, 1000, 2000, 3000)


def test_associations_to_come(net: lab.Net) -> None:
    """Both ends, by their ports and addresses."""
    rx_host, tx_host = net.link()
    rx_host.family.add_rule(peer="10.1.0.2", local_port=5000, fraction_ppm=111)
    tx_host.family.add_rule(peer="10.1.0.1", peer_port=5000, fraction_ppm=222)
    pair = lab.Pair(rx_host, tx_host)
    assert in_force(pair.rx)[0] == 111
    assert in_force(pair.tx)[0] == 222
    port = pair.tx.getsockname()[1]
    tx_host.family.add_rule(peer="10.1.0.1", local_port=port, peer_port=5000, fraction_ppm=333)
    assert in_force(pair.tx)[0] == 333
    # A socket that has looked before it had a peer looks again.
    sock = tx_host.socket()
    assert in_force(sock)[0] == 900000
    sock.connect((rx_host.addr, 5000))
    assert in_force(sock)[0] == 222


def test_congestion_control(pair: lab.Pair) -> None:
    """Of associations that are, and that come; what the program chose stays."""
    family = pair.tx_host.family

    def cc(sock: ltp.Socket) -> bytes:
        return sock.getsockopt(ltp.SOL_LTP, ltp.CONGESTION, 16).rstrip(b"\0")

    pair.tx.send(b"x")
    pair.rx.recv(1)
    mine = pair.tx_host.socket()
    mine.set(ltp.CONGESTION, b"bdp")
    mine.connect((pair.rx_host.addr, 5000))
    pair.net.sockets.append(pair.listener.accept()[0])
    family.add_rule(peer_port=5000, cc="reno")
    assert (cc(pair.tx), cc(mine)) == (b"reno", b"bdp")
    _, later = pair.more()
    assert cc(later) == b"reno"
    for sock in pair.tx, later:
        sock.send(b"hello")
    family.set_rule(peer_port=5000, cc="bdp")
    assert (cc(pair.tx), cc(later)) == (b"bdp", b"bdp")
    assert pair.rx.recv(9) == b"hello"


def test_changes_under_traffic(pair: lab.Pair) -> None:
    """Rules come and go while flows run: each flow ends, and both maps are equal."""
    pair.tx.set(ltp.REPORTS, 1)
    pair.rx.want_control()
    family = pair.rx_host.family
    data = bytes(300000)
    stop: list[bool] = []

    def churn() -> None:
        i = 0
        while not stop:
            i += 1
            family.set_rule(peer="10.1.0.2", lt_us=i % 7 * 1000, fraction_ppm=1 + i % 1000000)
            if not i % 5:
                family.flush_rules()

    busy = pair.net.background(churn)
    reasons = set()
    for tag in range(lab.scaled(200, 40)):
        pair.tx.send_message(data, tag=tag, flags=ltp.TOLERANT)
        got = pair.rx.receive(len(data))
        reasons.add(got.rcvinfo.reason)
        assert got.rcvinfo.tag == tag
    stop.append(True)
    busy.result()
    assert reasons <= {ltp.COMPLETE, ltp.FRACTION, ltp.DEADLINE}
    assert calls.error_of(pair.rx.recv, 1, socket.MSG_DONTWAIT) == errno.EAGAIN
