"""The appendix begins: all levels, the search for the most users, the figures by subject."""

from collections.abc import Iterator
from functools import partial
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
from stithy.report.blocks import (
    APPENDIX,
    Block,
    Figure,
    Grid,
    SectionKind,
    set_figures,
    set_grid,
    set_paragraph,
)
from stithy.report.context import Context
from stithy.report.page import Page
from stithy.report.sections import compared
from stithy.report.sections.validity import windows
from stithy.report.sections.validity.work import TYPES_NOTE, make_types_table
from stithy.report.tables import PageTable, Show, make_table
from stithy.report.words import loads
from stithy.report.words.wording import format_count, format_plural
from stithy.search import Search
from stithy.units import format_list

METHOD = (
    "The search doubles the users until a window misses the target. Then it halves the gap between "
    "the last two levels, until the bracket is one user wide, or about {width} % of its lower "
    "end. It measures both ends of the bracket a second time. A level meets the target if all its "
    "valid windows do; invalid windows do not count. A search gives no verdict and no interval. It "
    "names a candidate that serves more only if the distance between the brackets is at least the "
    "width of the wider one."
)


def _set_search(page: Page) -> Iterator[Block]:
    search = page.context.evidence.search
    if search is not None and (target := describe_asked(page.context)):
        yield from set_paragraph(target, METHOD.format(width=search.width_percent))
        yield from set_grid(page.tables["search"], even_empty=True)


INTRODUCTION = "All figures and tables, the proofs that the work was done, and the method."


def _set_levels(page: Page) -> Iterator[Block]:
    notes = windows.explain_names(page.context), *_write_notes(page)
    yield Grid(page.tables["summary"], "summary")
    yield from set_paragraph(*notes, style="note")


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
    if describe_asked(context):
        dashes.append("that the search did not need this level")
    yield f"A dash means {', '.join(dashes[:-1])}, or {dashes[-1]}."
    if not any(isinstance(each, Figure) for each in page.find_drawn("answer")):
        yield f"{context.footer}."
    rows = [window.row for window in context.evidence.windows if window.measured]
    yield loads.describe_reach(rows, context.workload, context.engine.buffers) or ""


def _claim_decisive_figures(page: Page) -> Iterator[str]:
    known = page.context.evidence.primary.metric.known
    asked = {"window": "throughput-by-users", "transactions": "response-by-users"}
    yield asked.get(known.source, "device-latency")
    yield "limits"


def make_search_table(context: Context) -> PageTable:
    """Each level of each candidate that the search looked at; empty where there was none."""
    search = context.evidence.search
    rows = [] if search is None else list(_list_rows(context, search))
    name = search.limit.name if search else "value"
    where = (Show("setting", "With"),) if _has_several(context) else ()
    shows = (*where,
        Show("candidate", "Candidate"), Show(get_level_factor().name, context.axis.title, "count"),
        Show("value", name, "duration"), Show("low", "of its windows from", "duration"),
        Show("high", "to", "duration"), Show("valid", "Valid windows", "count"),
        Show("windows", "of windows", "count"), Show("answers_least", "Answers, fewest", "count"),
        Show("said", "Result"), Show("end", "End of the bracket"),
    )  # fmt: skip
    return make_table("search", "Levels of the search", shows, rows, setting=pl.String)


def _list_rows(context: Context, search: Search) -> Iterator[dict[str, Any]]:
    for here, capacity in _list_settings(context):
        ends = {end.level: name for name, end in (("upper", capacity.high), ("lower", capacity.low))
                if end is not None}  # fmt: skip
        for trial in list_trials(here, capacity.candidate, search):
            windows = here.at(capacity.candidate, list_levels(here)[trial.level])
            yield {
                "setting": _find_setting(here),
                "candidate": capacity.candidate, get_level_factor().name: trial.level,
                **_list_values(here, capacity.candidate, trial.level, search),
                "valid": sum(window.valid for window in windows), "windows": len(windows),
                "answers_least": _count_fewest(windows, search), "said": trial.said.value,
                "end": ends.get(trial.level, ""),
            }  # fmt: skip


def _list_settings(context: Context) -> Iterator[tuple[Evidence, Capacity]]:
    for found in find_capacities(context.evidence):
        here = context.evidence
        here = here if found.setting is None else here.at_setting(found.setting)
        yield from ((here, capacity) for capacity in found.of)


def _find_setting(here: Evidence) -> str | None:
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


def describe_asked(context: Context) -> str | None:
    """What was searched for, and between which levels; None where nothing was."""
    search = context.evidence.search
    if search is None:
        return None
    ends = f"{search.users_least:,} to {format_plural(search.users_most, context.level_unit)}"
    levels = format_list([f"{each:,}" for each in search.listed])
    begun = f" It began with the measurements at {levels}." if levels else ""
    each = (
        " There is one search at each point of what else varied." if _has_several(context) else ""
    )
    return f"The search looks for {search.limit}, from {ends}.{begun}{each}"


def _has_several(context: Context) -> bool:
    return len(context.evidence.settings) > 1


def list_flaws(context: Context) -> Iterator[str]:
    """What makes the brackets doubtful, a sentence each."""
    for here, capacity in _list_settings(context):
        yield from _list_doubts(here, capacity)
    if context.evidence.search is not None:
        yield from _list_short_windows(context, context.evidence.search)


def _list_doubts(here: Evidence, of: Capacity) -> Iterator[str]:
    where = f" with {setting}" if (setting := _find_setting(here)) else ""
    if of.again:
        levels = format_list([f"{each:,}" for each in of.again])
        assert here.search is not None  # a capacity is what a search found
        trials = list_trials(here, of.candidate, here.search)
        doubtful = (LevelStatus.MISSED, LevelStatus.SPLIT)
        lowest = min(trial.level for trial in trials if trial.said in doubtful)
        yield (
            f"The response time of {of.candidate}{where} does not grow with the users everywhere: "
            f"it meets the target at {levels}, and not always at {lowest:,}. The lower result "
            "counts."
        )
    if of.split:
        levels = format_list([f"{each:,}" for each in of.split])
        yield (
            f"Windows of {of.candidate}{where} at {levels} disagree on whether the target is met. "
            "Its bracket is therefore wider than the search aimed at."
        )


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
        name = search.limit.transaction
        of_type = "transactions" if name == ALL else f"transactions {name}"
        yield (
            f"{len(few)} of {format_plural(len(counts), 'window')} of the search completed fewer "
            f"than {format_count(least)} {of_type}. Their {search.limit.percentile} is "
            "compared with the target, but not printed. Use longer windows."
        )


SUBJECTS = {
    "set-up": "How it was set up",
    "throughput": "Throughput",
    "response": "Response time",
    "machine": "The machine",
    "storage": "The storage devices",
    "database": "Inside the database",
    "seconds": "Second by second",
}
"""A section each, in this order."""


def _set_subject(name: str, page: Page) -> Iterator[Block]:
    if not (drawn := page.find_drawn(name)):
        return
    if name == "throughput":
        yield from set_paragraph(compared.write_guide(page.context), style="note")
    yield from set_figures(drawn)
    if name == "response" and not page.tables["types"].frame.is_empty():
        yield from set_grid(page.tables["types"])
        yield from set_paragraph(TYPES_NOTE, style="note")


PLUGINS = (
    SectionKind(
        "search", APPENDIX + 110, "The saturation search", _set_search,
        make_tables=lambda page: [make_search_table(page.context)], needs_tables=("load",),
    ),
    SectionKind(
        "appendix", APPENDIX, "Appendix", lambda page: set_paragraph(INTRODUCTION),
        make_tables=lambda page: [
            make_types_table(page.context),
            windows.list_titles(figure for _, figure in page.drawn),
        ],
    ),
    SectionKind(
        "levels", APPENDIX + 10, "All levels", _set_levels,
        make_tables=lambda page: [windows.make_summary(page.context)], needs_tables=("load",),
    ),
    SectionKind(
        "decisive", 20, "What decides the answer",
        lambda page: set_figures(page.find_drawn("decisive")),
        claim_figures=_claim_decisive_figures, needs_tables=("load",),
    ),
    *(
        SectionKind(name, APPENDIX + number, heading, partial(_set_subject, name))
        for number, (name, heading) in enumerate(SUBJECTS.items(), start=20)
    ),
)  # fmt: skip
