"""Figures of backups: how long each took, and what each setting costs users against that."""

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from stithy.activity import get_factor
from stithy.analysis.evidence import Window
from stithy.analysis.statistics import BLOCKS_LEAST
from stithy.point import Point, format_value
from stithy.report.blocks import Absent, Drawn, Figure, FigureKind
from stithy.report.context import Context
from stithy.report.drawing import palette
from stithy.report.drawing.chart import (
    SIGNED_PERCENT,
    LimitLine,
    draw_intervals,
    draw_limits,
    find_domain,
    label_ticks,
    make_candidate_channels,
    make_x_axis,
    make_y_axis,
    show_picked,
)
from stithy.report.drawing.compose import Drawing, Rows, Spec, merge_layers
from stithy.report.drawing.plots import Bars, Duration, read_durations, write_durations_title
from stithy.report.tables import Show, make_table
from stithy.scenarios.backup.judge import (
    COVERED_LEAST,
    Setting,
    find_fastest,
    list_points,
    list_settings,
    read_limit_share,
)
from stithy.scenarios.backup.keys import BACKUP, SETTINGS
from stithy.units import format_list, format_measured_duration, format_share

KEY = "backup-frontier"
WIDTH, HEIGHT = 560, 320
NAMED_MOST = 8
"""Own: with more marks their names cover each other; they are in the tooltips and the table."""
GAP, LETTER = 12, 6.0
"""Own: pixels between a mark and its name, and of a letter of it."""


def _plot_frontier(context: Context) -> Iterator[Drawn]:
    settings = list_settings(context)
    loads = dict.fromkeys(setting.load for setting in settings)
    for load in loads:
        here = [each for each in settings if each.load == load]
        if len({each.point for each in here}) < 2:
            continue
        known = [each for each in here if each.tail.ratio is not None and each.value("duration_s")]
        stem = f"{KEY}-{load.slug}" if len(loads) > 1 else KEY
        if known:
            yield _draw_frontier(
                context, stem, load, known, [each for each in here if each not in known]
            )
        else:
            yield Absent(stem, "impact against duration of backups", "no block has both windows")


def _draw_frontier(
    context: Context, stem: str, load: Point, settings: list[Setting], unknown: list[Setting]
) -> Figure:
    share, tail = read_limit_share(context), settings[0].tail_of.label
    rows = [{
        "candidate": of.candidate, "setting": of.text, "duration_s": of.value("duration_s"),
        "change": (of.tail.ratio or 0.0) - 1,
        "low": None if of.tail.low is None else of.tail.low - 1,
        "high": None if of.tail.high is None else of.tail.high - 1,
    } for of in settings]  # fmt: skip
    at = format_at_load(context, load)
    names = format_list([f"{setting.candidate} ({setting.text})" for setting in unknown])
    undrawn = f" Not drawn, as a value is missing: {names}." if unknown else ""
    title, drawing = _write_title(context, settings, share, tail, at), Drawing()
    shows = (
        Show("candidate", "candidate"), Show("setting", "setting"),
        Show("duration_s", "backup", "duration"),
        Show("change", f"{tail} with backups", "signed share"),
        Show("low", "from", "signed share"), Show("high", "to", "signed share"),
    )  # fmt: skip
    return drawing.figure(
        context, stem, title, _draw_chart(context, drawing, rows, share, tail),
        make_table(stem, title, shows, rows),
        caption=f"Change of {tail} with backups against the duration of a backup{at}, a mark for "
        "each setting. Bars are the 95 % intervals of the change; a hollow mark has none, as it "
        f"has too few blocks. The broken line is the limit of +{format_share(share)}. Marks "
        "further down and to the left are better. Named are settings with at least "
        f"{BLOCKS_LEAST} blocks whose backups ran during {format_share(COVERED_LEAST)} of the "
        f"measurement.{undrawn}",
        description=f"A chart of the change of {tail} against the duration of a backup, "
        f"with marks for each candidate: {', '.join(context.evidence.candidates)}.",
    )  # fmt: skip


def _write_title(
    context: Context, settings: Sequence[Setting], share: float, tail: str, at: str
) -> str:
    found = []
    for name in context.evidence.candidates:
        best = find_fastest((setting for setting in settings if setting.candidate == name), share)
        if best is not None:
            found.append(
                f"{format_measured_duration(best.value('duration_s') or 0.0)} on {name} "
                f"({best.text})"
            )
    if not found:
        return f"No setting was shown to keep {tail} within +{format_share(share)}{at}"
    return (
        f"Fastest backup shown to keep {tail} within +{format_share(share)}{at}: {', '.join(found)}"
    )


def _draw_chart(context: Context, drawing: Drawing, rows: Rows, share: float, tail: str) -> Spec:
    ends = [row[key] for row in rows for key in ("change", "low", "high") if row[key] is not None]
    span = [*ends, 0.0, share]
    spare = 0.06 * (max(span) - min(span))
    domain = (min(span) - spare, max(span) + spare)
    title = f"Change of {tail} with backups"
    y = make_y_axis("change", title, domain, **label_ticks(SIGNED_PERCENT), tickCount=6)
    durations = []
    for row in rows:  # the name of a mark is to the right of it
        name_share = min(0.5, (GAP + LETTER * len(row["setting"])) / WIDTH)
        durations.append({"value": row["duration_s"] / (1 - name_share)})
    longest = find_domain(durations, log=False)
    x = make_x_axis("duration_s", "Duration of a backup (s)", longest, tickCount=6)
    limit = LimitLine(share, f"+{format_share(share)}", palette.MARK[0])
    across = alt.Y("value:Q", scale=alt.Scale(domain=list(domain), nice=False))
    channels = {**make_candidate_channels(context), "opacity": show_picked()}
    colour = {"color": channels["color"], "opacity": show_picked()}
    layers = draw_limits(drawing, across, [limit])
    layers += draw_intervals(drawing, rows, {"x": x, **colour}, strokeWidth=1.5)
    layers += _draw_marks(drawing, rows, {"x": x, "y": y, **channels})
    if len(rows) <= NAMED_MOST:
        beside = {"x": x, "y": y, "text": alt.Text("setting:N"), "opacity": show_picked()}
        look = {"align": "left", "dx": 9, "dy": -7, "color": palette.MUTED[0]}
        layers.append(drawing.mark("text", rows, beside, **look))
    return merge_layers(layers, width=WIDTH, height=HEIGHT)


def _draw_marks(drawing: Drawing, rows: Rows, channels: dict[str, Any]) -> list[Spec]:
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
            drawn.append(drawing.mark("point", mine, {**channels, "tooltip": tips}, **look))
    return [drawing.follow(drawn[0]), *drawn[1:]]


DURATIONS = "backup-durations"
OPERATIONS = ("backup", "restore")
OF_CYCLES = ("backup.cycle_bytes", "backup.cycle_ratio")
"""What is measured of each backup, by the name of its span."""


def _plot_durations(context: Context) -> Iterator[Bars | Absent]:
    point = choose_point(context)
    if point is None:
        return
    durations = read_durations(context, point, _list_durations)
    if not durations:
        because = "no valid window has a backup that succeeded"
        yield Absent(DURATIONS, "duration of backup and restore", because)
        return
    yield Bars(
        name=DURATIONS,
        title=write_durations_title(context, durations),
        caption="Duration of each backup and of each restore that succeeded (marks), and the "
        f"mean of the windows' means (bars), of all valid windows {point.at(context.level_unit)}. "
        "A restore ends when the restored database answers.",
        noun="backups and of restores",
        data="Duration of backups and of restores",
        durations=durations,
    )


def _list_durations(window: Window) -> Iterator[Duration]:
    for span in window.spans:
        operation, _, number = str(span["name"]).partition(" ")
        succeeded = span["to_s"] is not None and span["invalid_because"] is None
        if operation in OPERATIONS and succeeded:
            duration_s = span["to_s"] - span["from_s"]
            values = (window.values.get((metric, span["name"])) for metric in OF_CYCLES)
            yield Duration(
                operation, window.candidate, window.block, number, duration_s,
                *(value["value"] if value else None for value in values),
            )  # fmt: skip


PLUGINS = (
    FigureKind(DURATIONS, 15, "backup", _plot_durations),
    FigureKind(KEY, 16, "backup", _plot_frontier, ("load",)),
)


def choose_point(context: Context) -> Point | None:
    """Where figures show backups; None where a study has none."""
    return context.evidence.choose_asked(list_points(context.evidence))


def format_at_load(context: Context, load: Point) -> str:
    """At which load, in words, where there are several."""
    told = [factor for factor in load.factors if factor[0] in context.factors]
    return f" at {Point(tuple(told)).in_words(context.level_unit)}" if told else ""


def name_setting(context: Context, setting: Setting) -> str:
    """The candidate, and what of the point tells it from others: users if they have levels."""
    parts = []
    for name in context.factors:
        if get_factor(name).counts:
            if len({point.level for point in list_points(context.evidence)}) > 1:
                level = Point(((name, setting.point.level),))
                parts.append(level.in_words(context.level_unit))
        elif name != BACKUP:
            value = format_value(setting.point.values[name])
            parts.append(f"{name.removeprefix(SETTINGS)} {value}")
    return f"{setting.candidate} ({', '.join(parts)})" if parts else setting.candidate
