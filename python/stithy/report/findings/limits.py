"""What limited each candidate, and how many users it serves within a target, by a search."""

from collections.abc import Mapping
from typing import Any

from stithy.analysis.bottlenecks.judge import SEVERAL, UNKNOWN, Cause
from stithy.analysis.bottlenecks.observation import state_sampled
from stithy.analysis.bottlenecks.rules import RULES
from stithy.analysis.capacity import WINDOWS_ENOUGH, Capacity, CapacityFinding, End
from stithy.analysis.findings import LimitedCapacity, Limits
from stithy.report.findings import FindingKind
from stithy.report.words.wording import begin_sentence, format_apart
from stithy.statements import Statement, Styled, join_list, join_parts
from stithy.units import format_list, format_measured_duration

LIMITS_DETAILED = 3
"""Own: of more candidates with the same limit a sentence gives the names alone; tables have all."""

Limit = tuple[str, str]
"""A rule, and the exporter of the host that it is of; empty for this machine."""


def describe_in_short(finding: Limits, unit: str) -> str:
    """The same without numbers, as the title of a figure."""
    by_limit: dict[Limit, list[str]] = {}
    for name, cause in finding.of:
        by_limit.setdefault((cause.limit, cause.of), []).append(name)
    shown = "; ".join(
        f"{_describe_limit(each, finding)} {format_list(of)}" for each, of in by_limit.items()
    )
    return f"{begin_sentence(finding.point.at(unit))}, {shown}"


def describe_limits(limits: Limits | None, *, of_floor: bool = False) -> str:
    """What limited, to end a sentence with; empty where that was not asked.

    `of_floor`: only the CPUs that were full, which make a ratio a floor.
    """
    if limits is None:
        return ""
    if not limits.of:
        return "; the bottleneck was not observed"
    by_limit: dict[Limit, list[str]] = {}
    for name, cause in limits.full if of_floor else limits.of:
        limit = cause.cpus or cause.limit if of_floor else cause.limit
        of_host = cause.of if limit == cause.limit else ""
        by_limit.setdefault((limit, of_host), []).append(name)
    shown = [
        f"{_describe_limit(limit, limits, short=True)} "
        f"{'both' if len(of) == len(limits.of) == 2 else format_list(of)}"
        for limit, of in by_limit.items()
    ]
    return f"; {', '.join(shown)}"


def _describe_limit(of_host: Limit, finding: Limits, *, short: bool = False) -> str:
    limit, host = of_host
    if host:
        return f"the CPUs of {host} limited"
    if limit == UNKNOWN:
        return "unknown factors limited"
    if limit == SEVERAL:
        return "several resources limited"
    if finding.is_open and limit == "demand":
        return "the requested rate limited"
    return f"{RULES[limit].short if short else RULES[limit].words} limited"


def _describe_group(of_host: Limit, of: list[tuple[str, Cause]], finding: Limits) -> str:
    limit, _ = of_host
    if len(of) > LIMITS_DETAILED or (finding.is_open and limit == "demand"):
        named = [name for name, _ in of]
    elif limit in (UNKNOWN, SEVERAL):
        named = [Statement("{candidate} ({says})", candidate=name, says=cause.says)
                 for name, cause in of]  # fmt: skip
    else:
        named = [_describe_candidate(name, cause) for name, cause in of]
    return Statement(
        "{what} {named}", what=_describe_limit(of_host, finding), named=join_list(named)
    )


def _describe_candidate(name: str, cause: Cause) -> str:
    """A candidate with how much of the bound it reached, and in how many windows."""
    shown, parts = RULES[cause.limit].shown, []
    if shown and cause.share is not None:
        parts.append(
            Statement(shown, share=state_sampled(cause.share, cause.samples), limit=cause.limit)
        )
    if cause.windows < cause.windows_all:
        parts.append(Statement("in {limited} of {of_windows:+window}", limited=cause.windows,
                               of_windows=cause.windows_all))  # fmt: skip
    of = Statement("{candidate} ({parts})", candidate=name, parts=join_parts(parts))
    return of if parts else name


def _describe_limits(finding: Limits, unit: str) -> str:
    by_limit: dict[Limit, list[tuple[str, Cause]]] = {}
    for name, cause in finding.of:
        by_limit.setdefault((cause.limit, cause.of), []).append((name, cause))
    groups = [_describe_group(limit, of, finding) for limit, of in by_limit.items()]
    return Statement("{at:sentence}, {groups}.", at=finding.point.at(unit),
                     groups=join_parts(groups, "; "),
                     users=finding.point.level if finding.point.counted else None)  # fmt: skip


def _describe_capacity(finding: CapacityFinding, of: Capacity, unit: str) -> str:
    """`sata serves 34 users within 1 s (at 36, p95 of new-order is 1.08 s)`."""
    limit = finding.search.limit
    known: dict[str, Any] = {
        "candidate": of.candidate, "limit_s": limit.limit_s, "name": limit.name,
        "least_users": finding.search.users_least, "wall": of.stopped_at,
    }  # fmt: skip
    if of.high is not None:
        known |= {"not_at": of.high.level, "beyond": _describe_beyond(of.high, limit.limit_s)}
    if of.low is None:
        return _describe_none(finding, of, unit, known)
    template = f"{{candidate}} serves {{served:+{unit}}} within {{limit_s:duration}}"
    if of.cut_off:
        template += " so far: its search was interrupted"
    elif of.high is not None:
        template += " (at {not_at:,}, {name} is {beyond})"
    else:
        template = template.replace("serves", "serves at least")
        template += (
            ", where its search ends" if of.stopped_at is None else "; at {wall:,}, {because}"
        )
    return Statement(template, **known, served=of.low.level, because=of.because)


def _describe_beyond(end: End, limit_s: float) -> str | Styled:
    """What missed the limit, so that it never reads as the limit itself; of few values no number.

    Mostly it is longer; where windows disagree, the value over all of them need not be.
    """
    value_s = end.value_s
    if end.is_of_few:
        return "longer" if value_s > limit_s else "not always shorter"
    if (
        format_measured_duration(value_s) == format_measured_duration(limit_s)
        and value_s != limit_s
    ):
        return Styled(value_s, format_apart(value_s, limit_s, "s")[0])
    return Styled(value_s, format_measured_duration(value_s))


def _describe_none(
    finding: CapacityFinding, of: Capacity, unit: str, known: Mapping[str, Any]
) -> str:
    """Nothing obeyed: that is either the storage's doing, or nobody can tell."""
    least = finding.search.users_least
    if of.high is not None and of.high.level == least:
        even = "even " if least == 1 else ""
        return Statement(
            f"{{candidate}} does not serve {even}{{least_users:+{unit}}} within "
            "{limit_s:duration} ({name} is {beyond})", **known,
        )  # fmt: skip
    if of.high is not None:
        return Statement(
            "no level of {candidate} is certain to be within {limit_s:duration} (at {not_at:,}, "
            "{name} is {beyond})", **known,
        )  # fmt: skip
    at = "least_users" if of.stopped_at is None else "wall"
    return Statement(
        f"whether {{candidate}} serves {{{at}:+{unit}}} within {{limit_s:duration}} is not known: "
        "{because}", **known, because=of.because or "its search was interrupted",
    )  # fmt: skip


def _describe_closing(finding: CapacityFinding) -> str:
    how = _describe_windows(finding)
    if len(finding.of) < 2:
        return how
    more = "more" if len(finding.of) == 2 else "most"
    if finding.most is not None:
        best = f"{{candidate}} serves {more} ({{how}}; not a verdict)"
        return Statement(best, candidate=finding.most, how=how)
    least = finding.search.users_least
    if all(of.low is None and of.high and of.high.level == least for of in finding.of):
        return Statement("so no level distinguishes them ({how})", how=how)
    contenders = finding.contenders
    names = format_list([each.candidate for each in contenders])
    known = all(each.low or each.high for each in contenders)
    because = "their brackets are too close" if known else "not every bracket is known"
    if sum(each.is_at_end for each in contenders) > 1:
        because = "the search ends below their limits (a higher end of `find_within` shows them)"
    return Statement(
        f"it is not known which of {{names}} serves {more}, because {because} ({{how}})",
        names=names, how=how,
    )  # fmt: skip


def _describe_windows(finding: CapacityFinding) -> str:
    known = [each.windows_least for each in finding.of if each.windows_least is not None]
    if known and min(known) >= WINDOWS_ENOUGH:
        least = min(known)
        few = Styled(least, "two" if least == WINDOWS_ENOUGH else str(least))
        more = "" if max(known) == WINDOWS_ENOUGH else " or more"
        return Statement(f"a search with {{at_ends}}{more} windows at each end", at_ends=few)
    if max(known, default=1) == 1:
        return "a search with one window at an end"
    return "a search with one window at some ends"


def _describe_served(finding: CapacityFinding, unit: str) -> str:
    parts = [_describe_capacity(finding, each, unit) for each in finding.of]
    if isinstance(finding, LimitedCapacity) and finding.limits is not None:
        limits = describe_limits(finding.limits).replace(";", ",", 1)
        parts.append(f"{finding.limits.point.at(unit)}{limits}")
    where = f"With {finding.setting.in_words()}, " if finding.setting else ""
    parts.append(_describe_closing(finding))
    return Statement("{where}{served}.", where=where, served=join_parts(parts, "; "))


PLUGINS = (FindingKind("limits", _describe_limits), FindingKind("served", _describe_served))
