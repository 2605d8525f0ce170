# SPDX-License-Identifier: MIT
"""What can go wrong. Each error says in one sentence what happened and what to do."""
from __future__ import annotations


class LtpError(OSError):
    """Any failure of LTP. ``errno`` is the system's number, ``str()`` the sentence.

    The classes below are also the builtin classes that a program with TCP sockets would catch.
    """

    def __str__(self) -> str:
        return str(self.strerror if self.strerror is not None else super().__str__())


class ModuleMissing(LtpError):
    """The kernel has no LTP: the module is not loaded. The sentence says which command loads it."""


class LtpTimeout(LtpError, TimeoutError):
    """The ``timeout`` of a call ran out, or the peer does not answer any more."""


class Refused(LtpError, ConnectionRefusedError):
    """Nobody listens on the address."""


class PeerDied(LtpError, ConnectionResetError):
    """The peer ended without closing the connection, perhaps in the middle of a message."""


class Closed(LtpError, EOFError):
    """The peer has closed the connection in an orderly way: no more messages come."""


class BrokenConnection(LtpError, BrokenPipeError):
    """The connection cannot send (any more)."""


class SizeMismatch(LtpError, ValueError):
    """The peer's tensor has another number of bytes than the tensor that was to receive it.

    The message is consumed; the connection can be used further. What the receiving tensor holds
    is undefined.
    """


class DTypeMismatch(LtpError, TypeError):
    """The peer's tensor has another dtype than the tensor that was to receive it.

    The message is consumed; the connection can be used further. What the receiving tensor holds
    is undefined.
    """
