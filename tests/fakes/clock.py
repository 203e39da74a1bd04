"""Time that passes only when told to."""

import time


class FakeClock:
    """A clock; sleeping moves it on at once."""

    def __init__(self, now_s: float = 1_000_000.0) -> None:
        self._now_s = now_s

    def now_s(self) -> float:
        """Unix time."""
        return self._now_s

    def monotonic_s(self) -> float:
        """The same, from another origin."""
        return self._now_s - 500_000.0

    def sleep_s(self, seconds: float) -> None:
        """Let the time pass."""
        self._now_s += max(0.0, seconds)


class HurriedClock(FakeClock):
    """A clock on which a second passes whenever someone looks, so that nothing waits.

    A look takes half a millisecond: what looks all the time leaves the CPU to what is waited for.
    """

    def now_s(self) -> float:
        """Unix time, a second later than at the last look."""
        time.sleep(0.0005)
        self.sleep_s(1.0)
        return super().now_s()
