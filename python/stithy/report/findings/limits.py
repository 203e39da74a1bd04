"""What limited each candidate: a sentence, the title of a figure, the end of a sentence."""

from stithy.analysis.bottlenecks.judge import SEVERAL, UNKNOWN, Cause
from stithy.analysis.bottlenecks.observation import format_sampled
from stithy.analysis.bottlenecks.rules import RULES
from stithy.analysis.findings import Limits
from stithy.report.findings.finding import FindingKind
from stithy.report.words.wording import (
    capital,
    listing,
    plural,
)

LIMITS_DETAILED = 3
"""Own: of more candidates with the same limit a sentence gives the names alone; tables have all."""


def describe_in_short(finding: Limits, unit: str) -> str:
    """The same without numbers, as the title of a figure."""
    by_limit: dict[str, list[str]] = {}
    for name, cause in finding.of:
        by_limit.setdefault(cause.limit, []).append(name)
    shown = "; ".join(
        f"{_describe_limit(each, finding)} {listing(of)}" for each, of in by_limit.items()
    )
    return f"{capital(finding.point.at(unit))}, {shown}"


def describe_limits(limits: Limits | None, *, of_floor: bool = False) -> str:
    """What limited, to end a sentence with; empty where that was not asked.

    `of_floor`: only the CPUs that were full, which make a ratio a floor.
    """
    if limits is None:
        return ""
    if not limits.of:
        return "; the bottleneck was not observed"
    by_limit: dict[str, list[str]] = {}
    for name, cause in limits.full if of_floor else limits.of:
        limit = cause.cpus or cause.limit if of_floor else cause.limit
        by_limit.setdefault(limit, []).append(name)
    all_names = len(limits.of)
    shown = [_describe_shortly(limit, of, all_names, limits) for limit, of in by_limit.items()]
    return f"; {', '.join(shown)}"


def _describe_shortly(limit: str, of: list[str], all_names: int, limits: Limits) -> str:
    """`the server's CPUs limited both`."""
    who = "both" if len(of) == all_names == 2 else listing(of)
    return f"{_describe_limit(limit, limits, short=True)} {who}"


def _describe_limit(limit: str, finding: Limits, *, short: bool = False) -> str:
    if limit == UNKNOWN:
        return "unknown factors limited"
    if limit == SEVERAL:
        return "several resources limited"
    if finding.is_open and limit == "demand":
        return "the requested rate limited"
    return f"{RULES[limit].short if short else RULES[limit].words} limited"


def _describe_group(limit: str, of: list[tuple[str, Cause]], finding: Limits) -> str:
    if len(of) > LIMITS_DETAILED or (finding.is_open and limit == "demand"):
        named = [name for name, _ in of]
    elif limit in (UNKNOWN, SEVERAL):
        named = [f"{name} ({cause.says})" for name, cause in of]
    else:
        named = [_describe_candidate(name, cause) for name, cause in of]
    return f"{_describe_limit(limit, finding)} {listing(named)}"


def _describe_candidate(name: str, cause: Cause) -> str:
    """A candidate with how much of the bound it reached, and in how many windows."""
    shown = RULES[cause.limit].shown
    parts = (
        []
        if not shown or cause.share is None
        else [shown.format(share=format_sampled(cause.share, cause.samples))]
    )
    if cause.windows < cause.windows_all:
        parts.append(f"in {cause.windows} of {plural(cause.windows_all, 'window')}")
    return f"{name} ({', '.join(parts)})" if parts else name


class OfLimits(FindingKind):
    """What limited each candidate."""

    name = "limits"

    def describe(self, finding: Limits, unit: str) -> str:
        """What limited, in one sentence; candidates of the same limit together."""
        by_limit: dict[str, list[tuple[str, Cause]]] = {}
        for name, cause in finding.of:
            by_limit.setdefault(cause.limit, []).append((name, cause))
        shown = "; ".join(_describe_group(limit, of, finding) for limit, of in by_limit.items())
        return f"{capital(finding.point.at(unit))}, {shown}."


PLUGINS = (OfLimits(),)
