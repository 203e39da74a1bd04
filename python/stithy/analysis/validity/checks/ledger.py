"""Does the commit ledger agree with the database, and was the block measured again?"""

from collections.abc import Sequence

from stithy.analysis.validity.record import WindowRecord
from stithy.validity import Check, Flag, Reason, Row, clause

NAME = "ledger"
ORDER = 90

LEDGER = Flag(
    "acknowledged work is gone",
    "The ledger shows that acknowledged work is gone: {gone}. Example: {example}.",
    "Do not trust this storage or this server: it lost what it had acknowledged.",
    invalidates=True,
)

LEDGER_UNVERIFIED = Flag(
    "ledger not compared",
    "The ledger was not compared with the database: {because}.",
    "The database's own count proves the work behind the throughput. The rest is not proven.",
)

LEDGER_CUT = Flag(
    "ledger ended early",
    "The ledger ended early: {because}.",
    "Free space where the results are, or use a faster device. The rest is not proven.",
)

LEDGER_UNKNOWN = Flag(
    "work that the ledger does not know",
    "The database holds {unknown} that the ledger does not know.",
    "Look for other clients of this server. After a killed driver these are the work of the "
    "ledger's torn end.",
)

LEDGER_SHARES = Flag(
    "ledger on the storage under test",
    "The ledger was on the storage under test: both are on {what}.",
    "Name a directory on another device with --out. The ledger's syncs load this device.",
)

MEASURED_AGAIN = Flag(
    "block measured again",
    "Its block was measured a second time, because one of its windows was invalid.",
    "The second attempt counts. This one is shown, and supports no claim.",
    invalidates=True,
    is_own=False,
)


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
    example = examples[0] if examples else "none that is named"
    return Reason(LEDGER, {"gone": ", ".join(parts), "example": clause(example)})


def unverified(window: Row) -> Reason | None:
    """A ledger was kept but not compared with the database."""
    because = window["ledger_unverified_because"]
    return Reason(LEDGER_UNVERIFIED, {"because": clause(because)}) if because else None


def cut(window: Row) -> Reason | None:
    """The ledger could not be written to its end."""
    because = window["ledger_problem"]
    return Reason(LEDGER_CUT, {"because": clause(because)}) if because else None


def unknown(ledger: Sequence[Row]) -> Reason | None:
    """Rows in the database, dated within the ledger's time, that it does not know.

    Source: docs/reference/ledger.md, "What it proves".
    """
    parts = [_deals(row, "unknown") for row in ledger if row["unknown"]]
    return Reason(LEDGER_UNKNOWN, {"unknown": " and ".join(parts)}) if parts else None


def shares(window: Row) -> Reason | None:
    """The ledger lay where the candidate's volume lies.

    Own: its syncs load the device under test, and what that loses it may lose.
    """
    what = window["ledger_shares"]
    return Reason(LEDGER_SHARES, {"what": clause(what)}) if what else None


def _deals(row: Row, count: str) -> str:
    """`1 order`, `2 payments`."""
    return f"{row[count]:,} {row['deal']}{'' if row[count] == 1 else 's'}"


def measured_again(of: WindowRecord) -> Reason | None:
    """Another attempt at its block counts."""
    return Reason(MEASURED_AGAIN) if of.measured_again else None


CHECKS: tuple[Check[WindowRecord], ...] = (
    Check(("ledger",), lambda of: gone(of.ledger, of.ledger_findings), always=True),
    Check(("load",), lambda of: unverified(of.window), always=True),
    Check(("load",), lambda of: cut(of.window), always=True),
    Check(("ledger",), lambda of: unknown(of.ledger), always=True),
    Check(("load",), lambda of: shares(of.window), always=True),
    Check(("window",), measured_again, always=True),
)
