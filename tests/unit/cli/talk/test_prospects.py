"""Whether a study can end either way, as its plan says it."""

from dataclasses import replace

import pytest

from stithy.analysis.verdict.decide import Call
from stithy.cli.talk.prospects import as_text, as_values, outlook
from stithy.plan.question import Question

ASKED = Question(4, "nopm", 0.02, ("a", "b"), 4, 6, ())


def test_without_earlier_runs_the_noise_is_assumed_and_said_to_be() -> None:
    """Six blocks at 2 % of both noise and margin: equals end undecided, and what mends that."""
    expected = outlook(ASKED, 2, (), 1)
    assert expected is not None
    said = as_text(expected)
    assert "block noise 2%\n(assumed: no earlier run on this machine measured it)." in said
    assert [each.ratio for each in expected.prospects] == [1.0, 1.02, 1.04]
    assert "if truly" in said
    assert "better by 4%" in said
    assert expected.margin_needed == pytest.approx(0.06, abs=0.006)
    assert "allow more blocks, or a margin of " in said


def test_the_noise_of_earlier_runs_is_their_median() -> None:
    """A quiet machine can end either way, and is given no advice."""
    expected = outlook(replace(ASKED, blocks_most=20), 2, (0.001, 0.005, 0.5), 1)
    assert expected is not None
    assert (expected.noise_share, expected.margin_needed) == (0.005, None)
    said = as_text(expected)
    assert "block noise 0.5%\n(the median of 3 earlier runs on this machine)." in said
    assert "margin of" not in said
    assert expected.prospects[0].shares[Call.EQUIVALENT] > 0.95
    assert expected.prospects[2].shares[Call.BETTER] > 0.95
    assert as_values(expected)["noise_runs"] == 3


def test_where_no_verdict_can_come_nothing_is_foretold() -> None:
    """Without a question, and with fewer blocks than a verdict needs."""
    assert outlook(None, 1, (), 1) is None
    assert outlook(replace(ASKED, blocks_least=2, blocks_most=2), 2, (), 1) is None


def test_a_pair_that_is_chosen_later_is_harder_to_tell() -> None:
    """Three candidates, none of them named in the question."""
    wide = replace(ASKED, blocks_most=12)
    named, chosen = outlook(wide, 3, (), 1), outlook(replace(wide, candidates=None), 3, (), 1)
    assert named is not None
    assert chosen is not None
    assert chosen.prospects[2].different_share < named.prospects[2].different_share
