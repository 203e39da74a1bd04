"""The head of the report: the question, the answer, what weakens and what supports it."""

from collections.abc import Iterator
from dataclasses import asdict

from stithy.report.blocks import Block, Grid, Heading, Section, bullets, drawn, opened, paragraph
from stithy.report.figure import Figure
from stithy.report.page import Page
from stithy.report.parts import answer, sensitivity
from stithy.report.parts.answer import Answer
from stithy.report.parts.compared import moment
from stithy.report.sections.answer import candidates
from stithy.report.tables import PageTable

NAME = "answer"


def tables(page: Page) -> Iterator[PageTable]:
    """Thresholds with what came of them, the candidates, and the numbers of the findings."""
    yield answer.thresholds_table(answer.judged(page.context))
    side_by_side = candidates.table(page.context)
    yield side_by_side
    yield candidates.devices(page.context, side_by_side)
    yield answer.findings_table(page.context)


def sections(page: Page) -> Iterator[Section]:
    """Always the first."""
    said = answer.answer(page.context)
    facts = asdict(said) | {"sensitivity": sensitivity.as_values(page.context)}
    data = tuple(page.tables[name] for name in ("thresholds", "candidates", "devices", "findings"))
    yield Section(NAME, 0, "", tuple(_blocks(page, said)), "The answer", facts, data)


def _blocks(page: Page, said: Answer) -> Iterator[Block]:
    manifest = page.context.manifest
    yield from paragraph(
        moment(manifest.started_at_s) if manifest else "Date not known", style="eyebrow"
    )
    yield Heading(page.question, 0)
    yield from paragraph(page.context.label, style="label")
    yield from paragraph(said.headline, style="answer")
    yield from paragraph(said.detail, style="detail")
    yield from bullets(said.flaws, "flaws", "What weakens the answer")
    yield from bullets(said.findings, "findings", "What else was found")
    yield from paragraph(*said.support, style="support")
    yield from _comparisons(page)
    yield from opened(page.tables["thresholds"], "thresholds")
    yield from _candidates(page)


def _comparisons(page: Page) -> Iterator[Block]:
    found = [each for each in page.drawn_in(NAME) if isinstance(each, Figure)]
    if found:
        # Who goes from heading to heading finds the figures of the answer one step below it.
        yield Heading("The comparisons", 1, screen=True)
    for each in found:
        yield drawn(each)


def _candidates(page: Page) -> Iterator[Block]:
    note = candidates.note(page.context, page.tables["candidates"])
    if note is None:
        return
    yield Grid(page.tables["candidates"], "candidates")
    yield from opened(page.tables["devices"], "candidates")
    yield from paragraph(note, style="note")
