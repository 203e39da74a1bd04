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
from stithy.report.page import Page
from stithy.report.typeset import pdf
from stithy.report.words.escape import bound, seen

NAME = "pdf"

Printed = dict[str, Any]
"""One block as `assets/report.typ` reads it."""

_SPACE = re.compile(r"[ \t\r\n]+")


def make(page: Page, drawings: dict[str, str]) -> bytes:
    """The PDF, dated by the start of the run."""
    manifest = page.context.manifest
    return pdf(printed(page), drawings, manifest.started_at_s if manifest else None)


def printed(page: Page) -> list[Printed]:
    """All that is set, from the title to the closing, without what is for a screen alone."""
    found: list[Printed] = []
    for section in page.sections:
        if section.heading:
            found += _heading(Heading(section.heading, 1))
        for block in section.blocks:
            found += _block(block, page)
    return [*found, *(_paragraph(each) for each in paragraph(page.closing))]


def _block(block: Block, page: Page) -> Iterator[Printed]:
    match block:
        case Heading():
            yield from _heading(block)
        case Paragraph():
            yield _paragraph(block)
        case Bullets():
            items = [_runs([Run(each)]) for each in block.items]
            yield {"kind": "bullets", "items": items, "style": block.style}
        case Grid():
            yield from () if block.screen else _grid(block, page.caption(block.table))
        case Picture():
            yield _picture(block)
        case Verbatim():
            if block.summary:
                yield from map(_paragraph, paragraph(block.summary, style="folded"))
            yield {"kind": "verbatim", "text": block.text.rstrip()}


def _heading(block: Heading) -> Iterator[Printed]:
    if not block.screen:
        yield {"kind": "heading", "level": block.level, "text": _text(block.text)}


def _paragraph(block: Paragraph) -> Printed:
    return {"kind": "paragraph", "runs": _runs(block.runs), "style": block.style}


def _grid(block: Grid, caption: str) -> Iterator[Printed]:
    table = block.table
    if block.fold and table.frame.height > ROWS_MAX:
        rows = f"{table.frame.height} rows"
        yield from map(_paragraph, paragraph(block.fold, rows, style="folded"))
        yield _paragraph(in_files(table))
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


def _picture(block: Picture) -> Printed:
    """The table of its data stays where it is: beside the report, as files."""
    figure = block.figure
    captions = [*paragraph(figure.caption)]
    if block.alone:
        captions += paragraph(figure.footer, style="fine")
    return {
        "kind": "picture",
        "name": figure.name,
        "title": _text(figure.title),
        "alternative": _shown(figure.description),
        "captions": [_paragraph(each) for each in captions],
    }


def _shown(text: str) -> str:
    return bound(seen(text))


def _text(text: str) -> str:
    return _SPACE.sub(" ", _shown(text)).strip(" ")


def _runs(runs: Iterable[Run]) -> list[dict[str, str]]:
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
