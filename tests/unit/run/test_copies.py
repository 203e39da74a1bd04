"""Databases on volumes are put back as they were, and drives with them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast, get_args

import polars as pl
import pytest

from fakes.drives import done, facts, serving
from fakes.engine import FakeEngine
from stithy.errors import InfrastructureError
from stithy.plan.steps import StepKind
from stithy.results.layout import RunDirectory
from stithy.run.context import Context
from stithy.run.copies.drives import UNPACED, counters
from stithy.run.events import Event, StepStarted
from stithy.run.executor import execute
from stithy.run.journal import read_journal
from stithy.storage.provider import EmulatedDrive, Provider, Record, Role, Volume
from stithy.wire.drive.control import AnswerStats, AnyAnswer, AnyCommand, Set, Stats
from support.drive_counters import counters as told
from support.faked_run import FakedRun
from support.running import entries


@pytest.fixture
def faked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakedRun:
    """A run that registers in a directory of its own."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "state"))
    return FakedRun(tmp_path)


def before(faked: FakedRun, kind: str, action: object) -> None:
    """Do something just before the first step of a kind."""
    done: list[bool] = []

    def on_event(event: Event) -> None:
        if isinstance(event, StepStarted) and event.step.kind == kind and not done:
            done.append(True)
            assert callable(action)
            action()

    faked.on_event = on_event


def test_a_master_copy_that_changed_is_noticed(faked: FakedRun) -> None:
    """The first file that differs is named, and the run ends: no window could be trusted."""
    rows = faked.root / "out/master-copy/master/base/rows"
    before(faked, "restore", lambda: rows.write_bytes(rows.read_bytes()[:-1] + b"!"))
    outcome = faked.run()
    assert isinstance(outcome.error, InfrastructureError)
    assert "differs from its original, first in base/rows" in outcome.error.problem


def test_a_link_in_the_database_is_refused(faked: FakedRun) -> None:
    """A copy of it would not be a copy."""
    before(faked, "snapshot", lambda: (faked.root / "a/data/link").symlink_to("/etc/passwd"))
    outcome = faked.run()
    assert isinstance(outcome.error, InfrastructureError)
    assert "neither a file nor a directory" in outcome.error.problem


def test_each_restore_tells_what_it_took_and_what_stayed_in_memory(faked: FakedRun) -> None:
    """One row a window, with the bytes that could not be evicted or the reason."""
    faked.run()
    rows = pl.read_parquet(RunDirectory(faked.out).table("restores"))
    assert rows.height == 4
    assert rows["files"].to_list() == [3] * 4
    assert rows["identical"].all()
    for row in rows.iter_rows(named=True):
        assert (row["resident_bytes"] == 0) == (row["resident_note"] is None)


def test_what_a_window_left_is_gone_in_the_next(faked: FakedRun) -> None:
    """Files that the master copy does not have, too."""
    seen: list[bool] = []

    def strike() -> None:
        left = faked.engine.starts[-1].data / "left-by-a-window"
        seen.append(left.exists())
        left.touch()

    faked.hammer.before_run = strike
    faked.run()
    assert seen == [False] * 4


def emulated(role: Role, control: Path, logs: Path) -> EmulatedDrive:
    """A drive behind a socket."""
    ready = facts(role)
    return EmulatedDrive(
        name=role, role=role, control=control, device=ready.device, profile_name="generic-nvme",
        title="a drive", profile="version = 1", assumed=("cap",), scale=8.0,
        size_bytes=ready.size_bytes, sector_bytes=4096, backing="memory", seed=1,
        transport="fuse", transport_s=1e-5, spin_s=5e-5, log_stem=logs / role,
    )  # fmt: skip


@dataclass
class OnDrives:
    """A provider whose volume lies on drives, one a role; all else is the directory's."""

    directory: Provider
    control: Path
    roles: tuple[Role, ...]

    def provision(self, run_id: str, record: Record) -> Volume:
        """The directory as the data's volume, and one below it for each other role."""
        volume = self.directory.provision(run_id, record)
        others: dict[Role, Volume] = {}
        for role in self.roles:
            path = volume.path.with_name(f"{volume.path.name}-{role}")
            path.mkdir()
            (path / ".stithy.json").write_bytes((volume.path / ".stithy.json").read_bytes())
            drive = emulated(role, self.control, volume.path)
            others[role] = replace(volume, path=path, drive=drive)
        return replace(volume, drive=emulated("data", self.control, volume.path), others=others)

    def __getattr__(self, name: str) -> object:
        """Whatever else a provider can do."""
        return getattr(self.directory, name)


class Drives:
    """Drives that know whether they are paced, and what they were told."""

    def __init__(self) -> None:
        """Paced, as they come up."""
        self.paced: dict[str, bool] = {}

    def __call__(self, command: AnyCommand) -> AnyAnswer:
        """Obey."""
        if isinstance(command, Set) and command.paced is not None:
            self.paced[command.drive] = command.paced
        if isinstance(command, Stats):
            now = told(command.drive, paced=self.paced.get(command.drive, True))
            return AnswerStats(**now.model_dump())
        return done(command)


@pytest.fixture
def paced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakedRun:
    """A run that registers in a directory of its own."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "state"))
    return FakedRun(tmp_path, engine=FakeEngine(with_log=True))


Begin = Callable[..., tuple[Context, dict[str, list[AnyCommand]], dict[str, Drives]]]


@pytest.fixture
def begin(paced: FakedRun) -> Iterator[Begin]:
    """Starts the run with both candidates on drives; what each program heard, and its drives."""
    with ExitStack() as stack:

        def started(
            *roles: Role,
        ) -> tuple[Context, dict[str, list[AnyCommand]], dict[str, Drives]]:
            context = paced.start()
            heard, drives = {}, {}
            providers: dict[str, Provider] = {}
            for name, provider in context.providers.items():
                control = paced.root / f"control-{name}"
                drives[name] = Drives()
                heard[name] = stack.enter_context(serving(control, drives[name]))
                providers[name] = cast(Provider, OnDrives(provider, control, roles))
            return replace(context, providers=providers), heard, drives

        yield started


def test_only_steps_in_which_nothing_is_measured_are_unpaced() -> None:
    """A window and the calibration are not among them."""
    assert {"prepare", "check", "snapshot", "restore"} == UNPACED
    assert set(get_args(StepKind)) >= UNPACED


def test_every_window_is_measured_with_the_profiles_times(paced: FakedRun, begin: Begin) -> None:
    """At the moment in which users begin, all drives are paced, whatever was before."""
    context, _, drives = begin("log")
    seen: list[bool] = []
    paced.hammer.before_run = lambda: seen.extend(
        paced for each in drives.values() for paced in each.paced.values()
    )
    assert execute(context).error is None
    assert len(seen) == 4 * 4
    assert all(seen)


def test_the_journal_tells_when_drives_took_no_time(paced: FakedRun, begin: Begin) -> None:
    """Between a window's start and its end there is no such entry."""
    context, _, _ = begin()
    execute(context)
    unpaced, inside = False, []
    for entry in read_journal(RunDirectory(paced.out).journal):
        if entry.event in ("drives-unpaced", "drives-paced"):
            unpaced = entry.event == "drives-unpaced"
        if entry.event == "step-started" and entry.facts["kind"] == "window":
            inside.append(unpaced)
    assert inside == [False] * 4
    assert len(entries(paced.out, "drives-unpaced")) > 4


def test_a_window_on_a_drive_that_takes_no_time_is_no_measurement(
    paced: FakedRun, begin: Begin
) -> None:
    """Somebody set it by hand: the window has a reason instead of numbers."""
    context, _, drives = begin()
    execute(context)
    for each in drives.values():
        each.paced["data"] = False
    with pytest.raises(InfrastructureError, match="does not take its profile's time"):
        counters(context, "a")


def test_a_failed_step_leaves_the_drives_paced(paced: FakedRun, begin: Begin) -> None:
    """Whatever comes after it."""
    context, _, drives = begin()
    (paced.root / "a").mkdir()

    def fail() -> None:
        rows = paced.root / "out/master-copy/master/base/rows"
        rows.write_bytes(b"!")

    paced.hammer.before_run = fail
    assert execute(context).error is not None
    assert all(paced for each in drives.values() for paced in each.paced.values())


def test_each_window_begins_with_the_state_after_loading(paced: FakedRun, begin: Begin) -> None:
    """Kept once, put back after every restore of the candidate's database."""
    context, heard, _ = begin("log")
    execute(context)
    assert heard
    for commands in heard.values():
        words = [each.command for each in commands]
        assert words.count("snapshot") == 2
        assert words.count("restore") >= 2 * 2
        assert words.index("snapshot") < words.index("restore")


def test_the_log_is_restored_to_its_own_volume(paced: FakedRun, begin: Begin) -> None:
    """The database finds it through a link; together both parts are the master copy."""
    context, _, _ = begin("log", "temp", "backup")
    places: list[tuple[bool, bool, bool]] = []

    def look() -> None:
        data = paced.engine.starts[-1].data
        log = data / paced.engine.log_folder
        moved = data.parent.with_name(f"{data.parent.name}-log") / "log"
        places.append((log.is_symlink(), log.resolve() == moved, (moved / "1").exists()))

    paced.hammer.before_run = look
    assert execute(context).error is None
    assert places == [(True, True, True)] * 4
    [*_, last] = paced.engine.starts
    assert last.temp is not None
    assert last.temp.name == "temp"
    assert paced.engine.starts[0].temp is None


def test_a_damaged_log_is_noticed_in_its_own_volume(paced: FakedRun, begin: Begin) -> None:
    """The parts are compared with the master copy as one."""
    context, _, _ = begin("log")
    master = paced.root / "out/master-copy/master"

    def strike() -> None:
        for each in (master / paced.engine.log_folder).iterdir():
            each.write_text("other")

    paced.hammer.before_run = strike
    error = execute(context).error
    assert isinstance(error, InfrastructureError)
    assert f"first in {paced.engine.log_folder}/1" in error.problem
