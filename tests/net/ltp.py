# SPDX-License-Identifier: GPL-2.0
"""The socket interface of uapi/linux/ltp.h, in Python."""
import dataclasses
import fcntl
import socket
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

IPPROTO_LTP = SOL_LTP = 253

# Control messages
SNDINFO, RCVINFO, RCVMAP, REPORT = 1, 2, 3, 4
# Socket options
RECVRCVINFO, RECVRCVMAP, REPORTS, HOLES, THRESHOLDS, RCVTAG, CONGESTION, INFO, SEGSIZE = range(
    16, 25
)
USER_TIMEOUT, ENCAP = 28, 29
PROFILE, EPOCH, EPOCH_FLOWS = range(25, 28)
MOVING_START = 30
PROFILE_DCN, PROFILE_WAN = 1, 2
HOLES_ZERO, HOLES_KEEP = 0, 1
TOLERANT = 1
# Close reasons
OPEN, COMPLETE, FRACTION, DEADLINE, GAVE_UP, LOST = range(6)
# States
CLOSED, LISTEN, INIT_SENT, COOKIE_SENT, ESTABLISHED, CLOSING = range(6)
SET_FRACTION, SET_LT, SET_DEADLINE, SET_SLACK = 1, 2, 4, 8
FRACTION_MAX, TIME_MAX_US = 1000000, 3600000000
ADAPTIVE = (1 << 64) - 1
GRAIN, SEG_MIN, SEG_MAX = 16, 256, 65408
MAX_FLOWS = 1024
MESSAGE_MAX = 0x7FFEFFFF
HEADERS = 20 + 16 + 28  # IP, common header, DATA header
U32_MAX = (1 << 32) - 1

SO_MEMINFO = 55
SIOCINQ, SIOCOUTQ, SIOCOUTQNSD = 0x541B, 0x5411, 0x894B

SNDINFO_FORMAT = struct.Struct("=QIIH6s")
RCVINFO_FORMAT = struct.Struct("=QIIQIHH")
THRESHOLDS_FORMAT = struct.Struct("=IIQQQ")
INFO_FORMAT = struct.Struct("=10I2Q6I2Q7Q14I2Q2I")
TIMEVAL = struct.Struct("=qq")


def seg_size(mtu: int, grain: int = GRAIN, headers: int = HEADERS) -> int:
    """Bytes in a segment on a path of that MTU."""
    return min(max(mtu - headers, SEG_MIN), SEG_MAX) // grain * grain


class RcvInfo(NamedTuple):
    tag: int
    length: int
    received: int
    elapsed_us: int
    flow: int
    reason: int
    flags: int


class MemInfo(NamedTuple):
    rmem_alloc: int
    rcvbuf: int
    wmem_alloc: int
    sndbuf: int
    fwd_alloc: int
    wmem_queued: int
    optmem: int
    backlog: int
    drops: int


class Info(NamedTuple):
    state: int
    segments_out: int
    segments_in: int
    retransmitted: int
    lost: int
    spurious: int
    srtt_us: int
    rttvar_us: int
    rtprop_us: int
    cwnd: int
    btlbw: int
    pacing_rate: int
    in_flight: int
    peer_window: int
    seg_size: int
    flows_out: int
    flows_in: int
    probes: int
    bytes_acked: int
    bytes_received: int
    bytes_sent: int
    bytes_retransmitted: int
    ceiling: int
    age_us: int
    busy_us: int
    window_limited_us: int
    sndbuf_limited_us: int
    min_rtt_us: int
    unsent: int
    lost_unsent: int
    peer_window_later: int
    window: int
    window_later: int
    pmtu: int
    backoff: int
    duplicates: int
    last_data_sent_us: int
    last_ack_received_us: int
    last_data_received_us: int
    last_heard_us: int
    calibrating: int
    lt_us: int
    deadline_us: int
    epochs: int
    encap: int


@dataclasses.dataclass(frozen=True)
class Map:
    """Which segments arrived; `words` are those of the bitmap that fitted."""

    seg_size: int
    segments: int
    words: tuple[int, ...]

    def arrived(self, segment: int) -> bool:
        return bool(self.words[segment // 64] >> segment % 64 & 1)

    def missing(self) -> list[int]:
        return [i for i in range(self.segments) if not self.arrived(i)]

    def count(self) -> int:
        return sum(word.bit_count() for word in self.words)


@dataclasses.dataclass(frozen=True)
class Message:
    """What one recvmsg() gave."""

    size: int
    flags: int
    info: RcvInfo | None
    map: Map | None
    data: memoryview

    @property
    def rcvinfo(self) -> RcvInfo:
        assert self.info is not None, "no LTP_RCVINFO"
        return self.info

    @property
    def rcvmap(self) -> Map:
        assert self.map is not None, "no LTP_RCVMAP"
        return self.map


def sndinfo(
    tag: int = 0,
    critical: int = 0,
    giveup_us: int = 0,
    flags: int = 0,
    reserved: int = 0,
) -> tuple[int, int, bytes]:
    """The control message LTP_SNDINFO."""
    value = SNDINFO_FORMAT.pack(tag, critical, giveup_us, flags, reserved.to_bytes(6, "little"))
    return SOL_LTP, SNDINFO, value


def map_space(length: int, mtu: int = 1500) -> int:
    """Room for the control messages of a message of that length, all included."""
    segments = (length - 1) // seg_size(mtu) + 1
    words = (segments + 63) // 64
    return socket.CMSG_SPACE(RCVINFO_FORMAT.size) + socket.CMSG_SPACE(8 + 8 * words)


class Socket(socket.socket):
    """A socket(AF_INET or AF_INET6, SOCK_SEQPACKET, IPPROTO_LTP)."""

    def __init__(self, fileno: int | None = None, family: int = socket.AF_INET) -> None:
        super().__init__(family, socket.SOCK_SEQPACKET, IPPROTO_LTP, fileno)

    def accept(self) -> tuple["Socket", Any]:
        fd, addr = self._accept()  # type: ignore[attr-defined]
        return Socket(fd, self.family), addr

    def set_timeouts(self, seconds: float) -> None:
        """Of the kernel: the descriptor stays a blocking one, which settimeout() changes."""
        value = TIMEVAL.pack(int(seconds), int(seconds % 1 * 1e6))
        self.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, value)
        self.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, value)

    # ---- messages

    def send_message(
        self,
        data: bytes | bytearray | memoryview | Sequence[bytes | memoryview],
        msg_flags: int = 0,
        **how: int,
    ) -> int:
        """One sendmsg(); keyword arguments are those of sndinfo()."""
        parts = data if isinstance(data, (list, tuple)) else [data]
        return self.sendmsg(parts, [sndinfo(**how)] if how else [], msg_flags)

    def receive_into(
        self, buffer: bytearray | memoryview, control: int | None = None, msg_flags: int = 0
    ) -> Message:
        """One recvmsg(); there is room for all control messages unless `control` says how much."""
        if control is None:
            control = map_space(max(len(buffer), 1), HEADERS + SEG_MIN)
        size, cmsgs, flags, _ = self.recvmsg_into([buffer], control, msg_flags)
        info, segments = None, None
        for level, kind, value in cmsgs:
            if level != SOL_LTP:
                continue
            if kind == RCVINFO and len(value) == RCVINFO_FORMAT.size:
                info = RcvInfo(*RCVINFO_FORMAT.unpack(value))
            elif kind == RCVMAP and len(value) >= 8:
                count = (len(value) - 8) // 8
                size_of_one, number = struct.unpack_from("=II", value)
                segments = Map(size_of_one, number, struct.unpack_from(f"={count}Q", value, 8))
        return Message(size, flags, info, segments, memoryview(buffer)[:size])

    def receive(
        self, space: int = 1 << 20, control: int | None = None, msg_flags: int = 0
    ) -> Message:
        return self.receive_into(bytearray(space), control, msg_flags)

    # ---- options

    def set(self, name: int, value: int | bytes) -> None:
        self.setsockopt(SOL_LTP, name, value)

    def get(self, name: int) -> int:
        return self.getsockopt(SOL_LTP, name)

    def want_control(self) -> "Socket":
        self.set(RECVRCVINFO, 1)
        self.set(RECVRCVMAP, 1)
        return self

    def set_rcvtag(self, tag: int) -> None:
        self.set(RCVTAG, struct.pack("=Q", tag))

    def set_thresholds(
        self,
        fraction_ppm: int | None = None,
        lt_us: int | None = None,
        deadline_us: int | None = None,
        slack_us: int | None = None,
    ) -> None:
        """What is None comes from a rule or the namespace."""
        given = (fraction_ppm, lt_us, deadline_us, slack_us)
        which = sum(1 << i for i, value in enumerate(given) if value is not None)
        fraction, lt_, deadline, slack = (value or 0 for value in given)
        self.set(THRESHOLDS, THRESHOLDS_FORMAT.pack(fraction, which, lt_, deadline, slack))

    def congestion(self) -> str:
        return self.getsockopt(SOL_LTP, CONGESTION, 16).rstrip(b"\0").decode()

    def info(self) -> Info:
        value = self.getsockopt(SOL_LTP, INFO, INFO_FORMAT.size)
        return Info(*INFO_FORMAT.unpack(value))

    def meminfo(self) -> MemInfo:
        return MemInfo(*struct.unpack("=9I", self.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, 36)))

    def ioctl(self, request: int) -> int:
        """SIOCINQ or SIOCOUTQ."""
        return struct.unpack("=i", fcntl.ioctl(self, request, bytes(4)))[0]

    def unacknowledged(self) -> int:
        return self.ioctl(SIOCOUTQ)

    def error(self) -> int:
        return self.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
