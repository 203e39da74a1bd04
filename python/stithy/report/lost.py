"""What users lose to what is beside them, as values of windows and of points as any metric has.

Sections work it out (`lost`), for they know what is beside users and which windows are without it.
Thresholds, comparisons of runs and exports then find it where all values are.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from stithy.activity import DeclaredActivity
from stithy.analysis.answers.paired import UNPAIRED
from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.verdict.paired import Paired
from stithy.metrics import ALL, Quantity
from stithy.point import Point
from stithy.registry import plugins
from stithy.results.read import Run

Row = dict[str, Any]


@dataclass(frozen=True)
class Lost:
    """What a candidate lost at a point to what was beside its users, by a metric of an activity."""

    activity: str
    quantity: Quantity
    candidate: str
    point: Point
    paired: Paired


def ratios_of(activity: str) -> Mapping[Quantity, Quantity]:
    """By what it is of, each ratio that an activity declares as paired."""
    every = plugins(DeclaredActivity)[activity].metrics
    return {Quantity(each.column): Quantity(each.name) for each in every
            if each.combined == "paired" and each.column}  # fmt: skip


def with_lost(run: Run, evidence: Evidence, found: Sequence[Lost]) -> tuple[Run, Evidence]:
    """The same run and evidence with these values; rows of `values` as if an activity had them."""
    levels: dict[Quantity, dict[tuple[str, Point], Paired]] = {}
    rows: list[Row] = []
    for each in found:
        levels.setdefault(each.quantity, {})[each.candidate, each.point] = each.paired
        rows += _rows(evidence, each)
    frame = pl.DataFrame(rows, schema=run.values.schema)
    by_window: dict[str, list[Row]] = {}
    for row in rows:
        by_window.setdefault(row["window_id"], []).append(row)
    windows = tuple(_with(each, by_window.get(each.id, ())) for each in evidence.windows)
    more = replace(evidence, windows=windows, paired=levels)
    return replace(run, values=pl.concat([run.values, frame])), more


def _rows(evidence: Evidence, lost: Lost) -> Iterable[Row]:
    for window in evidence.at(lost.candidate, lost.point):
        value = lost.paired.windows.get(window.id, UNPAIRED)
        yield {
            "window_id": window.id, "activity": lost.activity, "metric": lost.quantity.metric,
            "of": ALL, "count": None, "value": value.number,
            "missing_because": value.missing_because,
        }  # fmt: skip


def _with(window: Window, rows: Sequence[Row]) -> Window:
    own = {(row["metric"], row["of"]): row for row in rows}
    return replace(window, values={**window.values, **own}) if own else window
