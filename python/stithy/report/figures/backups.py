"""The frontier: what each setting of backups costs users against how long its backup takes."""

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt
import polars as pl

from stithy.analysis.verdict.statistics import BLOCKS_LEAST
from stithy.point import Point
from stithy.report.context import Context
from stithy.report.drawing import palette
from stithy.report.drawing.chart import (
    SIGNED_PERCENT,
    Line,
    candidate_channels,
    domain_of,
    labels,
    limit_lines,
    picked,
)
from stithy.report.drawing.compose import Drawing, Rows, Spec, layer, unit
from stithy.report.figure import Absent, Drawn, Figure
from stithy.report.parts.backups import (
    COVERED_LEAST,
    Setting,
    at_load,
    fastest,
    limit_share,
    settings_of,
)
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import listing, percent, took

NAME = "backups"
ORDER = 16
SECTION = "backup"
NEEDS = ("load",)
KEY = "backup-frontier"
WIDTH, HEIGHT = 560, 320
NAMED_MOST = 8
"""Own: with more marks their names cover each other; they are in the tooltips and the table."""
GAP, LETTER = 12, 6.0
"""Own: pixels between a mark and its name, and of a letter of it."""


def draw(context: Context) -> list[Drawn]:
    """One figure for each load at which several settings were measured."""
    return list(_figures(context))


def _figures(context: Context) -> Iterator[Drawn]:
    settings = settings_of(context)
    loads = dict.fromkeys(each.load for each in settings)
    for load in loads:
        here = [each for each in settings if each.load == load]
        if len({each.point for each in here}) < 2:
            continue
        known = [each for each in here if each.tail.ratio is not None and each.value("duration_s")]
        stem = f"{KEY}-{load.slug}" if len(loads) > 1 else KEY
        if known:
            yield _figure(context, stem, load, known, [each for each in here if each not in known])
        else:
            yield Absent(stem, "impact against duration of backups", "no block has both windows")


def _figure(
    context: Context, stem: str, load: Point, settings: list[Setting], unknown: list[Setting]
) -> Figure:
    share, tail = limit_share(context), settings[0].tail_of.label
    rows = [_row(each) for each in settings]
    at = at_load(context, load)
    title, drawing = _finding(context, settings, share, tail, at), Drawing()
    return Figure(
        name=stem,
        title=title,
        caption=f"Change of {tail} with backups against the duration of a backup{at}, a mark for "
        "each setting. Bars are the 95 % intervals of the change; a hollow mark has none, as it "
        f"has too few blocks. The broken line is the limit of +{percent(share)}. Marks "
        "further down and to the left are better. Named are settings with at least "
        f"{BLOCKS_LEAST} blocks whose backups ran during {percent(COVERED_LEAST)} of the "
        f"measurement.{_not_drawn(unknown)}",
        description=f"{title}. A chart of the change of {tail} against the duration of a backup, "
        f"with marks for each candidate: {', '.join(context.evidence.candidates)}.",
        footer=context.footer,
        spec=drawing.spec(_chart(context, drawing, rows, share, tail)),
        table=PageTable(
            stem, title,
            (
                Show("candidate", "candidate"), Show("setting", "setting"),
                Show("duration_s", "backup", "duration"),
                Show("change", f"{tail} with backups", "signed share"),
                Show("low", "from", "signed share"), Show("high", "to", "signed share"),
            ),
            pl.DataFrame(rows, schema=_TYPES),
        ),
    )  # fmt: skip


def _not_drawn(settings: list[Setting]) -> str:
    """Which settings have no mark, as the change or the duration is not known."""
    names = [f"{each.candidate} ({each.text})" for each in settings]
    return f" Not drawn, as a value is missing: {listing(names)}." if names else ""


_TYPES: dict[str, Any] = {
    "candidate": pl.String, "setting": pl.String,
    **dict.fromkeys(("duration_s", "change", "low", "high"), pl.Float64),
}  # fmt: skip


def _row(of: Setting) -> dict[str, Any]:
    tail = of.tail
    low, high = (None if each is None else each - 1 for each in (tail.low, tail.high))
    return {
        "candidate": of.candidate, "setting": of.text, "duration_s": of.value("duration_s"),
        "change": (tail.ratio or 0.0) - 1, "low": low, "high": high,
    }  # fmt: skip


def _finding(
    context: Context, settings: Sequence[Setting], share: float, tail: str, at: str
) -> str:
    """The fastest backup that is within the limit, of each candidate."""
    found = []
    for name in context.evidence.candidates:
        best = fastest((each for each in settings if each.candidate == name), share)
        if best is not None:
            found.append(f"{took(best.value('duration_s') or 0.0)} on {name} ({best.text})")
    if not found:
        return f"No setting was shown to keep {tail} within +{percent(share)}{at}"
    return f"Fastest backup that keeps {tail} within +{percent(share)}{at}: {', '.join(found)}"


def _chart(context: Context, drawing: Drawing, rows: Rows, share: float, tail: str) -> Spec:
    ends = [row[key] for row in rows for key in ("change", "low", "high") if row[key] is not None]
    span = [*ends, 0.0, share]
    spare = 0.06 * (max(span) - min(span))
    scale = alt.Scale(domain=[min(span) - spare, max(span) + spare], nice=False)
    y = alt.Y(
        "change:Q", title=f"Change of {tail} with backups", scale=scale,
        axis=alt.Axis(**labels(SIGNED_PERCENT), tickCount=6),
    )  # fmt: skip
    durations = [{"value": row["duration_s"] / _left_of_name(row["setting"])} for row in rows]
    x = alt.X(
        "duration_s:Q", title="Duration of a backup (s)",
        scale=alt.Scale(domain=list(domain_of(durations, log=False)), nice=False),
        axis=alt.Axis(tickCount=6),
    )  # fmt: skip
    limit = Line(share, f"+{percent(share)}", palette.MARK[0])
    across = alt.Y("value:Q", scale=scale)
    layers = [*limit_lines(drawing, across, [limit]), *_bars(context, drawing, rows, x)]
    layers += _marks(context, drawing, rows, x, y)
    if len(rows) <= NAMED_MOST:
        text = alt.Chart(drawing.add(rows)).mark_text(
            align="left", dx=9, dy=-7, color=palette.MUTED[0]
        )
        layers.append(unit(text.encode(x=x, y=y, text=alt.Text("setting:N"), opacity=picked())))
    return layer(layers, width=WIDTH, height=HEIGHT)


def _left_of_name(name: str) -> float:
    """Where a mark may stand at most, as a share of the width: its name is to the right of it."""
    return 1 - min(0.5, (GAP + LETTER * len(name)) / WIDTH)


def _bars(context: Context, drawing: Drawing, rows: Rows, x: alt.X) -> list[Spec]:
    mine = [row for row in rows if row["low"] is not None]
    if not mine:
        return []
    bars = alt.Chart(drawing.add(mine)).mark_rule(strokeWidth=1.5)
    ends: dict[str, Any] = {"x": x, "y": alt.Y("low:Q"), "y2": alt.Y2("high:Q")}
    colour = candidate_channels(context)["color"]
    return [unit(bars.encode(**ends, color=colour, opacity=picked()))]


def _marks(context: Context, drawing: Drawing, rows: Rows, x: alt.X, y: alt.Y) -> list[Spec]:
    channels = candidate_channels(context)
    del channels["strokeDash"]  # there are no lines
    tips = [
        alt.Tooltip("candidate:N"), alt.Tooltip("setting:N"),
        alt.Tooltip("duration_s:Q", title="backup (s)", format=",.4~g"),
        alt.Tooltip("change:Q", title="change", format="+.1%"),
        alt.Tooltip("low:Q", title="from", format="+.1%"),
        alt.Tooltip("high:Q", title="to", format="+.1%"),
    ]  # fmt: skip
    hollow = {"filled": False, "fill": palette.PAPER[0], "size": 80, "strokeWidth": 1.8}
    drawn = []
    for is_full, look in ((True, {"filled": True, "size": 75}), (False, hollow)):
        mine = [row for row in rows if (row["low"] is not None) is is_full]
        if mine:
            chart = alt.Chart(drawing.add(mine)).mark_point(**look)
            drawn.append(unit(chart.encode(x=x, y=y, tooltip=tips, **channels, opacity=picked())))
    return [drawing.followed(drawn[0]), *drawn[1:]]
