#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tables and pictures of build/sim/results.json. Runs in the lab's tree, which has matplotlib."""
import argparse
import json
import os
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

os.environ.setdefault("MPLCONFIGDIR", "/tmp/ltp-matplotlib")

import matplotlib  # noqa: E402

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  pylint: disable=C0413

REPO = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPO))

from scripts.lab.testbed.scenario import load  # noqa: E402  pylint: disable=C0413

# In print, without colours: a line of its own for each.
STYLES = {
    "tcp-reno": ("0.75", ":"), "tcp-cubic": ("0.6", "--"), "tcp-bbr": ("0.45", "-."),
    "tcp-dctcp": ("0.3", (0, (1, 1))), "ltp-reliable": ("tab:blue", "--"), "ltp": ("tab:red", "-"),
}
TCP = ("tcp-reno", "tcp-cubic", "tcp-bbr", "tcp-dctcp")
LOSSES = (0, 0.01, 0.1, 1)

Results = dict[str, dict[str, dict[str, Any]]]


def read(path: pathlib.Path) -> Results:
    """By scenario and transport."""
    table: Results = {}
    for row in json.loads(path.read_text("ascii")):
        table.setdefault(row["scenario"], {})[row["transport"]] = row
    return table


def times(row: dict[str, Any], which: str) -> float:
    """A gather's time, as a multiple of ideal."""
    return row["bst_ms"][which] / row["ideal_ms"]


def markdown(results: Results) -> Iterator[str]:
    """One table of means over all, then one for each scenario."""
    scenarios = load(REPO / "scripts/lab/testbed/scenarios.toml")
    about = {name: one.about for name, one in scenarios.items()}
    names = list(dict.fromkeys(name for rows in results.values() for name in rows))
    yield "# What the simulated testbed measured\n"
    yield ("Made by `make sim`; what the columns and scenarios are: [testbed.md](../testbed.md);"
           " what was learnt: [findings.md](findings.md).\n")
    yield "Mean time of a gather over ideal:\n"
    yield "| scenario | " + " | ".join(names) + " |"
    yield "|---" * (len(names) + 1) + "|"
    for scenario, rows in results.items():
        best = min(times(row, "mean") for row in rows.values())
        cells = []
        for name in names:
            if name not in rows:
                cells.append("")
                continue
            mean = times(rows[name], "mean")
            text = f"{mean:.3g}" if mean >= 10 else f"{mean:.3f}"
            cells.append(f"**{text}**" if mean == best else text)
        yield f"| {scenario} | " + " | ".join(cells) + " |"
    for scenario, rows in results.items():
        one = next(iter(rows.values()))
        yield f"\n## {scenario}\n\n{about.get(scenario, '')}; {one['workers']} workers, " \
              f"{one['bytes']} bytes each, {one['gathers']} gathers\n"
        yield ("| transport | ideal ms | mean | p50 | p95 | p99 | worst | iterations/s |"
               " delivered | least | sent again | queue |")
        yield "|---" * 12 + "|"
        for name, row in rows.items():
            keys = ("mean", "p50", "p95", "p99", "max")
            marks = " | ".join(f"{times(row, key):.3f}" for key in keys)
            yield (f"| {name} | {row['ideal_ms']:.3f} | {marks} | {row['iter_per_s']:.2f} |"
                   f" {row['delivered_mean']:.4f} | {row['delivered_min']:.4f} |"
                   f" {row['retransmitted']} | {row['queue_max_packets']} |")


def save(figure: Any, out: pathlib.Path, name: str) -> None:
    figure.tight_layout()
    # Without a date and a version in it the file is the same each time.
    figure.savefig(out / name, metadata={"Software": None})
    pyplot.close(figure)


def draw_cdf(kept: pathlib.Path, out: pathlib.Path, scenario: str) -> None:
    """How large a share of the gathers took how long at most."""
    figure, axes = pyplot.subplots(figsize=(5, 3.2), dpi=120)
    for name, (colour, line) in STYLES.items():
        path = kept / f"{scenario}.{name}.json"
        if not path.exists():
            continue
        result = json.loads(path.read_text("ascii"))["result"]
        values = sorted(ms / result["ideal_ms"] for ms in result["times_ms"])
        share = [(i + 1) / len(values) for i in range(len(values))]
        axes.step(values, share, where="post", color=colour, linestyle=line, label=name)
    axes.set_xscale("log")
    axes.set_xlabel(f"time of a gather over ideal, {scenario}")
    axes.set_ylabel("share of the gathers")
    axes.legend(fontsize=7)
    save(figure, out, f"cdf-{scenario}.png")


def draw_speedup(results: Results, out: pathlib.Path) -> None:
    """The best TCP's mean time over that of LTP, each scenario a bar."""
    bars = []
    for scenario, rows in results.items():
        tcp = [times(rows[name], "mean") for name in TCP if name in rows]
        if tcp and "ltp" in rows:
            bars.append((scenario, min(tcp) / times(rows["ltp"], "mean")))
    figure, axes = pyplot.subplots(figsize=(5, 4), dpi=120)
    axes.barh([name for name, _ in bars], [value for _, value in bars], color="0.4")
    axes.axvline(1, color="0")
    axes.set_xscale("log")
    axes.invert_yaxis()
    axes.set_xlabel("time of the best TCP over time of LTP")
    save(figure, out, "speedup.png")


def draw_loss(results: Results, out: pathlib.Path, net: str) -> None:
    """Training throughput over loss."""
    figure, axes = pyplot.subplots(figsize=(5, 3.2), dpi=120)
    for name, (colour, line) in STYLES.items():
        points = []
        for loss in LOSSES:
            rows = results.get(f"{net}-loss-{loss}" if loss else f"{net}-clean", {})
            if name in rows:
                points.append((str(loss), rows[name]["iter_per_s"]))
        if points:
            axes.plot(*zip(*points), color=colour, linestyle=line, marker=".", label=name)
    axes.set_xlabel(f"packets lost, %, {net}")
    axes.set_ylabel("iterations a second")
    axes.set_yscale("log")
    axes.legend(fontsize=7)
    save(figure, out, f"throughput-{net}.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sim", type=pathlib.Path, default=REPO / "build/sim", metavar="DIR")
    parser.add_argument("--out", type=pathlib.Path, default=REPO / "Documentation/results",
                        metavar="DIR")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    results = read(args.sim / "results.json")
    (args.out / "README.md").write_text("\n".join(markdown(results)) + "\n", "ascii")
    draw_speedup(results, args.out)
    for net in "dcn", "wan":
        draw_loss(results, args.out, net)
    for scenario in "dcn-shallow", "wan-loss-0.1":
        draw_cdf(args.sim / "jobs", args.out, scenario)
    print(f"tables and pictures are in {args.out}")


if __name__ == "__main__":
    main()
