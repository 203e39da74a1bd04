"""The intervals that stand as bars beside the points of a chart: how far a mean may be off."""

from typing import Any

from stithy.analysis.verdict.spread import factor_interval, mean_interval
from stithy.report.drawing.compose import Rows

SPAN_BLOCKS_LEAST = 3
"""Own: the interval of two windows is nine times their deviation wide, and tells nothing."""

BARS = " Bars are plain 95 % t intervals."
"""Of what, and what they are not, is said once on the page (`parts/guide.py`)."""


def bars_told(points: Rows) -> str:
    """What bars mean, where there are any."""
    return BARS if spans(points, log=False) else ""


def spans(points: Rows, log: bool) -> Rows:
    """The interval over the valid blocks of each candidate and level that has three or more.

    On a logarithmic axis it is that of the geometric mean. Of several devices the busiest counts.
    """
    blocks: dict[tuple[int, str], dict[Any, float]] = {}
    for point in points:
        if point["valid"]:
            known = blocks.setdefault((point["users"], point["candidate"]), {})
            known[point["block"]] = max(known.get(point["block"], 0.0), point["value"])
    rows = []
    for (users, candidate), found in blocks.items():
        values = list(found.values())
        if len(values) >= SPAN_BLOCKS_LEAST and (not log or min(values) > 0):
            low, high = factor_interval(values) if log else mean_interval(values)
            rows.append({"users": users, "candidate": candidate, "low": low, "high": high})
    return rows


def with_spans(points: Rows, log: bool) -> Rows:
    """The points, and the ends of their intervals as values, for a domain that holds all."""
    ends = [{"value": row[end]} for row in spans(points, log) for end in ("low", "high")]
    return [*points, *ends]
