"""Which level comes next, on storages of which the truth is known."""

from collections.abc import Callable

import pytest

from stithy.analysis.search.bracket import Trial, bracket
from stithy.analysis.search.course import Wanted, next_level, next_wanted
from stithy.search import Search
from support.searched import LIMIT, one_more

Storage = Callable[[int, int], bool | None]
"""Whether the n-th window at a level obeys; None: it is not valid."""


def serving(most: int) -> Storage:
    """A storage that serves so many users, always."""
    return lambda users, _: users <= most


def searched(storage: Storage, search: Search, most: int = 200) -> list[int]:
    """The levels of the windows of a whole search, in their order."""
    trials: dict[int, Trial] = {}
    order: list[int] = []
    while (users := next_level(list(trials.values()), search)) is not None:
        order.append(users)
        assert len(order) < most
        trials[users] = measured(trials.get(users, Trial(users)), storage)
    return order


def measured(before: Trial, storage: Storage) -> Trial:
    """A trial with one window more."""
    said = storage(before.users, before.obeyed + before.missed + before.silent)
    return one_more(before, said)


def test_users_are_doubled_then_halved_then_both_ends_are_measured_again() -> None:
    """The level that obeys first, then the one that does not."""
    order = searched(serving(34), Search(LIMIT, 1, 256))
    assert order == [1, 2, 4, 8, 16, 32, 64, 48, 40, 36, 34, 34, 36]


def test_below_twenty_users_the_bracket_closes_to_one_user() -> None:
    """Up to the last level that obeys and the next."""
    assert searched(serving(13), Search(LIMIT, 1, 256))[-2:] == [13, 14]


def test_a_search_that_reaches_its_end_tries_no_more() -> None:
    """Its last level is the end itself, measured twice."""
    assert searched(serving(10**6), Search(LIMIT, 1, 100)) == [1, 2, 4, 8, 16, 32, 64, 100, 100]


def test_a_limit_that_one_user_does_not_meet_ends_the_search() -> None:
    """After a second window that says the same."""
    assert searched(serving(0), Search(LIMIT, 1, 100)) == [1, 1]


def test_a_search_begins_with_what_the_listed_levels_tell() -> None:
    """They are not tried again, unless one is an end of the bracket."""
    known = [Trial(1, 1), Trial(8, 1), Trial(32, 0, 1)]
    search = Search(LIMIT, 1, 256, (1, 8, 32))
    assert next_level(known, search) == 20
    assert next_level([Trial(8, 0, 1)], Search(LIMIT, 1, 256, (8,))) == 1
    assert next_level([Trial(8, 1), Trial(9, 0, 20)], Search(LIMIT, 1, 256, (8, 9))) == 8


def test_a_second_window_that_disagrees_widens_the_bracket_to_the_next_ends() -> None:
    """34 obeyed once and once not: what is below and above it must be sure instead.

    No further level is tried: where noise decides, a finer bracket would only look surer.
    """

    def wavering(users: int, window: int) -> bool:
        return users < 34 or (users == 34 and window == 0)

    search = Search(LIMIT, 1, 256)
    order = searched(wavering, search)
    assert order[:12] == [1, 2, 4, 8, 16, 32, 64, 48, 40, 36, 34, 34]
    assert order[12:] == [32, 36]
    trials = [Trial(32, 2), Trial(34, 1, 1), Trial(36, 0, 2), Trial(40, 0, 1)]
    found = bracket(trials)
    assert (found.low, found.high, found.split) == (Trial(32, 2), Trial(36, 0, 2), (34,))


def test_a_level_without_a_valid_window_is_tried_once_more_and_then_shunned() -> None:
    """The driver could not do more: the search looks for the most that it could."""

    def driver_limited(users: int, _: int) -> bool | None:
        return True if users <= 40 else None

    order = searched(driver_limited, Search(LIMIT, 1, 256))
    assert order == [1, 2, 4, 8, 16, 32, 64, 64, 48, 48, 40, 44, 44, 42, 42, 40]


def test_candidates_that_want_one_level_are_measured_in_one_block() -> None:
    """Of different levels the lowest comes first."""
    search = Search(LIMIT, 1, 256)
    assert next_wanted({"sata": [], "nvme": []}, search) == Wanted(1, ("sata", "nvme"))
    trials = {"sata": [Trial(4, 1), Trial(8, 0, 1)], "nvme": [Trial(4, 1), Trial(8, 1)]}
    assert next_wanted(trials, search) == Wanted(6, ("sata",))
    done = {"sata": [Trial(1, 0, 2)], "nvme": [Trial(8, 1)]}
    assert next_wanted(done, search) == Wanted(16, ("nvme",))
    assert next_wanted({"sata": [Trial(1, 0, 2)]}, search) is None


@pytest.mark.parametrize("serves", range(0, 257, 7))
def test_a_search_costs_no_more_levels_than_it_says(serves: int) -> None:
    """Whatever the storage serves."""
    search = Search(LIMIT, 1, 256)
    assert len(set(searched(serving(serves), search))) <= search.levels_most == 14
