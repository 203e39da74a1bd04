"""The drive program as a process: started, found again, ended.

A program works in a folder of its own, which no other uses, and by which it is found: so nothing
needs to be written down after it was started, and a killed Stithy loses no drive. It is in a
session of its own, carries no mark of a run and joins no memory group, so it outlives whoever
started it, and goes last.
"""

import os
import signal
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from stithy.drives import control
from stithy.drives import control as places
from stithy.drives.control import Control, DriveEntry, DriveSpec, Mounting
from stithy.drives.filesystems import unmount
from stithy.errors import InfrastructureError, PreconditionError, StithyError, UserError
from stithy.hosts.devices import Mount, list_mounts
from stithy.hosts.processes import (
    ProcessIdentity,
    end,
    find_pids_inside,
    get_identity,
    is_alive,
    read_identity,
    resume_processes,
)
from stithy.hosts.runner import Command, LocalRunner, Runner, Running
from stithy.names import find_closest
from stithy.wire.drive import messages
from stithy.wire.drive.jobs import DriveUpJob, NoFault
from stithy.wire.messages import Failure, Warning
from stithy.wire.program import (
    DRIVE,
    Supervisor,
    close_streams,
    find_program,
    make_babble_error,
    make_failure_error,
)

CONTROL = "control"
"""The socket's name in the program's folder."""

SILENCE_S = 120.0
"""How long bringing drives up may be silent."""

RELEASE_WAIT_S = 5.0


@dataclass(frozen=True)
class DriveProgram:
    """A program that serves drives; `warnings` are what it told while it started."""

    folder: Path
    identity: ProcessIdentity
    drives: tuple[messages.DriveUp, ...]
    warnings: tuple[str, ...] = ()

    @property
    def control(self) -> Control:
        return Control(self.folder / CONTROL)

    @property
    def devices(self) -> Mapping[str, str]:
        """The block device of each drive that it started with, by the drive's name."""
        return {drive.drive: drive.device for drive in self.drives}

    @property
    def is_alive(self) -> bool:
        return is_alive(self.identity)

    def stop(self) -> None:
        """Take its drives down, end it, and remove its folder; see `remove`."""
        remove(self.folder)


def need_root() -> None:
    """Raise PreconditionError where this user cannot have emulated drives."""
    if os.geteuid() != 0:
        raise PreconditionError(
            "emulated drives need root, for FUSE, loop devices and mounting",
            where="this user",
            remedy="run it with sudo, or use directories as candidates (`path`)",
        )


def start(
    specs: Sequence[DriveSpec],
    folder: Path,
    *,
    run_id: str | None = None,
    hold_off_idle: bool = True,
    cpus: tuple[int, ...] | None = None,
    runner: Runner | None = None,
    program: Path | None = None,
) -> DriveProgram:
    """Start a program with these drives in `folder`, which is made; returns when all are up.

    `cpus` are the only ones that it may use; None: any.
    What it tells from then on nobody reads; its counters come over the control socket. Raises
    UserError where `folder` is there already; whatever the program refuses, as it says it;
    InfrastructureError where it dies. Nothing is left then.
    """
    found = program or find_program(DRIVE)
    names = tuple(spec.name for spec in specs)
    places.make(folder, DriveEntry(run_id, names, get_identity()))
    try:
        command = Command(argv=[str(found)], directory=folder, cpus=cpus)
        running = (runner or LocalRunner()).start(command, stderr=folder / control.ERRORS)
        control.remember_program(folder, running)
        try:
            _feed_job(running, specs, hold_off_idle)
            program_up = _wait_until_serving(running, folder)
            places.add_devices(folder, (drive.device for drive in program_up.drives))
        finally:
            close_streams(running)
        return program_up
    except BaseException:
        remove(folder)
        raise


def find(folder: Path) -> ProcessIdentity | None:
    """The program that works in this folder; None where there is none."""
    found = (read_identity(pid) for pid in find_pids_inside(folder.resolve(), DRIVE))
    return next((each for each in found if each is not None), None)


def remove(folder: Path) -> None:
    """Take the drives of the program in `folder` down, end it, and remove the folder. Idempotent.

    What is mounted by its entry is unmounted first. A program that does not answer is ended by a
    signal. Raises PreconditionError while a drive is in use; its program then goes on.
    """
    entry = places.read_entry(folder)
    repair(folder)
    for mounting in entry.mounts if entry else ():
        unmount(mounting.point, devices=[mounting.device])
        if mounting.made_folder:
            with suppress(OSError):  # whatever else is in it now is not Stithy's
                mounting.point.rmdir()
    if (found := find(folder)) is not None:
        resume_processes([found.pid])
        try:
            Control(folder / CONTROL).take_down()
        except InfrastructureError:
            pass  # it does not answer, so it is only to be ended
        end([found.pid], signal.SIGTERM)
    control.reap_programs()
    places.forget(folder)


def find_serving_folder(device: str) -> Path | None:
    """The folder of the program that made this block device, by what is written down."""
    for folder in places.list_folders():
        if (entry := places.read_entry(folder)) is not None and device in entry.devices:
            return folder
    return None


def repair(folder: Path) -> None:
    """End what would hold requests of these drives back: a stall, a signal that holds the program.

    To be called before unmounting, which waits for its requests and cannot be killed meanwhile, and
    before a drive is taken down: what was killed holds it until its last request is answered.
    """
    if (found := find(folder)) is None:
        return
    resume_processes([found.pid])
    control = Control(folder / CONTROL, RELEASE_WAIT_S)
    with suppress(StithyError):  # one that does not answer has no requests to answer either
        for drive in control.list():
            control.set_fault(drive.drive, NoFault())


def _feed_job(running: Running, specs: Sequence[DriveSpec], hold_off_idle: bool) -> None:
    """Hand the job over and close, so that the program sees its end."""
    assert running.stdin is not None  # Runner.start opens the streams of what is not detached
    drives = tuple(spec.make_wire_spec() for spec in specs)
    # Relative to the folder, because the address of a socket holds 107 bytes.
    job = DriveUpJob(control=CONTROL, drives=drives, hold_off_idle=hold_off_idle)
    with suppress(BrokenPipeError):  # a program that died before it read: see _died
        running.stdin.write(job.model_dump_json())
        running.stdin.close()


def _wait_until_serving(running: Running, folder: Path) -> DriveProgram:
    assert running.stdout is not None  # as in _feed
    drives: list[messages.DriveUp] = []
    warnings: list[str] = []
    with Supervisor(running, None, SILENCE_S) as watch:
        for line in running.stdout:
            watch.note_message()
            try:
                message = messages.parse_drive_message(line)
            except ValidationError as error:
                shown = repr(line.strip()[:200])
                raise make_babble_error(error, shown, "output of the drive program") from error
            match message:
                case Failure() as failure:
                    raise make_failure_error(failure)
                case messages.DriveReady() as ready:
                    drives.append(ready)
                case Warning(text=text):
                    warnings.append(text)
                case messages.Serving() if identity := read_identity(running.pid):
                    return DriveProgram(folder, identity, tuple(drives), tuple(warnings))
    if watch.killed_because:
        last = "".join(f": {line}" for line in control.read_last_lines(folder))
        end_of_it = f"{watch.killed_because}{last}"
    else:
        end_of_it = f"ended before its drives were up{control.describe_end(folder)}"
    remedy = "free memory if it was killed, and try again"
    raise InfrastructureError(f"the program {end_of_it}", where=DRIVE, remedy=remedy)


KILLED = "its program was killed"
PATIENCE_S = 5.0
"""How long a list waits for a program that is held."""


@dataclass(frozen=True)
class FoundDrive:
    """One drive.

    `run_id` is the run that owns it, None for a person's. `device` was its block device when it
    came up, None where that was never written down. `facts` are None where its program does not
    tell them; `problem` says why. `mounted` are the places where it is mounted now.
    """

    name: str
    folder: Path
    run_id: str | None
    device: str | None
    facts: messages.DriveUp | None
    problem: str | None
    mounted: tuple[Path, ...]

    @property
    def full_name(self) -> str:
        """The name that no other drive has: that of its folder before it, where it is a run's."""
        return self.name if self.run_id is None else f"{self.folder.name}/{self.name}"

    @property
    def control(self) -> Control:
        return Control(self.folder / CONTROL)


def list_drives() -> list[FoundDrive]:
    """All drives of this user's register, a person's first."""
    there = list_mounts()
    found = [each for folder in places.list_folders() for each in _list_drives_of(folder, there)]
    return sorted(found, key=lambda each: (each.run_id or "", each.full_name))


def find_drive(name: str) -> FoundDrive:
    """The drive of this name, or of this full name.

    Raises UserError for an unknown one, with the nearest, and for one that several have.
    """
    drives = list_drives()
    exact = [drive for drive in drives if drive.full_name == name]
    matching = exact or [each for each in drives if each.name == name]
    if len(matching) == 1:
        return matching[0]
    if matching:
        remedy = f"give one of {', '.join(each.full_name for each in matching)}"
        raise UserError("several drives have this name", where=name, remedy=remedy)
    names = [drive.full_name for drive in drives]
    if (near := find_closest(name, names)) is not None:
        remedy = f"did you mean {near}?"
    elif names:
        remedy = f"give one of {', '.join(names)}"
    else:
        remedy = "bring it up with `stithy drive up`; none is up"
    raise UserError("no drive of this name is up", where=repr(name), remedy=remedy)


def _list_drives_of(folder: Path, there: Sequence[Mount]) -> list[FoundDrive]:
    entry = places.read_entry(folder)
    if entry is None:  # it went between two looks
        return []
    problem = None
    facts: dict[str, messages.DriveUp] = {}
    if find(folder) is None:
        problem = "it is not up yet" if entry.is_starting else KILLED
    else:
        try:
            listed = Control(folder / CONTROL, PATIENCE_S).list()
            facts = {each.drive: each for each in listed}
        except StithyError as error:
            problem = error.text
    devices: dict[str, str] = dict(zip(entry.drives, entry.devices, strict=False))
    devices |= {name: each.device for name, each in facts.items()}
    return [
        FoundDrive(
            name=name,
            folder=folder,
            run_id=entry.run_id,
            device=devices.get(name),
            facts=facts.get(name),
            problem=problem,
            mounted=_list_mounted(devices.get(name), there, None if facts else entry.mounts),
        )
        for name in facts or entry.drives
    ]


def _list_mounted(
    device: str | None, there: Iterable[Mount], known: Sequence[Mounting] | None
) -> tuple[Path, ...]:
    """Where a device is mounted; `known`: only there, for it may be another's by now."""
    points = None if known is None else {each.point for each in known}
    return tuple(
        each.point
        for each in there
        if each.source == device and (points is None or each.point in points)
    )
