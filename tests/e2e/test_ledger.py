"""A study that keeps ledgers, on a real server: all is there, and what is taken away is missed."""

import os
import signal
from pathlib import Path

import pytest

from stithy.database.engines.postgresql.connection import connect, parse_url
from stithy.hosts.runner import Runner
from stithy.report.context import Context, context_of
from stithy.report.page import build, render
from stithy.results.read import read_run
from stithy.run.executor import execute
from stithy.run.preparation.equip import Tools
from stithy.run.start import start_run
from stithy.run.stop import Stop
from stithy.secrets import Secret
from stithy.wire.jobs import WorkloadSize
from stithy.wire.messages import AnyMessage, Second
from stithy.workload.hammer import Hammer
from stithy.workload.program import NOBODY, Driven, Program, RunRequest, Watch
from support.running import left_by, write_study

pytestmark = pytest.mark.needs_postgresql

PAYMENT = "DELETE FROM history WHERE h_date = (SELECT max(h_date) FROM history)"
"""One payment: neither the order numbers nor the four quick conditions can notice."""


class Thief(Hammer):
    """A hammer with somebody behind its back, who works as soon as the users are done."""

    def __init__(self, runner: Runner, url: Secret) -> None:
        """As the hammer."""
        super().__init__(runner, url)
        self._way = parse_url(url)

    def run(self, workload: WorkloadSize, request: RunRequest, *, watch: Watch = NOBODY) -> Driven:
        """Drive, then take a payment away."""
        driven = super().run(workload, request, watch=watch)
        with connect(self._way) as session:
            session.run(PAYMENT)
        return driven


class Killer(Hammer):
    """A hammer whose server is killed while the users work."""

    data: Path

    def run(self, workload: WorkloadSize, request: RunRequest, *, watch: Watch = NOBODY) -> Driven:
        """Drive; the server dies in the second second."""

        def on_message(message: AnyMessage) -> None:
            if isinstance(message, Second) and message.second == 1:
                os.kill(int((self.data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)

        return super().run(workload, request, watch=Watch(watch.raw_output, on_message, watch.stop))


def ran(
    place: Path,
    hammer: type[Hammer],
    monkeypatch: pytest.MonkeyPatch,
    names: tuple[str, ...] = ("a", "b"),
) -> Context:
    """A study of a window for each candidate, with ledgers, run here and read back."""
    monkeypatch.setenv("STITHY_STATE", str(place / "state"))
    load = {"ledger": "true"}
    candidates = {name: place / name for name in names}
    study = write_study(place / "study.yaml", candidates, users=[2], duration="1 s", load=load)

    tools = Tools(hammer=lambda runner, cpus: lambda url: _program(hammer, runner, url))
    outcome = execute(start_run(study, place / "out", Stop(), lambda event: None, tools))
    assert outcome.error is None
    assert left_by(place / "out") == []
    return context_of(read_run(place / "out"))


def _program(hammer: type[Hammer], runner: Runner, url: Secret) -> Program:
    return hammer(runner, url)


def test_what_was_acknowledged_is_there_after_every_window(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each ledger is compared; the counts are those of the windows, and the page says so."""
    context = ran(place, Hammer, monkeypatch)
    assert [window.valid for window in context.evidence.windows] == [True, True]
    rows = context.run.ledger.to_dicts()
    assert len(rows) == 4
    assert all(row["acknowledged"] > 0 for row in rows)
    assert not any(row[name] for row in rows for name in ("lost", "differing", "returned"))
    durable = {
        row["window_id"]: row["ledger_acknowledged"] for row in context.run.window.to_dicts()
    }
    for window_id, count in durable.items():
        of_window = [row["acknowledged"] for row in rows if row["window_id"] == window_id]
        assert sum(of_window) == count
    page = build(context)
    html = render(page, {figure.name: "<svg></svg>" for figure in page.figures})
    assert "that the ledgers hold as acknowledged is missing" in html


def test_a_payment_that_is_taken_away_is_missed(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The windows are invalid, the top of the page says so, and the payment is named."""
    context = ran(place, Thief, monkeypatch)
    for window in context.evidence.windows:
        assert not window.valid
        assert [reason.flag.name for reason in window.reasons if reason.invalidates] == ["LEDGER"]
    assert context.run.ledger.filter(deal="payment")["lost"].to_list() == [1, 1]
    assert context.run.ledger_findings["kind"].to_list() == ["lost", "lost"]
    page = build(context)
    assert page.answer.flawed[0] == (
        "ACKNOWLEDGED WORK IS GONE: the ledgers of 2 windows show 2 lost."
    )


def test_what_a_killed_server_acknowledged_is_there_after_its_recovery(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The window has no numbers, but its ledger is compared, on a server that was started again."""
    monkeypatch.setattr(Killer, "data", place / "a/data", raising=False)
    context = ran(place, Killer, monkeypatch, ("a",))
    [window] = context.evidence.windows
    assert "the server was ended by SIGKILL" in window.row["missing_because"]
    assert [reason.flag.name for reason in window.reasons if reason.invalidates] == ["NO_NUMBERS"]
    rows = context.run.ledger.to_dicts()
    assert [row["deal"] for row in rows] == ["order", "payment"]
    assert all(row["acknowledged"] > 0 for row in rows)
    assert not any(row[name] for row in rows for name in ("lost", "differing", "returned"))
    assert (context.run.directory.window(window.id).recovery_log).exists()
