"""Bencher Metric Format: by its schema, means and merged percentiles with their bounds."""

import json
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

from stithy.report.context import context_of
from stithy.report.exports.bencher import export
from stithy.results.read import read_run
from support.sample_run import Shape, build_run

T_3 = 3.182446
"""Two-sided 5 % point of Student's t with 3 degrees of freedom, from a printed table."""


def document(root: Path) -> dict[str, Any]:
    """The exported document, held against the rules of https://bencher.dev/bmf.json."""
    told: dict[str, Any] = json.loads("".join(export(context_of(read_run(root))).pieces))
    for name, measures in told.items():
        assert 0 < len(name) <= 1024
        for measure, values in measures.items():
            assert 0 < len(measure) <= 64
            assert values.keys() <= {"value", "lower_value", "upper_value"}
            assert all(type(each) in (int, float) for each in values.values())
            assert values.get("lower_value", values["value"]) <= values["value"]
            assert values.get("upper_value", values["value"]) >= values["value"]
    return told


def test_a_rate_is_the_mean_of_its_windows_with_the_interval_of_the_mean(tmp_path: Path) -> None:
    """Four blocks: worked out anew from the table."""
    build_run(tmp_path, Shape(users=(4,), repeat=4, duration_s=3, series=False))
    told = document(tmp_path)["order-entry/candidate=memory/users=4"]["nopm"]
    each = read_run(tmp_path).window.filter(candidate="memory")["nopm"].to_list()
    half = T_3 * stdev(each) / 2
    assert told["value"] == pytest.approx(fmean(each))
    assert told["lower_value"] == pytest.approx(fmean(each) - half, rel=1e-6)
    assert told["upper_value"] == pytest.approx(fmean(each) + half, rel=1e-6)


def test_one_window_has_a_value_and_no_bounds(tmp_path: Path) -> None:
    """Nothing is known of how far another one would be."""
    build_run(tmp_path, Shape(users=(1,), duration_s=300, series=False))
    told = document(tmp_path)["order-entry/candidate=disk/users=1"]
    assert told.keys() == {"nopm", "tpm", "p50-seconds", "p95-seconds", "p99-seconds"}
    assert all(values.keys() == {"value"} for values in told.values())


def test_a_percentile_of_too_few_values_is_left_out(tmp_path: Path) -> None:
    """A few hundred transactions tell their median, and no 95th percentile."""
    build_run(tmp_path, Shape(users=(4,), duration_s=3, series=False))
    assert 200 <= completed(tmp_path, "w-memory-u4-b0") < 2_000
    told = document(tmp_path)["order-entry/candidate=memory/users=4"]
    assert told.keys() == {"nopm", "tpm", "p50-seconds"}


def completed(root: Path, window: str) -> int:
    """Transactions of all types."""
    (row,) = read_run(root).transactions.filter(window_id=window, transaction="all").to_dicts()
    return int(row["committed"] + row["rolled_back"])
