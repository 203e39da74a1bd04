"""What a report says, block by block. Every format sets the same blocks, each in its way.

A section (`sections/`) yields blocks and knows no format. Texts are plain: whatever a name holds
stays the letters it is.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from stithy.report.figure import Absent, Drawn, Figure
from stithy.report.tables import PageTable

ROWS_OPEN_MAX = 24
"""A longer table is folded on the page."""

ROWS_MAX = 200
"""A longer table is a file beside the report only."""


@dataclass(frozen=True)
class Run:
    """A piece of a text."""

    text: str
    style: Literal["", "code", "strong"] = ""


@dataclass(frozen=True)
class Heading:
    """A heading: level 0 is the title of the report, 2 a part of a section.

    `screen`: on the page only.
    """

    text: str
    level: int = 2
    screen: bool = False
    kind: Literal["heading"] = "heading"


@dataclass(frozen=True)
class Paragraph:
    """A paragraph; `style` is its class on the page, such as `answer` or `note`."""

    runs: tuple[Run, ...]
    style: str = ""
    kind: Literal["paragraph"] = "paragraph"


@dataclass(frozen=True)
class Bullets:
    """A list; `style` as of a paragraph, `label` for those who cannot see that style."""

    items: tuple[str, ...]
    style: str
    label: str = ""
    kind: Literal["bullets"] = "bullets"


@dataclass(frozen=True)
class Grid:
    """A table. `fold` is the title under which it is folded on the page, empty where it is open.

    `screen`: on the page only.
    """

    table: PageTable
    style: str = ""
    fold: str = ""
    screen: bool = False
    kind: Literal["grid"] = "grid"


@dataclass(frozen=True)
class Picture:
    """A figure; with `alone` its footer stands below it, else once below all of its section."""

    figure: Figure
    alone: bool
    kind: Literal["picture"] = "picture"


@dataclass(frozen=True)
class Verbatim:
    """Lines that are shown as they are; folded on the page where there is a `summary`."""

    text: str
    summary: str = ""
    kind: Literal["verbatim"] = "verbatim"


Block = Heading | Paragraph | Bullets | Grid | Picture | Verbatim


@dataclass(frozen=True)
class Section:
    """A part of the report with its own anchor; sections stand in the order of `order`.

    Those below `APPENDIX` are the report itself. `contents` is what the contents call it, where
    that is not the heading. Without a heading it is the head of the report. Programs get the
    tables among its blocks, and besides them `facts` and the tables of `data`.
    """

    key: str
    order: int
    heading: str
    blocks: tuple[Block, ...]
    contents: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    data: tuple[PageTable, ...] = ()


APPENDIX = 100
"""The order of the section with which the appendix begins."""


def paragraph(*texts: str | None, style: str = "") -> Iterator[Paragraph]:
    """One paragraph of these sentences; none where nothing is said."""
    said = [text for text in texts if text]
    if said:
        yield Paragraph((Run(" ".join(said)),), style)


def with_code(*texts: str) -> Paragraph:
    """A paragraph of which every second piece is code."""
    return Paragraph(tuple(Run(text, "code" if i % 2 else "") for i, text in enumerate(texts)))


def bullets(items: Iterable[str], style: str, label: str = "") -> Iterator[Bullets]:
    """A list; none where it has no items."""
    if found := tuple(items):
        yield Bullets(found, style, label)


def grid(
    table: PageTable, *, rows_open: int = ROWS_OPEN_MAX, even_empty: bool = False
) -> Iterator[Grid]:
    """A table, folded where it has many rows; an empty one only where that says something."""
    if even_empty or not table.frame.is_empty():
        yield Grid(table, fold=table.caption if table.frame.height > rows_open else "")


def opened(table: PageTable, style: str = "") -> Iterator[Grid]:
    """A table that is never folded; none where it is empty."""
    if not table.frame.is_empty():
        yield Grid(table, style)


def in_files(table: PageTable, folder: str = "tables") -> Paragraph:
    """Where a table is that has more than `ROWS_MAX` rows; `folder` is below that of the report."""
    return with_code(
        f"These {table.frame.height:,} rows are too many to print. They are in ",
        f"report/{folder}/{table.name}.csv", " and ", ".parquet", ", beside this report.",
    )  # fmt: skip


def drawn(each: Drawn, *, alone: bool = True) -> Block:
    """A figure, or why it is not there."""
    if isinstance(each, Absent):
        reason = f" {each.would_show}; {each.because}."
        return Paragraph((Run("Not shown:", "strong"), Run(reason)), "absent")
    return Picture(each, alone)


def figures(every: Sequence[Drawn]) -> Iterator[Block]:
    """These figures; what must be read with all of them stands once, where that is the same."""
    footers = {each.footer for each in every if isinstance(each, Figure)}
    footer = footers.pop() if len(footers) == 1 else None
    for each in every:
        yield drawn(each, alone=footer is None)
    yield from paragraph(footer, style="fine")
