# SPDX-License-Identifier: GPL-2.0
"""Memory that is not there: allocations fail now and then, where the kernel can do that.

What is allocated by packets and timers fails for all; what system calls allocate fails for the
thread that asked.
"""
import contextlib
import errno
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.net import calls, lab, ltp, wire
from tests.net.data import blob, buffer, check_message, same
from tests.net.lab import MIB
from tests.net.peer import Wire

DEBUG = Path("/sys/kernel/debug")
KINDS = ["failslab", "fail_page_alloc"]

# The lockdep kernel could, but its reference trackers complain when they fail themselves.
pytestmark = pytest.mark.skipif(lab.KERNEL != "kasan", reason="needs the kasan kernel")


def write(file: Path, value: int | str) -> None:
    file.write_text(f"{value}\n", encoding="ascii")


@contextlib.contextmanager
def failing(probability: int, atomic: bool) -> Iterator[None]:
    """Allocations fail in so many of a hundred cases: atomic ones, or those of marked threads."""
    try:
        for kind in KINDS:
            where = DEBUG / kind
            write(where / "verbose", 0)
            write(where / "times", -1)
            write(where / "interval", 1)
            write(where / "space", 0)
            write(where / "task-filter", "N" if atomic else "Y")
            write(where / "ignore-gfp-wait", "Y" if atomic else "N")
        write(DEBUG / "fail_page_alloc/min-order", 0)
        for kind in KINDS:
            write(DEBUG / kind / "probability", probability)
        yield
    finally:
        for kind in KINDS:
            write(DEBUG / kind / "probability", 0)


@contextlib.contextmanager
def marked() -> Iterator[None]:
    """The calling thread is one whose allocations may fail."""
    # Opened before, as that may fail as well.
    fd = os.open(f"/proc/self/task/{threading.get_native_id()}/make-it-fail", os.O_RDWR)
    os.write(fd, b"1")
    try:
        yield
    finally:
        while not wrote(fd, b"0"):
            pass
        os.close(fd)


def wrote(fd: int, text: bytes) -> bool:
    try:
        return os.pwrite(fd, text, 0) == 1
    except OSError:
        return False


def test_messages_in_spite_of_it(pair: lab.Pair) -> None:
    """Reliable messages in both directions arrive identical, each allocation being in danger."""
    size = MIB
    data = blob(size)
    pair.rx.want_control()
    pair.tx.want_control()
    with failing(5, atomic=True):
        for _ in range(3):
            jobs = [
                pair.net.background(pair.tx.sendall, data),
                pair.net.background(pair.rx.sendall, data),
            ]
            check_message(pair.rx.receive_into(buffer(size)), data)
            check_message(pair.tx.receive_into(buffer(size)), data)
            for job in jobs:
                job.result()


def test_early_close_in_spite_of_it(pair: lab.Pair) -> None:
    """Tolerant messages with holes, their CLOSE, and the reports."""
    pair.tx_host.netem("loss 20%", seed=31)
    pair.rx.set_thresholds(fraction_ppm=500000, lt_us=1, deadline_us=1000)
    pair.tx.set(ltp.REPORTS, 1)
    rx = pair.rx.want_control()
    with failing(10, atomic=True):
        for tag in range(100):
            pair.tx.send_message(blob(50000), tag=tag, flags=ltp.TOLERANT)
            check_message(rx.receive(50000), blob(50000))
    lab.until(lambda: pair.tx.info().flows_out == 0, "the sender knows of all ends", 60)


def test_handshakes_in_spite_of_it(pair: lab.Pair) -> None:
    """connect() takes longer, but comes to an end."""
    with failing(10, atomic=True):
        for _ in range(10):
            rx, tx = pair.more()
            tx.send(b"hello")
            assert rx.recv(10) == b"hello"
            tx.close()
            rx.close()
    for host in pair.rx_host, pair.tx_host:
        host.family.set_config(dead_ms=100)


def test_packets_in_spite_of_it(net: lab.Net) -> None:
    """A flow or a child that could not be made is counted, and made the next time."""
    far = Wire(net)
    sock, assoc = far.accepted()
    sock.set_thresholds(1000000, 0, ltp.TIME_MAX_US)  # or a slow machine closes some early
    with failing(50, atomic=True), lab.Counting(far.host) as moved:
        for flow in range(200):
            assoc.send_data(b"x" * 2000, [0], flow=assoc.flow + flow, flags=wire.TOLERANT)
    assert moved["DropMemory"] > 0
    for flow in range(200):
        assoc.send_data(b"x" * 2000, [0, 1], flow=assoc.flow + flow, flags=wire.TOLERANT)
    for _ in range(200):
        same(sock.recv(2000), b"x" * 2000)


GOOD = {0, errno.ENOMEM, errno.ENOBUFS}


def test_system_calls(pair: lab.Pair) -> None:
    """ENOMEM or ENOBUFS or success; then everything works as before."""
    pair.rx.want_control()
    host = pair.rx_host

    def everything() -> set[int]:
        seen = set()
        with marked():
            for _ in range(150):
                where = ("10.1.0.1", 0)
                seen.add(calls.error_of(pair.tx.send, bytes(3000), socket.MSG_DONTWAIT))
                seen.add(calls.error_of(pair.rx.recv, 3000, socket.MSG_DONTWAIT))
                try:
                    sock = ltp.Socket()
                except OSError as error:
                    seen.add(error.errno or 0)
                    continue
                seen.add(calls.error_of(sock.bind, where))
                seen.add(calls.error_of(sock.listen))
                seen.add(calls.error_of(sock.setsockopt, ltp.SOL_LTP, ltp.RCVTAG, bytes(8)))
                sock.close()
        return seen

    with failing(10, atomic=False):
        seen = host.enter(everything)
    assert seen <= GOOD | {errno.EAGAIN, errno.EMSGSIZE, errno.EINVAL, errno.ENFILE}, seen
    assert seen & {errno.ENOMEM, errno.ENOBUFS}


@pytest.mark.parametrize("wait", [True, False])
def test_large_message(pair: lab.Pair, wait: bool) -> None:
    """A send waits for memory, or says how far it came, and EAGAIN; no byte is lost or twice."""
    size = 4 * MIB
    data = blob(size)
    received = pair.net.background(pair.rx.want_control().receive_into, buffer(size))
    pair.tx.setblocking(wait)

    def send() -> int:
        at = again = 0
        with marked():
            while at < size:
                try:
                    at += pair.tx.send(data[at:])
                except BlockingIOError:
                    again += 1
        return again

    with failing(2, atomic=False):
        assert (pair.net.background(send).result() == 0) == wait
    check_message(received.result(), data)


def test_netlink(pair: lab.Pair) -> None:
    """Dumps fail or are whole."""
    for i in range(20):
        pair.tx.send_message(blob(100), tag=i)
    lab.until(lambda: pair.rx.info().flows_in == 20, "all are there")
    family = pair.rx_host.family

    def ask() -> int:
        fails = 0
        with marked():
            for _ in range(100):
                try:
                    assert len(family.flows()) == 20
                    assert len(family.assocs()) == 1
                    family.config()
                except OSError as error:
                    # EBUSY: the dump that failed is not over for this socket.
                    assert error.errno in (errno.ENOMEM, errno.ENOBUFS, errno.EBUSY), error
                    family.restart()
                    fails += 1
        return fails

    with failing(5, atomic=False):
        assert pair.net.background(ask).result() > 0


def test_namespaces() -> None:
    """One that cannot be made leaves nothing behind."""

    def make() -> set[int]:
        seen = set()
        with marked():
            for _ in range(100):
                seen.add(calls.result(lab.libc.unshare(lab.CLONE_NEWNET)))
        return seen

    seen: list[set[int]] = []
    with failing(3, atomic=False):
        thread = threading.Thread(target=lambda: seen.append(make()))
        thread.start()
        thread.join()
    # Others of the kernel have errors of their own for it: what counts is that the log is clean.
    assert -errno.ENOMEM in seen[0]
