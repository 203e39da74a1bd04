"""Which window comes when: blocks in the order of the levels, candidates in random order in each.

A block is one window of every candidate at one level. Candidates are compared inside blocks, so
that what drifts during a run (heat, fill, neighbours) meets all of them alike; the random order
also removes what being first or last does. Of more than two candidates the blocks of a level are
taken from Williams squares, in which each follows each other equally often, so that what a window
leaves to the next one (a full cache, a busy drive) meets all of them alike, too.
Source: docs/explanation/method.md, "Blocks".
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from stithy.plan.ids import derive_seed

Rows = tuple[tuple[int, ...], ...]
Item = TypeVar("Item", str, int)


@dataclass(frozen=True)
class Block:
    """One window of each candidate at a level: `candidates` in the order of their windows.

    `index` counts from 0 within the level; `seed` is that of the virtual users of all its windows.
    """

    users: int
    index: int
    candidates: tuple[str, ...]
    seed: int


def blocks(
    candidates: Sequence[str], counts: Iterable[tuple[int, int]], seed: int
) -> tuple[Block, ...]:
    """All blocks of a study in their order; `counts` are the levels, each with its blocks."""
    return tuple(
        Block(
            users, index, shuffled(candidates, seed, users, index), derive_seed(seed, users, index)
        )
        for users, count in counts
        for index in range(count)
    )


def shuffled(candidates: Sequence[str], seed: int, users: int, index: int) -> tuple[str, ...]:
    """The candidates in the random order of one block.

    Up to two: a coin for each block. More: the row of a Williams square whose candidates and rows
    are drawn, so that each order is as likely as any other for a block by itself.
    """
    if len(candidates) < 3:
        return _drawn(candidates, seed, "order", users, index)
    rows = williams(len(candidates))
    square, place = divmod(index, len(rows))
    named = _drawn(candidates, seed, "square", users, square)
    turn = _drawn(range(len(rows)), seed, "rows", users, square)
    return tuple(named[each] for each in rows[turn[place]])


def _drawn(items: Iterable[Item], seed: int, *purpose: str | int) -> tuple[Item, ...]:
    """The items in a random order, the same for ever and however they are listed.

    Own: sorted by a hash of purpose and item, which gives every order the same chance.
    """
    return tuple(sorted(items, key=lambda each: derive_seed(seed, *purpose, each)))


@cache
def williams(candidates: int) -> Rows:
    """A square of orders of 0, 1, …, in which each number follows each other equally often.

    Shapes: as many rows as candidates where these are even; twice as many where they are odd, for
    which one square cannot do it: the second is the first read backwards. Each number has each
    place equally often.
    Source: Williams (1949), Experimental designs balanced for the estimation of residual effects.
    """
    first = [(each + 1) // 2 if each % 2 else -(each // 2) for each in range(candidates)]
    square = tuple(
        tuple((each + shift) % candidates for each in first) for shift in range(candidates)
    )
    return square if candidates % 2 == 0 else (*square, *(row[::-1] for row in square))
