"""Bencher Metric Format: a value with its bounds for each candidate and level.

Rates are means of valid windows, with the 95 % interval of the mean. Percentiles are those of the
merged windows; they are not averaged, so their bounds are the least and the largest of a window.
One window has no bounds, and a percentile of too few values is left out. Source of the format: https://bencher.dev/docs/reference/bencher-metric-format/.
"""

import json
from collections.abc import Iterable
from itertools import product

from stithy.analysis.statistics import estimate_mean_interval
from stithy.metrics import Quantity
from stithy.names import tell_apart
from stithy.point import Point, write_value
from stithy.report.context import Context
from stithy.report.exports import (
    Export,
    ExportFormat,
    list_reported,
    name_workload,
    note_of,
    require_valid,
)


class BencherExport(ExportFormat):
    """JSON for Bencher."""

    name = "bencher"

    def export(self, context: Context) -> Export:
        """One benchmark a candidate and level that has a valid window."""
        left_out = require_valid(context)
        evidence = context.evidence
        document = {}
        for candidate, point in product(evidence.candidates, evidence.points):
            factors = "/".join(f"{name}={write_value(value)}" for name, value in point.factors)
            note = f" ({note})" if (note := note_of(context, candidate)) else ""
            if measures := _list_measures(context, candidate, point):
                name = f"{name_workload(context)}/candidate={candidate}/{factors}{note}"
                document[name] = measures
        return Export((json.dumps(document, indent=2, ensure_ascii=False), "\n"), left_out)


def _list_measures(context: Context, candidate: str, point: Point) -> dict[str, dict[str, float]]:
    valid, level = context.evidence.valid_at(candidate, point), context.evidence.printable_level
    found = {
        f"{each.name}-seconds" if each.unit == "s" else each.name: _find_bounds(
            level(candidate, point, each.column),
            (window.printable(each.column) for window in valid),
            is_rate=each.percent is None,
        )
        for each in list_reported(context)
    }
    slugs = tell_apart((*found, *map(str, context.declared)), "metric")[len(found) :]
    found |= {
        slug: _find_own_bounds(context, candidate, point, each)
        for slug, each in zip(slugs, context.declared, strict=True)
        if each.known.compared
    }
    return {slug: values for slug, values in found.items() if values}


def _find_own_bounds(
    context: Context, candidate: str, point: Point, quantity: Quantity
) -> dict[str, float]:
    value = context.evidence.level_of(candidate, point, quantity)
    paired = context.evidence.paired_of(candidate, point, quantity)
    if value is not None and paired is not None:
        ends = {"lower_value": paired.effect.low, "upper_value": paired.effect.high}
        return {"value": value, **{name: end for name, end in ends.items() if end is not None}}
    found = (context.evidence.value_of(window, quantity).number
             for window in context.evidence.valid_at(candidate, point))  # fmt: skip
    return _find_bounds(value, found, is_rate=quantity.known.percent is None)


def _find_bounds(
    value: float | None, found: Iterable[float | None], *, is_rate: bool
) -> dict[str, float]:
    """The value and its bounds; empty where nothing was measured, or of too few values."""
    if value is None:
        return {}
    known = [number for number in found if number is not None]
    if len(known) < 2:
        return {"value": value}
    low, high = estimate_mean_interval(known) if is_rate else (min(known), max(known))
    # A merged percentile is rounded as histograms are, which may put it just beside its windows.
    return {"value": value, "lower_value": min(low, value), "upper_value": max(high, value)}


PLUGINS = (BencherExport(),)
