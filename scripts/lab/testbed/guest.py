#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""One scenario with one transport, in the lab: its figures as JSON on stdout."""
import json
import math
import statistics
import sys
import time
from typing import Any

sys.path.insert(0, "/ltp")

from scripts.lab.testbed import scenario as words  # noqa: E402  pylint: disable=C0413
from scripts.lab.testbed.topology import Network  # noqa: E402  pylint: disable=C0413
from tests.net import lab  # noqa: E402  pylint: disable=C0413

DRIVER = "/ltp/build/lab/tests/perf/gather"
SAMPLES = 400  # looks at the queue in the time of an ideal gather


def percentile(values: list[float], percent: float) -> float:
    """By nearest rank: one that was measured."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def measure(scenario: words.Scenario, name: str) -> dict[str, Any]:
    transport = words.TRANSPORTS[name]
    network = Network(scenario, transport)
    ideal = scenario.ideal_ns(transport)
    watch = max(10, round(ideal / 1000 / SAMPLES))
    args = {
        "transport": transport.driver,
        "hosts": ",".join(f"{host.name}@{host.addr4}" for host in network.hosts),
        "bytes": scenario.bytes,
        "buckets": scenario.buckets,
        "gathers": scenario.gathers,
        "warmup": scenario.warmup,
        "pause_us": scenario.pause_us,
        "watch": f"{network.switch.name}@p1@{watch}",
    }
    if transport.fraction:
        args["fraction"] = transport.fraction
        args["profile"] = scenario.profile
    if transport.solo:
        args["solo"] = 1
    if scenario.topology == "shards":
        args["sharded"] = 1
    if scenario.broadcast:
        args["broadcast"] = 1
    if network.background:
        args["background"] = f"{network.background.name}@{round(scenario.background_gbit * 125e6)}"
    before = time.monotonic()
    got = json.loads(lab.run(DRIVER, *(f"{k}={v}" for k, v in args.items()), seconds=100_000))
    took = time.monotonic() - before
    again = got["retransmitted"]
    if transport.family == "ltp":
        again = sum(host.counters()["Retransmitted"] for host in network.hosts)
    network.close()
    times = [ns / 1e6 for ns in got["ns"]]
    return {
        "scenario": scenario.name,
        "transport": name,
        "workers": scenario.workers,
        "bytes": scenario.bytes * scenario.buckets,
        "gathers": scenario.gathers,
        "ideal_ms": round(ideal / 1e6, 6),
        "bst_ms": {
            "mean": round(statistics.fmean(times), 6),
            **{f"p{p}": percentile(times, p) for p in (50, 95, 99)},
            "max": max(times),
        },
        "iter_per_s": round(1e9 / statistics.fmean(got["iteration_ns"]), 6),
        "delivered_mean": round(statistics.fmean(got["delivered"]), 6),
        "delivered_min": min(got["delivered"]),
        "retransmitted": again,
        "queue_max_packets": got["queue"],
        "sim_s": round(took, 6),
        "times_ms": times,
    }


def main() -> None:
    job = json.loads(sys.argv[1])
    scenario = words.convert(job["name"], job["scenario"])
    json.dump(measure(scenario, job["transport"]), sys.stdout)


if __name__ == "__main__":
    main()
