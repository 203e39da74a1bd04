"""Which pair answers the question."""

from stithy.analysis.verdict.pair import farthest_pair, pairs_among


def test_the_ends_are_the_pair_least_first() -> None:
    """Whatever their order; one candidate has no pair."""
    assert farthest_pair({"b": 2.0, "a": 3.0, "c": 1.0}) == ("c", "a")
    assert farthest_pair({"a": 1.0}) is None
    assert farthest_pair({}) is None


def test_the_order_of_the_study_decides_between_equals() -> None:
    """Equal results give equal sentences."""
    assert farthest_pair({"b": 1.0, "a": 1.0}) == ("b", "a")


def test_pairs_are_counted() -> None:
    """Two candidates have one, four have six; nobody chooses from none."""
    assert [pairs_among(count) for count in (0, 1, 2, 3, 4)] == [1, 1, 1, 3, 6]
