"""What a search for users is: the limit that response times must obey, and between which levels.

`max users with p95 of new-order ≤ 1 s`. `study.search` reads such a text, `analysis.search` says
which level comes next, `plan.search` makes steps of it. Printed and read again a limit is the same.
A limit that is not searched for, `p95 of new-order ≤ 1 s`, is the same limit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from stithy.metrics import PERCENTILES, Quantity
from stithy.units import SECONDS_BY_UNIT, parse_duration

WIDTH_PERCENT = 5
"""How wide a bracket is when its search ends, in percent of its lower end; at least one user."""


@dataclass(frozen=True)
class ResponseTarget:
    """A percentile of the response times of a transaction type (or `all`) that must be obeyed."""

    percentile: str
    transaction: str
    limit_s: float

    @property
    def quantity(self) -> Quantity:
        return Quantity(self.percentile, self.transaction)

    @property
    def column(self) -> str:
        """The column of the table `transactions` that holds it: `response_p999_s`."""
        return self.quantity.known.column

    @property
    def name(self) -> str:
        """What is measured, in words: `p95 of new-order`."""
        return str(self.quantity)

    @property
    def percent(self) -> float:
        """The percentile as a number, 0 to 100."""
        return PERCENTILES[self.percentile][0]

    def obeyed(self, value_s: float) -> bool:
        """Whether a measured value is as it must be."""
        return value_s <= self.limit_s

    @property
    def text(self) -> str:
        """As it is written in a study that does not search for it: `p95 of new-order ≤ 1 s`."""
        return f"{self.name} ≤ {_format_time(self.limit_s)}"

    def __str__(self) -> str:
        return f"max users with {self.text}"


def read_time(text: str) -> float:
    """The seconds of a time as a study has it, to twelve digits: `72 ms` is 0.072.

    Raises TextError, with what would be right.
    """
    return float(f"{parse_duration(text):.12g}")


def _format_time(limit_s: float) -> str:
    unit = "us" if limit_s < 1e-3 else "ms" if limit_s < 1 else "s"
    return f"{limit_s / SECONDS_BY_UNIT[unit]:.12g} {unit}"


@dataclass(frozen=True)
class Search:
    """A search for the most users within a limit, from `users_least` to `users_most`.

    `listed` are the levels within these that are measured in any case: the search begins with what
    their windows tell. It ends at a bracket of `width_percent`.
    """

    limit: ResponseTarget
    users_least: int
    users_most: int
    listed: tuple[int, ...] = ()
    width_percent: int = WIDTH_PERCENT

    @property
    def levels_most(self) -> int:
        """The most levels that are tried besides those listed, for each candidate."""
        known = sorted(self.listed)
        lowest = [1 + self._count_halvings(self.users_least, known[0])] if known else []
        between = [self._count_halvings(low, high) for low, high in pairwise(known)]
        return max([*lowest, *between, *self._double_levels(known[-1] if known else None)])

    def _double_levels(self, obeys: int | None) -> Iterator[int]:
        tried, level = (1, self.users_least) if obeys is None else (0, obeys)
        yield tried
        while level < self.users_most:
            level, below, tried = min(2 * level, self.users_most), level, tried + 1
            yield tried + self._count_halvings(below, level)

    def find_resolution(self, users: int) -> int:
        """How near a bracket's upper end is to its lower one when nothing more is tried."""
        return max(1, round(users * self.width_percent / 100))

    def choose_next_tried(self, low: int, high: int) -> int | None:
        """The level between one that obeys and one that does not; None where they are near."""
        return None if high - low <= self.find_resolution(low) else (low + high) // 2

    def _count_halvings(self, low: int, high: int) -> int:
        if (middle := self.choose_next_tried(low, high)) is None:
            return 0
        return 1 + max(self._count_halvings(low, middle), self._count_halvings(middle, high))


def list_levels_within(levels: Sequence[int], least: int, most: int) -> tuple[int, ...]:
    """Those of the levels that a search between these looks at."""
    return tuple(users for users in levels if least <= users <= most)
