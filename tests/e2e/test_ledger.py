"""Ledgers of windows after which something is missing, on a real server; that all is there where
nobody takes anything is among what `test_run.py` looks at.
"""

import os
import signal
from collections.abc import Iterator

import pytest

from stithy.analysis.evidence import Window
from stithy.engines.postgresql.connection import connect
from stithy.engines.postgresql.url import parse_url
from stithy.report.context import Context
from stithy.report.sections.answer import answer
from stithy.secrets import Secret
from stithy.validity import Flag
from support import flags
from support.meddled import meddled
from support.places import a_place
from support.points import at

pytestmark = pytest.mark.needs_postgresql

ROBBED, KILLED = 2, 3
"""Numbers of users: a payment is taken once they are done, the server dies while they work."""


def rob(url: Secret) -> None:
    """Take a payment away: neither order numbers nor the four quick conditions can notice."""
    with connect(parse_url(url)) as session:
        session.run("DELETE FROM history WHERE h_date = (SELECT max(h_date) FROM history)")


@pytest.fixture(scope="module")
def sabotaged() -> Iterator[Context]:
    """A run of both levels, read back."""

    def kill(url: Secret) -> None:
        os.kill(int((data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)

    with a_place() as place, pytest.MonkeyPatch.context() as patch:
        data, load = place / "a/data", {"ledger": "true"}
        levels, during, after = [ROBBED, KILLED], {KILLED: kill}, {ROBBED: rob}
        yield meddled(place, patch, levels, load=load, during=during, after=after)


def _window(context: Context, users: int) -> tuple[Window, list[Flag]]:
    """The window of this level, and why it is invalid."""
    [window] = context.evidence.at("a", at(users))
    return window, [reason.flag for reason in window.reasons if reason.invalidates]


def test_a_payment_that_is_taken_away_is_missed(sabotaged: Context) -> None:
    """The window is invalid, the top of the page says so, and the payment is named."""
    window, raised = _window(sabotaged, ROBBED)
    assert not window.valid
    assert flags.LEDGER in raised
    assert not {flags.HEADLINE_COUNT, flags.COMMITS, flags.CONDITIONS} & {*raised}
    of_window = sabotaged.run.ledger.filter(window_id=window.id, deal="payment")
    assert of_window["lost"].to_list() == [1]
    findings = sabotaged.run.ledger_findings.filter(window_id=window.id)
    assert findings["kind"].to_list() == ["lost"]
    [shown, *_] = answer(sabotaged).flaws
    assert shown == "ACKNOWLEDGED WORK IS GONE: the ledgers of 1 window show 1 lost."


def test_what_a_killed_server_acknowledged_is_there_after_its_recovery(sabotaged: Context) -> None:
    """The window has no numbers, but its ledger is compared, on a server that was started again."""
    window, raised = _window(sabotaged, KILLED)
    assert "the server was ended by SIGKILL" in window.row["missing_because"]
    assert raised == [flags.NO_NUMBERS]
    rows = sabotaged.run.ledger.filter(window_id=window.id).to_dicts()
    assert [row["deal"] for row in rows] == ["order", "payment"]
    assert all(row["acknowledged"] > 0 for row in rows)
    assert not any(row[name] for row in rows for name in ("lost", "differing", "returned"))
    assert sabotaged.run.directory.window(window.id).recovery_log.exists()
