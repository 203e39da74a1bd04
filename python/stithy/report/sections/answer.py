"""The head of the report: the question, the answer, what weakens and what supports it."""

from collections.abc import Iterator
from typing import Any

from stithy.report.blocks import Block, Grid, Heading, Section, bullets, drawn, opened, paragraph
from stithy.report.context import Context
from stithy.report.figure import Figure
from stithy.report.page import Page
from stithy.report.parts import answer, candidates, sensitivity
from stithy.report.parts.compared import moment
from stithy.report.tables import PageTable

NAME = "answer"


def tables(context: Context) -> Iterator[PageTable]:
    """The thresholds of the study and what came of them."""
    yield answer.thresholds_table(answer.judged(context))


def sections(page: Page) -> Iterator[Section]:
    """Always the first."""
    data = tuple(page.tables[name] for name in ("thresholds", "candidates", "devices", "findings"))
    yield Section("answer", 0, "", tuple(_blocks(page)), "The answer", _facts(page), data)


def _facts(page: Page) -> dict[str, Any]:
    return {
        "headline": page.answer.headline,
        "detail": page.answer.detail,
        "flaws": page.answer.flawed,
        "findings": page.answer.others,
        "support": page.answer.support,
        "sensitivity": sensitivity.as_values(page.context),
    }


def _blocks(page: Page) -> Iterator[Block]:
    manifest = page.context.manifest
    yield from paragraph(
        moment(manifest.started_at_s) if manifest else "Date not known", style="eyebrow"
    )
    yield Heading(page.question, 0)
    yield from paragraph(page.context.label, style="label")
    yield from paragraph(page.answer.headline, style="answer")
    yield from paragraph(page.answer.detail, style="detail")
    yield from bullets(page.answer.flawed, "flaws", "What weakens the answer")
    yield from bullets(page.answer.others, "findings", "What else was found")
    yield from paragraph(*page.answer.support, style="support")
    yield from _comparisons(page)
    yield from opened(page.tables["thresholds"], "thresholds")
    yield from _candidates(page)


def _comparisons(page: Page) -> Iterator[Block]:
    group = page.group("answer")
    found = [each for each in group.drawn if isinstance(each, Figure)] if group else []
    if found:
        # Who goes from heading to heading finds the figures of the answer one step below it.
        yield Heading("The comparisons", 1, screen=True)
    for each in found:
        yield drawn(each, alone=True)


def _candidates(page: Page) -> Iterator[Block]:
    note = candidates.note(page.context, page.tables["candidates"])
    if note is None:
        return
    yield Grid(page.tables["candidates"], "candidates")
    yield from opened(page.tables["devices"], "candidates")
    yield from paragraph(note, style="note")
