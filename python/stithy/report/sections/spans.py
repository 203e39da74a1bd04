"""The named times within windows: when they began, how long they took, whether they count."""

from collections.abc import Iterator

from stithy.report.blocks import Section
from stithy.report.page import Page
from stithy.report.tables import PageTable, Show, table_of

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
    always = (each.column for each in shows if each.column != "because")
    yield table_of(NAME, "Spans within windows", shows, rows).told(*always)


def sections(page: Page) -> Iterator[Section]:
    """Where an activity names any."""
    return page.section(NAME, 27, "Spans within windows", NOTE)
