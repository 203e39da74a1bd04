"""Restore methods: every window starts from what was loaded, and what cannot be so is refused."""

import re
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from fakes.hammer import FakeHammer
from stithy.cli.app import run
from stithy.engines.engine import Engine
from stithy.plan.cost import sum_space
from stithy.plan.expand import expand
from stithy.plan.steps import Plan
from stithy.registry import plugins
from stithy.report.context import make_context
from stithy.report.page import Page
from stithy.report.sections.answer import answer
from stithy.restores.method import RestoreMethod
from stithy.results.files import read_run
from stithy.run.datasets import restore
from stithy.run.events import Note, StepStarted
from stithy.run.executor import do_step
from stithy.run.steps import check_conditions
from stithy.study.load import parse_study
from stithy.study.problems import StudyError
from stithy.wire.jobs import WorkloadChoice
from stithy.wire.messages import PrepareSummary
from support.forked import run_code
from support.own_engine import Committing, OwnEngine
from support.running import entries, left_by

pytestmark = pytest.mark.usefixtures("own_state", "fakes")
METHODS = list(plugins(RestoreMethod))
BY_ROWS = [name for name, each in plugins(RestoreMethod).items() if not each.keeps_files]

STUDY = """study: Does every window start from what was loaded?
candidates:
  a: {path: "{root}/a", roles: {log: {path: "{root}/a-log"}, temp: {path: "{root}/a-temp"}}}
  b: {path: "{root}/b"}
database: {engine: memory, memory: 64 MiB, restore: METHOD}
workload: {name: order-entry, warehouses: 1}
vary: {workload.warehouses: [1, 3]}
load: {users: [1], ramp_up: 1 s, duration: 2 s, calibrate: false, repeat: 2}
"""


class Loading(Committing):
    """Its loads put as many rows into a table as the study has warehouses.

    `loads`: of how many each was. `torn`: the number of the load, from 1, that loses one of them.
    `seen`: the rows with which each window began.
    """

    def __init__(self, torn: int = 0) -> None:
        super().__init__(sound=True, before_run=self._look)
        self.loads: list[int] = []
        self.torn = torn
        self.seen: list[dict[str, int]] = []

    def prepare(self, workload: WorkloadChoice, **words: Any) -> PrepareSummary:
        """The tables of before must be gone."""
        rows, count = self._rows, int(str(dict(workload)["warehouses"]))
        assert rows == {}
        self.loads.append(count)
        rows["warehouse"] = count - (len(self.loads) == self.torn)
        return super().prepare(workload, **words)

    @property
    def _rows(self) -> dict[str, int]:
        rows: dict[str, int] = (
            import_module("stithy.engines.memory.endpoint").Endpoint(self.url).store.rows
        )
        return rows

    def _look(self) -> None:
        self.seen.append(dict(self._rows))


def _faked(root: Path, method: str, hammer: FakeHammer | None = None) -> OwnEngine:
    root.mkdir(exist_ok=True)
    text = STUDY.replace("METHOD", method)
    return OwnEngine(root, hammer=hammer or Loading(), text=text)


LOADS = {"files": [1, 3], "reload": None, "native": [1, 3, *[1, 3] * 2]}


def test_every_window_starts_from_what_was_loaded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever the last one left. Each method loads as often as it says; the log has its place.

    The report says from what windows start; runs of two methods are compared on request alone.
    """
    for method, loads in LOADS.items():
        root, hammer, moved = tmp_path / method, Loading(), list[bool]()
        faked = _faked(root, method, hammer)
        faked.on_event = partial(_look_at_log, root, moved)
        assert faked.run().error is None
        counts = [
            int(str(dict(choice)["warehouses"])) for job, choice in hammer.choices if job == "run"
        ]
        assert hammer.seen == [{"warehouse": count} for count in counts]
        assert len(counts) == 8
        assert moved == [True] * 4
        assert sorted(hammer.loads) == sorted(loads or [1, 3, *counts])
        assert left_by(faked.out) == []
        context = make_context(read_run(faked.out))
        proof = plugins(RestoreMethod)[method].proof
        assert any(f"8 restores {proof}." in each for each in answer(context).support)
        rows = Page(context).tables["compared"].frame.rows()
        assert ("restore before each window", method) in rows
    both = [str(tmp_path / each / "out") for each in ("files", "reload")]
    assert run(["compare", *both]) == 2
    assert "restore: files and reload" in capsys.readouterr().err
    assert run(["compare", *both, "--ignore", "restore"]) == 0


def _look_at_log(root: Path, moved: list[bool], event: object) -> None:
    if isinstance(event, StepStarted) and event.step.id.startswith("w-a-"):
        log = root / "a/data/log"
        moved.append(log.is_symlink() and log.resolve() == root / "a-log/log")


@pytest.mark.parametrize("method", BY_ROWS)
def test_a_restore_with_other_rows_ends_the_run(tmp_path: Path, method: str) -> None:
    """The first table that differs is named, with what it has and had."""
    error = _faked(tmp_path, method, Loading(torn=3)).run().error
    assert error is not None
    assert "differs from the one that was loaded first: warehouse has " in error.problem


@pytest.mark.parametrize("method", METHODS)
def test_tenants_come_and_go_and_a_lost_volume_is_made_anew(tmp_path: Path, method: str) -> None:
    """Each tenant gets the loaded rows in a place of its own, and so does a window on an empty
    volume; a check at the end of what was lost is not made.
    """
    context = _faked(tmp_path, method).start()
    for step in context.steps:
        if step.kind in ("provision", "prepare", "snapshot"):
            do_step(context, step)
    log = tmp_path / "look.log"
    [dataset, _] = context.plan.datasets
    for count in (2, 1, 3):
        assert restore(context, "b", [dataset] * count, window_id=None)["identical"]
        for number in range(1, count + 1) if count > 1 else (None,):
            with context.servers.running("b", log, number=number) as instance:
                assert instance.checksums() == {"warehouse": "1"}
    context.volumes.lost["b"] = "its drive was replaced"
    [checked] = [step for step in context.steps if step.id == "check-end-b"]
    assert "its last window lost it: its drive was replaced" in check_conditions(context, checked)
    assert restore(context, "b", [dataset], window_id=None)["identical"]
    assert not context.volumes.lost
    made = entries(context.session.directory.root, "creating", kind="mark")
    assert [each.facts["facts"]["candidate"] for each in made].count("b") == 2
    with context.servers.running("b", log) as instance:
        assert instance.checksums() == {"warehouse": "1"}
    context.session.books.end()
    context.session.books.register.close(remove=True)
    assert left_by(context.session.directory.root) == []


KILLED = """
import os, sys
from pathlib import Path
from unit.run.test_restores import Loading, _faked
class Deadly(Loading):
    def prepare(self, workload, **words):
        if len(self.loads) == 3:
            os._exit(9)
        return super().prepare(workload, **words)
_faked(Path(sys.argv[1]), sys.argv[2], Deadly()).run()
"""


@pytest.mark.parametrize("method", BY_ROWS)
def test_a_run_that_was_killed_in_the_middle_of_a_restore_goes_on(
    tmp_path: Path, method: str
) -> None:
    """What was loaded first is not loaded again, and what a server had kept is not trusted."""
    assert run_code(KILLED, tmp_path, method) == 9
    started, ended = (entries(tmp_path / "out", f"step-{each}") for each in ("started", "finished"))
    assert started[-1].facts["kind"] == "restore"
    assert started[-1].facts["id"] not in [each.facts["id"] for each in ended]
    measured = sum(each.facts["id"].startswith("w-") for each in ended)
    hammer = Loading()
    faked = _faked(tmp_path, method, hammer)
    assert faked.resume().end == "finished"
    assert len(hammer.seen) == 8 - measured
    assert not [each for each in faked.events
                if isinstance(each, StepStarted) and each.step.kind == "prepare"]  # fmt: skip
    notes = [event.text for event in faked.events if isinstance(event, Note)]
    assert any("checksums of the rows of warehouses1 and warehouses3 are" in note for note in notes)
    assert left_by(faked.out) == []


SMALL = STUDY.replace("vary: {workload.warehouses: [1, 3]}\n", "")
BACKUP = SMALL + "scenario: {backup: {method: copy}}\n"
NEIGHBOUR = SMALL + "scenario: {noisy-neighbour: {aggressor: backup, tenants: 2, cycles: 10}}\n"


def _plan(text: str, method: str) -> Plan:
    text = text.replace("METHOD", method).replace("{root}", "/var/tmp")
    return expand(parse_study("study.yaml", text.encode()))


@pytest.mark.parametrize(("text", "method", "problem"), [
    (SMALL, "relode", "not a restore method.*did you mean `reload`"),
    (BACKUP, "native", "backups would hold the kept database, too.*use files or reload"),
    (NEIGHBOUR, "reload", "databases of the neighbour backup are copies of files.*use files"),
    (SMALL + "vary: {database.restore: [files, reload]}\n", "files", "not a key whose value may"),
])  # fmt: skip
def test_a_method_that_a_study_cannot_have_is_refused(text: str, method: str, problem: str) -> None:
    """With those that it can have, before anything starts."""
    assert re.search(problem, _refused(text, method))


def _refused(text: str, method: str) -> str:
    with pytest.raises(StudyError) as caught:
        _plan(text, method)
    [problem] = caught.value.parts()
    return str(problem)


def test_an_engine_without_a_restore_of_its_own_has_the_other_methods(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both need nothing of it."""
    monkeypatch.setattr(plugins(Engine)["memory"], "native_restore", "")
    problem = "the engine memory has no restore of its own.*files, reload"
    assert re.search(problem, _refused(SMALL, "native"))
    assert _plan(SMALL, "reload").restore == "reload"


def test_a_plan_counts_what_each_method_takes() -> None:
    """Native has room for the kept database, and its first window on a candidate loads it."""
    files, reload, native = (_plan(SMALL, each) for each in ("files", "reload", "native"))
    [size] = {dataset.database_bytes for dataset in native.datasets}
    assert (files.masters_bytes, reload.masters_bytes, native.masters_bytes) == (size, 0, 0)
    rooms = [sum_space(each)["b"] for each in (files, reload, native)]
    assert rooms[0] == rooms[1] < rooms[2] <= rooms[0] + size
    times = {
        plan.restore: [step.cost.time_s for step in plan.steps
                       if step.kind == "restore" and step.candidate == "b"]
        for plan in (files, reload, native)
    }  # fmt: skip
    assert times["files"][0] == times["files"][1] < min(times["reload"])
    first, later = times["native"]
    assert first > times["reload"][0] > later
