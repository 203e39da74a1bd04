"""Titles of figures: the finding in a few words, never beyond the evidence of its points."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from stithy.analysis.verdict.boundaries import BLOCKS_LEAST
from stithy.analysis.verdict.chance import repeated_chance
from stithy.analysis.verdict.decide import WRONG_SHARE
from stithy.analysis.verdict.effect import Effect, paired_ratio
from stithy.analysis.verdict.pair import pairs_among
from stithy.metrics import Quantity
from stithy.report.context import Context
from stithy.report.words.wording import factor, listing, rate

Row = Mapping[str, Any]
Item = TypeVar("Item")

CLOSE_FACTOR = 1.10
"""Own: a title claims no difference below a tenth; the tables have the numbers."""


@dataclass(frozen=True)
class Title:
    """A title, and the ratio it states, so that it can be found beside the page as well."""

    text: str
    ratio: float | None = None


NAMED_MOST = 3
"""Own: a title tells of so many candidates; of more the one with least and the one with most."""


def named(
    each: Sequence[Item],
    by: Callable[[Item], float],
    told: Callable[[Item], str],
    *,
    most: int = NAMED_MOST,
    joined: Callable[[Sequence[str]], str] = listing,
) -> str:
    """What is told of each, in their order; of more than `most`, of the least and the most."""
    if len(each) <= most:
        return joined([told(one) for one in each])
    ordered = sorted(each, key=by)
    return f"{joined([told(ordered[0]), told(ordered[-1])])}, on the others between"


def compare_title(
    context: Context,
    lines: Sequence[Row],
    points: Sequence[Row],
    noun: str,
    shown: Callable[[float], str] = rate,
    *,
    metric: Quantity | None = None,
) -> Title:
    """Which candidate had most of `noun` at the highest level at which at least two have a value.

    `lines`, `points`: as a `Panel` has them. With fewer than two candidates to compare it tells
    what the one had, as `shown` writes it; where blocks cannot tell two candidates apart it says
    so, and without a block that has both it tells their values alone. `metric`: where verdicts are
    told of it, with which a title must agree.
    """
    pair = _farthest(context, lines)
    if pair is None:
        return Title(_alone(context, lines, noun, shown))
    low, high, users = pair
    at, names = f"At {context.level(users)}", f"{low['candidate']} and {high['candidate']}"
    if low["value"] <= 0:
        return Title(f"{at}, {high['candidate']} has {noun} and {low['candidate']} none")
    ends = low["candidate"], high["candidate"], users
    effect = _paired(points, *ends) if metric is None else context.evidence.effect(*ends, metric)
    # That of the verdict, which is not quite the ratio of the means.
    if (ratio := effect.ratio) is None:
        told = [f"{shown(each['value'])} on {each['candidate']}" for each in (low, high)]
        return Title(f"{_capital(noun)} at {context.level(users)}: {listing(told)}")
    if ratio < 1:
        low, high, ratio = high, low, 1 / ratio
    told_apart = _told_apart(context, effect, pair, points, metric)
    if told_apart is False:
        return Title(f"{at}, {names} are not distinguishable in {noun}")
    if told_apart is None and ratio < CLOSE_FACTOR:
        return Title(f"{at}, {names} are close in {noun}")
    claim = f"{high['candidate']} has {factor(ratio)} times the {noun} of {low['candidate']}"
    return Title(f"{at}, {claim}", ratio)


def _told_apart(
    context: Context,
    effect: Effect,
    pair: tuple[Row, Row, int],
    points: Sequence[Row],
    metric: Quantity | None,
) -> bool | None:
    """Whether a difference may be claimed; None where there are too few blocks to tell.

    The two are those farthest apart of all, and verdicts of levels without the question are
    adjusted for how many these are: a title claims no more than they do.
    """
    apart, chance = effect.distinguishable, repeated_chance(effect.logs)
    if not apart or chance is None:
        return apart
    low, high, users = pair
    names = {low["candidate"], high["candidate"]}
    asked = context.evidence.asked
    is_named = asked.pair is not None and names == set(asked.pair)
    pairs = 1 if is_named else pairs_among(len(context.evidence.candidates))
    answers = metric == asked.metric and users == context.level_told
    levels = 1 if metric is None or answers else _levels_compared(points, names)
    return chance * pairs * levels <= WRONG_SHARE


def _levels_compared(points: Sequence[Row], names: set[str]) -> int:
    """At how many levels both have blocks enough for a verdict."""
    blocks: dict[int, dict[str, set[Any]]] = {}
    for point in points:
        if point["valid"] and point["candidate"] in names:
            known = blocks.setdefault(point["users"], {})
            known.setdefault(point["candidate"], set()).add(point["block"])
    shared = (set.intersection(*known.values()) for known in blocks.values() if len(known) == 2)
    return sum(len(each) >= BLOCKS_LEAST for each in shared)


def _alone(context: Context, lines: Sequence[Row], noun: str, shown: Callable[[float], str]) -> str:
    """The ends of the one line; without one, what is drawn."""
    named = _capital(noun)
    names = {row["candidate"] for row in lines}
    if len(names) != 1:
        return f"{named} against {context.level_name.lower()}"
    ordered = sorted(lines, key=lambda row: row["users"])
    ends = ordered[:1] if len(ordered) == 1 else [ordered[0], ordered[-1]]
    told = [f"{shown(row['value'])} at {context.level(row['users'])}" for row in ends]
    return f"{named}: {listing(told)} with {names.pop()}"


def _capital(noun: str) -> str:
    return f"{noun[0].upper()}{noun[1:]}"


def _paired(points: Sequence[Row], low: str, high: str, users: int) -> Effect:
    """The effect over blocks with a valid point of both; of several devices the busiest counts."""
    blocks: dict[str, dict[int, float]] = {low: {}, high: {}}
    for point in points:
        if point["valid"] and point["users"] == users and point["candidate"] in blocks:
            known = blocks[point["candidate"]]
            known[point["block"]] = max(known.get(point["block"], 0.0), point["value"])
    shared = sorted(blocks[low].keys() & blocks[high].keys())
    return paired_ratio([blocks[low][b] for b in shared], [blocks[high][b] for b in shared])


def _farthest(context: Context, lines: Sequence[Row]) -> tuple[Row, Row, int] | None:
    for users in reversed(context.evidence.levels):
        here = [row for row in lines if row["users"] == users]
        if len({row["candidate"] for row in here}) > 1:
            low = min(here, key=lambda row: row["value"])
            others = (row for row in here if row["candidate"] != low["candidate"])
            high = max(others, key=lambda row: row["value"])
            return (low, high, users) if high["value"] > 0 else None
    return None
