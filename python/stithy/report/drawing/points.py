"""The rows of a figure: candidates at the levels, their windows, and the table of these."""

from collections.abc import Callable, Iterable
from typing import Any

import polars as pl

from stithy.analysis.evidence import Window
from stithy.metrics import ALL, Quantity, Unit
from stithy.point import Point
from stithy.report.context import Context
from stithy.report.drawing.chart import NUMBERS, PERCENT, Axis
from stithy.report.drawing.compose import Rows
from stithy.report.words.wording import begin_sentence
from stithy.validity import INVALID, VALID


def group_points(factor: str, points: Iterable[Point]) -> dict[Point, list[Point]]:
    """The points that have a factor, by all their other ones."""
    groups: dict[Point, list[Point]] = {}
    for point in points:
        if factor in point.values:
            groups.setdefault(drop_factor(point, factor), []).append(point)
    return groups


def drop_factor(point: Point, factor: str) -> Point:
    """All of a point but one of its factors."""
    return Point(tuple(each for each in point.factors if each[0] != factor))


def make_window_row(context: Context, window: Window, **values: float) -> dict[str, Any]:
    """A window as a point of a figure; invalid ones have the words of their flags."""
    bad = [reason.flag.value for reason in window.reasons if reason.invalidates]
    return {
        **context.place(window.point), "candidate": window.candidate, "block": window.block,
        **values, "valid": window.valid, "note": f"{INVALID}: {'; '.join(bad)}" if bad else VALID,
    }  # fmt: skip


def make_rows(
    context: Context,
    at_level: Callable[[str, Point], float | None],
    of_window: Callable[[Window], float | None],
) -> tuple[Rows, Rows]:
    """The lines and points of a value of candidates and of windows, as a `Panel` wants them."""
    lines = [
        {**context.place(point), "candidate": name, "value": value}
        for name in context.evidence.candidates
        for point in context.evidence.levels
        if (value := at_level(name, point)) is not None
    ]
    points = [
        make_window_row(context, window, value=value)
        for window in context.drawn
        if (value := of_window(window)) is not None
    ]
    return lines, points


def read_window_rows(context: Context, column: str, transaction: str = ALL) -> tuple[Rows, Rows]:
    """Those of a column of windows or transactions.

    A percentile with too few values beyond it has none.
    """
    return make_rows(
        context,
        lambda name, point: context.evidence.printable_level(name, point, column, transaction),
        lambda window: window.printable(column, transaction),
    )


def read_means(context: Context, collector: str, metric: str, *, of: str | None = None) -> Rows:
    """The points of a metric by its mean in each window, as a `Panel` wants them.

    `of`: the subject that is meant, where there are several.
    """
    means = context.sampled.means.filter(collector=collector, metric=metric)
    if of is not None:
        means = means.filter(subject=of)
    valid = {window.id: window.valid for window in context.drawn}
    return [
        {
            "level": row["level"], context.axis.name: row[context.axis.name],
            "candidate": row["candidate"], "block": row["block"],
            "value": row["mean"], "valid": valid[row["window_id"]],
            "note": VALID if valid[row["window_id"]] else INVALID,
        }
        for row in context.placed(means).to_dicts()
    ]  # fmt: skip


def scale_rows(points: Rows, scale: float) -> Rows:
    """The points in another unit."""
    return [{**point, "value": point["value"] * scale} for point in points]


def average_levels(context: Context, points: Rows) -> Rows:
    """The lines of such points: means over the valid windows of each level."""
    valid = [point for point in points if point["valid"]]
    if not valid:
        return []
    keys = ("level", context.axis.name, "candidate")
    levels = pl.DataFrame(valid).group_by(*keys, maintain_order=True)
    return levels.agg(pl.col("value").mean()).to_dicts()


SCALES: dict[Unit, tuple[float, str]] = {
    "s": (1000.0, " (ms)"),
    "B": (2.0**-20, " (MiB)"),
    "B/s": (2.0**-20, " (MiB/s)"),
    "W": (1.0, " (W)"),
    "J": (1.0, " (J)"),
}
"""By the unit of a metric: what its values are multiplied by on an axis, and how that is named."""

SECONDS = (1.0, " (s)")


def scale_of(context: Context, quantity: Quantity) -> float:
    """By what its values are multiplied on an axis."""
    return _choose_scale(context, quantity)[0]


def make_axis(context: Context, quantity: Quantity) -> Axis:
    """Its axis: what it is called, and the unit where that is not in the name."""
    noun, unit = quantity.noun, _choose_scale(context, quantity)[1]
    title = f"{begin_sentence(noun)}{unit}"
    return Axis(title, format=PERCENT if quantity.known.unit == "share" else NUMBERS)


def _choose_scale(context: Context, quantity: Quantity) -> tuple[float, str]:
    """Of times: milliseconds, and seconds where any of them is longer than one."""
    unit, evidence = quantity.known.unit, context.evidence
    if unit == "s" and any(
        (evidence.level_of(name, point, quantity) or 0) >= 1
        for point in evidence.points
        for name in evidence.candidates
    ):
        return SECONDS
    return SCALES.get(unit, (1.0, ""))


def read_quantity_rows(context: Context, quantity: Quantity) -> tuple[Rows, Rows]:
    """A line through what each candidate did at the levels, and its windows there."""
    evidence, scale = context.evidence, scale_of(context, quantity)
    lines, points = make_rows(
        context,
        lambda name, point: evidence.level_of(name, point, quantity),
        lambda window: evidence.value_of(window, quantity).number,
    )
    for row in (*lines, *points):
        row["value"] *= scale
    return lines, points
