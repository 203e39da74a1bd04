"""What was nearly full at a level, for each candidate."""

from stithy.analysis.findings import Limits
from stithy.analysis.layers import Limit
from stithy.report.wording import listing, percent, plural

NAME = "limits"


def say(finding: Limits) -> str:
    """What was full, in one sentence; says so where nothing was."""
    full = [f"{_limits(found)} with {name}" for name, found in finding.of if found]
    rest = [name for name, found in finding.of if not found]
    level = f"At {plural(finding.users, 'user')}"
    nothing = f"nothing that was watched was nearly full with {listing(rest)}"
    if not full:
        return f"{level}, {nothing}."
    text = f"{level}, {listing(full)}"
    return f"{text}; {nothing}." if rest else f"{text}."


def _limits(found: tuple[Limit, ...]) -> str:
    return listing(
        [
            f"{limit.what} {_verb(limit)} busy {percent(limit.use_share)} of the time"
            for limit in found
        ]
    )


def _verb(limit: Limit) -> str:
    return "were" if limit.what.startswith("the CPUs") else "was"
