"""The tables of verdicts and of what else supports them."""

from dataclasses import replace
from pathlib import Path

import pytest

from stithy.report.context import Context, context_of
from stithy.report.parts import certainty
from stithy.results.read import read_run
from support.sample_run import Shape, build_run


def _context(root: Path, shape: Shape) -> Context:
    build_run(root, shape)
    return context_of(read_run(root))


def test_a_percentile_of_too_few_values_has_no_ratio_and_says_why(tmp_path: Path) -> None:
    """It is told all the same: nothing is left out without a word."""
    context = _context(tmp_path, Shape(users=(4,), repeat=4, duration_s=2, series=False))
    told, checks = certainty.verdict_tables(context)
    done, waited = told.frame.to_dicts()
    assert (done["metric"], waited["metric"]) == ("NOPM", "p95")
    assert (waited["value"], waited["blocks"], waited["verdict"]) == (None, 0, "undecided")
    assert waited["because"].startswith("p95 needs 2,000 values in a window, and one has ")
    assert checks.frame["metric"].to_list() == ["NOPM"]


def test_the_rule_in_words_has_the_numbers_of_the_code(tmp_path: Path) -> None:
    """The page prints what is done."""
    context = _context(tmp_path, Shape(users=(4,), duration_s=2, series=False))
    assert certainty.verdict_rule(context) == {
        "margin": "2 %", "interim_blocks": "4, 6, 8, 10, 12, 16 and 20", "caution": "1.3",
    }  # fmt: skip


@pytest.mark.parametrize(("most", "looks"), [(6, "4 and 6"), (7, "4, 6 and 7"), (3, "4")])
def test_looks_are_told_up_to_the_blocks_that_are_allowed(
    tmp_path: Path, most: int, looks: str
) -> None:
    """The limit is one too; a study of too few blocks is told how many it would need."""
    context = _context(tmp_path, Shape(users=(4,), duration_s=2, series=False))
    asked = replace(context.evidence.primary, blocks_most=most)
    context = replace(context, evidence=replace(context.evidence, primary=asked))
    assert certainty.verdict_rule(context)["interim_blocks"] == looks
