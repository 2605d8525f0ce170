# SPDX-License-Identifier: GPL-2.0
"""ltpctl and the netlink family below it, with the real module.

    +-----------+  veth  +-----------+
    | rx        |--------| tx        |     rx listens, tx connects
    | 10.9.0.1  |        | 10.9.0.2  |
    +-----------+        +-----------+
"""
import contextlib
import ctypes
import itertools
import json
import os
import re
import select
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

REPO = Path(__file__).resolve().parents[2]
LTPCTL = os.environ.get("LTPCTL", str(REPO / "build/lab/tools/ltpctl"))
SPEC = REPO / "Documentation/netlink/specs/ltp.yaml"
HEADER = REPO / "uapi/linux/ltp_netlink.h"

IPPROTO_LTP = SOL_LTP = 253
LTP_SNDINFO = 1
LTP_TOLERANT = 1
MIB = 1 << 20

RX_ADDR, TX_ADDR = "10.9.0.1", "10.9.0.2"
USAGE, REFUSED, NO_MODULE = 1, 2, 3

numbers = itertools.count()


def run(*command: str, **options: Any) -> subprocess.CompletedProcess:
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, **options
    )


def ltpctl(
    *words: str, netns: str = "", code: int = 0, **options: Any
) -> subprocess.CompletedProcess:
    """Runs ltpctl; its exit status must be `code`, and a failure is one sentence."""
    where = ("-n", netns) if netns else ()
    result = run(LTPCTL, *where, *words, **options)
    assert result.returncode == code, f"{words}: {result}"
    if code:
        assert result.stdout == ""
        assert result.stderr.startswith("ltpctl: ") and result.stderr.count("\n") == 1
    else:
        assert result.stderr == ""
    return result


def as_json(*words: str, netns: str = "") -> Any:
    return json.loads(ltpctl("-j", *words, netns=netns).stdout)


def stats(netns: str) -> dict[str, int]:
    return {stat["name"]: stat["value"] for stat in as_json("stat", "show", netns=netns)}


class Netns:
    """A network namespace with a name; sockets are made in it by a thread that enters it."""

    def __init__(self) -> None:
        self.name = f"ltpctl{next(numbers)}"
        assert run("ip", "netns", "add", self.name).returncode == 0
        assert run("ip", "-n", self.name, "link", "set", "lo", "up").returncode == 0

    def close(self) -> None:
        run("ip", "netns", "del", self.name)

    def call(self, function: Callable[[], Any]) -> Any:
        result: list[Any] = []

        def enter() -> None:
            with open(f"/run/netns/{self.name}", encoding="ascii") as file:
                if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), 0x40000000):
                    raise OSError(ctypes.get_errno(), "setns")
            result.append(function())

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        return result[0]

    def new_socket(self) -> socket.socket:
        return self.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_SEQPACKET, IPPROTO_LTP))

    def listen(self, addr: str, port: int) -> socket.socket:
        sock = self.new_socket()
        sock.bind((addr, port))
        sock.listen(1000)
        return sock

    def connect(self, addr: str, port: int) -> socket.socket:
        sock = self.new_socket()
        sock.settimeout(10)
        sock.connect((addr, port))
        return sock


@pytest.fixture(name="netns")
def fixture_netns() -> Iterator[str]:
    netns = Netns()
    yield netns.name
    netns.close()


@pytest.fixture(name="pair")
def fixture_pair() -> Iterator[tuple[Netns, Netns]]:
    rx, tx = Netns(), Netns()
    commands = (
        f"-n {rx.name} link add e0 type veth peer name e0 netns {tx.name}",
        f"-n {rx.name} addr add {RX_ADDR}/24 dev e0",
        f"-n {tx.name} addr add {TX_ADDR}/24 dev e0",
        f"-n {rx.name} link set e0 up",
        f"-n {tx.name} link set e0 up",
    )
    for command in commands:
        assert run("ip", *command.split()).returncode == 0
    yield rx, tx
    rx.close()
    tx.close()


def connected(pair: tuple[Netns, Netns], port: int = 5000) -> tuple[socket.socket, socket.socket]:
    """A socket of an association in each of the two."""
    rx, tx = pair
    with rx.listen(RX_ADDR, port) as listener:
        sender = tx.connect(RX_ADDR, port)
        listener.settimeout(10)
        return listener.accept()[0], sender


def send_some(
    sender: socket.socket, length: int, tag: int, flags: int = 0, critical: int = 0
) -> int:
    """Begins a flow and hands over what fits; the rest of it is not there yet."""
    info = struct.pack("=QIIH6x", tag, critical, 0, flags)
    sender.setblocking(False)
    return sender.sendmsg([bytes(length)], [(SOL_LTP, LTP_SNDINFO, info)])


def wait_for(condition: Callable[[], Any], what: str) -> Any:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if result := condition():
            return result
        time.sleep(0.02)
    raise AssertionError(f"{what} did not happen")


# ---------------------------------------------------------------- configuration

DEFAULT = {
    "fraction": 0.9,
    "lt_us": 0,
    "deadline_us": 0,
    "cc": "bdp",
    "rcvbuf": 8 * MIB,
    "sndbuf": 8 * MIB,
    "dead_ms": 60000,
}


def test_default_configuration(netns: str) -> None:
    assert as_json("show", netns=netns) == DEFAULT
    assert as_json("config", "show", netns=netns) == DEFAULT
    assert as_json("config", netns=netns) == DEFAULT
    assert ltpctl("show", netns=netns).stdout == (
        "fraction 0.9 lt none deadline none cc bdp rcvbuf 8388608 sndbuf 8388608 dead 60s\n"
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
        ("deadline", "0.3ms", "300us", "deadline_us", 300),
        ("deadline", "3600s", "3600s", "deadline_us", 3600000000),
        ("cc", "bdp", "bdp", "cc", "bdp"),
        ("rcvbuf", "64K", "65536", "rcvbuf", 65536),
        ("sndbuf", "1G", "1073741824", "sndbuf", 1 << 30),
        ("dead", "2.5s", "2.5s", "dead_ms", 2500),
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


def test_what_is_shown_can_be_set(netns: str) -> None:
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
        netns=netns,
    )
    shown = ltpctl("show", netns=netns).stdout
    other = Netns()
    ltpctl("set", *shown.split(), netns=other.name)
    assert ltpctl("show", netns=other.name).stdout == shown
    other.close()


OUT_OF_RANGE = [
    ("fraction", "0", "fraction must be 1 to 1000000 (millionths)"),
    ("fraction", "1.000001", "fraction must be 1 to 1000000 (millionths)"),
    ("fraction", "4294", "fraction must be 1 to 1000000 (millionths)"),
    ("lt", "3600000001", "lt must be 0 (none) to 3600000000 (microseconds: one hour)"),
    ("lt", "18446744073709551615", "lt must be 0 (none) to 3600000000 (microseconds: one hour)"),
    ("deadline", "3601s", "deadline must be 0 (none) to 3600000000 (microseconds: one hour)"),
    ("rcvbuf", "4095", "rcvbuf must be 4096 to 1073741824 (bytes)"),
    ("rcvbuf", "1073741825", "rcvbuf must be 4096 to 1073741824 (bytes)"),
    ("sndbuf", "0", "sndbuf must be 4096 to 1073741824 (bytes)"),
    ("sndbuf", "3G", "sndbuf must be 4096 to 1073741824 (bytes)"),
    ("dead", "99ms", "dead must be 100 to 3600000 (milliseconds)"),
    ("dead", "3601s", "dead must be 100 to 3600000 (milliseconds)"),
    ("dead", "none", "dead must be 100 to 3600000 (milliseconds)"),
    ("cc", "cubic", "cc must be a congestion control of this module: bdp"),
    ("cc", "x" * 1000, "cc must be a congestion control of this module: bdp"),
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
    assert as_json("show", netns=netns) == DEFAULT | {"deadline_us": 1}


def test_namespaces_are_independent(netns: str) -> None:
    other = Netns()
    here = as_json("show")
    ltpctl("set", "fraction", "0.25", "dead", "7s", netns=netns)
    assert as_json("show", netns=netns) == DEFAULT | {"fraction": 0.25, "dead_ms": 7000}
    assert as_json("show", netns=other.name) == DEFAULT
    assert as_json("show") == here
    assert as_json("show", netns=f"/run/netns/{netns}")["fraction"] == 0.25
    other.close()


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
        ("set lt 20m", f'lt: "20m" {NO_TIME}'),
        ("set lt -1", f'lt: "-1" {NO_TIME}'),
        ("set lt .", f'lt: "." {NO_TIME}'),
        ("set lt 1.2.3s", f'lt: "1.2.3s" {NO_TIME}'),
        ("set lt 0.5us", f'lt: "0.5us" {NO_TIME}'),
        ("set lt 18446744073709551616", f'lt: "18446744073709551616" {NO_TIME}'),
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
}
THRESHOLD_KEYS = {"fraction", "lt_us", "deadline_us"}


def test_nothing_to_show(netns: str) -> None:
    for name in ("assoc", "flow"):
        assert as_json(name, "show", netns=netns) == []
        assert ltpctl(name, "show", netns=netns).stdout == ""


def test_assoc_show(pair: tuple[Netns, Netns]) -> None:
    receiver, sender = connected(pair)
    with receiver, sender:
        port = sender.getsockname()[1]
        (theirs,) = as_json("assoc", "show", netns=pair[0].name)
        (ours,) = as_json("assoc", "show", netns=pair[1].name)
        assert set(theirs) == set(ours) == ASSOC_KEYS
        for assoc, local, peer in (
            (theirs, (RX_ADDR, 5000), (TX_ADDR, port)),
            (ours, (TX_ADDR, port), (RX_ADDR, 5000)),
        ):
            assert (assoc["local_addr"], assoc["local_port"]) == local
            assert (assoc["peer_addr"], assoc["peer_port"]) == peer
            assert assoc["state"] == "established"
            assert assoc["cc"] == "bdp"
            assert assoc["flows_out"] == assoc["flows_in"] == assoc["in_flight"] == 0
            assert assoc["peer_window"] > 0 and assoc["cwnd"] > 0 and assoc["seg_size"] > 0
        text = ltpctl("assoc", "show", netns=pair[1].name).stdout
        assert text.startswith(
            f"local {TX_ADDR}:{port} peer {RX_ADDR}:5000 state established cc bdp\n    srtt "
        )
        assert "bytes_acked" not in text
        assert "bytes_acked 0" in ltpctl("-s", "assoc", "show", netns=pair[1].name).stdout
    wait_for(
        lambda: as_json("assoc", "show", netns=pair[1].name) == [], "the end of the association"
    )


def test_flow_show_during_a_transfer(pair: tuple[Netns, Netns]) -> None:
    ltpctl("set", "fraction", "0.75", "lt", "1000s", "deadline", "2000s", netns=pair[0].name)
    receiver, sender = connected(pair)
    with receiver, sender:
        port = sender.getsockname()[1]
        # Nobody reads: more than the receive buffer cannot arrive, so the flow stays open.
        send_some(sender, 64 * MIB, 7, LTP_TOLERANT, 5000)
        (theirs,) = wait_for(
            lambda: [f for f in as_json("flow", "show", netns=pair[0].name) if f["arrived"] > 100],
            "the arrival of data",
        )
        (ours,) = as_json("flow", "show", netns=pair[1].name)
        assert set(theirs) == FLOW_KEYS | THRESHOLD_KEYS | {"age_us"}
        assert set(ours) - {"age_us"} == FLOW_KEYS
        assert theirs["direction"] == "in" and ours["direction"] == "out"
        assert (theirs["local_addr"], theirs["local_port"]) == (RX_ADDR, 5000)
        assert (theirs["peer_addr"], theirs["peer_port"]) == (TX_ADDR, port)
        assert (ours["local_addr"], ours["local_port"]) == (TX_ADDR, port)
        assert theirs["flow"] == ours["flow"]
        for flow in (theirs, ours):
            assert flow["tag"] == 7 and flow["reason"] == "open" and flow["tolerant"] is True
            assert flow["length"] == 64 * MIB and flow["seg_size"] % 16 == 0
            assert flow["segments"] == -(-flow["length"] // flow["seg_size"])
            assert 0 < flow["arrived"] < flow["segments"]
            assert flow["critical"] == -(-5000 // flow["seg_size"])
            assert flow["critical_arrived"] == flow["critical"]
        assert {key: theirs[key] for key in THRESHOLD_KEYS} == {
            "fraction": 0.75,
            "lt_us": 1000000000,
            "deadline_us": 2000000000,
        }
        assert 0 < theirs["age_us"] < 60000000
        text = ltpctl("flow", "show", netns=pair[0].name).stdout
        assert re.fullmatch(
            rf"flow {theirs['flow']} in local {RX_ADDR}:5000 peer {TX_ADDR}:{port} "
            rf"tag 7 reason open age [\d.]+m?s\n"
            rf"    length 67108864 seg_size \d+ segments \d+ arrived \d+ "
            rf"critical \d+ critical_arrived \d+ tolerant "
            rf"fraction 0.75 lt 1000s deadline 2000s\n",
            text,
        )
        assert "cookie" in ltpctl("-s", "flow", "show", netns=pair[0].name).stdout


def test_thresholds_change_a_running_flow(pair: tuple[Netns, Netns]) -> None:
    receiver, sender = connected(pair)
    with receiver, sender:
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 256 << 10)
        handed_over = send_some(sender, 8 * MIB, 1, LTP_TOLERANT)
        assert 0 < handed_over < 8 * MIB
        reader = threading.Thread(target=receiver.recv, args=(8 * MIB,))
        reader.start()
        # Without thresholds the rest is waited for.
        reader.join(0.3)
        assert reader.is_alive()
        ltpctl("set", "deadline", "100s", netns=pair[0].name)
        reader.join(0.1)
        assert reader.is_alive()
        (flow,) = as_json("flow", "show", netns=pair[0].name)
        assert flow["deadline_us"] == 100000000 and flow["reason"] == "open"
        before = stats(pair[0].name)
        # Long past: the flow ends at once.
        ltpctl("set", "deadline", "1ms", netns=pair[0].name)
        reader.join(5)
        assert not reader.is_alive()
        after = stats(pair[0].name)
        assert after["ClosedDeadline"] - before["ClosedDeadline"] == 1
        assert after["ClosedComplete"] == before["ClosedComplete"]


# ---------------------------------------------------------------- counters


def test_stat_differences(pair: tuple[Netns, Netns]) -> None:
    receiver, sender = connected(pair)
    with receiver, sender:
        before = stats(pair[0].name), stats(pair[1].name)
        sender.settimeout(10)
        receiver.settimeout(10)
        for _ in range(3):
            sender.send(bytes(10000))
            assert len(receiver.recv(20000)) == 10000
        wait_for(lambda: stats(pair[1].name)["InAcks"] > before[1]["InAcks"], "an ACK")
        after = stats(pair[0].name), stats(pair[1].name)
    delta = [{name: after[i][name] - before[i][name] for name in after[i]} for i in (0, 1)]
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
        assert (
            re.fullmatch(r"[A-Z][A-Za-z]+", entry["name"]) and entry["doc"] and entry["value"] == 0
        )
    assert len({entry["name"] for entry in entries}) == len(entries)
    details = ltpctl("-s", "stat", "show", netns=netns).stdout.splitlines()
    assert len(details) == len(entries)
    for line, entry in zip(details, entries):
        assert line.split(None, 2) == [entry["name"], "0", entry["doc"]]


def test_stat_show_leaves_zeros_out(pair: tuple[Netns, Netns]) -> None:
    receiver, sender = connected(pair)
    with receiver, sender:
        lines = ltpctl("stat", "show", netns=pair[1].name).stdout.splitlines()
        shown = {line.split()[0]: int(line.split()[1]) for line in lines}
        assert shown["AssocActive"] == 1
        assert 0 not in shown.values()
        assert all(len(line.split()) == 2 for line in lines)


# ---------------------------------------------------------------- the family, without ltpctl


class Genl:
    """Just enough generic netlink to look at dumps in the making."""

    def __init__(self, netns: Netns) -> None:
        self.sock = netns.call(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16))
        self.sock.bind((0, 0))
        self.sock.settimeout(10)
        self.family = 16
        (answer,) = self.request(
            3, self.attribute(2, b"ltp\0")
        )  # CTRL_CMD_GETFAMILY by CTRL_ATTR_FAMILY_NAME
        self.family = struct.unpack("=H", answer[1])[0]

    @staticmethod
    def attribute(kind: int, payload: bytes) -> bytes:
        return struct.pack("=HH", len(payload) + 4, kind) + payload + bytes(-len(payload) % 4)

    def send(self, command: int, payload: bytes = b"", flags: int = 0) -> None:
        body = struct.pack("=BBxx", command, 1) + payload
        self.sock.send(struct.pack("=IHHII", 16 + len(body), self.family, 1 | flags, 0, 0) + body)

    def receive(self) -> tuple[list[dict[int, bytes]], int | None]:
        """The messages of one read, and the error code that ends the answer if it ended."""
        data = self.sock.recv(8192)
        messages: list[dict[int, bytes]] = []
        while data:
            length, kind = struct.unpack_from("=IH", data)
            payload, data = data[16:length], data[length + -length % 4 :]
            if kind in (2, 3):  # NLMSG_ERROR, NLMSG_DONE
                return messages, struct.unpack_from("=i", payload)[0]
            message: dict[int, bytes] = {}
            payload = payload[4:]
            while payload:
                size, attr = struct.unpack_from("=HH", payload)
                message[attr] = payload[4:size]
                payload = payload[size + -size % 4 :]
            messages.append(message)
        return messages, None

    def request(self, command: int, payload: bytes = b"", flags: int = 4) -> list[dict[int, bytes]]:
        self.send(command, payload, flags)
        messages: list[dict[int, bytes]] = []
        while True:
            more, end = self.receive()
            messages += more
            if end is not None:
                assert end == 0, os.strerror(-end)
                return messages


CONFIG_SET, ASSOC_GET, FLOW_GET = 2, 3, 4
DUMP = 0x300
COOKIE, FLOW_DIRECTION, FLOW_FLOW = 1, 9, 10


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
def test_malformed_requests(attributes: list[tuple[int, bytes]]) -> None:
    netns = Netns()
    genl = Genl(netns)
    genl.send(CONFIG_SET, b"".join(itertools.starmap(genl.attribute, attributes)), 4)
    messages, error = genl.receive()
    assert not messages and error == -22
    assert as_json("show", netns=netns.name) == DEFAULT
    netns.close()


def test_dump_is_complete_while_associations_come_and_go(pair: tuple[Netns, Netns]) -> None:
    rx, tx = pair
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(rx.listen(RX_ADDR, 5000))
        listener.settimeout(10)
        sockets = []

        def join() -> None:
            sender = tx.connect(RX_ADDR, 5000)
            sockets.append((sender, listener.accept()[0]))

        def leave(index: int) -> None:
            for sock in sockets.pop(index):
                sock.close()

        def leave_all() -> None:
            while sockets:
                leave(0)

        stack.callback(leave_all)
        for _ in range(200):
            join()
        genl = Genl(tx)
        before = {message[COOKIE] for message in genl.request(ASSOC_GET, flags=DUMP)}
        assert len(before) == 200
        genl.send(ASSOC_GET, flags=DUMP)
        seen: list[bytes] = []
        reads = 0
        end = None
        while end is None:
            messages, end = genl.receive()
            seen += [message[COOKIE] for message in messages]
            reads += 1
            if reads <= 5:
                for _ in range(10):
                    leave(0)
                for _ in range(40):
                    join()
        assert end == 0 and reads > 5
        # Let those that left go: a FIN takes a round trip.
        wait_for(
            lambda: len(genl.request(ASSOC_GET, flags=DUMP)) == 350,
            "the end of closed associations",
        )
        after = {message[COOKIE] for message in genl.request(ASSOC_GET, flags=DUMP)}
        assert len(set(seen)) == len(seen)
        assert before & after <= set(seen)
        assert len(before & after) == 150


def test_flow_dump_goes_on_inside_an_association(pair: tuple[Netns, Netns]) -> None:
    with contextlib.ExitStack() as stack:
        for port in range(5000, 5008):
            receiver, sender = connected(pair, port)
            stack.enter_context(receiver)
            stack.enter_context(sender)
            sender.settimeout(10)
            for _ in range(100):
                sender.send(b"x")
            send_some(receiver, 64 * MIB, 1)
        genl = Genl(pair[0])

        def flows() -> list[tuple[bytes, int, int]]:
            return [
                (
                    message[COOKIE],
                    *struct.unpack("=I", message[FLOW_DIRECTION]),
                    *struct.unpack("=I", message[FLOW_FLOW]),
                )
                for message in genl.request(FLOW_GET, flags=DUMP)
            ]

        # All arrive and none is read: that many flows are there to be told of.
        wait_for(lambda: len(flows()) >= 808, "the arrival of all flows")
        seen = flows()
        assert len(seen) == len(set(seen)) == 808
        for cookie in {flow[0] for flow in seen}:
            incoming = [
                flow for owner, direction, flow in seen if (owner, direction) == (cookie, 0)
            ]
            assert len(incoming) == 100
            assert all((b - a) % (1 << 32) == 1 for a, b in zip(incoming, incoming[1:]))
        assert len([flow for flow in seen if flow[1] == 1]) == 8


def test_dump_that_is_not_read_on_holds_nothing(pair: tuple[Netns, Netns]) -> None:
    rx, tx = pair
    with rx.listen(RX_ADDR, 5000) as listener:
        senders = [tx.connect(RX_ADDR, 5000) for _ in range(100)]
        genl = Genl(tx)
        genl.send(ASSOC_GET, flags=DUMP)
        assert select.select([genl.sock], [], [], 10)[0]
        for sender in senders:
            sender.close()
        listener.close()
        wait_for(
            lambda: as_json("assoc", "show", netns=tx.name) == [], "the end of the associations"
        )
        genl.sock.close()


def test_kernel_can_list_the_policy() -> None:
    result = run("genl", "ctrl", "policy", "name", "ltp")
    if result.returncode:
        pytest.skip("this genl cannot list policies")
    # The lab fails the whole run if the kernel warned.
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
