"""How block I/O came to its steady state: the rounds before the windows."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import altair as alt
import polars as pl

from stithy.analysis.evidence import Window
from stithy.fio.load import EXCURSION_MOST, RANGE_MOST, ROUNDS
from stithy.metrics import Quantity
from stithy.point import Point
from stithy.report.blocks import Section, figures, paragraph
from stithy.report.context import Context
from stithy.report.drawing.chart import (
    Axis,
    domain_of,
    joined_points,
    line_channels,
    picked,
    value_axis,
)
from stithy.report.drawing.compose import Drawing, Rows, Spec, above, layer
from stithy.report.drawing.compose import grid as charts_in
from stithy.report.drawing.titles import named_by
from stithy.report.figure import Drawn
from stithy.report.page import Page
from stithy.report.section import SectionKind
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import listing, percent

ROUNDS_TITLE = "Approach to steady state"
ROUNDS_NOTE = (
    f"Each tracked test is steady where the values of its last {ROUNDS} rounds range over at most "
    f"{RANGE_MOST:.0%} of their mean, and their best straight line rises or falls by at most "
    f"{EXCURSION_MOST:.0%} of it. This is SNIA's rule, not a test of SNIA's."
)
PANEL_WIDTH, PANEL_HEIGHT, COLUMNS = 300, 180, 2


def _tracked(context: Context) -> pl.DataFrame:
    return context.run.detail("preconditioning").filter(pl.col("tracked"))


class PreconditioningSection(SectionKind):
    """How block I/O came to its steady state: the rounds before the windows."""

    name = "preconditioning"
    needs_tables = ("io_seconds",)

    def make_tables(self, page: Page) -> Iterator[PageTable]:
        """What the last round of each candidate and tracked test says."""
        shows = (
            Show("candidate", "Candidate"), Show("test", "Test"), Show("round", "Rounds", "count"),
            Show("iops", "IOPS", "count"), Show("range_share", "Range", "share"),
            Show("excursion_share", "Rise of the line", "share"), Show("steady", "Steady", "truth"),
        )  # fmt: skip
        last = _tracked(page.context).group_by("candidate", "test", maintain_order=True).last()
        yield PageTable(
            self.name, ROUNDS_TITLE, shows, last.select([show.column for show in shows])
        )

    def draw_figures(self, page: Page) -> Iterator[Drawn]:
        """One panel for each tracked test."""
        context, frame = page.context, _tracked(page.context)
        if frame.is_empty():
            return
        states = [_describe_state(name, frame) for name in context.evidence.candidates]
        title, drawing = f"Steady state: {listing(states)}", Drawing()
        tests = frame["test"].unique(maintain_order=True).to_list()
        panels = [
            _panel(context, drawing, test, frame.filter(test=test).to_dicts()) for test in tests
        ]
        shows = (
            Show("candidate", "candidate"), Show("test", "test"), Show("round", "round", "count"),
            Show("iops", "IOPS", "count"),
        )  # fmt: skip
        table = PageTable(self.name, title, shows, frame.select(show.column for show in shows))
        yield drawing.figure(
            context, self.name, title, charts_in(panels, COLUMNS), table,
            caption="Requests per second of each tracked test (reads-writes-block size) in each "
            f"round of preconditioning. The rule is applied to the last {ROUNDS} rounds.",
            description="Charts of requests per second against the round, one for each test, "
            f"a line for each candidate: {', '.join(context.evidence.candidates)}.",
        )  # fmt: skip

    def make_sections(self, page: Page) -> Iterator[Section]:
        """Where rounds were done."""
        return page.section(self.name, 23, ROUNDS_TITLE, ROUNDS_NOTE, page.context.footer + ".")


def _describe_state(name: str, frame: pl.DataFrame) -> str:
    own = frame.filter(candidate=name)
    if own.is_empty():
        return f"unknown of {name}"
    number = max(own["round"].to_list())
    is_steady = own.filter(round=number)["steady"].all()
    return f"{'reached' if is_steady else 'not reached'} after {number} rounds on {name}"


def _panel(context: Context, drawing: Drawing, test: str, rows: Rows) -> Spec:
    own: list[dict[str, Any]] = [
        {"candidate": each["candidate"], "round": each["round"], "value": each["iops"]}
        for each in rows
    ]
    x = alt.X("round:Q", title="Round", axis=alt.Axis(format="d", tickMinStep=1))
    y = value_axis(Axis(f"{test}: IOPS"), domain_of(own, log=False))
    tips = [
        alt.Tooltip("candidate:N"), alt.Tooltip("round:Q"), alt.Tooltip("value:Q", title="IOPS"),
    ]  # fmt: skip
    layers = joined_points(context, drawing, own, {"x": x, "y": y}, tips, size=40)
    return layer(layers, width=PANEL_WIDTH, height=PANEL_HEIGHT)


EVENNESS_TITLE = "Second by second"
EVENNESS_NOTE = (
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


class ConsistencySection(SectionKind):
    """How even block I/O was, second by second."""

    name = "consistency"
    needs_tables = ("io_seconds",)

    def draw_figures(self, page: Page) -> Iterator[Drawn]:
        """One line for each candidate, where the question is asked."""
        context = page.context
        shown = list(_windows(context))
        frame = _sum_seconds(context, shown)
        if frame.is_empty():
            return
        title, drawing = _finding(context, shown), Drawing()
        shows = (
            Show("candidate", "candidate"), Show("second", "second", "count"),
            Show("requests", "requests", "count"), Show("mean_s", "mean latency", "duration"),
        )  # fmt: skip
        yield drawing.figure(
            context, self.name, title, _chart(context, drawing, frame),
            PageTable(self.name, title, shows, frame),
            caption="Above: requests answered in each second of the measurement, from zero. Below: "
            "their mean latency on a logarithmic axis; a dot marks the longest of each candidate.",
            description="Charts of requests per second and mean latency against time, a "
            f"line for each candidate: {', '.join(each.candidate for each in shown)}.",
        )  # fmt: skip

    def make_sections(self, page: Page) -> Iterator[Section]:
        """Where fio's seconds are there."""
        if drawn := page.drawn_in(self.name):
            blocks = (*figures(drawn), *paragraph(EVENNESS_NOTE, style="note"))
            yield Section(self.name, 26, EVENNESS_TITLE, blocks)


def _find_point(context: Context) -> Point | None:
    return context.evidence.primary.point or context.asked_of(context.evidence.points)


def _windows(context: Context) -> Iterator[Window]:
    point = _find_point(context)
    for name in context.evidence.candidates:
        yield from () if point is None else context.evidence.valid_at(name, point)[:1]


def _sum_seconds(context: Context, shown: list[Window]) -> pl.DataFrame:
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
    where, each = _find_point(context), named_by(known, percent)
    return f"Variation of requests per second at {where.brief if where else 'one point'}: {each}"


def _chart(context: Context, drawing: Drawing, frame: pl.DataFrame) -> Spec:
    requests = frame.select("candidate", "second", value="requests")
    charts = [_draw_panel(context, drawing, Axis("Requests per second"), requests)]
    ms = pl.col("mean_s") * MS_PER_S
    latency = frame.drop_nulls("mean_s").select("candidate", "second", value=ms)
    if not latency.is_empty():
        charts.append(_draw_panel(context, drawing, Axis("Mean latency (ms)", log=True), latency))
    return above(charts)


def worst(frame: pl.DataFrame) -> pl.DataFrame:
    """Of each candidate its row with the largest value, the first of several."""
    ordered = frame.sort("value", descending=True, maintain_order=True)
    return ordered.unique("candidate", keep="first", maintain_order=True)


def _draw_panel(context: Context, drawing: Drawing, axis: Axis, frame: pl.DataFrame) -> Spec:
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


PLUGINS = (PreconditioningSection(), ConsistencySection())
