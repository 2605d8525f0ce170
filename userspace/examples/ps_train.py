#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains a small network on Fashion-MNIST with one parameter server and several workers.

On the server's machine, and on (or in the network namespaces of) the workers':

    ps_train.py --role ps --transport ltp --workers 2 --steps 100 --out result.json
    ps_train.py --role worker --transport ltp --workers 2 --steps 100 --rank 0 --server 10.0.0.1
    ps_train.py --role worker --transport ltp --workers 2 --steps 100 --rank 1 --server 10.0.0.1

With --transport tcp the same program uses TCP: same model, same data in the same order, same steps.
All must be given the same --workers, --steps, --batch and --seed.
"""
from __future__ import annotations

import argparse
import json
import math
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import Callable, Optional

import torch
from torch import nn

import fashion
import ltp_torch
from transport import LtpServer, LtpWorker, Server, TcpServer, TcpWorker, Worker


@dataclass
class Config:
    """What server and workers must agree on."""

    workers: int = 4
    steps: int = 100
    batch: int = 128            # images a worker and step
    hidden: int = 160           # width of the network's largest layer
    rate: float = 0.004         # learning rate at its highest
    seed: int = 1


@dataclass
class Result:
    """What a server measured."""

    transport: str
    steps: int
    wall_s: float = 0.0
    gather_s: list[float] = field(default_factory=list)     # of each step
    delivered: list[float] = field(default_factory=list)    # of each step, 0 to 1
    loss: list[float] = field(default_factory=list)         # of each step, over the workers
    # (seconds, parameters) now and then; to be judged later, so that it takes no training time
    snapshots: list[tuple[float, torch.Tensor]] = field(default_factory=list)


def make_model(config: Config) -> fashion.Flat:
    torch.manual_seed(config.seed)
    return fashion.Flat(fashion.Net(config.hidden))


class Adam:
    """Adam (Kingma and Ba, 2014) on one flat tensor; its rate rises for five steps and falls in a
    cosine to 0."""

    BETA1, BETA2, EPSILON, RISE = 0.9, 0.99, 1e-8, 5

    def __init__(self, params: torch.Tensor, rate: float, steps: int) -> None:
        self.params, self.rate, self.steps = params, rate, steps
        self.first, self.second = torch.zeros_like(params), torch.zeros_like(params)
        self.done = 0

    def step(self, gradient: torch.Tensor) -> None:
        rate = self.rate * 0.5 * (1 + math.cos(math.pi * self.done / self.steps))
        self.done += 1
        rate *= min(1.0, self.done / self.RISE)
        self.first.lerp_(gradient, 1 - self.BETA1)
        self.second.mul_(self.BETA2).addcmul_(gradient, gradient, value=1 - self.BETA2)
        scale = (self.second / (1 - self.BETA2 ** self.done)).sqrt_().add_(self.EPSILON)
        self.params.addcdiv_(self.first, scale, value=-rate / (1 - self.BETA1 ** self.done))


def serve(config: Config, server: Server, transport: str, *, snapshot_every: int = 0,
          on_step: Optional[Callable[[int, Result], None]] = None) -> Result:
    """The parameter server: gathers gradients, makes a step, broadcasts the parameters."""
    flat = make_model(config)
    result = Result(transport, config.steps)
    mean = torch.empty_like(flat.grads)
    gradient = mean[flat.HEAD:]
    adam = Adam(flat.params, config.rate, config.steps)

    server.accept(config.workers, flat.grads)
    server.sync()
    start = time.monotonic()
    server.broadcast(flat.params)
    result.snapshots.append((0.0, flat.params.clone()))
    for step in range(config.steps):
        got = server.gather(mean)
        adam.step(gradient)
        server.broadcast(flat.params)

        result.gather_s.append(got.elapsed)
        result.delivered.append(got.delivered)
        result.loss.append(float(mean[0]))
        last = step + 1 == config.steps
        if last or (snapshot_every and (step + 1) % snapshot_every == 0):
            result.snapshots.append((time.monotonic() - start, flat.params.clone()))
        if on_step:
            on_step(step, result)
    server.sync()
    result.wall_s = time.monotonic() - start
    return result


def work(config: Config, worker: Worker, rank: int, data: fashion.Images) -> torch.Tensor:
    """A worker: computes gradients on its share of the data. Returns the last parameters."""
    flat = make_model(config)
    loss_of = nn.CrossEntropyLoss()
    source = fashion.batches(data, rank, config.workers, config.batch, config.seed)

    def gradients(images: torch.Tensor, labels: torch.Tensor) -> None:
        flat.grads.zero_()
        loss = loss_of(flat.model(images), labels)
        loss.backward()
        flat.grads[0] = loss.detach()

    # The first time takes PyTorch much longer than all others: it shall be nobody's step.
    gradients(torch.zeros(config.batch, 1, 28, 28), torch.zeros(config.batch, dtype=torch.long))
    worker.sync()
    for step in range(config.steps):
        images, labels = next(source)
        worker.recv(flat.params)
        gradients(images, labels)
        # The first gradient arrives whole: it finds out what the path can carry.
        worker.send(flat.grads, flat.critical if step else None)
    worker.recv(flat.params)
    worker.sync()
    return flat.params


def make_server(args: argparse.Namespace) -> Server:
    if args.transport == "tcp":
        return TcpServer(args.listen, args.port, args.timeout, args.congestion)
    return LtpServer(args.listen, args.port, args.timeout, args.thresholds, args.fill)


def make_worker(args: argparse.Namespace) -> Worker:
    if args.transport == "tcp":
        return TcpWorker(args.server, args.port, args.rank, args.timeout, args.congestion)
    return LtpWorker(args.server, args.port, args.rank, args.timeout)


def thresholds(text: str) -> ltp_torch.Thresholds:
    try:
        fraction, lt, deadline = (float(x) for x in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError("wanted: FRACTION,LT,DEADLINE, the times in seconds, "
                                         "such as 0.9,0.03,0.06") from None
    return ltp_torch.Thresholds(fraction, lt, deadline)


def parse(arguments: Optional[list[str]] = None) -> argparse.Namespace:
    default = Config()
    p = argparse.ArgumentParser(description="One parameter server, several workers, Fashion-MNIST.")
    p.add_argument("--role", required=True, choices=("ps", "worker"))
    p.add_argument("--transport", default="ltp", choices=("ltp", "tcp"))
    p.add_argument("--listen", default="0.0.0.0", metavar="ADDRESS", help="ps: where to listen")
    p.add_argument("--server", default="127.0.0.1", metavar="ADDRESS", help="worker: the server")
    p.add_argument("--port", type=int, default=5000)
    p.add_argument("--rank", type=int, default=0, help="worker: which, from 0")
    p.add_argument("--workers", type=int, default=default.workers)
    p.add_argument("--steps", type=int, default=default.steps)
    p.add_argument("--batch", type=int, default=default.batch, help="images a worker and step")
    p.add_argument("--hidden", type=int, default=default.hidden, help="width of the largest layer")
    p.add_argument("--rate", type=float, default=default.rate, help="learning rate at its highest")
    p.add_argument("--seed", type=int, default=default.seed)
    p.add_argument("--data", default=fashion.DATA_DIR, metavar="DIR")
    p.add_argument("--timeout", type=float, default=60, help="seconds any wait may take")
    p.add_argument("--congestion", default="cubic", help="TCP's congestion control")
    p.add_argument("--thresholds", type=thresholds, metavar="FRACTION,LT,DEADLINE",
                   help="ps, LTP: instead of the namespace's; times in seconds")
    p.add_argument("--fill", default="mean", choices=("mean", "zero", "previous"),
                   help="ps, LTP: what stands for what was lost")
    p.add_argument("--out", metavar="FILE", help="ps: JSON of what was measured")
    args = p.parse_args(arguments)
    if not 0 <= args.rank < args.workers:
        p.error(f"--rank must be from 0 to {args.workers - 1}")
    return args


def config_of(args: argparse.Namespace) -> Config:
    return Config(args.workers, args.steps, args.batch, args.hidden, args.rate, args.seed)


def main() -> int:
    args = parse()
    config = config_of(args)
    try:
        if args.role == "worker":
            data = fashion.load(args.data)
            worker = make_worker(args)
            work(config, worker, args.rank, data.train)
            worker.close()
            return 0
        test = fashion.load(args.data).test
        server = make_server(args)
        result = serve(config, server, args.transport, snapshot_every=10,
                       on_step=lambda i, r: print(f"step {i + 1}: loss {r.loss[-1]:.3f}, gather "
                                                  f"{1000 * r.gather_s[-1]:.0f} ms, delivered "
                                                  f"{r.delivered[-1]:.3f}", flush=True))
        server.close()
    except (ltp_torch.LtpError, OSError) as e:
        print(f"ps_train: {e.strerror or e}", file=sys.stderr)
        return 1
    flat = make_model(config)
    curve = []
    for seconds, params in result.snapshots:
        flat.params.copy_(params)
        curve.append((round(seconds, 3), fashion.accuracy(flat.model, test)))
    print(f"{config.steps} steps in {result.wall_s:.1f} s, test accuracy {curve[-1][1]:.4f}")
    if args.out:
        result.snapshots = []
        with open(args.out, "w") as f:
            json.dump({**asdict(result), "config": asdict(config), "accuracy_curve": curve}, f)
    return 0


if __name__ == "__main__":
    sys.exit(main())
