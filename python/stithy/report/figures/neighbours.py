"""Latency of the device second by second: the tenants alone, and beside the largest neighbour."""

import altair as alt
import polars as pl

from stithy.point import Point
from stithy.report import metrics
from stithy.report.context import Context
from stithy.report.drawing.annotations import MS_PER_S
from stithy.report.drawing.chart import Axis, domain_of, line_channels, picked, value_axis
from stithy.report.drawing.compose import Drawing, Spec, beside, layer, unit
from stithy.report.drawing.titles import named
from stithy.report.figure import Absent, Drawn, Figure
from stithy.report.parts.neighbour import drawn_point, first_pair, neighbour_said
from stithy.report.parts.neighbour_marks import Marks, bars, marked, marks
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import took

NAME = "neighbours"
ORDER = 15
SECTION = "neighbours"
NEEDS = ("tenant_seconds",)
KEY = "neighbour-latency"
WIDTH, HEIGHT = 320, 220
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
    return [
        Figure(
            name=KEY,
            title=title,
            caption="Mean latency of reads in each second of the busiest device, on a logarithmic "
            "axis: the tenants alone (left), and with the neighbour (right)"
            f"{marked(context, point, found)}. Both windows are of one block, the first valid one.",
            description=f"{title}. Two charts of read latency against time, a line for each "
            "candidate: alone, and with the neighbour.",
            footer=context.footer,
            spec=drawing.spec(_charts(context, drawing, frame, found)),
            table=PageTable(
                KEY, title,
                (Show("candidate", "candidate"), Show("neighbour", "neighbour"),
                 Show("second", "second", "count"), Show("latency_s", "latency", "duration")),
                frame,
            ),
        )
    ]  # fmt: skip


def _seconds(context: Context, point: Point) -> pl.DataFrame:
    words = ("alone", "with")
    pairs = {name: first_pair(context, name, point) for name in context.evidence.candidates}
    shown = {
        window.id: (name, word)
        for name, pair in pairs.items()
        for window, word in zip(pair, words, strict=False)
    }
    samples = context.run.samples.of(metrics.BLOCK, [READS, LATENCY], set(shown))
    wide = samples.pivot("metric", index=["window_id", "subject", "second"], values="value")
    rows = [
        {
            "candidate": shown[row["window_id"]][0],
            "neighbour": shown[row["window_id"]][1],
            "second": round(row["second"]),
            "latency_s": row[LATENCY],
            "reads": row.get(READS) or 0.0,
        }
        for row in wide.iter_rows(named=True)
        if row.get(LATENCY) is not None and row["second"] >= 0
    ]
    types = {
        "candidate": pl.String, "neighbour": pl.String, "second": pl.Int64,
        "latency_s": pl.Float64, "reads": pl.Float64,
    }  # fmt: skip
    keys = ["candidate", "neighbour", "second"]
    frame = pl.DataFrame(rows, schema=types).sort("reads", descending=True)
    return frame.unique(keys, keep="first", maintain_order=True).drop("reads").sort(keys)


def _finding(context: Context, point: Point, frame: pl.DataFrame) -> str:
    """The median second of each candidate, alone and with the neighbour."""
    medians = frame.group_by("candidate", "neighbour").agg(pl.col("latency_s").median())
    known = {(row[0], row[1]): float(row[2]) for row in medians.iter_rows()}
    names = [
        each
        for each in context.evidence.candidates
        if (each, "alone") in known and (each, "with") in known
    ]
    said = named(
        names,
        lambda name: known[name, "with"] / known[name, "alone"],
        lambda name: f"{took(known[name, 'alone'])} to {took(known[name, 'with'])} on {name}",
    )
    return f"A neighbour of {neighbour_said(context, point)} takes reads from {said}"


def _charts(context: Context, drawing: Drawing, frame: pl.DataFrame, found: Marks) -> Spec:
    rows = [{**row, "value": row["latency_s"] * MS_PER_S} for row in frame.to_dicts()]
    domain = domain_of(rows, log=True)
    return beside([
        _panel(context, drawing, [row for row in rows if row["neighbour"] == word], domain, title,
               found if word == "with" else ())
        for word, title in (("alone", "alone"), ("with", "with the neighbour"))
    ])  # fmt: skip


def _panel(
    context: Context,
    drawing: Drawing,
    rows: list[dict[str, object]],
    domain: tuple[float, float],
    title: str,
    found: Marks,
) -> Spec:
    heading = f"Seconds, {title}"
    x = alt.X("second:Q", title=heading, axis=alt.Axis(format="d", tickCount=6))
    y = value_axis(Axis("Read latency (ms)", log=True), domain)
    line = alt.Chart(drawing.add(rows)).mark_line()
    own = line.encode(x=x, y=y, opacity=picked(), **line_channels(context))
    worked = bars(context, drawing, found, heading, HEIGHT)
    return layer([drawing.followed(unit(own)), *worked], width=WIDTH, height=HEIGHT)
