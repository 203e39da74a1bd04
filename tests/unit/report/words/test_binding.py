"""Numbers that stay on one line with their units."""

import pytest

from stithy.report.words.escape import NO_BREAK, bound


@pytest.mark.parametrize(
    "text",
    [
        "(95_% interval, 4_blocks)", "159_ms against 51.5_ms", "850_µs", "2_min_5_s", "1_h_10_min",
        "64_MiB/s", "13_users", "a margin of 1.5_%.", "within 1_s;", "1,204_B",
    ],
)  # fmt: skip
def test_a_number_and_its_unit_do_not_break(text: str) -> None:
    """Neither do the parts of a duration; other spaces do."""
    assert bound(text.replace("_", " ")) == text.replace("_", NO_BREAK)


def test_a_dot_between_two_parts_stands_at_the_end_of_a_line() -> None:
    """And never at the beginning of the next."""
    assert bound("closed loop · cold") == f"closed loop{NO_BREAK}· cold"


@pytest.mark.parametrize(
    "text", ["5 of 100 studies", "4 million", "{% if x > 5 %}", "figure 3 shows", "3 memory"]
)
def test_other_spaces_are_left_alone(text: str) -> None:
    """A word is no unit, and the end of a template's statement no percent sign."""
    assert bound(text) == text
