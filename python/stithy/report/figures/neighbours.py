"""Latency of the device second by second: the tenants alone, and beside the largest neighbour."""

import polars as pl

from stithy.point import Point
from stithy.report import metrics
from stithy.report.context import Context
from stithy.report.drawing.annotations import MS_PER_S
from stithy.report.drawing.chart import Axis, domain_of, value_axis
from stithy.report.drawing.compose import Drawing, Spec, beside
from stithy.report.figure import Absent, Drawn
from stithy.report.parts.neighbour import drawn_point, first_pair, medians_said, neighbour_said
from stithy.report.parts.neighbour_marks import MEDIANS, WORDS, Marks, counted, marked, marks, panel
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import took

NAME = "neighbours"
ORDER = 15
SECTION = "neighbours"
NEEDS = ("tenant_seconds",)
KEY = "neighbour-latency"
HEIGHT = 220
READS, LATENCY, _ = metrics.OPERATIONS["read"]


def draw(context: Context) -> list[Drawn]:
    """Reads of the busiest device of each candidate, in its first valid block of both."""
    point = drawn_point(context)
    if point is None:
        return []
    frame = _seconds(context, point)
    if frame.is_empty():
        return [Absent(KEY, "latency over time", "no valid block has samples of a device")]
    title, drawing = _finding(context, point, frame), Drawing()
    found = marks(context, point)
    shows = (
        Show("candidate", "candidate"), Show("neighbour", "neighbour"),
        Show("second", "second", "count"), Show("latency_s", "latency", "duration"),
    )  # fmt: skip
    return [
        drawing.figure(
            context, KEY, title, _charts(context, drawing, frame, found),
            PageTable(KEY, title, shows, frame),
            caption="Mean latency of reads in each second of the busiest device, on a logarithmic "
            "axis: the tenants alone (left), and with the neighbour (right)"
            f"{marked(context, point, found)}. Both windows are of one block, the first valid one. "
            f"{MEDIANS}",
            description="Two charts of read latency against time, a line for each "
            "candidate: alone, and with the neighbour.",
        )
    ]  # fmt: skip


def _seconds(context: Context, point: Point) -> pl.DataFrame:
    pairs = {name: first_pair(context, name, point) for name in context.evidence.candidates}
    shown = {
        window.id: (name, word)
        for name, pair in pairs.items()
        for window, word in zip(pair, WORDS, strict=False)
    }
    samples = context.samples_by_second(metrics.BLOCK, [READS, LATENCY], set(shown))
    of_second = ["window_id", "subject", "second"]
    wide = samples.pivot("metric", index=of_second, values="value", aggregate_function="last")
    rows = [
        (*shown[row["window_id"]], row["second"], row[LATENCY], row.get(READS) or 0.0)
        for row in wide.iter_rows(named=True)
        if row.get(LATENCY) is not None
    ]
    types = {
        "candidate": pl.String, "neighbour": pl.String, "second": pl.Int64,
        "latency_s": pl.Float64, "reads": pl.Float64,
    }  # fmt: skip
    keys = ["candidate", "neighbour", "second"]
    frame = pl.DataFrame(rows, schema=types, orient="row").sort("reads", descending=True)
    return frame.unique(keys, keep="first", maintain_order=True).drop("reads").sort(keys)


def _finding(context: Context, point: Point, frame: pl.DataFrame) -> str:
    """The median second of each candidate, alone and with the neighbour."""
    of_title = counted(context, point, frame)
    said = medians_said(
        context, of_title, pl.col("latency_s"), lambda alone, beside: beside / alone,
        lambda alone, beside: f"{took(alone)} to {took(beside)}",
    )  # fmt: skip
    if not said:
        return "Read latency of the device, alone and with the neighbour"
    return f"A neighbour of {neighbour_said(context, point)} takes reads from {said}"


def _charts(context: Context, drawing: Drawing, frame: pl.DataFrame, found: Marks) -> Spec:
    rows = [{**row, "value": row["latency_s"] * MS_PER_S} for row in frame.to_dicts()]
    y = value_axis(Axis("Read latency (ms)", log=True), domain_of(rows, log=True))
    return beside([
        panel(context, drawing, [row for row in rows if row["neighbour"] == word], y,
              f"Seconds, {title}", found if word == "with" else (), height=HEIGHT)
        for word, title in WORDS.items()
    ])  # fmt: skip
