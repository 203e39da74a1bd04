"""Critical values and tails of Student's t."""

import math

import pytest

from stithy.analysis.verdict.student import t_beyond, t_critical


@pytest.mark.parametrize(
    ("degrees", "printed"),
    [(1, 12.706), (2, 4.303), (5, 2.571), (10, 2.228), (30, 2.042), (120, 1.980)],
)
def test_critical_values_are_those_of_the_printed_tables(degrees: int, printed: float) -> None:
    """The two-sided 95 % values of Student's t, as every textbook has them."""
    assert t_critical(degrees) == pytest.approx(printed, abs=5e-4)


def test_a_t_distribution_needs_a_degree_of_freedom() -> None:
    """Zero degrees are an error, not a number."""
    with pytest.raises(ValueError, match="degree"):
        t_critical(0)


def test_a_tail_is_what_its_critical_value_leaves() -> None:
    """The two are inverse to each other; far out nothing is left."""
    for degrees in (1, 3, 19):
        assert t_beyond(t_critical(degrees), degrees) == pytest.approx(0.05)
    assert t_beyond(0.0, 5) == pytest.approx(1.0)
    assert t_beyond(math.inf, 5) == 0.0
