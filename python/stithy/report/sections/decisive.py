"""The figures that bear the answer: what is asked about against users, and what limited it."""

from collections.abc import Iterator

from stithy.report.blocks import Section, figures
from stithy.report.page import Page

NAME = "decisive"
NEEDS = ("load",)


def claims(page: Page) -> Iterator[str]:
    """Figures that stand here instead of with their family."""
    known = page.context.evidence.primary.metric.known
    asked = {"window": "throughput-by-users", "transactions": "response-by-users"}
    yield asked.get(known.source, "device-latency")
    yield "limits"


def sections(page: Page) -> Iterator[Section]:
    """Where one of them could be drawn."""
    if drawn := page.drawn_in(NAME):
        yield Section(NAME, 20, "What decides the answer", tuple(figures(drawn)))
