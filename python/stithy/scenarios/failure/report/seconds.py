"""A window with each fault over time, thin behind it the window without; its phases shaded."""

from collections.abc import Iterator, Mapping

import altair as alt
import polars as pl

from stithy.analysis.evidence import Window
from stithy.analysis.latencies import read_seconds
from stithy.point import Point
from stithy.report.blocks import Absent, Drawn, Figure, FigureKind
from stithy.report.context import Context
from stithy.report.drawing import annotations, palette
from stithy.report.drawing.annotations import MS_PER_S, draw_marks, draw_spans, select_marks
from stithy.report.drawing.chart import (
    NUMBERS,
    WIDTH,
    find_domain,
    list_log_ticks,
    make_strip_axis,
    make_y_axis,
)
from stithy.report.drawing.compose import (
    Drawing,
    Rows,
    Spec,
    merge_layers,
    place_above,
    place_beside,
    place_y,
)
from stithy.report.metrics import SECONDS_PER_MINUTE, read_tpm
from stithy.report.tables import PageTable, Show
from stithy.results.hlog import LoggedHistogram, merge
from stithy.scenarios.failure.impact import find_phases
from stithy.scenarios.failure.judge import Suffered, list_suffered
from stithy.scenarios.failure.keys import FAULT, NAME
from stithy.units import format_list, format_measured_duration

KEY = "failure-seconds"
HEIGHT, COLUMNS_MOST, EXTENT, TICKS_MOST = 96, 3, 40, 4
LOOKS = {"pause": (palette.AXIS[0], 0.75), "degraded": (palette.AXIS[0], 0.4),
         "rebuilding": (palette.GRID[0], 0.9)}  # fmt: skip
TYPES = {"window": pl.String, "second": pl.Int64, "per_s": pl.Float64, "p99_s": pl.Float64}
ANSWERS_LEAST = 100
"""Own: of fewer answers in a second its 99th percentile is nothing but the slowest of them."""

APART_S = 0.3
"""Own: the begin of a quicker repair would stand under its end."""

STRIPS = {"per_s": ("Commits per second", 1.0), "p99_s": ("p99 (ms)", MS_PER_S)}
EVENTS = {"fault": "the fault struck", "detected": "the storage knew of it",
          "repair": "the repair began", "healed": "it was repaired",
          "whole": "redundancy was restored"}  # fmt: skip


def _plot(context: Context) -> Iterator[Drawn]:
    suffered = list_suffered(context.evidence)
    for point in dict.fromkeys(each.point for each in suffered):
        stem = f"{KEY}-{point.slug}"
        windows = {each.candidate: pair for each in suffered if each.point == point
                   if (pair := _find_pair(each))}  # fmt: skip
        if windows:
            yield _draw_figure(context, stem, point, windows)
        else:
            yield Absent(stem, f"throughput over time with {point}", "no block has both windows")


def _find_pair(of: Suffered) -> tuple[Window, Window] | None:
    """The first block that has a window with the fault and one without, those that count first."""
    for choose in (of.evidence.valid_at, of.evidence.at):
        alone = {window.block: window for window in choose(of.candidate, of.alone)}
        for window in choose(of.candidate, of.point):
            if window.measured and window.block in alone:
                return window, alone[window.block]
    return None


def _draw_figure(
    context: Context, stem: str, point: Point, windows: Mapping[str, tuple[Window, Window]]
) -> Figure:
    drawing = Drawing()
    frames = {name: _read_pair(context, *pair) for name, pair in windows.items()}
    title = _write_title(windows, point)
    marked = annotations.find_marks(context, {pair[0].id for pair in windows.values()})
    shown = select_marks(marked, [window.id for window, _ in windows.values()])
    table = PageTable(
        stem, title,
        (Show("candidate", "candidate"), Show("window", "window"),
         Show("second", "second", "count"), Show("per_s", "commits per second", "count"),
         Show("p99_s", "p99", "duration")),
        pl.concat([frame.select(pl.lit(name).alias("candidate"), *TYPES)
                   for name, frame in frames.items()]),
    )  # fmt: skip
    events = " ".join(
        f"{number}: {text}." for number, text in enumerate(EVENTS.values(), start=1)
        if any(number == row["number"] for window, _ in windows.values()
               for row in _list_events(window))
    )  # fmt: skip
    return drawing.figure(
        context, stem, title, _draw_rows(context, drawing, windows, frames, marked), table,
        caption=f"Each second {point.at(context.level_unit)}, one column per candidate. Thin: the "
        "window without the fault, of the same block. Shaded: the pause, paler what is degraded, "
        f"and palest the rebuilding. Numbered lines: {events} "
        f"{annotations.explain_marks(shown)} p99 is of seconds with at least {ANSWERS_LEAST} "
        "answers, by the second in which they came.",
        description="Line charts of commits a second, and of the 99th percentile of response "
        "time, over the seconds of a window with a fault and of one without.",
    )  # fmt: skip


def _draw_rows(
    context: Context, drawing: Drawing, windows: Mapping[str, tuple[Window, Window]],
    frames: Mapping[str, pl.DataFrame], marked: pl.DataFrame,
) -> Spec:  # fmt: skip
    every, names = pl.concat(frames.values()), list(frames)
    columns = min(len(names), COLUMNS_MOST)
    width, last_s = (WIDTH + 20) // columns - 60, max(every["second"].to_list(), default=0) + 1.0
    rows = []
    for start in range(0, len(names), columns):
        for column, (title, factor) in STRIPS.items():
            is_top, shown = column == "per_s", names[start : start + columns]
            values = [{"value": value and value * factor} for value in every[column]]
            domain = find_domain(values, log=not is_top)
            ticks = [] if is_top else list_log_ticks(domain)
            options = {"values": ticks[:: 1 + len(ticks) // TICKS_MOST]} if ticks else {}
            x, charts = make_strip_axis(last_s, is_bottom=not is_top), []
            for name in shown:
                y = make_y_axis("value", title if name == shown[0] else None, domain,
                                log=not is_top, format=NUMBERS, minExtent=EXTENT, tickCount=4,
                                **options)  # fmt: skip
                window, _ = windows[name]
                marks = select_marks(marked, [window.id])
                layers = [
                    *draw_spans(drawing, _list_spans(window), x, LOOKS),
                    *draw_marks(drawing, marks, x),
                    *_draw_events(drawing, window, x, is_top=is_top),
                    *_draw_lines(context, drawing, name, frames[name], (column, x, y)),
                ]
                head = name if is_top else ""
                charts.append(merge_layers(layers, width=width, height=HEIGHT, title=head))
            rows.append(place_beside(charts))
    return place_above(rows)


def _draw_lines(
    context: Context, drawing: Drawing, name: str, frame: pl.DataFrame,
    axes: tuple[str, alt.X, alt.Y],
) -> Iterator[Spec]:  # fmt: skip
    column, x, y = axes
    title, factor = STRIPS[column]
    tips = [alt.Tooltip("second:Q"), alt.Tooltip("value:Q", title=title, format=",.4~g")]
    for kind, stroke, opacity in (("none", 1.0, 0.65), ("fault", 1.6, 1.0)):
        mine = frame.filter(pl.col("window") == kind).select("second", column)
        rows = [{"second": second, "value": None if value is None else value * factor}
                for second, value in mine.iter_rows()]  # fmt: skip
        yield drawing.mark(
            "line", rows, {"x": x, "y": y, "tooltip": tips}, clip=True, strokeWidth=stroke,
            opacity=opacity, color=context.styles[name].colour,
            invalid="break-paths-show-path-domains",
        )  # fmt: skip


def _draw_events(drawing: Drawing, window: Window, x: alt.X, *, is_top: bool) -> Iterator[Spec]:
    """Mark what happened to storage or server; the numbers stand above the upper chart."""
    rows = list(_list_events(window))
    tips = [alt.Tooltip("what:N"), alt.Tooltip("second:Q", format=".2f")]
    if rows:
        yield drawing.mark("rule", rows, {"x": x, "tooltip": tips}, color=palette.MUTED[0])
    if rows and is_top:
        text = {"x": x, "y": place_y(-6), "text": alt.Text("number:N")}
        yield drawing.mark("text", rows, text, color=palette.MUTED[0], fontSize=9)


def _list_events(window: Window) -> Iterator[dict[str, float | str]]:
    spans = {span["name"]: span for span in window.spans}
    found = {
        "fault": spans.get("fault", {}).get("from_s"),
        "detected": spans.get("undetected", {}).get("to_s"),
        "repair": spans.get("repair", {}).get("from_s"),
        "healed": spans.get("repair", {}).get("to_s"),
        "whole": spans.get("rebuild", {}).get("to_s"),
    }
    begun_s = window.row["started_at_s"]
    healing_s, healed_s = found["repair"], found["healed"]
    if healing_s is not None and healed_s is not None and healed_s - healing_s < APART_S:
        found["repair"] = None
    for number, (name, at_s) in enumerate(found.items(), start=1):
        if at_s is not None and begun_s is not None:
            yield {"second": at_s - begun_s, "what": EVENTS[name], "number": number}


def _write_title(windows: Mapping[str, tuple[Window, Window]], point: Point) -> str:
    pauses = [
        f"{format_measured_duration(pause_s)} on {name}"
        for name, (window, _) in windows.items()
        if (pause_s := window.row.get("gap_s")) is not None
    ]
    fault = point.values[FAULT]
    if not pauses:
        return f"Throughput over time with {fault}"
    return f"With {fault} users paused {format_list(pauses)}"


def _read_pair(context: Context, window: Window, alone: Window) -> pl.DataFrame:
    rows = [
        {"window": kind, "second": second, "per_s": tpm / SECONDS_PER_MINUTE,
         "p99_s": times.get(second)}
        for kind, one in (("none", alone), ("fault", window))
        if (times := _read_p99(context, one)) is not None
        for second, tpm in read_tpm(context, one).items()
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=TYPES)


def _read_p99(context: Context, window: Window) -> dict[int, float | None]:
    """The 99th percentile of each second that has enough answers."""
    by_second: dict[int, list[LoggedHistogram]] = {}
    for second, times in read_seconds(context.run.directory, window):
        by_second.setdefault(second, []).append(times)
    whole = {second: merge(times) for second, times in by_second.items()}
    return {second: times.percentile_s(99) for second, times in whole.items()
            if times is not None and times.count >= ANSWERS_LEAST}  # fmt: skip


def _list_spans(window: Window) -> Rows:
    begun_s = window.row["started_at_s"]
    return [
        {"kind": phase.name, "name": phase.name, "second": phase.from_s - begun_s,
         "until": phase.to_s - begun_s}
        for phase in find_phases(window)
        if phase.name in LOOKS
    ]  # fmt: skip


PLUGINS = (FigureKind(KEY, 17, NAME, _plot, ("values",)),)
