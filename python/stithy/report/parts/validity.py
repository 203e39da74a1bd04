"""Which windows support no claim and why, what was lost, and how often the run was resumed."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from stithy.analysis.answers.windows import Lost, lost, measured_again
from stithy.analysis.evidence import Window
from stithy.point import Point
from stithy.report.context import Context
from stithy.report.parts.compared import moment
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import listing, plural
from stithy.results.manifest import SessionFacts

GATHERED = "Why windows are invalid, and notes on windows"

ONE_BY_ONE = 2
"""Own: rows of one kind that are read as they are; more are gathered."""

_SHOWS = (
    Show("weight", "Effect"), Show("sentence", "Observation"), Show("advice", "Advice"),
    Show("windows", "Windows"),
)  # fmt: skip
_SCHEMA = {
    "weight": pl.String, "sentence": pl.String, "advice": pl.String, "windows": pl.String,
    "count": pl.Int64, "window_ids": pl.String,
}  # fmt: skip

_QUANTITY = re.compile(
    r"(?<![\w.,])(?<!min )(?<!h )(\d[\d,]*(?:\.\d+)?) (µs|ms|s|%|B|KiB|MiB|GiB|TiB)(?!\w)"
)
_SIZES = {
    "µs": 1e-6, "ms": 1e-3, "s": 1.0, "%": 0.01,
    "B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40,
}  # fmt: skip


@dataclass(frozen=True)
class _Seen:
    """One sentence, and the windows of which it was said."""

    is_note: bool
    sentence: str
    advice: str
    ids: tuple[str, ...]


def reasons_table(context: Context) -> PageTable:
    """Each as it was seen; equal sentences share a row."""
    windows = len(context.evidence.windows)
    rows = [_row(each, _named(each.ids, windows)) for each in _seen(context)]
    return _table("reasons", "All reasons and notes, one by one", rows)


def gathered_table(context: Context) -> PageTable:
    """The same, with many of one kind and one candidate in one row; the invalid first."""
    windows = context.evidence.windows
    owner = {window.id: window.candidate for window in windows}
    all_of = {name: [w for w in owner if owner[w] == name] for name in context.evidence.candidates}
    alike: dict[object, list[_Seen]] = {}
    for each in _seen(context):
        alike.setdefault(_kind(each, owner), []).append(each)
    rows: list[Mapping[str, object]] = []
    for group in alike.values():
        if len(group) <= ONE_BY_ONE:
            rows += [_row(each, _named(each.ids, len(windows))) for each in group]
            continue
        ids = tuple(window for each in group for window in each.ids)
        joined = _Seen(group[0].is_note, _joined(group), group[0].advice, ids)
        rows.append(_row(joined, _all_named(ids, owner[ids[0]], all_of)))
    rows.sort(key=lambda row: row["weight"] == "note")
    return _table("reasons-gathered", GATHERED, rows)


def _seen(context: Context) -> list[_Seen]:
    """Every sentence once, those that invalidate first."""
    found: dict[tuple[bool, str, str], list[str]] = {}
    for window in context.evidence.windows:
        for reason in window.reasons:
            key = (not reason.invalidates, reason.sentence, reason.advice)
            found.setdefault(key, []).append(window.id)
    ordered = sorted(found.items(), key=lambda item: item[0][0])
    return [_Seen(*key, tuple(ids)) for key, ids in ordered]


def _kind(each: _Seen, owner: Mapping[str, str]) -> object:
    """What sentences have in common that may be one row; of several candidates each is its own."""
    names = {owner[window] for window in each.ids}
    if len(names) > 1:
        return each
    return each.is_note, each.advice, _QUANTITY.sub("…", each.sentence), *names


def _joined(group: Sequence[_Seen]) -> str:
    """The sentence of them all, each number with the lowest and the highest that it had."""
    columns = zip(*(_QUANTITY.findall(each.sentence) for each in group), strict=True)
    reported = iter([_range(column) for column in columns])
    return _QUANTITY.sub(lambda _: next(reported), group[0].sentence)


def _range(quantities: Sequence[tuple[str, str]]) -> str:
    """`310 to 389 µs`, `950 µs to 1.2 ms`; `20 %` where all are that."""
    ordered = sorted(set(quantities), key=_size)
    (low, low_unit), (high, high_unit) = ordered[0], ordered[-1]
    if len(ordered) == 1:
        return f"{low} {low_unit}"
    return f"{low}{'' if low_unit == high_unit else f' {low_unit}'} to {high} {high_unit}"


def _size(quantity: tuple[str, str]) -> tuple[float, float]:
    """Their order; of equal ones, as 1000 ms and 1 s, that of the larger unit comes last."""
    number, unit = quantity
    return float(number.replace(",", "")) * _SIZES[unit], _SIZES[unit]


def _row(each: _Seen, windows: str) -> dict[str, object]:
    return {
        "weight": "note" if each.is_note else "invalid", "sentence": each.sentence,
        "advice": each.advice, "windows": windows, "count": len(each.ids),
        "window_ids": ", ".join(each.ids),
    }  # fmt: skip


def _all_named(ids: Sequence[str], name: str, all_of: Mapping[str, Sequence[str]]) -> str:
    """The windows of one candidate in few words."""
    return f"all {len(ids)} of {name}" if len(ids) == len(all_of[name]) else _named(ids, 0)


def _named(ids: Sequence[str], windows: int) -> str:
    """The windows in few words: a handful by name, many by number."""
    if len(ids) == windows and windows > 1:
        return f"all {windows}"
    shown = "\n".join(ids[:4])
    return shown if len(ids) <= 4 else f"{shown}\nand {len(ids) - 4} more"


def _table(name: str, caption: str, rows: Sequence[Mapping[str, object]]) -> PageTable:
    return PageTable(name, caption, _SHOWS, pl.DataFrame(rows, schema=_SCHEMA))


NAMED = 4
"""So many blocks are named; more are counted."""

UNEVEN_COUNT = 2
"""Own: a single window may be lost by chance."""
UNEVEN = (
    "If one candidate loses more windows than another, its remaining windows may not be typical."
)


def lost_pattern(context: Context) -> str | None:
    """How many windows of each candidate were invalid and why; None where all are valid."""
    found = lost(context.evidence)
    if not any(each.invalid for each in found):
        return None
    first, *others = found
    of = "window" if first.windows == 1 else "windows"
    verb = "was" if first.windows == 1 else "were"
    head = (
        f"{first.invalid} of {first.windows} {of} of {first.candidate} {verb} invalid{_by(first)}"
    )
    rest = [f"{each.invalid} of {each.windows} of {each.candidate}{_by(each)}" for each in others]
    parts = [f"{', '.join([head, *rest])}.", again(context)]
    counts = [each.invalid for each in found]
    if max(counts) - min(counts) >= UNEVEN_COUNT:
        parts.append(UNEVEN)
    return " ".join(part for part in parts if part)


def _by(each: Lost) -> str:
    reported = ", ".join(f"{count} with “{flag.value}”" for flag, count in each.flags)
    return f" ({reported})" if reported else ""


def again(context: Context) -> str:
    """Which blocks were measured once more, and whether that helped; empty where none was."""
    found = measured_again(context.evidence)
    if not found:
        return ""
    names = [f"block {each.block} {context.at(each.point)}" for each in found]
    which = listing(names) if len(names) <= NAMED else plural(len(names), "block")
    verb = "was" if len(found) == 1 else "were"
    failed = sum(not each.valid for each in found)
    who = "It" if len(found) == 1 else f"{failed} of them"
    ended = f" {who} had an invalid window again." if failed else ""
    reported = (
        f"{which} {verb} therefore measured a second time, and only the second attempt counts."
    )
    return f"{reported[0].upper()}{reported[1:]}{ended}"


def lost_files(context: Context) -> str | None:
    """How many files of the results cannot be used, and windows with them; None where all can.

    Latency logs are counted with the rest of what is missing: without one of them the median window
    answers, as the method says.
    """
    damaged = sum(problem.path.suffix != ".hlog" for problem in context.run.problems)
    if not damaged:
        return None
    verb = "is" if damaged == 1 else "are"
    reported = f"{plural(damaged, 'file')} of the results {verb} missing or damaged"
    unread = len(context.run.unread)
    it = "it" if damaged == 1 else "them"
    return f"{reported}, and {plural(unread, 'window')} with {it}" if unread else reported


def left_out(windows: Sequence[Window]) -> str | None:
    """`3 of 8 windows are invalid`, and what was dropped with them; None where all are valid."""
    invalid = sum(bool(window.failures) for window in windows)
    dropped = sum(not window.valid for window in windows) - invalid
    if not invalid:
        return None
    reported = (
        f"{invalid} of {plural(len(windows), 'window')} {'is' if invalid == 1 else 'are'} invalid"
    )
    if not dropped:
        return reported
    verb = "belongs" if dropped == 1 else "belong"
    whose = "its block, which was" if invalid == 1 else "their blocks, which were"
    return f"{reported}, and {dropped} more {verb} to {whose} measured a second time"


ENDS = {
    "killed": "it had been killed",
    "interrupted": "it had been interrupted",
    "failed": "it had failed",
    "finished": "it had finished without recording it",
    "running": "it had ended without a record",
}
COMPARABLE = (
    "The windows are comparable: plan and seed are the same, the database was {database}, and each "
    "window starts from a fresh restore."
)
LOADED_AGAIN = "loaded again from the same seed"
KEPT = "that of the session before, identical byte by byte"


def resumed_sentence(context: Context) -> str | None:
    """When the run was resumed and why its windows are comparable; None where it was not."""
    sessions = _sessions(context)
    if len(sessions) < 2:
        return None
    pairs = zip(sessions, sessions[1:], strict=False)
    reported = f"The run was resumed {listing([_at(before, after) for before, after in pairs])}"
    counts = [0] * len(sessions)
    for window in context.evidence.windows:
        counts[_session_of(window.row["started_at_s"], sessions)] += 1
    shares = [f"{count} in session {number}" for number, count in enumerate(counts, start=1)]
    text = f"{reported}; windows measured: {listing(shares)}."
    if _changed(context):
        return text
    later = [each for each, count in zip(sessions[1:], counts[1:], strict=True) if count]
    kept = bool(later) and all(session.master_kept for session in later)
    return f"{text} {COMPARABLE.format(database=KEPT if kept else LOADED_AGAIN)}"


def resumed_flaws(context: Context) -> Iterator[str]:
    """What the break weakens: a machine that changed, blocks in two parts, checks left out."""
    sessions = _sessions(context)
    if len(sessions) < 2:
        return
    if changed := _changed(context):
        yield (
            f"The run was resumed although this had changed: {'; '.join(changed)}. Windows from "
            "before and after may not be comparable."
        )
    if parted := _parted(context, sessions):
        verb, blocks = "was" if len(parted) == 1 else "were", listing(parted)
        yield (
            f"{blocks[0].upper()}{blocks[1:]} {verb} measured partly before the run was resumed, "
            "and partly after. A machine that changed meanwhile would look like a difference."
        )
    if unchecked := _unchecked(context):
        yield (
            f"The final check of all consistency conditions is missing for {listing(unchecked)}: "
            "the interrupted session left no database."
        )


def _sessions(context: Context) -> tuple[SessionFacts, ...]:
    return context.manifest.sessions if context.manifest else ()


def _at(before: SessionFacts, after: SessionFacts) -> str:
    """`at 2026-11-21 10:00:00 UTC, after it had been killed and the machine started again`."""
    again = " and the machine started again" if before.boot_id != after.boot_id else ""
    return f"at {moment(after.started_at_s)}, after {ENDS[before.end]}{again}"


def _session_of(started_at_s: float | None, sessions: tuple[SessionFacts, ...]) -> int:
    """The session in which a window was measured; the last where its start is not known."""
    if started_at_s is None:
        return len(sessions) - 1
    return max(sum(each.started_at_s <= started_at_s for each in sessions) - 1, 0)


def _changed(context: Context) -> list[str]:
    return list(dict.fromkeys(text for each in _sessions(context) for text in each.changed))


def _parted(context: Context, sessions: tuple[SessionFacts, ...]) -> list[str]:
    """The blocks whose windows belong to more than one session, in words."""
    found: dict[tuple[Point, int, int], set[int]] = {}
    for window in context.evidence.windows:
        block = found.setdefault((window.point, window.block, window.attempt), set())
        block.add(_session_of(window.row["started_at_s"], sessions))
    return [
        f"block {block} {context.at(point)}"
        for (point, block, _), within in sorted(found.items())
        if len(within) > 1
    ]


def _unchecked(context: Context) -> list[str]:
    """Candidates with windows and without a final check, where the run came to its end."""
    if context.manifest is None or context.manifest.end != "finished":
        return []
    ends = context.run.conditions.filter(pl.col("moment") == "end")
    checked = ends["candidate"].to_list()
    return [name for name in context.evidence.candidates if name not in checked]
