"""How many users each candidate serves within a target, by a search."""

from stithy.analysis.capacity import WINDOWS_ENOUGH, Capacity, CapacityFinding, End
from stithy.analysis.findings import LimitedCapacity
from stithy.report.findings.finding import FindingKind
from stithy.report.findings.limits import describe_limits
from stithy.report.words.wording import (
    duration,
    listing,
    plural,
    told_apart,
    took,
)


def _describe_capacity(finding: CapacityFinding, of: Capacity, unit: str) -> str:
    """`sata serves 34 users within 1 s (at 36, p95 of new-order is 1.08 s)`."""
    limit = finding.search.limit
    within = f"within {duration(limit.limit_s)}"
    if of.low is None:
        return _describe_none(finding, of, unit, within)
    served = plural(of.low.level, unit)
    if of.cut_off:
        return f"{of.candidate} serves {served} {within} so far: its search was interrupted"
    if of.high is not None:
        value = _describe_beyond(of.high, limit.limit_s)
        return (
            f"{of.candidate} serves {served} {within} (at {of.high.level:,}, {limit.name} is "
            f"{value})"
        )
    text = f"{of.candidate} serves at least {served} {within}"
    if of.stopped_at is None:
        return f"{text}, where its search ends"
    return f"{text}; at {of.stopped_at:,}, {of.because}"


def _describe_beyond(end: End, limit_s: float) -> str:
    """What missed the limit, so that it never reads as the limit itself; of few values no number.

    Mostly it is longer; where windows disagree, the value over all of them need not be.
    """
    value_s = end.value_s
    if end.is_of_few:
        return "longer" if value_s > limit_s else "not always shorter"
    if took(value_s) == took(limit_s) and value_s != limit_s:
        return told_apart(value_s, limit_s, "s")[0]
    return took(value_s)


def _describe_none(finding: CapacityFinding, of: Capacity, unit: str, within: str) -> str:
    """Nothing obeyed: that is either the storage's doing, or nobody can tell."""
    limit, least = finding.search.limit, finding.search.users_least
    if of.high is not None and of.high.level == least:
        even = "even " if least == 1 else ""
        value = f"{limit.name} is {_describe_beyond(of.high, limit.limit_s)}"
        return f"{of.candidate} does not serve {even}{plural(least, unit)} {within} ({value})"
    if of.high is not None:
        value = f"{limit.name} is {_describe_beyond(of.high, limit.limit_s)}"
        return (
            f"no level of {of.candidate} is certain to be {within} (at {of.high.level:,}, {value})"
        )
    because = of.because or "its search was interrupted"
    at = least if of.stopped_at is None else of.stopped_at
    return f"whether {of.candidate} serves {plural(at, unit)} {within} is not known: {because}"


def _describe_closing(finding: CapacityFinding) -> str:
    """Who serves most; and that nothing here is more sure than its windows."""
    how = _describe_windows(finding)
    if len(finding.of) < 2:
        return how
    more = "more" if len(finding.of) == 2 else "most"
    if finding.most is not None:
        return f"{finding.most} serves {more} ({how}; not a verdict)"
    if all(_is_serving_none(finding, each) for each in finding.of):
        return f"so no level distinguishes them ({how})"
    names = listing([each.candidate for each in finding.of])
    known = all(each.low or each.high for each in finding.of)
    because = "their brackets are too close" if known else "not every bracket is known"
    return f"it is not known which of {names} serves {more}, because {because} ({how})"


def _is_serving_none(finding: CapacityFinding, of: Capacity) -> bool:
    """Whether not even the fewest users that were searched for are served."""
    least = finding.search.users_least
    return of.low is None and of.high is not None and of.high.level == least


def _describe_windows(finding: CapacityFinding) -> str:
    known = [each.windows_least for each in finding.of if each.windows_least is not None]
    if known and min(known) >= WINDOWS_ENOUGH:
        few = "two" if min(known) == WINDOWS_ENOUGH else str(min(known))
        more = "" if max(known) == WINDOWS_ENOUGH else " or more"
        return f"a search with {few}{more} windows at each end"
    if max(known, default=1) == 1:
        return "a search with one window at an end"
    return "a search with one window at some ends"


class OfCapacity(FindingKind):
    """How many users each candidate serves within a target."""

    name = "served"

    def describe(self, finding: CapacityFinding, unit: str) -> str:
        """The bracket of every candidate, what limited it, and who serves most if brackets tell."""
        parts = [_describe_capacity(finding, each, unit) for each in finding.of]
        if isinstance(finding, LimitedCapacity) and finding.limits is not None:
            limits = describe_limits(finding.limits).replace(";", ",", 1)
            parts.append(f"{finding.limits.point.at(unit)}{limits}")
        where = f"With {finding.setting.in_words()}, " if finding.setting else ""
        return f"{where}{'; '.join(parts)}; {_describe_closing(finding)}."


PLUGINS = (OfCapacity(),)
