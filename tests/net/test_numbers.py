# SPDX-License-Identifier: GPL-2.0
"""The numbers in the documentation are those of the code, and what the kernel does."""
import re
import socket
from fractions import Fraction
from pathlib import Path

import pytest

from tests.net import lab, ltp, wire

ROOT = Path(__file__).resolve().parents[2]
PROTOCOL = (ROOT / "Documentation/protocol.rst").read_text(encoding="ascii")
MAN = (ROOT / "Documentation/man/ltp.7").read_text(encoding="ascii")

NAMES = {
    "NSEC_PER_USEC": 10**3, "NSEC_PER_MSEC": 10**6, "NSEC_PER_SEC": 10**9,
    "INT_MAX": (1 << 31) - 1, "U16_MAX": 65535, "U32_MAX": (1 << 32) - 1,
}
UNITS = {
    "": 1, "KiB": 1 << 10, "MiB": 1 << 20, "ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9,
    "minute": 60 * 10**9, "hour": 3600 * 10**9,
}
# Fixed-point fractions are in one of these units, rounded.
POINTS = (1, 4, 64, 256, 1024)


def value_of(expression: str) -> int | None:
    """Of a C constant expression, None if it is another thing."""
    text = re.sub(r"/\*.*?\*/", "", expression)
    text = re.sub(r"\((?:u32|u64|int|long)\)", "", text)
    text = re.sub(r"\b(0x[0-9a-fA-F]+|\d+)(?:ULL|UL|U|LL|L)\b", r"\1", text).strip()
    for name, value in NAMES.items():
        text = re.sub(rf"\b{name}\b", str(value), text)
    if not re.fullmatch(r"[\s\dxa-fA-F()+*/<-]+", text):
        return None
    return int(eval(text.replace("/", "//")))  # pylint: disable=eval-used


def defines(file: Path) -> dict[str, int]:
    text = file.read_text(encoding="ascii").replace("\\\n", " ")
    found = {}
    for name, expression in re.findall(r"^#define (\w+)[ \t]+(.+)$", text, re.M):
        value = value_of(expression)
        if value is not None:
            found[name] = value
    return found


def rows() -> list[tuple[str, str, str]]:
    """Name, value and file of each row of the table of constants."""
    lines = PROTOCOL[PROTOCOL.index("\nConstants\n"):].splitlines()
    borders = [i for i, line in enumerate(lines) if line.startswith("==== ") or "=  =" in line]
    edges = [m.start() for m in re.finditer("=+", lines[borders[0]])]
    ends = [*edges[1:], None]
    return [
        (cells[0], cells[1], cells[2])
        for line in lines[borders[1] + 1:borders[2]]
        if (cells := [line[start:end].strip() for start, end in zip(edges, ends)])
    ]


def names_in(cell: str) -> list[str]:
    """LTP_RATIO_START, MIN, MAX: the last part of the first name is another one."""
    first, *others = cell.split(", ")
    return [first, *(f"{first.rpartition('_')[0]}_{other}" for other in others)]


def quantity(text: str) -> tuple[Fraction, str]:
    found = re.match(r"(\d+(?:\.\d+)?(?:/\d+)?)(?: (\w+))?", text)
    assert found, text
    unit = found[2] or ""
    return Fraction(found[1]), unit if unit in UNITS else ""


def scale(name: str) -> int:
    """What a count of the constant's own units is, in nanoseconds if it is a time."""
    for suffix, unit in (("_MS", "ms"), ("_US", "us")):
        if name.endswith(suffix) or f"{suffix}_" in name:
            return UNITS[unit]
    return 1


CONSTANTS = [row for row in rows() if re.match(r"[A-Z]+_", row[0])]


def test_table_is_read() -> None:
    assert len(CONSTANTS) > 50


@pytest.mark.parametrize("cell, text, file", CONSTANTS, ids=[row[0] for row in CONSTANTS])
def test_constant(cell: str, text: str, file: str) -> None:
    """A row of protocol.rst is what the file defines."""
    known = defines(ROOT / "kernel" / file)
    names = names_in(cell)
    values = re.sub(r", \d+ / ln \d+$", "", text).split(", ")
    if len(values) == 1:
        values *= len(names)
    assert len(values) == len(names)
    for name, written in zip(names, values):
        number, unit = quantity(written)
        wanted = number * UNITS[unit]
        is_one = [abs(known[name] * scale(name) - wanted * point) < 1 for point in POINTS]
        assert any(is_one), (name, known[name])


# Names that are no limits, rates or times: numbers of things, layouts, debugging.
NO_NUMBERS = re.compile(
    r"LTP_(F_|MIB|HAVE|TIMER_MISSED|FAMILY|PORT_BUCKETS|RATIO_UNIT|HEADROOM|CC_NAME|SET_|HOLES_"
    r"|SOCKET_|NL_|A_|CMD_|EC_|ENCAP_DEFAULT)|.*_(UNIT|SHIFT|ONE)$"
)


def test_no_constant_is_forgotten() -> None:
    """Each limit, time and gain of the kernel is in the table."""
    listed = {name for row in CONSTANTS for name in names_in(row[0])}
    missing = {}
    for file in (ROOT / "kernel").glob("*.[ch]"):
        for name, value in defines(file).items():
            if re.search(r"_(NS|MS|MAX|MIN|BYTES|DEFAULT|SEGS|ROUNDS)$", name):
                if name not in listed and not NO_NUMBERS.match(name):
                    missing[name] = (file.name, value)
    assert not missing, sorted(missing.items())


UAPI = defines(ROOT / "uapi/linux/ltp.h")
LTP_H = defines(ROOT / "kernel/ltp.h")

# What ltp(7) says, and what it must be.
MAN_NUMBERS = [
    (r"\.Dv IPPROTO_LTP\nis (\d+),", UAPI["IPPROTO_LTP"]),
    (r"is one message of 1 to (\d+) bytes", UAPI["LTP_MESSAGE_MAX"]),
    (r"ended occupy (\d+) KiB", defines(ROOT / "kernel/reader.c")["LTP_WAKE_BYTES"] >> 10),
    (r"Both are (\d+) at first", LTP_H["LTP_RCVBUF_DEFAULT"]),
    (r"Both are (\d+) at first", LTP_H["LTP_SNDBUF_DEFAULT"]),
    (r"\.It messages\n(\d+) that were not read", LTP_H["LTP_MAX_FLOWS"]),
    (r"or (\d+) to \d+ and a multiple of", LTP_H["LTP_SEG_MIN"]),
    (r"or \d+ to (\d+) and a multiple of", LTP_H["LTP_SEG_MAX"]),
    (r"and a multiple of (\d+)\.", LTP_H["LTP_GRAIN"]),
    (r"is 1 to (\d+) \(millionths", UAPI["LTP_FRACTION_MAX"]),
    (r"Not for (\d+) ms after", LTP_H["LTP_STARVED_NS"] // 10**6),
    (r"a bit for each (\d+) bytes", LTP_H["LTP_SEG_MIN"]),
]


@pytest.mark.parametrize("pattern, value", MAN_NUMBERS)
def test_manual_page(pattern: str, value: int) -> None:
    found = re.search(pattern, MAN)
    assert found, "the page does not say that any more"
    assert int(found[1]) == value


def test_defaults(net: lab.Net) -> None:
    """What a new socket and a new namespace have is what the page says."""
    host = net.alone()
    sock = host.socket()
    assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == LTP_H["LTP_RCVBUF_DEFAULT"]
    assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == LTP_H["LTP_SNDBUF_DEFAULT"]
    assert host.family.config()["dead_ms"] == LTP_H["LTP_DEAD_MS_DEFAULT"]
    for name in (ltp.RECVRCVINFO, ltp.RECVRCVMAP, ltp.REPORTS, ltp.HOLES, ltp.SEGSIZE):
        assert sock.get(name) == 0


def test_sizes_on_the_wire() -> None:
    """Sums that protocol.rst makes of its formats."""
    assert f"INIT_ACK have {wire.size_of(wire.INIT_ACK)} bytes" in PROTOCOL.replace("\n", " ")
    assert f"a reflected RESET {wire.HEADER_SIZE}" in PROTOCOL.replace("\n", " ")
    close = 20 + wire.size_of(wire.CLOSE) + 8 * wire.CLOSE_RANGES
    assert f"a full CLOSE has {close} bytes in IPv4" in PROTOCOL
    assert f"LTP {wire.HEADER_SIZE}, DATA {wire.size_of(wire.DATA) - wire.HEADER_SIZE}" in PROTOCOL


def test_sums_and_words_of_the_tests() -> None:
    """What ltp.py repeats of the headers."""
    assert (ltp.GRAIN, ltp.SEG_MIN, ltp.SEG_MAX) == tuple(
        LTP_H[name] for name in ("LTP_GRAIN", "LTP_SEG_MIN", "LTP_SEG_MAX")
    )
    assert ltp.MAX_FLOWS == LTP_H["LTP_MAX_FLOWS"]
    assert ltp.MESSAGE_MAX == UAPI["LTP_MESSAGE_MAX"]
    assert ltp.IPPROTO_LTP == UAPI["IPPROTO_LTP"]
