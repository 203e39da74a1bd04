"""Numbers and lists as people read them."""

import pytest

from stithy.report.words.wording import chance, count, finely, listing, percent, plural, rate, times


@pytest.mark.parametrize(
    ("ratio", "said"), [(1.084, "1.08"), (2.04, "2.0"), (3.087, "3.1"), (12.4, "12"), (0.5, "0.50")]
)
def test_a_factor_has_the_digits_a_window_supports(ratio: float, said: str) -> None:
    """Two decimals below 2, one below 10, none above."""
    assert times(ratio) == said


def test_counts_have_their_thousands_set_apart() -> None:
    """A comma at each thousand, no decimals."""
    assert count(14178.4) == "14,178"


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.97, "97 %"),
        (0.004, "0.4 %"),
        (0.0, "0 %"),
        (0.0003, "0 %"),
        (-0.004, "-0.4 %"),
        (-0.0003, "0 %"),
    ],
)
def test_shares_are_per_cent(share: float, said: str) -> None:
    """Small shares keep a decimal; zero, and what rounds to it, does not."""
    assert percent(share) == said


def test_one_is_singular() -> None:
    """And every other number plural."""
    assert plural(1, "user") == "1 user"
    assert plural(0, "user") == "0 users"
    assert plural(1200, "user") == "1,200 users"
    assert plural(2, "index", "indices") == "2 indices"


def test_lists_end_with_and() -> None:
    """The last two are joined by a word."""
    assert listing([]) == ""
    assert listing(["a"]) == "a"
    assert listing(["a", "b"]) == "a and b"
    assert listing(["a", "b", "c"]) == "a, b and c"


@pytest.mark.parametrize(
    ("value", "said"),
    [(0, "0"), (0.25, "0.25"), (5.7234, "5.72"), (48.123, "48.1"), (1204.4, "1,204")],
)
def test_rates_of_any_size_have_three_digits(value: float, said: str) -> None:
    """Three digits at least, thousands set apart."""
    assert rate(value) == said


def test_small_chances_are_never_nothing() -> None:
    """What is rare is said to be below what is printed."""
    assert [chance(share) for share in (0.125, 0.004, 0.0001, 0.0, 1.0)] == [
        "12.5 %", "0.4 %", "< 0.1 %", "0.0 %", "100.0 %",
    ]  # fmt: skip


def test_a_factor_near_one_has_a_third_digit() -> None:
    """Bounds of 0.986 and 1.012 would both read as 1."""
    assert (finely(0.9861), finely(1.012)) == ("0.986", "1.012")
