"""How many of the measured users are within a limit that was not searched for."""

import pytest

from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.search.within import Within, within
from stithy.analysis.validity.flags import Flag
from stithy.search import Search
from support.searched import LIMIT, evidence, window


def held(*windows: list[Window], search: Search | None = None) -> Within:
    """What is known of the candidate `a` with these windows."""
    whole = evidence([each for some in windows for each in some])
    known = Evidence(whole.candidates, whole.levels, whole.windows, search=search)
    return within(known, "a", LIMIT)


def test_it_is_the_highest_level_that_obeys_below_the_first_that_does_not() -> None:
    """A measured level, and none in between."""
    known = held(window("a", 1, [0.2]), window("a", 4, [0.5, 1.0]), window("a", 13, [1.2]))
    assert known == Within(4, not_at=13)
    assert not known.at_least


def test_where_the_highest_level_obeys_it_is_at_least_so_many() -> None:
    """Nobody has tried more."""
    known = held(window("a", 1, [0.2]), window("a", 4, [0.5]))
    assert known == Within(4)
    assert known.at_least


def test_a_level_of_which_one_valid_window_does_not_obey_does_not() -> None:
    """Windows that disagree end it, with the reason."""
    known = held(window("a", 1, [0.2]), window("a", 4, [0.5, 1.1]))
    assert known == Within(1, open_because="at 4 its windows disagree")
    assert known.at_least


def test_invalid_windows_say_nothing() -> None:
    """Neither that a level obeys nor that it does not."""
    late = window("a", 4, [5.0], flags=[Flag.DRIVER_LATE])
    known = held(window("a", 1, [0.2]), late)
    assert known == Within(1, open_because="at 4 the driver was the limit")


@pytest.mark.parametrize(
    ("windows", "because"),
    [
        ([window("a", 2, [1.5])], "at 2 it is beyond the limit"),
        ([window("a", 2, [0.1], flags=[Flag.DRIVER_LATE])], "the driver was the limit"),
        ([window("b", 2, [0.1])], "no window tells of it"),
        ([], "the run has no window yet"),
    ],
)
def test_where_no_level_is_known_to_obey_it_says_why(
    windows: list[list[Window]], because: str
) -> None:
    """Missing, and never 0."""
    known = held(*windows)
    assert known.users is None
    assert known.missing_because == because
    assert not known.at_least


def test_a_search_for_the_same_limit_is_what_is_told() -> None:
    """Its bracket, and that it was cut off where it was."""
    first = window("a", 1, [0.2, 0.2])
    assert held(first, search=Search(LIMIT, 1, 8)) == Within(
        1, open_because="its search was cut off"
    )
