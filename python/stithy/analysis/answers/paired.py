"""A metric of a candidate at a point, held against the same users without what is beside them."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.validity.delay import pair_bound
from stithy.analysis.values.measures import Value
from stithy.analysis.verdict.effect import no_effect
from stithy.analysis.verdict.paired import Paired, pooled_ratio
from stithy.metrics import Quantity, values_needed
from stithy.point import Point
from stithy.results.hlog import Histogram

TimesOf = Callable[[Window], Histogram | None]
"""All response times of a window; None where its logs are not whole."""

UNPAIRED = Value(
    None, "its block has no valid window of both, alone and with what is beside the users"
)
"""Of a window at the point that has no partner."""


def pairs_of(
    evidence: Evidence, candidate: str, point: Point, alone: Point
) -> Iterator[tuple[Window, Window]]:
    """Of each block that has a valid window of both: that alone, then that with the neighbour."""
    firsts = {window.block: window for window in evidence.valid_at(candidate, alone)}
    for window in evidence.valid_at(candidate, point):
        if (first := firsts.get(window.block)) is not None:
            yield first, window


def against(
    evidence: Evidence,
    candidate: str,
    point: Point,
    alone: Point,
    quantity: Quantity,
    times: TimesOf | None = None,
) -> Paired:
    """A quantity of a candidate at a point against that alone, by block.

    `times`: where given, a percentile for which a window has too few values is that of all blocks
    together, if these have enough.
    """
    effect = evidence.effect(candidate, candidate, point, quantity, alone)
    both = list(pairs_of(evidence, candidate, point, alone))
    values = {other.id: _ratio(evidence, one, other, quantity) for one, other in both}
    known = tuple(other.block for _, other in both if values[other.id].number is not None)
    found = Paired(effect, known if effect.pairs == len(known) else (), values)
    if times is None or not quantity.known.percent or len(known) == len(both):
        return found
    return _pooled(found, both, quantity, times)


def _ratio(evidence: Evidence, one: Window, other: Window, quantity: Quantity) -> Value:
    """That of a pair, or why it has none."""
    a, b = (evidence.value_of(each, quantity) for each in (one, other))
    if a.number is None or b.number is None:
        return Value(None, a.missing_because or b.missing_because)
    if not a.number:
        return Value(None, "it is 0 in a window, so there is no ratio")
    return Value(b.number / a.number)


def _pooled(
    found: Paired, both: list[tuple[Window, Window]], quantity: Quantity, times: TimesOf
) -> Paired:
    """The same of all blocks together; as it was where these have too few values, too."""
    read = [(times(one), times(other)) for one, other in both]
    known = [(one, other) for one, other in read if one is not None and other is not None]
    if len(known) < len(both):
        return found
    percent = quantity.known.percent or 0.0
    needed = values_needed(percent)
    bounds = [pair_bound(quantity, *(each.delayed() for each in pair)) for pair in both]
    effect = pooled_ratio(known, percent, needed, bounds)
    if effect is None:
        there = min(sum(each.count for each in side) for side in zip(*known, strict=True))
        because = f"{quantity.label} needs {needed:,} values in all blocks, and they have {there:,}"
        return replace(found, effect=no_effect(because)) if not found.effect.pairs else found
    blocks = tuple(other.block for _, other in both)
    return replace(found, effect=effect, blocks=blocks, pooled=True)
