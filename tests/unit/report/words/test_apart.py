"""Numbers that differ are never written as if they did not."""

from typing import cast

import pytest

from stithy.metrics import Unit
from stithy.report.words.wording import told_apart


@pytest.mark.parametrize(
    ("left", "right", "unit", "told"),
    [
        (1.0004, 1.0, "s", ("1.0004 s", "1 s")),
        (1204.2, 1204.4, "1/min", ("1204.2/min", "1204.4/min")),
        (0.90001, 0.90002, "share", ("0.90001", "0.90002")),
        (5e6, 5000001.0, "B/s", ("5000000 B/s", "5000001 B/s")),
    ],
)
def test_the_fewest_digits_that_differ_are_told(
    left: float, right: float, unit: str, told: tuple[str, str]
) -> None:
    """In the unit itself, without an exponent."""
    assert told_apart(left, right, cast(Unit, unit)) == told
