"""The ledger of a window: comparing it with the database.

Whatever happened to the window, its ledger is compared, after the server was started once more
where it had ended: what was acknowledged must be there all the same.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from stithy.engines.instance import Instance
from stithy.errors import Interrupted, StithyError, failures_of_the_machine
from stithy.results import tables
from stithy.results.convert import ledger_finding_rows, ledger_rows
from stithy.results.tables import Row, Table
from stithy.wire.hammer import LedgerVerified, Program, Watch

if TYPE_CHECKING:
    from stithy.activities.hammer.activity import HammerActivity


def verify(measured: "HammerActivity", hammer: Program, instance: Instance) -> None:
    """Compare the window's ledger with the database, and keep what that says or why it could not.

    Raises Interrupted, and nothing else of the machine's.
    """
    context = measured.context
    if not context.file.study.load.ledger:
        return
    if not measured.directory.ledger.exists():
        measured.ledger_unverified_because = "the window wrote no ledger"
    elif ended := instance.ended_by():
        measured.ledger_unverified_because = f"the server {ended}"
    else:
        with _keeping_reason(measured):
            measured.ledger = _verified(measured, hammer)


def verify_after_end(measured: "HammerActivity") -> None:
    """Start a server that ended under the users once more, and compare: what ledgers are for.

    What the server acknowledged before its end must be there after it has recovered. Raises nothing
    of the machine's; a person who wants an end gets it.
    """
    context = measured.context
    directory = measured.directory
    wanted = context.file.study.load.ledger and directory.ledger.exists()
    ended = measured.ended_because is not None and measured.ledger is None
    if not wanted or not ended or context.session.stop.asked.is_set():
        return
    with (
        suppress(Interrupted),
        _keeping_reason(measured, "after the server's end, "),
        context.servers.running(
            measured.window.candidate, directory.recovery_log, tenant=measured.tenant
        ) as instance,
    ):
        measured.ledger = _verified(measured, context.hammer(instance.url))
        measured.ledger_unverified_because = None


@contextmanager
def _keeping_reason(measured: "HammerActivity", when: str = "") -> Iterator[None]:
    """What fails inside is kept as the reason why the ledger was not compared."""
    try:
        with failures_of_the_machine(f"the ledger of window {measured.window.id}"):
            yield
    except Interrupted:
        measured.ledger_unverified_because = "stopped by a person"
        raise
    except StithyError as error:
        measured.ledger_unverified_because = f"{when}{error.text}"


def _verified(measured: "HammerActivity", hammer: Program) -> LedgerVerified:
    context, directory = measured.context, measured.directory
    watch = Watch(raw_output=directory.ledger_output)
    return hammer.verify_ledger(
        context.choice_at(measured.window.point), directory.ledger, watch=watch
    )


def list_ledger_tables(measured: "HammerActivity") -> Iterator[tuple[Table, list[Row]]]:
    """The window's tables of the ledger, empty where it was not compared."""
    window_id, verified = measured.window.id, measured.ledger
    counts = ledger_rows(window_id, verified.summary) if verified else []
    findings = ledger_finding_rows(window_id, verified.findings) if verified else []
    yield tables.LEDGER, counts
    yield tables.LEDGER_FINDINGS, findings


def describe_ledger(measured: "HammerActivity") -> str:
    """What the comparison came to, in words for the step; empty without a ledger."""
    if measured.ledger is None:
        because = measured.ledger_unverified_because
        return f"; its ledger was not compared: {because}" if because else ""
    if not measured.ledger.summary.holds:
        return "; ITS LEDGER SHOWS THAT ACKNOWLEDGED WORK IS GONE"
    return "; nothing acknowledged is missing"
