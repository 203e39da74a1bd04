"""What limited each window, and the stalls within windows."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt
import polars as pl

from stithy.analysis.bottlenecks.judge import Cause, Limited
from stithy.analysis.bottlenecks.observation import bound_share, state_sampled
from stithy.analysis.bottlenecks.observe import count_pool_users
from stithy.analysis.bottlenecks.rules import RULES
from stithy.analysis.bottlenecks.stalls import (
    CAUSES,
    SIGNS,
    ServerStall,
    explain_stalls,
    find_stalled_seconds,
)
from stithy.analysis.comparisons import find_causes
from stithy.analysis.evidence import Window
from stithy.analysis.findings import find_limits
from stithy.point import Point, format_value
from stithy.report.blocks import (
    APPENDIX,
    Absent,
    Block,
    Drawn,
    SectionKind,
    set_figures,
    set_grid,
    set_open,
    set_paragraph,
)
from stithy.report.context import Context
from stithy.report.drawing import palette
from stithy.report.drawing.chart import WIDTH, make_level_tip
from stithy.report.drawing.compose import Drawing, Rows, Spec, merge_layers, place_x, place_y
from stithy.report.drawing.palette import BottleneckStyle, list_bottleneck_styles
from stithy.report.findings.limits import describe_in_short
from stithy.report.page import Page
from stithy.report.tables import PageTable, Show, make_table
from stithy.statements import Statement, join_list, join_parts
from stithy.validity import INVALID

METHOD = (
    "A bound is the throughput that one resource allows if everything else takes no time. A window "
    "at 80 % of a bound could reach at most 1.25 times its throughput, even if all other resources "
    "took no time. A CPU or a device is a bottleneck from 80 % of its bound on. A share of the "
    "users' time is one from 50 % on. The tightest of these bounds is named. "
    '"Several" means that no single bound holds. "Not determined" means that none holds and one '
    'could not be judged. "Storage, at most" is the share of the users\' time in waits for data '
    "and for the log. It includes waits for a lock or a connection whose holder may have waited "
    "for storage. Sessions are sampled once per second. Waits for storage count at most as long "
    "as the devices under the volumes had a request in progress."
)


def _set_limited(page: Page) -> Iterator[Block]:
    yield from set_figures(page.find_drawn("bottlenecks"))
    if not page.tables["limited"].frame.is_empty():
        yield from set_paragraph(METHOD)
        yield from set_grid(page.tables["limited"])
        yield from set_open(page.tables["stalls"])


def list_limited_windows(context: Context) -> PageTable:
    """What limited each window, what was seen, what else held, and what could not be reported."""
    shows: tuple[Show, ...] = (
        Show("window_id", "Window", "id"), Show("by", "Limited by"), Show("says", "Observation"),
        Show("also", "Other limits reached"), Show("storage_share", "Storage, at most", "share"),
        Show("storage_low", "from", "share"), Show("storage_high", "to (95 %)", "share"),
        Show("silent", "Not determined"),
    )  # fmt: skip
    caption, rows = "What limited each window", list(_list_rows(context))
    silent = {row["silent"] for row in rows}
    if len(silent) == 1 and (everywhere := silent.pop()):
        shows = tuple(show for show in shows if show.column != "silent")
        caption += f"; not determined in any window: {everywhere}"
    table = make_table("limited", caption, shows, rows, silent=pl.String)
    return table.told("window_id", "by", "says", "storage_share")


def _list_rows(context: Context) -> Iterator[dict[str, Any]]:
    known = list_bottleneck_styles(is_open=context.is_open)
    for window in context.evidence.windows:
        if (limited := context.limited.get(window.id)) is not None:
            # The interval of storage's part stands where few samples are behind it.
            low, high = bound_share(limited.storage_share, limited.storage_samples) or (None, None)
            silent = [
                Statement(f"{RULES[each.rule].words}: {{because}}", because=each.because)
                for each in limited.silent
            ]
            # Where nothing limited by itself, the two bounds that came nearest are said.
            nearest = [each.says for each in limited.judged if each.holds is False][:2]
            yield {
                "window_id": window.id, "by": known[limited.kind].words,
                "says": limited.by.says if limited.by else join_parts(nearest, "; ") or None,
                "also": join_parts([each.says for each in limited.also], "; ") or None,
                "silent": join_parts(silent, "; ") or None, "storage_share": limited.storage_share,
                "storage_low": low, "storage_high": high,
            }  # fmt: skip


def list_limited_levels(context: Context) -> PageTable:
    """What limited each candidate at each level."""
    evidence = context.evidence
    rows = []
    for point in evidence.points:
        row = context.list_factor_values(point)
        found = dict(find_causes(evidence, context.limited, point).of)
        for name in evidence.candidates:
            cause = found.get(name)
            row[f"by:{name}"] = None if cause is None else _format_cause(context, cause)
        rows.append(row)
    shows = list(context.factor_shows)
    shows += [Show(f"by:{name}", f"Limited {name}") for name in evidence.candidates]
    rows = rows if context.limited else []
    return make_table("limited-levels", "What limited each candidate", shows, rows)


def _format_cause(context: Context, cause: Cause) -> str:
    text = list_bottleneck_styles(is_open=context.is_open)[cause.limit].words
    rule = RULES.get(cause.limit)
    if rule is not None and rule.shown and cause.share is not None:
        text = Statement(
            "{by} ({share})",
            by=text,
            limit=cause.limit,
            share=state_sampled(cause.share, cause.samples),
        )
    if cause.windows < cause.windows_all:
        text = Statement("{by}, in {limited} of {of_windows} windows", by=text,
                         limited=cause.windows, of_windows=cause.windows_all)  # fmt: skip
    return text


def make_stalls_table(context: Context) -> PageTable:
    """One row a candidate, level and cause, over its valid windows; empty where none stalled."""
    shows = (
        Show("candidate", "Candidate"),
        *context.factor_shows,
        Show("cause", "Cause"), Show("windows", "Windows", "count"),
        Show("seconds", "Stalled seconds", "count"), Show("measured_s", "of seconds", "count"),
        Show("share", "Users' time", "share"),
    )  # fmt: skip
    known = _find_stalls(context)
    rows = [
        row
        for point in context.evidence.points
        for name in context.evidence.candidates
        for row in _list_stall_rows(context, known, name, point)
    ]
    return make_table("stalls", "Stalls of all users", shows, rows)


def _find_stalls(context: Context) -> tuple[ServerStall, ...]:
    run, stalled = context.run, find_stalled_seconds(context.run.seconds)
    names = {name for name, lost in stalled.items() if lost}
    samples = pl.concat([run.samples.of(each, signs, names) for each, signs in SIGNS.items()])
    pooled = count_pool_users(context.evidence)
    return explain_stalls(run.seconds, context.sampled.checkpoints, samples, pooled, context.engine)


def _list_stall_rows(
    context: Context, known: Sequence[ServerStall], name: str, point: Point
) -> Iterator[dict[str, Any]]:
    seen = find_stalled_seconds(context.run.seconds)
    windows = {each.id for each in context.evidence.valid_at(name, point)} & seen.keys()
    measured = context.run.seconds.filter(transaction="all", phase="measure")
    measured_s = measured.filter(pl.col("window_id").is_in(list(windows))).height
    for cause, words in CAUSES.items():
        mine = [each for each in known if each.window_id in windows and each.cause == cause]
        if mine:
            yield {
                "candidate": name, **context.list_factor_values(point), "cause": words,
                "windows": len({each.window_id for each in mine}), "seconds": len(mine),
                "measured_s": measured_s,
                "share": sum(each.lost_share for each in mine) / measured_s,
            }  # fmt: skip


def describe_stalls(context: Context) -> Iterator[str]:
    """For each candidate at the level of the answer how long its users stood still, and why."""
    point = context.answer_level
    if point is None:
        return
    known = _find_stalls(context)
    for name in context.evidence.candidates:
        rows = list(_list_stall_rows(context, known, name, point))
        if rows:
            causes = [
                Statement("{cause} {by_cause:share}", cause=row["cause"], by_cause=row["share"])
                for row in rows
            ]
            yield Statement(
                "{at:sentence}, all users of {candidate} stalled in {stalled:+second} of "
                "{measured_s:,}, {stalled_share:share} of their time: {causes}.",
                at=context.at(point), candidate=name, causes=join_list(causes),
                stalled=sum(row["seconds"] for row in rows), measured_s=rows[0]["measured_s"],
                stalled_share=sum(row["share"] for row in rows),
            )  # fmt: skip


ROW_HEIGHT = 34
NAMES_WIDTH = 130
LETTER_WIDTH = 14
"""Pixels that a letter needs; a narrower part of a cell has its colour alone, and its tooltip."""

GAP_SHARE = 0.06
"""Of a cell, left free between neighbours."""


def _draw_figures(context: Context) -> list[Drawn]:
    windows = [window for window in context.drawn if _find_limit(context, window)]
    if not any(window.id in context.limited for window in windows):
        because = "no window has samples of the collectors"
        return [Absent("limits", "what limited each window", because)]
    found = find_limits(context.evidence, context.limited)
    title = "What limited the throughput, by candidate and level"
    if found is not None and len(found.of) <= 3:
        title = describe_in_short(found, context.level_unit)
    drawing = Drawing()
    known = list_bottleneck_styles(is_open=context.is_open)
    parts = list(_list_parts(context, windows, known))
    return [
        drawing.figure(
            context, "limits", title, _draw_strip(context, drawing, parts, known),
            _make_bounds_table(context),
            caption=_write_caption(parts),
            description="A row for each candidate and a cell for each level; the cells "
            "are divided by how many windows each limit had, marked by colour and letter.",
        )
    ]  # fmt: skip


def _find_limit(context: Context, window: Window) -> str | None:
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
    heads = [
        {"from": index + (1 - GAP_SHARE) / 2, "text": format_value(point.values[context.axis.name])}
        for index, point in enumerate(levels)
    ]
    charts = [
        _draw_parts(context, drawing, data, x, y, shown),
        drawing.mark(
            "text", data, {"x": alt.X("middle:Q"), "y": y, "text": alt.Text("letter:N")},
            color=ink, fontSize=12, fontWeight=600,
        ),
        drawing.mark(
            "text", heads, {"x": alt.X("from:Q"), "y": place_y(-6), "text": text},
            color=palette.MUTED[0], **above,
        ),
        drawing.mark(
            "text", [{"text": context.axis.title}],
            {"x": place_x(-6), "y": place_y(-6), "text": text},
            color=ink, align="right", **above,
        ),
    ]  # fmt: skip
    return merge_layers(charts, width=WIDTH - NAMES_WIDTH, height=ROW_HEIGHT * len(names))


_DRAWN = ("candidate", "from", "to", "middle", "label", "letter", "windows")


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
        alt.Tooltip("candidate:N"), make_level_tip(context),
        alt.Tooltip("label:N", title="limited by"), alt.Tooltip("windows:Q"),
    ]  # fmt: skip
    colour = alt.Color("label:N", scale=scale, legend=legend)
    at = {"x": x, "x2": alt.X2("to:Q"), "y": y, "color": colour, "tooltip": tips}
    return drawing.mark("rect", data, at, stroke=palette.AXIS[0], strokeWidth=1)


_SAMPLED = ("storage", "device-latency", "log", "locks", "driver")
"""What may be a share of samples; of few it has an interval beside it."""


def _list_bounds(limited: Limited) -> Iterator[tuple[str, float]]:
    """The ends of the intervals of shares that few samples are behind."""
    shares = [("storage", limited.storage_share, limited.storage_samples)]
    shares += [(each.rule, each.share, each.samples) for each in limited.judged]
    for name, share, samples in shares:
        if (known := bound_share(share, samples)) is not None:
            yield from zip((f"{name}_low", f"{name}_high"), known, strict=True)


def _make_bounds_table(context: Context) -> PageTable:
    """How much of each bound each window reached; a dash where a rule could not speak."""
    rows = []
    for window in context.evidence.windows:
        if (limited := context.limited.get(window.id)) is not None:
            known = [each.samples for each in limited.judged if each.samples is not None]
            rows.append({
                "window_id": window.id, "candidate": window.candidate,
                "point": str(window.point),
                "block": window.block, "valid": window.valid, "limit": limited.kind,
                "storage_share": limited.storage_share,
                "samples": max([*known, limited.storage_samples or 0]) or None,
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
    shows = [Show("window_id", "window", "id"), Show("limit", "limited by")]
    for name in (name for name in RULES if frame[name].count()):
        shows.append(Show(name, RULES[name].heading.lower(), "share"))
        if name in _SAMPLED and frame[f"{name}_low"].count():
            shows.append(Show(f"{name}_low", "from", "share"))
            shows.append(Show(f"{name}_high", "to (95 %)", "share"))
    return PageTable("limits", "Share of each bound that each window reached", tuple(shows), frame)


TABLES = (list_limited_windows, list_limited_levels, make_stalls_table)
PLUGINS = (
    SectionKind(
        "bottlenecks", APPENDIX + 100, "What limited each window", _set_limited,
        data=("limited-levels",), needs_tables=("load",),
        draw_figures=lambda page: _draw_figures(page.context),
        make_tables=lambda page: [make(page.context) for make in TABLES],
    ),
)  # fmt: skip
