"""Which window comes when: blocks in the order of the levels, candidates in random order in each.

A block is one window of every candidate at one level. Candidates are compared inside blocks, so
that what drifts during a run (heat, fill, neighbours) meets all of them alike; the random order
also removes what being first or last does. Source: docs/explanation/method.md, "Blocks".
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stithy.plan.ids import derive_seed


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

    Own: sorted by a hash of block and candidate, which gives every order the same chance and, other
    than a generator's shuffle, the same one for ever.
    """
    return tuple(
        sorted(candidates, key=lambda name: derive_seed(seed, "order", users, index, name))
    )
