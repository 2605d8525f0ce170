# SPDX-License-Identifier: GPL-2.0
"""The packets of kernel/wire.h: built field by field, and taken apart.

Their layout is read from that header. A field has the name it has there, except that one that the
common header has as well is body_tag or body_pn, and that within a cookie what the handshake says
of the initiator and of the listener is peer_* and local_*.
"""
import dataclasses
import functools
import re
import struct
from collections.abc import Sequence
from pathlib import Path

SOURCE = (Path(__file__).resolve().parents[2] / "kernel/wire.h").read_text(encoding="ascii")


def constants(pattern: str) -> dict[str, int]:
    return {name: int(value, 0) for name, value in re.findall(pattern, SOURCE)}


TYPES = constants(r"\bLTP_(\w+)\s*= (\d+),")
NAMES = {value: name for name, value in TYPES.items()}
FLAGS = constants(r"#define LTP_F_(\w+)\s+(\w+)")
LIMITS = constants(r"#define LTP_(ACK_WORDS|CLOSE_RANGES)\s+(\d+)")

INIT, INIT_ACK = TYPES["INIT"], TYPES["INIT_ACK"]
COOKIE_ECHO, COOKIE_ACK = TYPES["COOKIE_ECHO"], TYPES["COOKIE_ACK"]
DATA, ACK, CLOSE, CLOSE_ACK, GIVEUP = (TYPES[n] for n in "DATA ACK CLOSE CLOSE_ACK GIVEUP".split())
FIN, FIN_ACK, RESET, PING, PONG = (TYPES[n] for n in "FIN FIN_ACK RESET PING PONG".split())
CRITICAL, TOLERANT, LAST, ACK_NOW = (FLAGS[n] for n in "CRITICAL TOLERANT LAST ACK_NOW".split())
WHOLE, DUP, REFLECT = FLAGS["WHOLE"], FLAGS["DUP"], FLAGS["REFLECT"]
ACK_WORDS, CLOSE_RANGES = LIMITS["ACK_WORDS"], LIMITS["CLOSE_RANGES"]

LETTERS = {"__u8": "B", "__be16": "H", "__sum16": "H", "__be32": "I", "__be64": "Q"}


def members(struct_name: str, prefix: str = "") -> dict[str, str]:
    """The fields of a structure without its flexible part, with the letters of their sizes."""
    found = re.search(rf"^struct {struct_name} {{\n(.*?)^}}", SOURCE, re.M | re.S)
    assert found, struct_name
    fields: dict[str, str] = {}
    for kind, name, array in re.findall(r"^\t(.*?) (\w+)(\[.*\])?;", found[1], re.M):
        if array:
            continue
        if kind.startswith("struct "):
            inner = f"{name}_" if name in ("peer", "local") else ""
            fields |= members(kind.removeprefix("struct "), prefix + inner)
        else:
            fields[prefix + name] = LETTERS[kind]
    return fields


HEADER = members("ltp_hdr")
HEADER_SIZE = struct.calcsize("!" + "".join(HEADER.values()))
COOKIE = members("ltp_cookie")
PARAMS = {name: f"body_{name}" if name in HEADER else name for name in members("ltp_params")}
BODIES = {GIVEUP: "ltp_data", PONG: "ltp_ping", COOKIE_ACK: "", FIN_ACK: ""}


@functools.cache
def layout(kind: int, flags: int = 0) -> dict[str, str]:
    """The fields of a packet type in order, with the letters of their sizes."""
    name = BODIES.get(kind, f"ltp_{NAMES.get(kind, '').lower()}")
    if name in ("", "ltp_") or (kind == RESET and flags & REFLECT):
        return HEADER
    body = members(name)
    return HEADER | {f"body_{key}" if key in HEADER else key: form for key, form in body.items()}


def size_of(kind: int) -> int:
    return struct.calcsize("!" + "".join(layout(kind).values()))


PADDING = size_of(INIT_ACK) - size_of(INIT)  # no answer is larger than its question


def checksum(data: bytes) -> int:
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def pseudo(saddr: bytes, daddr: bytes, length: int, proto: int = 253) -> bytes:
    """The pseudo-header, of whichever family the addresses are."""
    if len(saddr) == 16:
        return saddr + daddr + struct.pack("!II", length, proto)
    return saddr + daddr + struct.pack("!BBH", 0, proto, length)


@dataclasses.dataclass(frozen=True)
class Packet:
    """The fields that are not 0 by name, and what follows them."""

    kind: int
    fields: dict[str, int] = dataclasses.field(default_factory=dict)
    tail: bytes = b""

    def __getattr__(self, name: str) -> int:
        if name == "fields" or name not in layout(self.kind, self.fields.get("flags", 0)):
            raise AttributeError(name)
        return self.fields.get(name, 0)

    def __str__(self) -> str:
        name = NAMES.get(self.kind, str(self.kind))
        words = [f"{key}={value}" for key, value in self.fields.items() if key != "type"]
        return " ".join([name, *words, f"+{len(self.tail)}" if self.tail else ""])

    def but(self, **fields: int) -> "Packet":
        """A copy with some fields changed."""
        return Packet(self.kind, self.fields | fields, self.tail)

    def with_tail(self, tail: bytes, **fields: int) -> "Packet":
        return Packet(self.kind, self.fields | fields, tail)

    def raw(self) -> bytes:
        """What is on the wire, without a checksum unless there is one among the fields."""
        known = layout(self.kind, self.fields.get("flags", 0))
        if unknown := set(self.fields) - set(known):
            raise KeyError(f"{self}: no field {unknown}")
        values = {"type": self.kind} | self.fields  # which may say another type
        return (
            struct.pack("!" + "".join(known.values()), *(values.get(name, 0) for name in known))
            + self.tail
        )

    def pack(self, saddr: bytes, daddr: bytes) -> bytes:
        data = self.raw()
        return data if "check" in self.fields else seal(data, saddr, daddr)

    @property
    def words(self) -> list[int]:
        """The bitmap of an ACK."""
        return list(struct.unpack(f"!{len(self.tail) // 4}I", self.tail))

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The missing segments of a CLOSE: first and count."""
        numbers = struct.unpack(f"!{len(self.tail) // 4}I", self.tail)
        return list(zip(numbers[::2], numbers[1::2]))


def seal(data: bytes, saddr: bytes, daddr: bytes) -> bytes:
    """Puts the right checksum into a packet, if it is long enough to have one."""
    if len(data) < 12:
        return data
    data = data[:10] + b"\0\0" + data[12:]
    check = checksum(pseudo(saddr, daddr, len(data)) + data)
    return data[:10] + struct.pack("!H", check) + data[12:]


def parse(data: bytes) -> Packet:
    """Whose checksum is right, and is not among its fields."""
    kind, flags = data[8], data[9]
    known = layout(kind, flags)
    form = "!" + "".join(known.values())
    size = struct.calcsize(form)
    fields = dict(zip(known, struct.unpack_from(form, data)))
    del fields["check"]
    return Packet(kind, fields, data[size:])


def bitmap(*segments: int, words: int = 1) -> bytes:
    """An ACK's bitmap, relative to its first segment."""
    bits = sum(1 << i for i in segments)
    return b"".join(struct.pack("!I", bits >> 32 * i & 0xFFFFFFFF) for i in range(words))


def ranges(*pairs: Sequence[int]) -> bytes:
    """A CLOSE's list of missing segments."""
    return b"".join(struct.pack("!II", *pair) for pair in pairs)
