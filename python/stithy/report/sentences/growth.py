"""How throughput grew with the users."""

from stithy.analysis.findings import Growth
from stithy.report.wording import listing, plural, times

NAME = "growth"


def say(finding: Growth, unit: str) -> str:
    """The growth of every candidate, in one sentence."""
    parts = [f"{name} {_factor(factor)}" for name, factor in finding.factors if factor is not None]
    missing = [name for name, factor in finding.factors if factor is None]
    text = (
        f"From {finding.users_from} to {plural(finding.users_to, unit)}, the new orders per "
        f"minute of {listing(parts)}"
    )
    if missing:
        text += f"; of {listing(missing)} it is not known, for want of valid windows"
    return text + "."


def _factor(factor: float) -> str:
    return f"grew {times(factor)} times" if factor >= 1 else f"fell to {times(factor)} times"
