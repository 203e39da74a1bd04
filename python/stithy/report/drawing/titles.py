"""Titles of figures: the finding in a few words, never beyond the evidence of its points."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from stithy.analysis.comparisons import ComparedPair
from stithy.analysis.effect import Effect, estimate_paired_ratio
from stithy.analysis.evidence import Evidence
from stithy.analysis.findings import choose_answer_level
from stithy.analysis.statistics import BLOCKS_LEAST, bound_repeated_chance
from stithy.analysis.verdict import WRONG_SHARE, Call, count_pairs_among, is_one_order
from stithy.metrics import Quantity
from stithy.point import Point
from stithy.report.blocks import Title
from stithy.report.context import Context
from stithy.report.drawing.compose import find_busiest
from stithy.report.words.wording import begin_sentence, format_factor, format_number, format_plural
from stithy.report.words.wording import format_margin as said_margin
from stithy.units import format_list

Row = Mapping[str, Any]
Item = TypeVar("Item")

CLOSE_FACTOR = 1.10
"""Own: a title claims no difference below a tenth; the tables have the numbers."""

FACTOR_LEAST, FACTOR_MOST = 0.1, 100
"""Own: beyond these a factor says less than the two values themselves."""

NAMED_MOST = 3
"""Own: a title tells of so many candidates; of more the one with least and the one with most."""


def name_each(
    each: Sequence[Item],
    by: Callable[[Item], float],
    reported: Callable[[Item], str],
    *,
    most: int = NAMED_MOST,
    joined: Callable[[Sequence[str]], str] = format_list,
) -> str:
    """What is reported about each, in their order; of more than `most`, the least and the most.

    The others are counted: of those without a value nothing is claimed.
    """
    if len(each) <= most:
        return joined([reported(one) for one in each])
    ordered = sorted(each, key=by)
    others = f"the other {len(each) - 2}" if len(each) > 3 else "the other"
    return f"{joined([reported(ordered[0]), reported(ordered[-1])])}, {others} between them"


def name_by(values: Mapping[str, float], shown: Callable[[float], str], **how: Any) -> str:
    """The same of values by candidate: `12 ms on sata and 3 ms on nvme`."""
    return name_each(
        [*values], values.__getitem__, lambda at: f"{shown(values[at])} on {at}", **how
    )


def count_missing(points: int) -> str:
    """How many points a largest was not chosen from, to end a title with; empty of none."""
    return f"; {format_plural(points, 'point has', 'points have')} no valid value" if points else ""


def compare_title(
    context: Context,
    lines: Sequence[Row],
    points: Sequence[Row],
    noun: str,
    shown: Callable[[float], str] = format_number,
    *,
    metric: Quantity | None = None,
) -> Title:
    """How much of `noun` one candidate has against another, at the highest level that two have.

    Of words none is the highest: there it is where the answer is, if two have that.

    The ratio has the direction of the answer, the later candidate of the study against the earlier
    one, also where it is below 1. `lines`, `points`: as a `Panel` has them. With fewer than two
    candidates to compare it tells what the one had, as `shown` writes it; where blocks cannot tell
    two candidates apart it says so. It tells the values alone without a block that has both, and
    where nobody would read the ratio. `metric`: where there are verdicts about it, with which a
    title must agree.
    """
    pair = _find_farthest(context, lines)
    if pair is None:
        return Title(_describe_alone(context, lines, noun, shown))
    low, high, point = pair
    at, names = begin_sentence(context.at(point)), f"{low['candidate']} and {high['candidate']}"
    if low["value"] <= 0:
        return Title(f"{at}, {high['candidate']} has {noun} and {low['candidate']} none")
    order = context.evidence.candidates
    if {low["candidate"], high["candidate"]} <= {*(context.evidence.primary.pair or ())}:
        order = context.evidence.primary.pair or order
    # In the direction of the answer: against whom, then who.
    a, b = sorted((low, high), key=lambda row: order.index(row["candidate"]))
    names_ab = a["candidate"], b["candidate"]
    effect = (
        _estimate_effect(points, *names_ab, context.positions[point])
        if metric is None
        else context.evidence.effect(*names_ab, point, metric)
    )
    # That of the verdict, which is not quite the ratio of the means.
    ratio = effect.ratio
    told_apart = _may_claim(context, effect, pair, points, metric)
    is_withheld = told_apart and is_one_order(effect.b_later)
    if effect.is_difference and told_apart is False:
        return Title(f"{at}, {names} are not distinguishable in {noun}")
    if ratio is None or is_withheld or not FACTOR_LEAST <= ratio < FACTOR_MOST:
        reported = [f"{shown(each['value'])} on {each['candidate']}" for each in (a, b)]
        return Title(f"{begin_sentence(noun)} {context.at(point)}: {format_list(reported)}")
    if told_apart is False:
        return Title(f"{at}, {names} are not distinguishable in {noun}")
    if told_apart is None and 1 / CLOSE_FACTOR < ratio < CLOSE_FACTOR:
        return Title(f"{at}, {names} are close in {noun}")
    claim = f"{b['candidate']} has {format_factor(ratio)} times {a['candidate']}'s {noun}"
    return Title(f"{at}, {claim}", ratio)


def _may_claim(
    context: Context,
    effect: Effect,
    pair: tuple[Row, Row, Point],
    points: Sequence[Row],
    metric: Quantity | None,
) -> bool | None:
    """Whether a difference may be claimed; None where there are too few blocks to tell.

    The two are those farthest apart of all, and verdicts of levels without the question are
    adjusted for how many these are: a title claims no more than they do.
    """
    apart, chance = effect.distinguishable, bound_repeated_chance(effect.apart, effect.bounds)
    if not apart or chance is None:
        return apart
    low, high, point = pair
    names = {low["candidate"], high["candidate"]}
    asked = context.evidence.primary
    is_named = asked.pair is not None and names == set(asked.pair)
    pairs = 1 if is_named else count_pairs_among(len(context.evidence.candidates))
    answers = metric == asked.metric and point == context.answer_level
    levels = 1 if metric is None or answers else _count_levels(points, names)
    return chance * pairs * levels <= WRONG_SHARE


def _count_levels(points: Sequence[Row], names: set[str]) -> int:
    blocks: dict[float, list[set[Any]]] = {}
    for (level, name), known in find_busiest(points).items():
        if name in names:
            blocks.setdefault(level, []).append({*known})
    shared = (set.intersection(*known) for known in blocks.values() if len(known) == 2)
    return sum(len(each) >= BLOCKS_LEAST for each in shared)


def _describe_alone(
    context: Context, lines: Sequence[Row], noun: str, shown: Callable[[float], str]
) -> str:
    """The ends of the one line; without one, what is drawn."""
    named = begin_sentence(noun)
    names = {row["candidate"] for row in lines}
    if len(names) != 1:
        return f"{named} against {context.axis.title.lower()}"
    ordered = sorted(lines, key=lambda row: row["level"])
    ends = ordered[:1] if len(ordered) == 1 else [ordered[0], ordered[-1]]
    reported = [
        f"{shown(row['value'])} {context.at(context.find_level(row['level']))}" for row in ends
    ]
    return f"{named}: {format_list(reported)} with {names.pop()}"


def _estimate_effect(points: Sequence[Row], low: str, high: str, level: float) -> Effect:
    blocks = find_busiest(points)
    a, b = (blocks.get((level, name), {}) for name in (low, high))
    shared = sorted(a.keys() & b.keys())
    return estimate_paired_ratio([a[block] for block in shared], [b[block] for block in shared])


def _find_farthest(context: Context, lines: Sequence[Row]) -> tuple[Row, Row, Point] | None:
    levels = [*reversed(context.positions.items())]
    if not context.is_joined:  # none is the highest
        asked = choose_answer_level(context.evidence)
        levels.sort(key=lambda each: each[0] != asked)
    for point, level in levels:
        here = [row for row in lines if row["level"] == level]
        if len({row["candidate"] for row in here}) > 1:
            low = min(here, key=lambda row: row["value"])
            others = (row for row in here if row["candidate"] != low["candidate"])
            high = max(others, key=lambda row: row["value"])
            return (low, high, point) if high["value"] > 0 else None
    return None


def describe_claim(compared: ComparedPair) -> str:
    """The verdict in few words, never beyond it: `nvme is better than sata`."""
    a, b = compared.a, compared.b
    margin = said_margin(compared.metric, compared.verdict)
    reported = {
        Call.BETTER: f"{b} is better than {a}",
        Call.WORSE: f"{a} is better than {b}",
        Call.HIGHER: f"{b} has more than {a}",
        Call.LOWER: f"{a} has more than {b}",
        Call.EQUIVALENT: f"{a} and {b} are equivalent within {margin}",
        Call.NEGLIGIBLE: f"{a} and {b} differ by less than {margin}",
    }
    if compared.effect.low is None:
        return f"{b} against {a}, not tested"
    return reported.get(compared.verdict.call, f"undecided between {a} and {b}")


def explain_none(context: Context) -> str:
    """Why no comparison answers the question, where none does."""
    if len(context.evidence.candidates) < 2:
        return "there is no second candidate"
    if context.evidence.primary.by_search:
        return "a search has no intervals"
    return _explain_uncompared(context.evidence)


def _explain_uncompared(evidence: Evidence) -> str:
    """What is in the way: windows that are not valid, or valid ones without values to compare."""
    first, *others = evidence.candidates
    blocks = [
        {(window.block, window.attempt) for window in evidence.valid_at(first, users)}
        & {(window.block, window.attempt) for window in evidence.valid_at(name, users)}
        for users in evidence.levels
        for name in others
    ]
    if not any(blocks):
        return "no block has valid windows of two candidates"
    return "two candidates have no values that can be compared; the answer gives the reason"
