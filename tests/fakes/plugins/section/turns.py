"""A second kind of section: who was measured after whom; words, a list and a table."""

from collections.abc import Iterator

import polars as pl

from stithy.report.blocks import APPENDIX, Block, Section, bullets, grid, paragraph
from stithy.report.context import Context
from stithy.report.page import Page
from stithy.report.tables import PageTable, Show

NAME = "turns"


def tables(context: Context) -> Iterator[PageTable]:
    """The windows in the order in which they were measured."""
    windows = context.evidence.windows
    names = [each.row["candidate"] for each in windows]
    frame = pl.DataFrame({"turn": range(1, len(names) + 1), "candidate": names})
    columns = Show("turn", "Turn", "count"), Show("candidate", "Whose turn it was")
    yield PageTable("turns", "Every window, by its turn", columns, frame)


def sections(page: Page) -> Iterator[Section]:
    """Where there are windows."""
    if not page.tables["turns"].frame.is_empty():
        blocks, facts = tuple(_blocks(page)), {"took turns": True}
        yield Section("turns", APPENDIX + 400, "Whose turn it was", blocks, facts=facts)


def _blocks(page: Page) -> Iterator[Block]:
    yield from paragraph("The candidates took turns.")
    yield from bullets(page.context.evidence.candidates, "findings")
    yield from grid(page.tables["turns"])
