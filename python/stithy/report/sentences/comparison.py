"""Two candidates at one level: verdict, direction, size, interval; never beyond the blocks."""

from dataclasses import dataclass

from stithy.analysis.answers.findings import Comparison
from stithy.analysis.verdict.decide import Call
from stithy.report.words import phrases
from stithy.report.words.wording import (
    CONSERVATIVE,
    T_INTERVAL,
    decimals_beside_one,
    exactly,
    factor,
    plural,
    times,
)

NAME = "comparison"

CLOSE_SHARE = 0.10
"""Without a verdict nothing is said about differences below a tenth: windows vary that much."""

Bounds = tuple[float, float]


@dataclass(frozen=True)
class _Turned:
    """The comparison turned so that its factor is 1 or more: `more` against `less`."""

    more: str
    less: str
    top: float
    bottom: float
    factor: float
    bounds: Bounds | None

    @property
    def names(self) -> tuple[str, str]:
        """Who has more, then who has less."""
        return self.more, self.less

    @property
    def values(self) -> tuple[float, float]:
        """What they have."""
        return self.top, self.bottom


def say(finding: Comparison, unit: str) -> str:
    """The comparison in one sentence."""
    turned = _turn(finding)
    level = f"At {plural(finding.users, unit)}"
    if turned is None:
        return f"{level}, {_uncompared(finding)}."
    if finding.instead_of is not None:
        level += f", as no block at {plural(finding.instead_of, unit)} has valid values of both"
    told = _too_few if finding.effect.plain else _SAID[finding.verdict.call]
    return f"{level}, {told(finding, turned)}."


def _uncompared(finding: Comparison) -> str:
    """Why there is no ratio, after the values where there are any."""
    a, b = finding.value_a, finding.value_b
    reason = finding.effect.missing_because or "a value is missing"
    if a is None or b is None:
        return f"{finding.a} and {finding.b} cannot be compared: {reason}"
    values = phrases.values(finding.metric, (finding.a, finding.b), (a, b))
    return f"{values}, which cannot be compared: {reason}"


def _turn(finding: Comparison) -> _Turned | None:
    a, b, effect = finding.value_a, finding.value_b, finding.effect
    if a is None or b is None or effect.ratio is None:
        return None
    bounds = None if effect.low is None or effect.high is None else (effect.low, effect.high)
    if effect.ratio >= 1:
        return _Turned(finding.b, finding.a, b, a, effect.ratio, bounds)
    back = None if bounds is None else (1 / bounds[1], 1 / bounds[0])
    return _Turned(finding.a, finding.b, a, b, 1 / effect.ratio, back)


def _better(finding: Comparison, turned: _Turned) -> str:
    name = finding.b if finding.verdict.call is Call.BETTER else finding.a
    return f"{name} is better: {_claim(finding, turned)}; {_interval(finding, turned)}"


def _higher(finding: Comparison, turned: _Turned) -> str:
    """Of what is neither good nor bad."""
    said = f"{turned.more} has more than {turned.less}: {_claim(finding, turned)}"
    return f"{said}; {_interval(finding, turned)}"


def _alike(finding: Comparison, turned: _Turned) -> str:
    margin = exactly(finding.verdict.margin_share)
    both = f"{finding.a} and {finding.b}"
    call = (
        f"{both} are equivalent within {margin}"
        if finding.verdict.call is Call.EQUIVALENT
        else f"{both} differ, but negligibly, by less than {margin}"
    )
    return f"{call}: {_values(finding, turned)}; {_interval(finding, turned)}"


def _undecided(finding: Comparison, turned: _Turned) -> str:
    more = "has more" if finding.metric.known.better is None else "is better"
    return (
        f"it is undecided which of {finding.a} and {finding.b} {more}: "
        f"{_values(finding, turned)}; {_interval(finding, turned)}; {finding.verdict.because}"
    )


_SAID = {
    Call.BETTER: _better, Call.WORSE: _better, Call.HIGHER: _higher, Call.LOWER: _higher,
    Call.EQUIVALENT: _alike, Call.NEGLIGIBLE: _alike, Call.UNDECIDED: _undecided,
}  # fmt: skip


def _too_few(finding: Comparison, turned: _Turned) -> str:
    """Fewer blocks than a verdict needs: what was measured, and that it decides nothing."""
    text = f"{_measured(finding, turned)}; undecided: {finding.verdict.because}"
    if turned.bounds is None:
        return text
    low, high = _alike_written(turned.bounds)
    return (
        f"{text} (plain t interval of the ratio of {turned.more} to {turned.less}: {low} to {high})"
    )


def _measured(finding: Comparison, turned: _Turned) -> str:
    if finding.effect.distinguishable is False:
        how = "not distinguishable"
    elif turned.factor < 1 + CLOSE_SHARE:
        how = "too close to tell apart"
    else:
        return _claim(finding, turned)
    return phrases.alike(finding.metric, turned.names, turned.values, how)


def _claim(finding: Comparison, turned: _Turned) -> str:
    said = phrases.claim(finding.metric, turned.more, turned.less, factor(turned.factor))
    top, bottom = phrases.both(finding.metric, turned.values)
    if turned.top < turned.bottom:
        return f"{said}, block by block, though not over all windows ({top} against {bottom})"
    return f"{said} ({top} against {bottom})"


def _values(finding: Comparison, turned: _Turned) -> str:
    return phrases.values(finding.metric, turned.names, turned.values)


def _interval(finding: Comparison, turned: _Turned) -> str:
    if turned.bounds is None:
        return "no interval"
    low, high = _alike_written(turned.bounds)
    blocks = plural(finding.effect.pairs, "block")
    kind = f"plain {T_INTERVAL}" if finding.effect.plain else CONSERVATIVE
    return (
        f"ratio of {turned.more} to {turned.less} between {low} and {high} "
        f"({kind} interval, {blocks})"
    )


def _alike_written(bounds: Bounds) -> tuple[str, str]:
    """Both ends with as many decimals: those that the one nearer to 1 needs to be told from it."""
    near = [bound for bound in bounds if abs(bound - 1) < CLOSE_SHARE]
    decimals = max(map(decimals_beside_one, near), default=2 if bounds[0] < 2 else 1)
    low, high = (
        f"{bound:.{decimals}f}" if CLOSE_SHARE <= bound < 10 else times(bound) for bound in bounds
    )
    return low, high
