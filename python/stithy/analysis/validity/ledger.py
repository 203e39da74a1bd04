"""Is everything there that the ledger says was acknowledged, and was the ledger kept well?"""

from collections.abc import Mapping, Sequence
from typing import Any

from stithy.analysis.validity.flags import Flag
from stithy.analysis.validity.reason import Reason, clause

Row = Mapping[str, Any]

GONE = {
    "lost": "lost",
    "differing": "with other numbers or amounts",
    "returned": "there although refused",
}
"""The counts that must be 0, and what each is called after its number."""


def gone(ledger: Sequence[Row], findings: Sequence[Row]) -> Reason | None:
    """Something acknowledged is lost or differs, or something refused is there.

    Source: docs/reference/ledger.md, "What it proves".
    """
    parts = [
        f"{_deals(row, count)} {text}"
        for row in ledger
        for count, text in GONE.items()
        if row[count]
    ]
    if not parts:
        return None
    kinds = ("lost", "differs", "returned")
    examples = [str(row["text"]) for row in findings if row["kind"] in kinds]
    example = examples[0] if examples else "none that is told"
    return Reason(Flag.LEDGER, {"gone": ", ".join(parts), "example": clause(example)})


def unverified(window: Row) -> Reason | None:
    """A ledger was kept but not compared with the database.

    Own: the run says why.
    """
    because = window["ledger_unverified_because"]
    return Reason(Flag.LEDGER_UNVERIFIED, {"because": clause(because)}) if because else None


def cut(window: Row) -> Reason | None:
    """The ledger could not be written to its end.

    Own: the hammer says why.
    """
    because = window["ledger_problem"]
    return Reason(Flag.LEDGER_CUT, {"because": clause(because)}) if because else None


def unknown(ledger: Sequence[Row]) -> Reason | None:
    """Rows in the database, dated within the ledger's time, that it does not know.

    Source: docs/reference/ledger.md, "What it proves".
    """
    parts = [_deals(row, "unknown") for row in ledger if row["unknown"]]
    return Reason(Flag.LEDGER_UNKNOWN, {"unknown": " and ".join(parts)}) if parts else None


def shares(window: Row) -> Reason | None:
    """The ledger lay where the candidate's volume lies.

    Own: its syncs load the device under test, and what that loses it may lose.
    """
    what = window["ledger_shares"]
    return Reason(Flag.LEDGER_SHARES, {"what": clause(what)}) if what else None


def _deals(row: Row, count: str) -> str:
    """`1 order`, `2 payments`."""
    return f"{row[count]:,} {row['deal']}{'' if row[count] == 1 else 's'}"
