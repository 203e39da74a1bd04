"""What limited the throughput: candidates against levels, a cell divided by its windows."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt
import polars as pl

from stithy.analysis.bottlenecks.judge import Limited
from stithy.analysis.bottlenecks.observation import bound_share
from stithy.analysis.bottlenecks.rules import RULES
from stithy.analysis.evidence import Window
from stithy.analysis.findings import find_limits
from stithy.point import Point, format_value
from stithy.report.context import Context
from stithy.report.drawing import palette
from stithy.report.drawing.chart import WIDTH, level_tip
from stithy.report.drawing.compose import Drawing, Rows, Spec, layer, x_at, y_at
from stithy.report.drawing.palette import INVALID, BottleneckStyle, bottleneck_styles
from stithy.report.figure import Absent, Drawn, FigureKind
from stithy.report.findings.limits import describe_in_short
from stithy.report.tables import PageTable, Show

NAME = "limits"

ROW_HEIGHT = 34
NAMES_WIDTH = 130
LETTER_WIDTH = 14
"""Pixels that a letter needs; a narrower part of a cell has its colour alone, and its tooltip."""

GAP_SHARE = 0.06
"""Of a cell, left free between neighbours."""


def _plot(context: Context) -> list[Drawn]:
    """One strip, or why it is not there."""
    windows = [window for window in context.drawn if _find_limit(context, window)]
    if not any(window.id in context.limited for window in windows):
        because = "no window has samples of the collectors"
        return [Absent("limits", "what limited each window", because)]
    found = find_limits(context.evidence, context.limited)
    title = "What limited the throughput, by candidate and level"
    if found is not None and len(found.of) <= 3:
        title = describe_in_short(found, context.level_unit)
    drawing = Drawing()
    known = bottleneck_styles(is_open=context.is_open)
    parts = list(_list_parts(context, windows, known))
    return [
        drawing.figure(
            context, "limits", title, _draw_strip(context, drawing, parts, known),
            _make_table(context),
            caption=_write_caption(parts),
            description="A row for each candidate and a cell for each level; the cells "
            "are divided by how many windows each limit had, marked by colour and letter.",
        )
    ]  # fmt: skip


def _find_limit(context: Context, window: Window) -> str | None:
    """What limited a window; None where that was not looked at."""
    if not window.valid:
        return INVALID
    return context.limited[window.id].kind if window.id in context.limited else None


def _write_caption(parts: Rows) -> str:
    text = (
        "Each resource, and each part of the users' time, sets an upper bound on the throughput. "
        "What limited a window is the tightest bound that it reached. Each cell is divided by the "
        "number of windows per limit."
    )
    if any(part["limit"] == INVALID for part in parts):
        text += " Invalid windows are hollow."
    return text


def _list_parts(
    context: Context, windows: Sequence[Window], known: dict[str, BottleneckStyle]
) -> Iterator[Any]:
    """The parts of every cell from left to right: where, which limit, how many windows."""
    columns = {point: index for index, point in enumerate(context.evidence.levels)}
    cell = (WIDTH - NAMES_WIDTH) / len(columns)
    counts: dict[tuple[str, Point], Counter[str]] = {}
    for window in windows:
        here = counts.setdefault((window.candidate, window.point), Counter())
        here[_find_limit(context, window) or ""] += 1
    for (name, point), limits in counts.items():
        total, begun = sum(limits.values()), 0
        for limit in sorted(limits, key=list(known).index):
            share = limits[limit] / total * (1 - GAP_SHARE)
            left = columns[point] + begun / total * (1 - GAP_SHARE)
            begun += limits[limit]
            yield {
                "candidate": name, **context.place(point), "from": left, "to": left + share,
                "middle": left + share / 2, "limit": limit, "label": known[limit].label,
                "letter": known[limit].letter if share * cell >= LETTER_WIDTH else "",
                "windows": limits[limit],
            }  # fmt: skip


def _draw_strip(
    context: Context, drawing: Drawing, parts: Rows, known: dict[str, BottleneckStyle]
) -> Spec:
    names = [n for n in context.evidence.candidates if any(p["candidate"] == n for p in parts)]
    levels = context.evidence.levels
    x = alt.X("from:Q", axis=None, scale=alt.Scale(domain=[0, len(levels)], nice=False))
    y = alt.Y(
        "candidate:N", title=None, sort=None, scale=alt.Scale(domain=names, paddingInner=0.18),
        axis=alt.Axis(domain=False, ticks=False, labelLimit=NAMES_WIDTH - 10),
    )  # fmt: skip
    data = [{key: p[key] for key in (context.axis.name, *_DRAWN)} for p in parts]
    there = {part["limit"] for part in parts}
    shown = [each for key, each in known.items() if key in there]
    ink, above, text = palette.INK[0], {"fontSize": 12, "baseline": "bottom"}, alt.Text("text:N")
    charts = [
        _draw_parts(context, drawing, data, x, y, shown),
        drawing.mark(
            "text", data, {"x": alt.X("middle:Q"), "y": y, "text": alt.Text("letter:N")},
            color=ink, fontSize=12, fontWeight=600,
        ),
        drawing.mark(
            "text", _list_heads(context), {"x": alt.X("from:Q"), "y": y_at(-6), "text": text},
            color=palette.MUTED[0], **above,
        ),
        drawing.mark(
            "text", [{"text": context.axis.title}], {"x": x_at(-6), "y": y_at(-6), "text": text},
            color=ink, align="right", **above,
        ),
    ]  # fmt: skip
    return layer(charts, width=WIDTH - NAMES_WIDTH, height=ROW_HEIGHT * len(names))


_DRAWN = ("candidate", "from", "to", "middle", "label", "letter", "windows")


def _list_heads(context: Context) -> Rows:
    """The levels above the cells, each in the middle of its own."""
    middle = (1 - GAP_SHARE) / 2
    values = [format_value(point.values[context.axis.name]) for point in context.evidence.levels]
    return [{"from": index + middle, "text": text} for index, text in enumerate(values)]


def _draw_parts(
    context: Context, drawing: Drawing, data: Rows, x: alt.X, y: alt.Y,
    shown: Sequence[BottleneckStyle],
) -> Spec:  # fmt: skip
    legend = alt.Legend(
        title=None, orient="bottom", direction="horizontal", columns=3, columnPadding=18,
        symbolType="square", symbolSize=160, symbolStrokeColor=palette.AXIS[0],
        symbolStrokeWidth=1,
    )  # fmt: skip
    scale = alt.Scale(domain=[e.label for e in shown], range=[e.colour for e in shown])
    tips = [
        alt.Tooltip("candidate:N"), level_tip(context),
        alt.Tooltip("label:N", title="limited by"), alt.Tooltip("windows:Q"),
    ]  # fmt: skip
    colour = alt.Color("label:N", scale=scale, legend=legend)
    at = {"x": x, "x2": alt.X2("to:Q"), "y": y, "color": colour, "tooltip": tips}
    return drawing.mark("rect", data, at, stroke=palette.AXIS[0], strokeWidth=1)


_SAMPLED = ("storage", "device-latency", "log", "locks", "driver")
"""What may be a share of samples; of few it has an interval beside it."""


def _count_samples(limited: Limited) -> int | None:
    """Of how many samples shares of the users' time are; None where none is of samples."""
    known = [each.samples for each in limited.judged if each.samples is not None]
    return max([*known, limited.storage_samples or 0], default=0) or None


def _list_shows(name: str, frame: pl.DataFrame) -> Iterator[Show]:
    """A rule's share, and the ends of its interval where it has one anywhere."""
    yield Show(name, RULES[name].heading.lower(), "share")
    if name in _SAMPLED and frame[f"{name}_low"].count():
        yield Show(f"{name}_low", "from", "share")
        yield Show(f"{name}_high", "to (95 %)", "share")


def _list_bounds(limited: Limited) -> Iterator[tuple[str, float]]:
    """The ends of the intervals of shares that few samples are behind."""
    shares = [("storage", limited.storage_share, limited.storage_samples)]
    shares += [(each.rule, each.share, each.samples) for each in limited.judged]
    for name, share, samples in shares:
        if (known := bound_share(share, samples)) is not None:
            yield from zip((f"{name}_low", f"{name}_high"), known, strict=True)


def _make_table(context: Context) -> PageTable:
    """How much of each bound each window reached; a dash where a rule could not speak."""
    rows = []
    for window in context.evidence.windows:
        if (limited := context.limited.get(window.id)) is not None:
            rows.append({
                "window_id": window.id, "candidate": window.candidate,
                "point": str(window.point),
                "block": window.block, "valid": window.valid, "limit": limited.kind,
                "storage_share": limited.storage_share,
                "samples": _count_samples(limited),
                **{each.rule: each.share for each in limited.judged},
                **dict(_list_bounds(limited)),
            })  # fmt: skip
    types: dict[str, Any] = {
        "window_id": pl.String, "candidate": pl.String, "point": pl.String, "block": pl.Int64,
        "valid": pl.Boolean, "limit": pl.String, "storage_share": pl.Float64,
        "samples": pl.Int64, **dict.fromkeys(RULES, pl.Float64),
        **{f"{name}_{end}": pl.Float64 for name in _SAMPLED for end in ("low", "high")},
    }  # fmt: skip
    frame = pl.DataFrame(rows, schema=types)
    reported = [name for name in RULES if frame[name].count()]
    shows = (
        Show("window_id", "window", "id"), Show("limit", "limited by"),
        *(show for name in reported for show in _list_shows(name, frame)),
    )  # fmt: skip
    return PageTable("limits", "Share of each bound that each window reached", shows, frame)


PLUGINS = (FigureKind(NAME, 25, "limits", _plot, ("load",)),)
