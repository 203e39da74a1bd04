"""What a run says, as values."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from stithy.analysis.answers.findings import (
    Comparison,
    Growth,
    Limits,
    findings,
    limits_of,
)
from stithy.analysis.gathering import gather
from stithy.analysis.verdict.decide import PrimaryComparison
from stithy.metrics import NOPM, P95
from stithy.report.context import context_of
from stithy.results.read import read_run
from support.reported import frames
from support.sample_run import Shape, build_run, window_id


def _findings(root: Path, shape: Shape) -> tuple[object, ...]:
    build_run(root, shape)
    context = context_of(read_run(root))
    evidence = gather(frames(context.run), shape.candidates, shape.users)
    return findings(evidence, context.limited)


def test_the_answer_compares_slowest_and_fastest_at_the_highest_level(tmp_path: Path) -> None:
    """The ratio is that of the windows' NOPM."""
    answer, *_ = _findings(tmp_path, Shape())
    assert isinstance(answer, Comparison)
    assert (answer.a, answer.b, answer.users, answer.metric) == ("disk", "memory", 13, NOPM)
    rows = {
        row["candidate"]: row["nopm"]
        for row in read_run(tmp_path).window.filter(pl.col("users") == 13).to_dicts()
    }
    assert answer.effect.ratio == pytest.approx(rows["memory"] / rows["disk"])
    assert answer.instead_of is None


def test_the_candidates_keep_the_order_of_the_study_whatever_is_asked(tmp_path: Path) -> None:
    """Else the answer would hold A against B by one metric, and B against A by another."""
    build_run(tmp_path, shape := Shape())
    context = context_of(read_run(tmp_path))
    evidence = gather(frames(context.run), shape.candidates, shape.users)
    for metric in (NOPM, P95):
        answer, other, *_ = findings(
            replace(evidence, primary=PrimaryComparison(metric)), context.limited
        )
        for each in (answer, other):
            assert isinstance(each, Comparison)
            assert (each.a, each.b) == ("disk", "memory")


def test_after_the_answer_come_response_time_limits_and_growth(tmp_path: Path) -> None:
    """The order is that of importance."""
    found = _findings(tmp_path, Shape())
    kinds = [type(finding) for finding in found]
    assert kinds == [Comparison, Comparison, Limits, Growth]
    assert isinstance(found[1], Comparison)
    assert found[1].metric == P95


def test_an_invalid_top_level_moves_the_answer_down(tmp_path: Path) -> None:
    """The highest level that has valid windows of two candidates answers, and says so."""
    changes = {window_id("disk", 13, 0): {"errors": 5}}
    answer, *_ = _findings(tmp_path, Shape(changes=changes))
    assert isinstance(answer, Comparison)
    assert (answer.users, answer.instead_of) == (4, 13)


def test_a_candidate_without_windows_leaves_a_comparison_without_a_ratio(tmp_path: Path) -> None:
    """The reason names the candidate."""
    gone = frozenset(window_id("memory", users, 0) for users in (1, 4, 13))
    answer, *rest = _findings(tmp_path, Shape(left_out=gone))
    assert isinstance(answer, Comparison)
    assert answer.effect.ratio is None
    assert answer.effect.missing_because == "memory has no window"
    assert not any(isinstance(finding, Comparison) for finding in rest)


def test_limits_are_told_of_the_level_that_was_asked_about(tmp_path: Path) -> None:
    """By the windows there that are valid."""
    changes = {window_id("disk", 4, 1): {"errors": 5}}
    build_run(tmp_path, Shape(repeat=2, changes=changes))
    context = context_of(read_run(tmp_path))
    asked = replace(context.evidence, primary=PrimaryComparison(users=4))
    found = limits_of(asked, context.limited)
    assert found is not None
    assert found.users == 4
    assert [(name, cause.windows_all) for name, cause in found.of] == [("disk", 1), ("memory", 2)]
