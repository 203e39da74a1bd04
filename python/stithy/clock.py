"""Time, as the one seam through which Stithy reads it.

Logic takes a `Clock`; tests give it one of their own.
"""

import time
from typing import Protocol


class Clock(Protocol):
    """A seam: real time in production, fake time in tests."""

    def now_s(self) -> float:
        """Unix time in seconds."""

    def monotonic_s(self) -> float:
        """Seconds since some fixed moment; never goes back."""

    def sleep_s(self, seconds: float) -> None:
        """Wait; returns at once for 0 or less."""


class SystemClock:
    """The machine's own time."""

    def now_s(self) -> float:
        """Unix time in seconds."""
        return time.time()

    def monotonic_s(self) -> float:
        """CLOCK_MONOTONIC in seconds."""
        return time.monotonic()

    def sleep_s(self, seconds: float) -> None:
        """Wait; returns at once for 0 or less."""
        if seconds > 0:
            time.sleep(seconds)


def measure_thread_cpu_s() -> float:
    """CPU time that the calling thread has used, seconds; exact, where getrusage lags by a tick."""
    return time.thread_time()
