# SPDX-License-Identifier: GPL-2.0
"""Socket options: every one with right and wrong values, sizes and pointers."""
import ctypes
import errno
import socket
import struct

import pytest

from tests.net import calls, lab, ltp
from tests.net.lab import MIB

SOL_LTP = ltp.SOL_LTP
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
    assert sock.get(ltp.EPOCH_FLOWS) == 64
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
                *BOOLS, ltp.SEGSIZE, ltp.USER_TIMEOUT, ltp.PROFILE, ltp.EPOCH, ltp.EPOCH_FLOWS
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
    for name in (0, 1, 2, 3, 4, 15, 29, 99, -1):
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
