"""`stithy hammer verify-ledger`: is everything that was acknowledged still there?"""

from pathlib import Path
from typing import TYPE_CHECKING

from stithy.cli.hammer import options
from stithy.cli.hammer.options import Json, Url, Warehouses
from stithy.cli.hammer.shown import Show
from stithy.cli.render import Align, say, show, show_json, table
from stithy.cli.until_interrupted import until_interrupted
from stithy.exits import Exit

if TYPE_CHECKING:
    from stithy.wire.messages import AnyMessage, LedgerSummary


def verify_ledger(
    url: Url, ledger: Path, *, warehouses: Warehouses = None, json: Json = False
) -> Exit:
    """Prove from a ledger that the database has lost nothing that it acknowledged.

    Tells every order and payment that was acknowledged and is gone, or is otherwise than it was,
    and what became of those that were never answered. Changes nothing. The exit code is 5 where
    something is gone.

    Example: `stithy hammer verify-ledger postgresql://me@/test?host=/run/postgresql run.ledger`

    Parameters
    ----------
    ledger
        The file that `stithy hammer run --ledger` or a study with `ledger: true` wrote.
    """
    from stithy.workload.hammer import Watch

    size = options.size(warehouses or options.loaded(url))
    with until_interrupted() as stop:
        watch = Watch(on_message=finding_line(), stop=stop)
        verified = options.hammer(url).verify_ledger(size, ledger, watch=watch)
    if json:
        findings = [each.model_dump(mode="json") for each in verified.findings]
        show_json({**verified.summary.model_dump(mode="json"), "findings": findings})
    else:
        show(ledger_text(verified.summary))
    return Exit.OK if verified.summary.holds else Exit.INVALID


FINDINGS = {
    "lost": "LOST",
    "differs": "DIFFERS",
    "returned": "ROLLED BACK, YET THERE",
    "doubt-committed": "in doubt, committed",
    "doubt-absent": "in doubt, not committed",
    "unknown": "not in the ledger",
}
"""What each kind of finding is called."""


def finding_line() -> Show:
    """Shows a finding of a ledger as soon as it is made."""
    from stithy.wire.messages import LedgerFinding

    def tell(message: "AnyMessage") -> None:
        if isinstance(message, LedgerFinding):
            say(f"{FINDINGS[message.kind]}: {message.text}")

    return tell


def ledger_text(summary: "LedgerSummary") -> str:
    """Orders and payments by what became of them, and the answer."""
    kept = {"orders": summary.orders, "payments": summary.payments}
    names = list(type(summary.orders).model_fields)
    rows = [
        [deal, *(f"{getattr(counts, name):,}" for name in names)] for deal, counts in kept.items()
    ]
    head = ["", *(name.replace("_", " ") for name in names)]
    align: list[Align] = ["left", *(["right"] * len(names))]  # type: ignore[list-item]  # of one Literal
    answer = "✓ nothing acknowledged was lost" if summary.holds else "✗ ACKNOWLEDGED WORK IS GONE"
    torn = f"; the ledger's last {summary.torn_bytes:,} bytes were never synced"
    return f"{table(head, rows, align)}\n\n{answer}{torn if summary.torn_bytes else ''}"


COMMAND = verify_ledger
