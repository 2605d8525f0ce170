# SPDX-License-Identifier: GPL-2.0
"""The networks of the testbed, inside the lab: hosts, switches, and what their links do."""
import json

from scripts.lab.testbed.scenario import Scenario, Transport
from tests.net import lab

# What an expert gives TCP here; SCTP's sockets ask for as much themselves.
SYSCTLS = {
    "net.ipv4.tcp_rmem": "4096 4000000 64000000",
    "net.ipv4.tcp_wmem": "4096 4000000 64000000",
    "net.ipv4.tcp_no_metrics_save": "1",
    "net.ipv4.tcp_slow_start_after_idle": "0",
}
OFFLOADS = ("tcp-segmentation-offload", "generic-segmentation-offload", "generic-receive-offload")


class Network:
    """Hosts, the first of which is the server; delay and loss are on each host's way out."""

    def __init__(self, scenario: Scenario, transport: Transport) -> None:
        self.scenario = scenario
        self.transport = transport
        self.net = lab.Net()
        extra = bool(scenario.background_gbit)
        count = scenario.workers + extra + (scenario.topology != "shards")
        if scenario.topology == "core":
            self.hosts = self._core(count)
        else:
            self.hosts = self.net.star(count)
            self.switch = self.net.hosts[-1]
            ports = count if scenario.topology == "shards" else 1
            for port in range(ports):
                self._shape(self.switch, f"p{port + 1}", scenario.gbit)
        self.background = self.hosts.pop() if extra else None
        for i, host in enumerate([*self.hosts, *([self.background] if self.background else [])]):
            self._configure(host, i)
        self._assert_offloads()

    def _configure(self, host: lab.Host, number: int) -> None:
        scenario = self.scenario
        words = f"delay {scenario.rtt_us / 2}us"
        loss = scenario.loss
        last = number == len(self.hosts) - 1
        if last and scenario.uneven_loss:
            loss = scenario.uneven_loss
        if scenario.burst:
            words += " loss gemodel {}% {}%".format(*scenario.burst)
        elif loss:
            words += f" loss {loss}%"
        if last and scenario.straggler_gbit:
            words += f" rate {scenario.straggler_gbit}gbit"
        host.netem(words, seed=scenario.seed * 1000 + number)
        sysctls = dict(SYSCTLS)
        if self.transport.ecn:
            sysctls["net.ipv4.tcp_ecn"] = "1"
        settings = [f"{key}={value}" for key, value in sysctls.items()]
        lab.run("ip", "netns", "exec", host.name, "sysctl", "-qw", *settings)
        # Nothing that a kernel says by itself, at times of its own, is on the links.
        peers = self.hosts if host is self.hosts[0] or scenario.topology == "shards" else [
            self.hosts[0]
        ]
        if host is self.hosts[0] and self.background:
            peers = [*peers, self.background]
        batch = [
            f"neigh replace {peer.addr4} lladdr {mac(peer)} dev e0 nud permanent"
            for peer in peers
            if peer is not host
        ]
        lab.run("ip", "-n", host.name, "-batch", "-", stdin="\n".join(batch))

    def _shape(self, switch: lab.Host, dev: str, gbit: float) -> None:
        """The queue of a switch's port. One that marks does so from a fifth of an RTT on."""
        buffer = self.scenario.buffer
        if not self.transport.ecn:
            switch.tc(f"qdisc add dev {dev} root netem rate {gbit}gbit limit {buffer}")
            return
        mark_us = max(self.scenario.rtt_us / 5, 65 * 1500 * 8 / gbit / 1000)
        # Two packets, or as many as leave in two microseconds: its timer is no finer.
        burst = max(3000, round(gbit * 250))
        switch.tc(f"qdisc add dev {dev} root handle 1: tbf rate {gbit}gbit burst {burst} limit 1gb")
        switch.tc(
            f"qdisc add dev {dev} parent 1:1 fq_codel flows 1 drop_batch 1 limit {buffer}"
            f" memory_limit 1000000000 target 10s interval 10s ecn ce_threshold {mark_us}us"
        )

    def _core(self, count: int) -> list[lab.Host]:
        """
        server, first half                   second half
             |  ...  |                         |  ...
        +----+-------+----+   core link   +----+---------+
        | switch 1        | p0 ------- p0 | switch 2     |
        +-----------------+               +--------------+
        """
        hosts = self.net.star(count)
        self.switch = self.net.hosts[-1]
        (far,) = self.net.new([""])
        lab.run("ip", "netns", "add", far.name)
        far.ip("link", "add", "br0", "type", "bridge")
        far.ip("link", "set", "br0", "up")
        self.switch.ip("link", "add", "p0", "type", "veth", "peer", "name", "p0", "netns", far.name)
        for side in self.switch, far:
            side.ip("link", "set", "p0", "master", "br0", "up")
            side.offloads_off("p0")
            self._shape(side, "p0", self.scenario.core_gbit)
        workers = hosts[1:self.scenario.workers + 1]
        behind = workers[len(workers) - len(workers) // 2:]
        for host in behind:
            port = f"p{hosts.index(host) + 1}"
            self.switch.ip("link", "set", port, "netns", far.name)
            far.ip("link", "set", port, "master", "br0", "up")
            far.offloads_off(port)
        for switch, ports in ((self.switch, count - len(behind) + 1), (far, len(behind) + 1)):
            lab.until(lambda: lab.forwarding(switch) == ports, "the switches forward")
        for host in hosts:
            host.await_carrier()
        self._shape(self.switch, "p1", self.scenario.gbit)
        return hosts

    def _assert_offloads(self) -> None:
        """A segmentation offload anywhere would flatter TCP: netem loses whole 64 KB of it."""
        for host in self.net.hosts:
            for link in json.loads(host.ip("-json", "link", "show", "type", "veth")):
                dev = link["ifname"]
                text = lab.run("ip", "netns", "exec", host.name, "ethtool", "-k", dev)
                state = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
                on = [name for name in OFFLOADS if not state[name].startswith("off")]
                assert not on, f"{dev} of {host.name}: {', '.join(on)}"

    def close(self) -> None:
        # Associations close in order before their network goes, or they would wait for a peer.
        if self.transport.family == "ltp":
            lab.until(
                lambda: not any(host.family.assocs() for host in self.hosts), "all have closed", 600
            )
        self.net.close()


def mac(host: lab.Host) -> str:
    return ":".join(f"{byte:02x}" for byte in host.mac())
