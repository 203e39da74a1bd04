"""Databases on volumes are put back as they were, and drives with them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import pytest

from fakes.drives import done, serving
from fakes.engine import FakeEngine
from stithy.errors import InfrastructureError
from stithy.results.layout import RunDirectory
from stithy.run.books import read_journal
from stithy.run.context import Context
from stithy.run.drives import read_counters
from stithy.run.events import Event, StepStarted
from stithy.run.executor import execute
from stithy.storage.provider import EmulatedDrive, Record, Role, Storage, Volume
from stithy.wire.drive.messages import AnswerStats, AnyAnswer, AnyCommand, Set, Stats
from support.drive_counters import counters as shown
from support.faked_run import FakedRun

pytestmark = pytest.mark.usefixtures("own_state")


@pytest.mark.parametrize(("kind", "change", "problem"), [
    ("restore", lambda root: (root / "out/master-copy/master/base/rows").write_bytes(b"!"),
     "differs from its original, first in base/rows"),
    ("snapshot", lambda root: (root / "a/data/link").symlink_to("/etc/passwd"),
     "neither a file nor a directory"),
], ids=["the master copy", "a link in the database"])  # fmt: skip
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


@dataclass
class OnDrives:
    """A provider whose volume lies on drives, one a role; all else is the directory's.

    `paced`: of its drives, once it was set; `heard`: what their program was reported.
    """

    directory: Storage
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
            others[role] = replace(volume, path=path, emulated=(self._drive(role, volume.path),))
        return replace(volume, emulated=(self._drive("data", volume.path),), others=others)

    def _drive(self, role: Role, logs: Path) -> EmulatedDrive:
        return EmulatedDrive(
            name=role, role=role, control=self.control, device="/dev/loop99", title="a drive",
            profile_name="generic-nvme", profile="version = 1", assumed=("cap",), scale=8.0,
            size_bytes=2**30, sector_bytes=4096, backing="memory", seed=1, transport="fuse",
            transport_s=1e-5, spin_s=5e-5, log_stem=logs / role,
        )  # fmt: skip

    def __getattr__(self, name: str) -> object:
        return getattr(self.directory, name)

    def answer(self, command: AnyCommand) -> AnyAnswer:
        """What its drives' program answers: they are paced, unless told otherwise."""
        if isinstance(command, Set) and command.paced is not None:
            self.paced[command.drive] = command.paced
        if isinstance(command, Stats):
            now = shown(command.drive, paced=self.paced.get(command.drive, True))
            return AnswerStats(**now.model_dump())
        return done(command)


@contextmanager
def on_drives(faked: FakedRun, *roles: Role) -> Iterator[tuple[Context, dict[str, OnDrives]]]:
    """Everything checked; the candidates lie on drives for data and these roles, which answer."""
    context = faked.start()
    of = {
        name: OnDrives(provider, faked.root / f"control-{name}", roles)
        for name, provider in context.volumes.providers.items()
    }
    with ExitStack() as stack:
        for each in of.values():
            each.heard = stack.enter_context(serving(each.control, each.answer))
        context.volumes.providers = cast("dict[str, Storage]", of)
        yield context, of


def _paced(of: dict[str, OnDrives]) -> list[bool]:
    """Whether each drive takes its profile's time now."""
    return [paced for each in of.values() for paced in each.paced.values()]


@pytest.fixture
def faked(tmp_path: Path) -> FakedRun:
    """A run with a database that keeps its log and undo in directories."""
    return FakedRun(tmp_path, engine=FakeEngine(with_log=True))


def test_windows_have_paced_drives_as_after_loading_log_and_undo_apart(faked: FakedRun) -> None:
    """Loading and restores are unpaced, which the journal tells; each drive's state is put back."""
    engine, seen = faked.engine, list[tuple[bool, ...]]()
    with on_drives(faked, "log", "undo", "temp") as (context, of):

        def look() -> None:
            data = engine.starts[-1].data
            for name, role in ((engine.log_folder, "log"), ("undo", "undo")):
                moved = data.parent.with_name(f"{data.parent.name}-{role}") / role
                assert (data / name).readlink() == moved
                assert (moved / "1").read_text() == "begin"
            seen.append((len(_paced(of)) == 8, all(_paced(of))))

        faked.hammer.before_run = look
        assert execute(context).error is None
        of["a"].paced["data"] = False
        with pytest.raises(InfrastructureError, match="does not take its profile's time"):
            read_counters(context.volumes, "a")
    assert seen == [(True, True)] * 4
    temps = [each.temp and each.temp.name for each in (engine.starts[0], engine.starts[-1])]
    assert temps == [None, "temp"]
    for each in of.values():
        words = [command.command for command in each.heard]
        assert (words.count("snapshot"), words.count("restore")) == (4, 4 * 2)
        assert words.index("snapshot") < words.index("restore")
    unpaced, kind, by_kind = False, "", dict[str, set[bool]]()
    for entry in read_journal(RunDirectory(faked.out).journal):
        if entry.event in ("drives-unpaced", "drives-paced"):
            unpaced = entry.event == "drives-unpaced"
            by_kind.setdefault(kind, set()).add(unpaced)
        if entry.event == "step-started":
            kind = str(entry.facts["kind"])
            assert not unpaced, "a step left its drives without their times"
    assert by_kind == dict.fromkeys(("prepare", "check", "snapshot", "restore"), {True, False})


def test_a_damaged_log_is_noticed_in_its_own_volume_and_drives_stay_paced(faked: FakedRun) -> None:
    """Both parts are compared with the master copy as one; a failed step changes no pace."""
    log = faked.root / "out/master-copy/master" / faked.engine.log_folder / "1"

    def damage() -> None:
        log.write_text("other")

    faked.hammer.before_run = damage
    with on_drives(faked, "log") as (context, of):
        error = execute(context).error
    assert isinstance(error, InfrastructureError)
    assert f"first in {faked.engine.log_folder}/1" in error.problem
    assert _paced(of) == [True] * 4
