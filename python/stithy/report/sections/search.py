"""The search for the most users within a response-time target."""

from collections.abc import Iterator

from stithy.report.blocks import APPENDIX, Block, Section, grid, paragraph
from stithy.report.page import Page
from stithy.report.parts import searches
from stithy.report.tables import PageTable

NAME = "search"
NEEDS = ("load",)

METHOD = (
    "The search doubles the users until a window misses the target. Then it halves the gap between "
    "the last two levels, until the bracket is one user wide, or above 20 users about 5 %. It "
    "measures both ends of the bracket a second time. A level meets the target if all its valid "
    "windows do; invalid windows do not count. A search gives no verdict and no interval. It "
    "names a candidate that serves more only if the distance between the brackets is at least the "
    "width of the wider one."
)


def tables(page: Page) -> Iterator[PageTable]:
    """Every level that was tried."""
    yield searches.table(page.context)


def sections(page: Page) -> Iterator[Section]:
    """Where the study asked for a search."""
    asked = searches.asked(page.context)
    if asked:
        blocks: tuple[Block, ...] = (
            *paragraph(asked, METHOD),
            *grid(page.tables["search"], even_empty=True),
        )
        yield Section("search", APPENDIX + 110, "The saturation search", blocks)
