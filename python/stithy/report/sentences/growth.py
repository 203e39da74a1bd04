"""How throughput grew with the users."""

from stithy.analysis.findings import Growth
from stithy.report.wording import listing, times

NAME = "growth"


def say(finding: Growth) -> str:
    """The growth of every candidate, in one sentence."""
    parts = [f"{name} {_factor(factor)}" for name, factor in finding.factors if factor is not None]
    missing = [name for name, factor in finding.factors if factor is None]
    text = (
        f"From {finding.users_from} to {finding.users_to} users, the new orders per minute of "
        f"{listing(parts)}"
    )
    if missing:
        text += f"; of {listing(missing)} it is not known, for want of valid windows"
    return text + "."


def _factor(factor: float) -> str:
    return f"grew {times(factor)} times" if factor >= 1 else f"fell to {times(factor)} times"
