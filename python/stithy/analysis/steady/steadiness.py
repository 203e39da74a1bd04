"""Whether a window was steady: its five parts alike and without a slope; and when it settled."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from stithy.analysis.steady.changes import Change, changes
from stithy.analysis.steady.trim import settled_after

PARTS = 5
RANGE_MOST_SHARE = 0.20
SLOPE_MOST_SHARE = 0.10
"""Of the mean: from the lowest to the highest part, and from end to end of the straight line
through them. Source: SNIA Solid State Storage Performance Test Specification."""

PART_LEAST_S = 3
"""Own: a part of fewer seconds shows single stalls and no state."""

PART_LEAST_TRANSACTIONS = 800
"""Own: with so many to a part, if they come by chance (Poisson), the parts have a slope of 10 % in
one window of forty, and a range of 20 % hardly ever."""

TRIM_MOST_SHARE = 0.5
"""Of the measurement: equal for all windows of equal length. Source: White (1997)."""


@dataclass(frozen=True)
class Steadiness:
    """How steady a window was; seconds count from the start of its measurement.

    `steady` is None where it cannot be told, with the reason in `unknown_because`; the shares are
    then None too. `range_share`, `slope_share`: of the mean, over five equal parts of the
    measurement. `late_s`: seconds of the measurement that by MSER-5 still belong to the ramp-up,
    `late_share`: by how much the mean would be higher without them. `changes`: of level within the
    measurement, in transactions a second.
    """

    steady: bool | None
    range_share: float | None = None
    slope_share: float | None = None
    late_s: int | None = None
    late_share: float | None = None
    changes: tuple[Change, ...] = ()
    unknown_because: str | None = None


def unknown(reason: str) -> Steadiness:
    """The steadiness of a window of which it cannot be told.

    Own: missing is None with a reason.
    """
    return Steadiness(None, unknown_because=reason)


def steadiness(ramp_up: Sequence[float], measured: Sequence[float]) -> Steadiness:
    """How steady a window was, by its transactions in each second of ramp-up and measurement.

    Shapes: one value for each whole second, none left out; `ramp_up` may be empty.
    Source: docs/explanation/verdicts.md, "Steady".
    """
    parts = _parts(measured)
    if not parts:
        return unknown(f"it is shorter than {PARTS * PART_LEAST_S} s")
    mean = fmean(parts)
    if mean * len(measured) / PARTS < PART_LEAST_TRANSACTIONS:
        return unknown(f"a fifth of it has fewer than {PART_LEAST_TRANSACTIONS} transactions")
    range_share = (max(parts) - min(parts)) / mean
    slope_share = _slope(parts) / mean
    alike = range_share <= RANGE_MOST_SHARE and slope_share <= SLOPE_MOST_SHARE
    late = _late(ramp_up, measured)
    return Steadiness(alike, range_share, slope_share, *late, changes(measured))


def _late(ramp_up: Sequence[float], measured: Sequence[float]) -> tuple[int | None, float | None]:
    """How many seconds of the measurement came before the series settled, and their weight."""
    most = len(ramp_up) + round(TRIM_MOST_SHARE * len(measured))
    cut = settled_after([*ramp_up, *measured], most)
    if cut is None:
        return None, None
    late_s = max(0, cut - len(ramp_up))
    return late_s, fmean(measured[late_s:]) / fmean(measured) - 1


def _parts(values: Sequence[float]) -> list[float]:
    """Means of five equal parts; the seconds that do not divide are left out at the end."""
    length = len(values) // PARTS
    if length < PART_LEAST_S:
        return []
    return [fmean(values[i * length : (i + 1) * length]) for i in range(PARTS)]


def _slope(parts: Sequence[float]) -> float:
    """From end to end of the least-squares line through the parts."""
    middle = (len(parts) - 1) / 2
    weights = [index - middle for index in range(len(parts))]
    rise = sum(w * part for w, part in zip(weights, parts, strict=True))
    return abs(rise / sum(w * w for w in weights)) * (len(parts) - 1)
