"""What was nearly full at a level, for each candidate."""

from stithy.analysis.findings import Limits
from stithy.report.wording import listing, percent, plural

NAME = "limits"


def say(finding: Limits, unit: str) -> str:
    """What was full, in one sentence; says so where nothing was."""
    full = _full(finding)
    rest = [name for name, found in finding.of if not found]
    level = f"At {plural(finding.users, unit)}"
    nothing = f"nothing that was watched was nearly full with {listing(rest)}"
    if not full:
        return f"{level}, {nothing}."
    text = f"{level}, {listing(full)}"
    return f"{text}; {nothing}." if rest else f"{text}."


def _full(finding: Limits) -> list[str]:
    """For each resource that was full, its use with each candidate."""
    uses: dict[str, dict[str, list[str]]] = {}
    for name, found in finding.of:
        for limit in found:
            shares = uses.setdefault(limit.what, {})
            shares.setdefault(percent(limit.use_share), []).append(name)
    return [f"{what} {_verb(what)} busy {_shares(shares)}" for what, shares in uses.items()]


def _shares(shares: dict[str, list[str]]) -> str:
    """`95 % of the time with disk and 97 % with memory`; candidates of equal shares together."""
    (first, names), *others = shares.items()
    rest = [f"{share} with {listing(found)}" for share, found in others]
    return listing([f"{first} of the time with {listing(names)}", *rest])


def _verb(what: str) -> str:
    return "were" if what.startswith("the CPUs") else "was"
