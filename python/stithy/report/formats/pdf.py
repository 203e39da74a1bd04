"""The report for print and for reading aloud: tagged PDF, set from the blocks of its sections."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from stithy.report.blocks import (
    ROWS_MAX,
    Block,
    Bullets,
    Grid,
    Heading,
    Paragraph,
    Picture,
    Run,
    Verbatim,
    in_files,
    paragraph,
)
from stithy.report.formats import ReportFormat
from stithy.report.page import Page
from stithy.report.typeset import pdf
from stithy.report.words.escape import bound, seen

Printed = dict[str, Any]
"""One block as `assets/report.typ` reads it."""

_SPACE = re.compile(r"[ \t\r\n]+")


class PdfFormat(ReportFormat):
    """The report as tagged PDF."""

    name = "pdf"

    def make(self, page: Page, drawings: dict[str, str]) -> bytes:
        """The PDF, dated by the start of the run."""
        manifest = page.context.manifest
        return pdf(printed(page), drawings, manifest.started_at_s if manifest else None)


def printed(page: Page) -> list[Printed]:
    """All that is set, from the title to the closing, without what is for a screen alone."""
    found: list[Printed] = []
    for section in page.sections:
        if section.heading:
            found += _set_heading(Heading(section.heading, 1))
        for block in section.blocks:
            found += _set_block(block, page)
    return [*found, *(_set_paragraph(each) for each in paragraph(page.closing))]


def _set_block(block: Block, page: Page) -> Iterator[Printed]:
    match block:
        case Heading():
            yield from _set_heading(block)
        case Paragraph():
            yield _set_paragraph(block)
        case Bullets():
            items = [_join_runs([Run(each)]) for each in block.items]
            yield {"kind": "bullets", "items": items, "style": block.style}
        case Grid():
            yield from () if block.screen else _set_grid(block, page.caption(block.table))
        case Picture():
            yield _set_picture(block)
        case Verbatim():
            if block.summary:
                yield from map(_set_paragraph, paragraph(block.summary, style="folded"))
            yield {"kind": "verbatim", "text": block.text.rstrip()}


def _set_heading(block: Heading) -> Iterator[Printed]:
    if not block.screen:
        yield {"kind": "heading", "level": block.level, "text": _text(block.text)}


def _set_paragraph(block: Paragraph) -> Printed:
    return {"kind": "paragraph", "runs": _join_runs(block.runs), "style": block.style}


def _set_grid(block: Grid, caption: str) -> Iterator[Printed]:
    table = block.table
    if block.fold and table.frame.height > ROWS_MAX:
        rows = f"{table.frame.height} rows"
        yield from map(_set_paragraph, paragraph(block.fold, rows, style="folded"))
        yield _set_paragraph(in_files(table))
        return
    yield {
        "kind": "grid",
        "name": table.name,
        "caption": _text(caption),
        "style": "" if block.fold else block.style,
        "headings": [_text(each.heading) for each in table.columns],
        "numeric": [each.is_number for each in table.columns],
        "rows": [[_shown(cell.text).strip() for cell in row] for row in table.cells()],
    }


def _set_picture(block: Picture) -> Printed:
    figure = block.figure
    captions = [*paragraph(figure.caption)]
    if block.alone:
        captions += paragraph(figure.footer, style="fine")
    return {
        "kind": "picture",
        "name": figure.name,
        "title": _text(figure.title),
        "alternative": _shown(figure.description),
        "captions": [_set_paragraph(each) for each in captions],
    }


def _shown(text: str) -> str:
    return bound(seen(text))


def _text(text: str) -> str:
    return _SPACE.sub(" ", _shown(text)).strip(" ")


def _join_runs(runs: Iterable[Run]) -> list[dict[str, str]]:
    """The pieces of a text, with single spaces between the words and none at the ends."""
    joined: list[dict[str, str]] = []
    for run in runs:
        text = _SPACE.sub(" ", _shown(run.text))
        if not joined or joined[-1]["text"].endswith(" "):
            text = text.lstrip(" ")
        if text:
            joined.append({"text": text, "style": run.style})
    if joined:
        joined[-1]["text"] = joined[-1]["text"].rstrip(" ")
    return joined


PLUGINS = (PdfFormat(),)
