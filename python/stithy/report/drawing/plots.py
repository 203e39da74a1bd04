"""Forms of figures: what is plotted, as data. Each form has its chart, its table and its words."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import fmean

import altair as alt
import polars as pl

from stithy.analysis.evidence import Window
from stithy.point import Point
from stithy.report.blocks import Figure, Plot, Title
from stithy.report.context import Context
from stithy.report.drawing import palette
from stithy.report.drawing.chart import (
    HEIGHT,
    MIN_EXTENT,
    PERCENT,
    WIDTH,
    Axis,
    Domain,
    LimitLine,
    Panel,
    draw_by_level,
    find_domain,
    fix_ticks,
    label_ticks,
    list_even_ticks,
    make_level_tip,
    make_own_channels,
    make_value_axis,
    make_y_axis,
)
from stithy.report.drawing.compose import (
    Drawing,
    Rows,
    Spec,
    add_spans,
    explain_bars,
    make_unit,
    merge_layers,
    place_above,
    place_beside,
    place_in_grid,
)
from stithy.report.drawing.points import scale_rows
from stithy.report.drawing.titles import name_by
from stithy.report.tables import PageTable, Show, make_table
from stithy.report.words.wording import begin_sentence
from stithy.units import format_measured_duration


@dataclass(frozen=True, kw_only=True)
class DataPlot(Plot):
    """What all forms have; `name` is the stem of the figure's files, `title` its finding.

    `noun`: what its values are, in a sentence. `data`: the caption of its table.
    """

    name: str
    title: str | Title
    caption: str
    noun: str
    data: str

    def draw(self, context: Context) -> Figure:
        drawing = Drawing()
        chart = self.draw_chart(context, drawing)
        return drawing.figure(
            context, self.name, self.title, chart, self.make_table(context),
            caption=self.explain(), description=self.describe(context),
        )  # fmt: skip

    @abstractmethod
    def draw_chart(self, context: Context, drawing: Drawing) -> Spec:
        """Draw all charts of the figure."""

    @abstractmethod
    def make_table(self, context: Context) -> PageTable:
        """Make the table of what is drawn."""

    @abstractmethod
    def describe(self, context: Context) -> str:
        """Say what is drawn, for those who cannot see it."""

    def explain(self) -> str:
        """Say what is plotted, and what marks and bars mean."""
        return self.caption


@dataclass(frozen=True)
class Series:
    """One chart against levels: values of candidates as lines, of windows as points.

    `cells`: what tells it from the other charts in the group columns of the table. `limits`: drawn
    as lines, in the unit of the axis.
    """

    lines: Rows
    points: Rows
    title: str = ""
    cells: tuple[str, ...] = ()
    limits: tuple[LimitLine, ...] = ()

    @property
    def pooled(self) -> Rows:
        """What is known of all windows of a level together, and of none of them alone."""
        alone = {(point["level"], point["candidate"]) for point in self.points}
        also = {"block": None, "valid": True, "note": "all windows together"}
        return [
            {**line, **also}
            for line in self.lines
            if (line["level"], line["candidate"]) not in alone
        ]


@dataclass(frozen=True, kw_only=True)
class ByLevel(DataPlot):
    """Values against levels. The charts of a row have one vertical scale.

    `groups`: columns of the table that tell charts apart; `columns`: more, after the candidate.
    `scale`: from the values of the table to those of the axis.
    """

    axis: Axis
    rows: Sequence[Sequence[Series]]
    value: Show
    groups: tuple[str, ...] = ()
    columns: tuple[Show, ...] = ()
    scale: float = 1.0
    height: int = HEIGHT

    def draw_chart(self, context: Context, drawing: Drawing) -> Spec:
        """Draw rows of charts, the horizontal axis named below the last row."""
        return place_above([
            self._draw_row(context, drawing, row, is_last=row is self.rows[-1]) for row in self.rows
        ])  # fmt: skip

    def _draw_row(
        self, context: Context, drawing: Drawing, row: Sequence[Series], *, is_last: bool
    ) -> Spec:
        drawn = [(self._shown(series.lines), self._shown(series.points)) for series in row]
        log, limits = self.axis.log, [limit for series in row for limit in series.limits]
        values = [value for lines, points in drawn for value in (*lines, *add_spans(points, log))]
        domain = find_domain([*values, *({"value": limit.value} for limit in limits)], log)
        width = WIDTH if len(row) == 1 else (WIDTH + 20) // len(row) - 30
        panels = [
            Panel(
                lines, points, domain, series.title, width, self.height,
                first=series is row[0], last=is_last, limits=series.limits,
                joined=context.is_joined,
            )
            for series, (lines, points) in zip(row, drawn, strict=True)
        ]  # fmt: skip
        return place_beside([draw_by_level(context, drawing, self.axis, panel) for panel in panels])

    def _shown(self, rows: Rows) -> Rows:
        """In the unit of the axis; without 0 on a logarithmic one."""
        return scale_rows(
            [row for row in rows if row["value"] > 0 or not self.axis.log], self.scale
        )

    def make_table(self, context: Context) -> PageTable:
        """Make a row for each window, after those of several together."""
        rows = [
            dict(zip(self.groups, series.cells, strict=True)) | point
            for row in self.rows
            for series in row
            for point in (*series.points, *series.pooled)
        ]
        shows = (
            *(Show(group, group) for group in self.groups), context.axis_show,
            Show("candidate", "candidate"), *self.columns, Show("block", "block", "count"),
            self.value, Show("note", "window"),
        )  # fmt: skip
        return PageTable(self.name, self.data, shows, pl.DataFrame(rows).drop("level"))

    def explain(self) -> str:
        points = (series.points for series in chain(*self.rows))
        return self.caption + next(filter(None, map(explain_bars, points)), "")

    def describe(self, context: Context) -> str:
        charts = ", ".join(series.title for series in self.rows[0])
        if len(self.rows) > 1:
            names = ", ".join(row[0].cells[0] for row in self.rows)
            charts = f"a row for each {self.groups[0]}: {names}; a column for each {self.groups[1]}"
        many = len([*chain(*self.rows)]) > 1
        return (
            f"Line chart{'s' * many} of {self.noun} against {context.axis.title.lower()}"
            f"{f' ({charts})' * many}, one line for each candidate: "
            f"{', '.join(context.evidence.candidates)}."
        )


@dataclass(frozen=True, kw_only=True)
class Stacks(DataPlot):
    """Bars of parts that add up: one for each level, a chart for each candidate.

    `rows`: `level`, the value of the axis, `candidate`, `part`, `order`, `value`. `colours`: by
    part, in the order of stacking. `part`, `value`: columns of the table.
    """

    axis: Axis
    rows: Rows
    colours: Mapping[str, str]
    part: str
    value: Show
    domain: Domain | None = None

    def draw_chart(self, context: Context, drawing: Drawing) -> Spec:
        """Draw up to three charts in a row; a level without rows keeps its place."""
        drawn = {row["candidate"] for row in self.rows}
        names = [name for name in context.evidence.candidates if name in drawn]
        columns = min(len(names), 3)
        charts = [
            self._draw_candidate(context, drawing, name, columns, is_first=index % columns == 0)
            for index, name in enumerate(names)
        ]
        return place_in_grid(charts, columns)

    def _draw_candidate(
        self, context: Context, drawing: Drawing, name: str, columns: int, *, is_first: bool
    ) -> Spec:
        field, domain = context.axis.name.replace(".", "\\."), self.domain or self._find_domain()
        levels = [context.place(point)[context.axis.name] for point in context.positions]
        colours = alt.Scale(domain=list(self.colours), range=list(self.colours.values()))
        legend = alt.Legend(title=None, orient="top", direction="horizontal", columnPadding=16)
        rows = (row for row in self.rows if row["candidate"] == name)
        bars = alt.Chart(drawing.add(rows), title=name).mark_bar(
            stroke=palette.PAPER[0], strokeWidth=0.5
        )
        chart = bars.encode(
            x=alt.X(
                f"{field}:O", title=context.axis.title, axis=alt.Axis(labelAngle=0, grid=False),
                scale=alt.Scale(domain=levels),
            ),
            y=make_y_axis(
                "value", self.axis.title if is_first else None, domain,
                **label_ticks(self.axis.format),
                minExtent=MIN_EXTENT, **fix_ticks(list_even_ticks(domain) or domain),
            ).stack("zero"),
            color=alt.Color("part:N", scale=colours, legend=legend),
            order=alt.Order("order:Q"),
            tooltip=[
                alt.Tooltip("candidate:N"), make_level_tip(context), alt.Tooltip("part:N"),
                alt.Tooltip("value:Q", format=".1%" if self.axis.format == PERCENT else ".3~g"),
            ],
        )  # fmt: skip
        return make_unit(chart.properties(width=(WIDTH + 20) // columns - 45, height=240))

    def _find_domain(self) -> Domain:
        tops: dict[tuple[str, float], float] = {}
        for row in self.rows:
            at = row["candidate"], row["level"]
            tops[at] = tops.get(at, 0.0) + row["value"]
        return find_domain([{"value": top} for top in tops.values()], log=False)

    def make_table(self, context: Context) -> PageTable:
        shows = (
            context.axis_show,
            Show("candidate", "candidate"),
            Show("part", self.part),
            self.value,
        )
        frame = pl.DataFrame(self.rows).select(show.column for show in shows)
        return PageTable(self.name, self.data, shows, frame)

    def describe(self, context: Context) -> str:
        level = f"{'number of ' * context.axis.counts}{context.axis.plural}"
        return (
            f"Stacked bars of {self.noun}, one bar for each {level}, one chart for each candidate."
        )


@dataclass(frozen=True)
class Duration:
    """An operation that succeeded, in a valid window; `cycle`: its number there.

    `size_bytes` and `ratio` are of what it made, where that was measured.
    """

    operation: str
    candidate: str
    block: int
    cycle: str
    duration_s: float
    size_bytes: float | None = None
    ratio: float | None = None


@dataclass(frozen=True, kw_only=True)
class Bars(DataPlot):
    """How long operations took: a mark for each, a bar for the mean of blocks' means."""

    durations: Sequence[Duration]

    def draw_chart(self, context: Context, drawing: Drawing) -> Spec:
        """Draw a chart for each operation, all with the same scale."""
        domain = find_domain([{"value": of.duration_s} for of in self.durations], log=False)
        operations = list(dict.fromkeys(of.operation for of in self.durations))
        return place_beside([
            self._draw_operation(context, drawing, operation, domain, operation == operations[0])
            for operation in operations
        ])  # fmt: skip

    def _draw_operation(
        self, context: Context, drawing: Drawing, operation: str, domain: Domain, is_first: bool
    ) -> Spec:
        rows = [
            {"candidate": of.candidate, "block": of.block, "cycle": of.cycle,
             "value": of.duration_s}
            for of in self.durations if of.operation == operation
        ]  # fmt: skip
        means = average_blocks(self.durations, operation, context.evidence.candidates)
        x = alt.X(
            "candidate:N", title=None, scale=alt.Scale(domain=list(means)),
            axis=alt.Axis(labelAngle=0, grid=False),
        )  # fmt: skip
        y = make_value_axis(Axis("Duration (s)"), domain, titled=is_first)
        at = {"x": x, "y": y, "color": make_own_channels(context)["color"]}
        tips = [
            alt.Tooltip("candidate:N"), alt.Tooltip("block:Q"), alt.Tooltip("cycle:N"),
            alt.Tooltip("value:Q", title="duration (s)", format=",.4~g"),
        ]  # fmt: skip
        bars = [{"candidate": name, "value": mean} for name, mean in means.items()]
        layers = [
            drawing.mark("bar", bars, at, opacity=PALE, size=BAR),
            drawing.mark("tick", rows, {**at, "tooltip": tips}, thickness=2, size=BAR),
        ]
        return merge_layers(layers, width=BARS_WIDTH, height=220, title=operation.capitalize())

    def make_table(self, context: Context) -> PageTable:
        shows = (
            Show("operation", "operation"), Show("candidate", "candidate"),
            Show("block", "block", "count"), Show("cycle", "cycle"),
            Show("duration_s", "duration", "duration"), Show("size_bytes", "size", "size"),
            Show("ratio", "ratio", "ratio"),
        )  # fmt: skip
        return make_table(self.name, self.data, shows, map(vars, self.durations)).told()

    def describe(self, context: Context) -> str:
        return (
            f"Bar charts of the duration of {self.noun}, with a bar for each candidate and a mark "
            "for each cycle."
        )


BARS_WIDTH = 320
PALE, BAR = 0.45, 56
"""Opacity of the bars, so that marks stand out; their width, pixels."""


def average_blocks(
    durations: Iterable[Duration], operation: str, candidates: Iterable[str]
) -> dict[str, float]:
    """Average the blocks' means by candidate, seconds, as tables, verdicts and thresholds do."""
    blocks: dict[str, dict[int, list[float]]] = {name: {} for name in candidates}
    for of in durations:
        if of.operation == operation:
            blocks[of.candidate].setdefault(of.block, []).append(of.duration_s)
    return {name: fmean(map(fmean, of.values())) for name, of in blocks.items() if of}


def read_durations(
    context: Context, point: Point, list_durations: Callable[[Window], Iterable[Duration]]
) -> list[Duration]:
    """Read those of the valid windows at a point, candidate by candidate."""
    return [
        duration
        for name in context.evidence.candidates
        for window in context.evidence.valid_at(name, point)
        for duration in list_durations(window)
    ]


def write_durations_title(context: Context, durations: Sequence[Duration]) -> str:
    """Name the mean of each operation and candidate."""
    parts = []
    for operation in dict.fromkeys(of.operation for of in durations):
        means = average_blocks(durations, operation, context.evidence.candidates)
        parts.append(f"a {operation} takes {name_by(means, format_measured_duration)}")
    return begin_sentence("; ".join(parts))
