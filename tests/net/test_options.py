# SPDX-License-Identifier: GPL-2.0
"""Socket options: every one with right and wrong values, sizes and pointers."""
import ctypes
import errno
import mmap
import re
import select
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.net import calls, lab, ltp
from tests.net.lab import MIB

SOL_LTP = ltp.SOL_LTP
ROOT = Path(__file__).resolve().parents[2]
BOOLS = [ltp.RECVRCVINFO, ltp.RECVRCVMAP, ltp.REPORTS, ltp.HOLES]
TH = ltp.THRESHOLDS_FORMAT


@pytest.fixture(name="sock")
def fixture_sock(net: lab.Net) -> ltp.Socket:
    return net.alone().socket()


def set_raw(sock: ltp.Socket, name: int, value: bytes, length: int | None = None) -> int:
    """0 or the error; the length may be a lie."""
    size = len(value) if length is None else length
    return -calls.result(lab.libc.setsockopt(sock.fileno(), SOL_LTP, name, value, size))


def get_raw(sock: ltp.Socket, name: int, room: int) -> tuple[int, int, bytes]:
    """Error, length and value."""
    space = ctypes.create_string_buffer(b"\xEE" * 512, 512)
    length = ctypes.c_int(room)
    error = calls.result(
        lab.libc.getsockopt(sock.fileno(), SOL_LTP, name, space, ctypes.byref(length))
    )
    return -error, length.value, space.raw


@pytest.mark.parametrize("name", BOOLS)
def test_booleans(sock: ltp.Socket, name: int) -> None:
    assert sock.get(name) == 0
    for value in 1, 0, 1:
        sock.set(name, value)
        assert sock.get(name) == value
    for bad in (2, -1, 256, 1 << 31):
        assert set_raw(sock, name, struct.pack("=I", bad & ltp.U32_MAX)) == errno.EINVAL
    for size in (0, 1, 3, 5, 8):
        assert set_raw(sock, name, bytes(8), size) == errno.EINVAL
    assert set_raw(sock, name, b"", -1) == errno.EINVAL
    assert sock.get(name) == 1


@pytest.mark.parametrize("good", [0, 256, 272, 1024, 65408])
def test_segsize(sock: ltp.Socket, good: int) -> None:
    assert sock.get(ltp.SEGSIZE) == 0
    sock.set(ltp.SEGSIZE, good)
    assert sock.get(ltp.SEGSIZE) == good


@pytest.mark.parametrize("bad", [-16, -1, 1, 16, 240, 255, 257, 264, 65409, 65424, 1 << 20])
def test_bad_segsize(sock: ltp.Socket, bad: int) -> None:
    sock.set(ltp.SEGSIZE, 512)
    assert set_raw(sock, ltp.SEGSIZE, struct.pack("=i", bad)) == errno.EINVAL
    assert sock.get(ltp.SEGSIZE) == 512


def test_user_timeout(sock: ltp.Socket) -> None:
    """As TCP_USER_TIMEOUT: milliseconds, 0 leaves it to the namespace."""
    assert sock.get(ltp.USER_TIMEOUT) == 0
    for value in (1, 5000, (1 << 31) - 1, 0):
        sock.set(ltp.USER_TIMEOUT, value)
        assert sock.get(ltp.USER_TIMEOUT) == value
    for bad in (-1, -(1 << 31)):
        assert set_raw(sock, ltp.USER_TIMEOUT, struct.pack("=i", bad)) == errno.EINVAL
    for size in (0, 3, 5, 8):
        assert set_raw(sock, ltp.USER_TIMEOUT, bytes(8), size) == errno.EINVAL
    assert sock.get(ltp.USER_TIMEOUT) == 0


def test_thresholds(sock: ltp.Socket, net: lab.Net) -> None:
    """What is read is what is in force, and which of it is the socket's own."""
    adaptive, most = ltp.ADAPTIVE, ltp.TIME_MAX_US
    assert thresholds(sock) == (900000, 0, adaptive, adaptive, 30000)
    net.hosts[0].family.set_config(fraction_ppm=800000, lt_us=5, deadline_us=10, slack_us=7)
    for value, in_force in (
        ((1, 1, 0, 0, 0), (1, 1, 5, 10, 7)),
        ((1000000, 15, 0, 0, 0), (1000000, 15, 0, 0, 0)),
        ((900000, 7, 20000, 20000, 1), (900000, 7, 20000, 20000, 7)),
        ((5, 2, most, 3, 1), (800000, 2, most, 10, 7)),
        ((0, 4, 99, most, 1), (800000, 4, 5, most, 7)),
        ((0, 6, 5, 0, 0), (800000, 6, 5, 0, 7)),
        ((0, 6, adaptive, adaptive, 0), (800000, 6, adaptive, adaptive, 7)),
        ((0, 6, adaptive, 5, 0), (800000, 6, adaptive, 5, 7)),
        ((0, 6, 5, adaptive, 0), (800000, 6, 5, adaptive, 7)),
        ((0, 8, 0, 0, most), (800000, 8, 5, 10, most)),
        ((77, 0, 88, 99, 66), (800000, 0, 5, 10, 7)),
    ):
        assert set_raw(sock, ltp.THRESHOLDS, TH.pack(*value)) == 0, value
        assert thresholds(sock) == in_force


def thresholds(sock: ltp.Socket) -> tuple[int, ...]:
    return TH.unpack(sock.getsockopt(SOL_LTP, ltp.THRESHOLDS, 100))


@pytest.mark.parametrize(
    "value, error",
    [
        ((0, 1, 0, 0), errno.ERANGE),
        ((1000001, 1, 0, 0), errno.ERANGE),
        ((ltp.U32_MAX, 7, 0, 0), errno.ERANGE),
        ((1, 2, ltp.TIME_MAX_US + 1, 0), errno.ERANGE),
        ((1, 4, 0, ltp.TIME_MAX_US + 1), errno.ERANGE),
        ((1, 6, (1 << 64) - 2, 0), errno.ERANGE),
        ((1, 6, 0, (1 << 64) - 2), errno.ERANGE),
        ((1, 6, 20, 19), errno.EINVAL),
        ((1, 16, 0, 0), errno.EINVAL),
        ((1, ltp.U32_MAX, 0, 0), errno.EINVAL),
        ((1, 8, 0, 0, ltp.TIME_MAX_US + 1), errno.ERANGE),
        ((1, 8, 0, 0, ltp.ADAPTIVE), errno.ERANGE),
    ],
)
def test_bad_thresholds(sock: ltp.Socket, value: tuple[int, ...], error: int) -> None:
    good = TH.pack(5, 15, 6, 7, 8)
    assert set_raw(sock, ltp.THRESHOLDS, good) == 0
    assert set_raw(sock, ltp.THRESHOLDS, TH.pack(*value, *[0] * (5 - len(value)))) == error
    for size in (0, 4, 8, 23, 25, 31, 33):
        assert set_raw(sock, ltp.THRESHOLDS, good + bytes(1), size) == errno.EINVAL
    # The structure as it was before it grew has no slack that could be set.
    assert set_raw(sock, ltp.THRESHOLDS, good, 24) == errno.EINVAL
    assert sock.getsockopt(SOL_LTP, ltp.THRESHOLDS, 100) == good


def test_thresholds_before_they_grew(sock: ltp.Socket) -> None:
    """The first 24 bytes are what older programs know."""
    old = TH.pack(5, 7, 6, 7, 0)[:24]
    assert set_raw(sock, ltp.THRESHOLDS, old) == 0
    assert get_raw(sock, ltp.THRESHOLDS, 24)[:2] == (0, 24)
    assert sock.getsockopt(SOL_LTP, ltp.THRESHOLDS, 24) == old
    assert thresholds(sock) == (5, 7, 6, 7, 30000)


def test_profile(sock: ltp.Socket, net: lab.Net) -> None:
    """It stands for its slack, and comes before the namespace's."""
    assert sock.get(ltp.PROFILE) == ltp.PROFILE_DCN
    for profile, slack in ((ltp.PROFILE_WAN, 100000), (ltp.PROFILE_DCN, 30000)):
        sock.set(ltp.PROFILE, profile)
        assert sock.get(ltp.PROFILE) == profile
        assert thresholds(sock)[4] == slack
    net.hosts[0].family.set_config(profile=ltp.PROFILE_WAN, slack_us=77)
    assert (sock.get(ltp.PROFILE), thresholds(sock)[4]) == (ltp.PROFILE_DCN, 30000)
    sock.set_thresholds(slack_us=1)
    assert (sock.get(ltp.PROFILE), thresholds(sock)[4]) == (ltp.PROFILE_DCN, 1)
    sock.set_thresholds()
    sock.set(ltp.PROFILE, 0)
    assert (sock.get(ltp.PROFILE), thresholds(sock)[4]) == (ltp.PROFILE_WAN, 77)
    for bad in (-1, 3, 256, 1 << 30):
        assert set_raw(sock, ltp.PROFILE, struct.pack("=i", bad)) == errno.EINVAL
    for size in (0, 1, 3, 5, 8):
        assert set_raw(sock, ltp.PROFILE, bytes(8), size) == errno.EINVAL


def test_epoch_flows(sock: ltp.Socket, net: lab.Net) -> None:
    assert sock.get(ltp.EPOCH_FLOWS) == 16
    net.hosts[0].family.set_config(epoch=5)
    for value, in_force in ((1, 1), ((1 << 31) - 1, (1 << 31) - 1), (0, 0), (-1, 5)):
        sock.set(ltp.EPOCH_FLOWS, value)
        assert sock.get(ltp.EPOCH_FLOWS) == in_force
    for bad in (-2, -(1 << 31)):
        assert set_raw(sock, ltp.EPOCH_FLOWS, struct.pack("=i", bad)) == errno.EINVAL
    for size in (0, 1, 3, 5, 8):
        assert set_raw(sock, ltp.EPOCH_FLOWS, bytes(8), size) == errno.EINVAL


def test_epoch(sock: ltp.Socket, net: lab.Net) -> None:
    """It can be ended where there is one."""
    one = struct.pack("=i", 1)
    assert set_raw(sock, ltp.EPOCH, one) == errno.ENOTCONN
    assert sock.get(ltp.EPOCH) == 0
    host = net.alone()
    pair = lab.Pair(host, host)
    for end in pair.listener, pair.rx, pair.tx:
        for bad in (0, -1, 2):
            assert set_raw(end, ltp.EPOCH, struct.pack("=i", bad)) == errno.EINVAL
        for size in (0, 1, 3, 5, 8):
            assert set_raw(end, ltp.EPOCH, bytes(8), size) == errno.EINVAL
        assert set_raw(end, ltp.EPOCH, one) == 0
        assert end.get(ltp.EPOCH) == 0  # an epoch without flows is none


def test_rcvtag(sock: ltp.Socket) -> None:
    for tag in (0, 1, (1 << 64) - 1):
        assert set_raw(sock, ltp.RCVTAG, struct.pack("=Q", tag)) == 0
    for size in (0, 4, 7, 9):
        assert set_raw(sock, ltp.RCVTAG, bytes(9), size) == errno.EINVAL
    assert get_raw(sock, ltp.RCVTAG, 8)[0] == errno.ENOPROTOOPT


def test_congestion(sock: ltp.Socket) -> None:
    """As TCP_CONGESTION: a name with or without its end, ENOENT for one that is none."""
    assert sock.getsockopt(SOL_LTP, ltp.CONGESTION, 16) == b"bdp".ljust(16, b"\0")
    for name in (b"reno", b"bdp"):
        for value in (name, name + b"\0", name.ljust(16, b"\0"), name + b"\0garbage"):
            assert set_raw(sock, ltp.CONGESTION, value) == 0, value
            assert sock.congestion() == name.decode()
    for value in (b"bd", b"bdpx", b"renoo", b"cubic", b"x" * 16, b"x" * 400):
        assert set_raw(sock, ltp.CONGESTION, value) == errno.ENOENT, value
    assert set_raw(sock, ltp.CONGESTION, b"", 0) == errno.EINVAL
    assert sock.congestion() == "bdp"


def test_info_is_read_only(sock: ltp.Socket) -> None:
    """What it says is tested in test_info.py."""
    assert set_raw(sock, ltp.INFO, bytes(ltp.INFO_FORMAT.size)) == errno.ENOPROTOOPT


@pytest.mark.parametrize(
    "name, size",
    [
        *(
            (name, 4)
            for name in (
                *BOOLS, ltp.SEGSIZE, ltp.USER_TIMEOUT, ltp.PROFILE, ltp.EPOCH, ltp.EPOCH_FLOWS,
                ltp.ENCAP,
            )
        ),
        (ltp.THRESHOLDS, 32),
        (ltp.CONGESTION, 16),
        (ltp.INFO, ltp.INFO_FORMAT.size),
    ],
)
def test_room_for_the_value(sock: ltp.Socket, name: int, size: int) -> None:
    """A value is cut to the room there is, and nothing behind it is touched."""
    assert get_raw(sock, name, 512)[:2] == (0, size)
    for room in (0, 1, 3, size - 1, size, size + 1):
        error, length, space = get_raw(sock, name, room)
        assert (error, length) == (0, min(room, size))
        assert space[length:] == b"\xEE" * (512 - length)
    assert get_raw(sock, name, -1)[0] == errno.EINVAL
    fd = sock.fileno()
    bad = ctypes.c_void_p(calls.BAD_POINTER)
    length_of = ctypes.c_int(size)
    for value, where in ((bad, ctypes.byref(length_of)), (ctypes.create_string_buffer(512), bad)):
        got = calls.result(lab.libc.getsockopt(fd, SOL_LTP, name, value, where))
        assert got == -errno.EFAULT
    if name != ltp.INFO:
        assert calls.result(lab.libc.setsockopt(fd, SOL_LTP, name, bad, size)) == -errno.EFAULT


def test_unknown_options(sock: ltp.Socket) -> None:
    for name in (0, 1, 2, 3, 4, 15, 63, 99, -1):
        assert set_raw(sock, name, bytes(4)) == errno.ENOPROTOOPT
        assert get_raw(sock, name, 4)[0] == errno.ENOPROTOOPT
    for level in (socket.IPPROTO_TCP, 132, 254):
        assert calls.error_of(sock.getsockopt, level, 1) == errno.ENOPROTOOPT
        assert calls.error_of(sock.setsockopt, level, 1, 1) == errno.ENOPROTOOPT


def test_options_of_other_levels(sock: ltp.Socket) -> None:
    """SOL_IP and SOL_SOCKET are those of any socket."""
    sock.setsockopt(socket.SOL_IP, socket.IP_TOS, 0x28)
    assert sock.getsockopt(socket.SOL_IP, socket.IP_TOS) == 0x28
    sock.setsockopt(socket.SOL_IP, socket.IP_TTL, 9)
    assert sock.getsockopt(socket.SOL_IP, socket.IP_TTL) == 9
    for name, value in ((socket.SO_RCVBUF, 100000), (socket.SO_SNDBUF, 100000)):
        sock.setsockopt(socket.SOL_SOCKET, name, value)
        assert sock.getsockopt(socket.SOL_SOCKET, name) == 2 * value
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, 3)
    assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY) == 3


def test_buffers_of_the_namespace(net: lab.Net) -> None:
    host = net.alone()
    sock = host.socket()
    for name in socket.SO_RCVBUF, socket.SO_SNDBUF:
        assert sock.getsockopt(socket.SOL_SOCKET, name) == 8 * MIB
    host.ltpctl("set", "rcvbuf", "1M", "sndbuf", "64K")
    assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == 8 * MIB
    sock = host.socket()
    assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == MIB
    assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == 64 << 10


def test_socket_filter(pair: lab.Pair) -> None:
    """SO_ATTACH_FILTER: what it refuses is counted and sent again; what it cuts is no packet."""
    for keep in (0, 20):
        pair.rx.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, filter_that_keeps(keep))
        with lab.Counting(pair.rx_host) as moved:
            pair.tx.send(b"hello")
            name = "DropShort" if keep else "DropFilter"
            lab.until(lambda: moved[name] > 1, "it is refused again and again")
            assert moved["InData"] == 0
        pair.rx.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)
        assert pair.rx.recv(10) == b"hello"


SO_ATTACH_FILTER, SO_DETACH_FILTER = 26, 27
program = ctypes.create_string_buffer(8)


def filter_that_keeps(length: int) -> bytes:
    """A struct sock_fprog of one instruction: return that many bytes."""
    program.raw = struct.pack("=HBBI", 6, 0, 0, length)
    return struct.pack("=HxxxxxxQ", 1, ctypes.addressof(program))


def test_ttl_and_tos_are_on_the_wire(net: lab.Net) -> None:
    """What is set at the level SOL_IP is in the packets."""
    from tests.net.peer import Wire

    far = Wire(net)
    sock = far.host.socket()
    sock.setsockopt(socket.SOL_IP, socket.IP_TOS, 0x28)
    sock.setsockopt(socket.SOL_IP, socket.IP_TTL, 9)
    sock.setblocking(False)
    sock.connect_ex(("10.1.0.2", 5000))
    frame = far.sock.recv(100)
    assert (frame[1], frame[8], frame[9]) == (0x28, 9, ltp.IPPROTO_LTP)


# ---- every option with every wrong size and pointer

SETTABLE = {
    **{name: struct.pack("=i", 1) for name in BOOLS},
    ltp.SEGSIZE: struct.pack("=i", 512),
    ltp.THRESHOLDS: TH.pack(5, 7, 6, 7, 8),
    ltp.RCVTAG: bytes(8),
    ltp.PROFILE: struct.pack("=i", 1),
    ltp.EPOCH_FLOWS: struct.pack("=i", 1),
    ltp.MOVING_START: struct.pack("=i", 0),
    ltp.USER_TIMEOUT: struct.pack("=i", 1),
    ltp.ENCAP: struct.pack("=i", 1),
}
INTS = (
    *BOOLS, ltp.SEGSIZE, ltp.PROFILE, ltp.EPOCH, ltp.EPOCH_FLOWS, ltp.USER_TIMEOUT, ltp.ENCAP,
    ltp.MOVING_START,
)
READABLE = {**{name: 4 for name in INTS}, ltp.THRESHOLDS: TH.size,
            ltp.CONGESTION: 16, ltp.INFO: ltp.INFO_FORMAT.size}
INT_MAX = (1 << 31) - 1
POINTERS = {"good": None, "NULL": 0, "bad": calls.BAD_POINTER}


def set_at(sock: ltp.Socket, name: int, address: int, size: int) -> int:
    where = ctypes.c_void_p(address)
    return -calls.result(lab.libc.setsockopt(sock.fileno(), SOL_LTP, name, where, size))


@pytest.mark.parametrize("pointer", POINTERS)
@pytest.mark.parametrize("name", SETTABLE)
def test_sizes_and_pointers(sock: ltp.Socket, name: int, pointer: str) -> None:
    """The size is looked at before the value."""
    right = len(SETTABLE[name])
    value = bytearray(SETTABLE[name].ljust(64, b"\0"))
    address = POINTERS[pointer]
    where = calls.address_of(value) if address is None else address
    for size in (0, 1, right - 1, right + 1, 2 * right, 4096, 1 << 20, INT_MAX, -1, -INT_MAX):
        assert set_at(sock, name, where, size) == errno.EINVAL, size
    assert set_at(sock, name, where, right) == (0 if pointer == "good" else errno.EFAULT)
    # Of two pages only the first is there, and the value reaches into the second.
    pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    start = calls.address_of(pages)
    assert lab.libc.munmap(ctypes.c_void_p(start + mmap.PAGESIZE), mmap.PAGESIZE) == 0
    assert set_at(sock, name, start + mmap.PAGESIZE - right + 1, right) == errno.EFAULT


def test_sizes_and_pointers_of_a_name(sock: ltp.Socket) -> None:
    """LTP_CONGESTION takes a string of any length but 0."""
    for pointer in (0, calls.BAD_POINTER):
        for size in (1, 16, 4096, INT_MAX):
            assert set_at(sock, ltp.CONGESTION, pointer, size) == errno.EFAULT
        assert set_at(sock, ltp.CONGESTION, pointer, 0) == errno.EINVAL
    name = bytearray(b"bdp".ljust(16, b"\0"))
    assert set_at(sock, ltp.CONGESTION, calls.address_of(name), INT_MAX) == 0
    assert set_at(sock, ltp.CONGESTION, calls.address_of(name), -1) == errno.EINVAL


@pytest.mark.parametrize("name", READABLE)
def test_pointers_of_getsockopt(sock: ltp.Socket, name: int) -> None:
    size = ctypes.c_int(READABLE[name])

    def get(value: int, length: "ctypes._CArgObject | None") -> int:
        where = ctypes.c_void_p(value)
        return -calls.result(
            lab.libc.getsockopt(sock.fileno(), SOL_LTP, name, where, length)
        )

    space = bytearray(READABLE[name])
    assert get(calls.address_of(space), None) == errno.EFAULT
    for bad in (0, calls.BAD_POINTER):
        assert get(bad, ctypes.byref(size)) == errno.EFAULT
        nothing = ctypes.c_int(0)
        assert get(bad, ctypes.byref(nothing)) == 0 and nothing.value == 0
    for negative in (-1, -INT_MAX - 1):
        assert get(calls.address_of(space), ctypes.byref(ctypes.c_int(negative))) == errno.EINVAL


def test_options_that_are_none(sock: ltp.Socket) -> None:
    """Of the level there is no other number, and there is no level of the next number."""
    known = {*SETTABLE, *READABLE}
    header = (ROOT / "uapi/linux/ltp.h").read_text(encoding="ascii")
    numbers = {int(n) for n in re.findall(r"#define LTP_[A-Z_]+\t+(\d+)\b", header)}
    assert {n for n in numbers if n >= ltp.RECVRCVINFO} - {ltp.FRACTION_MAX} <= known
    for name in (*range(-2, 64), 255, 1 << 16, INT_MAX):
        error = set_raw(sock, name, bytes(64))
        may_set = name in {*SETTABLE, ltp.CONGESTION, ltp.EPOCH}
        assert (error == errno.ENOPROTOOPT) == (not may_set), name
        if name not in known:
            assert get_raw(sock, name, 64)[0] == errno.ENOPROTOOPT
    # SOL_TCP, SOL_UDP, SOL_IPV6, SOL_SCTP, and around LTP's own
    for level in (6, 17, 41, 132, 252, 254, 255, -1):
        assert calls.error_of(sock.setsockopt, level, ltp.HOLES, 1) == errno.ENOPROTOOPT
        assert calls.error_of(sock.getsockopt, level, ltp.HOLES) == errno.ENOPROTOOPT


# ---- the options that all sockets have

NO_TCP = {  # where TCP, or its state, is another thing
    socket.SOL_SOCKET: {"SO_TYPE", "SO_PROTOCOL", "SO_SNDBUF", "SO_RCVBUF", "SO_COOKIE",
                        "SO_MEMINFO", "SO_PEEK_OFF", "SO_ZEROCOPY", "SO_RCVLOWAT",
                        "SO_DEVMEM_DONTNEED"},
    # TCP keeps the bits of ECN of IP_TOS, and has no multicast (32 on).
    socket.SOL_IP: {str(number) for number in (1, 9, *range(32, 50))},
}
VALUES = (b"\1\0\0\0", bytes(4), b"\xff" * 4, b"", b"\1", struct.pack("=ii", 1, 5),
          struct.pack("=qq", 1, 5))


def generic_options() -> dict[int, str]:
    """Of SOL_SOCKET, by the header that programs are compiled with."""
    text = Path("/usr/include/asm-generic/socket.h").read_text(encoding="ascii")
    return {int(n): name for name, n in re.findall(r"#define (SO_\w+)\s+(\d+)\b", text)}


def attempt(new: Callable[[], socket.socket], level: int, name: int, value: bytes) -> list[object]:
    """What setting says, and what reading says afterwards."""
    with new() as sock:
        said: list[object] = [calls.error_of(sock.setsockopt, level, name, value)]
        try:
            said.append(sock.getsockopt(level, name, 64))
        except OSError as error:
            said.append(error.errno)
    return said


def test_same_as_tcp(net: lab.Net) -> None:
    """Each option of the levels SOL_SOCKET and SOL_IP, set and read."""
    host = net.alone()
    timeouts = {(1, 20), (1, 21), (1, 66), (1, 67)}  # lab.Host.socket() sets them
    names = [(socket.SOL_SOCKET, *one) for one in generic_options().items()]
    names += [(socket.SOL_IP, number, str(number)) for number in range(1, 56)]
    for level, number, name in names:
        if name not in NO_TCP[level] and (level, number) not in timeouts:
            for value in VALUES:
                told = [
                    attempt(new, level, number, value)
                    for new in (lambda: host.enter(ltp.Socket), lambda: host.enter(socket.socket))
                ]
                assert told[0] == told[1], (name, value)


def test_what_there_is_not(sock: ltp.Socket) -> None:
    """Zero copy and peeking at an offset are refused; MSG_ZEROCOPY alone is ignored, as by TCP."""
    for name in (SO_PEEK_OFF, SO_ZEROCOPY):
        assert calls.error_of(sock.setsockopt, socket.SOL_SOCKET, name, 1) == errno.EOPNOTSUPP


SO_PEEK_OFF, SO_ZEROCOPY, SO_INCOMING_CPU, SO_MAX_PACING_RATE, SO_RXQ_OVFL = 42, 60, 49, 47, 40
SO_TIMESTAMP, SO_TIMESTAMPNS, SO_TIMESTAMPING, SO_SNDBUFFORCE, SO_RCVBUFFORCE = 29, 35, 37, 32, 33


def test_without_effect(pair: lab.Pair) -> None:
    """Options of all sockets that change nothing: in particular no control message comes."""
    tag = {"tag": 1}
    for name, value in ((SO_TIMESTAMP, 1), (SO_TIMESTAMPNS, 1), (SO_TIMESTAMPING, 0x1F),
                        (SO_RXQ_OVFL, 1), (socket.SO_RCVLOWAT, 100000), (socket.SO_KEEPALIVE, 1),
                        (socket.SO_OOBINLINE, 1), (socket.SO_REUSEPORT, 1)):
        for sock in pair.rx, pair.tx:
            sock.setsockopt(socket.SOL_SOCKET, name, value)
        pair.tx.send_message(b"hello", 0x4000000, **tag)  # MSG_ZEROCOPY
        assert pair.rx.recvmsg(100, 1000)[:2] == (b"hello", [])
        assert calls.error_of(pair.tx.recv, 1, socket.MSG_ERRQUEUE | 0x40) == errno.EAGAIN
    for name in (socket.IP_TTL, 8, 11, 12, 13):  # IP_PKTINFO, IP_RECVERR, IP_RECVTTL, IP_RECVTOS
        pair.rx.setsockopt(socket.SOL_IP, name, 1)
    pair.tx.send(b"hello")
    assert pair.rx.recvmsg(100, 1000)[:2] == (b"hello", [])


def test_reuseport(net: lab.Net) -> None:
    """Two listeners do not share the load of a port."""
    host = net.alone()
    first, second = host.socket(), host.socket()
    for sock in first, second:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    first.bind(("127.0.0.1", 5000))
    assert calls.error_of(second.bind, ("127.0.0.1", 5000)) == errno.EADDRINUSE


def test_buffer_sizes(net: lab.Net) -> None:
    """Doubled, limited by the sysctl unless forced, and a change counts at once."""
    host = net.alone()
    sock = host.socket()
    for name, force, limit in ((socket.SO_SNDBUF, SO_SNDBUFFORCE, "wmem_max"),
                               (socket.SO_RCVBUF, SO_RCVBUFFORCE, "rmem_max")):
        most = int(Path(f"/proc/sys/net/core/{limit}").read_text())
        for value, expected in ((100000, 200000), (most, 2 * most), (INT_MAX, 2 * most)):
            sock.setsockopt(socket.SOL_SOCKET, name, value)
            assert sock.getsockopt(socket.SOL_SOCKET, name) == expected
        sock.setsockopt(socket.SOL_SOCKET, force, 100 << 20)
        assert sock.getsockopt(socket.SOL_SOCKET, name) == 200 << 20
        sock.setsockopt(socket.SOL_SOCKET, name, 0)
        assert 1000 < sock.getsockopt(socket.SOL_SOCKET, name) < 10000
        assert calls.error_of(sock.setsockopt, socket.SOL_SOCKET, name, b"\1\1") == errno.EINVAL


def test_more_buffer_lets_a_sender_go_on(pair: lab.Pair) -> None:
    """SO_SNDBUF and SO_RCVBUF of an association that is stuck for want of them."""
    pair.tx.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    pair.rx.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    pair.tx.setblocking(False)
    while calls.error_of(pair.tx.send, bytes(1000)) == 0:
        pass
    for sock, name in (pair.tx, SO_SNDBUFFORCE), (pair.rx, SO_RCVBUFFORCE):
        sock.setsockopt(socket.SOL_SOCKET, name, 8 * MIB)
    assert select.select([], [pair.tx], [], 10 * lab.SLOW)[1]
    assert pair.tx.send(bytes(1000)) == 1000


def test_incoming_cpu(pair: lab.Pair) -> None:
    """SO_INCOMING_CPU: where packets came in last; there is one processor here."""
    pair.tx.send(b"x")
    assert pair.rx.recv(10) == b"x"
    assert pair.rx.getsockopt(socket.SOL_SOCKET, SO_INCOMING_CPU) == 0


def test_accepted_sockets_inherit(net: lab.Net) -> None:
    """What the listener has of the generic options, its children have."""
    host = net.alone()
    listener = host.listen()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, 5)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, 77)
    listener.setsockopt(socket.SOL_IP, socket.IP_TOS, 0x28)
    listener.setsockopt(socket.SOL_IP, socket.IP_TTL, 33)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("=ii", 1, 7))
    host.connect(host)
    child, _ = listener.accept()
    net.sockets.append(child)
    assert child.getsockopt(socket.SOL_SOCKET, socket.SO_MARK) == 77
    assert child.getsockopt(socket.SOL_IP, socket.IP_TOS) == 0x28
    assert child.getsockopt(socket.SOL_IP, socket.IP_TTL) == 33
    assert child.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 0
    assert child.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8) == struct.pack("=ii", 1, 7)


def test_pacing_rate(pair: lab.Pair) -> None:
    """SO_MAX_PACING_RATE: no faster than that, while it holds."""
    pair.tx.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, 4 * MIB)
    start = time.monotonic()
    sent = pair.net.background(pair.tx.send, bytes(MIB))
    assert pair.rx.receive(MIB).size == MIB
    sent.result()
    assert time.monotonic() - start > 0.2
    assert pair.tx.info().pacing_rate <= 4 * MIB
    pair.tx.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, struct.pack("=Q", (1 << 64) - 1))
    assert pair.tx.info().pacing_rate != 4 * MIB
