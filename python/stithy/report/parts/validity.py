"""Which windows support no claim and why, what was lost, and how often the run was resumed."""

from collections.abc import Iterator, Sequence

import polars as pl

from stithy.analysis.evidence import Window
from stithy.analysis.windows import Lost, lost, measured_again
from stithy.point import Point
from stithy.registry import plugins
from stithy.report.context import Context
from stithy.report.parts.compared import moment
from stithy.report.words.restores import restore_method
from stithy.report.words.wording import listing, plural
from stithy.results.manifest import SessionFacts
from stithy.study.scenario import Scenario

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
COMPARABLE = "The windows are comparable: plan and seed are the same"
RESTORED = "the database was {database}, and each window starts from a fresh restore"
PREPARED_AGAIN = "and what the windows use was prepared again"
LOADED_AGAIN = "loaded again from the same seed"


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
    if not context.restored:
        return f"{text} {COMPARABLE}, {PREPARED_AGAIN}."
    method = restore_method(context.manifest)
    database = method.resumed_state if kept and method else LOADED_AGAIN
    return f"{text} {COMPARABLE}, {RESTORED.format(database=database)}."


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
    """Candidates without a final check, where the scenario has them and the run came to its end."""
    manifest = context.manifest
    if manifest is None or manifest.end != "finished":
        return []
    scenario = plugins(Scenario).get(manifest.scenario.partition(" ")[0])
    if scenario is None or not scenario.checks_at_end:
        return []
    ends = context.run.conditions.filter(pl.col("moment") == "end")
    checked = ends["candidate"].to_list()
    return [name for name in context.evidence.candidates if name not in checked]
