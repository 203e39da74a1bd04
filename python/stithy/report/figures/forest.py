"""The answer at a glance: every comparison as a ratio with its interval, the question's first."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from stithy.analysis.comparisons import ComparedPair, compare_levels, list_comparisons
from stithy.analysis.findings import answer_question
from stithy.metrics import P99
from stithy.report.blocks import Absent, Drawn, FigureKind, Title
from stithy.report.context import Context
from stithy.report.drawing import palette, ratios
from stithy.report.drawing.chart import WIDTH, draw_intervals, make_own_channels, make_x_axis
from stithy.report.drawing.compose import Drawing, Rows, Spec, merge_layers
from stithy.report.drawing.titles import describe_claim, explain_none
from stithy.report.tables import PageTable, Show, make_table
from stithy.report.words.escape import truncate_name
from stithy.report.words.wording import (
    CONSERVATIVE,
    choose_form,
    format_bounds,
    format_exactly,
    format_finely,
    format_plural,
    format_times,
    name_upper_bound,
)
from stithy.study.database import write_suffix

NAME = "forest"

ROWS_MOST = 40
"""Own: as many as one screen and one printed page hold."""

NAME_LETTERS = 20
"""Own: of longer names beginning and end are drawn; the data have them whole."""

UNTESTED = "not tested"
"""What stands for the verdict where one block gives no interval."""

ROOM = 4.0
"""Own: how many times farther than the farthest ratio an interval is drawn; then it is cut."""

STEP, LETTER, GAP, VERDICT = 21, 6.8, 14, 80
"""Pixels of a row, of a letter at most, between columns, and of the column of verdicts."""


@dataclass(frozen=True)
class _Chosen:
    """The comparisons that are drawn, in their order, and how many are in the table alone."""

    drawn: tuple[ComparedPair, ...]
    table_only: tuple[ComparedPair, ...]


def _plot(context: Context) -> list[Drawn]:
    answered = None
    if len(context.evidence.candidates) > 1:
        answered = answer_question(context.evidence)
    if answered is None:
        return [Absent(NAME, "all comparisons with their intervals", explain_none(context))]
    if answered.effect.is_difference:
        because = f"{answered.metric.noun} is compared as a difference, and this figure has ratios"
        return [Absent(NAME, "all comparisons with their intervals", because)]
    chosen = _choose_comparisons(context, answered)
    drawing, what = Drawing(), f"{answered.metric.label} {context.at(answered.point)}"
    title = Title(f"{what}: {describe_claim(answered)}", answered.effect.ratio)
    return [
        drawing.figure(
            context, NAME, title, _draw_chart(context, drawing, chosen.drawn),
            _make_table(context, chosen),
            caption=_write_caption(context, chosen),
            description=f"Forest plot of {format_plural(len(chosen.drawn), 'ratio')} on a "
            "logarithmic axis with a line at 1, one row for each comparison, with its interval and "
            "its verdict.",
        )
    ]  # fmt: skip


def _choose_comparisons(context: Context, answered: ComparedPair) -> _Chosen:
    """The question, its metric level by level, the other metrics at its level; best ones first."""
    every = [
        answered,
        *sorted(
            _list_others(context, answered),
            key=lambda each: _rank_comparison(context, answered, each),
        ),
    ]
    pair, here = {answered.a, answered.b}, answered.point
    kept = every
    if len(kept) > ROWS_MOST:
        kept = [each for each in kept if each.point == here or {each.a, each.b} == pair]
    if len(kept) > ROWS_MOST:
        kept = [each for each in kept if each.point == here]
    if len(kept) > ROWS_MOST:
        kept = [each for each in kept if each.metric == answered.metric]
    drawn = tuple(each for each in kept if each.effect.ratio is not None)
    return _Chosen(drawn, tuple(each for each in every if each not in drawn))


def _list_others(context: Context, answered: ComparedPair) -> Iterator[ComparedPair]:
    evidence = context.evidence
    first, *rest = evidence.candidates
    for comparison in list_comparisons(evidence, answered):
        at_level = comparison.point == answered.point
        if not comparison.primary and (comparison.metric == answered.metric or at_level):
            yield comparison
    if answered.metric != P99:
        for name in rest:
            shown = compare_levels(evidence, first, name, P99)
            yield from (each for each in shown if each.point == answered.point)


def _rank_comparison(
    context: Context, answered: ComparedPair, each: ComparedPair
) -> tuple[Any, ...]:
    """Where a comparison stands: by metric, level (the question's, then from the highest), gain."""
    metrics = list(dict.fromkeys((answered.metric, *context.evidence.described, P99)))
    ratio = each.effect.ratio
    gain = math.log(ratio) if ratio else -math.inf
    better = -gain if each.metric.known.better == "lower" else gain
    points = context.evidence.points
    place = -points.index(each.point)
    return metrics.index(each.metric), each.point != answered.point, place, -better, each.b


def _name_compared(context: Context, each: ComparedPair) -> str:
    """Who is compared, in few letters: among several, of those compared with the first one name."""
    first, *others = context.evidence.candidates
    if each.a == first and len(others) > 1:
        return truncate_name(each.b, NAME_LETTERS) + _name_given_up(context, each.b)
    both = (truncate_name(name, NAME_LETTERS // 2) for name in (each.b, each.a))
    return " ÷ ".join(both) + _name_given_up(context, each.b, each.a)


def _name_given_up(context: Context, *names: str) -> str:
    """What the named candidates gave up; with whose it is, where it is not that of all of them."""
    ends = {context.suffix(name) for name in names}
    end = ends.pop() if len(ends) == 1 else write_suffix(context.given_up)
    return f" {truncate_name(end, NAME_LETTERS)}" if end else ""


def _write_caption(context: Context, chosen: _Chosen) -> str:
    margin = format_exactly(context.evidence.primary.margin_share)
    parts = [
        "The first row answers the question. Below it are the same metric at the other levels and "
        "the other metrics at the same level, best ones first. Each word is the verdict on the "
        "candidate named first; for response times, less is better. The band is the margin of "
        f"{margin}. At the line of 1 both are equal."
    ]
    first, *others = context.evidence.candidates
    if len(others) > 1:
        parts.append(f"A candidate that is named alone is compared with {first}.")
    if any(not each.effect.plain for each in chosen.drawn):
        parts.append(f"Bars are {CONSERVATIVE} intervals.")
    if any(each.effect.low is None for each in chosen.drawn):
        parts.append("Hollow marks have one block and no interval.")
    if any(each.effect.low is not None and each.effect.plain for each in chosen.drawn):
        parts.append("Thin bars are plain t intervals; their blocks are too few for a verdict.")
    least, most = _find_domain(chosen.drawn)
    ends = [(each.effect.low or least, each.effect.high or most) for each in chosen.drawn]
    if any(low < least or high > most for low, high in ends):
        parts.append("A bar that ends at the edge continues beyond it.")
    if chosen.table_only:
        left_out = len(chosen.table_only)
        more = format_plural(left_out, "further comparison")
        parts.append(f"{more} {choose_form(left_out, 'is', 'are')} in the data file only.")
    return " ".join(parts)


def _find_domain(drawn: tuple[ComparedPair, ...]) -> ratios.Domain:
    """All ratios, and intervals as far as `ROOM` allows."""
    points = [each.effect.ratio for each in drawn]
    near = ratios.find_ratio_domain(points, 1.0)
    ends = [end for each in drawn for end in (each.effect.low, each.effect.high) if end is not None]
    inside = [min(max(end, near[0] / ROOM), near[1] * ROOM) for end in ends]
    margin = max((each.verdict.margin_share for each in drawn), default=0.0)
    return ratios.find_ratio_domain([*points, *inside, 1 + margin], 1.06)


def _draw_chart(context: Context, drawing: Drawing, drawn: tuple[ComparedPair, ...]) -> Spec:
    domain = _find_domain(drawn)
    rows = [_make_row(context, index, each, domain) for index, each in enumerate(drawn)]
    options = {"values": ratios.list_ratio_ticks(domain), "format": ",~f", "grid": False}
    pairs = {row["pair"] for row in rows}
    title, named = ("Ratio", ("metric", "pair")) if len(pairs) > 1 else (*pairs, ("metric",))
    x = make_x_axis("value", title, domain, log=True, **options)
    y = alt.Y("row:O", axis=None, scale=alt.Scale(domain=list(range(len(rows)))))
    left, numbers = _measure_texts(rows, *named) + 2 * GAP, _measure_texts(rows, "number")
    width = WIDTH - left - GAP - numbers - VERDICT
    margin = context.evidence.primary.margin_share
    band = [{"value": 1 / (1 + margin), "to": 1 + margin}]
    units = [
        drawing.mark("rect", band, {"x": x, "x2": alt.X2("to:Q")}, color=palette.GRID[0]),
        drawing.mark("rule", [{"value": 1.0}], {"x": x}, color=palette.AXIS[0], strokeWidth=1.5),
        *_draw_marks(context, drawing, rows, x, y),
    ]
    units += _draw_texts(drawing, rows, y, named, (left, width, numbers))
    return merge_layers(units, width=width, height=STEP * len(rows))


def _measure_texts(rows: Rows, *names: str) -> int:
    longest = sum(max(len(row[name]) for row in rows) for name in names)
    return round(LETTER * longest) + GAP


def _make_row(
    context: Context, index: int, each: ComparedPair, domain: ratios.Domain
) -> dict[str, Any]:
    effect = each.effect
    interval = format_bounds(effect.low, effect.high, _format_ratio)
    return {
        "row": index, "candidate": each.b, "value": effect.ratio,
        "low": None if effect.low is None else max(effect.low, domain[0]),
        "high": None if effect.high is None else min(effect.high, domain[1]),
        "metric": f"{each.metric.label}, {context.level(each.point)}",
        "pair": _name_compared(context, each),
        "number": f"{_format_ratio(effect.ratio or 1.0)}{interval}",
        "verdict": _name_verdict(each), "plain": effect.plain, "primary": each.primary,
        "blocks": effect.pairs,
    }  # fmt: skip


def _name_verdict(each: ComparedPair) -> str:
    """The verdict; without an interval nothing was tested, so nothing is undecided either."""
    return each.verdict.call.value if each.effect.low is not None else UNTESTED


def _format_ratio(ratio: float) -> str:
    """With three decimals near 1."""
    return format_finely(ratio) if ratio < 2 else format_times(ratio)


def _draw_marks(context: Context, drawing: Drawing, rows: Rows, x: alt.X, y: alt.Y) -> list[Spec]:
    own = make_own_channels(context)
    tips = [
        alt.Tooltip("pair:N", title="ratio of"), alt.Tooltip("metric:N", title="by"),
        alt.Tooltip("number:N", title="ratio"), alt.Tooltip("verdict:N", title="verdict"),
        alt.Tooltip("blocks:Q", title="blocks"),
    ]  # fmt: skip
    known = [row for row in rows if row["low"] is not None]
    units = []
    for is_plain, width in ((False, 3.0), (True, 1.2)):
        some = [row for row in known if row["plain"] is is_plain]
        at = {"y": y, "color": own["color"]}
        units += draw_intervals(drawing, some, at, across=True, strokeWidth=width)
    hollow = {"filled": False, "fill": palette.PAPER[0], "strokeWidth": 1.8}
    for is_there, look in ((True, {"filled": True}), (False, hollow)):
        for is_primary, size in ((True, 130), (False, 60)):
            some = [
                row for row in rows
                if (row["low"] is not None) is is_there and row["primary"] is is_primary
            ]  # fmt: skip
            if some:
                at = {"x": x, "y": y, **own, "tooltip": tips}
                units.append(drawing.mark("point", some, at, size=size, opacity=1, **look))
    return units


def _draw_texts(
    drawing: Drawing, rows: Rows, y: alt.Y, named: Sequence[str], widths: tuple[int, int, int]
) -> Iterator[Spec]:
    """What is compared on the left, the numbers and the verdict on the right.

    `named`: the columns on the left; `widths` are pixels: left of the plot, of the plot, of the
    numbers.
    """
    left, width, numbers = widths
    ink, muted = palette.INK[0], palette.MUTED[0]
    columns = (
        ("metric", -left, "left", muted), ("pair", -GAP, "right", ink),
        ("number", width + GAP, "left", muted), ("verdict", width + GAP + numbers, "left", ink),
    )  # fmt: skip
    for is_primary, weight in ((True, 600), (False, 400)):
        some = [row for row in rows if row["primary"] is is_primary]
        for name, place, side, colour in columns if some else ():
            if name == "pair" and name not in named:
                continue  # it is the axis that names the only one
            look: dict[str, Any] = {
                "x": place, "baseline": "middle", "fontSize": 12,
                "align": side, "color": colour, "fontWeight": weight,
            }  # fmt: skip
            yield drawing.mark("text", some, {"y": y, "text": alt.Text(f"{name}:N")}, **look)


def _make_table(context: Context, chosen: _Chosen) -> PageTable:
    to = name_upper_bound(each.effect.pairs for each in (*chosen.drawn, *chosen.table_only))
    rows = [
        {
            "pair": f"{each.b} ÷ {each.a}", "metric": each.metric.label,
            **context.list_factor_values(each.point),
            "value": each.effect.ratio, "low": each.effect.low, "high": each.effect.high,
            "blocks": each.effect.pairs, "verdict": _name_verdict(each),
            "primary": each.primary, "drawn": drawn,
            "because": each.effect.missing_because or each.verdict.because,
        }
        for drawn, some in ((True, chosen.drawn), (False, chosen.table_only))
        for each in some
    ]  # fmt: skip
    shows = (
        Show("pair", "compared"), Show("metric", "by"),
        *context.factor_shows, Show("value", "ratio", "fine ratio"),
        Show("low", "from", "fine ratio"), Show("high", to, "fine ratio"),
        Show("blocks", "blocks", "count"), Show("verdict", "verdict"),
        Show("drawn", "drawn", "truth"),
    )  # fmt: skip
    return make_table(NAME, "Every comparison", shows, rows, primary=pl.Boolean, because=pl.String)


PLUGINS = (FigureKind(NAME, 1, "answer", _plot),)
