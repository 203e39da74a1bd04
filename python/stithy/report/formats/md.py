"""The report in Markdown, for a pull request or a ticket, set from the blocks of its sections.

The report itself is open, each section of its appendix is folded. Figures are files beside it.
"""

from collections.abc import Iterable, Iterator

from stithy.report.blocks import (
    APPENDIX,
    Block,
    Bullets,
    Grid,
    Heading,
    Paragraph,
    Picture,
    Run,
    Section,
    Verbatim,
    name_files,
    set_paragraph,
)
from stithy.report.formats import ReportFormat
from stithy.report.page import Page
from stithy.report.words.escape import (
    escape_markdown,
    escape_unseen,
    quote_html,
    write_bullets,
    write_code,
    write_table,
)

Lines = Iterator[str]
"""Pieces of the document, with an empty line between them."""

ROWS_MAX = 50
"""A longer table that is folded is a file only: comments on a pull request must not be long."""

STRONG = {"label", "answer"}
"""Styles of paragraphs that must not be missed."""


class MarkdownFormat(ReportFormat):
    """The report in Markdown."""

    name = "md"

    def make(self, page: Page, drawings: dict[str, str]) -> bytes:
        del drawings  # they are files of their own
        parts = [part for section in page.sections for part in _set_section(section, page)]
        return ("\n\n".join([*parts, escape_markdown(page.closing)]) + "\n").encode()


def _set_section(section: Section, page: Page) -> Lines:
    blocks = (part for block in section.blocks for part in _set_block(block, page))
    if section.order > APPENDIX:
        yield from _set_folded(section.heading, blocks)
        return
    if section.heading:
        yield f"## {escape_markdown(section.heading)}"
    yield from blocks


def _set_folded(summary: str, parts: Iterable[str]) -> Lines:
    yield f"<details><summary>{quote_html(summary)}</summary>"
    yield from parts
    yield "</details>"


def _set_block(block: Block, page: Page) -> Lines:
    match block:
        case Heading():
            yield from (
                () if block.screen else [f"{'#' * (block.level + 1)} {escape_markdown(block.text)}"]
            )
        case Paragraph():
            yield _set_paragraph(block)
        case Bullets():
            if block.label:
                yield f"{escape_markdown(block.label)}:"
            yield write_bullets(block.items)
        case Grid():
            yield from () if block.screen else _set_grid(block, page.caption(block.table))
        case Picture():
            yield from _set_picture(block, page)
        case Verbatim():
            lines = [write_code(block.text)]
            yield from _set_folded(block.summary, lines) if block.summary else lines


def _set_paragraph(block: Paragraph) -> str:
    text = "".join(map(_run, block.runs))
    return f"**{text}**" if block.style in STRONG else text


def _run(run: Run) -> str:
    if run.style == "code":
        return f"`{escape_unseen(run.text)}`"
    before, after = (" " if run.text[at].isspace() else "" for at in (0, -1))
    around = "**" if run.style else ""
    return f"{before}{around}{escape_markdown(run.text)}{around}{after}"


def _set_grid(block: Grid, caption: str) -> Lines:
    rows = block.table.frame.height
    if block.fold and rows > ROWS_MAX:
        yield f"{escape_markdown(caption)}:"
        yield _set_paragraph(name_files(block.table))
    elif block.fold:
        yield from _set_folded(block.fold, [write_table(block.table)])
    else:
        yield f"{escape_markdown(caption)}:"
        yield write_table(block.table)


def _set_picture(block: Picture, page: Page) -> Lines:
    figure = block.figure
    number = page.figures.index(figure) + 1
    yield f"**Figure {number}: {escape_markdown(figure.title)}**"
    yield f"![{escape_markdown(figure.description)}](report/figures/{figure.name}.svg)"
    yield escape_markdown(figure.caption)
    if block.alone:
        yield from map(_set_paragraph, set_paragraph(figure.footer))


PLUGINS = (MarkdownFormat(),)
