# SPDX-License-Identifier: MIT
"""The same parameter server's traffic over LTP and over TCP.

A server gathers one float32 tensor from each worker, gets their mean, and broadcasts another one.
The two classes of servers, and of workers, differ in nothing that the training program sees.
"""
from __future__ import annotations

import selectors
import socket
import struct
import time
from typing import Any, Callable, NamedTuple, Optional, Protocol

import torch

import ltp_torch


class Gathered(NamedTuple):
    """seconds from the first data to the end of the last message; share that was delivered, 0 to
    1."""

    elapsed: float
    delivered: float


class Server(Protocol):
    def accept(self, workers: int, like: torch.Tensor) -> None:
        """Waits for the workers; ``like`` is what they will send. They are numbered by rank."""

    def gather(self, out: torch.Tensor) -> Gathered:
        """One tensor of each worker; their mean goes to ``out``."""

    def broadcast(self, tensor: torch.Tensor) -> None:
        """The same tensor to each worker, whole."""

    def sync(self) -> None:
        """Waits until each worker has called its sync."""

    def close(self) -> None: ...


class Worker(Protocol):
    def send(self, tensor: torch.Tensor, critical: Optional[int]) -> None:
        """To the server; the first ``critical`` bytes must arrive, or all if it is None."""

    def recv(self, tensor: torch.Tensor) -> None:
        """The next broadcast."""

    def sync(self) -> None:
        """Tells the server that it is here."""

    def close(self) -> None: ...


# How long a worker tries to reach a server that does not listen yet.
RETRY = 0.1


def _patiently(connect: Callable[[float], None], timeout: float) -> None:
    """Calls ``connect(seconds left)`` until nobody refuses any more."""
    end = time.monotonic() + timeout
    while True:
        try:
            return connect(max(0.0, end - time.monotonic()))
        except ConnectionRefusedError:
            if time.monotonic() + RETRY > end:
                raise
            time.sleep(RETRY)


# -- LTP -----------------------------------------------------------------------------------------


class LtpServer:
    """Gather tolerantly, divide by the count of workers that delivered; broadcast reliably."""

    def __init__(self, host: str, port: int, timeout: float,
                 thresholds: Optional[ltp_torch.Thresholds] = None, fill: str = "mean") -> None:
        self._timeout = timeout
        self._fill = fill
        self._listener = ltp_torch.listen(host, port)
        if thresholds:
            self._listener.set_thresholds(*thresholds)
        self._connections: list[ltp_torch.Connection] = []

    def accept(self, workers: int, like: torch.Tensor) -> None:
        rank = torch.empty(1, dtype=torch.int32)
        by_rank = {}
        for _ in range(workers):
            connection = self._listener.accept(timeout=self._timeout)
            connection.recv(rank, timeout=self._timeout)
            by_rank[int(rank)] = connection
        self._connections = [by_rank[r] for r in sorted(by_rank)]
        self._gather = ltp_torch.Gather(self._connections, like, fill=self._fill)

    def gather(self, out: torch.Tensor) -> Gathered:
        info = self._gather(out, timeout=self._timeout)
        return Gathered(info.elapsed, info.delivered)

    def broadcast(self, tensor: torch.Tensor) -> None:
        ltp_torch.broadcast(self._connections, tensor, timeout=self._timeout)

    def sync(self) -> None:
        for connection in self._connections:
            connection.recv(torch.empty(0), timeout=self._timeout)

    def close(self) -> None:
        for connection in self._connections:
            connection.close()
        self._listener.close()


class LtpWorker:
    def __init__(self, host: str, port: int, rank: int, timeout: float) -> None:
        self._timeout = timeout
        _patiently(lambda left: self._connect(host, port, left), timeout)
        self._connection.send(torch.tensor([rank], dtype=torch.int32), timeout=timeout)

    def _connect(self, host: str, port: int, left: float) -> None:
        self._connection = ltp_torch.connect(host, port, timeout=left)

    def send(self, tensor: torch.Tensor, critical: Optional[int]) -> None:
        self._connection.send(tensor, tolerant=critical is not None, critical=critical or 0,
                              timeout=self._timeout)

    def recv(self, tensor: torch.Tensor) -> None:
        self._connection.recv(tensor, timeout=self._timeout)

    def sync(self) -> None:
        self._connection.send(torch.empty(0), timeout=self._timeout)

    def close(self) -> None:
        self._connection.close()


# -- TCP -----------------------------------------------------------------------------------------
#
# As good as a program can make it: all workers at once, no copies, no delayed small packets.
# Buffers are left to the kernel, which fits them to the path (net.ipv4.tcp_rmem, tcp_wmem).


def _tune(s: socket.socket, congestion: str) -> None:
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())


def _bytes(tensor: torch.Tensor) -> memoryview:
    array: Any = tensor.detach().numpy()
    return memoryview(array).cast("B")


class TcpServer:
    def __init__(self, host: str, port: int, timeout: float, congestion: str = "cubic") -> None:
        self._timeout = timeout
        self._congestion = congestion
        self._listener = socket.create_server((host, port))
        self._listener.settimeout(timeout)
        self._sockets: list[socket.socket] = []

    def accept(self, workers: int, like: torch.Tensor) -> None:
        by_rank = {}
        for _ in range(workers):
            s, _peer = self._listener.accept()
            _tune(s, self._congestion)
            s.settimeout(self._timeout)
            rank, = struct.unpack("!i", s.recv(4, socket.MSG_WAITALL))
            s.setblocking(False)
            by_rank[rank] = s
        self._sockets = [by_rank[r] for r in sorted(by_rank)]
        self._tensors = [torch.zeros_like(like) for _ in self._sockets]

    def _all(self, event: int, views: list[memoryview],
             step: Callable[[socket.socket, memoryview], int]) -> float:
        """``step`` on each socket that is ready until its view is used up. Returns as gather
        does."""
        started = None
        with selectors.DefaultSelector() as selector:
            for i, s in enumerate(self._sockets):
                selector.register(s, event, i)
            while selector.get_map():
                ready = selector.select(self._timeout)
                if not ready:
                    raise TimeoutError(f"a worker was silent for {self._timeout:g} s: check that "
                                       "all run, or allow more time with --timeout")
                started = started or time.monotonic()
                for key, _ in ready:
                    s = self._sockets[key.data]
                    try:
                        n = step(s, views[key.data])
                    except BlockingIOError:
                        continue
                    if not n:
                        raise ConnectionResetError(f"worker {key.data} closed its connection where "
                                                   "data was due: start it again")
                    views[key.data] = views[key.data][n:]
                    if not views[key.data]:
                        selector.unregister(s)
        return time.monotonic() - (started or time.monotonic())

    def gather(self, out: torch.Tensor) -> Gathered:
        elapsed = self._all(selectors.EVENT_READ, [_bytes(t) for t in self._tensors],
                            lambda s, view: s.recv_into(view))
        ltp_torch.mean(self._tensors, [None] * len(self._tensors), out)
        return Gathered(elapsed, 1.0)

    def broadcast(self, tensor: torch.Tensor) -> None:
        self._all(selectors.EVENT_WRITE, [_bytes(tensor) for _ in self._sockets],
                  lambda s, view: s.send(view))

    def sync(self) -> None:
        self._all(selectors.EVENT_READ, [memoryview(bytearray(1)) for _ in self._sockets],
                  lambda s, view: s.recv_into(view))

    def close(self) -> None:
        for s in self._sockets:
            s.close()
        self._listener.close()


class TcpWorker:
    def __init__(self, host: str, port: int, rank: int, timeout: float,
                 congestion: str = "cubic") -> None:
        self._congestion = congestion
        _patiently(lambda left: self._connect(host, port, left), timeout)
        self._socket.settimeout(timeout)
        self._socket.sendall(struct.pack("!i", rank))

    def _connect(self, host: str, port: int, left: float) -> None:
        s = socket.socket()
        _tune(s, self._congestion)
        s.settimeout(left)
        try:
            s.connect((host, port))
        except OSError:
            s.close()
            raise
        self._socket = s

    def send(self, tensor: torch.Tensor, critical: Optional[int]) -> None:
        self._socket.sendall(_bytes(tensor))

    def recv(self, tensor: torch.Tensor) -> None:
        view = _bytes(tensor)
        while view:
            n = self._socket.recv_into(view)
            if not n:
                raise ConnectionResetError("the server closed its connection where data was due: "
                                           "start it again")
            view = view[n:]

    def sync(self) -> None:
        self._socket.sendall(b"!")

    def close(self) -> None:
        self._socket.close()
