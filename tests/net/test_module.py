# SPDX-License-Identifier: GPL-2.0
"""What the module says of itself, and that a system call can load it."""
import contextlib
import os
import re
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.net import calls, lab, ltp
from tests.net.ways import ENCAP4, ENCAP6, over

ROOT = Path(__file__).resolve().parents[2]
MODPROBE = Path("/proc/sys/kernel/modprobe")
SYS_FINIT_MODULE, SYS_DELETE_MODULE = 313, 176


def module_file() -> Path:
    places = [os.environ.get("LTP_MODULES", ""), f"{ROOT}/build/modules/{lab.KERNEL}"]
    return next(Path(place, "ltp.ko") for place in places if Path(place, "ltp.ko").exists())


def modinfo() -> dict[str, list[str]]:
    """Keys may be there several times."""
    done = subprocess.run(
        ["modinfo", str(module_file())], capture_output=True, text=True, check=True
    )
    info: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        key, _, value = line.partition(":")
        info.setdefault(key.strip(), []).append(value.strip())
    return info


def test_modinfo() -> None:
    """Aliases as socket() and generic netlink ask for them, and one version for all."""
    info = modinfo()
    for family in (int(socket.AF_INET), int(socket.AF_INET6)):
        kind = f"net-pf-{family}-proto-{ltp.IPPROTO_LTP}"
        assert {kind, f"{kind}-type-{int(socket.SOCK_SEQPACKET)}"} <= set(info["alias"])
    assert "net-pf-16-proto-16-family-ltp" in info["alias"]
    version = re.search(r"^VERSION := (.*)", (ROOT / "tools/Makefile").read_text(), re.M)
    assert version
    assert info["version"] == [version[1]]
    assert info["license"] == ["GPL"]
    assert "parm" not in info


def test_all_files_are_built() -> None:
    """Kbuild names each file, as it uses no patterns."""
    text = (ROOT / "Kbuild").read_text(encoding="ascii")
    named = set(re.findall(r"\w+(?=\.o\b)", text))
    there = {path.stem for place in ("kernel", "kernel/compat", "tests/kunit")
             for path in (ROOT / place).glob("*.c")}
    assert named - {"ltp", "ltp_kunit"} == there


@pytest.fixture(name="helper")
def fixture_helper(tmp_path: Path) -> Iterator[Path]:
    """What the kernel calls to load a module: it notes what for, and loads this one."""
    asked = tmp_path / "asked"
    script = tmp_path / "modprobe"
    script.write_text(
        f'#!/bin/sh\necho "$@" >>{asked}\n'
        f'case "$*" in *-253*|*family-ltp) exec insmod {module_file()};; esac\n'
    )
    script.chmod(0o755)
    before = MODPROBE.read_text()
    MODPROBE.write_text(str(script))
    yield asked
    MODPROBE.write_text(before)
    if not Path("/sys/module/ltp").exists():
        load()


def load() -> None:
    fd = os.open(module_file(), os.O_RDONLY)
    lab.check(lab.libc.syscall(SYS_FINIT_MODULE, fd, b"", 0), "finit_module")
    os.close(fd)


def unload() -> bool:
    return calls.result(lab.libc.syscall(SYS_DELETE_MODULE, b"ltp", os.O_NONBLOCK)) == 0


def ask_socket() -> None:
    ltp.Socket().close()


def ask_socket6() -> None:
    ltp.Socket(family=socket.AF_INET6).close()


def ask_netlink() -> None:
    done = subprocess.run([lab.LTPCTL, "-s", "stat", "show"], capture_output=True, check=True)
    assert b"InPackets" in done.stdout


@pytest.mark.seconds(120)
@pytest.mark.parametrize("ask, word", [(ask_socket, "net-pf-2-proto-253-type-5"),
                                       (ask_socket6, "net-pf-10-proto-253-type-5"),
                                       (ask_netlink, "net-pf-16-proto-16-family-ltp")])
def test_autoload(helper: Path, ask: Callable[[], None], word: str) -> None:
    """socket(), or a question to the family, loads the module that is not there."""
    # What another test closed waits for its peer, for as long as `dead` at most.
    lab.until(unload, "the module is not used any more", 70)
    assert not Path("/sys/module/ltp").exists()
    ask()
    assert word in helper.read_text()
    assert Path("/sys/module/ltp").exists()


@pytest.mark.seconds(120)
@over([ENCAP4, ENCAP6])
def test_unload_with_tunnels_open(net: lab.Net) -> None:
    """While packets come in UDP; then the port is free, and can be had again."""
    here, there = net.link()
    sock = here.enter(lambda: socket.socket(net.way.family, socket.SOCK_DGRAM))
    net.sockets.append(sock)
    stop = threading.Event()

    def flood() -> None:
        while not stop.is_set():
            for _ in range(50):
                with contextlib.suppress(OSError):  # ICMP: nobody is there
                    sock.sendto(os.urandom(100), (there.addr, net.way.encap))
            time.sleep(0.001)

    done = net.background(flood)
    try:
        for _ in range(3):
            lab.until(unload, "the module is not used any more", 70)
            for host in here, there:
                free = host.enter(lambda: socket.socket(net.way.family, socket.SOCK_DGRAM))
                free.bind((net.way.any(), net.way.encap))
                free.close()
            load()
            for host in here, there:
                host.forget_family()
                host.family.set_config(encap_port=net.way.encap)
            with lab.Counting(there) as moved:
                lab.until(lambda: moved["InEncap"] > 0, "packets come")
    finally:
        stop.set()
        done.result()
        if not Path("/sys/module/ltp").exists():
            load()
