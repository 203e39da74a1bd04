"""Blocks come in the order of the levels, candidates in a seeded and balanced order in each."""

from collections import Counter
from itertools import combinations, pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stithy.plan.order import blocks, ordered, williams

NAMES = st.lists(st.from_regex(r"[a-z0-9][a-z0-9-]{0,8}", fullmatch=True), min_size=1, unique=True)


@given(NAMES, st.lists(st.integers(1, 999), min_size=1, max_size=6, unique=True), st.integers(1, 4))
def test_every_block_has_one_window_of_every_candidate(
    names: list[str], levels: list[int], repeat: int
) -> None:
    """Levels as given, each so often, numbered from 0."""
    found = blocks(names, [(level, repeat) for level in levels], seed=7)
    assert [(each.users, each.index) for each in found] == [
        (level, index) for level in levels for index in range(repeat)
    ]
    assert all(sorted(each.candidates) == sorted(names) for each in found)


@given(NAMES, st.integers(0, 2**63 - 1))
def test_the_order_does_not_depend_on_how_candidates_are_listed(
    names: list[str], seed: int
) -> None:
    """Listing the candidates differently in the study is no other experiment."""
    assert ordered(names, seed, 4, 0) == ordered(list(reversed(names)), seed, 4, 0)


def test_all_orders_are_equally_likely() -> None:
    """Over many blocks of three candidates each of the six orders has its share."""
    names = ("a", "b", "c")
    seen = Counter(ordered(names, seed, 1, 0) for seed in range(6000))
    assert set(seen) == set(permutations(names))
    # The share is binomial with mean 1000 and standard deviation 29: five of them each way.
    assert all(abs(count - 1000) < 5 * 29 for count in seen.values())


@pytest.mark.parametrize("count", range(3, 10))
def test_in_a_square_each_follows_each_other_equally_often(count: int) -> None:
    """And each has each place equally often: balanced for what a window leaves to the next."""
    rows = williams(count)
    follows = Counter(pair for row in rows for pair in pairwise(row))
    assert len(rows) == (count if count % 2 == 0 else 2 * count)
    assert follows.keys() == set(permutations(range(count), 2))
    assert set(follows.values()) == {len(rows) // count}
    for place in range(count):
        assert Counter(row[place] for row in rows) == Counter(
            [*range(count)] * (len(rows) // count)
        )


@given(st.integers(3, 6), st.integers(0, 2**63 - 1), st.integers(0, 2))
def test_the_blocks_of_a_level_go_through_whole_squares(count: int, seed: int, square: int) -> None:
    """Whatever the seed, over each of them every candidate follows every other equally often."""
    names = "abcdef"[:count]
    size = len(williams(count))
    orders = [ordered(names, seed, 4, square * size + each) for each in range(size)]
    follows = Counter(pair for order in orders for pair in pairwise(order))
    assert follows.keys() == set(permutations(names, 2))
    assert set(follows.values()) == {size // count}
    assert len(set(orders)) == size


@given(st.integers(1, 6), st.integers(0, 2**63 - 1), st.integers(1, 999), st.integers(1, 12))
def test_after_every_even_number_of_blocks_no_candidate_came_before_another_oftener(
    count: int, seed: int, users: int, pairs: int
) -> None:
    """The second block of each pair is the first one reversed; so it is wherever a study ends."""
    orders = [ordered("abcdef"[:count], seed, users, index) for index in range(2 * pairs)]
    assert all(orders[each + 1] == orders[each][::-1] for each in range(0, 2 * pairs, 2))
    before = Counter(pair for order in orders for pair in combinations(order, 2))
    assert all(before[a, b] == before[b, a] == pairs for a, b in before)


@given(st.integers(0, 2**63 - 1), st.integers(1, 999), st.integers(1, 12))
def test_after_every_even_number_of_blocks_each_of_two_stood_equally_often_at_each_place(
    seed: int, users: int, pairs: int
) -> None:
    """No seed gives one of them the better place; with a coin for each block many did."""
    orders = [ordered("ab", seed, users, index) for index in range(2 * pairs)]
    for place in range(2):
        assert Counter(order[place] for order in orders) == {"a": pairs, "b": pairs}


def test_of_two_candidates_the_first_of_each_pair_of_blocks_is_drawn() -> None:
    """Neither the pair before nor its number says who is first."""
    first = [ordered(("a", "b"), 1, 4, index)[0] for index in range(0, 8000, 2)]
    changes = sum(x != y for x, y in pairwise(first))
    # Binomial with mean 2000 and standard deviation 32: five of them each way.
    assert abs(first.count("a") - 2000) < 5 * 32
    assert abs(changes - 2000) < 5 * 32


def test_all_windows_of_a_block_share_a_seed_and_no_other_block_has_it() -> None:
    """Candidates of one block see the same draws of the virtual users."""
    seeds = [each.seed for each in blocks(["a", "b"], [(1, 3), (4, 3), (13, 3)], seed=1)]
    assert len(set(seeds)) == len(seeds) == 9
