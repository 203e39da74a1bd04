"""Bars of how long operations took, by candidate: every one, and the mean of windows' means."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeVar

import altair as alt

from stithy.analysis.evidence import Window
from stithy.point import Point
from stithy.report.context import Context
from stithy.report.drawing.chart import (
    Axis,
    Domain,
    domain_of,
    own_channels,
    value_axis,
)
from stithy.report.drawing.compose import Drawing, Rows, Spec, beside, layer
from stithy.report.drawing.titles import named_by
from stithy.report.figure import Figure
from stithy.report.tables import PageTable, Show, table_of
from stithy.report.words.wording import capital, took

WIDTH, HEIGHT = 320, 220


@dataclass(frozen=True)
class Duration:
    """An operation that succeeded, in a valid window; `cycle`: its number there.

    `size_bytes` and `ratio` are of what it made, where that was measured.
    """

    operation: str
    candidate: str
    block: int
    cycle: str
    duration_s: float
    size_bytes: float | None = None
    ratio: float | None = None


Durations = Sequence[Duration]
Item = TypeVar("Item")


def of_windows(
    context: Context, point: Point, of: Callable[[Window], Iterable[Item]]
) -> list[Item]:
    """What there is of the valid windows at a point, candidate by candidate."""
    names, at = context.evidence.candidates, context.evidence.valid_at
    return [each for name in names for window in at(name, point) for each in of(window)]


def figure(
    context: Context, key: str, found: Durations, operations: Sequence[str], **texts: str
) -> Figure:
    """Bars for each candidate, a chart for each operation; `texts`: caption and description."""
    title, drawing = _finding(context, found, operations), Drawing()
    chart = _charts(context, drawing, found, operations)
    return drawing.figure(context, key, title, chart, _table(key, title, found), **texts)


def _finding(context: Context, found: Durations, operations: Sequence[str]) -> str:
    """The means of each candidate, of all operations."""
    said = []
    for operation in operations:
        means = {
            name: _mean(mine)
            for name in context.evidence.candidates
            if (mine := [(each.block, each.duration_s) for each in found
                         if (each.candidate, each.operation) == (name, operation)])
        }  # fmt: skip
        each = named_by(means, took)
        said += [f"a {operation} takes {each}"] if means else []
    return capital("; ".join(said))


def _mean(durations: Iterable[tuple[int, float]]) -> float:
    """The mean of the means of blocks, as tables, verdicts and thresholds have it."""
    blocks: dict[int, list[float]] = {}
    for block, duration_s in durations:
        blocks.setdefault(block, []).append(duration_s)
    return fmean(map(fmean, blocks.values()))


def _charts(
    context: Context, drawing: Drawing, found: Durations, operations: Sequence[str]
) -> Spec:
    """A chart for each operation, all with the same scale."""
    present = [name for name in operations if any(each.operation == name for each in found)]
    rows = {
        name: [{"candidate": each.candidate, "block": each.block, "cycle": each.cycle,
                "value": each.duration_s} for each in found if each.operation == name]
        for name in present
    }  # fmt: skip
    domain = domain_of([row for each in rows.values() for row in each], log=False)
    return beside([
        _chart(context, drawing, rows[name], domain, name.capitalize(), is_first=name == present[0])
        for name in present
    ])  # fmt: skip


def _chart(
    context: Context, drawing: Drawing, rows: Rows, domain: Domain, title: str, *, is_first: bool
) -> Spec:
    names = [each for each in context.evidence.candidates
             if any(row["candidate"] == each for row in rows)]  # fmt: skip
    means = [
        {
            "candidate": name,
            "value": _mean(
                (row["block"], row["value"]) for row in rows if row["candidate"] == name
            ),
        }
        for name in names
    ]
    x = alt.X(
        "candidate:N", title=None, scale=alt.Scale(domain=names),
        axis=alt.Axis(labelAngle=0, grid=False),
    )  # fmt: skip
    y = value_axis(Axis("Duration (s)"), domain, titled=is_first)
    at = {"x": x, "y": y, "color": own_channels(context)["color"]}
    tips = [
        alt.Tooltip("candidate:N"), alt.Tooltip("block:Q"), alt.Tooltip("cycle:N"),
        alt.Tooltip("value:Q", title="duration (s)", format=",.4~g"),
    ]  # fmt: skip
    bars = drawing.mark("bar", means, at, opacity=PALE, size=BAR)
    marks = drawing.mark("tick", rows, {**at, "tooltip": tips}, thickness=2, size=BAR)
    return layer([bars, marks], width=WIDTH, height=HEIGHT, title=title)


PALE, BAR = 0.45, 56
"""Opacity of the bars, so that marks stand out; their width, pixels."""


def _table(key: str, title: str, found: Durations) -> PageTable:
    """Every operation, a row each."""
    shows = (
        Show("operation", "operation"), Show("candidate", "candidate"),
        Show("block", "block", "count"), Show("cycle", "cycle"),
        Show("duration_s", "duration", "duration"), Show("size_bytes", "size", "size"),
        Show("ratio", "ratio", "ratio"),
    )  # fmt: skip
    return table_of(key, title, shows, map(vars, found)).told()
