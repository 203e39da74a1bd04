"""A comparison of two candidates, first in a sentence for who reads no other.

That sentence claims no more than the blocks support; the others have values, differences and
intervals. All have one direction.
"""

import math
from collections.abc import Iterator
from functools import partial

from stithy.analysis.findings import Alone, Comparison
from stithy.analysis.statistics import BLOCKS_LEAST
from stithy.analysis.verdict import Call
from stithy.report.findings import FindingKind
from stithy.report.findings.limits import describe_limits
from stithy.report.words import wording
from stithy.report.words.wording import (
    CONSERVATIVE,
    T_INTERVAL,
    count_decimals,
    format_count,
    format_factor,
    format_quantity,
    format_times,
)
from stithy.statements import Statement, Styled, join_parts
from stithy.units import format_list, format_share

CLOSE_SHARE = 0.10
"""Without a verdict nothing is said about differences below a tenth: windows vary that much."""

Bounds = tuple[float, float]


def _list_sentences(finding: Comparison, unit: str) -> Iterator[str]:
    level = finding.point.at(unit)
    if finding.instead_of is not None:
        level += f" (no block {finding.instead_of.at(unit)} has valid values of both)"
    yield Statement(
        "{level}, {claim}{target}{limits}", level=level, claim=_describe_claim(finding),
        target=_describe_target(finding),
        limits=describe_limits(finding.limits, of_floor=finding.is_floor),
    )  # fmt: skip
    yield from _describe_values(finding)
    if finding.effect.value is None:
        return
    yield from _describe_interval(finding)
    if finding.effect.bounds:
        yield _describe_disturbed(finding)
    if finding.effect.plain:
        yield Statement("a test needs at least {blocks_tested} blocks", blocks_tested=BLOCKS_LEAST)
    elif finding.verdict.call is Call.UNDECIDED:
        yield Statement("reason: {because}", because=finding.verdict.because)


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
    call, margin = finding.verdict.call, finding.verdict.margin_share
    if finding.verdict.negligible is not None:
        margin = finding.verdict.negligible
    within = Styled(margin, wording.format_margin(finding.metric, finding.verdict))
    by = wording.name_briefly(finding.metric)
    if call is Call.EQUIVALENT:
        return Statement("{a} and {b} are equivalent within {margin} in {by}",
                         a=a, b=b, margin=within, by=by)  # fmt: skip
    if call is Call.NEGLIGIBLE:
        return Statement("{a} and {b} differ by less than {margin} in {by}",
                         a=a, b=b, margin=within, by=by)  # fmt: skip
    if call is Call.UNDECIDED:
        is_either = "has more" if finding.metric.known.better is None else "is better"
        return f"it is undecided whether {a} or {b} {is_either} in {by}"
    how = {
        Call.BETTER: "is better than", Call.WORSE: "is worse than",
        Call.HIGHER: "has more than", Call.LOWER: "has less than",
    }[call]  # fmt: skip
    return Statement(f"{{b}} {how} {{a}}: {{claim}}", a=a, b=b,
                     claim=_describe_against(finding, "it", apart))  # fmt: skip


def _describe_untested(finding: Comparison, apart: float) -> str:
    a, b, effect = finding.a, finding.b, finding.effect
    untested = Statement("not tested, {blocks:+block}", blocks=effect.pairs)
    by = wording.name_briefly(finding.metric)
    if effect.distinguishable is False:
        return Statement("{a} and {b} are not distinguishable in {by} ({untested})",
                         a=a, b=b, by=by, untested=untested)  # fmt: skip
    if not effect.is_difference and max(apart, 1 / apart) < 1 + CLOSE_SHARE:
        close = format_share(CLOSE_SHARE)
        return Statement(f"{{a}} and {{b}} differ by less than {close} in {{by}} ({{untested}})",
                         a=a, b=b, by=by, untested=untested)  # fmt: skip
    claim = _describe_against(finding, b, apart, of=a)
    return Statement("{claim} ({untested})", claim=claim, untested=untested)


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
        yield values if less is None else join_parts([values, _describe_difference(finding)], "; ")
        return
    yield values if less is None else join_parts([values, _describe_difference(finding)], "; ")
    if (b - a) * (ratio - 1) < 0:
        yield (
            "the ratio is the mean over the blocks; the values of all windows together differ in "
            "the other direction"
        )


def _describe_difference(finding: Comparison) -> str:
    less = finding.effect.difference
    assert less is not None  # asked by the caller
    shown = partial(wording.format_signed, finding.metric)
    interval = " ({less_low} to {less_high})" if None not in (less.low, less.high) else ""
    ends = {"less": less.mean, "less_low": less.low, "less_high": less.high}
    known = {name: Styled(end, shown(end)) for name, end in ends.items() if end is not None}
    return Statement("the mean difference within blocks was {less}" + interval, **known)


def _describe_interval(finding: Comparison) -> Iterator[str]:
    effect = finding.effect
    kind = f"plain {T_INTERVAL}" if effect.plain else CONSERVATIVE
    if effect.low is None or effect.high is None:
        return
    if effect.ratio is None:
        yield Statement(
            f"the difference is {{b}} less {{a}} ({kind} intervals, {{blocks:+block}})",
            a=finding.a,
            b=finding.b,
            blocks=effect.pairs,
        )
        return
    low, high = _format_alike((effect.low, effect.high))
    yield Statement(
        "the ratio of {b} to {a} is {ratio}, between {low} and {high} "
        f"({kind} intervals, {{blocks:+block}})", a=finding.a, b=finding.b, blocks=effect.pairs,
        ratio=Styled(effect.ratio, format_factor(effect.ratio)), low=Styled(effect.low, low),
        high=Styled(effect.high, high),
    )  # fmt: skip


def _describe_disturbed(finding: Comparison) -> str:
    """How many blocks were disturbed and by how much; of a verdict that it holds even so."""
    bounds, is_ratio = finding.effect.bounds, not finding.effect.is_difference
    most = max(map(max, bounds))
    most = math.expm1(most) if is_ratio else most
    by = format_share(most) if is_ratio else wording.format_quantity(finding.metric, most)
    seen = (
        "{disturbed} of {blocks:+block} {disturbed:was|were} disturbed ({names}), which changed a "
        "{what} by at most {most}"
    )
    if finding.verdict.decided:
        template = f"even so, the verdict holds: {seen}, and the interval includes that"
    else:
        template = seen if finding.effect.low is None else f"{seen}; the interval includes that"
    return Statement(
        template, disturbed=sum(map(any, bounds)), blocks=len(bounds),
        names=format_list([f"“{flag.value}”" for flag in finding.flags]),
        what="ratio" if is_ratio else "difference", most=Styled(most, by),
    )  # fmt: skip


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
    is_counted = finding.metric.known.source == "window"
    value = finding.value
    shown = format_count(value) if is_counted else format_quantity(finding.metric, value)
    said = [Statement(
        "{at:sentence}, {candidate} completed {level_value} {noun} in {windows_here:one window|# "
        "windows}{limits}." if is_counted else "{at:sentence}, the {noun} of {candidate} came to "
        "{level_value} in {windows_here:one window|# windows}.",
        at=finding.point.at(unit), candidate=finding.candidate, noun=finding.metric.noun,
        level_value=Styled(value, shown), windows_here=finding.windows,
        limits=describe_limits(finding.limits), metric=finding.metric.label,
    )]  # fmt: skip
    if finding.p95_s is not None:
        said.append(Statement("Its p95 response time was {p95:measured}.", p95=finding.p95_s))
    return join_parts([*said, "There is no second candidate to compare it with."], " ")


PLUGINS = (
    FindingKind(
        "comparison",
        lambda of, unit: join_parts(
            [
                Statement(
                    "{said:sentence}.",
                    said=said,
                    a=of.a,
                    b=of.b,
                    metric=of.metric.label,
                    users=of.point.level if of.point.counted else None,
                )
                for said in _list_sentences(of, unit)
            ],
            " ",
        ),
    ),
    FindingKind("alone", _describe_alone),
    FindingKind(
        "nothing",
        lambda of, unit: Statement("This run gives no answer: {because}.", because=of.because),
    ),
)
