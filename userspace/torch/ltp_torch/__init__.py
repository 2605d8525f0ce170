# SPDX-License-Identifier: MIT
"""PyTorch tensors over LTP, the Loss-tolerant Transmission Protocol.

One tensor is one message. A *tolerant* message may arrive with holes: the receiver closes it
early once enough of it is there, and learns which segments are missing. Any other message arrives
whole.

    # one process                              # another
    listener = ltp_torch.listen("", 5000)      conn = ltp_torch.connect("10.0.0.1", 5000)
    conn = listener.accept(timeout=60)         conn.send(gradient, tolerant=True, critical=256)
    info = conn.recv(buffer)
    info.fraction, info.map, info.reason

Every failure is an :class:`LtpError` whose text is one sentence that says what to do.
"""
# PyTorch's libraries have to be there before the extension that is linked against them.
import torch  # noqa: F401

from ._native import RecvInfo, Report
from .connection import Connection, Listener, Thresholds, connect, listen
from .errors import (BrokenConnection, Closed, DTypeMismatch, LtpError, LtpTimeout, ModuleMissing,
                     PeerDied, Refused, SizeMismatch)
from .gather import Gather, GatherInfo, broadcast, mean

__all__ = [
    "BrokenConnection", "Closed", "Connection", "DTypeMismatch", "Gather", "GatherInfo", "Listener",
    "LtpError", "LtpTimeout", "ModuleMissing", "PeerDied", "RecvInfo", "Refused", "Report",
    "SizeMismatch", "Thresholds", "broadcast", "connect", "listen", "mean",
]
__version__ = "0.1.0"
