"""What each volume did where block I/O used several at once, beside the whole."""

from collections.abc import Iterator

import polars as pl

from stithy.metrics import ALL, BEYOND_LEAST
from stithy.point import Point
from stithy.report.blocks import Section, paragraph
from stithy.report.context import Context
from stithy.report.page import Page
from stithy.report.section import SectionKind
from stithy.report.tables import PageTable, Show, table_of
from stithy.report.words.wording import count, listing
from stithy.results.tables import Row

TITLE = "Each volume by itself"
NOTE = (
    "One window of each candidate at each point, the first valid one; reads and writes together. "
    "The volumes worked at once. Operations apart, and all windows, are in the table `io_volumes` "
    "of each window."
)
ROWS_MOST = 200
"""Own: more are in the results only."""

P99_BEYOND = 0.01


class VolumesSection(SectionKind):
    """What each volume did where block I/O used several at once, beside the whole."""

    name = "volumes"
    needs_tables = ("io_seconds",)

    def make_tables(self, page: Page) -> Iterator[PageTable]:
        """A row for each volume of each candidate at each point."""
        context = page.context
        shows = (
            *context.factor_shows, Show("candidate", "Candidate"), Show("volume", "Volume"),
            Show("iops", "IOPS", "count"), Show("bytes_per_s", "Bandwidth", "bandwidth"),
            Show("mean_s", "Mean", "duration"), Show("p99_s", "p99", "duration"),
        )  # fmt: skip
        rows = [
            {**context.factor_values(point), "candidate": name, **_hide_rare(row)}
            for point, name, row in _list_volumes(context)
        ]
        yield table_of(self.name, TITLE, shows, rows[:ROWS_MOST], iops=pl.Float64)

    def make_sections(self, page: Page) -> Iterator[Section]:
        """Where several volumes were used at once."""
        spread = (each for text in _describe_spread(page.context) for each in paragraph(f"{text}."))
        return page.section(self.name, 25, TITLE, NOTE, page.context.footer + ".", above=spread)


def _list_volumes(context: Context) -> Iterator[tuple[Point, str, Row]]:
    evidence = context.evidence
    for point in evidence.points:
        for name in evidence.candidates:
            for window in evidence.valid_at(name, point)[:1]:
                rows = context.run.detail("io_volumes", window.id).to_dicts()
                yield from ((point, name, row) for row in rows if row["operation"] == ALL)


def _hide_rare(row: Row) -> Row:
    is_known = row["requests"] * P99_BEYOND >= BEYOND_LEAST
    return {
        **{key: row[key] for key in ("volume", "iops", "bytes_per_s", "mean_s")},
        "p99_s": row["p99_s"] if is_known else None,
    }


def _describe_spread(context: Context) -> Iterator[str]:
    """How far the volumes of a candidate lie apart, where the question is asked, else at last."""
    evidence = context.evidence
    asked = evidence.primary.point or evidence.points[-1]
    found: dict[str, list[float]] = {}
    for point, name, row in _list_volumes(context):
        if point == asked:
            found.setdefault(name, []).append(row["iops"])
    each = [f"{count(min(iops))} to {count(max(iops))} on {name}" for name, iops in found.items()]
    yield f"IOPS of a volume at {asked.brief}: {listing(each)}" if each else TITLE


PLUGINS = (VolumesSection(),)
