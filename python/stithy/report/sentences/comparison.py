"""Two candidates at one level: direction, size, and how sure; never beyond the evidence."""

from dataclasses import dataclass

from stithy.analysis.findings import Comparison
from stithy.report.wording import count, duration, plural, times

NAME = "comparison"

CLOSE_SHARE = 0.10
"""One window each says nothing about differences below a tenth: windows alone vary that much."""


@dataclass(frozen=True)
class _Turned:
    """The comparison turned so that its factor is 1 or more: `more` against `less`."""

    more: str
    less: str
    top: float
    bottom: float
    factor: float
    low: float | None
    high: float | None


def say(finding: Comparison, unit: str) -> str:
    """The comparison in one sentence."""
    turned = _turn(finding)
    level = f"At {plural(finding.users, unit)}"
    if turned is None:
        reason = finding.effect.missing_because or "a value is missing"
        return f"{level}, {finding.a} and {finding.b} cannot be compared: {reason}."
    if not finding.highest:
        level += ", the highest level with valid windows of both"
    return f"{level}, {_claim(finding, turned)}{_certainty(finding, turned)}."


def _turn(finding: Comparison) -> _Turned | None:
    a, b, effect = finding.value_a, finding.value_b, finding.effect
    if a is None or b is None or effect.ratio is None:
        return None
    if effect.ratio >= 1:
        return _Turned(finding.b, finding.a, b, a, effect.ratio, effect.low, effect.high)
    low = None if effect.high is None else 1 / effect.high
    high = None if effect.low is None else 1 / effect.low
    return _Turned(finding.a, finding.b, a, b, 1 / effect.ratio, low, high)


def _claim(finding: Comparison, turned: _Turned) -> str:
    top, bottom = _value(finding, turned.top), _value(finding, turned.bottom)
    if _cannot_tell(finding, turned):
        alike = "not distinguishable" if turned.low is not None else "too close to tell apart"
        both = f"{turned.more} and {turned.less}"
        return f"{_noun(finding)} of {both} were {alike} ({top} and {bottom})"
    if finding.metric == "nopm":
        claim = (
            f"{turned.more} completed {times(turned.factor)} times as many new orders per minute "
            f"as {turned.less}"
        )
    else:
        claim = (
            f"the 95th percentile of response time of {turned.more} was {times(turned.factor)} "
            f"times that of {turned.less}"
        )
    return f"{claim} ({top} against {bottom})"


def _cannot_tell(finding: Comparison, turned: _Turned) -> bool:
    if finding.effect.distinguishable is None:
        return turned.factor < 1 + CLOSE_SHARE
    return not finding.effect.distinguishable


def _noun(finding: Comparison) -> str:
    if finding.metric == "nopm":
        return "the new orders per minute"
    return "the 95th percentiles of response time"


def _value(finding: Comparison, value: float) -> str:
    return count(value) if finding.metric == "nopm" else duration(value)


def _certainty(finding: Comparison, turned: _Turned) -> str:
    if turned.low is None or turned.high is None:
        return ", in one window each; no interval"
    blocks = plural(finding.effect.pairs, "block")
    return (
        f"; ratio of {turned.more} to {turned.less} between {times(turned.low)} and "
        f"{times(turned.high)} (95 % interval, {blocks})"
    )
