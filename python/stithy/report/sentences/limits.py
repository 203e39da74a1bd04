"""What limited each candidate at a level."""

from stithy.analysis.findings import Limits
from stithy.analysis.limits.judge import SEVERAL, UNKNOWN, rules
from stithy.analysis.limits.level import Cause, words
from stithy.report.wording import listing, percent, plural

NAME = "limits"


def say(finding: Limits, unit: str) -> str:
    """What limited, in one sentence; candidates of the same limit together."""
    by_limit: dict[str, list[tuple[str, Cause]]] = {}
    for name, cause in finding.of:
        by_limit.setdefault(cause.limit, []).append((name, cause))
    told = "; ".join(_told(limit, of, finding) for limit, of in by_limit.items())
    return f"At {plural(finding.users, unit)}, {told}."


def _told(limit: str, of: list[tuple[str, Cause]], finding: Limits) -> str:
    if limit == UNKNOWN:
        seen = [f"{name} ({cause.says})" for name, cause in of]
        return f"it is not determined what limited {listing(seen)}"
    if limit == SEVERAL:
        seen = [f"{name} ({cause.says})" for name, cause in of]
        return f"nothing by itself limited {listing(seen)}"
    if finding.is_open and limit == "users":
        return f"the rate that was asked for limited {listing([name for name, _ in of])}"
    return f"{words(limit)} limited {listing([_one(name, cause) for name, cause in of])}"


def _one(name: str, cause: Cause) -> str:
    """A candidate with how much of the bound it reached, and in how many windows."""
    told = rules()[cause.limit].TOLD
    parts = [] if not told or cause.share is None else [told.format(share=percent(cause.share))]
    if cause.windows < cause.windows_all:
        parts.append(f"in {cause.windows} of {plural(cause.windows_all, 'window')}")
    return f"{name} ({', '.join(parts)})" if parts else name
