"""How finely a search looks, and how many levels it may take."""

from stithy.search import ResponseTarget, Search, levels_within, next_tried, resolution

LIMIT = ResponseTarget("p99.9", "new-order", 0.02)


def test_a_limit_names_its_column_and_is_written_as_in_a_study() -> None:
    """With the unit that fits."""
    assert (LIMIT.column, LIMIT.name) == ("response_p999_s", "p99.9 of new-order")
    assert LIMIT.percent == 99.9
    assert str(LIMIT) == "max users with p99.9 of new-order ≤ 20 ms"
    assert str(ResponseTarget("p50", "all", 2.5e-4)) == "max users with p50 of all ≤ 250 us"
    assert str(ResponseTarget("p50", "all", 90.0)) == "max users with p50 of all ≤ 90 s"


def test_a_value_just_at_the_limit_obeys() -> None:
    """At most is written, and at most is meant."""
    assert LIMIT.obeyed(0.02)
    assert not LIMIT.obeyed(0.0200001)


def test_a_bracket_closes_to_one_user_and_above_twenty_to_about_a_twentieth() -> None:
    """The middle is tried until then."""
    assert [resolution(users) for users in (1, 19, 29, 31, 100, 1000)] == [1, 1, 1, 2, 5, 50]
    assert next_tried(32, 64) == 48
    assert next_tried(34, 36) is None
    assert next_tried(1, 2) is None


def test_levels_are_counted_before_they_are_tried() -> None:
    """Doublings to the end, and what halving may take after the last of them."""
    assert Search(LIMIT, 1, 256).levels_most == 14
    assert Search(LIMIT, 100, 150).levels_most == 2 + 4


def test_listed_levels_save_others() -> None:
    """Below the first of them, between two, and above the last: the worst of these counts."""
    assert Search(LIMIT, 1, 64, (1, 2, 4, 8, 16, 32, 64)).levels_most == 4
    assert Search(LIMIT, 1, 100, (20, 50)).levels_most == 1 + 5
    assert Search(LIMIT, 1, 256, (1, 200)).levels_most == 8


def test_listed_levels_outside_are_left_out() -> None:
    """The ends belong to the search."""
    assert levels_within((1, 2, 8, 9), 2, 8) == (2, 8)
