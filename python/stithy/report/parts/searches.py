"""A saturation search in the report: every level that it tried, and what makes it doubtful."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from stithy.analysis.capacity import Capacity, Said, capacity_findings, levels_of, trials, value_of
from stithy.analysis.evidence import Evidence, Window
from stithy.factor import level_factor
from stithy.metrics import ALL, values_needed
from stithy.point import Point
from stithy.report.context import Context
from stithy.report.tables import PageTable, Show, table_of
from stithy.report.words.wording import count, listing, plural
from stithy.search import Search


def table(context: Context) -> PageTable:
    """Each level of each candidate that the search looked at; empty where there was none."""
    search = context.evidence.search
    rows = [] if search is None else list(_rows(context, search))
    name = search.limit.name if search else "value"
    where = (Show("setting", "With"),) if _several(context) else ()
    shows = (*where,
        Show("candidate", "Candidate"), Show(level_factor().name, context.axis.title, "count"),
        Show("value", name, "duration"), Show("low", "of its windows from", "duration"),
        Show("high", "to", "duration"), Show("valid", "Valid windows", "count"),
        Show("windows", "of windows", "count"), Show("answers_least", "Answers, fewest", "count"),
        Show("said", "Result"), Show("end", "End of the bracket"),
    )  # fmt: skip
    return table_of("search", "Levels of the search", shows, rows, setting=pl.String)


def _rows(context: Context, search: Search) -> Iterator[dict[str, Any]]:
    for here, capacity in _each(context):
        for trial in trials(here, capacity.candidate, search):
            windows = here.at(capacity.candidate, levels_of(here)[trial.level])
            yield {
                "setting": _setting(here),
                "candidate": capacity.candidate, level_factor().name: trial.level,
                **_values(here, capacity.candidate, trial.level, search),
                "valid": sum(window.valid for window in windows), "windows": len(windows),
                "answers_least": _answers(windows, search), "said": trial.said.value,
                "end": _end(capacity, trial.level),
            }  # fmt: skip


def _each(context: Context) -> Iterator[tuple[Evidence, Capacity]]:
    """Each candidate at each setting of what varied, with the evidence as it is asked there."""
    for found in capacity_findings(context.evidence):
        here = context.evidence
        here = here if found.setting is None else here.at_setting(found.setting)
        yield from ((here, capacity) for capacity in found.of)


def _setting(here: Evidence) -> str | None:
    """What else varied, at the setting that is asked about; None where nothing did."""
    point = here.primary.point
    return Point(point.others).in_words() if point and len(here.settings) > 1 else None


def _values(here: Evidence, name: str, level: int, search: Search) -> dict[str, float | None]:
    """The value over all windows of a level, and the least and the most of them.

    No percentile of too few values is among them, though the limit judges these, too.
    """
    of = (search.limit.column, search.limit.transaction)
    point = levels_of(here)[level]
    valid = here.valid_at(name, point)
    known = [value for window in valid if (value := window.printable(*of)) is not None]
    return {
        "value": here.printable_level(name, point, *of),
        "low": min(known, default=None),
        "high": max(known, default=None),
    }


def _answers(windows: tuple[Window, ...], search: Search) -> int | None:
    """How many transactions of the type the valid window with the fewest of them completed."""
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
    for here, capacity in _each(context):
        yield from _doubts(here, capacity)
    if context.evidence.search is not None:
        yield from _few_answers(context, context.evidence.search)


def _doubts(here: Evidence, of: Capacity) -> Iterator[str]:
    where = f" with {setting}" if (setting := _setting(here)) else ""
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
    known = trials(here, of.candidate, search)
    doubtful = (each.level for each in known if each.said in (Said.MISSED, Said.SPLIT))
    return min(doubtful)


def _few_answers(context: Context, search: Search) -> Iterator[str]:
    """Windows so short that a few answers make the percentile."""
    least = values_needed(search.limit.percent)
    counts = [
        answers
        for window in context.evidence.windows
        if value_of(window, search) is not None
        and (answers := _answers((window,), search)) is not None
    ]
    few = [answers for answers in counts if answers < least]
    if few:
        yield (
            f"{len(few)} of {plural(len(counts), 'window')} of the search completed fewer than "
            f"{count(least)} {_of_type(search)}. Their {search.limit.percentile} is compared with "
            "the target, but not printed. Use longer windows."
        )
