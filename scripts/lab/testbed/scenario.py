# SPDX-License-Identifier: GPL-2.0
"""The words of the simulated testbed: scenarios, transports, and what is wrong with one."""
import dataclasses
import math
import pathlib
import tomllib
from typing import Any

# Bytes of a message in one packet, and what goes around them: Ethernet, IPv4, and the rest.
PACKETS = {
    "ltp": (1424, 14 + 20 + 16 + 28),
    "tcp": (1448, 14 + 20 + 32),  # with timestamps
    "sctp": (1440, 14 + 20 + 12 + 16),
}


class ScenarioError(ValueError):
    """What is wrong with a scenario: its text names the scenario and the field."""


@dataclasses.dataclass(frozen=True)
class Transport:
    """What carries the messages."""

    driver: str  # as tests/perf/gather says it
    fraction: float = 0  # tolerant if not 0
    solo: bool = False
    ecn: bool = False

    @property
    def family(self) -> str:
        return self.driver.split("-")[0]

    def wire_bytes(self, size: int) -> int:
        segment, headers = PACKETS[self.family]
        return size + -(-size // segment) * headers


TRANSPORTS = {
    "tcp-reno": Transport("tcp-reno"),
    "tcp-cubic": Transport("tcp-cubic"),
    "tcp-bbr": Transport("tcp-bbr"),
    "tcp-dctcp": Transport("tcp-dctcp", ecn=True),
    "sctp": Transport("sctp"),
    "sctp-pr": Transport("sctp-pr", fraction=1),
    "ltp": Transport("ltp", fraction=0.9),
    "ltp-reliable": Transport("ltp"),
    "ltp-0.5": Transport("ltp", fraction=0.5),
    "ltp-0.8": Transport("ltp", fraction=0.8),
    "ltp-0.95": Transport("ltp", fraction=0.95),
    "ltp-solo": Transport("ltp", fraction=0.9, solo=True),
}
TOPOLOGIES = ("star", "core", "shards")
PROFILES = ("dcn", "wan")


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A network and what goes over it: see scenarios.toml."""

    name: str
    gbit: float
    rtt_us: float
    buffer: int
    workers: int
    bytes: int
    gathers: int
    about: str = ""
    topology: str = "star"
    core_gbit: float = 0
    loss: float = 0  # percent of packets, each for itself, both ways
    burst: tuple[float, ...] = ()  # percent: packets at which a burst begins, at which it ends
    uneven_loss: float = 0  # percent, of the last worker alone
    straggler_gbit: float = 0  # rate of the last worker's own link; 0: as fast as the others
    background_gbit: float = 0  # of TCP cubic beside it, to the same server
    profile: str = "dcn"
    buckets: int = 1
    broadcast: bool = False
    pause_us: int = 2000
    warmup: int = 0  # gathers before those that count
    transports: tuple[str, ...] = tuple(TRANSPORTS)
    seed: int = 1

    def __post_init__(self) -> None:
        for field, least, most in (
            ("gbit", 0.001, 400), ("rtt_us", 1, 10_000_000), ("buffer", 2, 1_000_000),
            ("workers", 1, 1000), ("bytes", 1, 1 << 30), ("gathers", 1, 100_000),
            ("core_gbit", 0, 400), ("loss", 0, 90), ("uneven_loss", 0, 90),
            ("straggler_gbit", 0, 400), ("background_gbit", 0, self.gbit * 0.9),
            ("buckets", 1, 1000), ("warmup", 0, 1000), ("pause_us", 0, 60_000_000),
            ("seed", 1, 1 << 31),
        ):
            value = getattr(self, field)
            if not least <= value <= most:
                raise ScenarioError(f"{self.name}: {field} is {value}, not {least} to {most}")
        for field, words in (("topology", TOPOLOGIES), ("profile", PROFILES)):
            if getattr(self, field) not in words:
                raise ScenarioError(
                    f"{self.name}: {field} is {getattr(self, field)!r}, not {' or '.join(words)}"
                )
        for transport in self.transports:
            if transport not in TRANSPORTS:
                raise ScenarioError(f"{self.name}: transports: there is no {transport!r}")
        if self.burst and not (len(self.burst) == 2 and all(0 < p <= 100 for p in self.burst)):
            raise ScenarioError(f"{self.name}: burst is {list(self.burst)}, not two percentages")
        if (self.topology == "core") != (self.core_gbit > 0):
            raise ScenarioError(f"{self.name}: core_gbit belongs to topology core, and it to that")
        if self.topology == "core" and self.workers < 2:
            raise ScenarioError(f"{self.name}: workers is 1: a core link has two sides")
        if self.topology == "shards" and self.background_gbit:
            raise ScenarioError(f"{self.name}: background_gbit: shards have no server for that")

    def ideal_ns(self, transport: Transport) -> float:
        """Bytes on the wire over the rate of the slowest link that they share, and one RTT."""
        message = transport.wire_bytes(self.bytes) * self.buckets * 8
        senders = self.workers - (self.topology == "shards")
        times = [senders * message / (self.gbit - self.background_gbit)]
        if self.core_gbit:
            times.append(self.workers // 2 * message / self.core_gbit)
        if self.straggler_gbit:
            times.append(message / self.straggler_gbit)
        return max(times) + self.rtt_us * 1000


# Which types of a file a field takes.
KINDS: dict[Any, tuple[type, ...]] = {
    bool: (bool,), int: (int,), str: (str,), float: (int, float),
    tuple[float, ...]: (list,), tuple[str, ...]: (list,),
}


def convert(name: str, table: dict[str, Any]) -> Scenario:
    """A scenario from its table; ScenarioError says what is wrong with it."""
    fields = {field.name: field for field in dataclasses.fields(Scenario) if field.name != "name"}
    if unknown := set(table) - set(fields):
        raise ScenarioError(f"{name}: there is no field {sorted(unknown)[0]!r}")
    values: dict[str, Any] = {"name": name}
    for key, field in fields.items():
        if key not in table:
            if field.default is dataclasses.MISSING:
                raise ScenarioError(f"{name}: {key} is missing")
            continue
        value = table[key]
        if not isinstance(value, KINDS[field.type]) or (
            isinstance(value, bool) and field.type is not bool
        ):
            raise ScenarioError(f"{name}: {key} is {value!r}, of the wrong type")
        if isinstance(value, float) and not math.isfinite(value):
            raise ScenarioError(f"{name}: {key} is {value}")
        if isinstance(value, list):
            one = str if field.type == tuple[str, ...] else (int, float)
            if not all(isinstance(item, one) for item in value):
                raise ScenarioError(f"{name}: {key} is {value!r}, of the wrong type")
            value = tuple(value)
        values[key] = value
    return Scenario(**values)


def load(path: pathlib.Path) -> dict[str, Scenario]:
    """All scenarios of a file, by name."""
    try:
        with path.open("rb") as file:
            tables = tomllib.load(file)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{path}: {error}") from error
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror}") from error
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise ScenarioError(f"{path}: {name} is no table")
    return {name: convert(name, table) for name, table in tables.items()}
