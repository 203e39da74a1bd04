"""What a report says of a run that was resumed: when, after what, and what that means for it."""

from collections.abc import Iterator

import polars as pl

from stithy.report.context import Context
from stithy.report.parts.facts import moment
from stithy.report.words.wording import listing, plural
from stithy.results.manifest import SessionFacts

ENDS = {
    "killed": "it had been killed",
    "interrupted": "it had been interrupted",
    "failed": "it had failed",
    "finished": "it had finished without writing that down",
    "running": "it had ended unnoticed",
}
COMPARABLE = (
    "The windows are comparable: the plan and its seed are the same, the database was {database}, "
    "and each window starts from a fresh restore."
)
LOADED_AGAIN = "loaded again from that seed"
KEPT = "that of the session before, proven to be the same to the byte"


def sentence(context: Context) -> str | None:
    """When the run was resumed and why its windows are comparable; None where it was not."""
    sessions = _sessions(context)
    if len(sessions) < 2:
        return None
    pairs = zip(sessions, sessions[1:], strict=False)
    told = f"The run was resumed {listing([_at(before, after) for before, after in pairs])}"
    counts = [0] * len(sessions)
    for window in context.evidence.windows:
        counts[_session_of(window.row["started_at_s"], sessions)] += 1
    shares = [f"{count} in session {number}" for number, count in enumerate(counts, start=1)]
    text = f"{told}; windows measured: {listing(shares)}."
    if _changed(context):
        return text
    later = [each for each, count in zip(sessions[1:], counts[1:], strict=True) if count]
    kept = bool(later) and all(session.master_kept for session in later)
    return f"{text} {COMPARABLE.format(database=KEPT if kept else LOADED_AGAIN)}"


def flaws(context: Context) -> Iterator[str]:
    """What the break weakens: a machine that changed, blocks in two parts, checks left out."""
    sessions = _sessions(context)
    if len(sessions) < 2:
        return
    if changed := _changed(context):
        yield (
            f"The run was resumed although this had changed: {'; '.join(changed)}. Windows before "
            "and after may not be comparable."
        )
    if parted := _parted(context, sessions):
        verb, blocks = "was" if len(parted) == 1 else "were", listing(parted)
        yield (
            f"{blocks[0].upper()}{blocks[1:]} {verb} measured in part before the run was resumed "
            "and in part after: a machine that changed meanwhile would show as a difference there."
        )
    if unchecked := _unchecked(context):
        yield (
            f"The final check of all consistency conditions is missing for {listing(unchecked)}: "
            "the database was gone with the session that was cut off."
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
    found: dict[tuple[int, int, int], set[int]] = {}
    for window in context.evidence.windows:
        block = found.setdefault((window.users, window.block, window.attempt), set())
        block.add(_session_of(window.row["started_at_s"], sessions))
    return [
        f"block {block} at {plural(users, context.level_unit)}"
        for (users, block, _), within in sorted(found.items())
        if len(within) > 1
    ]


def _unchecked(context: Context) -> list[str]:
    """Candidates with windows and without a final check, where the run came to its end."""
    if context.manifest is None or context.manifest.end != "finished":
        return []
    ends = context.run.conditions.filter(pl.col("moment") == "end")
    checked = ends["candidate"].to_list()
    return [name for name in context.evidence.candidates if name not in checked]
