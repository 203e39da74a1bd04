"""Second by second: throughput, response time, who waits and device rate, one figure a level.

Drawn are the windows of the level's median block and those with a flag; the table has all.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from stithy.activity import get_level_factor
from stithy.analysis.checks.windows import NOT_STEADY
from stithy.analysis.evidence import Window
from stithy.analysis.gathering import MedianBlock, find_median_block
from stithy.metrics import ALL, count_values_needed
from stithy.report import metrics
from stithy.report.blocks import Absent, Drawn, Figure, FigureKind
from stithy.report.context import Context
from stithy.report.drawing import annotations, palette
from stithy.report.drawing.annotations import MS_PER_S, make_target_line
from stithy.report.drawing.chart import (
    NUMBERS,
    WIDTH,
    Domain,
    LimitLine,
    draw_limits,
    find_domain,
    list_log_ticks,
    make_strip_axis,
)
from stithy.report.drawing.compose import (
    POINTS_MOST,
    Drawing,
    Rows,
    Spec,
    make_unit,
    merge_layers,
    place_in_grid,
    place_stacked,
    place_x,
    place_y,
)
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import describe_block, format_count
from stithy.units import format_list
from stithy.validity import Flag

QUANTITIES = ("done", "p95", "waiting", "device")
TITLES = {"p95": "p95 (ms)", "waiting": "Waiting", "device": "Device ops/s"}
PER_MINUTE, PER_SECOND = ("TPM", "minute", 60), ("TPS", "second", 1)
"""What is done: by what it is counted, and how many seconds that are."""

TICKS_MOST, LETTER = 4, 6.8
"""Own: ticks of a strip on a logarithmic axis; pixels of a digit beside it."""

FLAGGED_MOST = 6
"""Own: of a level; more lines cannot be distinguished, and every one makes the page longer."""

Flagged = tuple[Window, Flag]
"""A window, and its flag that weighs most."""


def _plot(context: Context) -> list[Drawn]:
    blocks = (find_median_block(context.evidence, point) for point in context.evidence.levels)
    shown = [_Shown(block, *_list_flagged(context, block)) for block in blocks if block]
    marked = annotations.find_marks(
        context, {window.id for each in shown for window in each.windows}
    )
    figures: list[Drawn] = []
    # One level after the other: those of a large study are too many to be kept at once.
    for each in shown:
        here = _read_seconds(context, each)
        if not here.is_empty():
            figures.append(_draw_level(context, each, here, marked))
    lacking = "one-second rows" if context.run.seconds.is_empty() else "numbers"
    return figures or [Absent("seconds", "one-second strips", f"no window has {lacking}")]


@dataclass(frozen=True)
class _Shown:
    """What of a level is drawn: its median block, and other windows that have a flag.

    `left_out`: how many more have one.
    """

    block: MedianBlock
    flagged: tuple[Flagged, ...]
    left_out: int

    @property
    def windows(self) -> tuple[Window, ...]:
        return (*self.block.windows.values(), *(window for window, _ in self.flagged))


def _list_flagged(context: Context, block: MedianBlock) -> tuple[tuple[Flagged, ...], int]:
    """The flagged windows beside a block, the invalid ones first; and how many are not drawn.

    A note that every window of the level has tells none of them apart, and flags none.
    """
    level = [each for each in context.drawn if each.point == block.point and each.measured]
    common = set.intersection(*({reason.flag for reason in each.reasons} for each in level))
    others = []
    for window in level:
        flags = (reason.flag for reason in window.reasons)
        flags = (flag for flag in flags if flag.invalidates or flag not in common)
        weightiest = min(flags, key=_rank_flag, default=None)
        if weightiest and window is not block.windows.get(window.candidate):
            others.append((window, weightiest))
    others.sort(key=lambda each: _rank_flag(each[1]))
    return tuple(others[:FLAGGED_MOST]), max(0, len(others) - FLAGGED_MOST)


def _rank_flag(flag: Flag) -> int:
    return 0 if flag.invalidates else 1 if flag is NOT_STEADY else 2


def _read_seconds(context: Context, shown: _Shown) -> pl.DataFrame:
    """Throughput, p95, who waits and device rate by window and second of a level, long form."""
    bounds = context.run.window.select("window_id", "candidate", "point", "block")
    here = context.placed(bounds.filter(pl.col("point") == str(shown.block.point)))
    # In the drain no user starts anything: its last, partial second would look like a stall.
    seconds = context.run.seconds.filter(pl.col("phase") != "drain")
    waited = (seconds["waiting"] > 0).any()
    mine = seconds.join(here, on="window_id", how="semi")
    done, waiting = pl.col("committed") + pl.col("rolled_back"), pl.col("waiting")
    enough = pl.col("response_p95_s").is_not_null() & (done >= count_values_needed(95))
    rates = [metrics.OPERATIONS["read"][0], metrics.OPERATIONS["write"][0]]
    samples = context.read_by_second(metrics.BLOCK, rates, _choose_sampled(context, shown, here))
    devices = samples.group_by("window_id", "subject", "second").agg(pl.col("value").sum())
    # The busiest, for stacked devices see the same operations.
    busiest = devices.group_by("window_id", "second").agg(pl.col("value").max())
    frame = pl.concat(
        [
            _select_strip("done", mine, done * _choose_rate(context)[2]),
            _select_strip("p95", mine.filter(enough), pl.col("response_p95_s")),
            # Where nobody ever waited, at any level, a strip of zeros would tell nothing.
            _select_strip("waiting", mine.filter(waiting.is_not_null() & waited), waiting),
            _select_strip("device", busiest, pl.col("value")),
        ]
    )
    return frame.join(here, on="window_id", how="inner").sort(
        "candidate", "block", "quantity", "second"
    )


def _select_strip(quantity: str, seconds: pl.DataFrame, value: pl.Expr) -> pl.DataFrame:
    named = pl.lit(quantity).alias("quantity")
    return seconds.select("window_id", "second", named, value.cast(pl.Float64).alias("value"))


def _choose_sampled(context: Context, shown: _Shown, here: pl.DataFrame) -> Collection[str]:
    """The windows of a level of which samples are read: of very many those that are seen.

    Samples of thousands that nobody sees would take as long as all the rest.
    """
    if len(context.evidence.windows) > POINTS_MOST:
        return {window.id for window in shown.windows}
    return set(here["window_id"])


def _draw_level(
    context: Context, shown: _Shown, here: pl.DataFrame, marked: pl.DataFrame
) -> Figure:
    point = shown.block.point
    word = point.slug if point.others else f"{point.level}-{get_level_factor().name}"
    name = f"seconds-{word}"
    drawing = Drawing()
    rate, per, _ = _choose_rate(context)
    wide = here.pivot(
        on="quantity", on_columns=QUANTITIES,
        index=["window_id", "candidate", "block", "second"], values="value",
    )  # fmt: skip
    return drawing.figure(
        context, name, f"{context.level(point)}: {_describe_swing(context, shown.block, here)}",
        _draw_strips(context, drawing, shown, here, marked),
        PageTable(
            name,
            f"One-second values {context.at(point)}",
            (
                Show("candidate", "candidate"), Show("block", "block", "count"),
                Show("second", "second", "count"), Show(rate.lower(), rate, "count"),
                Show("p95", "response p95", "duration"),
                *([Show("waiting", "waiting", "count")] if _explain_waiting(here) else []),
                Show("device", "device operations per second", "rate"),
            ),
            wide.sort("candidate", "block", "window_id", "second").rename({"done": rate.lower()}),
        ),
        caption=_write_caption(context, shown, here, marked),
        description="Line charts over the seconds of the windows: transactions per "
        f"{per}, 95th percentile of response time, operations of the busiest device.",
    )  # fmt: skip


def _describe_swing(context: Context, block: MedianBlock, here: pl.DataFrame) -> str:
    """Between which values the throughput of the block's measured seconds swung."""
    measured = context.run.seconds.filter(pl.col("phase") == "measure").select(
        "window_id", "second"
    )
    valid = [window.id for window in block.windows.values() if window.valid]
    rate = _choose_rate(context)[0]
    chosen = here.filter((pl.col("quantity") == "done") & pl.col("window_id").is_in(valid))
    done = chosen.join(measured, on=["window_id", "second"])
    spans = {
        name: (min(mine), max(mine))
        for name in context.evidence.candidates
        if (mine := done.filter(pl.col("candidate") == name)["value"].to_list())
    }
    if not spans:
        return "no valid window"
    if len(spans) > 3:
        widest = max(spans, key=lambda name: spans[name][1] / max(spans[name][0], 1.0))
        few = len(spans) < len(context.evidence.candidates)
        among = f" of {len(spans)} candidates with a valid window" if few else ""
        return f"{_format_span(widest, spans[widest], rate)}, the widest range{among}"
    return "; ".join(_format_span(name, span, rate) for name, span in spans.items())


def _format_span(name: str, span: tuple[float, float], rate: str) -> str:
    return f"{name} between {format_count(span[0])} and {format_count(span[1])} {rate}"


def _choose_rate(context: Context) -> tuple[str, str, int]:
    """By what the workload counts: all transactions per minute, or per second."""
    return PER_SECOND if context.evidence.throughput.known.unit == "1/s" else PER_MINUTE


def _write_caption(
    context: Context, shown: _Shown, here: pl.DataFrame, marked: pl.DataFrame
) -> str:
    windows = [window.id for window in shown.windows]
    said, has_p95 = describe_block(shown.block), (here["quantity"] == "p95").any()
    parts = [
        f"Every second of {said}, with one column per candidate. The ramp-up is shaded.",
        _explain_flagged(shown),
        "" if has_p95 else "There is no chart of p95, because every second has too few values.",
        _explain_waiting(here),
        _count_checkpoints(shown.block),
        annotations.explain_marks(annotations.select_marks(marked, windows, "done")),
    ]
    if here["window_id"].n_unique() > len(windows):
        parts.append("All other windows are in the data only.")
    return " ".join(part for part in parts if part)


def _explain_flagged(shown: _Shown) -> str:
    if not shown.flagged:
        return ""
    each = [
        f"block {window.block}{' measured again' if window.attempt else ''} of "
        f"{window.candidate} ({flag.value})"
        for window, flag in shown.flagged
    ]
    more = f" {shown.left_out:,} more are in the data only." if shown.left_out else ""
    is_any_invalid = any(not each.valid for each, _ in shown.flagged)
    dotted = " Dotted lines are invalid windows." if is_any_invalid else ""
    return f"Thin lines are flagged windows: {format_list(each)}.{more}{dotted}"


def _explain_waiting(here: pl.DataFrame) -> str:
    if here.filter(pl.col("quantity") == "waiting").is_empty():
        return ""
    return "Waiting: transactions that were due, but had not begun at the end of the second."


def _count_checkpoints(block: MedianBlock) -> str:
    counts = {name: each.row["checkpoints_inside"] for name, each in block.windows.items()}
    texts = [f"{number} with {name}" for name, number in counts.items() if number is not None]
    if not texts:
        return "Checkpoints were not counted."
    return f"Complete checkpoints during the measurement: {format_list(texts)}."


@dataclass(frozen=True)
class _WindowStrip:
    """One chart: a candidate's quantity over the seconds, and where it stands in the grid.

    `lines`: one row a window, its seconds and values as lists.
    """

    candidate: str
    quantity: str
    title: str
    lines: Rows
    marks: Rows
    limits: tuple[LimitLine, ...]
    domain: Domain
    last_second: int
    extent: int
    width: int
    left: bool
    top: bool
    bottom: bool


def _draw_strips(
    context: Context, drawing: Drawing, shown: _Shown, here: pl.DataFrame, marked: pl.DataFrame
) -> Spec:
    ids = [window.id for window in shown.windows]
    drawn = here.filter(pl.col("window_id").is_in(ids))
    there = {window.candidate for window in shown.windows}
    names = [name for name in context.evidence.candidates if name in there]
    present = [quantity for quantity in QUANTITIES if quantity in set(drawn["quantity"])]
    columns = min(len(names), 3)
    last_second = int(max(drawn["second"].to_list(), default=0))
    limits: dict[str, tuple[LimitLine, ...]] = dict.fromkeys(present, ())
    # The study's limit stands in the strip of response times, where it is of what that shows.
    limits["p95"] = make_target_line(context, ALL, "p95")
    domains = {}
    for quantity in present:
        value = pl.col("value") * (MS_PER_S if quantity == "p95" else 1.0)
        rows = drawn.filter(quantity=quantity).select(value).to_dicts()
        rows += [{"value": limit.value} for limit in limits[quantity]]
        domains[quantity] = find_domain(rows, log=quantity == "p95")
    widest = max(len(f"{high:,.0f}") for _, high in domains.values())
    extent = round(widest * LETTER)
    titles = {"done": _choose_rate(context)[0], **TITLES}
    stacks = []
    for index, name in enumerate(names):
        mine = [window for window in shown.windows if window.candidate == name]
        charts = [
            _draw_strip(
                context, drawing,
                _WindowStrip(
                    name, quantity, titles[quantity], _list_lines(drawn, quantity, mine, shown),
                    annotations.select_marks(marked, [window.id for window in mine], quantity),
                    limits[quantity], domains[quantity], last_second, extent,
                    (WIDTH + 20) // columns - 45,
                    index % columns == 0, quantity == present[0], quantity == present[-1],
                ),
            )
            for quantity in present
        ]  # fmt: skip
        stacks.append(place_stacked(charts, spacing=18))
    return place_in_grid(stacks, columns)


def _list_lines(drawn: pl.DataFrame, quantity: str, windows: list[Window], shown: _Shown) -> Rows:
    """One row a window: what is drawn of it and no more, as lists, for there are many."""
    factor = MS_PER_S if quantity == "p95" else 1.0
    value = (pl.col("value") * factor).round_sig_figs(4)
    part = drawn.filter(quantity=quantity).select("window_id", "second", value)
    rows = []
    for window in windows:
        mine = part.filter(window_id=window.id)
        if not mine.is_empty():
            rows.append({
                "block": window.block, "again": bool(window.attempt),
                "invalid": not window.valid,
                "flagged": any(window is each for each, _ in shown.flagged),
                "second": mine["second"].cast(pl.Int64).to_list(),
                "value": mine["value"].to_list(),
            })  # fmt: skip
    return rows


def _draw_strip(context: Context, drawing: Drawing, strip: _WindowStrip) -> Spec:
    x = make_strip_axis(strip.last_second + 1, is_bottom=strip.bottom)
    log = strip.quantity == "p95"
    ticks: dict[str, Any] = {"tickCount": 3}
    if log:  # as many as have room: a line without its number tells nothing
        known = list_log_ticks(strip.domain)
        ticks = {"values": known[:: math.ceil(len(known) / TICKS_MOST)]}
    y = alt.Y(
        "value:Q", title=strip.title if strip.left else None,
        scale=alt.Scale(
            type="log" if log else "linear", domain=list(strip.domain), nice=False
        ),
        axis=alt.Axis(format=NUMBERS, labelOverlap="greedy", minExtent=strip.extent, **ticks),
    )  # fmt: skip
    until = context.load.ramp_up_s if context.load else 0.0
    ends, look = {"x": x, "x2": alt.X2("until:Q")}, {"color": palette.GRID[0], "opacity": 0.6}
    ramp_up = drawing.mark("rect", [{"second": 0.0, "until": until}], ends, **look)
    lines = _draw_lines(context, drawing, strip, x, y)
    limits = draw_limits(drawing, y, strip.limits)
    layers = [ramp_up, *annotations.draw_marks(drawing, strip.marks, x), *limits, *lines]
    title = strip.candidate if strip.top else ""
    return merge_layers(layers, width=strip.width, height=84, title=title)


def _draw_lines(
    context: Context, drawing: Drawing, strip: _WindowStrip, x: alt.X, y: alt.Y
) -> list[Spec]:
    if not strip.lines:
        device = strip.quantity == "device"
        text = "not sampled: no block device under this volume" if device else "not recorded"
        middle = {"x": place_x(strip.width * 0.6), "y": place_y(42), "text": alt.Text("text:N")}
        return [drawing.mark("text", [{"text": text}], middle, align="center")]
    tips = [
        alt.Tooltip("second:Q"), alt.Tooltip("block:Q"),
        alt.Tooltip("value:Q", title=strip.title, format=",.4~g"),
    ]  # fmt: skip
    colour = context.styles[strip.candidate].colour
    detail = [alt.Detail("block:N"), alt.Detail("again:N")]
    layers = []
    for look, rows in _group_lines(strip.lines):
        line = alt.Chart(drawing.add(rows)).transform_flatten(["second", "value"])
        line = line.mark_line(color=colour, clip=True, **look)
        layers.append(make_unit(line.encode(x=x, y=y, detail=detail, tooltip=tips)))
    return layers


_FULL: dict[str, Any] = {"strokeWidth": 1.8}
_THIN: dict[str, Any] = {"strokeWidth": 0.9, "opacity": 0.6}


def _group_lines(lines: Rows) -> list[tuple[dict[str, Any], Rows]]:
    """Lines by how they are drawn: thin where only a flag brought them, dotted where invalid."""
    found: dict[tuple[bool, bool], Rows] = {}
    for row in lines:
        reported = {key: row[key] for key in ("block", "again", "second", "value")}
        found.setdefault((row["flagged"], row["invalid"]), []).append(reported)
    return [
        ({**(_THIN if flagged else _FULL), **({"strokeDash": [1, 3]} if invalid else {})}, rows)
        for (flagged, invalid), rows in sorted(found.items(), reverse=True)
    ]


PLUGINS = (FigureKind("seconds", 60, "seconds", _plot, ("load",)),)
