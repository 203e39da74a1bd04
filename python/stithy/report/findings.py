"""Findings as text: each kind in one sentence, or a few for a comparison.

The first sentence is short and claims no more than the blocks support; the others have values,
differences and intervals. All have one direction. `unit` is what levels count: `user`, or in an
open loop `connection`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from stithy.analysis.answers.findings import Alone, Comparison, Finding, Growth, Limits, Nothing
from stithy.analysis.bottlenecks.judge import SEVERAL, UNKNOWN, Cause, short, words
from stithy.analysis.bottlenecks.observation import of_samples
from stithy.analysis.bottlenecks.rules import RULES
from stithy.analysis.search.bracket import WINDOWS_ENOUGH
from stithy.analysis.search.capacity import Capacity, CapacityFinding, End
from stithy.analysis.verdict.decide import Call
from stithy.analysis.verdict.statistics import BLOCKS_LEAST
from stithy.point import Point
from stithy.report.words import wording
from stithy.report.words.wording import (
    CONSERVATIVE,
    T_INTERVAL,
    count,
    decimals_beside_one,
    duration,
    exactly,
    factor,
    listing,
    percent,
    plural,
    times,
    told_apart,
    took,
)

LIMITS_DETAILED = 3
"""Own: of more candidates with the same limit a sentence gives the names alone; tables have all."""


def _limits(finding: Limits, unit: str) -> str:
    """What limited, in one sentence; candidates of the same limit together."""
    by_limit: dict[str, list[tuple[str, Cause]]] = {}
    for name, cause in finding.of:
        by_limit.setdefault(cause.limit, []).append((name, cause))
    shown = "; ".join(_told(limit, of, finding) for limit, of in by_limit.items())
    return f"At {finding.point.in_words(unit)}, {shown}."


def in_short(finding: Limits, unit: str) -> str:
    """The same without numbers, as the title of a figure."""
    by_limit: dict[str, list[str]] = {}
    for name, cause in finding.of:
        by_limit.setdefault(cause.limit, []).append(name)
    shown = "; ".join(f"{_who(each, finding)} {listing(of)}" for each, of in by_limit.items())
    return f"At {finding.point.in_words(unit)}, {shown}"


def clause(limits: Limits | None, *, of_floor: bool = False) -> str:
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
    shown = [_short(limit, of, all_names, limits) for limit, of in by_limit.items()]
    return f"; {', '.join(shown)}"


def _short(limit: str, of: list[str], all_names: int, limits: Limits) -> str:
    """`the server's CPUs limited both`."""
    who = "both" if len(of) == all_names == 2 else listing(of)
    if limit == UNKNOWN:
        return f"unknown factors limited {who}"
    if limit == SEVERAL:
        return f"several resources limited {who}"
    if limits.is_open and limit == "users":
        return f"the requested rate limited {who}"
    return f"{short(limit)} limited {who}"


def _who(limit: str, finding: Limits) -> str:
    if limit == UNKNOWN:
        return "unknown factors limited"
    if limit == SEVERAL:
        return "several resources limited"
    if finding.is_open and limit == "users":
        return "the requested rate limited"
    return f"{words(limit)} limited"


def _told(limit: str, of: list[tuple[str, Cause]], finding: Limits) -> str:
    if len(of) > LIMITS_DETAILED or (finding.is_open and limit == "users"):
        named = [name for name, _ in of]
    elif limit in (UNKNOWN, SEVERAL):
        named = [f"{name} ({cause.says})" for name, cause in of]
    else:
        named = [_one(name, cause) for name, cause in of]
    return f"{_who(limit, finding)} {listing(named)}"


def _one(name: str, cause: Cause) -> str:
    """A candidate with how much of the bound it reached, and in how many windows."""
    shown = RULES[cause.limit].shown
    parts = (
        []
        if not shown or cause.share is None
        else [shown.format(share=of_samples(cause.share, cause.samples))]
    )
    if cause.windows < cause.windows_all:
        parts.append(f"in {cause.windows} of {plural(cause.windows_all, 'window')}")
    return f"{name} ({', '.join(parts)})" if parts else name


CLOSE_SHARE = 0.10
"""Without a verdict nothing is said about differences below a tenth: windows vary that much."""

Bounds = tuple[float, float]


def _comparison(finding: Comparison, unit: str) -> str:
    """The comparison, first in a sentence for who reads no other."""
    return " ".join(f"{each[0].upper()}{each[1:]}." for each in _sentences(finding, unit))


def _sentences(finding: Comparison, unit: str) -> Iterator[str]:
    level = f"At {finding.point.in_words(unit)}"
    if finding.instead_of is not None:
        level += f" (no block at {finding.instead_of.in_words(unit)} has valid values of both)"
    limits = clause(finding.limits, of_floor=finding.is_floor)
    yield f"{level}, {_found(finding)}{limits}"
    yield from _values(finding)
    if finding.effect.ratio is None:
        return
    yield from _interval(finding)
    if finding.effect.plain:
        yield f"a test needs at least {BLOCKS_LEAST} blocks"
    elif finding.verdict.call is Call.UNDECIDED:
        yield f"reason: {finding.verdict.because}"


def _found(finding: Comparison) -> str:
    """What can be claimed, as the verdict has it; without one, what was measured."""
    a, b, ratio = finding.a, finding.b, finding.effect.ratio
    if ratio is None:
        return f"{a} and {b} cannot be compared: {finding.effect.missing_because or 'no value'}"
    if finding.effect.plain:
        return _untested(finding, ratio)
    call, margin = finding.verdict.call, exactly(finding.verdict.margin_share)
    by = wording.brief(finding.metric)
    if call is Call.EQUIVALENT:
        return f"{a} and {b} are equivalent within {margin} in {by}"
    if call is Call.NEGLIGIBLE:
        return f"{a} and {b} differ by less than {margin} in {by}"
    if call is Call.UNDECIDED:
        is_either = "has more" if finding.metric.known.better is None else "is better"
        return f"it is undecided whether {a} or {b} {is_either} in {by}"
    how = {
        Call.BETTER: "is better than", Call.WORSE: "is worse than",
        Call.HIGHER: "has more than", Call.LOWER: "has less than",
    }[call]  # fmt: skip
    return f"{b} {how} {a}: {_against(finding, 'it', ratio)}"


def _untested(finding: Comparison, ratio: float) -> str:
    """Fewer blocks than a test needs: what was measured, and that nothing was tested."""
    a, b, effect = finding.a, finding.b, finding.effect
    untested = f"not tested, {plural(effect.pairs, 'block')}"
    by = wording.brief(finding.metric)
    if effect.distinguishable is False:
        return f"{a} and {b} are not distinguishable in {by} ({untested})"
    if max(ratio, 1 / ratio) < 1 + CLOSE_SHARE:
        return f"{a} and {b} differ by less than {percent(CLOSE_SHARE)} in {by} ({untested})"
    claim = _against(finding, b, ratio, of=a)
    return f"{claim} ({untested})"


def _against(finding: Comparison, who: str, ratio: float, of: str = "") -> str:
    """`it completed 3.1 times as many new orders`; of a floor `at least 3.1 times`."""
    bound = f"at {'least' if ratio >= 1 else 'most'} " if finding.is_floor else ""
    return wording.against(finding.metric, who, ratio, of, bound=bound)


def _values(finding: Comparison) -> Iterator[str]:
    """What each has, and by how much they differ."""
    a, b, less = finding.value_a, finding.value_b, finding.effect.difference
    if a is None or b is None:
        return
    values = wording.values(finding.metric, (finding.b, finding.a), (b, a))
    ratio = finding.effect.ratio
    if ratio is None:
        yield values
        return
    if less is not None:
        values += f"; {_difference(finding)}"
    yield values
    if (b - a) * (ratio - 1) < 0:
        yield (
            "the ratio is the mean over the blocks; the values of all windows together differ in "
            "the other direction"
        )


def _difference(finding: Comparison) -> str:
    less = finding.effect.difference
    assert less is not None  # asked by the caller
    shown = f"the mean difference within blocks was {wording.signed(finding.metric, less.mean)}"
    if less.low is None or less.high is None:
        return shown
    low, high = (wording.signed(finding.metric, each) for each in (less.low, less.high))
    return f"{shown} ({low} to {high})"


def _interval(finding: Comparison) -> Iterator[str]:
    effect = finding.effect
    if effect.ratio is None or effect.low is None or effect.high is None:
        return
    low, high = _alike_written((effect.low, effect.high))
    kind = f"plain {T_INTERVAL}" if effect.plain else CONSERVATIVE
    yield (
        f"the ratio of {finding.b} to {finding.a} is {factor(effect.ratio)}, between {low} and "
        f"{high} ({kind} intervals, {plural(effect.pairs, 'block')})"
    )


def _alike_written(bounds: Bounds) -> tuple[str, str]:
    """Both ends with as many decimals: those that the one nearer to 1 needs to differ from it."""
    near = [bound for bound in bounds if abs(bound - 1) < CLOSE_SHARE]
    decimals = max(map(decimals_beside_one, near), default=2 if bounds[0] < 2 else 1)
    low, high = (
        f"{bound:.{decimals}f}" if CLOSE_SHARE <= bound < 10 else times(bound) for bound in bounds
    )
    return low, high


def _alone(finding: Alone, unit: str) -> str:
    """What the candidate reached and what limited it; then how long its users waited."""
    windows = "one window" if finding.windows == 1 else plural(finding.windows, "window")
    shown = (
        f"At {finding.point.in_words(unit)}, {finding.candidate} completed "
        f"{count(finding.nopm)} new orders per minute in {windows}{clause(finding.limits)}."
    )
    if finding.p95_s is not None:
        shown += f" Its p95 response time was {took(finding.p95_s)}."
    return f"{shown} There is no second candidate to compare it with."


GROWTHS_DETAILED = 4
"""Own: of more candidates a sentence tells the least and the most; the table has all."""


def _growth(finding: Growth, unit: str) -> str:
    """The growth of every candidate, or of many the least and the most, in one sentence."""
    known = [(name, factor) for name, factor in finding.factors if factor is not None]
    if len(known) > GROWTHS_DETAILED:
        ordered = sorted(known, key=lambda each: each[1])
        shown = listing([f"{name} {_factor(factor)}" for name, factor in (ordered[0], ordered[-1])])
        shown += f", and those of the other {len(known) - 2} between them"
    else:
        shown = listing([f"{name} {_factor(factor)}" for name, factor in known])
    missing = [name for name, factor in finding.factors if factor is None]
    text = (
        f"From {_span(finding.lowest, finding.highest, unit)}, the new orders per minute of {shown}"
    )
    if missing:
        text += f"; the growth of {listing(missing)} is not known, as valid windows are missing"
    return text + "."


def _span(lowest: Point, highest: Point, unit: str) -> str:
    """From a level to another: what both have is said once."""
    if lowest.others == highest.others:
        return f"{lowest.users:,} to {highest.in_words(unit)}"
    return f"{lowest.in_words(unit)} to {highest.in_words(unit)}"


def _factor(factor: float) -> str:
    if times(factor) == times(1):
        return "stayed within 0.5 %"
    return f"{'grew' if factor > 1 else 'fell'} to {times(factor)} times"


def _served(finding: CapacityFinding, unit: str) -> str:
    """The bracket of every candidate, and who serves most where the brackets tell."""
    parts = [_capacity(finding, each, unit) for each in finding.of]
    return f"{'; '.join(parts)}; {_closing(finding)}."


def _capacity(finding: CapacityFinding, of: Capacity, unit: str) -> str:
    """`sata serves 34 users within 1 s (at 36, p95 of new-order is 1.08 s)`."""
    limit = finding.search.limit
    within = f"within {duration(limit.limit_s)}"
    if of.low is None:
        return _none(finding, of, unit, within)
    served = plural(of.low.users, unit)
    if of.cut_off:
        return f"{of.candidate} serves {served} {within} so far: its search was interrupted"
    if of.high is not None:
        value = _beyond(of.high, limit.limit_s)
        return (
            f"{of.candidate} serves {served} {within} (at {of.high.users:,}, {limit.name} is "
            f"{value})"
        )
    text = f"{of.candidate} serves at least {served} {within}"
    if of.stopped_at is None:
        return f"{text}, where its search ends"
    return f"{text}; at {of.stopped_at:,}, {of.because}"


def _beyond(end: End, limit_s: float) -> str:
    """What missed the limit, so that it never reads as the limit itself; of few values no number.

    Mostly it is longer; where windows disagree, the value over all of them need not be.
    """
    value_s = end.value_s
    if end.is_of_few:
        return "longer" if value_s > limit_s else "not always shorter"
    if took(value_s) == took(limit_s) and value_s != limit_s:
        return told_apart(value_s, limit_s, "s")[0]
    return took(value_s)


def _none(finding: CapacityFinding, of: Capacity, unit: str, within: str) -> str:
    """Nothing obeyed: that is either the storage's doing, or nobody can tell."""
    limit, least = finding.search.limit, finding.search.users_least
    if of.high is not None and of.high.users == least:
        even = "even " if least == 1 else ""
        value = f"{limit.name} is {_beyond(of.high, limit.limit_s)}"
        return f"{of.candidate} does not serve {even}{plural(least, unit)} {within} ({value})"
    if of.high is not None:
        value = f"{limit.name} is {_beyond(of.high, limit.limit_s)}"
        return (
            f"no level of {of.candidate} is certain to be {within} (at {of.high.users:,}, {value})"
        )
    because = of.because or "its search was interrupted"
    at = least if of.stopped_at is None else of.stopped_at
    return f"whether {of.candidate} serves {plural(at, unit)} {within} is not known: {because}"


def _closing(finding: CapacityFinding) -> str:
    """Who serves most; and that nothing here is more sure than its windows."""
    how = _windows(finding)
    if len(finding.of) < 2:
        return how
    more = "more" if len(finding.of) == 2 else "most"
    if finding.most is not None:
        return f"{finding.most} serves {more} ({how}; not a verdict)"
    if all(_serves_none(finding, each) for each in finding.of):
        return f"so no level distinguishes them ({how})"
    names = listing([each.candidate for each in finding.of])
    known = all(each.low or each.high for each in finding.of)
    because = "their brackets are too close" if known else "not every bracket is known"
    return f"it is not known which of {names} serves {more}, because {because} ({how})"


def _serves_none(finding: CapacityFinding, of: Capacity) -> bool:
    """Whether not even the fewest users that were searched for are served."""
    least = finding.search.users_least
    return of.low is None and of.high is not None and of.high.users == least


def _windows(finding: CapacityFinding) -> str:
    """On how many windows the ends of the brackets rest."""
    known = [each.windows_least for each in finding.of if each.windows_least is not None]
    if known and min(known) >= WINDOWS_ENOUGH:
        few = "two" if min(known) == WINDOWS_ENOUGH else str(min(known))
        more = "" if max(known) == WINDOWS_ENOUGH else " or more"
        return f"a search with {few}{more} windows at each end"
    if max(known, default=1) == 1:
        return "a search with one window at an end"
    return "a search with one window at some ends"


def _nothing(finding: Nothing, unit: str) -> str:
    """Why there is no answer, in one sentence."""
    return f"This run gives no answer: {finding.because}."


SENTENCES: Mapping[str, Callable[[Any, str], str]] = {
    "comparison": _comparison, "limits": _limits, "alone": _alone, "growth": _growth,
    "served": _served, "nothing": _nothing,
}  # fmt: skip
"""By the kind of a finding, how it is said."""


def sentences(found: Sequence[Finding], unit: str) -> tuple[str, ...]:
    """Each finding in words; `unit` is what levels count."""
    return tuple(SENTENCES[finding.kind](finding, unit) for finding in found)
