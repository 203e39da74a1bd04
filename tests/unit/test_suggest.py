"""The nearest known word."""

import pytest

from stithy.suggest import closest, instead


@pytest.mark.parametrize(
    ("word", "expected"),
    [("rampup", "ramp_up"), ("ramp-up", "ramp_up"), ("RAMP_UP", "ramp_up"), ("zebra", None)],
)
def test_the_nearest_word_is_found_whatever_its_hyphens_and_case(
    word: str, expected: str | None
) -> None:
    """Nothing is suggested for a word that is like none."""
    assert closest(word, ["users", "ramp_up"]) == expected


@pytest.mark.parametrize(
    ("word", "quote", "expected"),
    [
        ("user", "`", "did you mean `users`?"),
        ("user", "", "did you mean users?"),
        ("zebra", "`", "one of users, ramp_up"),
    ],
)
def test_a_word_that_is_like_none_is_answered_with_all(
    word: str, quote: str, expected: str
) -> None:
    """Else with the nearest one, quoted as the place has it."""
    assert instead(word, ["users", "ramp_up"], quote) == expected
