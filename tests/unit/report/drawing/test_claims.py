"""What a title says of the question: its verdict in few words, and why there may be none."""

from pathlib import Path

import pytest

from stithy.analysis.answers.comparisons import Compared
from stithy.analysis.verdict.decide import Call, Verdict
from stithy.analysis.verdict.effect import no_effect
from stithy.metrics import NOPM
from stithy.report.context import context_of
from stithy.report.drawing.claims import claimed, why_none
from stithy.results.read import read_run
from support.sample_run import Shape, build_run, window_id


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (Call.BETTER, "nvme is better than sata"),
        (Call.WORSE, "sata is better than nvme"),
        (Call.HIGHER, "nvme has more than sata"),
        (Call.LOWER, "sata has more than nvme"),
        (Call.EQUIVALENT, "sata and nvme are equivalent within 1.5 %"),
        (Call.NEGLIGIBLE, "sata and nvme differ by less than 1.5 %"),
        (Call.UNDECIDED, "undecided between sata and nvme"),
    ],
)
def test_a_claim_says_the_verdict_and_no_more(call: Call, expected: str) -> None:
    """Of the candidate that it is on, with the margin where it matters."""
    verdict = Verdict(call, 4, 0.015)
    compared = Compared(NOPM, "sata", "nvme", 4, no_effect("not looked at"), verdict, None)
    assert claimed(compared) == expected


def test_without_a_second_candidate_nothing_is_compared(tmp_path: Path) -> None:
    """It is the first reason of all."""
    build_run(tmp_path, Shape(candidates=("disk",), users=(1,), duration_s=4))
    assert why_none(context_of(read_run(tmp_path))) == "there is no second candidate"


def test_valid_windows_without_values_to_compare_are_not_said_to_be_invalid(
    tmp_path: Path,
) -> None:
    """A window that did nothing is valid, and has no ratio."""
    changes = {window_id("disk", 4, 0): {"nopm": 0.0}}
    build_run(tmp_path, Shape(users=(4,), duration_s=4, series=False, changes=changes))
    because = why_none(context_of(read_run(tmp_path)))
    assert because == "no values of two candidates can be compared; the answer says why"
