# SPDX-License-Identifier: GPL-2.0
"""System calls as they are: Python's own never show EINTR, and give no wrong pointers."""
import ctypes
import errno
import signal
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tests.net import lab

BAD_POINTER = 8  # nothing is ever mapped there


class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]


class Msghdr(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_void_p),
        ("namelen", ctypes.c_uint32),
        ("iov", ctypes.POINTER(Iovec)),
        ("iovlen", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("controllen", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    ]


def result(value: int) -> int:
    """Of a C function: what it returned, or the negative error."""
    return value if value >= 0 else -ctypes.get_errno()


def message(pieces: Sequence[tuple[int, int]], control: bytes = b"") -> tuple[Msghdr, Any]:
    """A struct msghdr, and what must live as long as it does."""
    iov = (Iovec * max(len(pieces), 1))(*(Iovec(*piece) for piece in pieces))
    space = ctypes.create_string_buffer(control, len(control))
    msg = Msghdr(
        iov=iov,
        iovlen=len(pieces),
        control=ctypes.addressof(space) if control else None,
        controllen=len(control),
    )
    return msg, (iov, space)


def sendmsg(
    sock: socket.socket, pieces: Sequence[tuple[int, int]], control: bytes = b"", flags: int = 0
) -> int:
    """Pieces are addresses and lengths; the control messages are given as they are in memory."""
    msg, _alive = message(pieces, control)
    return result(lab.libc.sendmsg(sock.fileno(), ctypes.byref(msg), flags))


def recvmsg(sock: socket.socket, pieces: Sequence[tuple[int, int]], flags: int = 0) -> int:
    msg, _alive = message(pieces)
    return result(lab.libc.recvmsg(sock.fileno(), ctypes.byref(msg), flags))


def address_of(buffer: Any) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))


def pointer(buffer: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(address_of(buffer))


def error_of(function: Any, *args: Any) -> int:
    """The errno with which a call fails, 0 if it does not."""
    try:
        function(*args)
    except OSError as error:
        return error.errno or errno.EIO
    return 0


class Caller:
    """A system call in a thread of its own, which can be interrupted."""

    def __init__(self, function: Any, *args: Any) -> None:
        self.value = 0
        self.tid = 0
        self.thread = threading.Thread(target=self._body, args=(function, args), daemon=True)
        self.thread.start()

    def _body(self, function: Any, args: Any) -> None:
        self.tid = threading.get_native_id()
        self.value = function(*args)

    def sleeping(self) -> bool:
        """Is it waiting in the kernel? It may have ended as well."""
        if not self.thread.is_alive():
            return True
        try:
            with open(f"/proc/self/task/{self.tid}/stat", encoding="ascii") as file:
                return file.read().rpartition(")")[2].split()[0] == "S"
        except OSError:
            return False

    def wait_asleep(self) -> "Caller":
        """Until it waits: it is seen asleep several times in a row."""
        lab.until(lambda: all(self.sleeping() for _ in range(5)), "it sleeps")
        return self

    def interrupt(self) -> None:
        assert self.thread.ident is not None
        signal.pthread_kill(self.thread.ident, signal.SIGUSR1)

    def end(self) -> int:
        self.thread.join(30 * lab.SLOW)
        assert not self.thread.is_alive(), "the call does not return"
        return self.value


@contextmanager
def quiet_signal(restart: bool) -> Iterator[None]:
    """SIGUSR1 does nothing but interrupt system calls, or restart them."""
    before = signal.signal(signal.SIGUSR1, lambda _signal, _frame: None)
    signal.siginterrupt(signal.SIGUSR1, not restart)
    yield
    signal.signal(signal.SIGUSR1, before)
