#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the demonstration's table and draws its picture: report.py result.json demo.png"""
from __future__ import annotations

import json
import os
import sys
import tempfile
from typing import Any

# matplotlib wants a place for its cache.
os.environ.setdefault("MPLCONFIGDIR", tempfile.mkdtemp(prefix="ltp-demo-"))

import matplotlib  # noqa: E402

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

TITLES = {"tcp-cubic": "TCP (cubic)", "ltp": "LTP"}
COLORS = {"tcp-cubic": "#c0504d", "ltp": "#1f6fb4"}


def table(runs: list[dict[str, Any]]) -> str:
    head = ["transport", "steps", "seconds", "gather mean", "p50", "p99", "max ms", "delivered",
            "test accuracy"]
    rows = [[r["transport"], str(r["steps"]), f"{r['wall_s']:.1f}",
             *(f"{r['gather_ms'][k]:.0f}" for k in ("mean", "p50", "p99", "max")),
             f"{100 * r['delivered_mean']:.2f} %", f"{100 * r['test_accuracy']:.2f} %"]
            for r in runs]
    width = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return "\n".join("  ".join(c.ljust(w) if not i else c.rjust(w)
                               for i, (c, w) in enumerate(zip(row, width)))
                     for row in [head, *rows])


def verdict(runs: list[dict[str, Any]]) -> str:
    by_name = {r["transport"]: r for r in runs}
    if len(by_name) < 2:
        return ""
    tcp, ltp = by_name["tcp-cubic"], by_name["ltp"]
    points = 100 * (ltp["test_accuracy"] - tcp["test_accuracy"])
    return (f"LTP needs {ltp['wall_s'] / tcp['wall_s']:.2f} of TCP's time; its test accuracy is "
            f"{abs(points):.2f} points {'above' if points >= 0 else 'below'} TCP's.")


def draw(result: dict[str, Any], path: str) -> None:
    link, runs = result["link"], result["runs"]
    figure, axes = pyplot.subplots(figsize=(9, 5), dpi=120)
    axes.set_ylim(0, 1)
    for run in runs:
        seconds, accuracy = zip(*run["accuracy_curve"])
        name = run["transport"]
        axes.plot(seconds, accuracy, marker="o", markersize=3.5, linewidth=2, color=COLORS[name],
                  label=TITLES[name], zorder=3)
        axes.plot(seconds[-1], accuracy[-1], marker="o", markersize=8, color=COLORS[name], zorder=4)
        text = (f"{TITLES[name]}: {run['steps']} steps in {run['wall_s']:.1f} s, "
                f"{100 * accuracy[-1]:.1f} %")
        last = run["wall_s"] == max(r["wall_s"] for r in runs)
        axes.annotate(text, (seconds[-1], accuracy[-1]), xytext=(0, 10) if last else (-8, 12),
                      textcoords="offset points", ha="right" if last else "left", va="bottom",
                      color=COLORS[name], fontweight="bold", fontsize=10)
    axes.set_xlim(left=0)
    axes.set_xlabel("seconds of training")
    axes.set_ylabel("test accuracy")
    axes.set_title(f"{result['workers']} workers, one parameter server: {link['rate_mbit']} Mbit/s,"
                   f" {link['delay_ms']:g} ms one way, {100 * link['loss']:g} % packet loss",
                   fontsize=11)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    figure.tight_layout()
    figure.savefig(path)


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        with open(sys.argv[1]) as f:
            result = json.load(f)
    except (OSError, ValueError) as e:
        print(f"demo: {sys.argv[1]} cannot be read ({e}): run 'make demo' again", file=sys.stderr)
        return 1
    print(table(result["runs"]))
    text = verdict(result["runs"])
    if text:
        print(text)
    draw(result, sys.argv[2])
    return 0


if __name__ == "__main__":
    sys.exit(main())
