"""What was nearly full at a level, for each candidate."""

from stithy.analysis.findings import Limits
from stithy.report.wording import listing, percent, plural

NAME = "limits"


def say(finding: Limits) -> str:
    """What was full, in one sentence; says so where nothing was."""
    full = _full(finding)
    rest = [name for name, found in finding.of if not found]
    level = f"At {plural(finding.users, 'user')}"
    nothing = f"nothing that was watched was nearly full with {listing(rest)}"
    if not full:
        return f"{level}, {nothing}."
    text = f"{level}, {listing(full)}"
    return f"{text}; {nothing}." if rest else f"{text}."


def _full(finding: Limits) -> list[str]:
    """For each resource that was full, its use with each candidate."""
    uses: dict[str, list[str]] = {}
    for name, found in finding.of:
        for limit in found:
            uses.setdefault(limit.what, []).append(f"{percent(limit.use_share)} of it with {name}")
    return [f"{what} {_verb(what)} busy {_share(parts)}" for what, parts in uses.items()]


def _share(parts: list[str]) -> str:
    """`95 % of the time with disk and 97 % with memory`."""
    first, *others = parts
    rest = [part.replace(" of it", "", 1) for part in others]
    return listing([first.replace(" of it", " of the time", 1), *rest])


def _verb(what: str) -> str:
    return "were" if what.startswith("the CPUs") else "was"
