"""How even block I/O was: requests per second and latency, second by second, of each candidate."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import altair as alt
import polars as pl

from stithy.analysis.evidence import Window
from stithy.metrics import Quantity
from stithy.point import Point
from stithy.report.blocks import Section, figures, paragraph
from stithy.report.context import Context
from stithy.report.drawing.chart import Axis, domain_of, line_channels, picked, value_axis
from stithy.report.drawing.compose import Drawing, Spec, above, layer
from stithy.report.drawing.titles import named_by
from stithy.report.figure import Drawn
from stithy.report.page import Page
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import percent

NAME = "consistency"
NEEDS = ("io_seconds",)
TITLE = "Second by second"
NOTE = (
    "One window of each candidate, the first valid one, at the point of the primary question; "
    "without such a question at the last point. The variation is the coefficient of variation of "
    "requests per second. A dot marks the second of a candidate with the longest mean latency. A "
    "second without an answer has no latency. Requests that were under way at the end of a closed "
    "loop count in its last second."
)
WIDTH, HEIGHT = 700, 180
MS_PER_S = 1000
TICKS_MOST = 12
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 3600, 7200, 14_400, 43_200)
"""Seconds between ticks; with the last one they suffice for a window of six days."""


def draw(page: Page) -> Iterator[Drawn]:
    """One line for each candidate, where the question is asked."""
    context = page.context
    shown = list(_windows(context))
    frame = _seconds(context, shown)
    if frame.is_empty():
        return
    title, drawing = _finding(context, shown), Drawing()
    shows = (
        Show("candidate", "candidate"), Show("second", "second", "count"),
        Show("requests", "requests", "count"), Show("mean_s", "mean latency", "duration"),
    )  # fmt: skip
    yield drawing.figure(
        context, NAME, title, _chart(context, drawing, frame), PageTable(NAME, title, shows, frame),
        caption="Above: requests answered in each second of the measurement, from zero. Below: "
        "their mean latency on a logarithmic axis; a dot marks the longest of each candidate.",
        description="Charts of requests per second and mean latency against time, a "
        f"line for each candidate: {', '.join(each.candidate for each in shown)}.",
    )  # fmt: skip


def _point(context: Context) -> Point | None:
    """Where the question is asked, else the last point."""
    return context.evidence.primary.point or context.asked_of(context.evidence.points)


def _windows(context: Context) -> Iterator[Window]:
    point = _point(context)
    for name in context.evidence.candidates:
        yield from () if point is None else context.evidence.valid_at(name, point)[:1]


def _seconds(context: Context, shown: list[Window]) -> pl.DataFrame:
    """Requests of all streams and directions and their mean latency, by candidate and second."""
    rows = [
        {"candidate": window.candidate, **asdict(each)}
        for window in shown
        for each in io_seconds(context.run.detail("io_seconds", window.id).to_dicts())
    ]
    types = {"candidate": pl.String, "second": pl.Int64, "requests": pl.Int64, "mean_s": pl.Float64}
    return pl.DataFrame(rows, schema=types)


def _finding(context: Context, shown: list[Window]) -> str:
    of, metric = context.evidence.value_of, Quantity("fio.variation")
    found = {window.candidate: of(window, metric).number for window in shown}
    known = {name: value for name, value in found.items() if value is not None}
    where, each = _point(context), named_by(known, percent)
    return f"Variation of requests per second at {where.brief if where else 'one point'}: {each}"


def _chart(context: Context, drawing: Drawing, frame: pl.DataFrame) -> Spec:
    requests = frame.select("candidate", "second", value="requests")
    charts = [_panel(context, drawing, Axis("Requests per second"), requests)]
    ms = pl.col("mean_s") * MS_PER_S
    latency = frame.drop_nulls("mean_s").select("candidate", "second", value=ms)
    if not latency.is_empty():
        charts.append(_panel(context, drawing, Axis("Mean latency (ms)", log=True), latency))
    return above(charts)


def worst(frame: pl.DataFrame) -> pl.DataFrame:
    """Of each candidate its row with the largest value, the first of several."""
    ordered = frame.sort("value", descending=True, maintain_order=True)
    return ordered.unique("candidate", keep="first", maintain_order=True)


def _panel(context: Context, drawing: Drawing, axis: Axis, frame: pl.DataFrame) -> Spec:
    """A line for each candidate; of latencies with a dot at its worst second."""
    rows = frame.to_dicts()
    x, y = _time_axis(frame), value_axis(axis, domain_of(rows, log=axis.log))
    channels = {"x": x, "y": y, **line_channels(context), "opacity": picked()}
    drawn = [drawing.followed(drawing.mark("line", rows, channels))]
    if axis.log:
        tips = [alt.Tooltip("candidate:N"), alt.Tooltip("second:Q"),
                alt.Tooltip("value:Q", title=axis.title, format=",.4~g")]  # fmt: skip
        own = {name: channels[name] for name in channels if name != "strokeDash"}
        dots, at = worst(frame).to_dicts(), {**own, "tooltip": tips}
        drawn.append(drawing.mark("point", dots, at, filled=True, size=60))
    return layer(drawn, width=WIDTH, height=HEIGHT)


def _time_axis(frame: pl.DataFrame) -> alt.X:
    last = max(frame["second"], default=0)
    step = next(each for each in STEPS if last / each <= TICKS_MOST)
    whole = alt.Axis(format="d", values=list(range(0, last + 1, step)))
    return alt.X("second:Q", title="Seconds of the measurement", axis=whole)


def sections(page: Page) -> Iterator[Section]:
    """Where fio's seconds are there."""
    if drawn := page.drawn_in(NAME):
        blocks = (*figures(drawn), *paragraph(NOTE, style="note"))
        yield Section(NAME, 26, TITLE, blocks)


@dataclass(frozen=True)
class IoSecond:
    """One second of fio: requests answered, and their mean latency.

    A second without an answer has 0 requests and no latency.
    """

    second: int
    requests: int
    mean_s: float | None


def io_seconds(rows: Sequence[dict[str, Any]]) -> list[IoSecond]:
    """Rows of the table `io_seconds`, summed by second, from 0 to the last second of any stream.

    Mean latencies are weighted by requests. Where one is missing, that of the second is.
    """
    found: dict[int, list[tuple[int, float | None]]] = {}
    for row in rows:
        if row["requests"]:
            found.setdefault(row["second"], []).append((row["requests"], row["latency_mean_s"]))
    last = max((row["second"] for row in rows), default=-1)
    return [_io_second(second, found.get(second, [])) for second in range(last + 1)]


def _io_second(second: int, parts: Sequence[tuple[int, float | None]]) -> IoSecond:
    requests = sum(count for count, _ in parts)
    waited = [count * mean_s for count, mean_s in parts if mean_s is not None]
    is_whole = bool(parts) and len(waited) == len(parts)
    return IoSecond(second, requests, sum(waited) / requests if is_whole else None)
