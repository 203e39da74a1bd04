"""Throughput against users, and the ratio of candidates with its interval."""

from collections.abc import Iterator
from typing import Any

import altair as alt

from stithy.analysis.comparisons import list_comparisons
from stithy.analysis.findings import answer_question
from stithy.analysis.statistics import BLOCKS_LEAST
from stithy.analysis.verdict import DIFFERENT
from stithy.metrics import Quantity
from stithy.report.blocks import Absent, Drawn, FigureKind
from stithy.report.context import Context
from stithy.report.drawing import palette, ratios
from stithy.report.drawing.chart import (
    HEIGHT,
    MIN_EXTENT,
    NUMBERS,
    WIDTH,
    Axis,
    draw_intervals,
    make_candidate_channels,
    make_level_axis,
    make_level_tip,
    make_y_axis,
    place_apart,
)
from stithy.report.drawing.compose import Drawing, Rows, Spec, merge_layers
from stithy.report.drawing.plots import ByLevel, Series
from stithy.report.drawing.points import read_window_rows
from stithy.report.drawing.titles import CLOSE_FACTOR, compare_title
from stithy.report.tables import Show, make_table
from stithy.report.words.escape import truncate_name
from stithy.report.words.wording import (
    CONSERVATIVE,
    begin_sentence,
    format_multiple,
    name_upper_bound,
)

NAME = "throughput-by-users"


def _plot_throughput(context: Context) -> Iterator[ByLevel | Absent]:
    metric = context.evidence.throughput
    lines, points = read_window_rows(context, metric.known.column)
    if not points:
        yield Absent(NAME, metric.noun, "no window has numbers")
        return
    yield ByLevel(
        name=NAME,
        title=compare_title(context, lines, points, metric.noun, metric=metric),
        caption=f"Committed {metric.noun} against {context.axis.title.lower()}.",
        noun=metric.noun,
        data=metric.title,
        axis=Axis(metric.title),
        rows=[[Series(lines, points)]],
        value=Show("value", metric.title, "rate"),
    )


RATIO_ROOM = 1.06
"""Own: a factor that the axis goes on beyond the last interval."""

NAME_LETTERS = 24
"""Own: of the first candidate's name, for it stands along the axis."""


def _plot_ratio(context: Context) -> Iterator[Drawn]:
    metric = context.evidence.primary.metric
    name = "throughput-ratio" if metric == context.evidence.throughput else "question-ratio"
    shows = f"ratio of {metric.noun}"
    if len(context.evidence.candidates) < 2:
        yield Absent(name, shows, "there is no second candidate")
        return
    rows = _list_ratios(context, metric)
    if not rows:
        yield Absent(name, shows, "no block has values of two candidates that can be compared")
        return
    first = context.evidence.candidates[0]
    drawing, that = Drawing(), "those" if metric.known.source == "window" else "that"
    columns = (
        context.axis_show, Show("candidate", "candidate"),
        Show("value", "ratio", "ratio"), Show("low", "from", "ratio"),
        Show("high", name_upper_bound(row["pairs"] for row in rows), "ratio"),
        Show("pairs", "blocks", "count"),
    )  # fmt: skip
    yield drawing.figure(
        context, name, _write_ratio_title(context, metric, rows, first),
        _draw_ratios(context, metric, drawing, rows),
        make_table(name, f"Ratio of {metric.noun} to {first}", columns, rows),
        caption=f"{begin_sentence(metric.noun)} of a candidate divided by {that} of {first}, "
        "paired by block, on a logarithmic axis. At the line of 1 both are equal. "
        f"{_explain_bars(rows)}",
        description=f"Points of the ratio to {first} against "
        f"{context.axis.title.lower()}, one mark for each other candidate, with a "
        "reference line at 1.",
    )  # fmt: skip


def _list_ratios(context: Context, metric: Quantity) -> Rows:
    evidence = context.evidence
    first, *others = evidence.candidates
    return [
        {
            **context.place(point), "candidate": name, "value": effect.ratio, "low": effect.low,
            "high": effect.high, "pairs": effect.pairs,
        }
        for point in evidence.levels
        for name in others
        if (effect := evidence.effect(first, name, point, metric)).ratio
    ]  # fmt: skip


def _write_ratio_title(context: Context, metric: Quantity, rows: Rows, first: str) -> str:
    names = {row["candidate"] for row in rows}
    if len(names) > 1 or len(rows) < 2:
        return f"{begin_sentence(metric.noun)} relative to {first}"
    of = "" if metric == context.evidence.throughput else f" in {metric.noun}"
    found = list_comparisons(context.evidence, answer_question(context.evidence))
    at = context.positions
    claimed = {
        at[each.point]
        for each in found
        if each.metric == metric and each.verdict.call in DIFFERENT and each.point in at
    }
    told_apart = [row for row in rows if _may_claim(row, claimed)]
    name = rows[0]["candidate"]
    if not told_apart:
        close = any(row["low"] is None for row in rows)
        how = "close at every level" if close else "not distinguishable at any level"
        return f"{name} and {first} are {how}{of}"
    low = min(told_apart, key=lambda row: (row["value"], row["level"]))
    high = max(told_apart, key=lambda row: (row["value"], -row["level"]))
    ends = [low] if low is high else [low, high]
    parts = [
        f"{format_multiple(row['value'], 'less')} {context.at(context.find_level(row['level']))}"
        for row in ends
    ]
    return f"{name} against {first}{of}: {', '.join(parts)}"


def _may_claim(row: dict[str, Any], claimed: set[float]) -> bool:
    """Whether a title may tell of a ratio: by its verdict; if large, of too few blocks for one."""
    if row["pairs"] >= BLOCKS_LEAST:
        return row["level"] in claimed
    holds_one = row["low"] is not None and row["low"] <= 1 <= row["high"]
    return not holds_one and not 1 / CLOSE_FACTOR < row["value"] < CLOSE_FACTOR


HOLLOW = "Hollow marks have one block and no interval."


def _explain_bars(rows: Rows) -> str:
    blocks = [row["pairs"] for row in rows if row["low"] is not None]
    if not blocks:
        return HOLLOW
    hollow = f" {HOLLOW}" if len(blocks) < len(rows) else ""
    if min(blocks) >= BLOCKS_LEAST:
        return f"Bars are the {CONSERVATIVE} intervals of the verdicts.{hollow}"
    if max(blocks) < BLOCKS_LEAST:
        return f"Bars are plain 95 % t intervals; a verdict needs {BLOCKS_LEAST} blocks.{hollow}"
    return (
        f"Bars are the {CONSERVATIVE} intervals of the verdicts. With fewer than {BLOCKS_LEAST} "
        f"blocks they are plain t intervals.{hollow}"
    )


def _draw_ratios(context: Context, metric: Quantity, drawing: Drawing, rows: Rows) -> Spec:
    first, *others = context.evidence.candidates
    channels = make_candidate_channels(context, others)
    x = make_level_axis(context, title=context.axis.title, field="x")
    # A logarithmic axis that always holds 1.
    ends = ratios.find_ratio_domain(
        (row[end] for row in rows for end in ("value", "low", "high")), RATIO_ROOM
    )
    y = make_y_axis(
        "value", f"{metric.label}, ratio to {truncate_name(first, NAME_LETTERS)}", ends, log=True,
        values=ratios.list_ratio_ticks(ends), format=NUMBERS, minExtent=MIN_EXTENT,
    )  # fmt: skip
    line = {"color": palette.AXIS[0], "strokeWidth": 1.5}
    tips = [
        alt.Tooltip("candidate:N"), make_level_tip(context),
        *(alt.Tooltip(f"{key}:Q", format=".3f") for key in ("value", "low", "high")),
        alt.Tooltip("pairs:Q", title="blocks"),
    ]  # fmt: skip
    placed = place_apart(context, rows)
    known = [row for row in placed if row["low"] is not None]
    layers = [drawing.mark("rule", [{"value": 1.0}], {"y": y}, **line)]
    layers += draw_intervals(drawing, known, {"x": x, "color": channels["color"]}, strokeWidth=2)
    # The legend takes its marks from the filled ones, even where there are none.
    for some, look in ((known, _FILLED), ([row for row in placed if row not in known], _HOLLOW)):
        if some or look is _FILLED:
            at = {"x": x, "y": y, "tooltip": tips, **channels}
            layers.append(drawing.mark("point", some, at, size=75, opacity=1, **look))
    return merge_layers(layers, width=WIDTH, height=HEIGHT - 60)


_FILLED: dict[str, Any] = {"filled": True}
_HOLLOW: dict[str, Any] = {"filled": False, "fill": palette.PAPER[0], "strokeWidth": 1.8}
"""Without an interval a mark is hollow, as in the figure of all comparisons."""

PLUGINS = (
    FigureKind(NAME, 10, "throughput", _plot_throughput, ("load",)),
    FigureKind("throughput-ratio", 12, "throughput", _plot_ratio, ("load",)),
)
