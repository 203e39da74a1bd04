"""The named times within windows: when they began, how long they took, whether they count."""

from collections.abc import Iterator

import polars as pl

from stithy.report.blocks import Block, Section, grid, paragraph
from stithy.report.page import Page
from stithy.report.tables import PageTable, Show

NAME = "spans"

NOTE = (
    "A span that does not count leaves the rest of its window as it is: only values of that span "
    "are missing."
)


def tables(page: Page) -> Iterator[PageTable]:
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
    types = {
        "window_id": pl.String, "name": pl.String, "begin_s": pl.Float64,
        "duration_s": pl.Float64, "outcome": pl.String, "valid": pl.Boolean, "because": pl.String,
    }  # fmt: skip
    frame = pl.DataFrame(rows, schema=types)
    told = tuple(each for each in shows if each.column != "because" or frame["because"].count())
    yield PageTable(NAME, "Spans within windows", told, frame)


def sections(page: Page) -> Iterator[Section]:
    """Where an activity names any."""
    table = page.tables[NAME]
    if not table.frame.is_empty():
        yield Section(NAME, 27, "Spans within windows", tuple(_blocks(table)))


def _blocks(table: PageTable) -> Iterator[Block]:
    yield from grid(table)
    yield from paragraph(NOTE, style="note")
