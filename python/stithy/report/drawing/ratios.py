"""Axes of ratios: logarithmic, 1 always on them, ticks at numbers that people know."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import altair as alt

_FINEST = (0.98, 0.99, 0.995, 1, 1.005, 1.01, 1.02)
_FINE = (0.8, 0.85, 0.9, 0.95, 0.98, 1, 1.02, 1.05, 1.1, 1.15, 1.2, 1.25)
_NARROW = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 1.75, 2, 2.5)
_MIDDLE = (0.2, 0.3, 0.4, 0.5, 0.7, 1, 1.5, 2, 3, 4, 5)
_WIDE = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 3, 5, 10, 20, 50, 100)
_BELOW = ((1.05, _FINEST), (1.4, _FINE), (2.5, _NARROW), (5.0, _MIDDLE), (200.0, _WIDE))
"""Own: the ticks of axes whose ends are up to so many times apart; beyond the last only decades."""

_ABOVE = (1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 1e2, 1e3, 1e4, 1e6, 1e9)
_UNDER = (0.98, 0.95, 0.9, 0.8, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 1e-2, 1e-3, 1e-4, 1e-6, 1e-9)
"""Own: what may be the ticks of a stretched axis, those next to 1 first."""

_PART = 1 / 13
"""Own: of a stretched axis, at least so much is between two ticks."""

Domain = tuple[float, float]


def find_ratio_domain(values: Iterable[float | None], room: float = 1.15) -> Domain:
    """From below the least of these and 1 to above the largest, each by a factor of `room`."""
    shown = [value for value in values if value is not None]
    return min(1.0, *shown, 1.0) / room, max(1.0, *shown, 1.0) * room


def list_ratio_ticks(ends: Domain) -> list[float]:
    """The ticks within a domain."""
    factor = ends[1] / ends[0]
    decades = range(math.floor(math.log10(ends[0])), math.ceil(math.log10(ends[1])) + 1)
    known = next((some for most, some in _BELOW if factor <= most), None)
    marks = known or [float(f"1e{power}") for power in decades]
    return [float(mark) for mark in marks if ends[0] <= mark <= ends[1]]


@dataclass(frozen=True)
class Scale:
    """An axis of ratios on which these are placed by their logarithm.

    `near`: the log ratio up to which the axis is stretched, so that what lies there can be reported
    apart although other ratios are many times as far from 1; None where it is not.
    """

    ends: Domain
    near: float | None = None

    def place(self, ratio: float) -> float:
        """Where a ratio stands on the axis, in units of its own; 1 at 0."""
        log = math.log(ratio)
        return math.copysign(math.log1p(abs(log) / self.near), log) if self.near else log

    def roomier(self, share: float) -> "Scale":
        """The same with so much of its length free at each end."""
        low, high = map(self.place, self.ends)
        room = share * (high - low)
        return replace(self, ends=(self._ratio(low - room), self._ratio(high + room)))

    def _ratio(self, place: float) -> float:
        log = math.copysign(math.expm1(abs(place)) * self.near, place) if self.near else place
        return math.exp(log)

    def ticks(self) -> list[float]:
        """Known numbers, none too near to its neighbour; 1 is always one of them."""
        if self.near is None:
            return list_ratio_ticks(self.ends)
        low, high = self.ends
        least = _PART * (self.place(high) - self.place(low))
        kept = [1.0]
        for side in (_ABOVE, _UNDER):
            last = 1.0
            for each in side:
                if low <= each <= high and abs(self.place(each) - self.place(last)) >= least:
                    kept.append(each)
                    last = each
        return sorted(kept)

    def axis(self, field: str, title: str) -> alt.Y:
        """The vertical axis of a field that holds log ratios, labelled with the ratios."""
        scale: dict[str, Any] = {"type": "linear"}
        if self.near is not None:
            scale = {"type": "symlog", "constant": self.near}
        ticks = [math.log(tick) for tick in self.ticks()]
        return alt.Y(
            f"{field}:Q",
            title=title,
            scale=alt.Scale(domain=[math.log(end) for end in self.ends], nice=False, **scale),
            axis=alt.Axis(
                values=ticks,
                tickCount=len(ticks),  # else Vega leaves some out
                labelExpr="format(exp(datum.value), ',.4~r')",
                grid=False,
            ),
        )
