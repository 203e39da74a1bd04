"""Axes of ratios: logarithmic, 1 always on them, ticks at numbers that people know."""

from collections.abc import Iterable

_WIDE = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 3, 5, 10, 20, 50, 100)
_NARROW = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 5)
_FINE = (0.8, 0.85, 0.9, 0.95, 0.98, 1, 1.02, 1.05, 1.1, 1.15, 1.2, 1.25)
_WIDE_FROM, _FINE_BELOW = 5, 1.4
"""Own: from which factor between the ends of an axis on, and below which, other ticks are drawn."""

Domain = tuple[float, float]


def domain(values: Iterable[float | None], room: float = 1.15) -> Domain:
    """From below the least of these and 1 to above the largest, each by a factor of `room`."""
    shown = [value for value in values if value is not None]
    return min(1.0, *shown, 1.0) / room, max(1.0, *shown, 1.0) * room


def ticks(ends: Domain) -> list[float]:
    """The ticks within a domain."""
    factor = ends[1] / ends[0]
    known = _WIDE if factor > _WIDE_FROM else _FINE if factor < _FINE_BELOW else _NARROW
    return [float(each) for each in known if ends[0] <= each <= ends[1]]
