"""Whether a window was steady, by its transactions a second, as docs/explanation/verdicts.md says.

The cut into levels is searched from the end, over all first cuts.
"""

import math
from functools import cache
from itertools import pairwise
from statistics import fmean, median

from recompute.files import Files, Row


@cache
def of_windows(files: Files) -> dict[str, Row]:
    """The windows of which it can be reported, and what a sentence tells of them."""
    return {
        each["window_id"]: found for each in files.rows("SELECT * FROM win")
        if (found := _of_window(files, each))
    }  # fmt: skip


def _of_window(files: Files, win: Row) -> Row | None:
    """Range and slope over fifths of the measurement, when it settled, and its changes."""
    seconds = [each["done"] for each in files.rows(
        "SELECT committed + rolled_back AS done FROM seconds WHERE window_id = ? AND transaction = "
        "'all' ORDER BY second", (win["window_id"],),
    )]  # fmt: skip
    begin, end = (win[f"measure_{each}_s"] - win["started_at_s"] for each in ("from", "to"))
    first, last = math.ceil(begin - 0.05), int(end + 0.05)
    measured, length = seconds[first:last], (last - first) // 5
    if length < 3 or len(measured) < last - first:
        return None
    fifths = [fmean(measured[at * length : (at + 1) * length]) for at in range(5)]
    if fmean(fifths) * len(measured) / 5 < 800:
        return None
    slope = abs(sum((at - 2) * each for at, each in enumerate(fifths))) / 10 * 4
    ramp_up = seconds[: int(begin + 0.05)]
    settled = _settled([*ramp_up, *measured], len(ramp_up) + round(len(measured) / 2))
    late = None if settled is None else max(0, settled - len(ramp_up))
    wide, steep = (max(fifths) - min(fifths)) / fmean(fifths), slope / fmean(fifths)
    return {
        "range_share": wide, "slope_share": steep, "late_s": late, "changes": _changes(measured),
        "late_share": None if late is None else fmean(measured[late:]) / fmean(measured) - 1,
        "is_steady": wide <= 0.2 and steep <= 0.1,
    }  # fmt: skip


def _settled(seconds: list[float], most: int) -> int | None:
    """MSER-5: the cut behind which the mean of batches of five is best known."""
    batches = [fmean(seconds[at : at + 5]) for at in range(0, len(seconds) - 4, 5)]
    if len(batches) < 4:
        return None

    def error(cut: int) -> float:
        rest = batches[cut:]
        return round(sum((each - fmean(rest)) ** 2 for each in rest) / len(rest) ** 2, 9)

    return 5 * min(range(min(most // 5, len(batches) - 2) + 1), key=error)


def _changes(measured: list[float]) -> list[tuple[int, float]]:
    """Second and share of each change of level by a tenth of the mean or more."""
    width = math.ceil(len(measured) / 120)
    bins = [fmean(measured[at : at + width]) for at in range(0, len(measured) - width + 1, width)]
    fours = [fmean(bins[at : at + 4]) for at in range(0, len(bins) - 3, 4)]
    noise = max(_noise(bins), 4 * _noise(fours))
    if len(bins) < 8:
        return []
    near = [median(bins[max(0, at - 2) : at + 3]) for at in range(len(bins))]
    most = 3 * math.sqrt(noise)
    kept = [x if abs(x - middle) <= most else middle for x, middle in zip(bins, near, strict=True)]
    penalty, count = 3 * noise * math.log(len(bins)), len(kept)

    @cache
    def best(start: int) -> tuple[float, tuple[int, ...]]:
        """The least cost of what begins there, and the cuts in it."""
        ways: list[tuple[float, tuple[int, ...]]] = [(_squares(kept[start:]), ())]
        for cut in range(start + 4, count - 3):
            cost, cuts = best(cut)
            ways.append((_squares(kept[start:cut]) + penalty + cost, (cut, *cuts)))
        return min(ways)

    edges = [0, *best(0)[1], count]
    means = [fmean(kept[a:b]) for a, b in pairwise(edges)]
    return [
        (cut * width, after / before - 1 if before else math.nan)
        for cut, (before, after) in zip(edges[1:-1], pairwise(means), strict=True)
        if abs(after - before) >= 0.1 * abs(fmean(kept))
    ]


def _squares(values: list[float]) -> float:
    return sum((each - fmean(values)) ** 2 for each in values)


def _noise(values: list[float]) -> float:
    """The variance of what neighbours differ by, of their median."""
    steps = [abs(b - a) for a, b in pairwise(values)]
    return (1.4826 * median(steps)) ** 2 / 2 if steps else 0.0
