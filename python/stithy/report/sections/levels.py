"""The search for the most users within a response-time target."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from stithy.activity import get_level_factor
from stithy.analysis.capacity import (
    Capacity,
    LevelStatus,
    find_capacities,
    list_levels,
    list_trials,
    read_value,
)
from stithy.analysis.evidence import Evidence, Window
from stithy.metrics import ALL, count_values_needed
from stithy.point import Point
from stithy.report.blocks import APPENDIX, Block, Grid, Section, figures, grid, paragraph
from stithy.report.context import Context
from stithy.report.figure import Figure
from stithy.report.page import Page
from stithy.report.section import SectionKind
from stithy.report.sections.validity import windows
from stithy.report.tables import PageTable, Show, table_of
from stithy.report.words import loads
from stithy.report.words.wording import count, listing, plural
from stithy.search import Search

METHOD = (
    "The search doubles the users until a window misses the target. Then it halves the gap between "
    "the last two levels, until the bracket is one user wide, or above 20 users about 5 %. It "
    "measures both ends of the bracket a second time. A level meets the target if all its valid "
    "windows do; invalid windows do not count. A search gives no verdict and no interval. It "
    "names a candidate that serves more only if the distance between the brackets is at least the "
    "width of the wider one."
)


class SearchSection(SectionKind):
    """The search for the most users within a response-time target."""

    name = "search"
    needs_tables = ("load",)

    def make_tables(self, page: Page) -> Iterator[PageTable]:
        """Every level that was tried."""
        yield table(page.context)

    def make_sections(self, page: Page) -> Iterator[Section]:
        """Where the study asked for a search."""
        target = asked(page.context)
        if target:
            blocks: tuple[Block, ...] = (
                *paragraph(target, METHOD),
                *grid(page.tables["search"], even_empty=True),
            )
            yield Section("search", APPENDIX + 110, "The saturation search", blocks)


INTRODUCTION = "All figures and tables, the proofs that the work was done, and the method."


class LevelsSection(SectionKind):
    """The beginning of the appendix, and the numbers of all levels."""

    name = "levels"

    def make_tables(self, page: Page) -> Iterator[PageTable]:
        """The summary by levels."""
        if "load" in page.context.tables:
            yield windows.summary(page.context)

    def make_sections(self, page: Page) -> Iterator[Section]:
        """The appendix always, the levels where users have them."""
        yield Section("appendix", APPENDIX, "Appendix", tuple(paragraph(INTRODUCTION)))
        if "summary" not in page.tables:
            return
        note = paragraph(windows.words(page.context), *_write_notes(page), style="note")
        blocks: tuple[Block, ...] = (Grid(page.tables["summary"], "summary"), *note)
        yield Section("levels", APPENDIX + 10, "All levels", blocks)


def _write_notes(page: Page) -> Iterator[str]:
    context = page.context
    if len(context.evidence.candidates) > 1:
        interval = (
            ". They are geometric means over the blocks; one block has no interval."
            if any(window.block > 0 for window in context.evidence.windows)
            else ". With one window per candidate they have no interval."
        )
        yield f"Ratios are to {context.evidence.candidates[0]}{interval}"
    dashes = ["that no valid window has the value", "that there are too few values for p95"]
    if asked(context):
        dashes.append("that the search did not need this level")
    yield f"A dash means {', '.join(dashes[:-1])}, or {dashes[-1]}."
    if not any(isinstance(each, Figure) for each in page.drawn_in("answer")):
        yield f"{context.footer}."
    rows = [window.row for window in context.evidence.windows if window.measured]
    yield loads.reached(rows, context.workload, context.engine.buffers) or ""


class DecisiveSection(SectionKind):
    """The figures that bear the answer: what is asked about against users, and what limited it."""

    name = "decisive"
    needs_tables = ("load",)

    def claim_figures(self, page: Page) -> Iterator[str]:
        """Figures that stand here instead of with their family."""
        known = page.context.evidence.primary.metric.known
        asked = {"window": "throughput-by-users", "transactions": "response-by-users"}
        yield asked.get(known.source, "device-latency")
        yield "limits"

    def make_sections(self, page: Page) -> Iterator[Section]:
        """Where one of them could be drawn."""
        if drawn := page.drawn_in(self.name):
            yield Section(self.name, 20, "What decides the answer", tuple(figures(drawn)))


def table(context: Context) -> PageTable:
    """Each level of each candidate that the search looked at; empty where there was none."""
    search = context.evidence.search
    rows = [] if search is None else list(_rows(context, search))
    name = search.limit.name if search else "value"
    where = (Show("setting", "With"),) if _several(context) else ()
    shows = (*where,
        Show("candidate", "Candidate"), Show(get_level_factor().name, context.axis.title, "count"),
        Show("value", name, "duration"), Show("low", "of its windows from", "duration"),
        Show("high", "to", "duration"), Show("valid", "Valid windows", "count"),
        Show("windows", "of windows", "count"), Show("answers_least", "Answers, fewest", "count"),
        Show("said", "Result"), Show("end", "End of the bracket"),
    )  # fmt: skip
    return table_of("search", "Levels of the search", shows, rows, setting=pl.String)


def _rows(context: Context, search: Search) -> Iterator[dict[str, Any]]:
    for here, capacity in _list_settings(context):
        for trial in list_trials(here, capacity.candidate, search):
            windows = here.at(capacity.candidate, list_levels(here)[trial.level])
            yield {
                "setting": _find_setting(here),
                "candidate": capacity.candidate, get_level_factor().name: trial.level,
                **_list_values(here, capacity.candidate, trial.level, search),
                "valid": sum(window.valid for window in windows), "windows": len(windows),
                "answers_least": _count_fewest(windows, search), "said": trial.said.value,
                "end": _end(capacity, trial.level),
            }  # fmt: skip


def _list_settings(context: Context) -> Iterator[tuple[Evidence, Capacity]]:
    for found in find_capacities(context.evidence):
        here = context.evidence
        here = here if found.setting is None else here.at_setting(found.setting)
        yield from ((here, capacity) for capacity in found.of)


def _find_setting(here: Evidence) -> str | None:
    """What else varied, at the setting that is asked about; None where nothing did."""
    point = here.primary.point
    return Point(point.others).in_words() if point and len(here.settings) > 1 else None


def _list_values(here: Evidence, name: str, level: int, search: Search) -> dict[str, float | None]:
    """The value over all windows of a level, and the least and the most of them.

    No percentile of too few values is among them, though the limit judges these, too.
    """
    of = (search.limit.column, search.limit.transaction)
    point = list_levels(here)[level]
    valid = here.valid_at(name, point)
    known = [value for window in valid if (value := window.printable(*of)) is not None]
    return {
        "value": here.printable_level(name, point, *of),
        "low": min(known, default=None),
        "high": max(known, default=None),
    }


def _count_fewest(windows: tuple[Window, ...], search: Search) -> int | None:
    valid = (window for window in windows if window.valid and window.measured)
    return min((each.completed(search.limit.transaction) for each in valid), default=None)


def _end(capacity: Capacity, level: int) -> str:
    if capacity.low is not None and capacity.low.level == level:
        return "lower"
    return "upper" if capacity.high is not None and capacity.high.level == level else ""


def asked(context: Context) -> str | None:
    """What was searched for, and between which levels; None where nothing was."""
    search = context.evidence.search
    if search is None:
        return None
    ends = f"{search.users_least:,} to {plural(search.users_most, context.level_unit)}"
    levels = listing([f"{each:,}" for each in search.listed])
    begun = f" It began with the measurements at {levels}." if levels else ""
    each = " There is one search at each point of what else varied." if _several(context) else ""
    return f"The search looks for {search.limit}, from {ends}.{begun}{each}"


def _several(context: Context) -> bool:
    return len(context.evidence.settings) > 1


def flaws(context: Context) -> Iterator[str]:
    """What makes the brackets doubtful, a sentence each."""
    for here, capacity in _list_settings(context):
        yield from _doubts(here, capacity)
    if context.evidence.search is not None:
        yield from _list_short_windows(context, context.evidence.search)


def _doubts(here: Evidence, of: Capacity) -> Iterator[str]:
    where = f" with {setting}" if (setting := _find_setting(here)) else ""
    if of.again:
        levels = listing([f"{each:,}" for each in of.again])
        lowest = _lowest_missed(here, of)
        yield (
            f"The response time of {of.candidate}{where} does not grow with the users everywhere: "
            f"it meets the target at {levels}, and not always at {lowest:,}. The lower result "
            "counts."
        )
    if of.split:
        levels = listing([f"{each:,}" for each in of.split])
        yield (
            f"Windows of {of.candidate}{where} at {levels} disagree on whether the target is met. "
            "Its bracket is therefore wider than the search aimed at."
        )


def _of_type(search: Search) -> str:
    name = search.limit.transaction
    return "transactions" if name == ALL else f"transactions {name}"


def _lowest_missed(here: Evidence, of: Capacity) -> int:
    search = here.search
    assert search is not None  # a capacity is what a search found
    known = list_trials(here, of.candidate, search)
    doubtful = (
        each.level for each in known if each.said in (LevelStatus.MISSED, LevelStatus.SPLIT)
    )
    return min(doubtful)


def _list_short_windows(context: Context, search: Search) -> Iterator[str]:
    least = count_values_needed(search.limit.percent)
    counts = [
        answers
        for window in context.evidence.windows
        if read_value(window, search) is not None
        and (answers := _count_fewest((window,), search)) is not None
    ]
    few = [answers for answers in counts if answers < least]
    if few:
        yield (
            f"{len(few)} of {plural(len(counts), 'window')} of the search completed fewer than "
            f"{count(least)} {_of_type(search)}. Their {search.limit.percentile} is compared with "
            "the target, but not printed. Use longer windows."
        )


PLUGINS = (SearchSection(), LevelsSection(), DecisiveSection())
