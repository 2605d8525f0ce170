# SPDX-License-Identifier: GPL-2.0
"""io_uring by its system calls: there is no binding for it in Python."""
import ctypes
import errno
import mmap
import os
import struct
from typing import NamedTuple

from tests.net import calls, lab

SYS_SETUP, SYS_ENTER = 425, 426
GETEVENTS = 1
OFF_SQES = 0x10000000
FEAT_SINGLE_MMAP = 1

(NOP, POLL_ADD, POLL_REMOVE, SENDMSG, RECVMSG, TIMEOUT, ACCEPT, ASYNC_CANCEL, LINK_TIMEOUT, CONNECT,
 READ, WRITE, SEND, RECV, SPLICE, SHUTDOWN, SEND_ZC) = (
    0, 6, 7, 9, 10, 11, 13, 14, 15, 16, 22, 23, 26, 27, 30, 34, 47)
LINK, ASYNC = 1 << 2, 1 << 4  # IOSQE_
ACCEPT_MULTISHOT = 1  # in ioprio
CQE_MORE = 2

PARAMS = struct.Struct("=10I" "8IQ" "8IQ")
SQE = struct.Struct("=BBHiQQIIQHHiQQ")
CQE = struct.Struct("=QiI")


class Completion(NamedTuple):
    data: int
    result: int
    flags: int


class Ring:
    """One ring of a thread that submits and waits by itself."""

    def __init__(self, entries: int = 64) -> None:
        space = ctypes.create_string_buffer(PARAMS.size)
        self.fd = calls.result(lab.libc.syscall(SYS_SETUP, entries, space))
        lab.check(self.fd, "io_uring_setup")
        fields = PARAMS.unpack(space.raw)
        assert fields[5] & FEAT_SINGLE_MMAP
        self.entries = fields[0]
        (self.sq_head, self.sq_tail, self.sq_mask, _, _, _, self.sq_array, _, _,
         self.cq_head, self.cq_tail, self.cq_mask, _, _, self.cqes, _, _, _) = fields[10:]
        size = max(self.sq_array + 4 * fields[0], self.cqes + CQE.size * fields[1])
        self.ring = mmap.mmap(self.fd, size, mmap.MAP_SHARED | mmap.MAP_POPULATE)
        self.sqes = mmap.mmap(self.fd, SQE.size * fields[0], mmap.MAP_SHARED | mmap.MAP_POPULATE,
                              offset=OFF_SQES)
        self.alive: list[object] = []  # what the kernel may still use
        self.data = 0

    def close(self) -> None:
        os.close(self.fd)
        self.sqes.close()
        self.ring.close()

    def _get(self, offset: int) -> int:
        return struct.unpack_from("=I", self.ring, offset)[0]

    def _enter(self, submit: int, wait: int) -> int:
        flags = GETEVENTS if wait else 0
        return calls.result(lab.libc.syscall(SYS_ENTER, self.fd, submit, wait, flags, None, 0))

    def submit(
        self,
        opcode: int,
        fd: int,
        addr: int = 0,
        length: int = 0,
        op_flags: int = 0,
        off: int = 0,
        flags: int = 0,
        ioprio: int = 0,
        splice_fd: int = 0,
    ) -> int:
        """One request; returns the number by which its completion is known."""
        self.data += 1
        tail = self._get(self.sq_tail)
        index = tail & self._get(self.sq_mask)
        SQE.pack_into(self.sqes, index * SQE.size, opcode, flags, ioprio, fd, off, addr, length,
                      op_flags, self.data, 0, 0, splice_fd, 0, 0)
        struct.pack_into("=I", self.ring, self.sq_array + 4 * index, index)
        struct.pack_into("=I", self.ring, self.sq_tail, (tail + 1) & 0xFFFFFFFF)
        if not flags & LINK:  # those that are linked go together
            pending = (tail + 1 - self._get(self.sq_head)) & 0xFFFFFFFF
            assert self._enter(pending, 0) == pending
        return self.data

    def send(self, fd: int, data: bytes | bytearray | memoryview, op_flags: int = 0,
             opcode: int = SEND, flags: int = 0) -> int:
        space = bytearray(data)
        self.alive.append(space)
        return self.submit(opcode, fd, calls.address_of(space), len(space), op_flags, flags=flags)

    def receive(self, fd: int, space: bytearray | memoryview, op_flags: int = 0,
                opcode: int = RECV, flags: int = 0) -> int:
        self.alive.append(space)
        return self.submit(opcode, fd, calls.address_of(space), len(space), op_flags, flags=flags)

    def reap(self) -> Completion | None:
        """A completion that is there."""
        head = self._get(self.cq_head)
        if head == self._get(self.cq_tail):
            return None
        at = self.cqes + CQE.size * (head & self._get(self.cq_mask))
        done = Completion(*CQE.unpack_from(self.ring, at))
        struct.pack_into("=I", self.ring, self.cq_head, (head + 1) & 0xFFFFFFFF)
        return done

    def wait(self, data: int = 0) -> Completion:
        """The next completion, which must be this one."""
        while (done := self.reap()) is None:
            error = self._enter(0, 1)
            assert error >= 0 or -error == errno.EINTR, os.strerror(-error)
        assert data in (0, done.data)
        return done

    def both(self, *datas: int) -> list[int]:
        """Results of several requests that complete in any order."""
        results = {}
        for _ in datas:
            done = self.wait()
            results[done.data] = done.result
        return [results[data] for data in datas]
