"""What is said of windows that were lost: whose they were, and which blocks were measured again."""

from collections.abc import Sequence

from stithy.analysis.answers.lost import Lost, lost, measured_again
from stithy.analysis.evidence import Window
from stithy.report.context import Context
from stithy.report.words.wording import listing, plural

NAMED = 4
"""So many blocks are named; more are counted."""

UNEVEN_COUNT = 2
"""Own: a single window may be lost by chance."""
UNEVEN = (
    "Where one candidate loses more windows than another, what is left of it may not be typical."
)


def pattern(context: Context) -> str | None:
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
    told = ", ".join(f"{count} by “{flag.value}”" for flag, count in each.flags)
    return f" ({told})" if told else ""


def again(context: Context) -> str:
    """Which blocks were measured once more, and whether that helped; empty where none was."""
    found = measured_again(context.evidence)
    if not found:
        return ""
    names = [f"block {each.block} at {context.level(each.users)}" for each in found]
    which = listing(names) if len(names) <= NAMED else plural(len(names), "block")
    verb = "was" if len(found) == 1 else "were"
    failed = sum(not each.valid for each in found)
    who = "it" if len(found) == 1 else f"{failed} of these"
    ended = f"; {who} had an invalid window then, too" if failed else ""
    told = f"{which} {verb} measured once more for it, and only that counts{ended}."
    return f"{told[0].upper()}{told[1:]}"


def files(context: Context) -> str | None:
    """How many files of the results cannot be used, and windows with them; None where all can.

    Latency logs are told with the rest of what is missing: without one of them the median window
    answers, as the method says.
    """
    damaged = sum(problem.path.suffix != ".hlog" for problem in context.run.problems)
    if not damaged:
        return None
    verb = "is" if damaged == 1 else "are"
    told = f"{plural(damaged, 'file')} of the results {verb} missing or damaged"
    unread = len(context.run.unread)
    it = "it" if damaged == 1 else "them"
    return f"{told}, and with {it} {plural(unread, 'window')}" if unread else told


def left_out(windows: Sequence[Window]) -> str | None:
    """`3 of 8 windows are invalid`, and what was dropped with them; None where all are valid."""
    invalid = sum(bool(window.failures) for window in windows)
    dropped = sum(not window.valid for window in windows) - invalid
    if not invalid:
        return None
    told = (
        f"{invalid} of {plural(len(windows), 'window')} {'is' if invalid == 1 else 'are'} invalid"
    )
    if not dropped:
        return told
    verb = "belongs" if dropped == 1 else "belong"
    whose = "its block, which was" if invalid == 1 else "their blocks, which were"
    return f"{told}, {dropped} more {verb} to {whose} measured again"
