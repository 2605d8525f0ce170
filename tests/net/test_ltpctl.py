# SPDX-License-Identifier: GPL-2.0
"""ltpctl and the netlink family below it."""
import itertools
import json
import os
import re
import socket
import struct
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.net import genl, lab, ltp
from tests.net.lab import LTPCTL, MIB

REPO = Path(__file__).resolve().parents[2]
SPEC = REPO / "Documentation/netlink/specs/ltp.yaml"
HEADER = REPO / "uapi/linux/ltp_netlink.h"

USAGE, REFUSED, NO_MODULE = 1, 2, 3


def run(*command: str, **options: Any) -> subprocess.CompletedProcess:
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60 * lab.SLOW, check=False, **options
    )


def ltpctl(*words: str, netns: str = "", code: int = 0) -> subprocess.CompletedProcess:
    """Runs ltpctl; its exit status must be `code`, and a failure is one sentence."""
    where = ("-n", netns) if netns else ()
    result = run(LTPCTL, *where, *words)
    assert result.returncode == code, f"{words}: {result}"
    if code:
        assert result.stdout == ""
        assert result.stderr.startswith("ltpctl: ") and result.stderr.count("\n") == 1
    else:
        assert result.stderr == ""
    return result


def as_json(*words: str, netns: str = "") -> Any:
    return json.loads(ltpctl("-j", *words, netns=netns).stdout)


@pytest.fixture(name="netns")
def fixture_netns(net: lab.Net) -> str:
    """The name of a network namespace where nothing has happened yet."""
    return net.alone().name


def send_some(sender: ltp.Socket, length: int, **how: int) -> int:
    """Begins a flow and hands over what fits; the rest of it is not there yet."""
    return sender.send_message(bytes(length), socket.MSG_DONTWAIT, **how)


# ---------------------------------------------------------------- configuration

DEFAULT = {
    "fraction": 0.9,
    "lt_us": "adaptive",
    "deadline_us": "adaptive",
    "profile": "dcn",
    "slack_us": "profile",
    "epoch": 16,
    "cc": "bdp",
    "rcvbuf": 8 * MIB,
    "sndbuf": 8 * MIB,
    "dead_ms": 60000,
    "encap_port": 0,
    "encap_peer": 0,
}


def test_default_configuration(netns: str) -> None:
    assert as_json("show", netns=netns) == DEFAULT
    assert as_json("config", "show", netns=netns) == DEFAULT
    assert as_json("config", netns=netns) == DEFAULT
    assert ltpctl("show", netns=netns).stdout == (
        "fraction 0.9 lt adaptive deadline adaptive profile dcn slack profile epoch 16 cc bdp "
        "rcvbuf 8388608 sndbuf 8388608 dead 60s encap_port 0 encap_peer 0\n"
    )


def test_pretty_json_is_the_same_json(netns: str) -> None:
    pretty = ltpctl("-j", "-p", "show", netns=netns).stdout
    assert pretty.count("\n") > len(DEFAULT)
    assert json.loads(pretty) == DEFAULT


@pytest.mark.parametrize(
    "key, word, shown, json_key, value",
    [
        ("fraction", "0.8", "0.8", "fraction", 0.8),
        ("fraction", "75%", "0.75", "fraction", 0.75),
        ("fraction", "1", "1", "fraction", 1),
        ("fraction", "0.000001", "0.000001", "fraction", 0.000001),
        ("lt", "20ms", "20ms", "lt_us", 20000),
        ("lt", "20", "20us", "lt_us", 20),
        ("lt", "1.5s", "1.5s", "lt_us", 1500000),
        ("lt", "3600s", "3600s", "lt_us", 3600000000),
        ("lt", "none", "none", "lt_us", 0),
        ("lt", "adaptive", "adaptive", "lt_us", "adaptive"),
        ("deadline", "none", "none", "deadline_us", 0),
        ("profile", "wan", "wan", "profile", "wan"),
        ("profile", "dcn", "dcn", "profile", "dcn"),
        ("slack", "50ms", "50ms", "slack_us", 50000),
        ("slack", "0", "0us", "slack_us", 0),
        ("slack", "profile", "profile", "slack_us", "profile"),
        ("epoch", "1", "1", "epoch", 1),
        ("epoch", "2147483647", "2147483647", "epoch", (1 << 31) - 1),
        ("epoch", "none", "none", "epoch", 0),
        ("deadline", "0.3ms", "300us", "deadline_us", 300),
        ("deadline", "3600s", "3600s", "deadline_us", 3600000000),
        ("cc", "bdp", "bdp", "cc", "bdp"),
        ("rcvbuf", "64K", "65536", "rcvbuf", 65536),
        ("sndbuf", "1G", "1073741824", "sndbuf", 1 << 30),
        ("dead", "2.5s", "2.5s", "dead_ms", 2500),
        ("encap_port", "9899", "9899", "encap_port", 9899),
        ("encap_port", "65535", "65535", "encap_port", 65535),
        ("encap_port", "off", "0", "encap_port", 0),
        ("encap_peer", "off", "0", "encap_peer", 0),
    ],
)
def test_set_and_show(
    netns: str, key: str, word: str, shown: str, json_key: str, value: Any
) -> None:
    for name in ("set", "config set"):
        ltpctl(*name.split(), key, word, netns=netns)
        assert as_json("show", netns=netns) == DEFAULT | {json_key: value}
    words = ltpctl("show", netns=netns).stdout.split()
    assert dict(zip(words[::2], words[1::2]))[key] == shown


def test_what_is_shown_can_be_set(netns: str, net: lab.Net) -> None:
    ltpctl(
        "set",
        "fraction",
        "0.123456",
        "lt",
        "20.001ms",
        "deadline",
        "1.000001s",
        "dead",
        "61.234s",
        "encap_port",
        "9899",
        "encap_peer",
        "9900",
        netns=netns,
    )
    shown = ltpctl("show", netns=netns).stdout
    other = net.alone().name
    ltpctl("set", *shown.split(), netns=other)
    assert ltpctl("show", netns=other).stdout == shown


TIMES = "must be 0 (none) to 3600000000 (microseconds: one hour), or 2^64-1: adaptive"
SLACK = "slack must be 0 to 3600000000 (microseconds: one hour), or 2^64-1: the profile's"
OUT_OF_RANGE = [
    ("fraction", "0", "fraction must be 1 to 1000000 (millionths)"),
    ("fraction", "1.000001", "fraction must be 1 to 1000000 (millionths)"),
    ("fraction", "4294", "fraction must be 1 to 1000000 (millionths)"),
    ("lt", "3600000001", f"lt {TIMES}"),
    ("lt", "18446744073709551614", f"lt {TIMES}"),
    ("deadline", "3601s", f"deadline {TIMES}"),
    ("slack", "3600000001", SLACK),
    ("slack", "18446744073709551614", SLACK),
    ("epoch", "2147483648", "epoch must be 0 (not counted) to 2147483647 (flows)"),
    ("epoch", "4294967295", "epoch must be 0 (not counted) to 2147483647 (flows)"),
    ("rcvbuf", "4095", "rcvbuf must be 4096 to 1073741824 (bytes)"),
    ("rcvbuf", "1073741825", "rcvbuf must be 4096 to 1073741824 (bytes)"),
    ("sndbuf", "0", "sndbuf must be 4096 to 1073741824 (bytes)"),
    ("sndbuf", "3G", "sndbuf must be 4096 to 1073741824 (bytes)"),
    ("dead", "99ms", "dead must be 100 to 3600000 (milliseconds)"),
    ("dead", "3601s", "dead must be 100 to 3600000 (milliseconds)"),
    ("dead", "none", "dead must be 100 to 3600000 (milliseconds)"),
    ("encap_port", "65536", "encap_port must be 0 (off) to 65535 (UDP port)"),
    ("encap_peer", "65536", "encap_peer must be 0 (off) to 65535 (UDP port)"),
    ("encap_peer", "1", "encap_peer needs an encap_port, or answers are not heard"),
    ("cc", "cubic", "cc must be a congestion control of this module: bdp reno"),
    ("cc", "x" * 1000, "cc must be a congestion control of this module: bdp reno"),
]


@pytest.mark.parametrize("key, word, text", OUT_OF_RANGE)
def test_out_of_range(netns: str, key: str, word: str, text: str) -> None:
    assert ltpctl("set", key, word, netns=netns, code=REFUSED).stderr == f"ltpctl: {text}\n"
    # Nothing of a request that is refused happens, wherever in it the fault is.
    good = {
        "fraction": "0.5",
        "lt": "1ms",
        "deadline": "1s",
        "rcvbuf": "1M",
        "sndbuf": "1M",
        "dead": "1s",
        "profile": "wan",
        "slack": "1ms",
        "epoch": "5",
    }
    good.pop(key, None)
    words = [word for pair in good.items() for word in pair]
    for line in ([key, word, *words], [*words, key, word]):
        assert ltpctl("set", *line, netns=netns, code=REFUSED).stderr == f"ltpctl: {text}\n"
    assert as_json("show", netns=netns) == DEFAULT


def test_deadline_below_lt(netns: str) -> None:
    ltpctl("set", "lt", "20ms", "deadline", "20ms", netns=netns)
    before = as_json("show", netns=netns)
    text = "ltpctl: deadline must be 0 (none) or at least lt\n"
    assert ltpctl("set", "deadline", "19.999ms", netns=netns, code=REFUSED).stderr == text
    assert ltpctl("set", "lt", "3ms", "deadline", "2ms", netns=netns, code=REFUSED).stderr == text
    text = "ltpctl: lt must be 0 (none) or at most deadline\n"
    assert ltpctl("set", "fraction", "0.1", "lt", "21ms", netns=netns, code=REFUSED).stderr == text
    assert as_json("show", netns=netns) == before
    ltpctl("set", "lt", "50ms", "deadline", "60ms", netns=netns)
    ltpctl("set", "deadline", "none", netns=netns)
    ltpctl("set", "lt", "1s", netns=netns)
    ltpctl("set", "lt", "none", "deadline", "1us", netns=netns)
    assert as_json("show", netns=netns) == DEFAULT | {"lt_us": 0, "deadline_us": 1}


def test_namespaces_are_independent(netns: str, net: lab.Net) -> None:
    other = net.alone().name
    here = as_json("show")
    ltpctl("set", "fraction", "0.25", "dead", "7s", netns=netns)
    assert as_json("show", netns=netns) == DEFAULT | {"fraction": 0.25, "dead_ms": 7000}
    assert as_json("show", netns=other) == DEFAULT
    assert as_json("show") == here
    assert as_json("show", netns=f"/run/netns/{netns}")["fraction"] == 0.25


def test_unprivileged(netns: str) -> None:
    result = run(
        "ip",
        "netns",
        "exec",
        netns,
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "sh",
        "-c",
        f"{LTPCTL} show && {LTPCTL} flow show && {LTPCTL} assoc show && "
        f"{LTPCTL} stat show && {LTPCTL} set fraction 0.5",
    )
    assert result.returncode == REFUSED
    assert result.stdout.startswith("fraction 0.9 ")
    assert result.stderr == "ltpctl: this needs CAP_NET_ADMIN in the network namespace: try sudo\n"
    assert as_json("show", netns=netns) == DEFAULT


def test_root_of_a_user_namespace_sets_its_own_network_namespace() -> None:
    result = run(
        "unshare",
        "--user",
        "--map-root-user",
        "--net",
        "sh",
        "-c",
        f"{LTPCTL} set fraction 0.5 && {LTPCTL} show",
    )
    if "unshare" in result.stderr:
        pytest.skip("no user namespaces in this kernel")
    assert result.stdout.startswith("fraction 0.5 ")


# ---------------------------------------------------------------- the command line

NO_TIME = "is not a time: write 20ms, 1.5s, 300us (the default unit) or none"
NO_THRESHOLD = "is not a time: write 20ms, 1.5s, 300us (the default unit), none or adaptive"
NO_SHARE = "is not a share with at most six decimals: write 0.9 or 90%"


@pytest.mark.parametrize(
    "line, text",
    [
        ("frobnicate", 'there is no object "frobnicate", see ltpctl help'),
        ("sho", 'there is no object "sho", see ltpctl help'),
        ("flow sh", 'flow: there is no command "sh", see ltpctl flow help'),
        ("flow show all", '"all" is too much'),
        ("show all", '"all" is too much'),
        ("set", "set: what? Name at least one key and its value"),
        ("set lt", "set: lt lacks its value"),
        ("set l 20ms", 'set: there is no "l"'),
        ("set lt 20ms lt 30ms", "set: lt is given twice"),
        ("set lt 20m", f'lt: "20m" {NO_THRESHOLD}'),
        ("set lt -1", f'lt: "-1" {NO_THRESHOLD}'),
        ("set lt .", f'lt: "." {NO_THRESHOLD}'),
        ("set lt 1.2.3s", f'lt: "1.2.3s" {NO_THRESHOLD}'),
        ("set lt 0.5us", f'lt: "0.5us" {NO_THRESHOLD}'),
        ("set lt 18446744073709551616", f'lt: "18446744073709551616" {NO_THRESHOLD}'),
        ("set dead 20m", f'dead: "20m" {NO_TIME}'),
        ("set dead 1us", 'dead: "1us" is not a time in whole milliseconds'),
        ("set fraction 0.9999999", f'fraction: "0.9999999" {NO_SHARE}'),
        ("set fraction 5000", f'fraction: "5000" {NO_SHARE}'),
        ("set rcvbuf 4G", 'rcvbuf: "4G" is not a size: write 65536, 64K, 8M or 1G'),
        ("-x show", "there is no option -x, see ltpctl help"),
        ("--jason show", "there is no option --jason, see ltpctl help"),
        ("-n", "-n lacks its argument"),
    ],
)
def test_usage_errors(netns: str, line: str, text: str) -> None:
    where = netns if "-n" not in line else ""
    result = ltpctl(*line.split(), netns=where, code=USAGE)
    assert result.stderr == f"ltpctl: {text}\n"


@pytest.mark.parametrize(
    "line",
    [
        "help",
        "-h",
        "--help",
        "config help",
        "set help",
        "show help",
        "config set help",
        "assoc help",
        "flow help",
        "flow show help",
        "stat help",
    ],
)
def test_help(line: str) -> None:
    assert ltpctl(*line.split()).stdout.startswith("Usage: ltpctl ")


def test_no_words_is_a_usage_error() -> None:
    result = run(LTPCTL)
    assert result.returncode == USAGE
    assert result.stderr.startswith("Usage: ltpctl ")


def test_version() -> None:
    assert re.fullmatch(
        r"ltpctl \d+\.\d+\.\d+, netlink family ltp version 1\n", ltpctl("-V").stdout
    )


def test_unknown_namespace() -> None:
    result = ltpctl("show", netns="nowhere", code=REFUSED)
    assert result.stderr == 'ltpctl: there is no network namespace "nowhere"\n'


def test_full_disk() -> None:
    with open("/dev/full", "w", encoding="ascii") as full:
        result = subprocess.run(
            [LTPCTL, "help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert result.returncode == REFUSED
    assert result.stderr == "ltpctl: standard output: No space left on device\n"


def test_without_the_module() -> None:
    module = Path(os.environ.get("LTP_MODULES", "/nonexistent")) / "ltp.ko"
    loader = Path("/proc/sys/kernel/modprobe")
    before = loader.read_text(encoding="ascii")
    # Whoever asks for the family must not find it loaded because of that.
    loader.write_text("\n", encoding="ascii")
    try:
        if not module.exists() or run("rmmod", "ltp").returncode:
            pytest.skip("the module cannot be unloaded here")
        try:
            for line in ("show", "set fraction 0.5", "assoc show", "flow show", "stat show"):
                assert ltpctl(*line.split(), code=NO_MODULE).stderr == (
                    "ltpctl: the LTP module is not loaded: modprobe ltp (or insmod ltp.ko)\n"
                )
            ltpctl("set", "lt", "never", code=USAGE)
            ltpctl("help")
        finally:
            assert run("insmod", str(module)).returncode == 0
    finally:
        loader.write_text(before, encoding="ascii")


# ---------------------------------------------------------------- associations and flows

ASSOC_KEYS = {
    "local_addr",
    "local_port",
    "peer_addr",
    "peer_port",
    "state",
    "cc",
    "cookie",
    "srtt_us",
    "rttvar_us",
    "rtprop_us",
    "btlbw",
    "pacing_rate",
    "cwnd",
    "in_flight",
    "peer_window",
    "seg_size",
    "flows_out",
    "flows_in",
    "retransmitted",
    "lost",
    "spurious",
    "probes",
    "segments_out",
    "segments_in",
    "bytes_acked",
    "bytes_received",
}
FLOW_KEYS = {
    "flow",
    "direction",
    "local_addr",
    "local_port",
    "peer_addr",
    "peer_port",
    "tag",
    "reason",
    "cookie",
    "length",
    "seg_size",
    "segments",
    "arrived",
    "critical",
    "critical_arrived",
    "tolerant",
    "calibrating",
}
THRESHOLD_KEYS = {"fraction", "lt_us", "deadline_us"}


def test_nothing_to_show(netns: str) -> None:
    for name in ("assoc", "flow"):
        assert as_json(name, "show", netns=netns) == []
        assert ltpctl(name, "show", netns=netns).stdout == ""


def test_assoc_show(pair: lab.Pair) -> None:
    (theirs,) = as_json("assoc", "show", netns=pair.rx_host.name)
    (ours,) = as_json("assoc", "show", netns=pair.tx_host.name)
    assert set(theirs) == set(ours) == ASSOC_KEYS
    port = pair.tx.getsockname()[1]
    ends = (pair.rx_host.addr, 5000), (pair.tx_host.addr, port)
    for assoc, (local, peer) in ((theirs, ends), (ours, ends[::-1])):
        assert (assoc["local_addr"], assoc["local_port"]) == local
        assert (assoc["peer_addr"], assoc["peer_port"]) == peer
        assert assoc["state"] == "established"
        assert assoc["cc"] == "bdp"
        assert assoc["flows_out"] == assoc["flows_in"] == assoc["in_flight"] == 0
        assert assoc["peer_window"] > 0 and assoc["cwnd"] > 0
        assert assoc["seg_size"] == ltp.seg_size(1500)
    text = ltpctl("assoc", "show", netns=pair.tx_host.name).stdout
    assert text.startswith(
        f"local {pair.tx_host.addr}:{port} peer {pair.rx_host.addr}:5000 "
        "state established cc bdp\n    srtt "
    )
    assert "bytes_acked" not in text
    assert "bytes_acked 0" in ltpctl("-s", "assoc", "show", netns=pair.tx_host.name).stdout
    pair.tx.close()
    pair.rx.close()
    lab.until(
        lambda: as_json("assoc", "show", netns=pair.tx_host.name) == [], "the association ends"
    )


def test_flow_show_during_a_transfer(pair: lab.Pair) -> None:
    netns = pair.rx_host.name
    ltpctl("set", "fraction", "0.75", "lt", "1000s", "deadline", "2000s", netns=netns)
    # Nobody reads: more than the receive buffer cannot arrive, so the flow stays open.
    send_some(pair.tx, 64 * MIB, tag=7, flags=ltp.TOLERANT, critical=5000)
    (theirs,) = lab.until(
        lambda: [flow for flow in as_json("flow", "show", netns=netns) if flow["arrived"] > 100],
        "data arrives",
    )
    (ours,) = as_json("flow", "show", netns=pair.tx_host.name)
    assert set(theirs) == FLOW_KEYS | THRESHOLD_KEYS | {"age_us"}
    assert set(ours) - {"age_us"} == FLOW_KEYS
    assert theirs["direction"] == "in" and ours["direction"] == "out"
    port = pair.tx.getsockname()[1]
    ends = (pair.rx_host.addr, 5000), (pair.tx_host.addr, port)
    for flow, (local, peer) in ((theirs, ends), (ours, ends[::-1])):
        assert (flow["local_addr"], flow["local_port"]) == local
        assert (flow["peer_addr"], flow["peer_port"]) == peer
        assert flow["flow"] == theirs["flow"]
        assert flow["tag"] == 7 and flow["reason"] == "open" and flow["tolerant"] is True
        assert flow["length"] == 64 * MIB and flow["seg_size"] == ltp.seg_size(1500)
        assert flow["segments"] == -(-flow["length"] // flow["seg_size"])
        assert 0 < flow["arrived"] < flow["segments"]
        assert flow["critical"] == flow["critical_arrived"] == -(-5000 // flow["seg_size"])
    assert [theirs[key] for key in ("fraction", "lt_us", "deadline_us")] == [
        0.75,
        10**9,
        2 * 10**9,
    ]
    assert 0 < theirs["age_us"] < 60 * lab.SLOW * 10**6
    assert re.fullmatch(
        rf"flow {theirs['flow']} in local {pair.rx_host.addr}:5000 "
        rf"peer {pair.tx_host.addr}:{port} tag 7 reason open age [\d.]+m?s\n"
        rf"    length 67108864 seg_size \d+ segments \d+ arrived \d+ "
        rf"critical \d+ critical_arrived \d+ tolerant "
        rf"fraction 0.75 lt 1000s deadline 2000s\n",
        ltpctl("flow", "show", netns=netns).stdout,
    )
    assert "cookie" in ltpctl("-s", "flow", "show", netns=netns).stdout


def test_thresholds_change_a_running_flow(pair: lab.Pair) -> None:
    netns = pair.rx_host.name
    pair.tx.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 256 << 10)
    assert 0 < send_some(pair.tx, 8 * MIB, tag=1, flags=ltp.TOLERANT) < 8 * MIB
    read = pair.net.background(pair.rx.recv, 8 * MIB)
    # Without thresholds the rest is waited for; with one that is far away it is, too.
    with pytest.raises(TimeoutError):
        read.result(0.3)
    ltpctl("set", "deadline", "1000s", netns=netns)
    with pytest.raises(TimeoutError):
        read.result(0.1)
    (flow,) = as_json("flow", "show", netns=netns)
    assert flow["deadline_us"] == 10**9 and flow["reason"] == "open"
    with lab.Counting(pair.rx_host) as moved:
        # Long past: the flow ends at once.
        ltpctl("set", "deadline", "1ms", netns=netns)
        assert len(read.result(10 * lab.SLOW)) == 8 * MIB
        assert moved["ClosedDeadline"] == 1
        assert moved["ClosedComplete"] == 0


# ---------------------------------------------------------------- counters


def stats(netns: str) -> dict[str, int]:
    return {stat["name"]: stat["value"] for stat in as_json("stat", "show", netns=netns)}


def test_stat_differences(pair: lab.Pair) -> None:
    names = pair.rx_host.name, pair.tx_host.name
    before = [stats(name) for name in names]
    for _ in range(3):
        pair.tx.send(bytes(10000))
        assert len(pair.rx.recv(20000)) == 10000
    lab.until(lambda: stats(names[1])["InAcks"] > before[1]["InAcks"], "an ACK comes")
    after = [stats(name) for name in names]
    delta = [{name: new[name] - old[name] for name in new} for old, new in zip(before, after)]
    assert delta[0]["FlowsReceived"] == delta[0]["ClosedComplete"] == 3
    assert delta[1]["FlowsSent"] == 3
    assert delta[0]["FlowsSent"] == delta[1]["FlowsReceived"] == 0
    assert delta[0]["InData"] >= 3 and delta[1]["OutData"] >= delta[0]["InData"]
    assert not any(value for name, value in delta[0].items() if name.startswith("Drop"))


def test_stat_show(netns: str) -> None:
    assert ltpctl("stat", "show", netns=netns).stdout == ""
    entries = as_json("stat", "show", netns=netns)
    assert len(entries) > 20
    for entry in entries:
        assert set(entry) == {"name", "value", "doc"}
        assert re.fullmatch(r"[A-Z][A-Za-z]+", entry["name"])
        assert entry["doc"] and entry["value"] == 0
    assert len({entry["name"] for entry in entries}) == len(entries)
    details = ltpctl("-s", "stat", "show", netns=netns).stdout.splitlines()
    assert len(details) == len(entries)
    for line, entry in zip(details, entries):
        assert line.split(None, 2) == [entry["name"], "0", entry["doc"]]


def test_stat_show_leaves_zeros_out(pair: lab.Pair) -> None:
    lines = ltpctl("stat", "show", netns=pair.tx_host.name).stdout.splitlines()
    shown = {line.split()[0]: int(line.split()[1]) for line in lines}
    assert shown["AssocActive"] == 1
    assert 0 not in shown.values()
    assert all(len(line.split()) == 2 for line in lines)


# ---------------------------------------------------------------- the family, without ltpctl


@pytest.mark.parametrize(
    "attributes",
    [
        [(99, b"\0\0\0\0")],  # unknown
        [(1, b"\0\0")],  # fraction-ppm, too short
        [(1, b"\0\0\1\0\0\0\0\0")],  # too long
        [(2, b"\0\0\1\0")],  # lt-us in 32 bits
        [(7, b"bdp")],  # cc without its end
        [(1, struct.pack("=I", 5)), (99, b"")],
    ],
)
def test_malformed_requests(net: lab.Net, attributes: list[tuple[int, bytes]]) -> None:
    host = net.alone()
    data = b"".join(itertools.starmap(genl.attribute, attributes))
    with pytest.raises(OSError, match="Invalid argument"):
        host.family._ask(host.family.ident, genl.CONFIG_SET, data, 0)
    assert as_json("show", netns=host.name) == DEFAULT


def pieces(host: lab.Host, command: int, table: str) -> Generator[list[dict[str, Any]], None, None]:
    """A dump as a slow reader has it: the messages of one read after the other.

    The kernel fills no more at once than the largest read that the socket has seen.
    """
    layout = genl.Table(table)
    ident = host.family.ident
    header = struct.pack("=IHHIIBBH", 20, ident, 1 | genl.NLM_F_DUMP, 1, 0, command, 1, 0)
    with host.enter(
        lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, genl.NETLINK_GENERIC)
    ) as sock:
        sock.send(header)
        kind = ident
        while kind != genl.NLMSG_DONE:
            chunk = sock.recv(8192)
            messages: list[dict[str, Any]] = []
            while chunk:
                length, kind = struct.unpack_from("=IH", chunk)
                assert kind in (ident, genl.NLMSG_DONE)
                if kind == ident:
                    messages.append(layout.decode(chunk[20:length]))
                chunk = chunk[length:]
            yield messages


def test_dump_is_complete_while_associations_come_and_go(pair: lab.Pair) -> None:
    sockets = [pair.more() for _ in range(200)]

    def cookies() -> list[int]:
        return [assoc["cookie"] for assoc in pair.tx_host.family.assocs()]

    before = cookies()
    assert len(before) == 201
    seen: list[int] = []
    reads = 0
    for messages in pieces(pair.tx_host, genl.ASSOC_GET, genl.ASSOC):
        seen += [message["cookie"] for message in messages]
        reads += 1
        if reads <= 5:
            for ends in sockets[:10]:
                for end in ends:
                    end.close()
            sockets = sockets[10:] + [pair.more() for _ in range(40)]
    assert reads > 5
    # Let those that were closed go: a FIN takes a round trip.
    lab.until(lambda: len(cookies()) == 351, "closed associations end")
    stayed = set(before) & set(cookies())
    assert len(stayed) == 151
    assert len(seen) == len(set(seen))
    assert stayed <= set(seen)


def test_flow_dump_goes_on_inside_an_association(pair: lab.Pair) -> None:
    for receiver, sender in [(pair.rx, pair.tx), *(pair.more() for _ in range(7))]:
        for _ in range(100):
            sender.send(b"x")
        send_some(receiver, 64 * MIB, tag=1)

    def flows() -> list[tuple[int, int, int]]:
        return [
            (flow["cookie"], flow["direction"], flow["flow"])
            for messages in pieces(pair.rx_host, genl.FLOW_GET, genl.FLOW)
            for flow in messages
        ]

    # All arrive and none is read: that many flows are there to be told of.
    lab.until(lambda: len(flows()) >= 808, "all flows arrive")
    seen = flows()
    assert len(seen) == len(set(seen)) == 808
    for cookie in {flow[0] for flow in seen}:
        incoming = [flow for owner, direction, flow in seen if (owner, direction) == (cookie, 0)]
        assert len(incoming) == 100
        assert all((b - a) % (1 << 32) == 1 for a, b in zip(incoming, incoming[1:]))
    assert len([flow for flow in seen if flow[1] == 1]) == 8


def test_dump_that_is_not_read_on_holds_nothing(pair: lab.Pair) -> None:
    sockets = [(pair.rx, pair.tx), *(pair.more() for _ in range(100))]
    dump = pieces(pair.tx_host, genl.ASSOC_GET, genl.ASSOC)
    assert next(dump)
    for end in itertools.chain.from_iterable(sockets):
        end.close()
    lab.until(
        lambda: as_json("assoc", "show", netns=pair.tx_host.name) == [], "the associations end"
    )
    dump.close()


def test_kernel_can_list_the_policy() -> None:
    """And does not complain: it knows no policy that has a function for an integer."""
    result = run("genl", "ctrl", "policy", "name", "ltp")
    if result.returncode:
        pytest.skip("this genl cannot list policies")
    assert "type=U32" in result.stdout


# ---------------------------------------------------------------- the spec


def test_header_agrees_with_the_spec() -> None:
    """uapi/linux/ltp_netlink.h is made from the spec by the kernel's ynl-gen-c."""
    yaml = pytest.importorskip("yaml")
    spec = yaml.safe_load(SPEC.read_text(encoding="ascii"))
    enums = [
        re.findall(r"^\t([A-Z]\w+)(?: = 1)?,$", body, re.M)
        for body in re.findall(
            r"^enum (?:\w+ )?{\n(.*?)^};", HEADER.read_text(encoding="ascii"), re.M | re.S
        )
    ]

    def c_name(*words: str) -> str:
        return "_".join(words).replace("-", "_").upper()

    wanted = [
        [
            c_name("ltp", definition["name"], entry if isinstance(entry, str) else entry["name"])
            for entry in definition["entries"]
        ]
        for definition in spec["definitions"]
        if "header" not in definition
    ]
    wanted += [
        [c_name("ltp", "a", attrs["name"], attr["name"]) for attr in attrs["attributes"]]
        for attrs in spec["attribute-sets"]
    ]
    wanted += [
        [c_name("ltp", "cmd", operation["name"]) for operation in spec["operations"]["list"]]
    ]
    assert enums == wanted
