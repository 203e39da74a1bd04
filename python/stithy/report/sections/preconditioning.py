"""How block I/O came to its steady state: the rounds before the windows."""

from collections.abc import Iterator
from typing import Any

import altair as alt
import polars as pl

from stithy.fio.precondition import EXCURSION_MOST, RANGE_MOST, ROUNDS
from stithy.report.blocks import Section
from stithy.report.context import Context
from stithy.report.drawing.chart import Axis, domain_of, joined_points, value_axis
from stithy.report.drawing.compose import Drawing, Rows, Spec, layer
from stithy.report.drawing.compose import grid as charts_in
from stithy.report.figure import Drawn
from stithy.report.page import Page
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import listing

NAME = "preconditioning"
NEEDS = ("io_seconds",)
TITLE = "Approach to steady state"
NOTE = (
    f"Each tracked test is steady where the values of its last {ROUNDS} rounds range over at most "
    f"{RANGE_MOST:.0%} of their mean, and their best straight line rises or falls by at most "
    f"{EXCURSION_MOST:.0%} of it. This is SNIA's rule, not a test of SNIA's."
)
PANEL_WIDTH, PANEL_HEIGHT, COLUMNS = 300, 180, 2


def _tracked(context: Context) -> pl.DataFrame:
    return context.run.detail("preconditioning").filter(pl.col("tracked"))


def tables(page: Page) -> Iterator[PageTable]:
    """What the last round of each candidate and tracked test says."""
    shows = (
        Show("candidate", "Candidate"), Show("test", "Test"), Show("round", "Rounds", "count"),
        Show("iops", "IOPS", "count"), Show("range_share", "Range", "share"),
        Show("excursion_share", "Rise of the line", "share"), Show("steady", "Steady", "truth"),
    )  # fmt: skip
    last = _tracked(page.context).group_by("candidate", "test", maintain_order=True).last()
    yield PageTable(NAME, TITLE, shows, last.select([show.column for show in shows]))


def draw(page: Page) -> Iterator[Drawn]:
    """One panel for each tracked test."""
    context, frame = page.context, _tracked(page.context)
    if frame.is_empty():
        return
    states = [_state(name, frame) for name in context.evidence.candidates]
    title, drawing = f"Steady state: {listing(states)}", Drawing()
    tests = frame["test"].unique(maintain_order=True).to_list()
    panels = [_panel(context, drawing, test, frame.filter(test=test).to_dicts()) for test in tests]
    shows = (
        Show("candidate", "candidate"), Show("test", "test"), Show("round", "round", "count"),
        Show("iops", "IOPS", "count"),
    )  # fmt: skip
    table = PageTable(NAME, title, shows, frame.select(show.column for show in shows))
    yield drawing.figure(
        context, NAME, title, charts_in(panels, COLUMNS), table,
        caption="Requests per second of each tracked test (reads-writes-block size) in each round "
        f"of preconditioning. The rule is applied to the last {ROUNDS} rounds.",
        description="Charts of requests per second against the round, one for each test, "
        f"a line for each candidate: {', '.join(context.evidence.candidates)}.",
    )  # fmt: skip


def _state(name: str, frame: pl.DataFrame) -> str:
    """After how many rounds a candidate was steady, if it was."""
    own = frame.filter(candidate=name)
    if own.is_empty():
        return f"unknown of {name}"
    number = max(own["round"].to_list())
    is_steady = own.filter(round=number)["steady"].all()
    return f"{'reached' if is_steady else 'not reached'} after {number} rounds on {name}"


def _panel(context: Context, drawing: Drawing, test: str, rows: Rows) -> Spec:
    own: list[dict[str, Any]] = [
        {"candidate": each["candidate"], "round": each["round"], "value": each["iops"]}
        for each in rows
    ]
    x = alt.X("round:Q", title="Round", axis=alt.Axis(format="d", tickMinStep=1))
    y = value_axis(Axis(f"{test}: IOPS"), domain_of(own, log=False))
    tips = [
        alt.Tooltip("candidate:N"), alt.Tooltip("round:Q"), alt.Tooltip("value:Q", title="IOPS"),
    ]  # fmt: skip
    layers = joined_points(context, drawing, own, {"x": x, "y": y}, tips, size=40)
    return layer(layers, width=PANEL_WIDTH, height=PANEL_HEIGHT)


def sections(page: Page) -> Iterator[Section]:
    """Where rounds were done."""
    return page.section(NAME, 23, TITLE, NOTE, page.context.footer + ".")
