"""`stithy hammer verify-ledger`: is everything that was acknowledged still there?"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from stithy.cli.hammer import options
from stithy.cli.hammer.options import Named, PasswordEnv, Size, Url
from stithy.cli.talk.options import Json
from stithy.cli.talk.render import make_table, show, show_json
from stithy.errors import Exit

if TYPE_CHECKING:
    from stithy.wire.hammer import LedgerVerified


def verify_ledger(
    url: Url,
    ledger: Path,
    *,
    password_env: PasswordEnv = None,
    workload: Named = None,
    size: Size = None,
    json: Json = False,
) -> Exit:
    """Prove from a commit ledger that the database has lost nothing that it acknowledged.

    Counts the acknowledged transactions of the ledger that are missing or changed, those that were
    refused and are there, and those without an answer. Lists the first 100 of each kind. Changes
    nothing. The exit code is 5 if one is missing, changed or was refused.

    Example: `stithy hammer verify-ledger {local_url} run.ledger`

    Parameters
    ----------
    ledger
        The file that `stithy hammer run --ledger` or a study with `ledger: true` wrote.
    """
    from stithy.study.sections import get_workload
    from stithy.workloads.workload import Driving

    database = options.open_database(url, password_env)
    section = options.find_loaded(database, workload, size)
    if not get_workload(section.name).has_ledger:
        raise options.refuse_unable(section.name, "keeps no commit ledger")
    choice = section.choice(Driving())
    said = {"ledger-finding": lambda found: f"{FINDINGS[found.kind]}: {found.text}"}
    with options.watch_job(said) as watch:
        verified = options.make_hammer(database).verify_ledger(choice, ledger, watch=watch)
    if json:
        findings = [finding.model_dump(mode="json") for finding in verified.findings]
        show_json({**verified.summary.model_dump(mode="json"), "findings": findings})
    else:
        show(make_ledger_text(verified))
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


HEADINGS = {"unknown": "not in the ledger"}
"""What a count is called where its name does not say it."""


def make_ledger_text(verified: "LedgerVerified") -> str:
    """Transactions by kind and by what became of them, and the answer."""
    from stithy.wire.messages import LedgerCounts

    summary = verified.summary
    names = list(LedgerCounts.model_fields)
    rows = [
        [f"{deal}s", *(f"{number:,}" for number in counts.model_dump().values())]
        for deal, counts in summary.entries.items()
    ]
    head = ["", *(HEADINGS.get(name, name.replace("_", " ")) for name in names)]
    return "\n".join([make_table(head, rows, "<" + ">" * len(names)), "", *_answer(verified)])


def _answer(verified: "LedgerVerified") -> Iterator[str]:
    from stithy.results.tables import GONE

    summary = verified.summary
    total: Counter[str] = Counter()
    for counts in summary.entries.values():
        total.update(counts.model_dump())
    # Each doubt is one, found or not.
    counted = sum(total[name] for name in (*GONE, "in_doubt", "unknown"))
    if (unnamed := counted - len(verified.findings)) > 0:
        yield f"{unnamed:,} more findings are counted above, but not listed"
    torn = f"; the ledger's last {summary.torn_bytes:,} bytes were never synced"
    after = torn if summary.torn_bytes else ""
    if summary.holds:
        none = "nothing is proven: the ledger holds no acknowledged transaction"
        kept = "✓ nothing acknowledged was lost" if total["acknowledged"] else none
        yield f"{kept}{after}"
        return
    gone = [f"{total[name]:,} {name}" for name in GONE if total[name]]
    yield f"✗ ACKNOWLEDGED WORK IS GONE: {', '.join(gone)}{after}"


COMMAND = verify_ledger
