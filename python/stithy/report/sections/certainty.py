"""How sure the answer is: the verdicts, the order of the candidates, reasons against windows."""

from collections.abc import Iterator

from stithy.report.blocks import Block, Grid, Section, figures, grid, paragraph
from stithy.report.page import Page
from stithy.report.parts import certainty, reasons, validity
from stithy.report.tables import PageTable
from stithy.report.words import loads

NAME = "certainty"

VERDICTS_OPEN_MAX = 12
"""More verdicts are folded on the page."""


def tables(page: Page) -> Iterator[PageTable]:
    """Verdicts with their statistics, the order of the candidates, reasons against windows."""
    yield from certainty.verdict_tables(page.context)
    yield certainty.order_table(page.context)
    yield reasons.reasons_table(page.context)
    yield reasons.gathered_table(page.context)


def sections(page: Page) -> Iterator[Section]:
    """Always there."""
    data = page.tables["verdicts"], page.tables["reasons"]
    blocks = tuple(_blocks(page))
    yield Section("certainty", 40, "How sure this is", blocks, data=data)


def _blocks(page: Page) -> Iterator[Block]:
    context = page.context
    if not page.tables["verdicts"].frame.is_empty():
        yield from _verdicts(page)
    yield from figures(page.drawn_in("certainty"))
    yield from paragraph(validity.lost_pattern(context))
    yield from paragraph(certainty.order_sentence(context))
    yield from paragraph(*loads.short_windows(context.load))
    if page.tables["reasons"].frame.is_empty():
        yield from paragraph("All windows are valid, and none has a note.")
    else:
        yield Grid(page.tables["reasons-gathered"], "reasons")


def _verdicts(page: Page) -> Iterator[Block]:
    rule = certainty.verdict_rule(page.context)
    yield from paragraph(
        certainty.question_sentence(page.context),
        f"The verdict follows from the conservative 95 % interval of the {rule['effect']}. It is "
        f"better or worse if the interval excludes {rule['none']}, and equivalent if the interval "
        f"lies within {rule['margin']} of {rule['none']}. Otherwise it is undecided. The appendix "
        "describes the method and its cross-checks.",
    )
    yield from grid(page.tables["verdicts"], rows_open=VERDICTS_OPEN_MAX)
