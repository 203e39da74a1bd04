"""The tables of verdicts and of what else supports them."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from stithy.analysis.verdict.boundaries import CAUTION, critical
from stithy.analysis.verdict.student import t_critical
from stithy.report.context import Context, context_of
from stithy.report.parts import verdicts
from stithy.results.read import read_run
from support.sample_run import Shape, build_run


def _context(root: Path, shape: Shape) -> Context:
    build_run(root, shape)
    return context_of(read_run(root))


def test_every_comparison_has_its_verdict_and_one_answers_the_question(tmp_path: Path) -> None:
    """At four blocks and a factor of three all are decided."""
    context = _context(tmp_path, Shape(users=(4, 13), repeat=4, series=False))
    told, checks = verdicts.tables(context)
    rows = told.frame.to_dicts()
    assert [row["verdict"] for row in rows] == [
        "memory better (the question)", "memory better", "memory better", "memory better",
    ]  # fmt: skip
    assert {row["interval"] for row in rows} == {"conservative 95 %"}
    assert {row["pair"] for row in rows} == {"memory ÷ disk"}
    assert all(row["low"] < row["value"] < row["high"] for row in rows)
    narrower = t_critical(3) / (critical(4) * CAUTION)
    for row in rows:
        wide = math.log(row["high"] / row["low"])
        plain = math.log(row["plain_high"] / row["plain_low"])
        assert plain == pytest.approx(narrower * wide)
    assert checks.frame["sign_flip_share"].to_list() == [0.125] * 4
    assert checks.frame["blocks_needed"].to_list() == [None] * 4


def test_few_blocks_have_a_plain_interval_and_a_reason(tmp_path: Path) -> None:
    """Two are told as what they are; one has no cross-check at all."""
    context = _context(tmp_path / "2", Shape(users=(4,), repeat=2, series=False))
    told, checks = verdicts.tables(context)
    row = told.frame.to_dicts()[0]
    assert (row["interval"], row["verdict"]) == ("plain 95 % t", "undecided (the question)")
    assert row["because"] == "2 blocks, at least 4 are needed"
    assert checks.frame.height == 2
    context = _context(tmp_path / "1", Shape(users=(4,), duration_s=2, series=False))
    told, checks = verdicts.tables(context)
    assert set(told.frame["interval"]) == {"none"}
    assert checks.frame.is_empty()


def test_a_percentile_of_too_few_values_has_no_ratio_and_says_why(tmp_path: Path) -> None:
    """It is told all the same: nothing is left out without a word."""
    context = _context(tmp_path, Shape(users=(4,), repeat=4, duration_s=2, series=False))
    told, checks = verdicts.tables(context)
    done, waited = told.frame.to_dicts()
    assert (done["metric"], waited["metric"]) == ("NOPM", "p95")
    assert (waited["value"], waited["blocks"], waited["verdict"]) == (None, 0, "undecided")
    assert waited["because"].startswith("p95 needs 2,000 values in a window, and one has ")
    assert checks.frame["metric"].to_list() == ["NOPM"]


def test_a_single_candidate_has_empty_tables(tmp_path: Path) -> None:
    """The page then leaves the section out."""
    shape = Shape(candidates=("disk",), users=(4,), duration_s=2, series=False)
    assert [each.frame.height for each in verdicts.tables(_context(tmp_path, shape))] == [0, 0]


def test_the_rule_in_words_has_the_numbers_of_the_code(tmp_path: Path) -> None:
    """The page prints what is done."""
    context = _context(tmp_path, Shape(users=(4,), duration_s=2, series=False))
    assert verdicts.rule(context) == {
        "margin": "2 %", "looks": "4, 6, 8, 10, 12, 16 and 20", "caution": "1.3",
    }  # fmt: skip


@pytest.mark.parametrize(("most", "looks"), [(6, "4 and 6"), (7, "4, 6 and 7"), (3, "4")])
def test_looks_are_told_up_to_the_blocks_that_are_allowed(
    tmp_path: Path, most: int, looks: str
) -> None:
    """The limit is one too; a study of too few blocks is told how many it would need."""
    context = _context(tmp_path, Shape(users=(4,), duration_s=2, series=False))
    asked = replace(context.evidence.asked, blocks_most=most)
    context = replace(context, evidence=replace(context.evidence, asked=asked))
    assert verdicts.rule(context)["looks"] == looks
