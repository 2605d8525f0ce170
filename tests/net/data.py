# SPDX-License-Identifier: GPL-2.0
"""Bytes to send, and what must be left of them."""
import functools
import mmap

import numpy as np

from tests.net import ltp

Bytes = bytes | bytearray | memoryview

BLOCK = 1 << 20
ODD = 0x9E3779B97F4A7C15


def buffer(length: int) -> memoryview:
    """Zeros, in pages that are there: in User-Mode Linux a page fault is dear."""
    pages = mmap.mmap(
        -1, length, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
    )
    return memoryview(pages)


@functools.lru_cache(maxsize=4)
def blob(length: int, seed: int = 1) -> memoryview:
    """The same random bytes each time; no eight of them are anywhere else as well."""
    blocks = (length + BLOCK - 1) // BLOCK
    space = buffer(blocks * BLOCK)
    one = np.random.default_rng(seed).integers(0, 1 << 63, BLOCK // 8, dtype=np.uint64)
    salt = np.arange(blocks, dtype=np.uint64)[:, np.newaxis] * np.uint64(ODD)
    np.bitwise_xor(one, salt, out=np.frombuffer(space, dtype=np.uint64).reshape(blocks, -1))
    return space[:length].toreadonly()


def same(got: Bytes, expected: Bytes) -> None:
    """As assert ==, which would print both."""
    assert len(got) == len(expected), f"{len(got)} bytes instead of {len(expected)}"
    if memoryview(got) == memoryview(expected):
        return
    wrong = np.frombuffer(got, dtype=np.uint8) != np.frombuffer(expected, dtype=np.uint8)
    first = int(wrong.argmax())
    raise AssertionError(
        f"{int(wrong.sum())} of {len(got)} bytes wrong, first {first}: "
        f"{bytes(got[first:first + 16]).hex(' ')} "
        f"instead of {bytes(expected[first:first + 16]).hex(' ')}"
    )


def with_holes(data: Bytes, segments: ltp.Map, fill: bytes = b"\0") -> Bytes:
    """The message as it must be read by one to whom these segments came; holes are filled."""
    missing = segments.missing()
    if not missing:
        return data
    expected = bytearray(data)
    for index in missing:
        at = index * segments.seg_size
        end = min(at + segments.seg_size, len(data))
        expected[at:end] = fill * (end - at)
    return expected


def check_message(got: ltp.Message, data: Bytes, fill: bytes = b"\0") -> None:
    """Every byte is right or in a hole of the map, and the numbers agree with the map."""
    info, segments = got.rcvinfo, got.rcvmap
    assert info.length == len(data)
    assert segments.segments == (len(data) - 1) // segments.seg_size + 1
    assert len(segments.words) == (segments.segments + 63) // 64
    missing = segments.missing()
    assert segments.count() == segments.segments - len(missing)  # no bit beyond the last segment
    lost = sum(min(segments.seg_size, len(data) - i * segments.seg_size) for i in missing)
    assert info.received == len(data) - lost
    assert (info.reason == ltp.COMPLETE) == (not missing)
    same(got.data, with_holes(data, segments, fill))
