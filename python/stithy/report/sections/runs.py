"""This run compared with other runs, where such were named."""

from collections.abc import Iterator

from stithy.report.blocks import Block, Section, figures, grid, paragraph
from stithy.report.figure import Drawn
from stithy.report.page import Page
from stithy.report.parts import other_runs
from stithy.report.tables import PageTable

NAME = "runs"


def tables(page: Page) -> Iterator[PageTable]:
    """The changes to each of them."""
    yield from other_runs.tables(page.pairs)


def draw(page: Page) -> Iterator[Drawn]:
    """A figure for each of them."""
    yield from other_runs.drawn(page.pairs)


def sections(page: Page) -> Iterator[Section]:
    """Where other runs were named."""
    if page.pairs:
        blocks = (*_words(page), *figures(page.drawn_in("runs")))
        facts = {"pairs": other_runs.as_values(page.pairs)}
        yield Section("runs", 30, "Compared with other runs", blocks, facts=facts)


def _words(page: Page) -> Iterator[Block]:
    for text in other_runs.words(page.pairs):
        yield from paragraph(text)
    for each in other_runs.tables(page.pairs):
        yield from grid(each)
