"""How throughput grew with the users."""

from stithy.analysis.answers.findings import Growth
from stithy.report.words.wording import listing, plural, times

NAME = "growth"


DETAILED = 4
"""Own: of more candidates a sentence tells the least and the most; the table has all."""


def say(finding: Growth, unit: str) -> str:
    """The growth of every candidate, or of many the least and the most, in one sentence."""
    known = [(name, factor) for name, factor in finding.factors if factor is not None]
    if len(known) > DETAILED:
        ordered = sorted(known, key=lambda each: each[1])
        told = listing([f"{name} {_factor(factor)}" for name, factor in (ordered[0], ordered[-1])])
        told += f", those of the other {len(known) - 2} lie between"
    else:
        told = listing([f"{name} {_factor(factor)}" for name, factor in known])
    missing = [name for name, factor in finding.factors if factor is None]
    text = (
        f"From {finding.users_from} to {plural(finding.users_to, unit)}, the new orders per "
        f"minute of {told}"
    )
    if missing:
        text += f"; of {listing(missing)} it is not known, for want of valid windows"
    return text + "."


def _factor(factor: float) -> str:
    if times(factor) == times(1):
        return "stayed within 0.5 %"
    return f"{'grew' if factor > 1 else 'fell'} to {times(factor)} times"
