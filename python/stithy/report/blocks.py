"""What a report says, block by block, and its plug-ins: sections and figures.

A section (`sections/`) yields blocks and knows no format: each sets the same ones in its way. Texts
are plain: whatever a name holds stays the letters it is. A figure (`figures/`) has a finding as
title, a drawing, and the data behind it; nothing of these may be left out.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from stithy.registry import Family, Plugin
from stithy.report.tables import PageTable
from stithy.statements import Statement, join_parts

if TYPE_CHECKING:
    from stithy.report.context import Context
    from stithy.report.page import Page


@dataclass(frozen=True)
class Title:
    """A title, and the ratio it states, so that it can be found beside the page as well."""

    text: str
    ratio: float | None = None


@dataclass(frozen=True)
class Figure:
    """One figure.

    `name` is the stem of its files. `title` is the finding, not the axes. `description` says in
    words what the drawing shows, for those who cannot see it. `spec` is Vega-Lite with its data.
    `ratio` is the one that the title states, if it states one that `table` does not hold.
    """

    name: str
    title: str
    caption: str
    description: str
    footer: str
    spec: dict[str, Any]
    table: PageTable
    ratio: float | None = None

    def __post_init__(self) -> None:
        """Refuse a figure without the texts and data that make it readable."""
        for text in ("name", "title", "caption", "description", "footer"):
            if not getattr(self, text).strip():
                raise ValueError(f"figure {self.name!r} has no {text}")
        if self.table.frame.is_empty():
            raise ValueError(f"figure {self.name!r} has no data")

    def rename_candidates(self, names: Mapping[str, str]) -> "Figure":
        """The same with candidates called by other names where it draws them; not in its data."""
        new = {name: other for name, other in names.items() if name != other}
        return replace(self, spec=_rename_candidates(self.spec, new)) if new else self


_NAMED_WHOLLY = ("candidate", "domain", "values", "sort", "title", "text")
"""Keys of a drawing below which a text may be the name of a candidate."""
_NAMED_FIRST = "place"
"""One below which a text begins with such a name."""


def _rename_candidates(part: Any, names: Mapping[str, str], key: str = "") -> Any:
    if isinstance(part, dict):
        return {below: _rename_candidates(value, names, below) for below, value in part.items()}
    if isinstance(part, list):
        return [_rename_candidates(value, names, key) for value in part]
    if not isinstance(part, str):
        return part
    if key == _NAMED_FIRST:
        name, comma, rest = part.partition(",")
        return f"{names.get(name, name)}{comma}{rest}"
    return names.get(part, part) if key in _NAMED_WHOLLY else part


@dataclass(frozen=True)
class Absent:
    """A figure that cannot be drawn: what it would show, and why it is not there."""

    name: str
    would_show: str
    because: str


Drawn = Figure | Absent


class Plot(ABC):
    """A figure as data: what it plots, its finding, its caption; see `drawing/plots.py`."""

    @abstractmethod
    def draw(self, context: "Context") -> Figure:
        """Make the figure."""


@dataclass(frozen=True)
class FigureKind(Plugin):
    """A figure of the report.

    `section` shows it, among figures in the order of `order`. `plot` yields what it is in a run,
    or why it is absent; nothing where the study does not ask for it, or where the page says it in
    a sentence. It is not called in a run whose windows lack one of `needs_tables`.
    """

    family: ClassVar[Family] = Family("report.figures", stage="report")

    name: str
    order: int
    section: str
    plot: Callable[["Context"], Iterable[Plot | Drawn]]
    needs_tables: tuple[str, ...] = ()

    def draw(self, context: "Context") -> list[Drawn]:
        """Draw what is to be shown of a run."""
        plots = self.plot(context)
        return [plot.draw(context) if isinstance(plot, Plot) else plot for plot in plots]


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

    def list_statements(self) -> Iterator[tuple[Statement, Mapping[str, Any]]]:
        """List the sentences of its blocks that keep their values; of a cell with its row."""
        for table in self.data:
            yield from table.statements
        for block in self.blocks:
            if isinstance(block, Grid):
                yield from block.table.statements
            runs = block.runs if isinstance(block, Paragraph) else ()
            items = block.items if isinstance(block, Bullets) else ()
            for text in (*(run.text for run in runs), *items):
                if isinstance(text, Statement):
                    yield from ((part, {}) for part in text.list_parts())


APPENDIX = 100
"""The order of the section with which the appendix begins."""


def set_paragraph(*texts: str | None, style: str = "") -> Iterator[Paragraph]:
    """One paragraph of these sentences; none where nothing is said."""
    if said := [text for text in texts if text]:
        yield Paragraph((Run(join_parts(said, " ")),), style)


def set_code(*texts: str) -> Paragraph:
    """A paragraph of which every second piece is code."""
    return Paragraph(tuple(Run(text, "code" if i % 2 else "") for i, text in enumerate(texts)))


def set_bullets(items: Iterable[str], style: str, label: str = "") -> Iterator[Bullets]:
    """A list; none where it has no items."""
    if found := tuple(items):
        yield Bullets(found, style, label)


def set_grid(
    table: PageTable, *, rows_open: int = ROWS_OPEN_MAX, even_empty: bool = False
) -> Iterator[Grid]:
    """A table, folded where it has many rows; an empty one only where that says something."""
    if even_empty or not table.frame.is_empty():
        yield Grid(table, fold=table.caption if table.frame.height > rows_open else "")


def set_open(table: PageTable, style: str = "") -> Iterator[Grid]:
    """A table that is never folded; none where it is empty."""
    if not table.frame.is_empty():
        yield Grid(table, style)


def name_files(table: PageTable, folder: str = "tables") -> Paragraph:
    """Where a table is that has more than `ROWS_MAX` rows; `folder` is below that of the report."""
    return set_code(
        f"These {table.frame.height:,} rows are too many to print. They are in ",
        f"report/{folder}/{table.name}.csv", " and ", ".parquet", ", beside this report.",
    )  # fmt: skip


def set_drawn(each: Drawn, *, alone: bool = True) -> Block:
    """A figure, or why it is not there."""
    if isinstance(each, Absent):
        reason = Statement(" {shows}; {because}.", shows=each.would_show, because=each.because)
        return Paragraph((Run("Not shown:", "strong"), Run(reason)), "absent")
    return Picture(each, alone)


def set_figures(every: Sequence[Drawn]) -> Iterator[Block]:
    """These figures; what must be read with all of them stands once, where that is the same."""
    footers = {each.footer for each in every if isinstance(each, Figure)}
    footer = footers.pop() if len(footers) == 1 else None
    for each in every:
        yield set_drawn(each, alone=footer is None)
    yield from set_paragraph(footer, style="fine")


@dataclass(frozen=True)
class SectionKind(Plugin):
    """One section of the report, in the order of `order`; every format sets its blocks.

    `set_blocks`: what it says; without a block it is left out. `contents`, the facts, and `data` by
    the names of tables are those of a `Section`. `make_tables`: each is a file beside the report,
    whether a section shows it or not. `draw_figures`: its own, without `page.tables`, for a table
    may name figures. `claim_figures`: names of figures of others that stand in this section.
    `list_covered`: metrics of activities whose values its tables have, with `covers_points` at all
    points, so that they stand nowhere else. A run whose results lack one of `needs_tables` is not
    shown to it. `list_cautions`: sentences on top that say what weakens the answer. A scenario has
    its own in `report`.

    `page.find_drawn(name)` has the figures of a section, own and claimed, and those of families
    that name it.
    """

    family: ClassVar[Family] = Family(package="report.sections", stage="report")

    name: str
    order: int
    heading: str | Callable[["Page"], str]
    set_blocks: Callable[["Page"], Iterable[Block]]
    contents: str = ""
    data: tuple[str, ...] = ()
    make_facts: Callable[["Page"], Mapping[str, Any]] | None = None
    make_tables: Callable[["Page"], Iterable[PageTable]] = lambda page: ()
    draw_figures: Callable[["Page"], Iterable[Drawn]] = lambda page: ()
    claim_figures: Callable[["Page"], Iterable[str]] = lambda page: ()
    list_covered: Callable[["Page"], Iterable[str]] = lambda page: ()
    covers_points: bool = False
    needs_tables: tuple[str, ...] = ()
    list_cautions: Callable[["Context"], Iterable[str]] = lambda context: ()

    def make_sections(self, page: "Page") -> Iterator[Section]:
        """Make the section; none where the run has nothing for it."""
        if blocks := tuple(self.set_blocks(page)):
            heading = self.heading if isinstance(self.heading, str) else self.heading(page)
            facts = self.make_facts(page) if self.make_facts else {}
            data = tuple(page.tables[name] for name in self.data)
            yield Section(self.name, self.order, heading, blocks, self.contents, facts, data)
