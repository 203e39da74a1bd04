"""What activities measured that have metrics of their own: every value, and each metric drawn."""

from collections.abc import Iterator

import polars as pl

from stithy.metrics import ALL, Metric, Quantity
from stithy.names import make_plain
from stithy.report.blocks import Block, Drawn, SectionKind
from stithy.report.context import Context
from stithy.report.drawing.plots import ByLevel, Series
from stithy.report.drawing.points import make_axis, read_quantity_rows, scale_of
from stithy.report.drawing.titles import compare_title
from stithy.report.page import Page
from stithy.report.tables import KINDS, PageTable, Show, make_table
from stithy.report.words.wording import format_quantity

NAME = "measured"

NOTE = (
    "Values are those of all valid windows of a candidate at a point: means of rates, percentiles "
    "of the merged distributions, sums of counts; of a window against that of its block without "
    "what is beside the users, the mean over blocks. A dash means that no valid window has the "
    "value, or that there are too few values for the percentile."
)

DRAWN_PERCENT = 99.0
"""Of percentiles this one is drawn; the table has all."""


def _draw_measured_figures(page: Page) -> Iterator[Drawn]:
    for metric in _list_metrics(page):
        drawn = metric.percent in (None, DRAWN_PERCENT)
        if metric.better is not None and metric.compared and drawn:
            yield from draw_metric(page.context, metric)


def _set_measured(page: Page) -> Iterator[Block]:
    factors = list(page.context.factors)
    points = page.tables[NAME].frame.select(factors).unique().height if factors else 1
    names = {metric.name for metric in _list_metrics(page) if metric.compared}
    if points != 1 or names - page.covered:
        yield from page.set_usual(NAME, NOTE)


def _list_metrics(page: Page) -> list[Metric]:
    names = dict.fromkeys(each.metric for each in page.context.declared)
    return [Quantity(name).known for name in names if name not in page.covered_at_points]


def _list_values(page: Page) -> PageTable:
    context = page.context
    metrics = [metric for metric in _list_metrics(page) if metric.compared]
    evidence = context.evidence
    # What the values are of: all first, then as the metrics list their subjects.
    there = {each.of for each in context.declared if each.known in metrics}
    order = [None, *(of for metric in metrics for of in metric.subjects)]
    kinds = [of for of in dict.fromkeys([*order, *sorted(there - {None}, key=str)]) if of in there]
    rows = [
        {**context.list_factor_values(point), "candidate": name, "of": of or ALL, **cells}
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
        *(Show(metric.name, metric.label, KINDS[metric.unit]) for metric in metrics),
    )
    types = {"of": pl.String, **dict.fromkeys((each.name for each in metrics), pl.Float64)}
    table = make_table(NAME, "What was measured at each point", shows, rows, **types)
    return table.told("candidate")


def draw_metric(context: Context, metric: Metric) -> Iterator[Drawn]:
    """Draw a metric of activities at all points; nothing where no window has a value."""
    quantity = Quantity(metric.name)
    lines, points = read_quantity_rows(context, quantity)
    if not points:
        return
    scale, axis = scale_of(context, quantity), make_axis(context, quantity)
    yield ByLevel(
        name=make_plain(metric.name),
        title=compare_title(
            context, lines, points, metric.noun,
            lambda number: format_quantity(quantity, number / scale), metric=quantity,
        ),
        caption=f"{axis.title} against {context.axis.title}. Small marks are windows, large ones "
        f"the values of all valid windows{', joined by lines' if context.is_joined else ''}.",
        noun=metric.noun,
        data=axis.title,
        axis=axis,
        rows=[[Series(lines, points)]],
        value=Show("value", axis.title, "rate"),
    ).draw(context)  # fmt: skip


SPANS_NOTE = (
    "A span that does not count leaves the rest of its window as it is: only values of that span "
    "are missing."
)


def _make_spans_tables(page: Page) -> Iterator[PageTable]:
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
    always = (show.column for show in shows if show.column != "because")
    yield make_table("spans", "Spans within windows", shows, rows).told(*always)


PLUGINS = (
    SectionKind(
        NAME, 25, "What was measured", _set_measured,
        make_tables=lambda page: [_list_values(page)], draw_figures=_draw_measured_figures,
    ),
    SectionKind(
        "spans", 27, "Spans within windows", lambda page: page.set_usual("spans", SPANS_NOTE),
        make_tables=_make_spans_tables,
    ),
)  # fmt: skip
