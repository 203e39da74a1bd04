"""Throughput against users: NOPM, TPM, and TPM of each user."""

from dataclasses import dataclass

import polars as pl

from stithy.metrics import Quantity
from stithy.report.context import Context
from stithy.report.drawing.chart import Axis, Panel, by_users, domain_of, window_rows
from stithy.report.drawing.compose import Drawing, Rows
from stithy.report.drawing.spans import bars_told, with_spans
from stithy.report.drawing.titles import compare_title
from stithy.report.figure import Absent, Drawn, Figure
from stithy.report.tables import PageTable, Show

NAME = "throughput"
ORDER = 10
SECTION = "throughput"


@dataclass(frozen=True)
class _Measure:
    """One of the three figures: what is drawn, and how it is spoken of."""

    name: str
    metric: str
    noun: str
    axis: str
    each_user: bool
    caption: str


MEASURES = (
    _Measure(
        "nopm-by-users", "nopm", "new orders per minute", "New orders per minute (NOPM)", False,
        "Committed new orders per minute.",
    ),
    _Measure(
        "tpm-by-users", "tpm", "transactions per minute", "Transactions per minute (TPM)", False,
        "All completed transactions per minute, the specified rollbacks included.",
    ),
    _Measure(
        "tpm-per-user", "tpm", "transactions per minute per user", "TPM of each user", True,
        "Transactions per minute divided by the number of users: level while nothing is shared, "
        "falling once users wait for each other.",
    ),
)  # fmt: skip


def draw(context: Context) -> list[Drawn]:
    """The three figures, or why they are not there."""
    return [_one(context, measure) for measure in MEASURES]


def _one(context: Context, measure: _Measure) -> Drawn:
    lines, points = window_rows(context, measure.metric, divide_by_users=measure.each_user)
    if not points:
        return Absent(measure.name, measure.noun, "no window has numbers")
    if measure.each_user and context.is_open:
        because = "at a rate transactions belong to no user"
        return Absent(measure.name, measure.noun, because)
    metric = None if measure.each_user else Quantity(measure.metric)
    title = compare_title(context, lines, points, measure.noun, metric=metric)
    drawing = Drawing()
    chart = by_users(
        context,
        drawing,
        Axis(measure.axis),
        Panel(lines, points, domain_of(with_spans(points, log=False), log=False)),
    )
    return Figure(
        name=measure.name,
        title=title.text,
        ratio=title.ratio,
        caption=f"{measure.caption}{bars_told(points)}",
        description=f"{title.text}. Line chart of {measure.noun} against "
        f"{context.level_name.lower()}, one line for each candidate: "
        f"{', '.join(context.evidence.candidates)}.",
        footer=context.footer,
        spec=drawing.spec(chart),
        table=_table(context, measure, points),
    )


def _table(context: Context, measure: _Measure, points: Rows) -> PageTable:
    return PageTable(
        measure.name,
        measure.axis,
        (
            Show("users", context.level_plural, "count"), Show("candidate", "candidate"),
            Show("block", "block", "count"), Show("value", measure.axis, "rate"),
            Show("note", "window"),
        ),
        pl.DataFrame(points),
    )  # fmt: skip
