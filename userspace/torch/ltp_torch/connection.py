# SPDX-License-Identifier: MIT
"""Connections that carry tensors."""
from __future__ import annotations

from types import TracebackType
from typing import NamedTuple, Optional, Type

import torch

from . import _native
from ._native import RecvInfo, Report


class Thresholds(NamedTuple):
    """When a tolerant message may be closed early; see :meth:`Connection.set_thresholds`.

    fraction
        share of the segments that is enough from ``lt`` on, above 0 to 1
    lt
        LT threshold: seconds since the message's first packet; 0: the message is waited for until
        it is whole
    deadline
        seconds since the first packet from which only the critical segments count; 0: there is none

    A time that is None adapts to the path and to the group.
    """

    fraction: float
    lt: Optional[float]
    deadline: Optional[float]


class _Endpoint:
    """What connections and listeners have in common. Usable in ``with``; closed at its end."""

    def __init__(self, native: _native.Socket) -> None:
        self._native = native

    def close(self) -> None:
        """Closes it. What was sent is still delivered. A call that waits in another thread ends
        with an error.

        Calling it again does nothing.
        """
        self._native.close()

    def fileno(self) -> int:
        """The file descriptor, for select(); -1 after close()."""
        return self._native.fileno()

    @property
    def local(self) -> tuple[str, int]:
        """(address, port) of this side."""
        return self._native.local()

    def set_thresholds(self, fraction: Optional[float] = None, lt: Optional[float] = None,
                       deadline: Optional[float] = None) -> None:
        """Sets when tolerant messages that arrive here may be closed early; of a listener: on all
        it accepts.

        :param fraction: share of the segments that is enough from ``lt`` on, above 0 to 1
        :param lt: seconds since the message's first packet; 0: every message is waited for until
            it is whole
        :param deadline: seconds; from then on only the critical segments count; 0: never

        What is None is left to the network namespace (``ltpctl set``), where it adapts at first.
        """
        self._native.set_thresholds(fraction, lt, deadline)

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds in force."""
        return Thresholds(*self._native.thresholds())

    def set_buffers(self, send: Optional[int] = None, receive: Optional[int] = None) -> None:
        """Sets SO_SNDBUF and SO_RCVBUF, in bytes; of a listener: for all it accepts."""
        self._native.set_buffers(send, receive)


class Connection(_Endpoint):
    """A connection to one peer; made by :func:`connect` and :meth:`Listener.accept`.

    One thread may send while another receives. Python's lock is free while a call waits.
    """

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def send(self, tensor: torch.Tensor, *, tolerant: bool = False, critical: int = 0, tag: int = 0,
             give_up: Optional[float] = None, timeout: Optional[float] = None) -> None:
        """Sends ``tensor`` as one message. Returns when the kernel has all of it, not when the
        peer has it.

        :param tensor: any shape and dtype, dense; not contiguous ones and those on a GPU are
            copied first
        :param tolerant: segments of it may be lost, as the receiver's thresholds say; else all of
            it arrives
        :param critical: bytes at its beginning that must arrive even so; rounded up to whole
            segments
        :param tag: a number of the program's, 0 to 2**48 - 1, that the receiver reads in
            ``RecvInfo.tag``
        :param give_up: seconds after which a tolerant message is given up; None: never
        :param timeout: seconds that this call may take; None: for ever

        :raises LtpTimeout: the peer did not take it in time. If a part was handed over already
            the connection can send no more: a later send raises :class:`BrokenConnection`.
        :raises PeerDied: the peer has ended
        :raises BrokenConnection: the peer, or this side, has closed
        :raises ValueError: ``critical`` is larger than the tensor
        """
        self._native.send(tensor, tag, tolerant, critical, give_up, timeout)

    def recv(self, tensor: torch.Tensor, *, timeout: Optional[float] = None) -> RecvInfo:
        """Receives the next message into ``tensor``, whose number of bytes and dtype must be
        those of the peer's.

        Holes of a tolerant message are zero, or keep what ``tensor`` held (:meth:`keep_holes`).

        :param tensor: any shape, dense; not contiguous ones and those on a GPU are received
            beside and copied
        :param timeout: seconds that this call may take; None: for ever. After a timeout call
            again, also with another tensor: nothing of the message is lost.
        :returns: a :class:`RecvInfo`:

            fraction
                share of the segments that arrived, 0 to 1
            map
                bool tensor of shape (segments,): which segments arrived
            seg_size
                bytes in a segment; segment i holds the bytes from i * seg_size on, the last may
                be shorter
            reason
                why the message ended: "complete"; "fraction" or "deadline" (Early Close);
                "gave_up" (the sender); "lost" (the connection ended first)
            tag
                the sender's
            length, received
                bytes in the message, and how many of them arrived
            elapsed
                seconds from the first packet to the end of the message
            tolerant
                whether the sender allowed loss
            element_mask(like)
                bool tensor in the shape of ``like``: which elements arrived

        :raises SizeMismatch, DTypeMismatch: the peer's tensor is another; the message is consumed
            and the connection can be used further
        :raises LtpTimeout: nothing, or not all of it, came in time
        :raises PeerDied: the peer ended in the middle of a message, or without closing
        :raises Closed: the peer has closed, no more messages come
        """
        return self._native.recv(tensor, timeout)

    def shutdown(self) -> None:
        """Says that no more is sent: the peer's recv raises :class:`Closed` after the last
        message."""
        self._native.shutdown()

    @property
    def peer(self) -> tuple[str, int]:
        """(address, port) of the other side."""
        return self._native.peer()

    def keep_holes(self, keep: bool) -> None:
        """Whether holes keep what the receiving tensor held (True), or are zero (False, the
        default)."""
        self._native.set_keep_holes(keep)

    def set_reports(self, on: bool) -> None:
        """Whether a :class:`Report` of each message that is sent from now on is kept for
        :meth:`report`."""
        self._native.set_reports(on)

    def report(self) -> Optional[Report]:
        """The oldest report not taken yet, or None. Does not wait.

        A report says what became of a message that was sent: ``tag``, ``length``, ``received``,
        ``fraction``, ``map``, ``seg_size``, ``reason``, ``tolerant`` and ``element_mask(like)``
        as in ``RecvInfo``, and the same as the receiver has them.
        """
        return self._native.report()

    def set_seg_size(self, bytes: int) -> None:
        """The largest segment to send, in bytes; 0: what the path takes."""
        self._native.set_seg_size(bytes)

    def stats(self) -> dict[str, int]:
        """The connection's counters and estimates, as in struct ltp_info: times in microseconds,
        rates in bytes a second."""
        return self._native.stats()


class Listener(_Endpoint):
    """Waits for connections; made by :func:`listen`."""

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def accept(self, *, timeout: Optional[float] = None) -> Connection:
        """The next connection.

        :param timeout: seconds to wait; None: for ever
        :raises LtpTimeout: none came
        """
        return Connection(self._native.accept(timeout))


def connect(host: str, port: int, *, timeout: Optional[float] = None) -> Connection:
    """Connects to a :class:`Listener`.

    :param host: a name or an address
    :param timeout: seconds; None: as long as the kernel tries
    :raises ModuleMissing: the kernel has no LTP
    :raises Refused: nobody listens there
    :raises LtpTimeout: no answer
    """
    return Connection(_native.Socket.connect(host, port, timeout))


def listen(host: str, port: int, *, backlog: int = 128) -> Listener:
    """Listens on an address of this machine.

    :param host: "" or "0.0.0.0": every address
    :param port: 0: any free one, see :attr:`Listener.local`
    :param backlog: connections that may wait for accept()
    :raises ModuleMissing: the kernel has no LTP
    :raises LtpError: the port is in use, or the address is not this machine's
    """
    return Listener(_native.Socket.listen(host, port, backlog))
