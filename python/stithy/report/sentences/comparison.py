"""Two candidates at one level: direction, size, and how sure; never beyond the evidence."""

from stithy.analysis.effect import Effect
from stithy.analysis.findings import Comparison
from stithy.report.wording import count, duration, plural, times

NAME = "comparison"

CLOSE_SHARE = 0.10
"""One window each says nothing about differences below a tenth: windows alone vary that much."""


def say(finding: Comparison) -> str:
    """The comparison in one sentence."""
    level = f"At {plural(finding.users, 'user')}"
    if not finding.highest and finding.effect.ratio is not None:
        level += ", the highest level with valid windows of both"
    if finding.effect.ratio is None or finding.value_a is None or finding.value_b is None:
        return (
            f"{level}, {finding.a} and {finding.b} cannot be compared: "
            f"{finding.effect.missing_because or 'a value is missing'}."
        )
    high = _b_is_higher(finding)
    return f"{level}, {_claim(finding, high)}{_certainty(finding.effect, high)}."


def _b_is_higher(finding: Comparison) -> bool:
    return finding.effect.ratio is not None and finding.effect.ratio >= 1


def _claim(finding: Comparison, b_is_higher: bool) -> str:
    more, less = (finding.b, finding.a) if b_is_higher else (finding.a, finding.b)
    top, bottom = finding.value_b, finding.value_a
    if not b_is_higher:
        top, bottom = bottom, top
    ratio = finding.effect.ratio or 1.0
    factor = ratio if b_is_higher else 1 / ratio
    if _cannot_tell(finding.effect, factor):
        return f"{_noun(finding.metric)} of {finding.a} and {finding.b} {_alike(finding)}"
    if finding.metric == "nopm":
        return (
            f"{more} completed {times(factor)} times as many new orders per minute as {less} "
            f"({_value(finding.metric, top)} against {_value(finding.metric, bottom)})"
        )
    return (
        f"the 95th percentile of response time of {more} was {times(factor)} times that of {less} "
        f"({_value(finding.metric, top)} against {_value(finding.metric, bottom)})"
    )


def _cannot_tell(effect: Effect, factor: float) -> bool:
    if effect.distinguishable is None:
        return factor < 1 + CLOSE_SHARE
    return not effect.distinguishable


def _alike(finding: Comparison) -> str:
    values = (
        f"{_value(finding.metric, finding.value_a)} and {_value(finding.metric, finding.value_b)}"
    )
    if finding.effect.distinguishable is None:
        return f"were too close to tell apart ({values})"
    return f"were not distinguishable ({values})"


def _noun(metric: str) -> str:
    return (
        "the new orders per minute" if metric == "nopm" else "the 95th percentiles of response time"
    )


def _value(metric: str, value: float | None) -> str:
    if value is None:
        return "unknown"
    return count(value) if metric == "nopm" else duration(value)


def _certainty(effect: Effect, b_is_higher: bool) -> str:
    if effect.low is None or effect.high is None:
        return ", in one window each; no interval"
    low, high = effect.low, effect.high
    if not b_is_higher:
        low, high = 1 / high, 1 / low
    blocks = plural(effect.pairs, "block")
    return f"; ratio within {times(low)} to {times(high)} (95 % interval, {blocks})"
