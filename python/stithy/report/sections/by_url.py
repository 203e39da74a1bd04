"""Databases by URL: how far away they were, and what of their servers was not seen."""

from collections.abc import Iterator
from statistics import median

from stithy.report.blocks import Block, Section, grid, paragraph
from stithy.report.context import Context
from stithy.report.page import Page
from stithy.report.tables import PageTable, Show, table_of
from stithy.report.words.servers import are_there
from stithy.report.words.wording import listing, took

NAME = "by-url"
NEEDS = ("load",)
TITLE = "Databases by URL"
NOT_SEEN = (
    "Stithy did not start these servers. What their CPUs, memory, devices and logs did, who else "
    "used them, and whether their hosts are alike, was not seen: a difference is one of the whole "
    "offers and of the ways to them, and not of the storage alone. CPU, memory and network in the "
    "figures are those of this machine, where the users ran."
)
NOTE = (
    "Just before the users of each window began, a connection asked 101 times for nothing; their "
    "median is the window's round trip, the time of Stithy's own client included."
)


def tables(page: Page) -> Iterator[PageTable]:
    """How far each candidate was away; nothing where Stithy started the servers."""
    rows = [
        {"candidate": name, "url": facts.path if (facts := page.context.facts_of(name)) else None,
         "round_trip_s": median(known), "least_s": min(known), "most_s": max(known),
         "windows": len(known)}
        for name, known in _round_trips_s(page.context).items()
    ]  # fmt: skip
    shows = (
        Show("candidate", "Candidate"), Show("url", "URL"),
        Show("round_trip_s", "Round trip, median", "duration"),
        Show("least_s", "Least", "duration"), Show("most_s", "Most", "duration"),
        Show("windows", "Windows", "count"),
    )  # fmt: skip
    yield table_of(NAME, TITLE, shows, rows)


def sections(page: Page) -> Iterator[Section]:
    """Where Stithy started no server."""
    if are_there(page.context.manifest):
        yield Section(NAME, 12, TITLE, tuple(_blocks(page)))


def _blocks(page: Page) -> Iterator[Block]:
    table = page.tables[NAME]
    yield from paragraph(_sentence(table), NOT_SEEN)
    yield from grid(table)
    yield from paragraph(NOTE, style="note")


def _round_trips_s(context: Context) -> dict[str, list[float]]:
    """By candidate the round trips before its windows, as far as they are known, seconds."""
    windows = [each for each in context.evidence.windows if each.measured]
    known = [(each.candidate, s) for each in windows if (s := each.row.get("round_trip_s"))]
    found = {name: [s for of, s in known if of == name] for name in context.evidence.candidates}
    return {name: each for name, each in found.items() if each}


def _sentence(table: PageTable) -> str:
    known = table.frame.select("round_trip_s", "candidate").iter_rows()
    said = listing([f"{took(each_s)} on {name}" for each_s, name in known])
    return (
        "The network to the servers is a part of what was measured: the median round trip of a "
        f"question without work took {said or 'a time that is not known'}."
    )
