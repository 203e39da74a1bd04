"""Databases on volumes are put back as they were, and drives with them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import pytest

from fakes.drives import done, serving
from fakes.engine import FakeEngine
from stithy.errors import InfrastructureError
from stithy.results.layout import RunDirectory
from stithy.run.context import Context
from stithy.run.copies.drives import counters
from stithy.run.events import Event, StepStarted
from stithy.run.executor import execute
from stithy.run.journal import read_journal
from stithy.storage.provider import EmulatedDrive, Provider, Record, Role, Volume
from stithy.wire.drive.control import AnswerStats, AnyAnswer, AnyCommand, Set, Stats
from support.drive_counters import counters as told
from support.faked_run import FakedRun

pytestmark = pytest.mark.usefixtures("own_state")


@pytest.mark.parametrize(
    ("kind", "change", "problem"),
    [
        (
            "restore",
            lambda root: (root / "out/master-copy/master/base/rows").write_bytes(b"!"),
            "differs from its original, first in base/rows",
        ),
        (
            "snapshot",
            lambda root: (root / "a/data/link").symlink_to("/etc/passwd"),
            "neither a file nor a directory",
        ),
    ],
    ids=["the master copy", "a link in the database"],
)
def test_what_is_no_longer_a_copy_ends_the_run(
    kind: str, change: Callable[[Path], object], problem: str, tmp_path: Path
) -> None:
    """The first file that differs is named: no window could be trusted."""
    faked = FakedRun(tmp_path)

    def on_event(event: Event) -> None:
        if isinstance(event, StepStarted) and event.step.kind == kind:
            change(tmp_path)

    faked.on_event = on_event
    outcome = faked.run()
    assert isinstance(outcome.error, InfrastructureError)
    assert problem in outcome.error.problem
    assert not RunDirectory(faked.out).windows.exists()


def _emulated(role: Role, control: Path, logs: Path) -> EmulatedDrive:
    return EmulatedDrive(
        name=role, role=role, control=control, device="/dev/loop99", profile_name="generic-nvme",
        title="a drive", profile="version = 1", assumed=("cap",), scale=8.0, size_bytes=2**30,
        sector_bytes=4096, backing="memory", seed=1, transport="fuse", transport_s=1e-5,
        spin_s=5e-5, log_stem=logs / role,
    )  # fmt: skip


@dataclass
class OnDrives:
    """A provider whose volume lies on drives, one a role; all else is the directory's.

    `paced`: of its drives, once it was set; `heard`: what their program was told.
    """

    directory: Provider
    control: Path
    roles: tuple[Role, ...]
    paced: dict[str, bool] = field(default_factory=dict)
    heard: Sequence[AnyCommand] = ()

    def provision(self, run_id: str, record: Record) -> Volume:
        """The directory as the data's volume, and one below it for each other role."""
        volume = self.directory.provision(run_id, record)
        others: dict[Role, Volume] = {}
        for role in self.roles:
            path = volume.path.with_name(f"{volume.path.name}-{role}")
            path.mkdir()
            (path / ".stithy.json").write_bytes((volume.path / ".stithy.json").read_bytes())
            drive = _emulated(role, self.control, volume.path)
            others[role] = replace(volume, path=path, drive=drive)
        return replace(volume, drive=_emulated("data", self.control, volume.path), others=others)

    def __getattr__(self, name: str) -> object:
        return getattr(self.directory, name)

    def answer(self, command: AnyCommand) -> AnyAnswer:
        """What its drives' program answers: they are paced, unless told otherwise."""
        if isinstance(command, Set) and command.paced is not None:
            self.paced[command.drive] = command.paced
        if isinstance(command, Stats):
            now = told(command.drive, paced=self.paced.get(command.drive, True))
            return AnswerStats(**now.model_dump())
        return done(command)


@dataclass
class Drives:
    """A run whose candidates lie on emulated drives, and those."""

    faked: FakedRun
    stack: ExitStack
    of: dict[str, OnDrives] = field(default_factory=dict)

    def begin(self, *roles: Role) -> Context:
        """Everything checked; drives for data and these roles."""
        context = self.faked.start()
        for name, provider in context.volumes.providers.items():
            self.of[name] = OnDrives(provider, self.faked.root / f"control-{name}", roles)
            serves = serving(self.of[name].control, self.of[name].answer)
            self.of[name].heard = self.stack.enter_context(serves)
        context.volumes.providers = cast("dict[str, Provider]", self.of)
        return context

    @property
    def paced(self) -> list[bool]:
        """Whether each drive takes its profile's time now."""
        return [paced for each in self.of.values() for paced in each.paced.values()]


@pytest.fixture
def drives(tmp_path: Path) -> Iterator[Drives]:
    """A database that keeps its log in a directory."""
    with ExitStack() as stack:
        yield Drives(FakedRun(tmp_path, engine=FakeEngine(with_log=True)), stack)


def test_windows_have_paced_drives_as_after_loading_and_the_log_on_its_own(drives: Drives) -> None:
    """Loading and restores are unpaced, which the journal tells; each drive's state is put back."""
    context, engine = drives.begin("log", "temp", "backup"), drives.faked.engine
    seen: list[tuple[bool, ...]] = []

    def look() -> None:
        log = engine.starts[-1].data / engine.log_folder
        moved = log.parents[1].with_name(f"{log.parents[1].name}-log") / "log"
        on_its_own = log.is_symlink() and log.resolve() == moved and (moved / "1").exists()
        seen.append((on_its_own, len(drives.paced) == 8, all(drives.paced)))

    drives.faked.hammer.before_run = look
    assert execute(context).error is None
    assert seen == [(True, True, True)] * 4
    assert [each.temp and each.temp.name for each in (engine.starts[0], engine.starts[-1])] == [
        None, "temp",
    ]  # fmt: skip
    for each in drives.of.values():
        words = [command.command for command in each.heard]
        assert words.count("snapshot") == 4
        assert words.count("restore") == 4 * 2
        assert words.index("snapshot") < words.index("restore")
    unpaced, kind, by_kind = False, "", dict[str, set[bool]]()
    for entry in read_journal(RunDirectory(drives.faked.out).journal):
        if entry.event in ("drives-unpaced", "drives-paced"):
            unpaced = entry.event == "drives-unpaced"
            by_kind.setdefault(kind, set()).add(unpaced)
        if entry.event == "step-started":
            kind = str(entry.facts["kind"])
            assert not unpaced, "a step left its drives without their times"
    assert by_kind == dict.fromkeys(("prepare", "check", "snapshot", "restore"), {True, False})


def test_a_damaged_log_is_noticed_in_its_own_volume_and_leaves_the_drives_paced(
    drives: Drives,
) -> None:
    """Both parts are compared with the master copy as one; a failed step changes no pace."""
    context, folder = drives.begin("log"), drives.faked.engine.log_folder
    log = drives.faked.root / "out/master-copy/master" / folder / "1"

    def damage() -> None:
        log.write_text("other")

    drives.faked.hammer.before_run = damage
    error = execute(context).error
    assert isinstance(error, InfrastructureError)
    assert f"first in {folder}/1" in error.problem
    assert drives.paced == [True] * 4


def test_a_window_on_a_drive_that_takes_no_time_is_no_measurement(drives: Drives) -> None:
    """Somebody set it by hand: the window has a reason instead of numbers."""
    context = drives.begin()
    assert execute(context).error is None
    drives.of["a"].paced["data"] = False
    with pytest.raises(InfrastructureError, match="does not take its profile's time"):
        counters(context.volumes, "a")
