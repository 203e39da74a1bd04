"""How the verdict came about: the ratio of every block, and each interim analysis."""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from stithy.analysis.comparisons import ComparedPair, count_pairs
from stithy.analysis.effect import convert_log
from stithy.analysis.findings import answer_question
from stithy.analysis.statistics import BLOCKS_LEAST
from stithy.analysis.verdict import DIFFERENT, Stage, find_decided_from, list_interim_analyses
from stithy.report.blocks import Absent, Drawn, FigureKind
from stithy.report.context import Context
from stithy.report.drawing import palette, ratios
from stithy.report.drawing.chart import WIDTH, make_own_channels, make_x_axis
from stithy.report.drawing.compose import Drawing, Rows, Spec, merge_layers
from stithy.report.drawing.titles import describe_claim, explain_none
from stithy.report.tables import PageTable, Show, make_table
from stithy.report.words.wording import (
    format_apart,
    format_exactly,
    format_finely,
    format_plural,
    name_upper_bound,
)
from stithy.statements import Statement

ROOM = 1.5
"""Own: how many times farther than the farthest block an interval is drawn; then it is cut."""

AFTER = 0.16
"""Own: so far beside its last block stands what was known after it; else they hide each other."""

BLOCKS_LABELLED = 40
"""Own: with more blocks the axis has a number at the interim analyses alone."""

STRETCHED_FROM = 6.0
"""Own: an effect so many times as far from 1 as the boundary presses that to the line of 1."""


def _plot(context: Context) -> list[Drawn]:
    answered = answer_question(context.evidence) if len(context.evidence.candidates) > 1 else None
    shows = "how the verdict came about, block by block"
    if answered is None:
        return [Absent("verdict-by-block", shows, explain_none(context))]
    if answered.effect.pairs < BLOCKS_LEAST:
        because: str = Statement(
            "{blocks:+block} cannot give a verdict: at least {blocks_tested} are needed",
            blocks=answered.effect.pairs, blocks_tested=BLOCKS_LEAST,
        )  # fmt: skip
        return [Absent("verdict-by-block", shows, because)]
    if answered.effect.is_difference:
        because = f"{answered.metric.noun} is compared as a difference, and this figure has ratios"
        return [Absent("verdict-by-block", shows, because)]
    stages = list_interim_analyses(
        answered.effect.apart, answered.verdict.margin_share,
        context.evidence.primary.blocks_most, better=answered.metric.known.better,
        among=count_pairs(context.evidence), b_later=answered.effect.b_later,
        bounds=answered.effect.bounds,
    )  # fmt: skip
    rows = _list_rows(stages)
    scale, drawing = _choose_scale(rows, answered.verdict.margin_share), Drawing()
    interim = sum(stage.is_interim for stage in stages)
    return [
        drawing.figure(
            context, "verdict-by-block", _write_title(stages, answered),
            _draw_chart(context, drawing, answered, rows, scale), _make_table(stages),
            caption=f"{_write_caption(context, answered, scale)} {_explain_end(stages)}",
            description=f"Chart of the ratio of {answered.b} to {answered.a} against the "
            f"number of blocks: a dot for each of {len(stages)} blocks, and at "
            f"{format_plural(interim, 'interim analysis', 'interim analyses')} the mean so far "
            "with its interval, between the two lines of the boundary.",
        )
    ]  # fmt: skip


def _write_title(stages: Sequence[Stage], answered: ComparedPair) -> str:
    found, blocks = find_decided_from(stages), len(stages)
    if found is None:
        return f"After {blocks} blocks it is {describe_claim(answered)}"
    when = f"{blocks} blocks" if found.blocks == blocks else f"{found.blocks} of {blocks} blocks"
    return f"Decided by {when}: {describe_claim(answered)}"


def _write_caption(context: Context, answered: ComparedPair, scale: ratios.Scale) -> str:
    margin, pairs = format_exactly(answered.verdict.margin_share), count_pairs(context.evidence)
    chosen = f" (of a pair chosen among {pairs})" if pairs > 1 else ""
    axis = "on a logarithmic axis"
    if scale.near is not None:
        axis += " that is stretched near 1 to show the boundary"
    return (
        f"Ratio of {answered.b} to {answered.a} in {answered.metric.noun} at "
        f"{context.level(answered.point)}, {axis}. Dots are single blocks. Marks with bars are the "
        "interim analyses: the mean of all blocks so far, with its conservative interval. Nothing "
        "is decided between them. The broken lines are the boundary of the sequential "
        f"test{chosen}: a mean beyond them is a difference. The band is the margin of {margin}: an "
        "interval within it is equivalence."
    )


def _explain_end(stages: Sequence[Stage]) -> str:
    """What ended it, or what is still in the way, in numbers."""
    found = find_decided_from(stages)
    stage = found or stages[-1]
    line = math.copysign(stage.boundary or 0.0, stage.mean)  # on the side of the mean
    ends = convert_log(stage.mean), convert_log(line)
    mean, boundary = map(format_finely, ends)
    if mean == boundary and ends[0] != ends[1]:  # it must show on which side the mean lies
        mean, boundary = format_apart(*ends, "")
    at = f"At {stage.blocks} blocks the mean was {mean}"
    low, high = _find_ends(stage)
    if found is not None and stage.verdict.call in DIFFERENT:
        return f"{at}, beyond the boundary of {boundary}."
    interval = f"the interval {format_finely(low or 0.0)} to {format_finely(high or 0.0)}"
    if found is not None:
        return f"{at} and {interval}, within the margin."
    return f"{at}, not beyond the boundary of {boundary}, and {interval}, not within the margin."


def _find_ends(stage: Stage) -> tuple[float | None, float | None]:
    if stage.known is None:
        return None, None
    return convert_log(stage.known.low), convert_log(stage.known.high)


def _list_rows(stages: Sequence[Stage]) -> Rows:
    return [
        {
            "blocks": stage.blocks, "block_ratio": convert_log(stage.last),
            "value": convert_log(stage.mean), "low": _find_ends(stage)[0],
            "high": _find_ends(stage)[1],
            "boundary_low": None if stage.boundary is None else convert_log(-stage.boundary),
            "boundary_high": None if stage.boundary is None else convert_log(stage.boundary),
            "interim": stage.is_interim,
            "verdict": stage.verdict.call.value if stage.is_interim else None,
        }
        for stage in stages
    ]  # fmt: skip


def _draw_chart(
    context: Context, drawing: Drawing, answered: ComparedPair, rows: Rows, scale: ratios.Scale
) -> Spec:
    interims = [
        {**row, "candidate": answered.b, "after": row["blocks"] + AFTER}
        for row in rows
        if row["interim"]
    ]
    x, after = (
        _make_blocks_axis(rows, interims, "blocks"),
        _make_blocks_axis(rows, interims, "after"),
    )
    y = scale.axis("at", f"Ratio of {answered.metric.label}")
    margin = 1 + answered.verdict.margin_share
    band = [{"at": -math.log(margin), "to": math.log(margin)}]
    layers = [
        drawing.mark("rect", band, {"y": y, "y2": alt.Y2("to:Q")}, color=palette.GRID[0]),
        drawing.mark("rule", [{"at": 0.0}], {"y": y}, color=palette.AXIS[0], strokeWidth=1.5),
        *_draw_boundary(drawing, interims, after, y),
        _draw_blocks(drawing, rows, x, y), *_draw_means(context, drawing, interims, after, y),
    ]  # fmt: skip
    return merge_layers(layers, width=WIDTH, height=240)


def _make_blocks_axis(rows: Rows, interims: Rows, field: str) -> alt.X:
    """Blocks from the first to the last, by themselves or with what was known after them."""
    labelled = rows if len(rows) <= BLOCKS_LABELLED else interims
    return make_x_axis(
        field, "Blocks so far", (0.5, len(rows) + 0.5 + AFTER), format="d", grid=False,
        values=[row["blocks"] for row in labelled], labelOverlap="greedy",
    )  # fmt: skip


def _choose_scale(rows: Rows, margin_share: float) -> ratios.Scale:
    """All blocks and means, and intervals as far as `ROOM` allows; stretched where it must be."""
    near = ratios.find_ratio_domain(
        (row[key] for row in rows for key in ("block_ratio", "value")), 1.0
    )
    far = (
        min(max(row[key], near[0] / ROOM), near[1] * ROOM)
        for row in rows
        if row["interim"]
        for key in ("low", "high", "boundary_low", "boundary_high")
    )
    low, high = ratios.find_ratio_domain(
        [*near, *far, 1 / (1 + margin_share), 1 + margin_share], 1.0
    )
    bounds = [row["boundary_high"] for row in rows if row["interim"]]
    pressed = max(math.log(bounds[-1]), math.log1p(margin_share))
    if 0 < STRETCHED_FROM * pressed < max(-math.log(low), math.log(high)):
        return ratios.Scale((low, high), pressed).roomier(0.08)
    return ratios.Scale((low, high)).roomier(0.1)


def _draw_boundary(drawing: Drawing, interims: Rows, x: alt.X, y: alt.Y) -> list[Spec]:
    layers = []
    style: dict[str, Any] = {"color": palette.MARK[0], "clip": True, "opacity": 1}
    for side in ("boundary_low", "boundary_high"):
        some = [{"after": row["after"], "at": math.log(row[side])} for row in interims]
        at, dashed = {"x": x, "y": y}, {"strokeDash": [6, 4], "strokeWidth": 1.5}
        layers.append(drawing.mark("line", some, at, **dashed, **style))
        # A single interim analysis makes no line, so each has a mark of its own, too.
        tick = {"orient": "horizontal", "thickness": 1.5, "size": 36}
        layers.append(drawing.mark("tick", some, at, **tick, **style))
    named, beside = [{**some[0], "text": "boundary"}], {**at, "text": alt.Text("text:N")}
    look = {"align": "right", "dx": -23, "baseline": "middle"}
    return [*layers, drawing.mark("text", named, beside, **look, **style)]


def _draw_blocks(drawing: Drawing, rows: Rows, x: alt.X, y: alt.Y) -> Spec:
    dots = [
        {
            "blocks": row["blocks"], "value": row["block_ratio"],
            "at": math.log(row["block_ratio"]),
        }
        for row in rows
    ]  # fmt: skip
    tips = [
        alt.Tooltip("blocks:Q", title="block"),
        alt.Tooltip("value:Q", title="its ratio", format=".4f"),
    ]
    look = {"filled": True, "size": 28, "opacity": 1, "color": palette.MUTED[0]}
    return drawing.mark("point", dots, {"x": x, "y": y, "tooltip": tips}, **look)


def _draw_means(
    context: Context, drawing: Drawing, interims: Rows, x: alt.X, y: alt.Y
) -> list[Spec]:
    own = make_own_channels(context)
    tips = [
        alt.Tooltip("blocks:Q", title="blocks"),
        *(alt.Tooltip(f"{key}:Q", title=words, format=".4f") for key, words in _TOLD.items()),
        alt.Tooltip("verdict:N", title="verdict"),
    ]
    logs = {"at": "value", "from": "low", "to": "high"}
    placed = [{**row, **{key: math.log(row[of]) for key, of in logs.items()}} for row in interims]
    ends = {"x": x, "y": alt.Y("from:Q"), "y2": alt.Y2("to:Q"), "color": own["color"]}
    at = {"x": x, "y": y, **own, "tooltip": tips}
    return [
        drawing.mark("rule", placed, ends, strokeWidth=3, clip=True),
        drawing.mark("point", placed, at, filled=True, size=130, opacity=1),
    ]


_TOLD = {"value": "mean ratio", "low": "from", "high": "to", "boundary_high": "boundary"}


def _make_table(stages: Sequence[Stage]) -> PageTable:
    shows = (
        Show("blocks", "blocks so far", "count"),
        Show("block_ratio", "ratio of the last", "fine ratio"),
        Show("value", "mean ratio", "fine ratio"), Show("low", "from", "fine ratio"),
        Show("high", name_upper_bound(stage.blocks for stage in stages), "fine ratio"),
        Show("boundary_low", "boundary below", "fine ratio"),
        Show("boundary_high", "above", "fine ratio"),
        Show("interim", "interim analysis", "truth"), Show("verdict", "verdict"),
    )  # fmt: skip
    return make_table("verdict-by-block", "The verdict, block by block", shows, _list_rows(stages))


PLUGINS = (FigureKind("verdict-by-block", 2, "certainty", _plot),)
