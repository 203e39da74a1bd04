"""What activities measured that have metrics of their own: every value, and each metric drawn."""

from collections.abc import Iterator

import polars as pl

from stithy.metrics import ALL, Metric, Quantity
from stithy.names import make_plain
from stithy.point import are_amounts
from stithy.report.blocks import Section
from stithy.report.context import Context
from stithy.report.drawing.chart import Panel, by_users
from stithy.report.drawing.compose import Drawing, bars_told
from stithy.report.drawing.points import axis_of, points_table, quantity_rows, scale_of
from stithy.report.drawing.titles import compare_title
from stithy.report.figure import Drawn
from stithy.report.page import Page
from stithy.report.section import SectionKind
from stithy.report.tables import KINDS, PageTable, Show, table_of
from stithy.report.words.wording import value as in_words

NAME = "measured"

NOTE = (
    "Values are those of all valid windows of a candidate at a point: means of rates, percentiles "
    "of the merged distributions, sums of counts; of a window against that of its block without "
    "what is beside the users, the mean over blocks. A dash means that no valid window has the "
    "value, or that there are too few values for the percentile."
)

DRAWN_PERCENT = 99.0
"""Of percentiles this one is drawn; the table has all."""


class MeasuredSection(SectionKind):
    """What activities measured by metrics of their own: every value, and each metric drawn."""

    name = NAME

    def make_tables(self, page: Page) -> Iterator[PageTable]:
        """A row for each point, candidate and what the values are of."""
        yield _list_values(page.context)

    def draw_figures(self, page: Page) -> Iterator[Drawn]:
        """One figure for each metric that is compared, along the axis."""
        for metric in _list_metrics(page.context):
            drawn = metric.percent in (None, DRAWN_PERCENT)
            if metric.better is not None and metric.compared and drawn:
                yield from _draw_metric(page.context, metric)

    def make_sections(self, page: Page) -> Iterator[Section]:
        """Show metrics of activities, but what another section shows of a single point."""
        if not _is_repeated(page, page.tables[self.name].frame):
            yield from page.section(self.name, 25, "What was measured", NOTE)


def _list_metrics(context: Context) -> list[Metric]:
    return [
        Quantity(name).known for name in dict.fromkeys(each.metric for each in context.declared)
    ]


def _list_kinds(context: Context) -> list[str | None]:
    """What the values are of: all first, then as the metrics list their subjects."""
    there = {each.of for each in context.declared if each.known.compared}
    order = [None, *(of for metric in _list_metrics(context) for of in metric.subjects)]
    return [of for of in dict.fromkeys([*order, *sorted(there - {None}, key=str)]) if of in there]


def _list_values(context: Context) -> PageTable:
    metrics = [each for each in _list_metrics(context) if each.compared]
    evidence = context.evidence
    kinds = _list_kinds(context)
    rows = [
        {**context.factor_values(point), "candidate": name, "of": of or ALL, **cells}
        for point in evidence.points
        for name in evidence.candidates
        for of in kinds
        if set((cells := {
            each.name: evidence.level_of(name, point, Quantity(each.name, of)) for each in metrics
        }).values()) - {None}
    ]  # fmt: skip
    shows = (
        *context.factor_shows,
        Show("candidate", "Candidate"),
        *([Show("of", "Of")] if len(kinds) > 1 else []),
        *(Show(each.name, each.label, KINDS[each.unit]) for each in metrics),
    )
    types = {"of": pl.String, **dict.fromkeys((each.name for each in metrics), pl.Float64)}
    table = table_of(NAME, "What was measured at each point", shows, rows, **types)
    return table.told("candidate")


def _draw_metric(context: Context, metric: Metric) -> Iterator[Drawn]:
    quantity = Quantity(metric.name)
    lines, points = quantity_rows(context, quantity)
    if not points:
        return
    scale = scale_of(context, quantity)
    title = compare_title(
        context, lines, points, metric.noun, lambda number: in_words(quantity, number / scale),
        metric=quantity,
    )  # fmt: skip
    drawing, axis = Drawing(), axis_of(context, quantity)
    joined = are_amounts(point.values[context.axis.name] for point in context.positions)
    panel = Panel(lines, points, joined=joined)
    stem = make_plain(metric.name)
    yield drawing.figure(
        context, stem, title, by_users(context, drawing, axis, panel),
        points_table(context, stem, axis.title, points, Show("value", axis.title, "rate")),
        caption=f"{axis.title} against {context.axis.title}. Small marks are windows, large ones "
        f"the values of all valid windows{', joined by lines' if joined else ''}."
        f"{bars_told(points)}",
        description=f"Chart of {metric.noun} against {context.axis.title}, for each "
        f"candidate: {', '.join(context.evidence.candidates)}.",
    )  # fmt: skip


def _is_repeated(page: Page, frame: pl.DataFrame) -> bool:
    factors = list(page.context.factors)
    points = frame.select(factors).unique().height if factors else 1
    return points == 1 and page.covered.issuperset(
        each.name for each in _list_metrics(page.context) if each.compared
    )


SPANS_NOTE = (
    "A span that does not count leaves the rest of its window as it is: only values of that span "
    "are missing."
)


class SpansSection(SectionKind):
    """The named times within windows: when they began, how long they took, whether they count."""

    name = "spans"

    def make_tables(self, page: Page) -> Iterator[PageTable]:
        """A row for each span, in the order of the windows."""
        windows = page.context.evidence.windows
        rows = [
            {
                "window_id": window.id, "name": span["name"],
                "begin_s": span["from_s"] - (window.row["started_at_s"] or span["from_s"]),
                "duration_s": None if span["to_s"] is None else span["to_s"] - span["from_s"],
                "outcome": span["outcome"],
                "valid": window.valid and span["invalid_because"] is None,
                "because": span["invalid_because"] if window.valid else "the window is invalid",
            }
            for window in windows
            for span in window.spans
        ]  # fmt: skip
        shows = (
            Show("window_id", "Window", "id"), Show("name", "Span"),
            Show("begin_s", "Began after", "duration"), Show("duration_s", "Duration", "duration"),
            Show("outcome", "Outcome"), Show("valid", "Valid", "truth"),
            Show("because", "Why it does not count"),
        )  # fmt: skip
        always = (each.column for each in shows if each.column != "because")
        yield table_of(self.name, "Spans within windows", shows, rows).told(*always)

    def make_sections(self, page: Page) -> Iterator[Section]:
        """Where an activity names any."""
        return page.section(self.name, 27, "Spans within windows", SPANS_NOTE)


PLUGINS = (MeasuredSection(), SpansSection())
