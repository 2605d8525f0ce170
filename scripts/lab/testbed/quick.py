# SPDX-License-Identifier: GPL-2.0
"""A small part of the grid against committed figures: a change that costs speed is seen."""
import dataclasses
import json
import pathlib
import sys

from scripts.lab.testbed.grid import Grid, Job
from scripts.lab.testbed.scenario import Scenario, ScenarioError

# Times of a gather may be so much longer than the committed ones. Virtual time is exact, but which
# segment is lost and when a timer of the other stack fires is not the same in each engine.
TOLERANCE = 0.03


def check(scenarios: dict[str, Scenario], path: pathlib.Path, accept: bool) -> int:
    """Returns 1 if a gather takes longer than it did; with accept, writes down what it takes."""
    rows = json.loads(path.read_text("ascii"))
    todo = {}
    for row in rows:
        if row["scenario"] not in scenarios:
            raise ScenarioError(f"{path}: there is no scenario {row['scenario']!r}")
        scenario = dataclasses.replace(scenarios[row["scenario"]], gathers=row["gathers"])
        todo[Job(scenario, row["transport"])] = row
    worse = 0
    for job, result in Grid().run(list(todo), again=True):
        row = todo[job]
        if isinstance(result, Exception):
            print(f"{job.name:28} {result}", file=sys.stderr)
            worse += 1
            continue
        mean = round(result["bst_ms"]["mean"] / result["ideal_ms"], 4)
        slow = not accept and mean > row["mean"] * (1 + TOLERANCE)
        print(f"{job.name:28} mean {mean:7.4f} of ideal, was {row['mean']:7.4f}"
              f"{'  slower' if slow else ''}", flush=True)
        worse += slow
        if accept:
            row["mean"] = mean
    if accept:
        path.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", "ascii")
    if worse:
        print(f"sim-quick: {worse} of {len(todo)} take more than {TOLERANCE:.0%} longer, or failed:"
              " mend it, or accept it with scripts/lab/testbed quick --accept", file=sys.stderr)
    return 1 if worse else 0
