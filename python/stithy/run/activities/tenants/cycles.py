"""Cycles of a neighbour, one after the other or at fixed times, and what was achieved by them."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from stithy.clock import Clock

PAUSE_AFTER_FAILURE_S = 1.0
"""Own: what fails at once must not be tried as fast as a processor can."""


@dataclass(frozen=True)
class Cycle:
    """One cycle of a worker, numbered from 0; Unix time.

    `parts`: its parts by name, each from and to. `size_bytes`: what of a database it worked on.
    `cut`: the window ended before it did, so that it counts neither as done nor as failed.
    """

    worker: int
    from_s: float
    to_s: float
    parts: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    size_bytes: int = 0
    failed_because: str | None = None
    cut: bool = False

    @property
    def done(self) -> bool:
        """Whether it came to its end and succeeded."""
        return not self.cut and self.failed_because is None

    @property
    def duration_s(self) -> float:
        """How long it took."""
        return self.to_s - self.from_s


@dataclass(frozen=True)
class Schedule:
    """When cycles begin: the first at `first_s`, then every `every_s`, none from `until_s` on.

    `most`: how many there are at most, None for any number.
    """

    first_s: float
    until_s: float
    every_s: float
    most: int | None = None

    def due(self, clock: Clock, ended: threading.Event) -> Iterator[None]:
        """A turn for each cycle, once its time has come; ends with the window.

        A cycle that ends after the next was due delays that one, and no work piles up.
        """
        due_s, count = self.first_s, 0
        while due_s < self.until_s and (self.most is None or count < self.most):
            if ended.wait(max(0.0, due_s - clock.now_s())):
                return
            yield
            due_s, count = max(due_s + self.every_s, clock.now_s()), count + 1


def asked_per_s(workers: int, every_s: float) -> float | None:
    """Cycles per second that are asked of all workers; None where each begins at once."""
    return workers / every_s if every_s else None


def achieved_per_s(cycles: Sequence[Cycle], workers: int, every_s: float) -> float | None:
    """Successful cycles per second of all workers; None where a worker ended none.

    Each worker's cycles that ended had to take so many times `every_s`. Where they took longer,
    that is the time in which they were done. So who keeps up achieves what is asked, however short
    a window is. A cycle that was cut counts where it had taken longer than `every_s` already.
    """
    rates = [_rate([each for each in cycles if each.worker == one], every_s)
             for one in range(workers)]  # fmt: skip
    known = [each for each in rates if each is not None]
    return sum(known) if len(known) == workers else None


def _rate(cycles: Sequence[Cycle], every_s: float) -> float | None:
    known = [each for each in cycles if not each.cut or 0 < every_s < each.duration_s]
    if not known:
        return None
    ended = sum(not each.cut for each in known)
    taken_s = max(ended * every_s, known[-1].to_s - known[0].from_s)
    return sum(each.done for each in known) / taken_s if taken_s > 0 else None


def bytes_per_s(cycles: Sequence[Cycle], workers: int) -> float | None:
    """Bytes of databases per second of all workers while they were at it; None without any."""
    rates = [
        fmean(each.size_bytes / each.duration_s for each in own)
        for one in range(workers)
        if (own := [each for each in cycles if each.worker == one and each.done
                    and each.duration_s > 0])
    ]  # fmt: skip
    return sum(rates) if rates else None


def mean_s(cycles: Sequence[Cycle]) -> float | None:
    """How long a cycle took that succeeded; None without any."""
    took = [each.duration_s for each in cycles if each.done]
    return fmean(took) if took else None
