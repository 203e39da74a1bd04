"""Which windows support no claim and why, what was lost, and how often the run was resumed."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from stithy.analysis.evidence import Window
from stithy.analysis.gathering import list_lost, list_measured_again
from stithy.point import Point
from stithy.registry import plugins
from stithy.report.context import Context
from stithy.report.tables import PageTable, Show, make_table
from stithy.report.words import loads
from stithy.report.words.loads import restore_method
from stithy.report.words.wording import begin_sentence, choose_form, format_moment, format_plural
from stithy.results.manifest import SessionFacts
from stithy.statements import Statement, join_parts, merge
from stithy.study.scenario import Scenario
from stithy.units import format_list
from stithy.validity import INVALID

NAMED = 4
"""So many blocks are named; more are counted."""

UNEVEN_COUNT = 2
"""Own: a single window may be lost by chance."""
UNEVEN = (
    "If one candidate loses more windows than another, its remaining windows may not be typical."
)


def describe_lost(context: Context) -> str | None:
    """How many windows of each candidate were invalid and why; None where all are valid."""
    found = list_lost(context.evidence)
    if not any(each.invalid for each in found):
        return None
    template = "{lost} of {windows_of:+window} of {candidate} {windows_of:was|were} invalid{cause}"
    said = []
    for each in found:
        causes = [
            Statement("{lost_so} with “{flag}”", lost_so=count, flag=flag.value)
            for flag, count in each.flags
        ]
        cause = Statement(" ({causes})", causes=join_parts(causes)) if causes else ""
        said.append(Statement(
            template, lost=each.invalid, windows_of=each.windows, candidate=each.candidate,
            cause=cause,
        ))  # fmt: skip
        template = "{lost} of {windows_of} of {candidate}{cause}"
    parts = [Statement("{lost}.", lost=join_parts(said)), describe_again(context)]
    counts = [each.invalid for each in found]
    if max(counts) - min(counts) >= UNEVEN_COUNT:
        parts.append(UNEVEN)
    return join_parts([part for part in parts if part], " ")


def describe_again(context: Context) -> str:
    """Which blocks were measured once more, and whether that helped; empty where none was."""
    found = list_measured_again(context.evidence)
    if not found:
        return ""
    names = [f"block {each.block} {context.at(each.point)}" for each in found]
    which = format_list(names) if len(names) <= NAMED else format_plural(len(names), "block")
    verb = choose_form(len(found), "was", "were")
    failed = sum(not each.valid for each in found)
    who = "It" if len(found) == 1 else f"{failed} of them"
    ended = f" {who} had an invalid window again." if failed else ""
    reported = (
        f"{which} {verb} therefore measured a second time, and only the second attempt counts."
    )
    return f"{begin_sentence(reported)}{ended}"


def describe_lost_files(context: Context) -> str | None:
    """How many files of the results cannot be used, and windows with them; None where all can.

    Latency logs are counted with the rest of what is missing: without one of them the median window
    answers, as the method says.
    """
    damaged = sum(problem.path.suffix != ".hlog" for problem in context.run.problems)
    if not damaged:
        return None
    unread = len(context.run.unread)
    also = ", and {unread:+window} with {damaged:it|them}" if unread else ""
    return Statement(
        "{damaged:+file} of the results {damaged:is|are} missing or damaged" + also,
        damaged=damaged, unread=unread,
    )  # fmt: skip


def describe_left_out(windows: Sequence[Window]) -> str | None:
    """`3 of 8 windows are invalid`, and what was dropped with them; None where all are valid."""
    invalid = sum(bool(window.failures) for window in windows)
    dropped = sum(not window.valid for window in windows) - invalid
    if not invalid:
        return None
    also = (
        ", and {dropped} more {dropped:belongs|belong} to "
        "{failed:its block, which was|their blocks, which were} measured a second time"
    )
    return Statement(
        "{failed} of {windows:+window} {failed:is|are} invalid" + (also if dropped else ""),
        failed=invalid, windows=len(windows), dropped=dropped,
    )  # fmt: skip


ENDS = {
    "killed": "it had been killed",
    "interrupted": "it had been interrupted",
    "failed": "it had failed",
    "finished": "it had finished without recording it",
    "running": "it had ended without a record",
}
COMPARABLE = "The windows are comparable: plan and seed are the same"
RESTORED = "the database was {database}, and each window starts from a fresh restore"
PREPARED_AGAIN = "and what the windows use was prepared again"
LOADED_AGAIN = "loaded again from the same seed"


def describe_resumed(context: Context) -> str | None:
    """When the run was resumed and why its windows are comparable; None where it was not."""
    sessions = _list_sessions(context)
    if len(sessions) < 2:
        return None
    breaks = []
    for before, after in zip(sessions, sessions[1:], strict=False):
        again = " and the machine started again" if before.boot_id != after.boot_id else ""
        at = format_moment(after.started_at_s)
        breaks.append(f"at {at}, after {ENDS[before.end]}{again}")
    counts = [0] * len(sessions)
    for window in context.evidence.windows:
        counts[_find_session(window.row["started_at_s"], sessions)] += 1
    shares = [f"{count} in session {number}" for number, count in enumerate(counts, start=1)]
    text = f"The run was resumed {format_list(breaks)}; windows measured: {format_list(shares)}."
    if _describe_changes(context):
        return text
    later = [each for each, count in zip(sessions[1:], counts[1:], strict=True) if count]
    kept = bool(later) and all(session.master_kept for session in later)
    if not context.restored:
        return f"{text} {COMPARABLE}, {PREPARED_AGAIN}."
    method = restore_method(context.manifest)
    database = method.resumed_state if kept and method else LOADED_AGAIN
    return f"{text} {COMPARABLE}, {RESTORED.format(database=database)}."


def list_resumed_flaws(context: Context) -> Iterator[str]:
    """What the break weakens: a machine that changed, blocks in two parts, checks left out."""
    sessions = _list_sessions(context)
    if len(sessions) < 2:
        return
    if changed := _describe_changes(context):
        yield (
            f"The run was resumed although this had changed: {'; '.join(changed)}. Windows from "
            "before and after may not be comparable."
        )
    if parted := _describe_parted(context, sessions):
        verb, blocks = choose_form(len(parted), "was", "were"), format_list(parted)
        yield (
            f"{begin_sentence(blocks)} {verb} measured partly before the run was resumed, "
            "and partly after. A machine that changed meanwhile would look like a difference."
        )
    if unchecked := _list_unchecked(context):
        yield (
            "The final check of all consistency conditions is missing for "
            f"{format_list(unchecked)}: the interrupted session left no database."
        )


def _list_sessions(context: Context) -> tuple[SessionFacts, ...]:
    return context.manifest.sessions if context.manifest else ()


def _find_session(started_at_s: float | None, sessions: tuple[SessionFacts, ...]) -> int:
    """The session in which a window was measured; the last where its start is not known."""
    if started_at_s is None:
        return len(sessions) - 1
    return max(sum(session.started_at_s <= started_at_s for session in sessions) - 1, 0)


def _describe_changes(context: Context) -> list[str]:
    return list(
        dict.fromkeys(text for session in _list_sessions(context) for text in session.changed)
    )


def _describe_parted(context: Context, sessions: tuple[SessionFacts, ...]) -> list[str]:
    found: dict[tuple[Point, int, int], set[int]] = {}
    for window in context.evidence.windows:
        block = found.setdefault((window.point, window.block, window.attempt), set())
        block.add(_find_session(window.row["started_at_s"], sessions))
    return [
        f"block {block} {context.at(point)}"
        for (point, block, _), within in sorted(found.items())
        if len(within) > 1
    ]


def _list_unchecked(context: Context) -> list[str]:
    """Candidates without a final check, where the scenario has them and the run came to its end."""
    manifest = context.manifest
    if manifest is None or manifest.end != "finished":
        return []
    scenario = plugins(Scenario).get(manifest.scenario.partition(" ")[0])
    workload = loads.find_workload(manifest.given_workload)
    has_none = workload is not None and workload.conditions is None
    if scenario is None or not scenario.checks_at_end or has_none:
        return []
    ends = context.run.conditions.filter(pl.col("moment") == "end")
    checked = ends["candidate"].to_list()
    return [name for name in context.evidence.candidates if name not in checked]


GATHERED = "Why windows are invalid, and notes on windows"

ONE_BY_ONE, CANDIDATES = 2, 3
"""Own: rows of one kind, and candidates with such rows, that are read as they are; more are one."""

REASONS_NAMED = 4
"""So many windows are named; more are counted."""

_SHOWS = (
    Show("weight", "Effect"), Show("sentence", "Observation"), Show("advice", "Advice"),
    Show("windows", "Windows"),
)  # fmt: skip


@dataclass(frozen=True)
class _Seen:
    """One sentence, and the windows of which it was said."""

    is_note: bool
    sentence: Statement
    advice: str
    ids: tuple[str, ...]


def make_reasons_table(context: Context) -> PageTable:
    """Each as it was seen; equal sentences share a row."""
    owner = {window.id: window.candidate for window in context.evidence.windows}
    rows = [
        _make_row(sentence, _name_windows(sentence.ids, owner))
        for sentence in _list_sentences(context)
    ]
    return _make_table("reasons", "All reasons and notes, one by one", rows)


def make_gathered_table(context: Context) -> PageTable:
    """The same, with many of one kind in one row; the invalid first."""
    owner = {window.id: window.candidate for window in context.evidence.windows}
    alike: dict[object, list[_Seen]] = {}
    for sentence in _list_sentences(context):
        kind = sentence.is_note, sentence.advice, sentence.sentence.drop_quantities()
        alike.setdefault(kind, []).append(sentence)
    rows = [
        _make_row(each, _name_windows(each.ids, owner))
        for group in alike.values()
        for each in _gather_group(group, owner)
    ]
    rows.sort(key=lambda row: row["weight"] == "note")
    return _make_table("reasons-gathered", GATHERED, rows)


def _gather_group(group: Sequence[_Seen], owner: Mapping[str, str]) -> Iterator[_Seen]:
    """Those of one candidate in one row; those of several, where that still leaves many."""
    parts: dict[frozenset[str], list[_Seen]] = {}
    for each in group:
        parts.setdefault(frozenset(owner[window] for window in each.ids), []).append(each)
    if len(parts) > CANDIDATES:
        yield _join_group(group)
        return
    for candidates, part in parts.items():
        if len(part) > ONE_BY_ONE and len(candidates) == 1:
            yield _join_group(part)
        else:
            yield from part


def _list_sentences(context: Context) -> list[_Seen]:
    """Every sentence once, those that invalidate first."""
    found: dict[tuple[bool, Statement, str], list[str]] = {}
    for window in context.evidence.windows:
        for reason in window.reasons:
            key = (not reason.invalidates, reason.sentence, reason.advice)
            found.setdefault(key, []).append(window.id)
    ordered = sorted(found.items(), key=lambda item: item[0][0])
    return [_Seen(*key, tuple(ids)) for key, ids in ordered]


def _join_group(group: Sequence[_Seen]) -> _Seen:
    ids = tuple(dict.fromkeys(window for each in group for window in each.ids))
    return _Seen(group[0].is_note, merge([each.sentence for each in group]), group[0].advice, ids)


def make_reason_values_table(context: Context) -> PageTable:
    """The numbers of the sentences, window by window; for programs."""
    rows = [
        {"window_id": window.id, "flag": reason.flag.value, "number": name, "value": value}
        for window in context.evidence.windows
        for reason in window.reasons
        for name, value in reason.sentence.list_numbers()
    ]
    shows = (
        Show("window_id", "Window", "id"), Show("flag", "Flag"), Show("number", "Number"),
        Show("value", "Value", "rate"),
    )  # fmt: skip
    return make_table("reason-values", "The numbers of reasons and notes", shows, rows,
                      value=pl.Float64)  # fmt: skip


def _make_row(each: _Seen, windows: str) -> dict[str, object]:
    return {
        "weight": "note" if each.is_note else INVALID, "sentence": str(each.sentence),
        "advice": each.advice, "windows": windows, "count": len(each.ids),
        "window_ids": ", ".join(each.ids),
    }  # fmt: skip


def _name_windows(ids: Sequence[str], owner: Mapping[str, str]) -> str:
    of_all, of = Counter(owner.values()), Counter(owner[window] for window in ids)
    whole = all(number == of_all[name] for name, number in of.items())
    if len(ids) == len(owner) > 1:
        return f"all {len(ids)}"
    if len(ids) <= REASONS_NAMED and not (whole and len(of) < len(ids)):
        return "\n".join(ids)
    return "\n".join(
        f"all {number} of {name}"
        if number == of_all[name]
        else f"{number} of {of_all[name]} of {name}"
        for name, number in of.items()
    )


def _make_table(name: str, caption: str, rows: Sequence[dict[str, object]]) -> PageTable:
    return make_table(name, caption, _SHOWS, rows, count=pl.Int64, window_ids=pl.String)
