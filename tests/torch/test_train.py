# SPDX-License-Identifier: MIT
"""The parameter server and worker program, and libltp's own tests."""
import contextlib
import io
import json
import subprocess
import sys

import pytest
import torch

from conftest import BUILT, ROOT, Wire, in_namespace, in_thread

import fashion
import ps_train
from ltp_torch import Thresholds
from transport import LtpServer, LtpWorker, TcpServer, TcpWorker

WORKERS = 3
CONFIG = ps_train.Config(workers=WORKERS, steps=6, batch=8, hidden=64)


@pytest.fixture(scope="module")
def data():
    """Not Fashion-MNIST, but as large as need be: a digit is a bright row."""
    generator = torch.Generator().manual_seed(3)
    labels = torch.randint(0, 10, (600,), generator=generator)
    images = torch.randint(0, 60, (600, 1, 28, 28), dtype=torch.uint8, generator=generator)
    images[torch.arange(600), 0, labels * 2 + 3] = 250
    return fashion.Images(images, labels)


def train(server, workers, data):
    """(what the server measured, the parameters of each worker at the end)"""
    def work(rank, worker):
        params = ps_train.work(CONFIG, worker, rank, data)
        worker.close()
        return params.clone()
    tasks = [in_thread(work, rank, worker) for rank, worker in enumerate(workers)]
    result = ps_train.serve(CONFIG, server, "test", snapshot_every=2)
    replicas = [task.join(60) for task in tasks]
    server.close()
    return result, replicas


def check(result, replicas):
    last = result.snapshots[-1][1]
    for params in replicas:
        assert torch.equal(params, last)
    assert len(result.gather_s) == len(result.delivered) == len(result.loss) == CONFIG.steps
    assert [round(s) >= 0 for s, _ in result.snapshots] == [True] * 4
    assert not torch.equal(last, result.snapshots[0][1])


def over_tcp(data):
    server = TcpServer("127.0.0.1", 5001, 30)
    return train(server, [TcpWorker("127.0.0.1", 5001, rank, 30) for rank in range(WORKERS)], data)


def test_replicas_are_equal_over_tcp(data):
    result, replicas = over_tcp(data)
    check(result, replicas)
    assert result.delivered == [1.0] * CONFIG.steps


def test_ltp_without_loss_is_tcp_to_the_bit(data):
    tcp, _ = over_tcp(data)
    # Nothing lost and nothing closed early: thresholds that adapt would not wait for the slowest.
    server = LtpServer("127.0.0.1", 5002, 30, Thresholds(1.0, 0, 0))
    workers = [LtpWorker("127.0.0.1", 5002, rank, 30) for rank in range(WORKERS)]
    ltp, replicas = train(server, workers, data)
    check(ltp, replicas)
    assert torch.equal(tcp.snapshots[-1][1], ltp.snapshots[-1][1])
    assert tcp.loss == ltp.loss


def test_replicas_are_equal_under_loss(wire: Wire, data):
    server = in_namespace("tb", lambda: LtpServer("10.78.0.2", 5003, 30,
                                                  Thresholds(0.5, 0.005, 0.02)))
    workers = [in_namespace("ta", lambda rank=rank: LtpWorker("10.78.0.2", 5003, rank, 30))
               for rank in range(WORKERS)]
    wire.set(loss=0.1, delay_ms=2, rate="200mbit")
    result, replicas = train(server, workers, data)
    check(result, replicas)
    assert 0 < min(result.delivered) < 1
    # The loss travels in the critical head.
    assert all(0 < x < 20 for x in result.loss)


def test_flat_has_small_parameters_first():
    flat = ps_train.make_model(CONFIG)
    assert flat.critical % 4 == 0 and 0 < flat.critical < flat.grads.nbytes / 4
    flat.params.zero_()
    assert not any(p.any() for p in flat.model.parameters())
    sizes = [p.numel() for p in flat.model.parameters()]
    assert flat.params.numel() == sum(sizes) == flat.grads.numel() - flat.HEAD
    flat.model(torch.randn(2, 1, 28, 28)).sum().backward()
    assert flat.grads.any()
    small = sum(n for n in sizes if n <= flat.SMALL) + flat.HEAD
    assert flat.critical == 4 * small


def test_batches_are_the_same_and_disjoint():
    images = fashion.Images(
        torch.arange(40, dtype=torch.uint8).view(40, 1, 1, 1).expand(40, 1, 28, 28),
        torch.arange(40))
    seen = []
    for rank in range(4):
        a, b = (fashion.batches(images, rank, 4, 5, 7) for _ in range(2))
        for _ in range(2):
            x, y = next(a), next(b)
            assert torch.equal(x[1], y[1])
            seen += x[1].tolist()
    assert sorted(seen) == list(range(40))


# Imports PyTorch once, then forks: one process for each list of arguments. Exits with their worst.
STARTER = """
import json, os, sys
sys.path[:0] = json.loads(sys.argv[1])
import ps_train
pids = []
for args in json.loads(sys.argv[2]):
    pid = os.fork()
    if not pid:
        sys.argv = ["ps_train.py", *args]
        status = ps_train.main()
        sys.stdout.flush()
        os._exit(status)
    pids.append(pid)
sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 255 for pid in pids))
"""


@pytest.mark.parametrize("transport", ["ltp", "tcp"])
def test_the_program(transport, tmp_path):
    """As a user starts it, with the real data."""
    common = ["--transport", transport, "--workers", "2", "--steps", "3", "--batch", "4",
              "--hidden", "32", "--port", "5004", "--timeout", "30"]
    out = tmp_path / "result.json"
    roles = [["--role", "ps", "--out", str(out)], ["--role", "worker", "--rank", "0"],
             ["--role", "worker", "--rank", "1"]]
    done = subprocess.run([sys.executable, "-c", STARTER,
                           json.dumps([str(BUILT / "torch"), str(ROOT / "userspace/examples")]),
                           json.dumps([role + common for role in roles])],
                          text=True, stdout=subprocess.PIPE, check=False, timeout=120)
    assert done.returncode == 0
    assert "step 3: loss" in done.stdout and "test accuracy" in done.stdout
    with open(out) as f:
        result = json.load(f)
    assert result["steps"] == 3 and len(result["gather_s"]) == 3
    assert 0 <= result["accuracy_curve"][-1][1] <= 1


@pytest.mark.parametrize("args, said", [
    (["--role", "worker", "--transport", "ltp", "--port", "5005", "--timeout", "0.5"],
     "nobody listens on 127.0.0.1:5005"),
    (["--role", "worker", "--transport", "tcp", "--port", "5005", "--timeout", "0.5"], "refused"),
    (["--role", "ps", "--transport", "ltp", "--port", "5005", "--timeout", "0.5"],
     "waiting for a connection"),
    (["--role", "ps", "--transport", "tcp", "--port", "5005", "--timeout", "0.5"], "timed out"),
    (["--role", "ps", "--data", "/nowhere"], "dataset-fashion-mnist"),
], ids=lambda x: " ".join(x) if isinstance(x, list) else "")
def test_the_program_fails_in_one_sentence(monkeypatch, args, said):
    monkeypatch.setattr(sys, "argv", ["ps_train.py", *args])
    error = io.StringIO()
    with contextlib.redirect_stderr(error):
        assert ps_train.main() == 1
    assert said in error.getvalue() and error.getvalue().count("\n") == 1


@pytest.mark.parametrize("program", ["unit", "sockets"])
def test_libltp(program):
    done = subprocess.run([BUILT / "tests" / program], text=True, stdout=subprocess.PIPE,
                          check=False, timeout=120)
    assert done.returncode == 0, done.stdout
