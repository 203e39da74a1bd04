"""Which window comes when: blocks in the order of the points, candidates in balanced orders.

A block is one window of every candidate at one point. Candidates are compared inside blocks, so
that what drifts during a run (heat, fill, neighbours) meets all of them alike. The blocks of a
point are taken from Williams squares: each candidate has each place equally often and follows each
other equally often, so that neither the place nor what a window leaves to the next one (a full
cache, a busy drive) favours a candidate. Each odd block is the reverse of the one before it: after
every even number of blocks each of two candidates came before the other equally often.
Source: docs/explanation/verdicts.md, "The order".
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from stithy.plan.steps import derive_seed
from stithy.point import Point

Rows = tuple[tuple[int, ...], ...]
Item = TypeVar("Item", str, int)


@dataclass(frozen=True)
class Block:
    """One window of each candidate at a point: `candidates` in the order of their windows.

    `index` counts from 0 within the point; `seed` is that of the virtual users of all its windows.
    """

    point: Point
    index: int
    candidates: tuple[str, ...]
    seed: int


def blocks(
    candidates: Sequence[str], counts: Iterable[tuple[Point, int]], seed: int
) -> tuple[Block, ...]:
    """All blocks of a study in their order; `counts` are the points, each with its blocks."""
    return tuple(
        block(candidates, point, index, seed) for point, count in counts for index in range(count)
    )


def rounds(
    candidates: Sequence[str], counts: Sequence[tuple[Point, int]], seed: int
) -> tuple[Block, ...]:
    """The same blocks, in rounds: each has one block of every point that has so many.

    Points are then compared as candidates are, under the same drift; the seed draws their order.
    """
    most = max((count for _, count in counts), default=0)
    known = {str(point): (point, count) for point, count in counts}
    return tuple(
        block(candidates, point, index, seed)
        for index in range(most)
        for point, count in map(known.__getitem__, _draw(known, seed, "points", index))
        if index < count
    )


def block(candidates: Sequence[str], point: Point, index: int, seed: int) -> Block:
    """One block. Its users draw the same at each setting of the other factors."""
    order = ordered(candidates, seed, point, index)
    own = point.level if point.counted else str(point)
    return Block(point, index, order, derive_seed(seed, own, index))


def ordered(candidates: Sequence[str], seed: int, point: Point, index: int) -> tuple[str, ...]:
    """The candidates in the order of one block.

    The blocks 0, 1, … of a point go through squares of pairs, a row and its reverse; two candidates
    have one pair. The seed draws the names of each square and the turn of its pairs, so that each
    order is as likely as any other for a block by itself.
    """
    pairs = [row for row in williams(len(candidates)) if row <= row[::-1]]
    square, place = divmod(index, 2 * len(pairs))
    level = (point.level,) if point.counted else ()
    at: tuple[str | int, ...] = (*level, *(str(Point((each,))) for each in point.others))
    named = _draw(candidates, seed, "order", *at, square * 2 * len(pairs))
    row = pairs[_draw(range(len(pairs)), seed, "rows", *at, square)[place // 2]]
    return tuple(named[each] for each in (row[::-1] if place % 2 else row))


def _draw(items: Iterable[Item], seed: int, *purpose: str | int) -> tuple[Item, ...]:
    """The items in a random order, the same for ever and however they are listed.

    Own: sorted by a hash of purpose and item, which gives every order the same chance.
    """
    return tuple(sorted(items, key=lambda each: derive_seed(seed, *purpose, each)))


@cache
def williams(candidates: int) -> Rows:
    """A square of orders of 0, 1, …, in which each number follows each other equally often.

    Shapes: as many rows as candidates where these are even; twice as many where they are odd, for
    which one square cannot do it: the second is the first read backwards. Each number has each
    place equally often, and the reverse of each row is a row, too.
    Source: Williams (1949), Experimental designs balanced for the estimation of residual effects.
    """
    first = [(each + 1) // 2 if each % 2 else -(each // 2) for each in range(candidates)]
    square = tuple(
        tuple((each + shift) % candidates for each in first) for shift in range(candidates)
    )
    return square if candidates % 2 == 0 else (*square, *(row[::-1] for row in square))
