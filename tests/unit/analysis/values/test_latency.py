"""Response times of several windows as one distribution."""

import random

import pytest

from stithy.analysis.values.latency import merged_percentiles
from stithy.results.hlog import Histogram
from support.hlog import histogram


def test_merged_percentiles_are_those_of_all_values_together() -> None:
    """Not the mean of the windows' percentiles: a bad window weighs with all its values."""
    good, bad = histogram(*[1000] * 90), histogram(*[1000] * 80, *[9000] * 30)
    merged = merged_percentiles({"payment": [good, bad]})
    whole = histogram(*[1000] * 170, *[9000] * 30)
    assert merged["payment"]["response_p95_s"] == whole.percentile_s(95)
    assert merged["payment"]["response_p50_s"] == pytest.approx(1e-3, rel=1e-3)


def test_all_is_merged_over_types_and_windows() -> None:
    """In whatever way the values are split."""
    draw = random.Random(3)
    values = [int(draw.lognormvariate(8, 1)) + 1 for _ in range(600)]
    parts = [histogram(*values[start::4]) for start in range(4)]
    merged = merged_percentiles({"new-order": parts[:2], "payment": parts[2:]})
    whole = histogram(*values)
    assert merged["all"] == {
        "response_p50_s": whole.percentile_s(50),
        "response_p90_s": whole.percentile_s(90),
        "response_p95_s": whole.percentile_s(95),
        "response_p99_s": whole.percentile_s(99),
        "response_p999_s": whole.percentile_s(99.9),
    }


def test_types_without_values_have_no_entry() -> None:
    """Missing is absent, never 0."""
    empty = Histogram({}, 10, 0)
    assert merged_percentiles({}) == {}
    assert set(merged_percentiles({"payment": [histogram(5)], "delivery": [empty]})) == {
        "payment",
        "all",
    }
