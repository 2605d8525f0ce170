# SPDX-License-Identifier: GPL-2.0
"""The generic netlink family "ltp", without a process for each question."""
import os
import socket
import struct
from collections.abc import Iterator, Mapping
from typing import Any

NETLINK_GENERIC = 16
GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 16, 3, 1, 2
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 0x1, 0x4, 0x300
NLMSG_ERROR, NLMSG_DONE = 2, 3

CONFIG_GET, CONFIG_SET, ASSOC_GET, FLOW_GET, STAT_GET = range(1, 6)
RULE_ADD, RULE_SET, RULE_DEL, RULE_FLUSH, RULE_GET = range(6, 11)

CONFIG = (
    "fraction_ppm:I lt_us:Q deadline_us:Q rcvbuf:I sndbuf:I dead_ms:I cc:s slack_us:Q profile:I "
    "epoch:I encap_port:I encap_peer:I"
)
ENDS = "cookie:Q local_port:H peer_port:H local:a peer:a local6:6 peer6:6 ifindex:I"
ASSOC = (
    f"{ENDS} state:I cc:s srtt_us:I rttvar_us:I rtprop_us:I btlbw:Q pacing_rate:Q cwnd:I "
    "in_flight:I peer_window:I seg_size:I flows_out:I flows_in:I segments_out:I segments_in:I "
    "retransmitted:I lost:I spurious:I probes:I bytes_acked:Q bytes_received:Q encap_port:I"
)
FLOW = (
    f"{ENDS} direction:I flow:I tag:Q length:I seg_size:I segments:I arrived:I critical:I "
    "critical_arrived:I reason:I age_us:Q tolerant:f fraction_ppm:I lt_us:Q deadline_us:Q "
    "calibrating:f"
)
STAT = "name:s value:Q doc:s"
RULE = (
    "peer:a peer6:6 prefix_len:I local_port:P peer_port:P fraction_ppm:I lt_us:Q deadline_us:Q "
    "profile:I slack_us:Q epoch:I cc:s"
)

SIZES = {1: "B", 2: "H", 4: "I", 8: "Q"}


def attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, at)
        yield kind & 0x3FFF, data[at + 4:at + length]
        at += (length + 3) & ~3


def attribute(kind: int, value: bytes) -> bytes:
    return (struct.pack("=HH", 4 + len(value), kind) + value).ljust((len(value) + 7) & ~3, b"\0")


class Table:
    """Names and types of the attributes of an object, in the order of their numbers."""

    def __init__(self, text: str) -> None:
        self.fields = [tuple(word.split(":")) for word in text.split()]

    def decode(self, data: bytes) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for kind, value in attributes(data):
            if not 0 < kind <= len(self.fields):
                continue
            name, form = self.fields[kind - 1]
            if form == "s":
                result[name] = value.rstrip(b"\0").decode()
            elif form == "a":
                result[name] = socket.inet_ntoa(value)
            elif form == "f":
                result[name] = True
            elif form == "P":
                result[name] = struct.unpack("!H", value)[0]
            elif len(value) in SIZES:
                result[name] = struct.unpack("=" + SIZES[len(value)], value)[0]
            else:
                result[name] = value
        return result

    def encode(self, values: Mapping[str, int | str | bytes]) -> bytes:
        data = b""
        for i, (name, form) in enumerate(self.fields):
            value = values.get(name)
            if isinstance(value, bytes):
                data += attribute(i + 1, value)
            elif form == "a" and isinstance(value, str):
                data += attribute(i + 1, socket.inet_aton(value))
            elif form == "6" and isinstance(value, str):
                data += attribute(i + 1, socket.inet_pton(socket.AF_INET6, value))
            elif isinstance(value, str):
                data += attribute(i + 1, value.encode() + b"\0")
            elif form == "P" and value is not None:
                data += attribute(i + 1, struct.pack("!H", value))
            elif value is not None:
                data += attribute(i + 1, struct.pack("=" + form, value))
        return data


class Family:
    """A netlink socket of the namespace it is made in."""

    def __init__(self) -> None:
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
        self.sock.bind((0, 0))
        name = attribute(CTRL_ATTR_FAMILY_NAME, b"ltp\0")
        for reply in self._ask(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, name, 0):
            for kind, value in attributes(reply):
                if kind == CTRL_ATTR_FAMILY_ID:
                    self.ident = struct.unpack("=H", value)[0]

    def close(self) -> None:
        self.sock.close()

    def restart(self) -> None:
        """Forgets what is left of an answer that was not read to its end."""
        self.sock.settimeout(0.01)
        try:
            while self.sock.recv(1 << 17):
                pass
        except OSError:
            pass
        self.sock.settimeout(None)

    def _ask(self, ident: int, command: int, data: bytes, flags: int) -> list[bytes]:
        flags |= NLM_F_REQUEST | (0 if flags & NLM_F_DUMP else NLM_F_ACK)
        header = struct.pack("=IHHIIBBH", 20 + len(data), ident, flags, 1, 0, command, 1, 0)
        self.sock.send(header + data)
        replies: list[bytes] = []
        while True:
            chunk = self.sock.recv(1 << 17)
            while chunk:
                length, kind = struct.unpack_from("=IH", chunk)
                if kind == NLMSG_ERROR:
                    error = -struct.unpack_from("=i", chunk, 16)[0]
                    if error:
                        raise OSError(error, f"netlink: {os.strerror(error)}")
                    return replies
                if kind == NLMSG_DONE:
                    return replies
                replies.append(chunk[20:length])
                chunk = chunk[(length + 3) & ~3:]

    def _dump(self, command: int, table: str) -> list[dict[str, Any]]:
        layout = Table(table)
        return [layout.decode(one) for one in self._ask(self.ident, command, b"", NLM_F_DUMP)]

    def counters(self) -> dict[str, int]:
        return {one["name"]: one["value"] for one in self._dump(STAT_GET, STAT)}

    def assocs(self) -> list[dict[str, Any]]:
        return self._dump(ASSOC_GET, ASSOC)

    def flows(self) -> list[dict[str, Any]]:
        return self._dump(FLOW_GET, FLOW)

    def config(self) -> dict[str, Any]:
        (reply,) = self._ask(self.ident, CONFIG_GET, b"", 0)
        return Table(CONFIG).decode(reply)

    def set_config(self, **values: int | str) -> None:
        self._ask(self.ident, CONFIG_SET, Table(CONFIG).encode(values), 0)

    def rules(self) -> list[dict[str, Any]]:
        return self._dump(RULE_GET, RULE)

    def add_rule(self, **values: int | str | bytes) -> None:
        self._ask(self.ident, RULE_ADD, Table(RULE).encode(values), 0)

    def set_rule(self, **values: int | str | bytes) -> None:
        self._ask(self.ident, RULE_SET, Table(RULE).encode(values), 0)

    def del_rule(self, **values: int | str | bytes) -> None:
        self._ask(self.ident, RULE_DEL, Table(RULE).encode(values), 0)

    def flush_rules(self) -> None:
        self._ask(self.ident, RULE_FLUSH, b"", 0)
