"""What titles say of the comparison that answers the question, and why there may be none."""

from stithy.analysis.answers.comparisons import Compared
from stithy.analysis.evidence import Evidence
from stithy.analysis.verdict.decide import Call
from stithy.report.context import Context
from stithy.report.words.wording import exactly


def claimed(compared: Compared) -> str:
    """The verdict in few words, never beyond it: `nvme is better than sata`."""
    a, b = compared.a, compared.b
    margin = exactly(compared.verdict.margin_share)
    told = {
        Call.BETTER: f"{b} is better than {a}",
        Call.WORSE: f"{a} is better than {b}",
        Call.HIGHER: f"{b} has more than {a}",
        Call.LOWER: f"{a} has more than {b}",
        Call.EQUIVALENT: f"{a} and {b} are equivalent within {margin}",
        Call.NEGLIGIBLE: f"{a} and {b} differ by less than {margin}",
    }
    return told.get(compared.verdict.call, f"undecided between {a} and {b}")


def why_none(context: Context) -> str:
    """Why no comparison answers the question, where none does."""
    if len(context.evidence.candidates) < 2:
        return "there is no second candidate"
    if context.evidence.asked.by_search:
        return "a search has no intervals"
    return _uncompared(context.evidence)


def _uncompared(evidence: Evidence) -> str:
    """What is in the way: windows that are not valid, or valid ones without values to compare."""
    first, *others = evidence.candidates
    blocks = [
        {(window.block, window.attempt) for window in evidence.valid_at(first, users)}
        & {(window.block, window.attempt) for window in evidence.valid_at(name, users)}
        for users in evidence.levels
        for name in others
    ]
    if not any(blocks):
        return "no block has valid windows of two candidates"
    return "no values of two candidates can be compared; the answer says why"
