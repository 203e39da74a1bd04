"""The interface of sections: what a part of the report says, shows and draws."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from stithy.registry import Family, Plugin

if TYPE_CHECKING:
    from stithy.report.blocks import Section
    from stithy.report.figure import Drawn
    from stithy.report.page import Page
    from stithy.report.tables import PageTable


class SectionKind(Plugin):
    """One section of the report, or several that belong together; every format sets its blocks.

    A scenario or an activity has its own in `report.py`. `page.drawn_in(name)` has the figures of a
    section: its own, those of families that name it, and those that it claims.
    """

    family = Family(package="report.sections", stage="report")

    needs_tables: tuple[str, ...] = ()
    """Tables of results without which a run is not shown to it."""

    def make_tables(self, page: "Page") -> Iterable["PageTable"]:
        """Make its tables: each is a file beside the report, whether a section shows it or not."""
        del page
        return ()

    def draw_figures(self, page: "Page") -> Iterable["Drawn"]:
        """Draw figures of its own. Without `page.tables`, for a table may name figures."""
        del page
        return ()

    def claim_figures(self, page: "Page") -> Iterable[str]:
        """Name figures of other sections that stand in this one."""
        del page
        return ()

    def list_covered(self, page: "Page") -> Iterable[str]:
        """Name metrics of activities whose values its tables have."""
        del page
        return ()

    def make_sections(self, page: "Page") -> Iterable["Section"]:
        """Make its sections; none where the run has nothing for them."""
        raise NotImplementedError
