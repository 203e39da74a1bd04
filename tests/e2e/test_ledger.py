"""A study that keeps ledgers, on a real server: all is there, and what is taken away is missed."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from stithy.analysis.evidence import Window
from stithy.analysis.validity.reasons import Flag
from stithy.database.engines.postgresql.connection import connect, parse_url
from stithy.hosts.runner import Runner
from stithy.report.context import Context, context_of
from stithy.report.page import build
from stithy.results.read import read_run
from stithy.run.executor import execute
from stithy.run.preparation.equip import Tools
from stithy.run.start import start_run
from stithy.run.stop import Stop
from stithy.secrets import Secret
from stithy.wire.jobs import WorkloadSize
from stithy.wire.messages import AnyMessage, Second
from stithy.workload.hammer import Hammer
from stithy.workload.program import NOBODY, Driven, RunRequest, Watch
from support.finished import LEVELS, Finished
from support.html_page import page_text
from support.places import a_place
from support.running import left_by, write_study

pytestmark = pytest.mark.needs_postgresql

PAYMENT = "DELETE FROM history WHERE h_date = (SELECT max(h_date) FROM history)"
"""One payment: neither the order numbers nor the four quick conditions can notice."""
ROBBED, KILLED = 2, 3
"""Numbers of users: a payment is taken once they are done, the server dies while they work."""


class Saboteur(Hammer):
    """A hammer with somebody behind its back."""

    data: Path

    def __init__(self, runner: Runner, url: Secret) -> None:
        """As the hammer."""
        super().__init__(runner, url)
        self._database = parse_url(url)

    def run(self, workload: WorkloadSize, request: RunRequest, *, watch: Watch = NOBODY) -> Driven:
        """Drive; the server dies in the second second, or a payment is gone after the last."""

        def on_message(message: AnyMessage) -> None:
            if isinstance(message, Second) and message.second == 1 and request.users == KILLED:
                os.kill(int((self.data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)

        driven = super().run(
            workload, request, watch=Watch(watch.raw_output, on_message, watch.stop)
        )
        if request.users == ROBBED:
            with connect(self._database) as session:
                session.run(PAYMENT)
        return driven


@pytest.fixture(scope="module")
def sabotaged() -> Iterator[Context]:
    """A run of both levels, read back."""
    with a_place() as place, pytest.MonkeyPatch.context() as patch:
        patch.setenv("STITHY_STATE", str(place / "state"))
        patch.setattr(Saboteur, "data", place / "a/data", raising=False)
        study = write_study(place / "study.yaml", {"a": place / "a"}, users=[ROBBED, KILLED],
                            duration="1 s", load={"ledger": "true"})  # fmt: skip
        tools = Tools(hammer=lambda runner, cpus: lambda url: Saboteur(runner, url))
        outcome = execute(start_run(study, place / "out", Stop(), lambda event: None, tools))
        assert outcome.error is None
        assert left_by(place / "out") == []
        yield context_of(read_run(place / "out"))


def window_at(context: Context, users: int) -> Window:
    """The one window of this level."""
    [found] = context.evidence.at("a", users)
    return found


def invalidating(window: Window) -> list[Flag]:
    """Why it is invalid."""
    return [reason.flag for reason in window.reasons if reason.invalidates]


def test_what_was_acknowledged_is_there_after_every_window(finished: Finished) -> None:
    """Each ledger is compared; the counts are those of the windows, and the page says so."""
    context = context_of(read_run(finished.out))
    rows = context.run.ledger.to_dicts()
    assert len(rows) == 2 * len(context.evidence.windows) == 4 * len(LEVELS)
    assert all(row["acknowledged"] > 0 for row in rows)
    assert not any(row[name] for row in rows for name in ("lost", "differing", "returned"))
    for window in context.evidence.windows:
        of_window = [row["acknowledged"] for row in rows if row["window_id"] == window.id]
        assert sum(of_window) == window.row["ledger_acknowledged"]
        assert Flag.LEDGER not in invalidating(window)
    page = page_text(context.run.directory.page)
    assert "that the ledgers hold as acknowledged is missing" in page


def test_a_payment_that_is_taken_away_is_missed(sabotaged: Context) -> None:
    """The window is invalid, the top of the page says so, and the payment is named."""
    window = window_at(sabotaged, ROBBED)
    assert not window.valid
    assert invalidating(window) == [Flag.LEDGER]
    of_window = sabotaged.run.ledger.filter(window_id=window.id, deal="payment")
    assert of_window["lost"].to_list() == [1]
    findings = sabotaged.run.ledger_findings.filter(window_id=window.id)
    assert findings["kind"].to_list() == ["lost"]
    assert build(sabotaged).answer.flawed[0] == (
        "ACKNOWLEDGED WORK IS GONE: the ledgers of 1 window show 1 lost."
    )


def test_what_a_killed_server_acknowledged_is_there_after_its_recovery(sabotaged: Context) -> None:
    """The window has no numbers, but its ledger is compared, on a server that was started again."""
    window = window_at(sabotaged, KILLED)
    assert "the server was ended by SIGKILL" in window.row["missing_because"]
    assert invalidating(window) == [Flag.NO_NUMBERS]
    rows = sabotaged.run.ledger.filter(window_id=window.id).to_dicts()
    assert [row["deal"] for row in rows] == ["order", "payment"]
    assert all(row["acknowledged"] > 0 for row in rows)
    assert not any(row[name] for row in rows for name in ("lost", "differing", "returned"))
    assert (sabotaged.run.directory.window(window.id).recovery_log).exists()
