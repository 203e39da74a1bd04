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
    name_files,
    set_paragraph,
)
from stithy.report.drawing.draw import make_pdf
from stithy.report.formats import ReportFormat
from stithy.report.page import Page
from stithy.report.words.escape import escape_unseen, join_units

Printed = dict[str, Any]
"""One block as `assets/report.typ` reads it."""

_SPACE = re.compile(r"[ \t\r\n]+")


class PdfFormat(ReportFormat):
    """The report as tagged PDF."""

    name = "pdf"

    def make(self, page: Page, drawings: dict[str, str]) -> bytes:
        """The PDF, dated by the start of the run."""
        manifest = page.context.manifest
        return make_pdf(set_page(page), drawings, manifest.started_at_s if manifest else None)


def set_page(page: Page) -> list[Printed]:
    """All that is set, from the title to the closing, without what is for a screen alone."""
    found: list[Printed] = []
    for section in page.sections:
        if section.heading:
            found += _set_heading(Heading(section.heading, 1))
        for block in section.blocks:
            found += _set_block(block, page)
    return [*found, *(_set_paragraph(each) for each in set_paragraph(page.closing))]


def _set_block(block: Block, page: Page) -> Iterator[Printed]:
    match block:
        case Heading():
            yield from _set_heading(block)
        case Paragraph():
            yield _set_paragraph(block)
        case Bullets():
            items = [_join_runs([Run(item)]) for item in block.items]
            yield {"kind": "bullets", "items": items, "style": block.style}
        case Grid():
            yield from () if block.screen else _set_grid(block, page.caption(block.table))
        case Picture():
            yield _set_picture(block)
        case Verbatim():
            if block.summary:
                yield from map(_set_paragraph, set_paragraph(block.summary, style="folded"))
            yield {"kind": "verbatim", "text": block.text.rstrip()}


def _set_heading(block: Heading) -> Iterator[Printed]:
    if not block.screen:
        yield {"kind": "heading", "level": block.level, "text": _join_spaces(block.text)}


def _set_paragraph(block: Paragraph) -> Printed:
    return {"kind": "paragraph", "runs": _join_runs(block.runs), "style": block.style}


def _set_grid(block: Grid, caption: str) -> Iterator[Printed]:
    table = block.table
    if block.fold and table.frame.height > ROWS_MAX:
        rows = f"{table.frame.height} rows"
        yield from map(_set_paragraph, set_paragraph(block.fold, rows, style="folded"))
        yield _set_paragraph(name_files(table))
        return
    yield {
        "kind": "grid",
        "name": table.name,
        "caption": _join_spaces(caption),
        "style": "" if block.fold else block.style,
        "headings": [_join_spaces(column.heading) for column in table.columns],
        "numeric": [each.is_number for each in table.columns],
        "rows": [[_escape(cell.text).strip() for cell in row] for row in table.cells()],
    }


def _set_picture(block: Picture) -> Printed:
    figure = block.figure
    captions = [*set_paragraph(figure.caption)]
    if block.alone:
        captions += set_paragraph(figure.footer, style="fine")
    return {
        "kind": "picture",
        "name": figure.name,
        "title": _join_spaces(figure.title),
        "alternative": _escape(figure.description),
        "captions": [_set_paragraph(caption) for caption in captions],
    }


def _escape(text: str) -> str:
    return join_units(escape_unseen(text))


def _join_spaces(text: str) -> str:
    return _SPACE.sub(" ", _escape(text)).strip(" ")


def _join_runs(runs: Iterable[Run]) -> list[dict[str, str]]:
    """The pieces of a text, with single spaces between the words and none at the ends."""
    joined: list[dict[str, str]] = []
    for run in runs:
        text = _SPACE.sub(" ", _escape(run.text))
        if not joined or joined[-1]["text"].endswith(" "):
            text = text.lstrip(" ")
        if text:
            joined.append({"text": text, "style": run.style})
    if joined:
        joined[-1]["text"] = joined[-1]["text"].rstrip(" ")
    return joined


PLUGINS = (PdfFormat(),)
