"""Windows in which something happened, over time, thin behind each one in which nothing did.

What happened shades phases and marks events; the scenario says which.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import altair as alt
import polars as pl

from stithy.analysis.evidence import Contrast, Window
from stithy.analysis.latencies import read_seconds
from stithy.point import NOTHING, Point
from stithy.report.blocks import Absent, Drawn, Figure
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
from stithy.results.phases import Phase
from stithy.units import format_list, format_measured_duration

HEIGHT, COLUMNS_MOST, EXTENT, TICKS_MOST = 96, 3, 40, 4
TYPES = {"window": pl.String, "second": pl.Int64, "per_s": pl.Float64, "p99_s": pl.Float64}
ANSWERS_LEAST = 100
"""Own: of fewer answers in a second its 99th percentile is nothing but the slowest of them."""

STRIPS = {"per_s": ("Commits per second", 1.0), "p99_s": ("p99 (ms)", MS_PER_S)}


@dataclass(frozen=True)
class Timeline:
    """What happened in a window, and the window of the same block in which nothing did.

    `events`: when each happened, Unix time, by its text in the caption; None: it did not.
    """

    window: Window
    alone: Window
    phases: Sequence[Phase]
    events: Mapping[str, float | None]


@dataclass(frozen=True)
class TimelineWords:
    """How a scenario calls what happened: one word, its shades by phase, and what they mean.

    `happened`: such as `with {name}`, for titles.
    """

    kind: str
    happened: str
    looks: Mapping[str, tuple[str, float]]
    explained: str


def draw_each_point(
    context: Context, key: str, contrasts: Sequence[Contrast], words: TimelineWords,
    make_line: Callable[[Window, Window], Timeline],
) -> Iterator[Drawn]:  # fmt: skip
    """Draw each point at which something happened, or say why not."""
    for point in dict.fromkeys(of.point for of in contrasts):
        stem, mine = f"{key}-{point.slug}", [of for of in contrasts if of.point == point]
        lines = {of.candidate: make_line(*pair) for of in mine if (pair := of.find_pair())}
        if lines:
            title = _write_title(lines, words.happened.format(name=mine[0].happened))
            yield _draw_timelines(context, stem, title, point, lines, words)
        else:
            yield Absent(stem, f"throughput over time with {point}", "no block has both windows")


def _write_title(lines: Mapping[str, Timeline], happened: str) -> str:
    pauses = []
    for name, line in lines.items():
        pause_s, usual_s = (window.row.get("gap_s") for window in (line.window, line.alone))
        if pause_s is not None:
            usual = "" if usual_s is None else f" ({format_measured_duration(usual_s)} without)"
            pauses.append(f"{format_measured_duration(pause_s)} on {name}{usual}")
    if not pauses:
        return f"Throughput over time {happened}"
    return f"{happened[0].upper()}{happened[1:]} users paused {format_list(pauses)}"


def _draw_timelines(
    context: Context, stem: str, title: str, point: Point, lines: Mapping[str, Timeline],
    words: TimelineWords,
) -> Figure:  # fmt: skip
    """Draw commits and p99 of each second, one column per candidate."""
    drawing = Drawing()
    frames = {name: _read_pair(context, words.kind, line) for name, line in lines.items()}
    marked = annotations.find_marks(context, {line.window.id for line in lines.values()})
    shown = select_marks(marked, [line.window.id for line in lines.values()])
    table = PageTable(
        stem, title,
        (Show("candidate", "candidate"), Show("window", "window"),
         Show("second", "second", "count"), Show("per_s", "commits per second", "count"),
         Show("p99_s", "p99", "duration")),
        pl.concat([frame.select(pl.lit(name).alias("candidate"), *TYPES)
                   for name, frame in frames.items()]),
    )  # fmt: skip
    texts = {row["number"]: row["what"] for line in lines.values() for row in _list_events(line)}
    events = " ".join(f"{number}: {text}." for number, text in sorted(texts.items()))
    numbered = f"Numbered lines: {events} " if events else ""
    return drawing.figure(
        context, stem, title, _draw_rows(context, drawing, lines, frames, marked, words), table,
        caption=f"Each second {point.at(context.level_unit)}, one column per candidate. Thin: the "
        f"window without the {words.kind}, of the same block. Shaded: {words.explained}. "
        f"{numbered}{annotations.explain_marks(shown)} p99 is of seconds with at least "
        f"{ANSWERS_LEAST} answers, by the second in which they came.",
        description="Line charts of commits a second, and of the 99th percentile of response "
        f"time, over the seconds of a window with a {words.kind} and of one without.",
    )  # fmt: skip


def _draw_rows(
    context: Context, drawing: Drawing, lines: Mapping[str, Timeline],
    frames: Mapping[str, pl.DataFrame], marked: pl.DataFrame, words: TimelineWords,
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
                line = lines[name]
                marks = select_marks(marked, [line.window.id])
                layers = [
                    *draw_spans(drawing, _list_spans(line, words), x, words.looks),
                    *draw_marks(drawing, marks, x),
                    *_draw_events(drawing, line, x, is_top=is_top),
                    *_draw_lines(context, drawing, name, frames[name], words.kind, (column, x, y)),
                ]
                head = name if is_top else ""
                charts.append(merge_layers(layers, width=width, height=HEIGHT, title=head))
            rows.append(place_beside(charts))
    return place_above(rows)


def _draw_lines(
    context: Context, drawing: Drawing, name: str, frame: pl.DataFrame, happened: str,
    axes: tuple[str, alt.X, alt.Y],
) -> Iterator[Spec]:  # fmt: skip
    column, x, y = axes
    title, factor = STRIPS[column]
    tips = [alt.Tooltip("second:Q"), alt.Tooltip("value:Q", title=title, format=",.4~g")]
    for kind, stroke, opacity in ((NOTHING, 1.0, 0.65), (happened, 1.6, 1.0)):
        mine = frame.filter(pl.col("window") == kind).select("second", column)
        rows = [{"second": second, "value": None if value is None else value * factor}
                for second, value in mine.iter_rows()]  # fmt: skip
        yield drawing.mark(
            "line", rows, {"x": x, "y": y, "tooltip": tips}, clip=True, strokeWidth=stroke,
            opacity=opacity, color=context.styles[name].colour,
            invalid="break-paths-show-path-domains",
        )  # fmt: skip


def _draw_events(drawing: Drawing, line: Timeline, x: alt.X, *, is_top: bool) -> Iterator[Spec]:
    """Mark what happened to storage or server; the numbers stand above the upper chart."""
    rows = list(_list_events(line))
    tips = [alt.Tooltip("what:N"), alt.Tooltip("second:Q", format=".2f")]
    if rows:
        yield drawing.mark("rule", rows, {"x": x, "tooltip": tips}, color=palette.MUTED[0])
    if rows and is_top:
        text = {"x": x, "y": place_y(-6), "text": alt.Text("number:N")}
        yield drawing.mark("text", rows, text, color=palette.MUTED[0], fontSize=9)


def _list_events(line: Timeline) -> Iterator[dict[str, float | str]]:
    """List those of the measurement; where users work no more, nothing is drawn."""
    begun_s, ended_s = (line.window.row[name] for name in ("started_at_s", "measure_to_s"))
    for number, (text, at_s) in enumerate(line.events.items(), start=1):
        if at_s is not None and begun_s is not None and at_s <= (ended_s or at_s):
            yield {"second": at_s - begun_s, "what": text, "number": number}


def _read_pair(context: Context, happened: str, line: Timeline) -> pl.DataFrame:
    rows = [
        {"window": kind, "second": second, "per_s": tpm / SECONDS_PER_MINUTE,
         "p99_s": times.get(second)}
        for kind, one in ((NOTHING, line.alone), (happened, line.window))
        if (times := _read_p99(context, one)) is not None
        for second, tpm in read_tpm(context, one).items()
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=TYPES)


def _read_p99(context: Context, window: Window) -> dict[int, float | None]:
    by_second: dict[int, list[LoggedHistogram]] = {}
    for second, times in read_seconds(context.run.directory, window):
        by_second.setdefault(second, []).append(times)
    whole = {second: merge(times) for second, times in by_second.items()}
    return {second: times.percentile_s(99) for second, times in whole.items()
            if times is not None and times.count >= ANSWERS_LEAST}  # fmt: skip


def _list_spans(line: Timeline, words: TimelineWords) -> Rows:
    begun_s = line.window.row["started_at_s"]
    return [
        {"kind": phase.name, "name": phase.name, "second": phase.from_s - begun_s,
         "until": phase.to_s - begun_s}
        for phase in line.phases
        if phase.name in words.looks
    ]  # fmt: skip
