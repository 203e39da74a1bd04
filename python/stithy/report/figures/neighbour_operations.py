"""What the device does second by second: the tenants alone, and beside the neighbour."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from stithy.analysis.evidence import Window
from stithy.point import Point
from stithy.report import metrics
from stithy.report.context import Context
from stithy.report.drawing.annotations import BYTES_PER_MB, MS_PER_S
from stithy.report.drawing.chart import Axis, domain_of, line_channels, picked, value_axis
from stithy.report.drawing.compose import Drawing, Spec, grid, layer, unit
from stithy.report.drawing.titles import named
from stithy.report.figure import Absent, Drawn, Figure
from stithy.report.parts.devices import MOVED, busiest_device
from stithy.report.parts.neighbour import drawn_point, first_pair
from stithy.report.parts.neighbour_marks import Marks, bars, marked, marks
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import count

NAME = "neighbour_operations"
ORDER = 16
SECTION = "neighbours"
NEEDS = ("tenant_seconds",)
KEY = "neighbour-operations"
WIDTH, HEIGHT = 320, 110
WORDS = {"alone": "alone", "with": "with the neighbour"}
READS = metrics.OPERATIONS["read"][0]
WRITES, WRITE_S = metrics.OPERATIONS["write"][:2]


@dataclass(frozen=True)
class _Strip:
    """A quantity over time: its title, what the table shows it as, the scale to the drawing."""

    title: str
    kind: str
    scale: float = 1.0
    log: bool = False


STRIPS: Mapping[str, _Strip] = {
    READS: _Strip("Reads per second", "rate"),
    WRITES: _Strip("Writes per second", "rate"),
    WRITE_S: _Strip("Write latency (ms)", "duration", MS_PER_S, log=True),
    MOVED: _Strip("Read and written (MB/s)", "bandwidth", 1 / BYTES_PER_MB),
}


def draw(context: Context) -> list[Drawn]:
    """The busiest device of each candidate, in its first valid block of both."""
    point = drawn_point(context)
    if point is None:
        return []
    frame = _seconds(context, point)
    if frame.is_empty():
        because = "no valid block has samples of a device"
        return [Absent(KEY, "operations of the device over time", because)]
    present = [each for each in STRIPS if frame[each].count()]
    title, drawing, found = _finding(context, frame), Drawing(), marks(context, point)
    return [
        Figure(
            name=KEY,
            title=title,
            caption="Each second of the busiest device, with what tenants and neighbour do on it: "
            "the tenants alone (left), and with the neighbour (right)"
            f"{marked(context, point, found)}. Both windows are of one block, the first valid one.",
            description=f"{title}. Line charts against time, a line for each candidate: alone, and "
            "with the neighbour.",
            footer=context.footer,
            spec=drawing.spec(_charts(context, drawing, frame, present, found)),
            table=PageTable(
                KEY, title,
                (Show("candidate", "candidate"), Show("neighbour", "neighbour"),
                 Show("second", "second", "count"),
                 *(Show(each, STRIPS[each].title.partition(" (")[0], STRIPS[each].kind)
                   for each in present)),
                frame.select("candidate", "neighbour", "second", *present),
            ),
        )
    ]  # fmt: skip


def _seconds(context: Context, point: Point) -> pl.DataFrame:
    """By candidate, alone and with the neighbour, and second: all strips side by side."""
    types = {"candidate": pl.String, "neighbour": pl.String, "second": pl.Int64}
    parts = [
        _of_window(context, window).with_columns(
            pl.lit(name).alias("candidate"), pl.lit(word).alias("neighbour")
        )
        for name in context.evidence.candidates
        for word, window in zip(WORDS, first_pair(context, name, point), strict=False)
    ]
    empty = pl.DataFrame(schema=types | dict.fromkeys(STRIPS, pl.Float64))
    return pl.concat([empty, *(each.select(empty.columns) for each in parts)])


def _of_window(context: Context, window: Window) -> pl.DataFrame:
    """The seconds of the device that moves most."""
    found = busiest_device(context, window, (READS, WRITES, WRITE_S))
    rows: list[dict[str, Any]] = [
        {"second": at, **{each: found[each].get(at) for each in STRIPS}}
        for at in sorted({second for each in found.values() for second in each})
    ]
    return pl.DataFrame(rows, schema={"second": pl.Int64, **dict.fromkeys(STRIPS, pl.Float64)})


def _finding(context: Context, frame: pl.DataFrame) -> str:
    """The median second of each candidate, both kinds of operations together."""
    both = pl.col(READS).fill_null(0) + pl.col(WRITES).fill_null(0)
    medians = frame.group_by("candidate", "neighbour").agg(both.median().alias("done"))
    known = {(name, word): float(value) for name, word, value in medians.iter_rows()}
    names = [
        name for name in context.evidence.candidates if all((name, word) in known for word in WORDS)
    ]
    said = named(
        names,
        lambda name: known[name, "with"],
        lambda name: f"{count(known[name, 'alone'])} and {count(known[name, 'with'])} on {name}",
    )
    return f"Operations per second of the device, alone and with the neighbour: {said}"


def _charts(
    context: Context, drawing: Drawing, frame: pl.DataFrame, present: list[str], found: Marks
) -> Spec:
    charts = []
    for strip in present:
        shown = STRIPS[strip]
        rows = [
            {"candidate": name, "neighbour": word, "second": at, "value": value * shown.scale}
            for name, word, at, value in frame.select(
                "candidate", "neighbour", "second", strip
            ).iter_rows()
            if value is not None and (value > 0 or not shown.log)
        ]
        domain = domain_of(rows, log=shown.log)
        for word, title in WORDS.items():
            mine = [row for row in rows if row["neighbour"] == word]
            charts.append(_panel(
                context, drawing, mine, value_axis(Axis(shown.title, shown.log), domain,
                                                   titled=word == "alone"),
                f"Seconds, {title}" if strip == present[-1] else None,
                found if word == "with" else (),
            ))  # fmt: skip
    return grid(charts, len(WORDS))


def _panel(
    context: Context,
    drawing: Drawing,
    rows: list[dict[str, Any]],
    y: alt.Y,
    title: str | None,
    found: Marks,
) -> Spec:
    x = alt.X("second:Q", title=title, axis=alt.Axis(format="d", tickCount=6))
    line = alt.Chart(drawing.add(rows)).mark_line(strokeWidth=1.5)
    own = line.encode(x=x, y=y, opacity=picked(), **line_channels(context))
    worked = bars(context, drawing, found, title, HEIGHT)
    return layer([drawing.followed(unit(own)), *worked], width=WIDTH, height=HEIGHT)
