"""The top of the page: the answer in one sentence, the main findings, and what supports them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import polars as pl

from stithy.analysis.answers.findings import MAIN, Finding, findings
from stithy.analysis.answers.standing import standing
from stithy.analysis.evidence import Window
from stithy.analysis.validity.flags import Flag
from stithy.analysis.verdict.decide import DIFFERENT
from stithy.registry import plugins
from stithy.report.context import Context
from stithy.report.parts import canaries, caps, head_room, ledgers, lost, resumed, searches
from stithy.report.tables import PageTable, Show
from stithy.report.words import drives
from stithy.report.words.wording import plural
from stithy.study import durability

DRIVES_OFF = (
    Flag.DRIVE_LATE, Flag.DRIVE_AT_TIMES_LATE, Flag.DRIVE_SLOWED, Flag.DRIVE_OFF,
)  # fmt: skip
"""What says that an emulated drive did not take the times of its profile."""


@dataclass(frozen=True)
class Answer:
    """The sentences on top; `flawed` is set where something weakens the answer.

    `headline` is the first sentence of the answer, `detail` its others: values and intervals.
    """

    headline: str
    detail: str
    others: tuple[str, ...]
    support: tuple[str, ...]
    flawed: tuple[str, ...]


def main_findings(context: Context) -> tuple[str, ...]:
    """The main findings of a run in words, most important first: at most three.

    Before them stands what must stand beside every number: the label of the run, where it has one,
    and which drives are emulated.
    """
    found = sentences(findings(context.evidence, context.limited)[:MAIN], context.level_unit)
    notes = (context.label, drives.footer(context.manifest))
    return (*(f"{each}." for each in notes if each), *found)


def sentences(found: Sequence[Finding], unit: str) -> tuple[str, ...]:
    """Each finding in words, made by the module of its kind; `unit` is what levels count."""
    kinds = plugins("sentence")
    return tuple(kinds[finding.kind].say(finding, unit) for finding in found)


def answer(context: Context, found: Sequence[Finding]) -> Answer:
    """The top of the page for these findings."""
    said = sentences(found, context.level_unit)
    headline, dot, detail = said[0].partition(". ")
    others, flaws = said[1:], tuple(_flaws(context))
    return Answer(
        f"{headline}." if dot else headline, detail, others, tuple(_support(context)), flaws
    )


def _support(context: Context) -> Iterator[str]:
    windows = context.evidence.windows
    off = any(_has(window, flag) for window in windows for flag in DRIVES_OFF)
    if (emulated := drives.sentence(context.manifest, off=off)) is not None:
        yield emulated
    valid = sum(window.valid for window in windows)
    if windows and valid == len(windows):
        yield "The only window is valid." if valid == 1 else f"All {valid} windows are valid."
    held = context.run.conditions
    if not held.is_empty() and held["holds"].all():
        yield f"All {len(held):,} verified consistency conditions held."
    if (told := ledgers.proven(context)) is not None:
        yield told
    room = head_room.sentence(context)
    if room is not None and not room.weakens:
        yield room.text
    if (told := resumed.sentence(context)) is not None:
        yield told
    restores = context.run.restores
    if not restores.is_empty() and restores["identical"].all():
        yield f"{plural(len(restores), 'restore')} gave files identical to the master copy."


def _flaws(context: Context) -> Iterator[str]:
    windows = context.evidence.windows
    yield from durability.sentences(context.given_up)
    if (told := _null_that_differs(context)) is not None:
        yield told
    if (told := drives.assumptions(context.manifest)) is not None:
        yield told
    yield from ledgers.flaws(context)
    if (told := lost.left_out(windows)) is not None:
        who = "it supports" if sum(not window.valid for window in windows) == 1 else "they support"
        yield f"{told}: {who} no claim; the reasons are under Validity."
    unsteady = sum(w.valid and w.steady is not None and w.steady.steady is False for w in windows)
    if unsteady:
        verb = "was" if unsteady == 1 else "were"
        yield (
            f"{unsteady} of {plural(len(windows), 'window')} {verb} not steady; what changed is "
            "told under Validity. The numbers count all the same."
        )
    disturbed = sum(_has(window, Flag.INTERFERENCE) for window in windows)
    if disturbed:
        yield (
            f"In {disturbed} of {plural(len(windows), 'window')} something else ran on the "
            "machine; what it was is told under Validity."
        )
    yield from caps.flaws(context)
    yield from searches.flaws(context)
    if (changed := canaries.flaw(context)) is not None:
        yield changed
    yield from _unfinished(context)
    yield from resumed.flaws(context)
    broken = context.run.conditions.filter(~pl.col("holds"))
    if not broken.is_empty():
        yield f"{plural(len(broken), 'consistency condition')} did not hold."
    unlimited = sum(w.measured and not w.row["memory_limit_enforced"] for w in windows)
    if unlimited:
        yield (
            f"In {plural(unlimited, 'window')} the memory limit was not enforced: caches may hide "
            "the storage."
        )
    room = head_room.sentence(context)
    if room is not None and room.weakens:
        yield room.text


def _null_that_differs(context: Context) -> str | None:
    """What a difference between a candidate and its like is; None without one."""
    if not context.is_null or standing(context.evidence).progress.verdict.call not in DIFFERENT:
        return None
    return (
        "This is a null study: both candidates are alike, so the difference is an error of the "
        "measurement and not of the storage. Trust no study of this machine until it is found."
    )


def _has(window: Window, flag: Flag) -> bool:
    return any(reason.flag is flag for reason in window.reasons)


def _unfinished(context: Context) -> Iterator[str]:
    manifest = context.manifest
    if (told := lost.files(context)) is not None:
        yield f"{told}; which of them, and why, is told under Validity."
    if manifest is None:
        yield "The manifest could not be read: configuration and environment are not known."
        return
    if absent := len(context.not_run):
        plan = manifest.plan
        # What was wanted only once something had been measured was not planned.
        what = "wanted window" if plan.further else "planned window"
        wanted = plural(len(plan.windows) + len(plan.further), what)
        yield f"{absent} of {wanted} {_gone(absent, finished=context.is_finished)}."
    if manifest.end in ("interrupted", "failed"):
        because = f": {manifest.end_because}" if manifest.end_because else ""
        verb = "was" if manifest.end == "interrupted" else "has"
        yield f"The run {verb} {manifest.end}{because}."


def _gone(absent: int, *, finished: bool) -> str:
    if finished:
        return f"{'is' if absent == 1 else 'are'} not in the results, although the run finished"
    return f"{'was' if absent == 1 else 'were'} not run"


def table(found: Sequence[Finding]) -> PageTable:
    """The numbers of all findings, so that those in the sentences can be found."""
    rows = [
        {"finding": number, "kind": finding.kind, "number": name, "value": value}
        for number, finding in enumerate(found, start=1)
        for name, value in _numbers("", finding)
    ]
    schema = {
        "finding": pl.Int64, "kind": pl.String, "number": pl.String, "value": pl.Float64,
    }  # fmt: skip
    return PageTable(
        "findings",
        "The numbers of the findings",
        (
            Show("finding", "Finding", "count"), Show("kind", "Kind"), Show("number", "Number"),
            Show("value", "Value", "rate"),
        ),
        pl.DataFrame(rows, schema=schema),
    )  # fmt: skip


def _numbers(name: str, value: Any) -> Iterator[tuple[str, float]]:
    """All numbers within a finding, named by the way to them."""
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        yield name, float(value)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _numbers(f"{name}.{field.name}".lstrip("."), getattr(value, field.name))
    elif isinstance(value, tuple):
        for index, each in enumerate(value):
            named = isinstance(each, tuple) and each and isinstance(each[0], str)
            key = each[0] if named else str(index)
            yield from _numbers(f"{name}.{key}", each)
