# SPDX-License-Identifier: GPL-2.0
"""What every test has: fresh hosts, a time limit, and a kernel that must not complain."""
import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# The tests' own modules are tests.net.*, from wherever pytest was started.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.net import lab  # noqa: E402
from tests.net.ways import IPV4, Way  # noqa: E402

# Those that need virtual time run where there is some: scripts/lab/run --sim.
collect_ignore = [] if lab.SIM else ["sim"]

TROUBLE = re.compile(
    r"WARNING:|BUG:|Oops|KASAN|UBSAN|INFO: (possible|rcu|task|suspicious)|inconsistent lock|ODEBUG"
    r"|Attempt to release|refcount_t|ref_tracker|sleeping function|scheduling while atomic"
    r"|Call Trace|soft lockup"
)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: runs only when LTP_LONG=1")
    config.addinivalue_line("markers", "seconds(n): the time limit, if it is not 60")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    skip = pytest.mark.skip(reason="long: LTP_LONG=1 runs it")
    for item in items:
        if item.get_closest_marker("long") and not lab.LONG:
            item.add_marker(skip)


def pytest_report_header() -> str:
    return f"kernel {lab.KERNEL}" + (", all times are virtual" if lab.SIM else "")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """What -k selects may be in another directory, which has a run of its own."""
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and session.config.option.keyword:
        session.exitstatus = pytest.ExitCode.OK


class KernelLog:
    """What the kernel says from now on."""

    def __init__(self) -> None:
        self.fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        os.lseek(self.fd, 0, os.SEEK_END)
        self.lines: list[str] = []

    def read(self) -> list[str]:
        while True:
            try:
                record = os.read(self.fd, 8192).decode(errors="replace")
            except BlockingIOError:
                return self.lines
            except BrokenPipeError:
                continue  # the oldest were overwritten
            _, _, text = record.partition(";")
            self.lines.append(text.rstrip("\n"))

    def close(self) -> None:
        os.close(self.fd)


@pytest.fixture(autouse=True)
def kernel_log(request: pytest.FixtureRequest) -> Iterator[KernelLog]:
    """Each test fails if the kernel complains during it."""
    log = KernelLog()
    request.node.stash[LOG] = log
    yield log
    lines = log.read()
    log.close()
    bad = next((i for i, line in enumerate(lines) if TROUBLE.search(line)), None)
    if bad is not None:
        pytest.fail("the kernel complained:\n" + "\n".join(lines[bad:bad + 60]), pytrace=False)


LOG = pytest.StashKey[KernelLog]()
NET = pytest.StashKey[lab.Net]()


@pytest.fixture(autouse=True)
def time_limit(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that hangs fails instead. Virtual time is cheap: where nothing happens it flies."""
    marker = request.node.get_closest_marker("seconds")
    seconds = (marker.args[0] if marker else 60) * lab.SLOW * (100 if lab.SIM else 1)

    def expired(_signal: int, _frame: Any) -> None:
        raise TimeoutError(f"the test took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, expired)
    signal.alarm(seconds)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def way() -> Way:
    """What ways.over() gives in its place."""
    return IPV4


@pytest.fixture
def net(request: pytest.FixtureRequest, way: Way) -> Iterator[lab.Net]:
    world = lab.Net(way)
    request.node.stash[NET] = world
    yield world
    world.close()


@pytest.fixture
def link(net: lab.Net) -> tuple[lab.Host, lab.Host]:
    return net.link()


@pytest.fixture
def pair(net: lab.Net) -> lab.Pair:
    return net.pair()


def state_of(host: lab.Host) -> str:
    """What a human wants to see of a host when a test has failed."""
    text = ""
    for words in ("assoc show", "flow show", "stat show"):
        with contextlib.suppress(subprocess.TimeoutExpired):
            done = subprocess.run(
                [lab.LTPCTL, "-n", host.name, *words.split()],
                capture_output=True,
                text=True,
                timeout=10 * lab.SLOW,
                check=False,
            )
            lines = [line for line in done.stdout.splitlines() if not line.endswith(" 0")]
            if len(lines) > 60:
                lines[60:] = [f"... {len(lines) - 60} more lines"]
            text += f"# ltpctl -n {host.name} {words}\n" + "\n".join([*lines, done.stderr]) + "\n"
    return text


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    report: pytest.TestReport = yield
    if report.failed and report.when == "call":
        for host in item.stash[NET].hosts if NET in item.stash else []:
            report.sections.append((f"host {host.name} {host.addr}", state_of(host)))
        if LOG in item.stash:
            report.sections.append(("kernel log", "\n".join(item.stash[LOG].read())))
    return report
