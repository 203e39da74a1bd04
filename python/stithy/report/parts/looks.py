"""What is said of the primary question: what it asks, and where it stands after some blocks."""

from collections import Counter
from collections.abc import Sequence

from stithy.analysis.answers.findings import findings
from stithy.analysis.answers.standing import Standing
from stithy.analysis.evidence import Window
from stithy.analysis.verdict.progress import Next
from stithy.metrics import parse_quantity
from stithy.report.context import Context
from stithy.report.parts.answer import sentences
from stithy.report.words.wording import exactly, plural
from stithy.results.manifest import QuestionFacts


def told(context: Context, stands: Standing) -> str:
    """Where the question stands, in a sentence or two; with a forecast while it is undecided."""
    if stands.compared is None:
        return f"No block answers the question yet{_why(context)}."
    said = sentences(findings(context.evidence, context.limited)[:1], context.level_unit)[0]
    return f"{said} {ahead}" if (ahead := _ahead(context, stands)) else said


def _why(context: Context) -> str:
    """What is most often wrong at the level of the question: with its windows, else its values."""
    asked = context.evidence.asked.users
    there = [window for window in context.evidence.windows if window.users == asked]
    invalid = [window for window in there if window.failures]
    flags = Counter(flag.value for each in invalid for flag in {*each.failures})
    if not flags:
        return _missing(context, there)
    flag, count = flags.most_common(1)[0]
    windows = plural(len(there), "window")
    verb = "is" if len(invalid) == 1 else "are"
    return f': {len(invalid)} of {windows} there {verb} invalid, {count} of them by "{flag}"'


def _missing(context: Context, windows: Sequence[Window]) -> str:
    """Why valid windows have no value of what is asked; nothing where they have."""
    evidence = context.evidence
    values = [evidence.value_of(each, evidence.asked.metric) for each in windows if each.valid]
    missing = (each.missing_because for each in values if each.missing_because is not None)
    return f": {because}" if (because := next(missing, None)) else ""


def _ahead(context: Context, stands: Standing) -> str:
    if stands.progress.step is not Next.ANOTHER_BLOCK or stands.blocks < 2:
        return ""
    if stands.blocks_needed is None:
        most = plural(context.evidence.asked.blocks_most, "block")
        return f"If blocks go on to vary as they do, {most} will not decide it."
    return f"If blocks go on to vary as they do, {stands.blocks_needed} may decide it."


def asked(context: Context) -> str | None:
    """The primary question, and how many blocks it took; None where nothing was compared."""
    facts = context.manifest.plan.question if context.manifest else None
    if facts is None:
        return None
    derived = " (derived, as the study names none)" if "metric" in facts.derived else ""
    return (
        f"The primary question{derived} is that of {parse_quantity(facts.metric).noun} at "
        f"{context.level(facts.users)}, {_pair(facts)}, beyond a margin of "
        f"{exactly(facts.margin_share)}. {_blocks(context, facts)}"
    )


def _pair(facts: QuestionFacts) -> str:
    if facts.candidates is None:
        return "of the two candidates farthest apart"
    return f"of {facts.candidates[1]} against {facts.candidates[0]}"


def _blocks(context: Context, facts: QuestionFacts) -> str:
    at_level = [window for window in context.evidence.windows if window.users == facts.users]
    blocks = len({window.block for window in at_level})
    measured = f"{plural(blocks, 'block')} {'was' if blocks == 1 else 'were'} measured"
    again = len({window.block for window in at_level if window.attempt})
    if again:
        measured += f", {again} of them once more"
    if facts.blocks_least == facts.blocks_most:
        return f"The study fixes the number of blocks there; {measured}."
    return (
        f"Blocks are measured there until it is decided, at least {facts.blocks_least} and at most "
        f"{facts.blocks_most}; {measured}."
    )
