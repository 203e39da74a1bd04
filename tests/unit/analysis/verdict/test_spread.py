"""The interval of a mean: known cases, and its edges."""

import math

import pytest

from stithy.analysis.verdict.spread import factor_interval, mean_interval


def test_the_interval_is_that_of_a_printed_table() -> None:
    """Of 1, 2, 3: deviation 1, t 4.3027 with 2 degrees of freedom."""
    low, high = mean_interval([10.0, 11.0, 12.0])
    assert low == pytest.approx(11 - 4.302653 / 3**0.5, rel=1e-6)
    assert high == pytest.approx(11 + 4.302653 / 3**0.5, rel=1e-6)


def test_a_rate_is_never_negative() -> None:
    """Of two values far apart the lower end is 0."""
    assert mean_interval([1.0, 100.0])[0] == 0.0


def test_of_one_value_nothing_is_known() -> None:
    """No interval of width 0 is made up."""
    with pytest.raises(ValueError, match="two values"):
        mean_interval([1.0])


def test_the_interval_of_a_geometric_mean_is_that_of_the_logarithms() -> None:
    """Of 1, 2 and 4 the geometric mean is 2, and t with two degrees of freedom 4.303."""
    low, high = factor_interval([1.0, 2.0, 4.0])
    half = 4.302652730 * math.log(2) / math.sqrt(3)
    assert low == pytest.approx(2 * math.exp(-half))
    assert high == pytest.approx(2 * math.exp(half))
    with pytest.raises(ValueError, match="two values"):
        factor_interval([1.0])
