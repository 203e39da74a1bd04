"""This run compared with other runs, where such were named."""

from collections.abc import Iterator

from stithy.report.blocks import Block, Section, figures, grid, paragraph
from stithy.report.page import Page
from stithy.report.parts import other_runs

NAME = "runs"


def sections(page: Page) -> Iterator[Section]:
    """Where other runs were named."""
    if (group := page.group("runs")) is not None:
        blocks = (*_words(page), *figures(group))
        facts = {"pairs": other_runs.as_values(page.pairs)}
        yield Section("runs", 30, group.heading, blocks, facts=facts)


def _words(page: Page) -> Iterator[Block]:
    for text in other_runs.words(page.pairs):
        yield from paragraph(text)
    for each in other_runs.tables(page.pairs):
        yield from grid(page.tables[each.name])
