# SPDX-License-Identifier: GPL-2.0
"""Hosts (network namespaces) inside the lab machine, and the links between them.

Made with as few processes as can be: to start one is what costs most in User-Mode Linux.
"""
import contextlib
import ctypes
import fcntl
import itertools
import json
import os
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from tests.net import genl, ltp
from tests.net.ways import IPV4, Way, addr6

T = TypeVar("T")

LTPCTL = os.environ.get("LTPCTL", "/ltp/build/lab/tools/ltpctl")
KERNEL = os.environ.get("LTP_KERNEL", "plain")
SIM = os.environ.get("LTP_SIM", "no") == "yes"
LONG = os.environ.get("LTP_LONG", "") not in ("", "0")
# The debug kernels are that much slower, and what is given up on must not be given up on too early.
SLOW = 1 if KERNEL == "plain" else 10

MIB = 1 << 20

CLONE_NEWNET = 0x40000000
MNT_DETACH = 2
SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCSIFADDR = 0x8913, 0x8914, 0x8916
SIOCSIFNETMASK, SIOCSIFMTU = 0x891C, 0x8922
SIOCGIFHWADDR, SIOCGIFINDEX, SIOCSARP, SIOCETHTOOL = 0x8927, 0x8933, 0x8955, 0x8946
IFF_UP, IFF_RUNNING = 1, 0x40
IFA_F_TENTATIVE = 0x40
ARPHRD_ETHER, ATF_COM, ATF_PERM = 1, 2, 4
ETHTOOL_STXCSUM, ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO = 0x17, 0x1F, 0x24, 0x2C

libc = ctypes.CDLL(None, use_errno=True)
numbers = itertools.count()


def check(result: int, what: str) -> None:
    """The way of C functions to fail, into an exception."""
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def run(*command: str, stdin: str = "", seconds: float = 60) -> str:
    """Runs a command that has to work; returns what it printed."""
    done = subprocess.run(
        command, input=stdin, capture_output=True, text=True, timeout=seconds * SLOW, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr or done.stdout}{stdin}")
    return done.stdout


def scaled(plain: int, debug: int) -> int:
    """A number of bytes or rounds that depends on how fast the kernel is."""
    return plain if KERNEL == "plain" else debug


def until(condition: Callable[[], T], what: str, seconds: float = 10) -> T:
    """Waits for a state, never for a time."""
    end = time.monotonic() + seconds * SLOW
    while True:
        if result := condition():
            return result
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain until {what}")
        time.sleep(0.001)


def forwarding(switch: "Host") -> int:
    """How many ports of a bridge do."""
    ports = json.loads(run("bridge", "-n", switch.name, "-json", "link"))
    return sum(port["state"] == "forwarding" for port in ports)


class Host:
    """A network namespace; its only interface, e0, has one address (of each family, if need be)."""

    def __init__(self, net: "Net", name: str, addr4: str) -> None:
        self.net = net
        self.name = name
        self.addr4 = addr4
        self.addr = net.way.addr(addr4) if addr4 else ""
        self._control: socket.socket | None = None
        self._family: genl.Family | None = None

    @property
    def path(self) -> str:
        return f"/run/netns/{self.name}"

    def enter(self, function: Callable[[], T]) -> T:
        """Calls a function in this namespace, in a thread that is gone afterwards."""
        future: Future[T] = Future()

        def body() -> None:
            try:
                fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    check(libc.setns(fd, CLONE_NEWNET), "setns")
                finally:
                    os.close(fd)
                future.set_result(function())
            except BaseException as error:  # pylint: disable=broad-except
                future.set_exception(error)

        thread = threading.Thread(target=body)
        thread.start()
        thread.join()
        return future.result()

    # ---- what the host runs

    def socket(self, seconds: float = 30) -> ltp.Socket:
        """An LTP socket; its calls give up with EAGAIN after a while, lest a test hang."""
        sock = self.enter(lambda: ltp.Socket(family=self.net.way.family))
        sock.set_timeouts(seconds * SLOW)
        self.net.sockets.append(sock)
        return sock

    def listen(self, port: int = 5000, backlog: int = 100) -> ltp.Socket:
        sock = self.socket()
        sock.bind((self.addr, port))
        sock.listen(backlog)
        return sock

    def connect(self, peer: "Host", port: int = 5000) -> ltp.Socket:
        sock = self.socket()
        sock.connect((peer.addr, port))
        return sock

    @property
    def family(self) -> genl.Family:
        if self._family is None:
            self._family = self.enter(genl.Family)
        return self._family

    def forget_family(self) -> None:
        """The module was loaded anew: the family has another number."""
        if self._family is not None:
            self._family.close()
            self._family = None

    def counters(self) -> dict[str, int]:
        return self.family.counters()

    def ltpctl(self, *words: str) -> str:
        return run(LTPCTL, "-n", self.name, *words)

    # ---- its interface

    def ioctl(self, request: int, dev: str, value: bytes) -> bytes:
        if self._control is None:
            self._control = self.enter(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        name = dev.encode().ljust(16, b"\0")
        return fcntl.ioctl(self._control, request, (name + value).ljust(40, b"\0"))[16:]

    def set_mtu(self, mtu: int, dev: str = "e0") -> None:
        self.ioctl(SIOCSIFMTU, dev, struct.pack("=i", mtu))

    def up(self, dev: str) -> None:
        self.ioctl(SIOCSIFFLAGS, dev, struct.pack("=h", IFF_UP))

    def down(self, dev: str = "e0") -> None:
        self.ioctl(SIOCSIFFLAGS, dev, struct.pack("=h", 0))

    def set_addr(self, addr: str, dev: str = "e0", mask: str = "255.255.0.0") -> None:
        for request, value in ((SIOCSIFADDR, addr), (SIOCSIFNETMASK, mask)):
            self.ioctl(request, dev, struct.pack("=HH4s", 2, 0, socket.inet_aton(value)))

    def index(self, dev: str = "e0") -> int:
        return struct.unpack_from("=i", self.ioctl(SIOCGIFINDEX, dev, b""))[0]

    def set_addr6(self, addr: str, dev: str = "e0", prefix: int = 16) -> None:
        with self.enter(lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)) as control:
            where = struct.pack("=Ii", prefix, self.index(dev))
            request = socket.inet_pton(socket.AF_INET6, addr) + where
            fcntl.ioctl(control, SIOCSIFADDR, request)

    def sysctl(self, name: str, value: int | str) -> None:
        """Of /proc/sys/net, which shows the namespace of who looks."""

        def write() -> None:
            with open(f"/proc/sys/net/{name}", "w", encoding="ascii") as file:
                file.write(str(value))

        self.enter(write)

    def mac(self, dev: str = "e0") -> bytes:
        return self.ioctl(SIOCGIFHWADDR, dev, b"")[2:8]

    def ethtool(self, command: int, value: int, dev: str = "e0") -> None:
        data = ctypes.create_string_buffer(struct.pack("=II", command, value))
        self.ioctl(SIOCETHTOOL, dev, struct.pack("=Q", ctypes.addressof(data)))

    def offloads_off(self, dev: str = "e0") -> None:
        """One packet is one frame: netem drops and reorders whole packets."""
        for command in (ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO):
            self.ethtool(command, 0, dev)

    def set_neighbour(self, addr: str, mac: bytes, dev: str = "e0") -> None:
        """A permanent neighbour: nobody has to answer for the address."""
        if ":" in addr:
            lladdr = mac.hex(":")
            self.ip("neigh", "replace", addr, "lladdr", lladdr, "nud", "permanent", "dev", dev)
            return
        self.ioctl(SIOCGIFHWADDR, dev, b"")
        assert self._control is not None
        request = struct.pack(
            "=HH4s8xH6s8xi16x16s",
            socket.AF_INET,
            0,
            socket.inet_aton(addr),
            ARPHRD_ETHER,
            mac,
            ATF_COM | ATF_PERM,
            dev.encode(),
        )
        fcntl.ioctl(self._control, SIOCSARP, request)

    def await_carrier(self, dev: str = "e0") -> None:
        """Until the queue of an interface is active: before that, what leaves is dropped."""
        def running() -> bool:
            flags = struct.unpack_from("=h", self.ioctl(SIOCGIFFLAGS, dev, b""))[0]
            return bool(flags & IFF_RUNNING)

        until(running, f"{dev} of {self.name} has a carrier")

    def await_addrs6(self) -> None:
        """Until no IPv6 address is tentative: a work queue ends that, even without detection."""
        def tentative() -> bool:
            with open("/proc/thread-self/net/if_inet6", encoding="ascii") as file:
                return any(int(line.split()[4], 16) & IFA_F_TENTATIVE for line in file)

        until(lambda: not self.enter(tentative), "IPv6 addresses may be used")

    def ip(self, *words: str) -> str:
        return run("ip", "-n", self.name, *words)

    def tc(self, line: str) -> str:
        return run("tc", "-n", self.name, *line.split())

    def netem(self, what: str, seed: int = 1, dev: str = "e0") -> None:
        """Shapes what leaves, as a first time or anew."""
        # netem's generator is not warmed up: small seeds begin with much the same numbers.
        seed = seed * 0x9E3779B97F4A7C15 % (1 << 63)
        self.tc(f"qdisc replace dev {dev} root netem limit 100000 {what} seed {seed}")

    def close(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._family is not None:
            self._family.close()
        with contextlib.suppress(OSError):
            check(libc.umount2(self.path.encode(), MNT_DETACH), "umount2")
            os.unlink(self.path)


class Net:
    """What one test has: hosts, links, sockets and threads, all gone at its end."""

    def __init__(self, way: Way = IPV4) -> None:
        self.way = way
        self.hosts: list[Host] = []
        self.sockets: list[socket.socket] = []
        self._threads = ThreadPoolExecutor(max_workers=64)
        self._undo = contextlib.ExitStack()

    def background(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> "Future[T]":
        return self._threads.submit(function, *args, **kwargs)

    def at_end(self, function: Callable[[], Any]) -> None:
        self._undo.callback(function)

    def new(self, addrs: Iterable[str]) -> list[Host]:
        """Hosts that will be made by the caller: each is a namespace of that name."""
        hosts = [Host(self, f"t{next(numbers)}", addr) for addr in addrs]
        self.hosts += hosts
        return hosts

    def _configure(self, host: Host, mtu: int) -> None:
        host.set_mtu(mtu)
        host.offloads_off()
        if host.addr4:
            host.set_addr(host.addr4)
        host.up("lo")
        if self.way.v6:
            host.sysctl("ipv6/conf/e0/accept_dad", 0)  # addresses are there soon
        host.up("e0")
        if self.way.v6 and host.addr4:
            host.set_addr6(addr6(host.addr4))
        if self.way.encap and host.addr4:
            host.family.set_config(encap_port=self.way.encap, encap_peer=self.way.encap)

    def _await_ready(self, *hosts: Host) -> None:
        for host in hosts:
            host.await_carrier()
            if self.way.v6:
                host.await_addrs6()

    def alone(self) -> Host:
        """A host with nothing but its loopback interface."""
        (host,) = self.new(["127.0.0.1"])
        run("ip", "netns", "add", host.name)
        host.up("lo")
        return host

    def link(
        self, mtu: int = 1500, addrs: tuple[str, str] = ("10.1.0.1", "10.1.0.2")
    ) -> tuple[Host, Host]:
        """
        +-----------+        +-----------+
        | 10.1.0.1  |--------| 10.1.0.2  |
        |        e0 |  veth  | e0        |
        +-----------+        +-----------+
        """
        a, b = self.new(addrs)
        batch = [f"netns add {a.name}", f"netns add {b.name}"]
        batch += [f"link add e0 netns {a.name} type veth peer name e0 netns {b.name}"]
        run("ip", "-batch", "-", stdin="\n".join(batch))
        for host in a, b:
            self._configure(host, mtu)
        self._await_ready(a, b)
        return a, b

    def star(self, count: int, mtu: int = 1500) -> list[Host]:
        """
        +-----------+     +--------------------+     +-----------+
        | 10.1.0.1  |-----| p1     switch   p2 |-----| 10.1.0.2  |
        |        e0 |     |        br0         |     | e0        |
        +-----------+     +---------+----------+     +-----------+
                                 p3 | ...
                              +-----------+
                              | 10.1.0.3  |
                              +-----------+
        """
        hosts = self.new([f"10.1.{i // 250}.{i % 250 + 1}" for i in range(count)])
        (switch,) = self.new([""])
        batch = [f"netns add {host.name}" for host in (*hosts, switch)]
        for i, host in enumerate(hosts):
            batch += [
                f"link add e0 netns {host.name} type veth peer name p{i + 1} netns {switch.name}"
            ]
        run("ip", "-batch", "-", stdin="\n".join(batch))
        batch = ["link add br0 type bridge", "link set br0 up"]
        for i in range(count):
            batch += [f"link set p{i + 1} mtu {mtu} master br0 up"]
        run("ip", "-n", switch.name, "-batch", "-", stdin="\n".join(batch))
        for i, host in enumerate(hosts):
            self._configure(host, mtu)
            switch.offloads_off(f"p{i + 1}")
        self._await_ready(*hosts)
        until(lambda: forwarding(switch) == count, "all ports of the switch forward")
        return hosts

    def routed(
        self, mtus: tuple[int, int] = (1500, 1500)
    ) -> tuple[Host, Host, Host]:
        """Two hosts with a router between, and the MTU of either link.

        +-----------+     +---------------+     +-----------+
        | 10.1.0.1  |-----| r0  router r1 |-----| 10.2.0.1  |
        |        e0 |     | .254     .254 |     | e0        |
        +-----------+     +---------------+     +-----------+
        """
        a, b, router = self.new(["10.1.0.1", "10.2.0.1", ""])
        batch = [f"netns add {host.name}" for host in (a, b, router)]
        for i, host in enumerate((a, b)):
            batch += [f"link add e0 netns {host.name} type veth peer name r{i} netns {router.name}"]
        run("ip", "-batch", "-", stdin="\n".join(batch))
        router.sysctl("ipv4/ip_forward", 1)
        if self.way.v6:
            router.sysctl("ipv6/conf/all/forwarding", 1)
        for i, host in enumerate((a, b)):
            gateway = f"10.{i + 1}.0.254"
            host.up("lo")
            for end, dev, addr in ((router, f"r{i}", gateway), (host, "e0", host.addr4)):
                end.set_mtu(mtus[i], dev)
                end.offloads_off(dev)
                end.set_addr(addr, dev)
                if self.way.v6:
                    end.sysctl(f"ipv6/conf/{dev}/accept_dad", 0)
                end.up(dev)
                if self.way.v6:
                    end.set_addr6(addr6(addr), dev, 112)
            host.ip("route", "add", "default", "via", gateway)
            if self.way.v6:
                host.ip("route", "add", "default", "via", addr6(gateway))
        self._await_ready(a, b)
        for dev in "r0", "r1":
            router.await_carrier(dev)
        if self.way.v6:
            router.await_addrs6()
        return a, b, router

    def pair(self, mtu: int = 1500, port: int = 5000) -> "Pair":
        return Pair(*self.link(mtu), port)

    def close(self) -> None:
        """Nothing may linger: what is still open is aborted."""
        for sock in self.sockets:
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("=ii", 1, 0))
                sock.shutdown(socket.SHUT_RDWR)  # wakes who waits for it
        self._threads.shutdown()
        for sock in self.sockets:
            sock.close()
        self._undo.close()
        for host in self.hosts:
            host.close()


class Pair:
    """An association over a link: `rx` accepted it, `tx` connected; each can send and receive."""

    def __init__(self, rx_host: Host, tx_host: Host, port: int = 5000) -> None:
        self.net = rx_host.net
        self.rx_host, self.tx_host = rx_host, tx_host
        self.listener = rx_host.listen(port)
        self.rx, self.tx = self.more()

    def more(self) -> tuple[ltp.Socket, ltp.Socket]:
        """One more association: the accepted socket and the connected one."""
        tx = self.tx_host.socket()
        tx.connect((self.rx_host.addr, self.listener.getsockname()[1]))
        rx, peer = self.listener.accept()
        assert peer == tx.getsockname()
        rx.set_timeouts(30 * SLOW)
        self.net.sockets.append(rx)
        return rx, tx

    def counters(self) -> dict[str, int]:
        """Of both hosts together."""
        there = self.tx_host.counters()
        return {name: n + there[name] for name, n in self.rx_host.counters().items()}


class Counting:
    """The counters of hosts since the beginning of a with-statement."""

    def __init__(self, *hosts: Host) -> None:
        self.hosts = hosts
        self.before: dict[str, int] = {}

    def __enter__(self) -> "Counting":
        self.before = self._sum()
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    def _sum(self) -> dict[str, int]:
        total: dict[str, int] = {}
        for host in self.hosts:
            for name, value in host.counters().items():
                total[name] = total.get(name, 0) + value
        return total

    def moved(self) -> dict[str, int]:
        """Those that are not what they were, by how much."""
        now = self._sum()
        return {name: n - self.before[name] for name, n in now.items() if n != self.before[name]}

    def drops(self) -> dict[str, int]:
        return {name: n for name, n in self.moved().items() if name.startswith("Drop")}

    def __getitem__(self, name: str) -> int:
        return self._sum()[name] - self.before[name]
