# SPDX-License-Identifier: MIT
"""Gather and broadcast: the two halves of a parameter server's step."""
from __future__ import annotations

from typing import NamedTuple, Optional, Sequence

import torch

from . import _native
from ._native import RecvInfo
from .connection import Connection


class GatherInfo(NamedTuple):
    """What a gather got.

    workers
        a :class:`RecvInfo` for each worker, in the order of the connections
    delivered
        share of all workers' elements that was delivered, 0 to 1
    counts
        int32 tensor: counts[i] workers delivered the elements from i * block to (i + 1) * block
    block
        elements that share a count; the segment size in elements, unless the workers' differ
    elapsed
        seconds from the first data to the end of the last message
    """

    workers: list[RecvInfo]
    delivered: float
    counts: torch.Tensor
    block: int
    elapsed: float


class Gather:
    """Receives one tensor from each of several workers, all at once, and averages them.

    Each segment is divided by the number of workers that delivered it, so that what is lost
    biases nothing.

    :param connections: one to each worker
    :param like: a tensor of the shape and dtype that the workers send: float32, float64, float16
        or bfloat16, with at least one element
    :param fill: what stands for a segment that a worker's message lost:

        ``"mean"``
            nothing: the mean of those that delivered it; 0 where nobody did
        ``"zero"``
            zero: divided by the number of workers
        ``"previous"``
            what the same worker delivered there last time; 0 at first
    """

    def __init__(self, connections: Sequence[Connection], like: torch.Tensor, *,
                 fill: str = "mean") -> None:
        self.connections = list(connections)
        # Each worker has its own tensor, and keeps it: that is where "previous" comes from.
        self.tensors = [torch.zeros(like.shape, dtype=like.dtype) for _ in self.connections]
        self._native = [c._native for c in self.connections]
        self._mean = _native.Mean(torch.empty(like.shape, dtype=like.dtype), fill)
        for c in self.connections:
            c.keep_holes(fill == "previous")

    def __call__(self, out: torch.Tensor, *, timeout: Optional[float] = None) -> GatherInfo:
        """Waits for one tensor of each worker and writes the mean to ``out``.

        ``self.tensors`` then holds what each worker sent.

        :param out: contiguous, on the CPU, of the shape and dtype of ``like``
        :param timeout: seconds; None: for ever
        :raises LtpTimeout: a worker's tensor did not come in time; the text names the worker
        :raises PeerDied: a worker has ended, or closed its connection; the text names it
        :raises SizeMismatch, DTypeMismatch: a worker sent another tensor
        """
        workers, elapsed = _native.receive_all(self._native, self.tensors, timeout)
        return _average(self._mean, self.tensors, workers, out, elapsed)


def _average(native: _native.Mean, tensors: Sequence[torch.Tensor],
             infos: Sequence[Optional[RecvInfo]], out: torch.Tensor, elapsed: float) -> GatherInfo:
    native.begin()
    for tensor, info in zip(tensors, infos):
        native.add(tensor, info)
    native.finish(out)
    return GatherInfo([i for i in infos if i is not None], native.delivered, native.counts,
                      native.block, elapsed)


def mean(tensors: Sequence[torch.Tensor], infos: Sequence[Optional[RecvInfo]], out: torch.Tensor,
         *, fill: str = "mean") -> GatherInfo:
    """The mean of tensors that were received by other means, as :class:`Gather` takes it.

    :param tensors: one of each worker: same shape and dtype as ``out``, contiguous, on the CPU
    :param infos: what came with each; None: all of it arrived
    :param out: the mean; may be one of ``tensors``
    :param fill: see :class:`Gather`
    """
    return _average(_native.Mean(out, fill), tensors, infos, out, 0.0)


def broadcast(connections: Sequence[Connection], tensor: torch.Tensor, *, tag: int = 0,
              timeout: Optional[float] = None) -> None:
    """Sends ``tensor`` to each connection, all at once, reliably.

    :param timeout: seconds; None: for ever
    :raises LtpTimeout: a peer did not take it in time; the text names it
    :raises PeerDied, BrokenConnection: a peer has ended; the text names it
    """
    _native.send_all([c._native for c in connections], tensor, tag, timeout)
