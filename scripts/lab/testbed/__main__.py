# SPDX-License-Identifier: GPL-2.0
"""The simulated testbed: real TCP, SCTP and LTP on links in virtual time.

Needs the lab and its programs: `make sim` and `make sim-quick` see to them. Results are in
build/sim/: results.json, and a file for each measurement that is not made again unless what it
depends on has changed. Documentation/testbed.md describes scenarios and results.
"""
import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

from scripts.lab.testbed import grid, quick  # noqa: E402  pylint: disable=C0413
from scripts.lab.testbed.scenario import Scenario, ScenarioError, load  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent


def short(result: dict[str, object] | Exception) -> str:
    """A measurement in a few words."""
    if isinstance(result, Exception):
        return f"failed: {result}"
    bst = result["bst_ms"]
    assert isinstance(bst, dict)
    ideal = result["ideal_ms"]
    assert isinstance(ideal, float)
    return f"mean {bst['mean'] / ideal:7.3f} worst {bst['max'] / ideal:7.3f} of ideal"


def choose(scenarios: dict[str, Scenario], names: list[str]) -> list[Scenario]:
    for name in names:
        if name not in scenarios:
            raise ScenarioError(f"there is no scenario {name!r}: {', '.join(scenarios)}")
    return [scenarios[name] for name in names] if names else list(scenarios.values())


def run(args: argparse.Namespace) -> int:
    chosen = choose(load(args.scenarios), args.scenario)
    todo = grid.jobs(chosen, args.transport)
    table = grid.Grid()
    kept = {job for job in todo if not args.again and table.load(job) is not None}
    progress = grid.Progress(todo)
    results = {}
    failed = 0
    for job, result in table.run(todo, args.again):
        progress.step(job, short(result), job in kept)
        if isinstance(result, Exception):
            failed += 1
        else:
            results[job] = {key: value for key, value in result.items() if key != "times_ms"}
    path = table.out / "results.json"
    lines = ",\n".join(json.dumps(results[job]) for job in todo if job in results)
    path.write_text(f"[\n{lines}\n]\n", "ascii")
    where = path.relative_to(grid.REPO)
    print(f"{len(results)} results in {where}, {failed} failed", file=sys.stderr)
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="testbed", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("run", "measure, or take what was measured, and write results.json"),
        ("list", "the scenarios and their transports"),
        ("quick", "a few measurements against committed figures"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("--scenarios", type=pathlib.Path, default=HERE / "scenarios.toml",
                             metavar="FILE", help="where they are declared")
        if name == "run":
            command.add_argument("--scenario", action="append", default=[], help="only it")
            command.add_argument("--transport", action="append", default=[], help="only it")
            command.add_argument("--again", action="store_true", help="measure all anew")
        if name == "quick":
            command.add_argument("--accept", action="store_true", help="write down new figures")
    args = parser.parse_args()
    try:
        if args.command == "run":
            return run(args)
        if args.command == "quick":
            return quick.check(load(args.scenarios), HERE / "quick.json", args.accept)
        for scenario in load(args.scenarios).values():
            print(f"{scenario.name:14} {scenario.about}\n{'':14} {' '.join(scenario.transports)}")
        return 0
    except ScenarioError as error:
        print(f"testbed: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
