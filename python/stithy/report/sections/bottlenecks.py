"""What limited each window, and the stalls within windows."""

from collections.abc import Iterator

from stithy.report.blocks import APPENDIX, Block, Section, grid, opened, paragraph
from stithy.report.page import Page
from stithy.report.parts import bottlenecks
from stithy.report.tables import PageTable

NAME = "bottlenecks"
NEEDS = ("load",)

METHOD = (
    "A bound is the throughput that one resource allows if everything else takes no time. A window "
    "at 80 % of a bound could reach at most 1.25 times its throughput, even if all other resources "
    "took no time. A CPU or a device is a bottleneck from 80 % of its bound on. A share of the "
    "users' time is one from 50 % on. The tightest of these bounds is named. "
    '"Several" means that no single bound holds. "Not determined" means that none holds and one '
    'could not be judged. "Storage, at most" is the share of the users\' time in waits for data '
    "and for the log. It includes waits for a lock or a connection whose holder may have waited "
    "for storage. Sessions are sampled once per second. Waits for storage count at most as long "
    "as the devices under the volumes had a request in progress."
)


def tables(page: Page) -> Iterator[PageTable]:
    """Bounds by window and by level, and stalls by their cause."""
    yield bottlenecks.bottleneck_windows(page.context)
    yield bottlenecks.bottleneck_levels(page.context)
    yield bottlenecks.stalls_table(page.context)


def sections(page: Page) -> Iterator[Section]:
    """Where a window has numbers to be judged."""
    if not page.tables["limited"].frame.is_empty():
        limited, stalls = page.tables["limited"], page.tables["stalls"]
        blocks: tuple[Block, ...] = (*paragraph(METHOD), *grid(limited), *opened(stalls))
        data = (page.tables["limited-levels"],)
        heading = "What limited each window"
        yield Section("bottlenecks", APPENDIX + 100, heading, blocks, data=data)
