# SPDX-License-Identifier: GPL-2.0
"""Which measurements there are to make, which were made, and making the rest, one for each core."""
import concurrent.futures
import dataclasses
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

from scripts.lab.testbed.scenario import TRANSPORTS, Scenario, ScenarioError

REPO = pathlib.Path(__file__).resolve().parents[3]
OUT = REPO / "build" / "sim"
# Real seconds after which virtual time is taken for stopped.
PATIENCE = 1800
# What a figure depends on. TCP and SCTP are of the lab's kernel: its configuration stands for it.
ENGINE = ["kernel", "uapi", "Kbuild"]
TESTBED = [
    "scripts/lab/make",
    "scripts/lab/config/base.config",
    "scripts/lab/config/plain.config",
    "scripts/lab/testbed/guest.py",
    "scripts/lab/testbed/scenario.py",
    "scripts/lab/testbed/topology.py",
    "tests/perf",
    "tests/net/lab.py",
]


@dataclasses.dataclass(frozen=True)
class Job:
    """One scenario with one transport."""

    scenario: Scenario
    transport: str

    @property
    def name(self) -> str:
        return f"{self.scenario.name}.{self.transport}"

    @property
    def packets(self) -> float:
        """What it takes of the machine, roughly."""
        scenario = self.scenario
        return scenario.workers * scenario.bytes * scenario.buckets * scenario.gathers / 1400

    def order(self) -> str:
        """For the guest, as JSON."""
        fields = dataclasses.asdict(self.scenario)
        name = fields.pop("name")
        fields["transports"] = [self.transport]
        return json.dumps({"name": name, "transport": self.transport, "scenario": fields})


def jobs(scenarios: Iterable[Scenario], transports: Iterable[str] = ()) -> list[Job]:
    chosen = list(transports) or list(TRANSPORTS)
    for transport in chosen:
        if transport not in TRANSPORTS:
            raise ScenarioError(f"there is no transport {transport!r}: {', '.join(TRANSPORTS)}")
    return [
        Job(scenario, transport)
        for scenario in scenarios
        for transport in scenario.transports
        if transport in chosen
    ]


def sources(paths: list[str]) -> str:
    """A digest of files, and of all that are below directories."""
    digest = hashlib.sha256()
    for path in paths:
        root = REPO / path
        for file in sorted(root.rglob("*")) if root.is_dir() else [root]:
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(f"{file.relative_to(REPO)}\0".encode())
                digest.update(file.read_bytes())
    return digest.hexdigest()


class Grid:
    """Measurements, each kept with what it depends on in a file of its own."""

    def __init__(self, out: pathlib.Path = OUT) -> None:
        self.out = out
        self.kept = out / "jobs"
        self.kept.mkdir(parents=True, exist_ok=True)
        self._testbed = sources(TESTBED)
        self._engine = sources(ENGINE)

    def key(self, job: Job) -> str:
        parts = [job.order(), self._testbed, repr(TRANSPORTS[job.transport])]
        if TRANSPORTS[job.transport].family == "ltp":
            parts.append(self._engine)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def load(self, job: Job) -> dict[str, Any] | None:
        """What was measured, if nothing has changed since."""
        try:
            kept = json.loads((self.kept / f"{job.name}.json").read_text("ascii"))
        except (OSError, ValueError):
            return None
        return dict(kept["result"]) if kept.get("key") == self.key(job) else None

    def measure(self, job: Job) -> dict[str, Any]:
        """In a machine of its own, whatever was measured before."""
        command = [str(REPO / "scripts/lab/run"), "--sim", "--quiet", "--timeout", str(PATIENCE)]
        command += ["--", "python3", "/ltp/scripts/lab/testbed/guest.py", job.order()]
        before = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 124:
            raise RuntimeError(
                f"{job.name}: no end after {PATIENCE} s: too much traffic, or a program that spins"
                " and so stops virtual time"
            )
        if done.returncode:
            raise RuntimeError(f"{job.name}: {(done.stderr or done.stdout).strip()[-2000:]}")
        result = dict(json.loads(done.stdout))
        result["wall_s"] = round(time.monotonic() - before, 1)
        kept = json.dumps({"key": self.key(job), "result": result})
        new = self.kept / f"{job.name}.new"
        new.write_text(kept, "ascii")
        new.rename(self.kept / f"{job.name}.json")
        return result

    def run(
        self, todo: list[Job], again: bool = False
    ) -> Iterator[tuple[Job, dict[str, Any] | Exception]]:
        """Each as it is ready: those that were kept first. The longest begins first."""
        missing = []
        for job in todo:
            result = None if again else self.load(job)
            if result is None:
                missing.append(job)
            else:
                yield job, result
        missing.sort(key=lambda job: -job.packets)
        with concurrent.futures.ThreadPoolExecutor(min(os.cpu_count() or 1, 8)) as pool:
            waiting = {pool.submit(self.measure, job): job for job in missing}
            try:
                for future in concurrent.futures.as_completed(waiting):
                    try:
                        yield waiting[future], future.result()
                    except RuntimeError as error:
                        yield waiting[future], error
            finally:
                for future in waiting:
                    future.cancel()


class Progress:
    """How far it is and how long it will take, on a terminal; elsewhere a line for each."""

    def __init__(self, todo: list[Job]) -> None:
        self.total = sum(job.packets for job in todo) or 1
        self.count = len(todo)
        self.begin = time.monotonic()
        self.done = 0.0
        self.number = 0
        self.measured = 0.0

    def step(self, job: Job, text: str, kept: bool) -> None:
        self.number += 1
        self.done += job.packets
        if not kept:
            self.measured += job.packets
        took = time.monotonic() - self.begin
        left = took / self.measured * (self.total - self.done) if self.measured else 0
        share = self.done / self.total
        bar = "#" * int(20 * share)
        line = f"[{bar:20}] {self.number}/{self.count} {left / 60:4.0f} min left"
        print(f"{line}  {job.name:28} {text}", file=sys.stderr, flush=True)
