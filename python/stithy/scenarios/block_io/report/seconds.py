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
from stithy.report.blocks import Block, Drawn, SectionKind, set_figures, set_paragraph
from stithy.report.context import Context
from stithy.report.drawing.chart import (
    Axis,
    draw_joined_points,
    find_domain,
    make_line_channels,
    make_value_axis,
    show_picked,
)
from stithy.report.drawing.compose import Drawing, Rows, Spec, merge_layers, place_above
from stithy.report.drawing.compose import place_in_grid as charts_in
from stithy.report.drawing.titles import name_by
from stithy.report.page import Page
from stithy.report.tables import PageTable, Show
from stithy.units import format_list, format_share

ROUNDS_TITLE = "Approach to steady state"
ROUNDS_NOTE = (
    f"Each tracked test is steady where the values of its last {ROUNDS} rounds range over at most "
    f"{RANGE_MOST:.0%} of their mean, and their best straight line rises or falls by at most "
    f"{EXCURSION_MOST:.0%} of it. This is SNIA's rule, not a test of SNIA's."
)
PANEL_WIDTH, PANEL_HEIGHT, COLUMNS = 300, 180, 2


def _select_tracked(context: Context) -> pl.DataFrame:
    return context.run.detail("preconditioning").filter(pl.col("tracked"))


def _make_preconditioning_tables(page: Page) -> Iterator[PageTable]:
    shows = (
        Show("candidate", "Candidate"), Show("test", "Test"), Show("round", "Rounds", "count"),
        Show("iops", "IOPS", "count"), Show("range_share", "Range", "share"),
        Show("excursion_share", "Rise of the line", "share"), Show("steady", "Steady", "truth"),
    )  # fmt: skip
    last = _select_tracked(page.context).group_by("candidate", "test", maintain_order=True).last()
    yield PageTable(
        "preconditioning", ROUNDS_TITLE, shows, last.select([show.column for show in shows])
    )


def _draw_preconditioning_figures(page: Page) -> Iterator[Drawn]:
    context, frame = page.context, _select_tracked(page.context)
    if frame.is_empty():
        return
    states = [_describe_state(name, frame) for name in context.evidence.candidates]
    title, drawing = f"Steady state: {format_list(states)}", Drawing()
    tests = frame["test"].unique(maintain_order=True).to_list()
    panels = [
        _draw_rounds(context, drawing, test, frame.filter(test=test).to_dicts()) for test in tests
    ]
    shows = (
        Show("candidate", "candidate"), Show("test", "test"), Show("round", "round", "count"),
        Show("iops", "IOPS", "count"),
    )  # fmt: skip
    table = PageTable("preconditioning", title, shows, frame.select(show.column for show in shows))
    yield drawing.figure(
        context, "preconditioning", title, charts_in(panels, COLUMNS), table,
        caption="Requests per second of each tracked test (reads-writes-block size) in each "
        f"round of preconditioning. The rule is applied to the last {ROUNDS} rounds.",
        description="Charts of requests per second against the round, one for each test, "
        f"a line for each candidate: {', '.join(context.evidence.candidates)}.",
    )  # fmt: skip


def _describe_state(name: str, frame: pl.DataFrame) -> str:
    own = frame.filter(candidate=name)
    if own.is_empty():
        return f"unknown of {name}"
    number = max(own["round"].to_list())
    is_steady = own.filter(round=number)["steady"].all()
    return f"{'reached' if is_steady else 'not reached'} after {number} rounds on {name}"


def _draw_rounds(context: Context, drawing: Drawing, test: str, rows: Rows) -> Spec:
    own: list[dict[str, Any]] = [
        {"candidate": row["candidate"], "round": row["round"], "value": row["iops"]} for row in rows
    ]
    x = alt.X("round:Q", title="Round", axis=alt.Axis(format="d", tickMinStep=1))
    y = make_value_axis(Axis(f"{test}: IOPS"), find_domain(own, log=False))
    tips = [
        alt.Tooltip("candidate:N"), alt.Tooltip("round:Q"), alt.Tooltip("value:Q", title="IOPS"),
    ]  # fmt: skip
    layers = draw_joined_points(context, drawing, own, {"x": x, "y": y}, tips, size=40)
    return merge_layers(layers, width=PANEL_WIDTH, height=PANEL_HEIGHT)


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


def _draw_consistency_figures(page: Page) -> Iterator[Drawn]:
    context = page.context
    shown = list(_choose_windows(context))
    frame = _sum_seconds(context, shown)
    if frame.is_empty():
        return
    title, drawing = _write_title(context, shown), Drawing()
    shows = (
        Show("candidate", "candidate"), Show("second", "second", "count"),
        Show("requests", "requests", "count"), Show("mean_s", "mean latency", "duration"),
    )  # fmt: skip
    yield drawing.figure(
        context, "consistency", title, _draw_chart(context, drawing, frame),
        PageTable("consistency", title, shows, frame),
        caption="Above: requests answered in each second of the measurement, from zero. Below: "
        "their mean latency on a logarithmic axis; a dot marks the longest of each candidate.",
        description="Charts of requests per second and mean latency against time, a "
        f"line for each candidate: {', '.join(each.candidate for each in shown)}.",
    )  # fmt: skip


def _set_consistency(page: Page) -> Iterator[Block]:
    if drawn := page.find_drawn("consistency"):
        yield from set_figures(drawn)
        yield from set_paragraph(EVENNESS_NOTE, style="note")


def _find_point(context: Context) -> Point | None:
    return context.evidence.primary.point or context.evidence.choose_asked(context.evidence.points)


def _choose_windows(context: Context) -> Iterator[Window]:
    point = _find_point(context)
    for name in context.evidence.candidates:
        yield from () if point is None else context.evidence.valid_at(name, point)[:1]


def _sum_seconds(context: Context, shown: list[Window]) -> pl.DataFrame:
    """Requests of all streams and directions and their mean latency, by candidate and second."""
    rows = [
        {"candidate": window.candidate, **asdict(second)}
        for window in shown
        for second in sum_io_seconds(context.run.detail("io_seconds", window.id).to_dicts())
    ]
    types = {"candidate": pl.String, "second": pl.Int64, "requests": pl.Int64, "mean_s": pl.Float64}
    return pl.DataFrame(rows, schema=types)


def _write_title(context: Context, shown: list[Window]) -> str:
    of, metric = context.evidence.value_of, Quantity("fio.variation")
    found = {window.candidate: of(window, metric).number for window in shown}
    known = {name: value for name, value in found.items() if value is not None}
    where, each = _find_point(context), name_by(known, format_share)
    return f"Variation of requests per second at {where.brief if where else 'one point'}: {each}"


def _draw_chart(context: Context, drawing: Drawing, frame: pl.DataFrame) -> Spec:
    requests = frame.select("candidate", "second", value="requests")
    charts = [_draw_panel(context, drawing, Axis("Requests per second"), requests)]
    ms = pl.col("mean_s") * MS_PER_S
    latency = frame.drop_nulls("mean_s").select("candidate", "second", value=ms)
    if not latency.is_empty():
        charts.append(_draw_panel(context, drawing, Axis("Mean latency (ms)", log=True), latency))
    return place_above(charts)


def find_worst(frame: pl.DataFrame) -> pl.DataFrame:
    """Of each candidate its row with the largest value, the first of several."""
    ordered = frame.sort("value", descending=True, maintain_order=True)
    return ordered.unique("candidate", keep="first", maintain_order=True)


def _draw_panel(context: Context, drawing: Drawing, axis: Axis, frame: pl.DataFrame) -> Spec:
    rows = frame.to_dicts()
    x, y = _time_axis(frame), make_value_axis(axis, find_domain(rows, log=axis.log))
    channels = {"x": x, "y": y, **make_line_channels(context), "opacity": show_picked()}
    drawn = [drawing.follow(drawing.mark("line", rows, channels))]
    if axis.log:
        tips = [alt.Tooltip("candidate:N"), alt.Tooltip("second:Q"),
                alt.Tooltip("value:Q", title=axis.title, format=",.4~g")]  # fmt: skip
        own = {name: channels[name] for name in channels if name != "strokeDash"}
        dots, at = find_worst(frame).to_dicts(), {**own, "tooltip": tips}
        drawn.append(drawing.mark("point", dots, at, filled=True, size=60))
    return merge_layers(drawn, width=WIDTH, height=HEIGHT)


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


def sum_io_seconds(rows: Sequence[dict[str, Any]]) -> list[IoSecond]:
    """Rows of the table `io_seconds`, summed by second, from 0 to the last second of any stream.

    Mean latencies are weighted by requests. Where one is missing, that of the second is.
    """
    found: dict[int, list[tuple[int, float | None]]] = {}
    for row in rows:
        if row["requests"]:
            found.setdefault(row["second"], []).append((row["requests"], row["latency_mean_s"]))
    last = max((row["second"] for row in rows), default=-1)
    return [_make_io_second(second, found.get(second, [])) for second in range(last + 1)]


def _make_io_second(second: int, parts: Sequence[tuple[int, float | None]]) -> IoSecond:
    requests = sum(count for count, _ in parts)
    waited = [count * mean_s for count, mean_s in parts if mean_s is not None]
    is_whole = bool(parts) and len(waited) == len(parts)
    return IoSecond(second, requests, sum(waited) / requests if is_whole else None)


PLUGINS = (
    SectionKind(
        "preconditioning", 23, ROUNDS_TITLE,
        lambda page: page.set_usual("preconditioning", ROUNDS_NOTE, page.context.footer + "."),
        make_tables=_make_preconditioning_tables, draw_figures=_draw_preconditioning_figures,
        needs_tables=("io_seconds",),
    ),
    SectionKind(
        "consistency", 26, EVENNESS_TITLE, _set_consistency,
        draw_figures=_draw_consistency_figures, needs_tables=("io_seconds",),
    ),
)  # fmt: skip
