#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains over TCP, then over LTP, on the network of network.py, and writes what was measured.

For scripts/demo/run, inside the lab machine.
"""
from __future__ import annotations

import argparse
import io
import json
import multiprocessing
import multiprocessing.connection
import os
import signal
import statistics
import sys
import time
from multiprocessing.connection import Connection
from typing import Any, Callable, Optional, Sequence

# All processes are forked from this one: importing torch takes seconds in the lab machine.
import torch
from tqdm import tqdm

import fashion
import ltp_torch
import ps_train
from network import Link, Network, inside
import network
from transport import LtpServer, LtpWorker, Server, TcpServer, TcpWorker, Worker

PORT = 5000
NAMES = {"tcp": "tcp-cubic", "ltp": "ltp"}
LTPCTL = "/ltp/build/lab/tools/ltpctl"


class Failed(Exception):
    """Said to the user as it is."""


def sentence(e: BaseException) -> str:
    if isinstance(e, OSError):
        return e.strerror or str(e)
    return str(e) or type(e).__name__


def child(host: str, body: Callable[[], Any], pipe: Connection) -> None:
    """Runs ``body`` on a host and sends (True, what it returned) or (False, what went wrong)."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    answer: tuple[bool, Any]
    try:
        network.enter(host)
        answer = True, body()
    except Exception as e:      # whatever it is, the parent says it
        if not isinstance(e, OSError) or "LTP_DEMO_DEBUG" in os.environ:
            import traceback
            traceback.print_exc()
        answer = False, sentence(e)
    pipe.send(answer)
    pipe.close()
    # Not through the interpreter's end: forked copies of PyTorch's state need no tidying up.
    os._exit(0)


def run_all(bodies: dict[str, Callable[[], Any]]) -> dict[str, Any]:
    """Runs one process for each host until all are done; the first failure ends them all."""
    context = multiprocessing.get_context("fork")
    processes, pipes = {}, {}
    results: dict[str, Any] = {}
    try:
        for host, body in bodies.items():
            ours, theirs = context.Pipe(duplex=False)
            processes[host] = context.Process(target=child, args=(host, body, theirs), name=host)
            processes[host].start()
            theirs.close()
            pipes[ours] = host
        failures: list[tuple[bool, str]] = []
        while pipes and not failures:
            # Those that fail because another died come with it: give them a moment to tell.
            for pipe in multiprocessing.connection.wait(list(pipes)):
                assert isinstance(pipe, Connection)
                host = pipes.pop(pipe)
                try:
                    good, value = pipe.recv()
                except EOFError:
                    good, value = False, "it was killed"
                if good:
                    results[host] = value
                else:
                    failures.append((value != "it was killed", f"{host}: {value}"))
        if failures:
            # A process that was killed explains what the others say.
            raise Failed(min(failures)[1])
        return results
    finally:
        for process in processes.values():
            process.kill()
        for process in processes.values():
            process.join()


def progress(transport: str, steps: int) -> Callable[[int, ps_train.Result], None]:
    bar = tqdm(total=steps, desc=f"{NAMES[transport]:9s}", unit="step", file=sys.stderr,
               mininterval=0.2, dynamic_ncols=True)

    def on_step(step: int, result: ps_train.Result) -> None:
        bar.set_postfix(loss=f"{result.loss[-1]:.3f}", gather=f"{1000 * result.gather_s[-1]:.0f}ms",
                        delivered=f"{result.delivered[-1]:.3f}", refresh=False)
        bar.update()
        if step + 1 == steps:
            bar.close()
    return on_step


def make_server(transport: str) -> Server:
    # The time that a step may take at most; a worker that died is noticed at once.
    return (TcpServer if transport == "tcp" else LtpServer)("0.0.0.0", PORT, 60)


def make_worker(transport: str, server: str, rank: int) -> Worker:
    return (TcpWorker if transport == "tcp" else LtpWorker)(server, PORT, rank, 60)


def train(transport: str, config: ps_train.Config, net: Network, data: fashion.Data,
          snapshot_every: int) -> ps_train.Result:
    net.reset()

    def serve() -> bytes:
        server = make_server(transport)
        result = ps_train.serve(config, server, transport, snapshot_every=snapshot_every,
                                on_step=progress(transport, config.steps))
        server.close()
        # Plainly: PyTorch would pass tensors as files that end with the process that sent them.
        buffer = io.BytesIO()
        torch.save(result, buffer)
        return buffer.getvalue()

    def work(rank: int) -> Callable[[], None]:
        def body() -> None:
            worker = make_worker(transport, net.address(net.hosts[0]), rank)
            ps_train.work(config, worker, rank, data.train)
            worker.close()
        return body

    bodies: dict[str, Callable[[], Any]] = {net.hosts[0]: serve}
    bodies.update({host: work(i) for i, host in enumerate(net.hosts[1:])})
    saved = io.BytesIO(run_all(bodies)[net.hosts[0]])
    result = torch.load(saved, weights_only=False)
    assert isinstance(result, ps_train.Result)
    return result


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def judged(result: ps_train.Result, config: ps_train.Config,
           test: fashion.Images) -> dict[str, Any]:
    """The run as result.json has it. The snapshots are judged here, when the training is over."""
    flat = ps_train.make_model(config)
    curve = []
    for seconds, params in result.snapshots:
        flat.params.copy_(params)
        curve.append([round(seconds, 3), fashion.accuracy(flat.model, test)])
    ms = [1000 * s for s in result.gather_s]
    return {
        "transport": NAMES[result.transport],
        "steps": result.steps,
        "wall_s": round(result.wall_s, 3),
        "gather_ms": {"mean": round(statistics.fmean(ms), 2), "p50": round(percentile(ms, 0.5), 2),
                      "p99": round(percentile(ms, 0.99), 2), "max": round(max(ms), 2)},
        "delivered_mean": round(statistics.fmean(result.delivered), 5),
        "test_accuracy": curve[-1][1],
        "accuracy_curve": curve,
    }


def set_thresholds(net: Network, gradient_bytes: int, fraction: float) -> dict[str, float]:
    """The server's thresholds, from what is known of the link.

    All workers' gradients have to pass the server's link, which takes ``transfer``, and a segment
    that is lost is there again a round trip later at the earliest. The LT threshold is transfer
    and half a round trip more: if nothing held the workers up, only what was lost is still missing
    then, and is not waited for. The deadline is for a worker that is slow, by twenty round trips:
    it cuts what would be waited for longest, and seldom anything else.
    """
    workers = len(net.hosts) - 1
    transfer = workers * gradient_bytes * 8 / (net.link.rate_mbit * 1e6) * 1.04     # with headers
    rtt = 2 * net.link.delay_ms / 1000
    lt = transfer + rtt / 2
    deadline = lt + 20 * rtt
    inside(net.hosts[0], LTPCTL, "set", "fraction", str(fraction), "lt", f"{1e6 * lt:.0f}us",
           "deadline", f"{1e6 * deadline:.0f}us")
    return {"fraction": fraction, "lt_ms": round(1000 * lt, 2),
            "deadline_ms": round(1000 * deadline, 2)}


def parse(arguments: Optional[list[str]] = None) -> argparse.Namespace:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--steps", type=int, default=30)
    p.add_argument("--workers", type=int, default=4)
    p.add_argument("--batch", type=int, default=128, help="images a worker and step")
    p.add_argument("--hidden", type=int, default=160, help="width of the largest layer")
    p.add_argument("--rate", type=float, default=0.004, help="learning rate at its highest")
    p.add_argument("--seed", type=int, default=3, help="of the model and the order of the data")
    p.add_argument("--loss", type=float, default=0.01, help="of each packet, 0 to 1")
    p.add_argument("--fraction", type=float, default=0.9, help="the fraction threshold")
    p.add_argument("--only", choices=("tcp", "ltp"), help="one run instead of both")
    p.add_argument("--out", default="result.json", metavar="FILE")
    return p.parse_args(arguments)


def main() -> int:
    args = parse()
    torch.set_num_threads(1)
    config = ps_train.Config(args.workers, args.steps, args.batch, args.hidden, args.rate,
                             args.seed)
    link = Link(loss=args.loss)
    transports = [args.only] if args.only else ["tcp", "ltp"]
    try:
        if "ltp" in transports:
            # Fails in one sentence if the module is not there.
            ltp_torch.listen("127.0.0.1", 0).close()
        data = fashion.load()
        flat = ps_train.make_model(config)
        gradient = flat.grads.nbytes
        print(f"{config.workers} workers, {config.steps} steps of {config.batch} images each; "
              f"a gradient has {gradient / 1e6:.2f} MB\n"
              f"link: {link.rate_mbit} Mbit/s, {link.delay_ms:g} ms one way, "
              f"{100 * link.loss:g} % loss of each packet", flush=True)
        with Network(["ps"] + [f"w{i}" for i in range(config.workers)], link) as net:
            info: dict[str, Any] = {**link._asdict(), "mtu": network.MTU,
                                    "gradient_bytes": gradient, "critical_bytes": flat.critical}
            if "ltp" in transports:
                info["thresholds"] = set_thresholds(net, gradient, args.fraction)
            runs = []
            for transport in transports:
                start = time.monotonic()
                result = train(transport, config, net, data, max(1, config.steps // 15))
                if net.dropped():
                    print(f"demo: the bridge dropped {net.dropped()} packets: its queues are too "
                          "short", file=sys.stderr)
                runs.append(judged(result, config, data.test))
                if "LTP_DEMO_DEBUG" in os.environ:
                    print(json.dumps(runs[-1]), time.monotonic() - start, flush=True)
    except (Failed, RuntimeError, OSError) as e:
        print(f"demo: {sentence(e)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("demo: interrupted", file=sys.stderr)
        return 130
    with open(args.out, "w") as f:
        json.dump({"link": info, "workers": config.workers, "runs": runs}, f, indent=1)
        f.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
