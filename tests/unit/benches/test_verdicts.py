"""The bench of the verdicts measures what it says."""

import pytest

import verdicts
from simulated_studies import Outcome, Truth, Where, end_of, gaussian, skewed, tally
from stithy.analysis.verdict.decide import Call


def test_the_same_seed_gives_the_same_studies() -> None:
    """Two runs of the bench print the same table."""
    truth = Truth(1.02, 0.02)
    first = tally(gaussian, truth, Where.BALANCED, studies=50)
    assert first == tally(gaussian, truth, Where.BALANCED, studies=50)
    assert first.studies == sum(first.calls.values())
    assert 4 <= first.blocks_mean <= 20


def test_without_caution_the_boundaries_mislead_as_published() -> None:
    """The model of the skew is the one for which the caution was chosen: 12.9 % of 20,000."""
    bare = tally(skewed, Truth(), Where.CANDIDATE, studies=3000, end=verdicts.bare_end)
    assert bare.different_share == pytest.approx(0.129, abs=0.02)


def test_a_study_ends_at_the_first_look_that_decides() -> None:
    """A factor of two needs four blocks; what never clears up goes to the limit."""
    assert end_of([0.69, 0.70] * 10) == Outcome(Call.BETTER, 4)
    assert end_of([0.5, -0.5] * 10) == Outcome(Call.UNDECIDED, 20)
    assert verdicts.look_always([0.5, -0.5] * 10).blocks == 20
    with pytest.raises(ValueError, match="do not reach the limit"):
        end_of([0.5, -0.5] * 3 + [0.1])


def test_the_whole_bench_prints_its_tables(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a handful of studies, to see that every line is there."""
    monkeypatch.setattr(verdicts, "STUDIES", 20)
    assert verdicts.main([]) in (0, 99)
    printed = capsys.readouterr().out
    for name in (
        "coins give all of four blocks",
        "3 % more",
        "a drift of 20 %",
        "gaussian",
        "heavy-tailed",
        "AR(1)",
        "one-sided skew",
        "exponential",
        "1.05",
        "plain t",
    ):
        assert name in printed
