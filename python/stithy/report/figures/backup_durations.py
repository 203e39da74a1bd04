"""How long backup and restore take, by candidate: every cycle, and their mean."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import altair as alt
import polars as pl

from stithy.analysis.evidence import Window
from stithy.point import Point
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
from stithy.report.figure import Absent, Drawn, Figure
from stithy.report.parts.backups import drawn_point
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import took

NAME = "backup_durations"
ORDER = 15
SECTION = "backup"
KEY = "backup-durations"
OPERATIONS = ("backup", "restore")
OF_CYCLES = ("backup.cycle_bytes", "backup.cycle_ratio")
"""What is measured of each backup, by the name of its span."""
WIDTH, HEIGHT = 320, 220


@dataclass(frozen=True)
class _Cycle:
    """A backup or a restore that succeeded, in a valid window."""

    candidate: str
    block: int
    operation: str
    cycle: str
    duration_s: float
    size_bytes: float | None
    ratio: float | None


def draw(context: Context) -> list[Drawn]:
    """Bars for each candidate, a chart for backups and one for restores."""
    point = drawn_point(context)
    if point is None:
        return []
    cycles = list(_cycles(context, point))
    if not cycles:
        because = "no valid window has a backup that succeeded"
        return [Absent(KEY, "duration of backup and restore", because)]
    title, drawing = _finding(context, cycles), Drawing()
    return [
        Figure(
            name=KEY,
            title=title,
            caption="Duration of each backup and of each restore that succeeded (marks), and their "
            f"mean (bars), of all valid windows {point.at(context.level_unit)}. A restore "
            "ends when a second server answers.",
            description=f"{title}. Bar charts of the duration of backups and of restores, with a "
            "bar for each candidate and a mark for each cycle.",
            footer=context.footer,
            spec=drawing.spec(_charts(context, drawing, cycles)),
            table=_table(title, cycles),
        )
    ]


def _cycles(context: Context, point: Point) -> Iterator[_Cycle]:
    for name in context.evidence.candidates:
        for window in context.evidence.valid_at(name, point):
            yield from _of_window(window)


def _of_window(window: Window) -> Iterator[_Cycle]:
    for span in window.spans:
        operation, _, number = str(span["name"]).partition(" ")
        succeeded = span["to_s"] is not None and span["invalid_because"] is None
        if operation in OPERATIONS and succeeded:
            duration_s = span["to_s"] - span["from_s"]
            values = (window.values.get((metric, span["name"])) for metric in OF_CYCLES)
            size_bytes, ratio = (each["value"] if each else None for each in values)
            yield _Cycle(
                window.candidate, window.block, operation, number, duration_s, size_bytes, ratio
            )


def _finding(context: Context, cycles: Sequence[_Cycle]) -> str:
    """The means of each candidate, of both operations."""
    means = {
        (name, operation): fmean(found)
        for name in context.evidence.candidates
        for operation in OPERATIONS
        if (found := [each.duration_s for each in cycles
                      if (each.candidate, each.operation) == (name, operation)])
    }  # fmt: skip
    said = []
    for operation in OPERATIONS:
        here = {name: value for (name, of), value in means.items() if of == operation}
        if here:
            said.append(f"a {operation} takes {_each(here)}")
    text = "; ".join(said)
    return text[0].upper() + text[1:]


def _each(means: Mapping[str, float]) -> str:
    return named(
        list(means), lambda name: means[name], lambda name: f"{took(means[name])} on {name}"
    )


def _charts(context: Context, drawing: Drawing, cycles: Sequence[_Cycle]) -> Spec:
    present = [name for name in OPERATIONS if any(each.operation == name for each in cycles)]
    rows = {name: [_row(each) for each in cycles if each.operation == name] for name in present}
    domain = domain_of([row for each in rows.values() for row in each], log=False)
    return beside([
        _chart(context, drawing, rows[name], domain, name.capitalize(), is_first=name == present[0])
        for name in present
    ])  # fmt: skip


def _row(cycle: _Cycle) -> dict[str, str | int | float]:
    return {
        "candidate": cycle.candidate, "block": cycle.block, "cycle": cycle.cycle,
        "value": cycle.duration_s,
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


def _table(title: str, cycles: Sequence[_Cycle]) -> PageTable:
    rows = [
        {"operation": each.operation, "candidate": each.candidate, "block": each.block,
         "cycle": each.cycle, "duration_s": each.duration_s, "size_bytes": each.size_bytes,
         "ratio": each.ratio}
        for each in cycles
    ]  # fmt: skip
    shows = (
        Show("operation", "operation"), Show("candidate", "candidate"),
        Show("block", "block", "count"), Show("cycle", "cycle"),
        Show("duration_s", "duration", "duration"), Show("size_bytes", "size", "size"),
        Show("ratio", "ratio", "ratio"),
    )  # fmt: skip
    frame = pl.DataFrame(rows, schema_overrides={"size_bytes": pl.Float64, "ratio": pl.Float64})
    known = [each for each in shows if frame[each.column].count()]  # restores have no size
    return PageTable(KEY, title, tuple(known), frame)
