"""`stithy hammer verify-ledger`: is everything that was acknowledged still there?"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from stithy.cli.hammer import options
from stithy.cli.hammer.options import Named, Size, Url
from stithy.cli.talk.options import Json, until_interrupted
from stithy.cli.talk.render import Align, say, show, show_json, table
from stithy.exits import Exit

if TYPE_CHECKING:
    from stithy.wire.messages import AnyMessage, LedgerCounts
    from stithy.wire.program import OnMessage
    from stithy.workload.program import LedgerVerified


def verify_ledger(
    url: Url,
    ledger: Path,
    *,
    workload: Named = None,
    units: Size = None,
    json: Json = False,
) -> Exit:
    """Prove from a commit ledger that the database has lost nothing that it acknowledged.

    Lists every acknowledged transaction of the ledger that is missing or changed. Also lists
    whether transactions without an answer were committed. Changes nothing. The exit code is 5 if
    something is lost.

    Example: `stithy hammer verify-ledger {local_url} run.ledger`

    Parameters
    ----------
    ledger
        The file that `stithy hammer run --ledger` or a study with `ledger: true` wrote.
    """
    from stithy.workload.program import Watch
    from stithy.workload.workload import Driving

    choice = options.loaded(url, workload, units).choice(Driving())
    with until_interrupted() as stop:
        watch = Watch(on_message=finding_line(), stop=stop)
        verified = options.hammer(url).verify_ledger(choice, ledger, watch=watch)
    if json:
        findings = [each.model_dump(mode="json") for each in verified.findings]
        show_json({**verified.summary.model_dump(mode="json"), "findings": findings})
    else:
        show(ledger_text(verified))
    return Exit.OK if verified.summary.holds else Exit.INVALID


FINDINGS = {
    "lost": "LOST",
    "differs": "DIFFERS",
    "returned": "REFUSED, BUT PRESENT",
    "doubt-committed": "in doubt, committed",
    "doubt-absent": "in doubt, not committed",
    "unknown": "not in the ledger",
}
"""What each kind of finding is called."""


def finding_line() -> "OnMessage":
    """Shows a finding of a ledger as soon as it is made."""
    from stithy.wire.messages import LedgerFinding

    def tell(message: "AnyMessage") -> None:
        if isinstance(message, LedgerFinding):
            say(f"{FINDINGS[message.kind]}: {message.text}")

    return tell


HEADINGS = {"unknown": "not in the ledger"}
"""What a count is called where its name does not say it."""


def ledger_text(verified: "LedgerVerified") -> str:
    """Transactions by kind and by what became of them, and the answer."""
    from stithy.wire.messages import LedgerCounts

    summary = verified.summary
    names = list(LedgerCounts.model_fields)
    rows = [
        [f"{deal}s", *(f"{getattr(counts, name):,}" for name in names)]
        for deal, counts in summary.entries.items()
    ]
    head = ["", *(HEADINGS.get(name, name.replace("_", " ")) for name in names)]
    align: list[Align] = ["left", *(["right"] * len(names))]  # type: ignore[list-item]  # of one Literal
    return "\n".join([table(head, rows, align), "", *_answer(verified)])


def _answer(verified: "LedgerVerified") -> Iterator[str]:
    from stithy.analysis.validity.checks.ledger import GONE

    summary = verified.summary
    both = tuple(summary.entries.values())
    unnamed = sum(_findings(counts) for counts in both) - len(verified.findings)
    if unnamed > 0:
        yield f"{unnamed:,} more findings are counted above, but not listed"
    torn = f"; the ledger's last {summary.torn_bytes:,} bytes were never synced"
    after = torn if summary.torn_bytes else ""
    if summary.holds:
        yield f"✓ nothing acknowledged was lost{after}"
        return
    gone = [f"{n:,} {name}" for name in GONE if (n := sum(getattr(each, name) for each in both))]
    yield f"✗ ACKNOWLEDGED WORK IS GONE: {', '.join(gone)}{after}"


def _findings(counts: "LedgerCounts") -> int:
    """All that could be named; each doubt is one, found or not."""
    from stithy.analysis.validity.checks.ledger import GONE

    return sum(getattr(counts, name) for name in (*GONE, "in_doubt", "unknown"))


COMMAND = verify_ledger
