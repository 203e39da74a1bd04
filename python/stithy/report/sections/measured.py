"""What activities measured that have metrics of their own: every value, and each metric drawn."""

from collections.abc import Iterator

import polars as pl

from stithy.metrics import ALL, Metric, Quantity
from stithy.point import are_amounts
from stithy.report.blocks import Block, Section, figures, grid, paragraph
from stithy.report.context import Context
from stithy.report.drawing.chart import Panel, by_users, domain_of
from stithy.report.drawing.compose import Drawing, bars_told, with_spans
from stithy.report.drawing.points import points_table
from stithy.report.drawing.quantities import axis_of, quantity_rows, scale_of
from stithy.report.drawing.titles import compare_title
from stithy.report.figure import Drawn, Figure
from stithy.report.page import Page
from stithy.report.tables import KINDS, PageTable, Show
from stithy.report.words.wording import value as in_words

NAME = "measured"

NOTE = (
    "Values are those of all valid windows of a candidate at a point: means of rates, percentiles "
    "of the merged distributions, sums of counts; of a window against that of its block without "
    "what is beside the users, the mean over blocks. A dash means that no valid window has the "
    "value."
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
    names = [each.name for each in metrics]
    kinds = _kinds(context)
    rows = [
        {"candidate": name, **context.factor_values(point), "of": of or ALL, **cells}
        for point in evidence.points
        for name in evidence.candidates
        for of in kinds
        if set((cells := {
            each.name: evidence.level_of(name, point, Quantity(each.name, of)) for each in metrics
        }).values()) - {None}
    ]  # fmt: skip
    shows = [
        *context.factor_shows,
        Show("candidate", "Candidate"),
        *([Show("of", "Of")] if len(kinds) > 1 else []),
        *(Show(each.name, each.label, KINDS[each.unit]) for each in metrics),
    ]
    types = {**context.factor_types, "candidate": pl.String, "of": pl.String}
    frame = pl.DataFrame(rows, schema=types | dict.fromkeys(names, pl.Float64))
    shown = [each for each in shows if frame[each.column].count() or each.column == "candidate"]
    return PageTable(NAME, "What was measured at each point", tuple(shown), frame)


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
    domain = domain_of(with_spans(points, log=False), log=False)
    panel = Panel(lines, points, domain, joined=joined)
    stem = metric.name.replace(".", "-").replace("_", "-")
    yield Figure(
        name=stem,
        title=title.text,
        ratio=title.ratio,
        caption=f"{axis.title} against {context.axis.title}. Small marks are windows, large ones "
        f"the values of all valid windows{', joined by lines' if joined else ''}."
        f"{bars_told(points)}",
        description=f"{title.text}. Chart of {metric.noun} against {context.axis.title}, for each "
        f"candidate: {', '.join(context.evidence.candidates)}.",
        footer=context.footer,
        spec=drawing.spec(by_users(context, drawing, axis, panel)),
        table=points_table(context, stem, axis.title, points, Show("value", axis.title, "rate")),
    )


def sections(page: Page) -> Iterator[Section]:
    """Where an activity has metrics of its own; not again what another section has of one point."""
    frame = page.tables[NAME].frame
    if not (frame.is_empty() or _is_repeated(page, frame)):
        yield Section(NAME, 25, "What was measured", tuple(_blocks(page)))


def _is_repeated(page: Page, frame: pl.DataFrame) -> bool:
    factors = list(page.context.factors)
    points = frame.select(factors).unique().height if factors else 1
    return points == 1 and page.covered.issuperset(
        each.name for each in _metrics(page.context) if each.compared
    )


def _blocks(page: Page) -> Iterator[Block]:
    yield from figures(page.drawn_in(NAME))
    yield from grid(page.tables[NAME])
    yield from paragraph(NOTE, style="note")
