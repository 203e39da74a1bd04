"""This run compared with other runs, where such were named."""

from collections.abc import Iterator

from stithy.report.blocks import Block, Section, figures, grid, paragraph
from stithy.report.figure import Drawn
from stithy.report.page import Page
from stithy.report.sections.runs import changes
from stithy.report.tables import PageTable

NAME = "runs"


def tables(page: Page) -> Iterator[PageTable]:
    """The changes to each of them."""
    yield from changes.tables(page.pairs)


def draw(page: Page) -> Iterator[Drawn]:
    """A figure for each of them."""
    yield from changes.drawn(page.pairs)


def sections(page: Page) -> Iterator[Section]:
    """Where other runs were named."""
    if page.pairs:
        blocks = (*_words(page), *figures(page.drawn_in("runs")))
        facts = {"pairs": changes.as_values(page.pairs)}
        yield Section("runs", 30, "Compared with other runs", blocks, facts=facts)


def _words(page: Page) -> Iterator[Block]:
    for text in changes.words(page.pairs):
        yield from paragraph(text)
    for each in changes.tables(page.pairs):
        yield from grid(each)
