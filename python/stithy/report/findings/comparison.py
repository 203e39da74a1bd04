"""A comparison of two candidates, first in a sentence for who reads no other.

That sentence claims no more than the blocks support; the others have values, differences and
intervals. All have one direction.
"""

import math
from collections.abc import Iterator

from stithy.analysis.findings import Alone, Comparison
from stithy.analysis.statistics import BLOCKS_LEAST
from stithy.analysis.verdict import Call
from stithy.report.findings import FindingKind
from stithy.report.findings.limits import describe_limits
from stithy.report.tables import format_difference
from stithy.report.words import wording
from stithy.report.words.wording import (
    CONSERVATIVE,
    T_INTERVAL,
    begin_sentence,
    count_decimals,
    format_count,
    format_factor,
    format_plural,
    format_quantity,
    format_times,
)
from stithy.units import format_list, format_measured_duration, format_share

CLOSE_SHARE = 0.10
"""Without a verdict nothing is said about differences below a tenth: windows vary that much."""

Bounds = tuple[float, float]


def _list_sentences(finding: Comparison, unit: str) -> Iterator[str]:
    level = begin_sentence(finding.point.at(unit))
    if finding.instead_of is not None:
        level += f" (no block {finding.instead_of.at(unit)} has valid values of both)"
    limits = describe_limits(finding.limits, of_floor=finding.is_floor)
    yield f"{level}, {_describe_claim(finding)}{_describe_target(finding)}{limits}"
    yield from _describe_values(finding)
    if finding.effect.value is None:
        return
    yield from _describe_interval(finding)
    if finding.effect.bounds:
        yield _describe_disturbed(finding)
    if finding.effect.plain:
        yield f"a test needs at least {BLOCKS_LEAST} blocks"
    elif finding.verdict.call is Call.UNDECIDED:
        yield f"reason: {finding.verdict.because}"


def _describe_target(finding: Comparison) -> str:
    """Who meets the study's response-time target, to end a sentence with; empty if not known."""
    if finding.target is None or not finding.meets:
        return ""
    meet = [name for name, is_met in finding.meets if is_met]
    if len(meet) == 1:
        [missing] = [name for name, is_met in finding.meets if not is_met]
        return f"; {meet[0]} meets the target ({finding.target.text}), {missing} misses it"
    return f"; {'both meet' if meet else 'both miss'} the target ({finding.target.text})"


def _describe_claim(finding: Comparison) -> str:
    """What can be claimed, as the verdict has it; without one, what was measured."""
    a, b, apart = finding.a, finding.b, finding.effect.value
    if apart is None:
        return f"{a} and {b} cannot be compared: {finding.effect.missing_because or 'no value'}"
    if finding.effect.plain:
        return _describe_untested(finding, apart)
    call, margin = finding.verdict.call, wording.format_margin(finding.metric, finding.verdict)
    by = wording.name_briefly(finding.metric)
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
    return f"{b} {how} {a}: {_describe_against(finding, 'it', apart)}"


def _describe_untested(finding: Comparison, apart: float) -> str:
    a, b, effect = finding.a, finding.b, finding.effect
    untested = f"not tested, {format_plural(effect.pairs, 'block')}"
    by = wording.name_briefly(finding.metric)
    if effect.distinguishable is False:
        return f"{a} and {b} are not distinguishable in {by} ({untested})"
    if not effect.is_difference and max(apart, 1 / apart) < 1 + CLOSE_SHARE:
        return f"{a} and {b} differ by less than {format_share(CLOSE_SHARE)} in {by} ({untested})"
    claim = _describe_against(finding, b, apart, of=a)
    return f"{claim} ({untested})"


def _describe_against(finding: Comparison, who: str, apart: float, of: str = "") -> str:
    """`it completed 3.1 times as many new orders`; of a floor `at least 3.1 times`."""
    if finding.effect.is_difference:
        return wording.describe_difference(finding.metric, who, apart, of)
    bound = f"at {'least' if apart >= 1 else 'most'} " if finding.is_floor else ""
    return wording.describe_ratio(finding.metric, who, apart, of, bound=bound)


def _describe_values(finding: Comparison) -> Iterator[str]:
    a, b, less = finding.value_a, finding.value_b, finding.effect.difference
    if a is None or b is None:
        return
    values = wording.describe_values(finding.metric, (finding.b, finding.a), (b, a))
    ratio = finding.effect.ratio
    if ratio is None:
        yield values if less is None else f"{values}; {_describe_difference(finding)}"
        return
    if less is not None:
        values += f"; {_describe_difference(finding)}"
    yield values
    if (b - a) * (ratio - 1) < 0:
        yield (
            "the ratio is the mean over the blocks; the values of all windows together differ in "
            "the other direction"
        )


def _describe_difference(finding: Comparison) -> str:
    less = finding.effect.difference
    assert less is not None  # asked by the caller
    difference = format_difference(finding.metric, less.mean, less.low, less.high)
    return f"the mean difference within blocks was {difference}"


def _describe_interval(finding: Comparison) -> Iterator[str]:
    effect = finding.effect
    kind = f"plain {T_INTERVAL}" if effect.plain else CONSERVATIVE
    if effect.low is None or effect.high is None:
        return
    if effect.ratio is None:
        blocks = format_plural(effect.pairs, "block")
        yield f"the difference is {finding.b} less {finding.a} ({kind} intervals, {blocks})"
        return
    low, high = _format_alike((effect.low, effect.high))
    yield (
        f"the ratio of {finding.b} to {finding.a} is {format_factor(effect.ratio)}, between {low} "
        f"and {high} ({kind} intervals, {format_plural(effect.pairs, 'block')})"
    )


def _describe_disturbed(finding: Comparison) -> str:
    """How many blocks were disturbed and by how much; of a verdict that it holds even so."""
    bounds, is_ratio = finding.effect.bounds, not finding.effect.is_difference
    most = max(map(max, bounds))
    by = (
        format_share(math.expm1(most))
        if is_ratio
        else wording.format_quantity(finding.metric, most)
    )
    names = format_list([f"“{flag.value}”" for flag in finding.flags])
    seen = (
        f"{sum(map(any, bounds))} of {format_plural(len(bounds), 'block')} were disturbed "
        f"({names}), which changed a {'ratio' if is_ratio else 'difference'} by at most {by}"
    )
    if finding.verdict.decided:
        return f"even so, the verdict holds: {seen}, and the interval includes that"
    return f"{seen}; the interval includes that"


def _format_alike(bounds: Bounds) -> tuple[str, str]:
    """Both ends with as many decimals: those that the one nearer to 1 needs to differ from it."""
    near = [bound for bound in bounds if abs(bound - 1) < CLOSE_SHARE]
    decimals = max(map(count_decimals, near), default=2 if bounds[0] < 2 else 1)
    low, high = (
        f"{bound:.{decimals}f}" if CLOSE_SHARE <= bound < 10 else format_times(bound)
        for bound in bounds
    )
    return low, high


def _describe_alone(finding: Alone, unit: str) -> str:
    windows = "one window" if finding.windows == 1 else format_plural(finding.windows, "window")
    at, name, metric = begin_sentence(finding.point.at(unit)), finding.candidate, finding.metric
    shown = (
        f"{at}, {name} completed {format_count(finding.value)} {metric.noun} in {windows}"
        f"{describe_limits(finding.limits)}."
        if metric.known.source == "window"
        else f"{at}, the {metric.noun} of {name} came to "
        f"{format_quantity(metric, finding.value)} in {windows}."
    )
    if finding.p95_s is not None:
        shown += f" Its p95 response time was {format_measured_duration(finding.p95_s)}."
    return f"{shown} There is no second candidate to compare it with."


PLUGINS = (
    FindingKind(
        "comparison",
        lambda of, unit: " ".join(f"{begin_sentence(it)}." for it in _list_sentences(of, unit)),
    ),
    FindingKind("alone", _describe_alone),
    FindingKind("nothing", lambda of, unit: f"This run gives no answer: {of.because}."),
)
