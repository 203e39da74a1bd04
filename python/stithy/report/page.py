"""The page of a report: what its sections say, whatever the format.

Pure: `write` reads the results before and writes afterwards. The same results give the same bytes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from stithy.registry import plugins
from stithy.report.between import Pair
from stithy.report.blocks import (
    Absent,
    Block,
    Drawn,
    Figure,
    FigureKind,
    Picture,
    Section,
    SectionKind,
    set_figures,
    set_grid,
    set_paragraph,
)
from stithy.report.context import Context, list_sections
from stithy.report.drawing import compose
from stithy.report.tables import PageTable


@dataclass(frozen=True)
class Page:
    """Everything that a report says, whatever the format; `pairs` hold its run against others."""

    context: Context
    pairs: tuple[Pair, ...] = ()

    @property
    def question(self) -> str:
        """The title of the report."""
        manifest = self.context.manifest
        return manifest.question if manifest else "Report of a run whose question is not known"

    @property
    def closing(self) -> str:
        """The last sentence."""
        manifest = self.context.manifest
        version = f" {manifest.stithy_version}" if manifest else ""
        return f"Written by Stithy{version} from the results in the same directory."

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """All sections that have something to say, in their order."""
        sections = (section for kind in self._kinds for section in kind.make_sections(self))
        return tuple(sorted(sections, key=lambda section: section.order))

    @cached_property
    def tables(self) -> dict[str, PageTable]:
        """Those of all sections by their names. Raises ValueError where two have the same."""
        tables: dict[str, PageTable] = {}
        for table in (table for kind in self._kinds for table in kind.make_tables(self)):
            if tables.setdefault(table.name, table) is not table:
                raise ValueError(f"two tables of the report are called {table.name!r}")
        return tables

    @cached_property
    def drawn(self) -> tuple[tuple[str, Drawn], ...]:
        """All figures, also absent ones, with their sections. Raises ValueError as `tables`."""
        tables = self.context.tables
        kinds = [kind for kind in plugins(FigureKind).values()
                 if tables.issuperset(kind.needs_tables)]  # fmt: skip
        kinds.sort(key=lambda kind: kind.order)
        drawn = [(kind.section, drawn) for kind in kinds for drawn in kind.draw(self.context)]
        drawn += [(kind.name, drawn) for kind in self._kinds for drawn in kind.draw_figures(self)]
        names = [figure.name for _, figure in drawn]
        if len({*names}) < len(names):
            raise ValueError(f"two figures of the report have one name: {sorted(names)}")
        claimed = {name: kind.name for kind in self._kinds for name in kind.claim_figures(self)}
        return tuple(
            (
                (claimed.get(figure.name, key) if isinstance(figure, Figure) else key),
                _complete(figure, self.context),
            )
            for key, figure in drawn
        )

    @cached_property
    def covered(self) -> frozenset[str]:
        """The metrics of activities whose values a section of their own has in its table."""
        return frozenset(metric for kind in self._kinds for metric in kind.list_covered(self))

    @cached_property
    def covered_at_points(self) -> frozenset[str]:
        """Those of them whose values some section has at all points."""
        kinds = (kind for kind in self._kinds if kind.covers_points)
        return frozenset(metric for kind in kinds for metric in kind.list_covered(self))

    @cached_property
    def _kinds(self) -> list[SectionKind]:
        return list_sections(self.context.tables)

    def set_usual(self, name: str, *notes: str, above: Iterable[Block] = ()) -> Iterator[Block]:
        """Set figures, the table of the same name and notes; nothing without a row in it."""
        table = self.tables[name]
        if not table.frame.is_empty():
            yield from above
            yield from set_figures(self.find_drawn(name))
            yield from set_grid(table)
            yield from set_paragraph(*notes, style="note")

    def find_drawn(self, key: str) -> tuple[Drawn, ...]:
        """The figures of a section."""
        return tuple(each for place, each in self.drawn if place == key)

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """All that are shown, in their order; by it they are numbered."""
        blocks = (block for section in self.sections for block in section.blocks)
        return tuple(block.figure for block in blocks if isinstance(block, Picture))

    def caption(self, table: PageTable) -> str:
        """What stands above a table, with what must stand beside every number of the run."""
        marked = self.context.label and not table.name.startswith("facts-")
        return f"{table.caption} · {self.context.label}" if marked else table.caption

    def footer(self, figure: Figure) -> str:
        """What must be read with a figure where it stands alone, away from the page."""
        return " · ".join(each for each in (self.context.label, figure.footer) if each)


def _complete(drawn: Drawn, context: Context) -> Drawn:
    """A figure that shows ranges says so in its caption; candidates are named as in all figures."""
    if isinstance(drawn, Absent):
        return drawn
    drawn = drawn.rename_candidates(context.names_drawn)
    if drawn.spec.get("usermeta") != compose.MARK:
        return drawn
    return replace(drawn, caption=f"{drawn.caption} {compose.CAPTION.format(name=drawn.name)}")
