"""Blocks come in the order of the levels, candidates in a seeded and balanced order in each."""

from collections import Counter
from itertools import combinations, pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stithy.plan.steps import (
    derive_seed,
    list_blocks,
    list_rounds,
    make_williams_square,
    make_window_id,
    order_items,
)
from stithy.point import Point
from support.points import at

NAME = st.from_regex(r"[a-z0-9][a-z0-9-]{0,8}", fullmatch=True)
NAMES = st.lists(NAME, min_size=1, unique=True)
SEED = st.integers(0, 2**63 - 1)
WINDOW = st.tuples(NAME, st.integers(1, 10**5), st.integers(0, 999))


@given(NAMES, st.lists(st.integers(1, 999), min_size=1, max_size=6, unique=True), SEED)
def test_every_block_has_one_window_of_every_candidate(
    names: list[str], levels: list[int], seed: int
) -> None:
    """Levels as given, each so often; listing candidates differently is no other experiment."""
    found = list_blocks(names, [(at(level), 3) for level in levels], seed)
    assert [(each.point.level, each.index) for each in found] == [
        (level, index) for level in levels for index in range(3)
    ]
    assert all(sorted(each.candidates) == sorted(names) for each in found)
    assert len({each.seed for each in found}) == len(found), "blocks draw independently"
    assert list_blocks(names[::-1], [(at(level), 3) for level in levels], seed) == found


@pytest.mark.parametrize("count", range(3, 10))
def test_in_a_square_each_follows_each_other_equally_often(count: int) -> None:
    """And each has each place equally often: balanced for what a window leaves to the next."""
    rows = make_williams_square(count)
    follows = Counter(pair for row in rows for pair in pairwise(row))
    assert len(rows) == (count if count % 2 == 0 else 2 * count)
    assert follows.keys() == set(permutations(range(count), 2))
    assert set(follows.values()) == {len(rows) // count}
    for place in range(count):
        seen = Counter(row[place] for row in rows)
        assert seen == Counter([*range(count)] * (len(rows) // count))


@given(st.integers(3, 6), SEED, st.integers(0, 2))
def test_the_blocks_of_a_level_go_through_whole_squares(count: int, seed: int, square: int) -> None:
    """Whatever the seed, over each of them every candidate follows every other equally often."""
    size = len(make_williams_square(count))
    orders = [
        order_items("abcdef"[:count], seed, at(4), square * size + each) for each in range(size)
    ]
    follows = Counter(pair for order in orders for pair in pairwise(order))
    assert follows.keys() == set(permutations("abcdef"[:count], 2))
    assert set(follows.values()) == {size // count}
    assert len(set(orders)) == size


@given(st.integers(1, 6), SEED, st.integers(1, 999), st.integers(1, 12))
def test_after_every_even_number_of_blocks_no_candidate_came_before_another_oftener(
    count: int, seed: int, users: int, pairs: int
) -> None:
    """The second block of each pair is the first one reversed; so it is wherever a study ends."""
    orders = [order_items("abcdef"[:count], seed, at(users), index) for index in range(2 * pairs)]
    before = Counter(pair for order in orders for pair in combinations(order, 2))
    assert all(before[a, b] == before[b, a] == pairs for a, b in before)


def test_all_orders_are_equally_likely_whatever_came_before() -> None:
    """Six orders of three candidates; of two, who is first says nothing of the next pair's."""
    seen = Counter(order_items("abc", seed, at(1), 0) for seed in range(6000))
    assert set(seen) == set(permutations("abc"))
    # Binomial: five standard deviations each way.
    assert all(abs(count - 1000) < 5 * 29 for count in seen.values())
    first = [order_items("ab", 1, at(4), index)[0] for index in range(0, 8000, 2)]
    assert abs(first.count("a") - 2000) < 5 * 32
    assert abs(sum(x != y for x, y in pairwise(first)) - 2000) < 5 * 32


def _id(name: str, users: int, block: int) -> str:
    return make_window_id(name, at(users), block)


@given(WINDOW, WINDOW, SEED)
def test_ids_tell_windows_apart_and_seeds_never_change(
    one: tuple[str, int, int], other: tuple[str, int, int], seed: int
) -> None:
    """Whatever the candidates are called. Old studies give their old plans, in 63 bits."""
    assert (one == other) == (_id(*one) == _id(*other))
    assert make_window_id("disk", at(4), 2, attempt=1) == "w-disk-u4-b2-again"
    assert derive_seed(1, 4, 0) == 8962321159997215273
    assert 0 <= derive_seed(seed, *one) < 2**63


@given(NAMES, st.lists(st.integers(1, 6), min_size=1, max_size=5), SEED)
def test_rounds_have_the_same_blocks_one_of_every_point_at_a_time(
    names: list[str], counts: list[int], seed: int
) -> None:
    """Points are then compared within a round; their users draw the same at each setting."""
    sizes = [Point((("users", 4), ("database.memory", f"{n + 1} GiB"))) for n in range(len(counts))]
    asked = list(zip(sizes, counts, strict=True))
    found = list_rounds(names, asked, seed)
    assert sorted(map(repr, found)) == sorted(map(repr, list_blocks(names, asked, seed)))
    assert [each.index for each in found] == sorted(each.index for each in found)
    for index in range(max(counts)):
        here = [each for each in found if each.index == index]
        assert {each.point for each in here} == {p for p, count in asked if count > index}
        assert len({each.seed for each in here}) == 1
