"""Backups with fakes: at shares of a maximum, and of a database that nobody works on."""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from fakes.agents import FakeAgents
from fakes.clock import HurriedClock
from stithy.activities.hammer.report import list_agents
from stithy.errors import InfrastructureError, InvalidMeasurement
from stithy.report.context import make_context
from stithy.report.page import Page
from stithy.results.files import read_run
from stithy.run.executor import RunOutcome
from stithy.wire.hammer import LedgerVerified
from stithy.wire.jobs import BackToBack, Pace, RunRequest, WireRate, WorkloadChoice
from support.own_engine import Committing, OwnEngine
from support.running import left_by
from support.scenarios import PROVEN

pytestmark = pytest.mark.usefixtures("own_state", "fakes")
STUDY = """study: What does a backup cost?
candidates: {a: {path: "{root}/a"}, b: {path: "{root}/b"}}
database: {engine: memory, memory: 64 MiB}
workload: {name: order-entry, warehouses: 1}
load: {LOAD, calibrate: false, repeat: 1}
scenario: {backup: {method: copy, KEYS}}
"""
USERS = "users: [2], ramp_up: 1 s, duration: 2 s"


class Unequal(Committing):
    """On candidate b an answer takes twice as long as on a. `paces`: by candidate, those asked."""

    def __init__(self, **how: Any) -> None:
        super().__init__(sound=True, response_s=self._response, **how)
        self.paces: dict[str, list[Pace]] = {"a": [], "b": []}

    @property
    def _candidate(self) -> str:
        return "b" if "/b/" in f"{self.url.reveal()}/" else "a"

    def _response(self, request: RunRequest) -> float:
        return 0.04 if self._candidate == "b" else 0.02

    def run(self, *given: Any, **more: Any) -> Any:
        """As asked."""
        request: RunRequest = given[1]
        self.paces[self._candidate].append(request.pace)
        return super().run(*given, **more)


def _run(root: Path, keys: str, load: str = USERS, **how: Any) -> tuple[OwnEngine, RunOutcome]:
    text = STUDY.replace("LOAD", load).replace("KEYS", keys)
    faked = OwnEngine(root, hammer=Unequal(**how), text=text, clock=HurriedClock())
    return faked, faked.run()


@pytest.mark.parametrize(
    ("of", "per_s"), [("slowest", {"a": 25.0, "b": 25.0}), ("own", {"a": 50.0, "b": 25.0})]
)
def test_rates_are_shares_of_the_maximum(tmp_path: Path, of: str, per_s: dict[str, float]) -> None:
    """Of the slowest candidate or of each one's own: 2 users do 100 and 50 a second at most."""
    faked, outcome = _run(tmp_path, f"during: {{rate: 50%, of: {of}}}")
    assert outcome.error is None
    assert isinstance(faked.hammer, Unequal)
    for name, paces in faked.hammer.paces.items():
        first, *others = paces
        assert first == BackToBack()
        rates = [other.per_s for other in others if isinstance(other, WireRate)]
        assert rates == pytest.approx([per_s[name]] * 2, rel=0.05)


def test_an_unmeasured_maximum_gives_no_rate(tmp_path: Path) -> None:
    """The windows that need it say why they have no numbers, and no users begin in them."""
    faked, _ = _run(tmp_path, "during: {rate: 50%}", complete=False)
    assert isinstance(faked.hammer, Unequal)
    assert {type(pace) for paces in faked.hammer.paces.values() for pace in paces} == {BackToBack}
    reasons = {row["missing_because"] for row in read_run(faked.out).window.to_dicts()}
    assert any("50% of the maximum cannot be asked" in str(reason) for reason in reasons), reasons


def test_users_that_fail_cost_their_window_and_not_the_run(tmp_path: Path) -> None:
    """The backups beside them end at once; the next window is measured all the same."""
    gone = InfrastructureError("the hammer is gone", where="somewhere", remedy="none")
    faked, outcome = _run(tmp_path, "during: {users: 2}", faults={"run": gone})
    assert (outcome.end, outcome.error) == ("finished", None)
    rows = read_run(faked.out).window.to_dicts()
    assert len(rows) == 4, "each candidate with backups and without"
    assert {row["missing_because"] for row in rows} == {"somewhere: the hammer is gone: none"}
    assert not any(row["complete"] for row in rows)
    assert left_by(faked.out) == []


LONG_ENOUGH = "users: [2], rate: 6/min, ledger: true, ramp_up: 1 s, duration: 2 h"
"""For backups beside the users; so many seconds have many rows."""

KILLED_ONCE = """#!/bin/sh
# Copies as asked; the first copy of a kind is killed once its files are there.
{cp} "$@" || exit
case "$2" in */data/.) kind=backup;; *) kind=restore;; esac
[ $kind = {kind} ] && mkdir {place}/once 2>/dev/null && kill -KILL $$
exit 0
"""


@pytest.mark.parametrize("kind", ["backup", "restore"])
def test_a_killed_backup_or_restore_costs_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """It is a span with the reason; the window is complete, and the proof at the end holds."""
    (programs := tmp_path / "programs").mkdir()
    script = KILLED_ONCE.format(cp=shutil.which("cp"), kind=kind, place=programs)
    (programs / "cp").write_text(script)
    (programs / "cp").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    faked, outcome = _run(tmp_path, "cycles: 2", LONG_ENOUGH)
    assert (outcome.end, outcome.error) == ("finished", None)
    run = read_run(faked.out)
    assert run.window["complete"].all()
    [failed] = run.spans.drop_nulls("invalid_because").to_dicts()
    assert "signal 9" in failed["invalid_because"]
    assert failed["name"].startswith(kind)
    outcomes = {span["name"]: span["outcome"] for span in run.spans.filter(
        window_id=failed["window_id"]).to_dicts()}  # fmt: skip
    assert outcomes == {
        "backup 1": "failed" if kind == "backup" else "done", "backup 2": "done",
        "restore": "restore failed" if kind == "restore" else PROVEN,
    }  # fmt: skip
    assert left_by(faked.out) == []


class OddAgents(FakeAgents):
    """Agents that say something else of whatever they are asked."""

    def consult(self, function: Callable[[], Any]) -> dict[str, Any]:
        return {name: f"{said}!" for name, said in super().consult(function).items()}


@pytest.mark.parametrize("lost", [{}, {"host-b": "its process ended"}], ids=["whole", "lost"])
def test_backups_come_from_an_agent(tmp_path: Path, lost: Mapping[str, str]) -> None:
    """Of several values of a key, too; one that was lost costs its backups, and no window."""
    text = STUDY.replace("LOAD", LONG_ENOUGH).replace("KEYS", "cycles: 1, verify: false")
    text += "vary: {scenario.backup.agent: [none, host-b]}\n"
    faked = OwnEngine(tmp_path, hammer=Unequal(), text=text, clock=HurriedClock())
    faked.agents = FakeAgents(faked.hammer, ("host-b",), lost)
    faked.agents.hosts = {"host-b": "vault"}
    outcome = faked.run()
    assert (outcome.end, outcome.error) == ("finished", None)
    run = read_run(faked.out)
    assert run.window["complete"].all()
    ended = {(span["outcome"], span["invalid_because"]) for span in run.spans.to_dicts()}
    because = "backup: agent host-b: its process ended: see that it runs: stithy agents test"
    assert ended == {("done", None), *([("failed", because)] if lost else [])}
    context = make_context(run)
    (row,) = list_agents(context)
    assert (row["windows"], row["missing"], row["host"]) == (2, 2 if lost else 0, "vault")
    assert (row["cpu_share"] is None) == bool(lost)
    assert "Backups came from host-b (vault)" in str(Page(context).sections)


def test_an_agent_with_other_storage_or_programs_is_refused(tmp_path: Path) -> None:
    """Before anything is loaded; a run that ended there is resumed once that is mended."""
    text = STUDY.replace("LOAD", USERS).replace("KEYS", "during: {users: 2}, agent: host-b")
    faked = OwnEngine(tmp_path, hammer=Unequal(), text=text, clock=HurriedClock())
    faked.agents = OddAgents(faked.hammer, ("host-b",))
    assert "host-b does not see what this host writes there" in str(faked.run().error)
    assert faked.hammer.runs == []
    faked.agents = FakeAgents(faked.hammer, ("host-b",))
    assert faked.resume().end == "finished"


def test_an_idle_database_is_backed_up(tmp_path: Path) -> None:
    """Nobody works; each backup is restored before the next, and the last restore is checked."""
    faked, outcome = _run(tmp_path, "during: idle, cycles: 3", "checkpoint: false")
    assert outcome.error is None, outcome.error
    assert faked.hammer.runs == []
    run = read_run(faked.out)
    [window] = run.window.filter(candidate="a").to_dicts()
    spans = run.spans.filter(window_id=window["window_id"]).sort("from_s").to_dicts()
    once = "restored, not checked"
    assert [(span["name"], span["outcome"]) for span in spans] == [
        ("backup 1", "done"), ("restore 1", once), ("backup 2", "done"), ("restore 2", once),
        ("backup 3", "done"), ("restore 3", "restored, all conditions hold"),
    ]  # fmt: skip
    of_cycles = run.values.filter(window_id=window["window_id"], metric="backup.cycle_ratio")
    assert of_cycles["of"].to_list() == ["backup 1", "backup 2", "backup 3"]
    values = {
        row["metric"]: row for row in run.values.filter(window_id=window["window_id"]).to_dicts()
    }
    assert values["backup.duration_s"]["count"] == values["backup.restore_s"]["count"] == 3
    assert values["backup.covered_share"]["missing_because"] == "nobody works"
    [section] = [each for each in Page(make_context(run)).sections if each.key == "backup"]
    for name in "ab":
        assert f"{name}: a backup took " in str(section)
    assert left_by(faked.out) == []


class Forgetful(Unequal):
    """What is restored under load misses an acknowledged order; the databases hold all."""

    def verify_ledger(self, workload: WorkloadChoice, ledger: Path, **more: Any) -> LedgerVerified:
        """Of a part of a ledger alone, which is what was acknowledged before a backup began."""
        self._lost = int(ledger.name == "before-backup.ledger")
        return super().verify_ledger(workload, ledger, **more)


def test_a_missed_commit_fails_the_study(tmp_path: Path) -> None:
    """Each restore of a window is compared with what was acknowledged before its backup began.

    Without one the restores above are proven.
    """
    text = STUDY.replace("LOAD", LONG_ENOUGH).replace("KEYS", "cycles: 1")
    text = text.replace(', b: {path: "{root}/b"}', "")
    faked = OwnEngine(tmp_path, hammer=Forgetful(), text=text, clock=HurriedClock())
    outcome = faked.run()
    [span] = read_run(faked.out).spans.filter(name="restore").to_dicts()
    assert span["outcome"] == "NOT EQUAL"
    assert isinstance(outcome.error, InvalidMeasurement)
    assert "missing in what was restored: 1 lost (window w-" in str(outcome.error)
