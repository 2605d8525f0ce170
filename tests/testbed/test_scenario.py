# SPDX-License-Identifier: GPL-2.0
"""Scenarios of the testbed that cannot be, what the others stand for, and what a grid keeps."""
import dataclasses
import json
import pathlib
import subprocess
import sys

import pytest

REPO = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO))

from scripts.lab.testbed import grid, scenario  # noqa: E402  pylint: disable=C0413
from scripts.lab.testbed.scenario import TRANSPORTS, Scenario, ScenarioError  # noqa: E402

GOOD = {
    "gbit": 10, "rtt_us": 50, "buffer": 700, "workers": 8, "bytes": 2000000, "gathers": 20,
}


@pytest.mark.parametrize(
    "change, says",
    [
        ({"workers": 0}, "x: workers is 0, not 1 to 1000"),
        ({"rtt_us": -1}, "x: rtt_us is -1, not 1 to 10000000"),
        ({"gbit": 0}, "x: gbit is 0, not 0.001 to 400"),
        ({"gbit": float("nan")}, "x: gbit is nan"),
        ({"gbit": "fast"}, "x: gbit is 'fast', of the wrong type"),
        ({"gathers": 2.5}, "x: gathers is 2.5, of the wrong type"),
        ({"gathers": True}, "x: gathers is True, of the wrong type"),
        ({"bytes": None}, "x: bytes is None, of the wrong type"),
        ({"buffer": 1}, "x: buffer is 1, not 2 to 1000000"),
        ({"loss": 91}, "x: loss is 91, not 0 to 90"),
        ({"burst": [1]}, "x: burst is [1], not two percentages"),
        ({"burst": ["a", 1]}, "x: burst is ['a', 1], of the wrong type"),
        ({"transports": ["quic"]}, "x: transports: there is no 'quic'"),
        ({"topology": "ring"}, "x: topology is 'ring', not star or core or shards"),
        ({"profile": "lan"}, "x: profile is 'lan', not dcn or wan"),
        ({"core_gbit": 1}, "x: core_gbit belongs to topology core, and it to that"),
        ({"topology": "core"}, "x: core_gbit belongs to topology core, and it to that"),
        ({"topology": "core", "core_gbit": 1, "workers": 1}, "x: workers is 1: a core link"),
        ({"background_gbit": 10}, "x: background_gbit is 10, not 0 to 9.0"),
        ({"topology": "shards", "background_gbit": 1}, "x: background_gbit: shards have no server"),
        ({"colour": "red"}, "x: there is no field 'colour'"),
    ],
    ids=str,
)
def test_what_cannot_be(change: dict[str, object], says: str) -> None:
    """The text names the scenario and the field."""
    with pytest.raises(ScenarioError) as error:
        scenario.convert("x", GOOD | change)
    assert says in str(error.value)


@pytest.mark.parametrize("field", GOOD)
def test_what_is_missing(field: str) -> None:
    table = {key: value for key, value in GOOD.items() if key != field}
    with pytest.raises(ScenarioError, match=f"x: {field} is missing"):
        scenario.convert("x", table)


@pytest.mark.parametrize(
    "text, says",
    [
        ("[x\n", "x.toml:"),
        ("x = 1\n", "x.toml: x is no table"),
        ("[x]\ngbit = 1\n", "x: rtt_us is missing"),
    ],
)
def test_files(tmp_path: pathlib.Path, text: str, says: str) -> None:
    """The program says it in a sentence, exit status 2; so it does of names that there are not."""
    path = tmp_path / "x.toml"
    path.write_text(text, "ascii")
    program = [sys.executable, str(REPO / "scripts/lab/testbed")]
    done = subprocess.run([*program, "run", "--scenarios", str(path)], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 2 and says in done.stderr and "Traceback" not in done.stderr
    for words in (["--scenario", "nowhere"], ["--transport", "quic"],
                  ["--scenarios", str(tmp_path / "none.toml")]):
        done = subprocess.run([*program, "run", *words], capture_output=True, text=True,
                              check=False)
        assert done.returncode == 2 and done.stderr.startswith("testbed: "), done.stderr


def test_all_are_good() -> None:
    """Those of the project can be, and have an ideal."""
    all_of_them = scenario.load(REPO / "scripts/lab/testbed/scenarios.toml")
    assert len(all_of_them) >= 17
    for one in all_of_them.values():
        assert one.about
        for name in one.transports:
            assert one.ideal_ns(TRANSPORTS[name]) > one.rtt_us * 1000


def test_ideal() -> None:
    """By hand: eight messages in 1405 packets, 78 bytes of headers each, at 10 Gbit/s, 50 us."""
    one = scenario.convert("x", GOOD)
    wire = 8 * (2000000 + 1405 * 78) * 8 / 10
    assert one.ideal_ns(TRANSPORTS["ltp"]) == pytest.approx(wire + 50000)
    core = dataclasses.replace(one, topology="core", core_gbit=2.5)
    assert core.ideal_ns(TRANSPORTS["ltp"]) == pytest.approx(2 * wire + 50000)
    slow = dataclasses.replace(one, straggler_gbit=0.5)
    assert slow.ideal_ns(TRANSPORTS["ltp"]) == pytest.approx(2.5 * wire + 50000)
    beside = dataclasses.replace(one, background_gbit=2)
    assert beside.ideal_ns(TRANSPORTS["ltp"]) == pytest.approx(wire / 0.8 + 50000)
    shards = dataclasses.replace(one, topology="shards")
    assert shards.ideal_ns(TRANSPORTS["ltp"]) == pytest.approx(7 / 8 * wire + 50000)


def test_what_is_kept(tmp_path: pathlib.Path) -> None:
    """Until the scenario, the transport or the engine changes; a broken file is none."""
    one = scenario.convert("x", GOOD)
    table = grid.Grid(tmp_path)
    job = grid.Job(one, "ltp")
    path = tmp_path / "jobs" / "x.ltp.json"
    assert table.load(job) is None
    path.write_text(json.dumps({"key": table.key(job), "result": {"a": 1}}), "ascii")
    assert table.load(job) == {"a": 1}
    other = grid.Job(dataclasses.replace(one, loss=1), "ltp")
    assert table.load(other) is None and table.key(other) != table.key(job)
    assert table.key(grid.Job(one, "ltp-0.5")) != table.key(job)
    path.write_text("{", "ascii")
    assert table.load(job) is None


def order_of(one: Scenario) -> Scenario:
    order = json.loads(grid.Job(one, "ltp").order())
    return scenario.convert(order["name"], order["scenario"])


def test_the_guest_is_told_all() -> None:
    """What goes into the lab as JSON is the same scenario there."""
    for one in scenario.load(REPO / "scripts/lab/testbed/scenarios.toml").values():
        assert order_of(one) == dataclasses.replace(one, transports=("ltp",))
