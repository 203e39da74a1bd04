"""What the device does second by second: the tenants alone, and beside the neighbour."""

from collections.abc import Mapping

import polars as pl

from stithy.analysis.evidence import Window
from stithy.point import Point
from stithy.report import metrics
from stithy.report.context import Context
from stithy.report.drawing.annotations import BYTES_PER_MB, MS_PER_S
from stithy.report.drawing.chart import Axis, domain_of, value_axis
from stithy.report.drawing.compose import Drawing, Rows, Spec, grid
from stithy.report.figure import Absent, Drawn
from stithy.report.parts.devices import MOVED, Strip, busiest_device, strip_shows
from stithy.report.parts.neighbour import drawn_point, first_pair, medians_said
from stithy.report.parts.neighbour_marks import MEDIANS, WORDS, Marks, counted, marked, marks, panel
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import count

NAME = "neighbour_operations"
ORDER = 16
SECTION = "neighbours"
NEEDS = ("tenant_seconds",)
KEY = "neighbour-operations"
HEIGHT = 110
READS = metrics.OPERATIONS["read"][0]
WRITES, WRITE_S = metrics.OPERATIONS["write"][:2]


STRIPS: Mapping[str, Strip] = {
    READS: Strip("Reads per second", "rate"),
    WRITES: Strip("Writes per second", "rate"),
    WRITE_S: Strip("Write latency (ms)", "duration", MS_PER_S, log=True),
    MOVED: Strip("Read and written (MB/s)", "bandwidth", 1 / BYTES_PER_MB),
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
    title, drawing, found = _finding(context, point, frame), Drawing(), marks(context, point)
    shows = (
        Show("candidate", "candidate"), Show("neighbour", "neighbour"),
        Show("second", "second", "count"),
        *strip_shows(STRIPS, present),
    )  # fmt: skip
    table = PageTable(KEY, title, shows, frame.select(show.column for show in shows))
    return [
        drawing.figure(
            context, KEY, title, _charts(context, drawing, frame, present, found), table,
            caption="Each second of the busiest device, with what tenants and neighbour do on it: "
            "the tenants alone (left), and with the neighbour (right)"
            f"{marked(context, point, found)}. Both windows are of one block, the first valid one. "
            f"{MEDIANS}",
            description="Line charts against time, a line for each candidate: alone, and "
            "with the neighbour.",
        )
    ]  # fmt: skip


def _seconds(context: Context, point: Point) -> pl.DataFrame:
    """By candidate, alone and with the neighbour, and second: all strips side by side."""
    types = {"candidate": pl.String, "neighbour": pl.String, "second": pl.Int64}
    rows = [
        {"candidate": name, "neighbour": word, **row}
        for name in context.evidence.candidates
        for word, window in zip(WORDS, first_pair(context, name, point), strict=False)
        for row in _of_window(context, window)
    ]
    return pl.DataFrame(rows, schema=types | dict.fromkeys(STRIPS, pl.Float64))


def _of_window(context: Context, window: Window) -> Rows:
    """The seconds of the device that moves most."""
    found = busiest_device(context, window, (READS, WRITES, WRITE_S))
    return [
        {"second": at, **{each: found[each].get(at) for each in STRIPS}}
        for at in sorted({second for each in found.values() for second in each})
    ]


def _finding(context: Context, point: Point, frame: pl.DataFrame) -> str:
    """The median second of each candidate, both kinds of operations together."""
    both = pl.col(READS).fill_null(0) + pl.col(WRITES).fill_null(0)
    said = medians_said(
        context, counted(context, point, frame), both, lambda _, beside: beside,
        lambda alone, beside: f"{count(alone)} and {count(beside)}",
    )  # fmt: skip
    title = "Operations per second of the device, alone and with the neighbour"
    return f"{title}: {said}" if said else title


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
            y = value_axis(Axis(shown.title, shown.log), domain, titled=word == "alone")
            charts.append(panel(
                context, drawing, mine, y, f"Seconds, {title}" if strip == present[-1] else None,
                found if word == "with" else (), height=HEIGHT, strokeWidth=1.5,
            ))  # fmt: skip
    return grid(charts, len(WORDS))
