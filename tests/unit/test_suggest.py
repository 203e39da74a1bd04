"""The nearest known word."""

import pytest

from stithy.suggest import closest


@pytest.mark.parametrize(
    ("word", "expected"),
    [("rampup", "ramp_up"), ("ramp-up", "ramp_up"), ("RAMP_UP", "ramp_up"), ("zebra", None)],
)
def test_the_nearest_word_is_found_whatever_its_hyphens_and_case(
    word: str, expected: str | None
) -> None:
    """Nothing is suggested for a word that is like none."""
    assert closest(word, ["users", "ramp_up"]) == expected
