"""How even block I/O was: requests per second, second by second, of each candidate."""

from collections.abc import Iterator

import altair as alt
import polars as pl

from stithy.analysis.evidence import Window
from stithy.metrics import Quantity
from stithy.point import Point
from stithy.report.blocks import Block, Section, figures, paragraph
from stithy.report.context import Context
from stithy.report.drawing.chart import Axis, domain_of, line_channels, picked, value_axis
from stithy.report.drawing.compose import Drawing, layer, unit
from stithy.report.drawing.titles import named
from stithy.report.figure import Drawn, Figure
from stithy.report.page import Page
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import percent

NAME = "consistency"
NEEDS = ("io_seconds",)
TITLE = "Second by second"
NOTE = (
    "One window of each candidate, the first valid one, at the point of the primary question. The "
    "variation is the coefficient of variation of requests per second."
)
WIDTH, HEIGHT = 700, 220
TICKS_MOST = 12
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 3600, 7200, 14_400, 43_200)
"""Seconds between ticks; with the last one they suffice for a window of six days."""


def draw(page: Page) -> Iterator[Drawn]:
    """One line for each candidate, where the question is asked."""
    context = page.context
    shown = list(_windows(context))
    frame = _seconds(context, shown)
    if frame.is_empty():
        return
    title, drawing = _finding(context, shown), Drawing()
    yield Figure(
        name=NAME,
        title=title,
        caption="Requests per second in each second of the measurement, from zero.",
        description=f"{title}. Chart of requests per second against time, a line for each "
        f"candidate: {', '.join(each.candidate for each in shown)}.",
        footer=context.footer,
        spec=drawing.spec(_chart(context, drawing, frame)),
        table=PageTable(
            NAME, title,
            (Show("candidate", "candidate"), Show("second", "second", "count"),
             Show("requests", "requests", "count")),
            frame,
        ),
    )  # fmt: skip


def _point(context: Context) -> Point | None:
    """Where the question is asked, else the last point."""
    points = context.evidence.points
    return context.evidence.primary.point or (points[-1] if points else None)


def _windows(context: Context) -> Iterator[Window]:
    point = _point(context)
    for name in context.evidence.candidates:
        yield from () if point is None else context.evidence.valid_at(name, point)[:1]


def _seconds(context: Context, shown: list[Window]) -> pl.DataFrame:
    """Requests of all streams and directions; a second without a row had none."""
    rows = [
        {"candidate": window.candidate, "second": second, "requests": count}
        for window in shown
        for second, count in context.run.io_seconds_of(window.id).items()
    ]
    types = {"candidate": pl.String, "second": pl.Int64, "requests": pl.Int64}
    return pl.DataFrame(rows, schema=types)


def _finding(context: Context, shown: list[Window]) -> str:
    found = [
        (window.candidate, value)
        for window in shown
        if (value := context.evidence.value_of(window, Quantity("fio.variation")).number)
        is not None
    ]
    each = named(found, lambda at: at[1], lambda at: f"{percent(at[1])} on {at[0]}")
    where = _point(context)
    return f"Variation of requests per second at {where.brief if where else 'one point'}: {each}"


def _chart(context: Context, drawing: Drawing, frame: pl.DataFrame) -> dict[str, object]:
    domain = domain_of([{"value": each} for each in frame["requests"]], log=False)
    last = max(frame["second"], default=0)
    step = next(each for each in STEPS if last / each <= TICKS_MOST)
    whole = alt.Axis(format="d", values=list(range(0, last + 1, step)))
    x = alt.X("second:Q", title="Seconds of the measurement", axis=whole)
    y = value_axis(Axis("Requests per second"), domain)
    line = alt.Chart(drawing.add(frame.rename({"requests": "value"}).to_dicts())).mark_line()
    own = line.encode(x=x, y=y, opacity=picked(), **line_channels(context))
    return layer([drawing.followed(unit(own))], width=WIDTH, height=HEIGHT)


def sections(page: Page) -> Iterator[Section]:
    """Where fio's seconds are there."""
    if page.drawn_in(NAME):
        yield Section(NAME, 26, TITLE, tuple(_blocks(page)))


def _blocks(page: Page) -> Iterator[Block]:
    yield from figures(page.drawn_in(NAME))
    yield from paragraph(NOTE, style="note")
