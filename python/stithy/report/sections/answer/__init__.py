"""The head of the report: the question, the answer, what weakens and what supports it."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import Any

import polars as pl

from stithy.activity import get_level_factor
from stithy.analysis.bottlenecks.judge import Cause
from stithy.analysis.bottlenecks.rules import RULES
from stithy.analysis.checks import instruments
from stithy.analysis.checks.instruments import INTERFERENCE
from stithy.analysis.decision import Outcome, ThresholdJudgement, judge_question, judge_thresholds
from stithy.analysis.evidence import Window
from stithy.analysis.findings import MAIN, find_limits
from stithy.analysis.verdict import DIFFERENT
from stithy.point import Point
from stithy.report import validity
from stithy.report.blocks import (
    Block,
    Figure,
    Grid,
    Heading,
    SectionKind,
    set_bullets,
    set_drawn,
    set_open,
    set_paragraph,
)
from stithy.report.context import Context, list_sections
from stithy.report.findings import describe_all
from stithy.report.page import Page
from stithy.report.sections import bottlenecks, levels
from stithy.report.sections.answer import candidates, sensitivity
from stithy.report.sections.cost import describe_ratio
from stithy.report.sections.validity import machine, work
from stithy.report.tables import PageTable, Show, make_table
from stithy.report.words import loads
from stithy.report.words.loads import restore_method
from stithy.report.words.wording import (
    DASH,
    begin_sentence,
    format_apart,
    format_at_most,
    format_measured,
    format_moment,
    format_times_at_most,
)
from stithy.statements import Statement, Styled, join_parts
from stithy.study import database
from stithy.thresholds import Constant, Side
from stithy.units import format_duration, format_list
from stithy.validity import Flag

NAME = "answer"


@dataclass(frozen=True)
class Answer:
    """The sentences on top; `flaws` weaken the answer, `support` says why it may be trusted.

    `headline` is the first sentence of the answer, `detail` its others: values and intervals.
    `findings` are the others.
    """

    headline: str
    detail: str
    flaws: tuple[str, ...]
    findings: tuple[str, ...]
    support: tuple[str, ...]


def _make_tables(page: Page) -> Iterator[PageTable]:
    yield make_thresholds_table(judge_all(page.context))
    side_by_side = candidates.make_candidates_table(page.context)
    yield side_by_side
    yield candidates.make_devices_table(page.context, side_by_side)
    yield make_findings_table(page.context)


def _set_answer(page: Page) -> Iterator[Block]:
    manifest, said = page.context.manifest, answer(page.context)
    yield from set_paragraph(
        format_moment(manifest.started_at_s) if manifest else "Date not known", style="eyebrow"
    )
    yield Heading(page.question, 0)
    yield from set_paragraph(page.context.label, style="label")
    yield from set_paragraph(said.headline, style="answer")
    yield from set_paragraph(said.detail, style="detail")
    yield from set_bullets(said.flaws, "flaws", "What weakens the answer")
    yield from set_bullets(said.findings, "findings", "What else was found")
    yield from set_paragraph(*said.support, style="support")
    found = [each for each in page.find_drawn(NAME) if isinstance(each, Figure)]
    if found:
        # Who goes from heading to heading finds the figures of the answer one step below it.
        yield Heading("The comparisons", 1, screen=True)
    for each in found:
        yield set_drawn(each)
    yield from set_open(page.tables["thresholds"], "thresholds")
    note = candidates.note(page.context, page.tables["candidates"])
    if note is None:
        return
    yield Grid(page.tables["candidates"], "candidates")
    yield from set_open(page.tables["devices"], "candidates")
    yield from set_paragraph(note, style="note")


def list_cap_flaws(context: Context) -> Iterator[str]:
    """A sentence for each such cap at the level of the answer; none where that asks for times."""
    found = find_limits(context.evidence, context.limited)
    if found is None or context.evidence.primary.metric.known.source != "window":
        return
    alike: dict[str, list[str]] = {}
    for name, cause in found.of:
        if cause.is_cap:
            told = _explain_cap(cause, ahead=name == found.ahead, is_open=found.is_open)
            alike.setdefault(told, []).append(name)
    at = begin_sentence(found.point.at(context.level_unit))
    for told, names in alike.items():
        yield Statement(
            "{at}, the throughput of {names} was limited by {told}.",
            at=at, names=format_list(names), told=told,
        )  # fmt: skip


def _explain_cap(cause: Cause, *, ahead: bool, is_open: bool) -> str:
    asked = is_open and cause.limit == "demand"
    who = "the requested rate" if asked else RULES[cause.limit].words
    if cause.windows < cause.windows_all:
        who = Statement(
            "{who} in {limited} of {of_windows:+window}",
            who=who, limited=cause.windows, of_windows=cause.windows_all,
        )  # fmt: skip
    if ahead and cause.limit != "emulation":
        return Statement("{who}. The true difference may be larger than the measured one", who=who)
    if asked or cause.limit in _INSTRUMENTS or not cause.is_storage_result:
        advice = _ADVICE.get(cause.limit, "")
        return Statement(f"{{who}}. It is not a storage result{advice}", who=who)
    if cause.limit != "demand" or cause.storage_most is None or cause.storage_most >= 1:
        return Statement("{who}. The share of the storage in it is not known", who=who)
    share, most = cause.storage_most, 1 / (1 - cause.storage_most)
    return Statement(
        "{who}. Storage took at most {storage_most} of the users' time, so storage without any "
        "latency would give at most {times_most} times as much",
        who=who, storage_most=Styled(share, format_at_most(share)),
        times_most=Styled(most, format_times_at_most(most)),
    )  # fmt: skip


_INSTRUMENTS = ("driver", "emulation")
_ADVICE = {"demand": ". Compare response times, or use more users"}

MARKS = {Outcome.MET: "✓", Outcome.NOT_MET: "✗", Outcome.NOT_JUDGED: "?"}


def judge_all(context: Context) -> tuple[ThresholdJudgement, ...]:
    """The thresholds of a run, judged by its valid windows; none where the study has none."""
    manifest = context.manifest
    if manifest is None or not manifest.thresholds:
        return ()
    return judge_thresholds(manifest.thresholds, context.evidence)


def write_lines(judgements: Sequence[ThresholdJudgement]) -> tuple[str, ...]:
    """What a terminal shows: how many were met, then each with both values; nothing of none."""
    if not judgements:
        return ()
    met = sum(each.outcome is Outcome.MET for each in judgements)
    reported = (
        f"  {MARKS[judgement.outcome]} {judgement.threshold}: {judgement.outcome.value}: "
        f"{describe_judgement(judgement)}"
        for judgement in judgements
    )
    return (f"Thresholds: {met} of {len(judgements)} met", *reported)


def describe_judgement(judgement: ThresholdJudgement) -> str:
    """Both values, or why there are none: `7.20 ms and 5 ms`."""
    if judgement.because is not None:
        return judgement.because
    return " and ".join(format_sides(judgement))


def format_sides(judgement: ThresholdJudgement) -> tuple[str, str]:
    """Both values in their unit, with as many digits as tell them apart."""
    left, right, threshold = judgement.left, judgement.right, judgement.threshold
    if left is not None and right is not None and left != right:
        unit = threshold.unit
        if format_measured(left, unit) == format_measured(right, unit):
            return format_apart(left, right, unit)
    return _format_side(left, threshold.left), _format_side(right, threshold.right)


def _format_side(value: float | None, side: Side) -> str:
    if value is None:
        return DASH
    if isinstance(side, Constant) and side.unit == "s":
        return format_duration(value)
    return format_measured(value, side.unit)


def make_thresholds_table(judgements: Sequence[ThresholdJudgement]) -> PageTable:
    """All thresholds with the values of both sides; the files have all digits."""
    rows = [
        {
            "threshold": str(judgement.threshold), "outcome": judgement.outcome.value,
            "outcome_shown": f"{MARKS[judgement.outcome]} {judgement.outcome.value}",
            "left_shown": format_sides(judgement)[0], "right_shown": format_sides(judgement)[1],
            "left": judgement.left, "right": judgement.right, "unit": judgement.threshold.unit,
            "because": judgement.because,
        }
        for judgement in judgements
    ]  # fmt: skip
    shows = (
        Show("outcome_shown", "Outcome"), Show("threshold", "Threshold"),
        Show("left_shown", "Left side"), Show("right_shown", "Right side"),
        *([Show("because", "Reason")] if any(each.because for each in judgements) else []),
    )  # fmt: skip
    return make_table(
        "thresholds", "Thresholds of the study, with the measured values", shows, rows,
        **dict.fromkeys(("outcome", "unit", "because"), pl.String), left=pl.Float64,
        right=pl.Float64,
    )  # fmt: skip


DRIVES_OFF = (instruments.DRIVE_SLOWED, instruments.DRIVE_OFF)
"""What says that an emulated drive did not take the times of its profile."""


def describe_main_findings(context: Context) -> tuple[str, ...]:
    """The main findings of a run in words, most important first: at most three.

    Before them stands what must stand beside every number: the label of the run, where it has one,
    and which drives are emulated.
    """
    found = describe_all(context.findings[:MAIN], context.level_unit)
    notes = (context.label, loads.write_footer(context.manifest))
    return (*(f"{note}." for note in notes if note), *found)


def answer(context: Context) -> Answer:
    """The top of the page."""
    said = describe_all(context.findings[:MAIN], context.level_unit)
    headline, detail = _split_first(said[0])
    others = (*said[1:], *bottlenecks.describe_stalls(context), *describe_ratio(context))
    support = tuple(filter(None, _support(context)))
    return Answer(headline, detail, list_cautions(context), others, support)


def _split_first(text: str) -> tuple[str, str]:
    """The first sentence, and the others."""
    if isinstance(text, Statement):
        first, *others = text.values.values() if "0" in text.values else [text]
        return first, join_parts(others, " ")
    headline, dot, detail = text.partition(". ")
    return f"{headline}." if dot else headline, detail


def list_cautions(context: Context) -> tuple[str, ...]:
    """What weakens the answer, a sentence each: on top of the page, and the last lines of a run."""
    return tuple(filter(None, _list_flaws(context)))


def _support(context: Context) -> Iterator[str | None]:
    windows = context.evidence.windows
    off = any(_has(window, flag) for window in windows for flag in DRIVES_OFF)
    yield loads.describe_drives(context.manifest, context.evidence.floors, off=off)
    valid = sum(window.valid for window in windows)
    if windows and valid == len(windows):
        all_valid = Statement("All {windows} windows are valid.", windows=valid)
        yield "The only window is valid." if valid == 1 else all_valid
    held = context.run.conditions
    if not held.is_empty() and held["holds"].all():
        yield Statement("All {held:,} verified consistency conditions held.", held=len(held))
    yield work.describe_proven(context)
    room = machine.describe_headroom(context)
    if room is not None and not room.weakens:
        yield room.text
    yield validity.describe_resumed(context)
    yield from sensitivity.describe_corners(context, holds=True)
    restores = context.run.restores
    if not restores.is_empty() and restores["identical"].all():
        method = restore_method(context.manifest)
        proven = method.proof if method else "gave the database that was loaded"
        yield Statement("{restores:+restore} {proven}.", restores=len(restores), proven=proven)


def _list_flaws(context: Context) -> Iterator[str | None]:
    windows = context.evidence.windows
    yield from database.write_sentences(context.given_up)
    yield _explain_null(context)
    yield loads.describe_assumptions(context.manifest)
    yield from sensitivity.describe_corners(context, holds=False)
    yield from work.list_ledger_flaws(context)
    yield _explain_memory(context)
    if (reported := validity.describe_left_out(windows)) is not None:
        yield Statement(
            "{reported}. {invalid:It supports|They support} no claim (reasons: Validity).",
            reported=reported, invalid=sum(not window.valid for window in windows),
        )  # fmt: skip
    for section in list_sections(context.tables):
        yield from section.list_cautions(context)
    unsteady = sum(w.valid and w.steady is not None and w.steady.steady is False for w in windows)
    if unsteady:
        yield Statement(
            "{unsteady} of {windows:+window} did not reach steady state (details: How sure this "
            "is). {unsteady:It is|They are} included.",
            unsteady=unsteady, windows=len(windows),
        )  # fmt: skip
    disturbed = sum(_has(window, INTERFERENCE) for window in windows)
    if disturbed:
        yield Statement(
            "In {disturbed_windows} of {windows:+window} other programs or the hypervisor took "
            "CPU time or bandwidth (details: How sure this is).",
            disturbed_windows=disturbed, windows=len(windows),
        )  # fmt: skip
    yield from list_cap_flaws(context)
    yield from levels.list_flaws(context)
    yield _describe_versions(context)
    yield machine.describe_machine_flaw(context)
    yield from _describe_unfinished(context)
    yield from validity.list_resumed_flaws(context)
    broken = context.run.conditions.filter(~pl.col("holds"))
    if not broken.is_empty():
        yield Statement("{broken:+consistency condition} did not hold.", broken=len(broken))
    served = "load" in context.tables
    held = [w.row["memory_limit_enforced"] for w in windows if served and w.measured]
    unlimited = held.count(False)
    if unlimited:
        yield Statement(
            "In {unlimited:+window} the memory limit was not enforced. Caches may hide the "
            "storage.", unlimited=unlimited,
        )  # fmt: skip
    room = machine.describe_headroom(context)
    if room is not None and room.weakens:
        yield room.text


def _explain_memory(context: Context) -> Statement | None:
    """Say whose database a power cut takes whole, however its settings are."""
    manifest = context.manifest
    if manifest is None or manifest.given_database is None:
        return None
    names = [candidate.name for candidate in manifest.candidates if candidate.memory_backed]
    if not names:
        return None
    return Statement(
        "The database of {names} lies in memory: a power cut would lose all of it, whatever its "
        "settings are.", names=format_list(names),
    )  # fmt: skip


def _explain_null(context: Context) -> str | None:
    """What a difference between a candidate and its like is; None without one."""
    if (
        not context.is_null
        or judge_question(context.evidence).progress.verdict.call not in DIFFERENT
    ):
        return None
    return (
        "This is a null study of two identical candidates, so the difference is an error of the "
        "measurement. Do not trust any study on this machine until the cause is found."
    )


def _describe_versions(context: Context) -> str | None:
    manifest = context.manifest
    every = manifest.by_engine.values() if manifest else ()
    versions = (candidate.server_version for of in every for candidate in of.candidates)
    if manifest is None or all(version is None for version in versions):
        return None
    return (
        f"The servers have different versions: {loads.list_versions(manifest)}. "
        "Differences between "
        "candidates include those between versions."
    )


def _has(window: Window, flag: Flag) -> bool:
    return any(reason.flag is flag for reason in window.reasons)


def _describe_unfinished(context: Context) -> Iterator[str]:
    manifest = context.manifest
    if (reported := validity.describe_lost_files(context)) is not None:
        yield Statement("{reported} (details: Validity).", reported=reported)
    if manifest is None:
        yield "The manifest could not be read: configuration and environment are not known."
        return
    if absent := len(context.not_run):
        plan = manifest.plan
        # What was wanted only once something had been measured was not planned.
        what = "requested window" if plan.further else "planned window"
        was, verb = ("was", "is") if absent == 1 else ("were", "are")
        how = f"{was} not run"
        if context.is_finished:
            how = f"{verb} not in the results, although the run finished"
        yield Statement(f"{{absent}} of {{wanted:+{what}}} {{how}}.", absent=absent,
                        wanted=len(plan.windows) + len(plan.further), how=how)  # fmt: skip
    if manifest.end in ("interrupted", "failed"):
        because = f": {manifest.end_because}" if manifest.end_because else ""
        verb = "was" if manifest.end == "interrupted" else "has"
        yield f"The run {verb} {manifest.end}{because}."


def make_findings_table(context: Context) -> PageTable:
    """The numbers of all findings, so that those in the sentences can be found."""
    rows = [
        {"finding": number, "kind": finding.kind, "number": name, "value": value}
        for number, finding in enumerate(context.findings, start=1)
        for name, value in _list_numbers("", finding)
    ]
    shows = (
        Show("finding", "Finding", "count"), Show("kind", "Kind"), Show("number", "Number"),
        Show("value", "Value", "rate"),
    )  # fmt: skip
    return make_table("findings", "The numbers of the findings", shows, rows)


def _list_numbers(name: str, value: Any) -> Iterator[tuple[str, float]]:
    """All numbers within a finding, named by the way to them; a level by what it counts."""
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        yield name, float(value)
    elif isinstance(value, Point):
        for factor, each in value.factors:
            yield from _list_numbers(f"{name}.{factor}".lstrip("."), each)
    elif is_dataclass(value):
        for field in fields(value):
            key = get_level_factor().name if field.name == "level" else field.name
            yield from _list_numbers(f"{name}.{key}".lstrip("."), getattr(value, field.name))
    elif isinstance(value, tuple):
        for index, each in enumerate(value):
            named = isinstance(each, tuple) and each and isinstance(each[0], str)
            key = each[0] if named else str(index)
            yield from _list_numbers(f"{name}.{key}", each)


PLUGINS = (
    SectionKind(
        NAME, 0, "", _set_answer, "The answer",
        data=("thresholds", "candidates", "devices", "findings"),
        make_facts=lambda page: asdict(answer(page.context))
        | {"sensitivity": sensitivity.list_values(page.context)},
        make_tables=_make_tables,
    ),
)  # fmt: skip
