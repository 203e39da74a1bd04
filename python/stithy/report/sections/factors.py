"""What a study varies by `vary`, and what each step of it changed."""

from collections.abc import Iterator

from stithy.report.blocks import Block, Section, figures, grid, paragraph
from stithy.report.page import Page
from stithy.report.parts import factors
from stithy.report.tables import PageTable

NAME = "factors"


def tables(page: Page) -> Iterator[PageTable]:
    """The values, and the steps between them."""
    yield factors.values(page.context)
    yield factors.steps(page.context)


def sections(page: Page) -> Iterator[Section]:
    """Where something varied that the scenario does not list itself."""
    names = factors.factors(page.context)
    if names:
        heading = f"What {' and '.join(names)} changed"
        yield Section(NAME, 15, heading, tuple(_blocks(page)))


def _blocks(page: Page) -> Iterator[Block]:
    for text in factors.sentences(page.context):
        yield from paragraph(text)
    yield from figures(page.drawn_in(NAME))
    yield from grid(page.tables["factors"])
    yield from grid(page.tables["factor-steps"])
    yield from paragraph(*factors.notes(page.tables["factors"]), style="note")
