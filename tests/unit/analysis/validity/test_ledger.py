"""What the ledger says against a window, or only beside it."""

from pathlib import Path
from typing import Any

import pytest

from stithy.analysis.validity.flags import Flag
from stithy.analysis.validity.judge import is_valid, judge
from stithy.results.read import read_run
from support.sample_ledger import finding_rows, ledger_rows
from support.sample_run import Shape, build_run

Row = dict[str, Any]
HELD = [{"number": 1, "holds": True}]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Row:
    """A window row in which all is well."""
    root: Path = tmp_path_factory.mktemp("run")
    build_run(root, Shape(users=(4,), candidates=("disk",)))
    return read_run(root).window.to_dicts()[0]


def test_a_ledger_in_which_all_is_there_says_nothing(good: Row) -> None:
    """Doubts are no fault: nobody was told that they were done."""
    assert judge(good, HELD, ledger=ledger_rows("w", 10, lost=0)) == ()


@pytest.mark.parametrize("count", ["lost", "differing", "returned"])
def test_acknowledged_work_that_is_gone_makes_the_window_invalid(good: Row, count: str) -> None:
    """One transaction is enough; the sentence has its number and an example."""
    order, payment = ledger_rows("w", 10, lost=0)
    reasons = judge(good, HELD, ledger=[{**order, count: 1}, payment])
    assert [each.flag for each in reasons] == [Flag.LEDGER]
    assert not is_valid(reasons)
    assert "gone: 1 order " in reasons[0].sentence


def test_the_sentence_names_a_transaction_that_is_gone(good: Row) -> None:
    """The first that the hammer told."""
    [reason] = judge(
        good, HELD, ledger=ledger_rows("w", 10, lost=2), ledger_findings=finding_rows("w", 2)
    )
    assert reason.sentence == (
        "The ledger shows acknowledged work that is gone: 2 orders lost; such as order 3000 of "
        "district 4 of warehouse 1, dated 2026-07-21 12:00:03.250017+00."
    )


def test_a_window_without_numbers_is_held_to_its_ledger_all_the_same(good: Row) -> None:
    """What was acknowledged must be there, whatever ended the window."""
    dead = {**good, "missing_because": "the hammer was killed"}
    flags = [each.flag for each in judge(dead, ledger=ledger_rows("w", 10, lost=1))]
    assert flags == [Flag.NO_NUMBERS, Flag.LEDGER]


@pytest.mark.parametrize(
    ("flag", "change"),
    [
        (Flag.LEDGER_UNVERIFIED, {"ledger_unverified_because": "the server is gone"}),
        (Flag.LEDGER_CUT, {"ledger_problem": "No space left on device"}),
        (Flag.LEDGER_SHARES, {"ledger_shares": "vda"}),
    ],
)
def test_what_weakens_the_proof_is_noted(good: Row, flag: Flag, change: Row) -> None:
    """The window's numbers are not touched by it."""
    reasons = judge({**good, **change}, HELD)
    assert [each.flag for each in reasons] == [flag]
    assert is_valid(reasons)
    assert next(iter(change.values())) in reasons[0].sentence


def test_rows_that_the_ledger_does_not_know_are_noted(good: Row) -> None:
    """Another client, or the torn end of the ledger of a killed driver."""
    order, payment = ledger_rows("w", 10, lost=0)
    reasons = judge(good, HELD, ledger=[{**order, "unknown": 1}, {**payment, "unknown": 2}])
    assert [each.flag for each in reasons] == [Flag.LEDGER_UNKNOWN]
    assert reasons[0].sentence == (
        "The database holds 1 order and 2 payments that the ledger does not know."
    )
