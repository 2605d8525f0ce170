# SPDX-License-Identifier: MIT
"""What the tests of the PyTorch package share. They run in the lab machine: make check-torch."""
import ctypes
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILT = Path(os.environ.get("LTP_USERSPACE", ROOT / "build/lab/userspace"))

if not list((BUILT / "torch/ltp_torch").glob("_native*.so")):
    pytest.exit(f"the PyTorch package is not built in {BUILT}: run 'make lab-programs' first", 2)
sys.path[:0] = [str(BUILT / "torch"), str(ROOT / "userspace/examples")]

import torch  # noqa: E402

import ltp_torch  # noqa: E402

CLONE_NEWNET = 0x40000000
SOON = 30.0     # seconds that no working test needs


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """A test that fails shows the sockets and counters of all namespaces."""
    report = yield
    ltpctl = BUILT.parent / "tools/ltpctl"
    if report.failed and ltpctl.exists():
        for enter in ("", *(f"ip netns exec {host} " for host in Wire.hosts)):
            for what in ("stat show", "show"):
                done = subprocess.run(f"{enter}{ltpctl} {what}", shell=True, check=False, text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                report.sections.append((f"{enter}ltpctl {what}", done.stdout))
    return report


@pytest.fixture(scope="session", autouse=True)
def module():
    try:
        ltp_torch.listen("127.0.0.1", 0).close()
    except ltp_torch.ModuleMissing as e:
        pytest.exit(str(e), 2)


def sh(command):
    subprocess.run(command, shell=True, check=True)


def in_thread(body, *args):
    """Starts body(*args); join() of what is returned gives its result or raises its exception."""
    class Task(threading.Thread):
        result = error = None

        def run(self):
            try:
                self.result = body(*args)
            except BaseException as e:
                self.error = e

        def join(self, timeout=SOON):
            super().join(timeout)
            assert not self.is_alive(), f"{body} does not end"
            if self.error:
                raise self.error
            return self.result

    task = Task(daemon=True)
    task.start()
    return task


def in_namespace(name, body):
    """Runs body() in a network namespace; sockets made there stay there."""
    def enter():
        with open(f"/run/netns/{name}") as f:
            if ctypes.CDLL(None, use_errno=True).setns(f.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), f"setns({name})")
        return body()
    return in_thread(enter).join()


def connected(listener, namespace=None):
    """(client, server)"""
    address, port = listener.local

    def connect():
        return ltp_torch.connect(address, port, timeout=SOON)
    client = in_namespace(namespace, connect) if namespace else connect()
    return client, listener.accept(timeout=SOON)


@pytest.fixture
def listener():
    with ltp_torch.listen("127.0.0.1", 0) as made:
        yield made


@pytest.fixture
def pair(listener):
    """(client, server) over loopback"""
    client, server = connected(listener)
    with client, server:
        yield client, server


class Wire:
    """Two namespaces and a wire.

        ta 10.78.0.1 ---- veth, netem on both ends ---- tb 10.78.0.2

    Each packet is lost by itself: nothing segments or merges them.
    """

    hosts = {"ta": "10.78.0.1", "tb": "10.78.0.2"}

    def __init__(self):
        self.remove()
        for host in self.hosts:
            sh(f"ip netns add {host}")
            sh(f"ip -n {host} link set lo up")
        sh("ip -n ta link add eth0 type veth peer name eth0 netns tb")
        for host, address in self.hosts.items():
            sh(f"ip -n {host} address add {address}/24 dev eth0")
            sh(f"ip -n {host} link set eth0 up")
            sh(f"ip netns exec {host} ethtool -K eth0 tso off gso off gro off")
        for host, address in self.hosts.items():
            # What is lost shall be LTP's, not ARP's.
            mac = subprocess.run(f"ip netns exec {host} cat /sys/class/net/eth0/address",
                                 shell=True, check=True, text=True,
                                 stdout=subprocess.PIPE).stdout.strip()
            other = next(h for h in self.hosts if h != host)
            sh(f"ip -n {other} neighbour replace {address} dev eth0 lladdr {mac} nud permanent")
        self.set()

    def set(self, loss=0.0, delay_ms=1.0, rate="1gbit", reorder=0.0, seed=1):
        for i, host in enumerate(self.hosts):
            words = f"limit 10000 delay {delay_ms}ms rate {rate}"
            words += f" loss {100 * loss}% seed {seed + i}" if loss else ""
            words += f" reorder {100 * reorder}%" if reorder else ""
            subprocess.run(f"ip netns exec {host} tc qdisc del dev eth0 root", shell=True,
                           check=False, stderr=subprocess.DEVNULL)
            sh(f"ip netns exec {host} tc qdisc add dev eth0 root netem {words}")

    def pair(self):
        """(client in ta, server in tb)"""
        with in_namespace("tb", lambda: ltp_torch.listen(self.hosts["tb"], 0)) as made:
            return connected(made, "ta")

    def remove(self):
        for host in self.hosts:
            subprocess.run(f"ip netns del {host}", shell=True, check=False,
                           stderr=subprocess.DEVNULL)


@pytest.fixture(scope="session")
def the_wire():
    made = Wire()
    yield made
    made.remove()


@pytest.fixture
def wire(the_wire):
    the_wire.set()
    return the_wire


def bytes_of(tensor):
    return tensor.contiguous().view(-1).view(torch.uint8) if tensor.numel() else torch.empty(0)


def random_tensor(shape, dtype, seed=0):
    """Any bit pattern at all; bool: 0 and 1."""
    generator = torch.Generator().manual_seed(seed)
    empty = torch.empty(shape, dtype=dtype)
    if dtype == torch.bool:
        return torch.randint(0, 2, empty.shape, generator=generator).bool()
    if not empty.numel():
        return empty
    raw = torch.randint(0, 256, (empty.nbytes,), dtype=torch.uint8, generator=generator)
    return raw.view(dtype).view(empty.shape)
