# SPDX-License-Identifier: GPL-2.0
"""Virtual time: it stands while something computes, so what is asserted of it is exact."""
import time

from tests.net import lab

assert lab.SIM, "these tests need scripts/lab/run --sim"


def now() -> float:
    return time.monotonic()


def close_to(measured: float, expected: float, tolerance: float = 0.001) -> bool:
    return abs(measured - expected) <= tolerance


def about(measured: float, timeout: float) -> bool:
    """A sleep of the kernel: not shorter, and not longer than its timer wheel is coarse."""
    return timeout - 0.001 <= measured <= timeout * 1.13 + 0.03


class Watch:
    """Seconds since it was made, and a way to wait for a point in time."""

    def __init__(self) -> None:
        self.start = now()

    def __call__(self) -> float:
        return now() - self.start

    def sleep_until(self, seconds: float) -> None:
        left = seconds - self()
        assert left >= 0, f"it is {self()} already"
        time.sleep(left)
