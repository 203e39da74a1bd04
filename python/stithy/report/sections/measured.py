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


def tables(page: Page) -> Iterator[PageTable]:
    """A row for each point, candidate and what the values are of."""
    yield _table(page.context)


def _metrics(context: Context) -> list[Metric]:
    """The metrics of all windows that an activity declares, in the order in which it has them."""
    return [
        Quantity(name).known for name in dict.fromkeys(each.metric for each in context.declared)
    ]


def _kinds(context: Context) -> list[str | None]:
    """What the values are of: all first, then as the metrics list their subjects."""
    there = {each.of for each in context.declared if each.known.compared}
    order = [None, *(of for metric in _metrics(context) for of in metric.subjects)]
    return [of for of in dict.fromkeys([*order, *sorted(there - {None}, key=str)]) if of in there]


def _table(context: Context) -> PageTable:
    metrics = [each for each in _metrics(context) if each.compared]
    evidence = context.evidence
    kinds = _kinds(context)
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


def draw(page: Page) -> Iterator[Drawn]:
    """One figure for each metric that is compared, along the axis."""
    for metric in _metrics(page.context):
        drawn = metric.percent in (None, DRAWN_PERCENT)
        if metric.better is not None and metric.compared and drawn:
            yield from _figure(page.context, metric)


def _figure(context: Context, metric: Metric) -> Iterator[Drawn]:
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


def sections(page: Page) -> Iterator[Section]:
    """Where an activity has metrics of its own; not again what another section has of one point."""
    if not _is_repeated(page, page.tables[NAME].frame):
        yield from page.section(NAME, 25, "What was measured", NOTE)


def _is_repeated(page: Page, frame: pl.DataFrame) -> bool:
    factors = list(page.context.factors)
    points = frame.select(factors).unique().height if factors else 1
    return points == 1 and page.covered.issuperset(
        each.name for each in _metrics(page.context) if each.compared
    )
