"""What a loss under a fault is worth: a broken promise, or a finding."""

from collections.abc import Mapping
from typing import Any

import pytest

from stithy.activity import get_table
from stithy.analysis.decision import is_answered
from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.gathering import WindowRecord, judge
from stithy.analysis.verdict import PrimaryComparison
from stithy.metrics import ALL
from stithy.point import Point
from stithy.scenarios.failure.judge import list_suffered

NONE, FAULT = (Point.of(users=4, fault=name) for name in ("none", "drive-gone"))
WHOLE = {
    "activity": "hammer, fault-none", "tried": False, "complete": True, "position": 0, "errors": 0,
    "tpm": 900.0, "proof_before": 1, "proof_after": 11, "headline_acknowledged": 10,
    "headline_in_doubt_found": 0, "ledger_acknowledged": 10, "gap_s": 2.0,
}  # fmt: skip
COLUMNS = {column.name: None for name in ("window", "load") for column in get_table(name).columns}
COUNTS = {column.name: 0 for column in get_table("ledger").columns}
GONE = {**COUNTS, "deal": "order", "lost": 3}
TABLES = frozenset({"values", "load", "ledger", "window"})


def window(
    candidate: str, promised: float | None, block: int = 0, gone: bool = False, **row: Any
) -> Window:
    """A window as judged; `promised` None: without a fault."""
    point = NONE if promised is None else FAULT
    made = {**COLUMNS, **WHOLE, "point": str(point), "candidate": candidate, "block": block, **row}
    values: Mapping[tuple[str, str], Any] = (
        {} if promised is None
        else {("fault.promised", ALL): {"value": promised, "missing_because": None}}
    )  # fmt: skip
    record = WindowRecord(made, values=values, ledger=[GONE] if gone else [], tables=TABLES)
    return Window(made, {}, judge(record), values=values)


@pytest.mark.parametrize(
    ("promised", "row", "valid", "answered", "lost"),
    [
        (1.0, {}, True, True, 0),
        (1.0, {"gone": True}, False, False, 1),
        (0.0, {"gone": True}, True, True, 1),
        (1.0, {"headline_in_doubt_found": -1}, False, False, 1),
        (0.0, {"headline_in_doubt_found": -1}, True, True, 1),
        (1.0, {"ledger_unverified_because": "no start", "proof_after": None}, False, False, 1),
        (0.0, {"ledger_unverified_because": "no start", "proof_after": None,
               "missing_because": "the server ended"}, False, True, 1),
        (0.0, {"ledger_unverified_because": "stopped by a person", "proof_after": None,
               "missing_because": "stopped"}, False, False, 0),
        (0.0, {"errors": 5}, False, False, 0),
    ],
)  # fmt: skip
def test_a_loss_breaks_a_promise_or_is_a_finding(
    promised: float, row: dict[str, Any], valid: bool, answered: bool, lost: int
) -> None:
    """One of two candidates has it; the other kept everything."""
    windows = (
        *(window(name, None) for name in "ab"),
        window("a", promised, **row), window("b", 1.0),
    )  # fmt: skip
    evidence = Evidence(("a", "b"), (NONE, FAULT), windows, primary=PrimaryComparison(point=FAULT))
    [of_a, of_b] = list_suffered(evidence)
    assert (windows[2].valid, len(of_a.list_lost())) == (valid, lost)
    assert (len(of_b.list_counted()), of_b.list_lost()) == (1, ())
    assert is_answered(evidence) == answered
