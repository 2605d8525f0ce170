# SPDX-License-Identifier: MIT
"""The demonstration's network.

         ps          w0          w1          w2          w3        network namespaces
      10.77.0.1   10.77.0.2   10.77.0.3   10.77.0.4   10.77.0.5
         |           |           |           |           |        host's end: rate, delay, loss
         |           |           |           |           |        ps's port: rate
        -+-----------+-----------+-----------+-----------+-  br0

Each link is full duplex. A packet passes its sender's queue, which has the delay and the loss of
the path, and towards ps the queue of the bridge's port as well, so that all workers share the
server's link. (The other ports need none: what leaves them has passed the server's queue, and is
no faster.) Nothing segments or merges packets in the hardware's stead: what is lost is one packet,
for TCP too.
"""
from __future__ import annotations

import os
import re
import subprocess
from typing import NamedTuple, Sequence

BRIDGE = "br0"
MTU = 1500
OFFLOADS = {"tso": "tcp-segmentation-offload", "gso": "generic-segmentation-offload",
            "gro": "generic-receive-offload"}
CLONE_NEWNET = 0x40000000


class Link(NamedTuple):
    rate_mbit: int = 1000
    delay_ms: float = 10.0      # one way, host to host
    loss: float = 0.01          # of each packet, one way
    limit: int = 10000          # packets in a queue: so deep that only netem's dice lose any
    seed: int = 42


def _run(*command: str) -> str:
    try:
        return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE).stdout
    except FileNotFoundError as e:
        raise RuntimeError(f"{command[0]} is not installed: run this inside the lab machine") from e
    except subprocess.CalledProcessError as e:
        raise RuntimeError(f"'{' '.join(command)}' failed: {e.stderr.strip()}") from e


def inside(host: str, *command: str) -> str:
    """Runs a command in a host's namespace and returns what it prints."""
    return _run("ip", "netns", "exec", host, *command)


def enter(host: str) -> None:
    """Moves this process to a host's namespace."""
    with open(f"/run/netns/{host}") as f:
        os.setns(f.fileno(), CLONE_NEWNET)  # type: ignore[attr-defined,unused-ignore]


def _netem(link: Link, seed: int, path: bool) -> list[str]:
    words = ["netem", "limit", str(link.limit), "rate", f"{link.rate_mbit}mbit"]
    if path:
        words += ["delay", f"{link.delay_ms}ms"]
        if link.loss:
            words += ["loss", f"{100 * link.loss}%", "seed", str(seed)]
    return words


class Network:
    """hosts[0] and the others, joined by a bridge. Set up by ``with``, gone at its end."""

    def __init__(self, hosts: Sequence[str], link: Link) -> None:
        # limit also counts the packets that the delay holds.
        held = link.rate_mbit * 1e6 / 8 * link.delay_ms / 1000 / MTU
        if link.limit < 2 * held:
            raise ValueError(f"the queues' limit must be at least {2 * held:.0f} packets")
        self.hosts = list(hosts)
        self.link = link

    def address(self, host: str) -> str:
        return f"10.77.0.{self.hosts.index(host) + 1}"

    def __enter__(self) -> Network:
        self.__exit__()
        _run("ip", "link", "add", BRIDGE, "type", "bridge")
        _run("ip", "link", "set", BRIDGE, "up")
        for host in self.hosts:
            port = f"p-{host}"
            _run("ip", "netns", "add", host)
            _run("ip", "link", "add", port, "mtu", str(MTU), "type", "veth", "peer", "name", "eth0",
                 "mtu", str(MTU), "netns", host)
            _run("ip", "link", "set", port, "master", BRIDGE, "up")
            inside(host, "ip", "link", "set", "lo", "up")
            inside(host, "ip", "address", "add", f"{self.address(host)}/24", "dev", "eth0")
            inside(host, "ip", "link", "set", "eth0", "up")
            for word in OFFLOADS:
                _run("ethtool", "-K", port, word, "off")
                inside(host, "ethtool", "-K", "eth0", word, "off")
            # What a careful administrator of a training cluster sets for TCP: room for several
            # bandwidth-delay products, and no new slow start after each step's computing.
            inside(host, "sysctl", "-qw", "net.ipv4.tcp_slow_start_after_idle=0",
                   "net.ipv4.tcp_rmem=4096 1048576 33554432",
                   "net.ipv4.tcp_wmem=4096 1048576 33554432")
        self.reset()
        self.check()
        return self

    def reset(self) -> None:
        """New queues: empty, and the dice begin anew with the seed of each link."""
        server = self.hosts[0]
        queues = [(["ip", "netns", "exec", host], "eth0",
                   _netem(self.link, self.link.seed + i, True))
                  for i, host in enumerate(self.hosts)]
        queues.append(([], f"p-{server}", _netem(self.link, 0, False)))
        for prefix, dev, netem in queues:
            subprocess.run([*prefix, "tc", "qdisc", "del", "dev", dev, "root"], check=False,
                           stderr=subprocess.DEVNULL)
            _run(*prefix, "tc", "qdisc", "add", "dev", dev, "root", *netem)

    def check(self) -> None:
        """Asserts what the comparison rests on."""
        for host in self.hosts:
            for who, text in ((host, inside(host, "ethtool", "-k", "eth0")),
                              (f"port p-{host}", _run("ethtool", "-k", f"p-{host}"))):
                for name in OFFLOADS.values():
                    if not re.search(rf"^\s*{name}: off", text, re.M):
                        raise RuntimeError(f"{name} is not off on {who}: whole bursts would be "
                                           "lost as one, and the comparison would flatter TCP")
            queue = inside(host, "tc", "qdisc", "show", "dev", "eth0")
            if self.link.loss and f"loss {100 * self.link.loss:g}%" not in queue:
                raise RuntimeError(f"the loss is not set on {host}")
        # Some of them may be lost, as they should.
        text = subprocess.run(["ip", "netns", "exec", self.hosts[1], "ping", "-q", "-c", "10",
                               "-i", "0.05", self.address(self.hosts[0])],
                              text=True, stdout=subprocess.PIPE, check=False).stdout
        found = re.search(r"= ([0-9.]+)/", text)
        if not found or float(found[1]) < 2 * self.link.delay_ms:
            raise RuntimeError("the round trip is not as long as the link's delay says: "
                               + text.strip())

    def dropped(self) -> int:
        """Packets that the bridge dropped; its queue to the server is meant to hold everything."""
        found = re.search(r"dropped (\d+)",
                          _run("tc", "-s", "qdisc", "show", "dev", f"p-{self.hosts[0]}"))
        return int(found[1]) if found else 0

    def __exit__(self, *_: object) -> None:
        for host in self.hosts:
            subprocess.run(["ip", "netns", "del", host], check=False, stderr=subprocess.DEVNULL)
        subprocess.run(["ip", "link", "del", BRIDGE], check=False, stderr=subprocess.DEVNULL)
