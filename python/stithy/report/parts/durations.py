"""Bars of how long operations took, by candidate: every one, and their mean."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import altair as alt
import polars as pl

from stithy.report.context import Context
from stithy.report.drawing.chart import (
    Axis,
    Domain,
    candidate_scale,
    domain_of,
    value_axis,
)
from stithy.report.drawing.compose import Drawing, Rows, Spec, beside, layer, unit
from stithy.report.drawing.titles import named
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import capital, took

WIDTH, HEIGHT = 320, 220


@dataclass(frozen=True)
class Duration:
    """An operation that succeeded, in a valid window; `cycle`: its number there.

    `size_bytes` and `ratio` are of what it made, where that was measured.
    """

    candidate: str
    block: int
    operation: str
    cycle: str
    duration_s: float
    size_bytes: float | None = None
    ratio: float | None = None


Durations = Sequence[Duration]


def finding(context: Context, found: Durations, operations: Sequence[str]) -> str:
    """The means of each candidate, of all operations."""
    said = []
    for operation in operations:
        means = {
            name: fmean(mine)
            for name in context.evidence.candidates
            if (mine := [each.duration_s for each in found
                         if (each.candidate, each.operation) == (name, operation)])
        }  # fmt: skip
        if means:
            said.append(f"a {operation} takes {_each(means)}")
    return capital("; ".join(said))


def _each(means: Mapping[str, float]) -> str:
    return named(
        list(means), lambda name: means[name], lambda name: f"{took(means[name])} on {name}"
    )


def charts(context: Context, drawing: Drawing, found: Durations, operations: Sequence[str]) -> Spec:
    """A chart for each operation, all with the same scale."""
    present = [name for name in operations if any(each.operation == name for each in found)]
    rows = {name: [_row(each) for each in found if each.operation == name] for name in present}
    domain = domain_of([row for each in rows.values() for row in each], log=False)
    return beside([
        _chart(context, drawing, rows[name], domain, name.capitalize(), is_first=name == present[0])
        for name in present
    ])  # fmt: skip


def _row(one: Duration) -> dict[str, str | int | float]:
    return {
        "candidate": one.candidate, "block": one.block, "cycle": one.cycle,
        "value": one.duration_s,
    }  # fmt: skip


def _chart(
    context: Context, drawing: Drawing, rows: Rows, domain: Domain, title: str, *, is_first: bool
) -> Spec:
    names = [each for each in context.evidence.candidates
             if any(row["candidate"] == each for row in rows)]  # fmt: skip
    means = [
        {
            "candidate": name,
            "value": fmean(row["value"] for row in rows if row["candidate"] == name),
        }
        for name in names
    ]
    x = alt.X(
        "candidate:N", title=None, scale=alt.Scale(domain=names),
        axis=alt.Axis(labelAngle=0, grid=False),
    )  # fmt: skip
    y = value_axis(Axis("Duration (s)"), domain, titled=is_first)
    colour = alt.Color("candidate:N", scale=candidate_scale(context, "colour"), legend=None)
    bar = alt.Chart(drawing.add(means)).mark_bar(opacity=PALE, size=BAR)
    tips = [
        alt.Tooltip("candidate:N"), alt.Tooltip("block:Q"), alt.Tooltip("cycle:N"),
        alt.Tooltip("value:Q", title="duration (s)", format=",.4~g"),
    ]  # fmt: skip
    mark = alt.Chart(drawing.add(rows)).mark_tick(thickness=2, size=BAR)
    return layer(
        [unit(bar.encode(x=x, y=y, color=colour)),
         unit(mark.encode(x=x, y=y, color=colour, tooltip=tips))],
        width=WIDTH, height=HEIGHT, title=title,
    )  # fmt: skip


PALE, BAR = 0.45, 56
"""Opacity of the bars, so that marks stand out; their width, pixels."""


def table(key: str, title: str, found: Durations) -> PageTable:
    """Every operation, a row each."""
    rows = [
        {"operation": each.operation, "candidate": each.candidate, "block": each.block,
         "cycle": each.cycle, "duration_s": each.duration_s, "size_bytes": each.size_bytes,
         "ratio": each.ratio}
        for each in found
    ]  # fmt: skip
    shows = (
        Show("operation", "operation"), Show("candidate", "candidate"),
        Show("block", "block", "count"), Show("cycle", "cycle"),
        Show("duration_s", "duration", "duration"), Show("size_bytes", "size", "size"),
        Show("ratio", "ratio", "ratio"),
    )  # fmt: skip
    frame = pl.DataFrame(rows, schema_overrides={"size_bytes": pl.Float64, "ratio": pl.Float64})
    known = [each for each in shows if frame[each.column].count()]
    return PageTable(key, title, tuple(known), frame)
