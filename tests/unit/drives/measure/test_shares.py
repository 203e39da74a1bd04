"""A distribution as a table of a few times."""

import random

import pytest

from fakes.fio import bin_ns
from stithy.drives.measure.measurement import Histogram
from stithy.drives.measure.shares import SHARES, mean_of_geometric, mean_s, times_s


def of(times: list[float]) -> Histogram:
    """A histogram in fio's bins."""
    bins = sorted(bin_ns(round(each * 1e9)) for each in times)
    return Histogram(
        counts_by_ns={each: bins.count(each) for each in sorted(set(bins))}, sum_s=sum(times)
    )


@pytest.mark.parametrize("spread", [0.01, 0.4, 1.2])
def test_a_table_keeps_the_quantiles_and_the_mean(spread: float) -> None:
    """What is drawn from it then has the rate that was measured."""
    draw = random.Random(2)
    times = sorted(1e-4 * draw.lognormvariate(0, spread) for _ in range(20_000))
    table = times_s(of(times))
    assert len(table) == len(SHARES)
    assert list(table) == sorted(table)
    for share in (0.1, 0.5, 0.9, 0.99):
        wanted = times[int(share * len(times)) - 1]
        assert table[SHARES.index(share)] == pytest.approx(wanted, rel=0.02)
    assert mean_s(table) == pytest.approx(sum(times) / len(times), rel=0.01)


def test_one_time_alone_is_a_flat_table() -> None:
    """Nothing is divided by nothing."""
    table = times_s(of([1e-4]))
    assert table[0] == table[-1] == pytest.approx(1e-4, rel=0.01)


def test_the_mean_between_two_times_is_the_logarithmic_mean() -> None:
    """Against a slow literal version."""
    steps = 100_000
    literal = sum(2.0 * 5.0 ** ((i + 0.5) / steps) for i in range(steps)) / steps
    assert mean_of_geometric(2.0, 10.0) == pytest.approx(literal, rel=1e-6)
    assert mean_of_geometric(3.0, 3.0) == 3.0
