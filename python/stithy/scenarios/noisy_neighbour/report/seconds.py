"""Second by second, the tenants alone and with the neighbour: what the device did, and when.

Drawn is the first valid block of both; bars below the lines show when the neighbour worked.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import altair as alt
import polars as pl

from stithy.analysis.evidence import Window
from stithy.analysis.series import HALF_SAMPLE_S
from stithy.point import Point
from stithy.report import metrics
from stithy.report.blocks import Absent, FigureKind
from stithy.report.context import Context
from stithy.report.drawing.annotations import BYTES_PER_MB, MS_PER_S
from stithy.report.drawing.chart import (
    Axis,
    find_domain,
    make_line_channels,
    make_value_axis,
    show_picked,
)
from stithy.report.drawing.compose import Drawing, Rows, Spec, merge_layers, place_in_grid
from stithy.report.drawing.plots import DataPlot
from stithy.report.metrics import MOVED, Strip, find_busiest_device, list_strip_shows
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import format_count
from stithy.scenarios.noisy_neighbour.declared import list_cycles, list_work_times
from stithy.scenarios.noisy_neighbour.report.neighbours import (
    choose_point,
    describe_medians,
    describe_neighbour,
    find_first_pair,
)
from stithy.units import format_measured_duration

WORDS = {"alone": "alone", "with": "with the neighbour"}
"""The windows of a pair in their order: as a column `neighbour` has them, and in words."""

WIDTH = 320
BAR, GAP = 5, 2
"""Height of a bar and the room between two, pixels."""

KEYS = {"candidate": pl.String, "neighbour": pl.String, "second": pl.Int64}
"""The first columns of a frame of seconds."""

READS, READ_S, _ = metrics.OPERATIONS["read"]
WRITES, WRITE_S, _ = metrics.OPERATIONS["write"]
LATENCY = "latency_s"


@dataclass(frozen=True, kw_only=True)
class BySecond(DataPlot):
    """Strips of a device over the seconds: alone on the left, with the neighbour on the right.

    `frame`: `KEYS`, and a column for each of `strips`. `drawn`: what captions say of the device.
    """

    point: Point
    frame: pl.DataFrame
    strips: Mapping[str, Strip]
    height: int
    width: float = 1.5

    def draw_chart(self, context: Context, drawing: Drawing) -> Spec:
        """Draw two charts for each strip, with one vertical scale."""
        worked = list_work(context, self.point)
        present = [name for name in self.strips if self.frame[name].count()]
        return place_in_grid(
            [
                chart
                for name in present
                for chart in self._draw_strip(context, drawing, name, worked, name == present[-1])
            ],
            len(WORDS),
        )

    def _draw_strip(
        self, context: Context, drawing: Drawing, name: str, worked: Rows, is_last: bool
    ) -> Iterator[Spec]:
        strip = self.strips[name]
        rows = [
            {"candidate": candidate, "neighbour": word, "second": second,
             "value": value * strip.scale}
            for candidate, word, second, value in self.frame.select(*KEYS, name).iter_rows()
            if value is not None and (value > 0 or not strip.log)
        ]  # fmt: skip
        domain = find_domain(rows, log=strip.log)
        for word, title in WORDS.items():
            heading = f"Seconds, {title}" if is_last else None
            y = make_value_axis(Axis(strip.title, strip.log), domain, titled=word == "alone")
            x = alt.X("second:Q", title=heading, axis=alt.Axis(format="d", tickCount=6))
            at = {"x": x, "y": y, "opacity": show_picked(), **make_line_channels(context)}
            mine = [row for row in rows if row["neighbour"] == word]
            line = drawing.follow(drawing.mark("line", mine, at, strokeWidth=self.width))
            bars = self._draw_work(context, drawing, worked, heading) if word == "with" else []
            yield merge_layers([line, *bars], width=WIDTH, height=self.height)

    def _draw_work(
        self, context: Context, drawing: Drawing, worked: Rows, heading: str | None
    ) -> list[Spec]:
        drawn = {bar["candidate"] for bar in worked}
        names = [name for name in context.evidence.candidates if name in drawn]
        colour, rows = make_line_channels(context)["color"], []
        for number, name in enumerate(names):
            y = alt.value(self.height - GAP - (BAR + GAP) * number)
            # Layers share their axis, whose heading would else name both.
            x = alt.X("from:Q", title=heading)
            ends = {"x": x, "x2": alt.X2("to:Q"), "y": y, "color": colour}
            mine = [bar for bar in worked if bar["candidate"] == name]
            rows.append(drawing.mark("rule", mine, ends, strokeWidth=BAR, opacity=0.6))
        return rows

    def make_table(self, context: Context) -> PageTable:
        present = [name for name in self.strips if self.frame[name].count()]
        shows = (
            Show("candidate", "candidate"), Show("neighbour", "neighbour"),
            Show("second", "second", "count"), *list_strip_shows(self.strips, present),
        )  # fmt: skip
        frame = self.frame.select(show.column for show in shows)
        return PageTable(self.name, self.data, shows, frame)

    def describe(self, context: Context) -> str:
        return (
            f"Line charts of {self.noun} against time, a line for each candidate: alone, and with "
            "the neighbour."
        )


def explain_pair(context: Context, point: Point) -> str:
    """End a caption: which windows are drawn, when the neighbour worked, what the title counts."""
    works = ""
    pairs = [find_first_pair(context, name, point)[1:] for name in context.evidence.candidates]
    always = [_has_worked_throughout(window) for pair in pairs for window in pair]
    if list_work(context, point):
        works = "; bars at the bottom show when it worked, a row for each candidate"
    elif always and all(always):
        works = " at work from the first second to the last"
    return (
        f"the tenants alone (left), and with the neighbour (right){works}. Both windows are of one "
        "block, the first valid one. The title has medians over the seconds of the measurement, "
        "with the neighbour over those in which it worked."
    )


def list_work(context: Context, point: Point) -> Rows:
    """List its cycles, or its work between rests, in seconds of the windows that are drawn.

    Nothing of a neighbour that worked from the first second to the last.
    """
    return [
        {"candidate": name, "from": from_s - start_s, "to": to_s - start_s}
        for name in context.evidence.candidates
        for window in find_first_pair(context, name, point)[1:]
        if not _has_worked_throughout(window)
        for start_s in [window.row["started_at_s"] or 0.0]
        for from_s, to_s in list_work_times(window.spans)
    ]


def _has_worked_throughout(window: Window) -> bool:
    begin, end = window.row["measure_from_s"], window.row["measure_to_s"]
    if begin is None or end is None or list_cycles(window.spans):
        return False
    return any(from_s <= begin and end <= to_s for from_s, to_s in list_work_times(window.spans))


def select_counted(context: Context, point: Point, frame: pl.DataFrame) -> pl.DataFrame:
    """Select the seconds that a title counts: measured, with the neighbour those of its work."""
    counted = [
        (name, word, second)
        for name in context.evidence.candidates
        for word, window in zip(WORDS, find_first_pair(context, name, point), strict=False)
        for second in _list_counted(window)
    ]
    return frame.join(pl.DataFrame(counted, schema=KEYS, orient="row"), on=[*KEYS], how="semi")


def _list_counted(window: Window) -> Iterator[int]:
    """From the users' start; of a neighbour whose work nobody noted all that were measured."""
    begin, end = window.row["measure_from_s"], window.row["measure_to_s"]
    if begin is None or end is None:
        return
    start_s, work = begin - window.measure_after_s, list_work_times(window.spans)
    for second in range(int(end - start_s) + 1):
        at = start_s + second
        worked = not work or any(from_s < at + 1 and at < to_s for from_s, to_s in work)
        if worked and begin <= at + HALF_SAMPLE_S < end:
            yield second


def _plot_latency(context: Context) -> Iterator[BySecond | Absent]:
    point, name = choose_point(context), "neighbour-latency"
    if point is None:
        return
    frame = _read_latencies(context, point)
    if frame.is_empty():
        yield Absent(name, "latency over time", "no valid block has samples of a device")
        return
    medians = describe_medians(
        context, select_counted(context, point, frame), pl.col(LATENCY),
        lambda alone, beside: beside / alone,
        lambda *ends: " to ".join(map(format_measured_duration, ends)),
    )  # fmt: skip
    finding = f"A neighbour of {describe_neighbour(context, point)} takes reads from {medians}"
    yield BySecond(
        name=name,
        title=finding if medians else "Read latency of the device, alone and with the neighbour",
        caption="Mean latency of reads in each second of the busiest device, on a logarithmic "
        f"axis: {explain_pair(context, point)}",
        noun="read latency",
        data="Read latency of the device by second",
        point=point,
        frame=frame,
        strips={LATENCY: Strip("Read latency (ms)", "duration", MS_PER_S, log=True)},
        height=220,
        width=2,
    )


def _read_latencies(context: Context, point: Point) -> pl.DataFrame:
    windows = {
        window.id: (name, word)
        for name in context.evidence.candidates
        for window, word in zip(find_first_pair(context, name, point), WORDS, strict=False)
    }
    samples = context.read_by_second(metrics.BLOCK, [READS, READ_S], set(windows))
    of_second = ["window_id", "subject", "second"]
    wide = samples.pivot("metric", index=of_second, values="value", aggregate_function="last")
    rows = [
        (*windows[row["window_id"]], row["second"], row[READ_S], row.get(READS) or 0.0)
        for row in wide.iter_rows(named=True)
        if row.get(READ_S) is not None
    ]
    types = KEYS | {LATENCY: pl.Float64, "reads": pl.Float64}
    frame = pl.DataFrame(rows, schema=types, orient="row").sort("reads", descending=True)
    return frame.unique([*KEYS], keep="first", maintain_order=True).drop("reads").sort(*KEYS)


STRIPS: Mapping[str, Strip] = {
    READS: Strip("Reads per second", "rate"),
    WRITES: Strip("Writes per second", "rate"),
    WRITE_S: Strip("Write latency (ms)", "duration", MS_PER_S, log=True),
    MOVED: Strip("Read and written (MB/s)", "bandwidth", 1 / BYTES_PER_MB),
}


def _plot_operations(context: Context) -> Iterator[BySecond | Absent]:
    point, name = choose_point(context), "neighbour-operations"
    if point is None:
        return
    frame = _read_operations(context, point)
    if frame.is_empty():
        because = "no valid block has samples of a device"
        yield Absent(name, "operations of the device over time", because)
        return
    medians = describe_medians(
        context, select_counted(context, point, frame),
        pl.col(READS).fill_null(0) + pl.col(WRITES).fill_null(0),
        lambda _, beside: beside,
        lambda alone, beside: f"{format_count(alone)} and {format_count(beside)}",
    )  # fmt: skip
    title = "Operations per second of the device, alone and with the neighbour"
    yield BySecond(
        name=name,
        title=f"{title}: {medians}" if medians else title,
        caption="Each second of the busiest device, with what tenants and neighbour do on it: "
        f"{explain_pair(context, point)}",
        noun="what the device does",
        data="Operations of the device by second",
        point=point,
        frame=frame,
        strips=STRIPS,
        height=110,
    )


def _read_operations(context: Context, point: Point) -> pl.DataFrame:
    rows: Rows = []
    for name in context.evidence.candidates:
        for word, window in zip(WORDS, find_first_pair(context, name, point), strict=False):
            device = find_busiest_device(context, window, (READS, WRITES, WRITE_S))
            rows += [
                {"candidate": name, "neighbour": word, "second": second}
                | {strip: device[strip].get(second) for strip in STRIPS}
                for second in sorted({at for seconds in device.values() for at in seconds})
            ]
    return pl.DataFrame(rows, schema=KEYS | dict.fromkeys(STRIPS, pl.Float64))


TABLES = ("tenant_seconds",)
PLUGINS = (
    FigureKind("neighbour-latency", 15, "neighbours", _plot_latency, TABLES),
    FigureKind("neighbour-operations", 16, "neighbours", _plot_operations, TABLES),
)
