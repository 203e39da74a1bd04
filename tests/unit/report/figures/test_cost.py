"""Throughput against cost: what the study gives, by what the files hold."""

from functools import partial
from pathlib import Path
from statistics import fmean

import polars as pl
import pytest

from stithy.report.figure import Absent, Figure
from stithy.report.figures.cost import draw
from stithy.results.manifest import CostFacts
from support.drawn import all_drawn
from support.sample_run import Shape

COSTS = {
    "disk": CostFacts(amount=100.0, currency="EUR"),
    "memory": CostFacts(amount=1200.0, currency="EUR"),
}


drawn = partial(all_drawn, draw)


def test_cost_per_nopm_is_the_cost_by_the_mean_of_the_windows(tmp_path: Path) -> None:
    """At the level that the answer tells of; the title has the least first."""
    shape = Shape(users=(1, 4), repeat=3, duration_s=4, series=False, costs=COSTS)
    [found] = drawn(tmp_path, shape)
    assert isinstance(found, Figure)
    each = {}
    for name, cost in COSTS.items():
        windows = tmp_path.glob(f"windows/w-{name}-u4-b*/window.parquet")
        nopm = fmean(pl.read_parquet(path)["nopm"].item() for path in windows)
        [row] = found.table.frame.filter(candidate=name).to_dicts()
        assert row["value"] == pytest.approx(nopm)
        assert row["each"] == pytest.approx(cost.amount / nopm)
        assert row["windows"] == 3
        each[name] = cost.amount / nopm
    first, second = sorted(each, key=each.__getitem__)
    assert found.title == (
        f"Cost per NOPM at 4 users: {each[first]:.3g} EUR on {first} and "
        f"{each[second]:.3g} EUR on {second}"
    )
    lines = [
        rows for rows in found.spec["datasets"].values() if {"cost": 0.0, "value": 0.0} in rows
    ]
    [line] = lines
    assert line[1]["cost"] / line[1]["value"] == pytest.approx(each[first], rel=1e-4)


def test_without_costs_nothing_is_said(tmp_path: Path) -> None:
    """Nothing is missing of what the study did not give."""
    assert drawn(tmp_path, Shape(users=(1,), duration_s=4, series=False)) == []


def test_a_single_candidate_with_a_cost_is_compared_with_none(tmp_path: Path) -> None:
    """The table of the candidates has its number."""
    shape = Shape(users=(1,), duration_s=4, series=False, costs={"disk": COSTS["disk"]})
    [found] = drawn(tmp_path, shape)
    assert isinstance(found, Absent)
    assert found.because == "fewer than two candidates have both a cost and a valid window"
