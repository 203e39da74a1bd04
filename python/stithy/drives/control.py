"""Programs of drives: the folder where one works, what a drive is to be, and talking to it.

The folders of drives that a person sees lie below `get_home()`; a folder's name there is the
drive's name, or for a run's drives the run's id, a dot and more. It is closed to others. Its entry
is written before a program is started and says only what the program itself cannot tell.

What the program refuses becomes the error that it tells, with the same problem, place, remedy and
exit code. A program that is not there any more is an InfrastructureError. Whether a profile is
sound and whether the machine has room is for the program to say.
"""

import errno
import json
import os
import re
import signal
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from stithy.environment import state_home
from stithy.errors import InfrastructureError, PreconditionError, UserError, give_reason
from stithy.hosts.devices import connect_socket, read_text, write_private
from stithy.hosts.processes import ProcessIdentity, is_alive
from stithy.hosts.runner import Command, LocalRunner, Runner, Running, wait_for_end
from stithy.wire.drive import jobs
from stithy.wire.drive import messages as wire
from stithy.wire.drive.messages import DriveCounters, DriveUp
from stithy.wire.program import make_failure_error

ENTRY = "drives.json"
VERSION = 1
"""1: run_id, drives, devices, owner, mounts."""


@dataclass(frozen=True)
class Mounting:
    """A mount that goes with its drive; `made_folder`: its mount point does, too."""

    device: str
    point: Path
    made_folder: bool


@dataclass(frozen=True)
class DriveEntry:
    """What is written of a program.

    `run_id` is the run that owns it, None for a person's; `drives` are their names, `devices` their
    block devices once they are up. `owner` is the process that starts it: until that is done, or
    has failed, there may be no program.
    """

    run_id: str | None
    drives: tuple[str, ...]
    owner: ProcessIdentity
    devices: tuple[str, ...] = ()
    mounts: tuple[Mounting, ...] = ()

    @property
    def is_starting(self) -> bool:
        """Whether no drive is up yet, and the process that starts them lives."""
        return not self.devices and is_alive(self.owner)


_ENTRIES = TypeAdapter(DriveEntry)


def get_home() -> Path:
    """Where the folders of drives lie that `stithy drive list` shows."""
    return state_home() / "drives"


def get_folder(name: str, run_id: str | None = None) -> Path:
    """The folder for a person's drive, or for a part of a run; names without a dot never meet."""
    return get_home() / (name if run_id is None else f"{run_id}.{name}")


def list_folders() -> list[Path]:
    """The folders below `home()` with an entry, sorted."""
    try:
        found = sorted(get_home().iterdir())
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []
    return [each for each in found if read_entry(each) is not None]


def make(folder: Path, entry: DriveEntry) -> None:
    """Make the folder with its entry, at once; to make it is to take its name.

    Raises UserError where there is one, PreconditionError where it cannot be written.
    """
    fresh = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh.mkdir(mode=0o700, exist_ok=True)
        write_entry(fresh, entry)
        fresh.rename(folder)
    except OSError as error:
        _drop(fresh)
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST) and folder.is_dir():
            raise UserError(
                "a drive of this name is already up, or was killed",
                where=folder.name,
                remedy="give another name, or remove it with `stithy drive down`",
            ) from error
        raise PreconditionError(
            f"the register of drives cannot be written: {give_reason(error)}",
            where=str(folder),
            remedy="make it writable, or name another directory in STITHY_STATE",
        ) from error


def write_entry(folder: Path, entry: DriveEntry) -> None:
    """Put the entry into the folder, replacing an older one in one move; only for the owner."""
    fields = {"stithy_drives": VERSION, **_ENTRIES.dump_python(entry, mode="json")}
    fresh = folder / f"{ENTRY}.new"
    write_private(fresh, json.dumps(fields, indent=2) + "\n")
    fresh.replace(folder / ENTRY)


def read_entry(folder: Path) -> DriveEntry | None:
    """The entry of a folder; None where there is none that this version can read."""
    try:
        fields = json.loads((folder / ENTRY).read_text())
        return _ENTRIES.validate_python(fields) if fields["stithy_drives"] == VERSION else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def add_devices(folder: Path, devices: Iterable[str]) -> None:
    """Write down which block devices the drives of this program are."""
    if (entry := read_entry(folder)) is not None:
        write_entry(folder, replace(entry, devices=(*entry.devices, *devices)))


def add_mount(folder: Path, mounting: Mounting) -> None:
    """Write down that a drive of this program is about to be mounted."""
    if (entry := read_entry(folder)) is not None:
        write_entry(folder, replace(entry, mounts=(*entry.mounts, mounting)))


def forget(folder: Path) -> None:
    """Remove the folder with what Stithy and the program put there. Idempotent."""
    if read_entry(folder) is not None:
        _drop(folder)


def _drop(folder: Path) -> None:
    with suppress(OSError):  # a folder with folders in it is not Stithy's alone
        for path in folder.iterdir():
            path.unlink(missing_ok=True)
        folder.rmdir()


ERRORS = "errors.txt"
"""Where in its folder the program's standard error goes."""

LAST_LINES = 5
END_PATIENCE_S = 1.0
"""How long a program may take to be gone after its socket has closed."""

_STARTED: list[tuple[Path, Running]] = []
"""Programs that this process started, each with its folder: they may outlive whoever asked for
them, and a folder's next one may begin before the last one is gone."""


def remember_program(folder: Path, program: Running) -> None:
    """Know this program when it ends."""
    _STARTED.append((folder.resolve(), program))


def start_daemon(folder: Path, words: Sequence[str], runner: Runner | None = None) -> Running:
    """Start a program that outlives its starter; what it says goes into the folder."""
    command = Command(argv=words, directory=folder, detached=True)
    running = (runner or LocalRunner()).start(command, stderr=folder / ERRORS)
    remember_program(folder, running)
    return running


def reap_programs() -> None:
    """Forget the programs that have ended, so that no zombie of them stays."""
    _STARTED[:] = [started for started in _STARTED if started[1].poll() is None]


def describe_end(folder: Path) -> str:
    """` by SIGKILL` or ` with code 1`, and what it wrote last; empty where neither is known."""
    own = [program for place, program in _STARTED if place == folder.resolve()]
    program = own[-1] if own else None
    code = None if program is None else wait_for_end(program, END_PATIENCE_S)
    how = ""
    if code is not None:
        how = f" by {name_signal(-code)}" if code < 0 else f" with code {code}"
    return how + "".join(f": {line}" for line in read_last_lines(folder))


def name_signal(number: int) -> str:
    """`SIGKILL` for 9; a number that has no name as it is."""
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


def read_last_lines(folder: Path) -> list[str]:
    """The last lines of its standard error."""
    return read_text(folder / ERRORS).splitlines()[-LAST_LINES:]


SIZE_BYTES_MAX = 2**53
"""8 PiB; beyond it no file system follows, and numbers in JSON lose their last digits."""

SEED_MAX = 2**64 - 1
SECTORS_BYTES = (512, 4096)

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
NAME_RULE = (
    "give letters, digits, `-`, `_` and `.`, at most 64 of them, the first a letter or a digit"
)


@dataclass(frozen=True)
class DriveSpec:
    """One drive.

    `profile` is the text of a drive profile (see `read_profile_text`), None takes no time.
    `backing` is the sparse file of its bytes, which stays when the drive goes down; None: they lie
    in memory, and are gone with it. `scale` is the divisor of its capacity, IOPS and bandwidth: 8
    for 1/8. `volatile`: what a power cut may take away. `transport_s` and `spin_s` None: as the
    program finds good. The interval log goes to `<hlog_stem>.latency.hlog`, None: there is none.
    Raises UserError for a name, size, sector, scale or seed that no drive can have.
    """

    name: str
    profile: str | None
    size_bytes: int
    sector_bytes: int = 4096
    backing: Path | None = None
    scale: float = 1.0
    seed: int = 0
    volatile: jobs.DriveVolatile = field(default_factory=jobs.FromProfile)
    transport_s: float | None = None
    spin_s: float | None = None
    hlog_stem: Path | None = None

    def __post_init__(self) -> None:
        check_name(self.name)
        self._refuse_unless(
            self.sector_bytes in SECTORS_BYTES,
            f"sectors of {self.sector_bytes} bytes cannot be",
            "give 512 or 4096",
        )
        self._refuse_unless(
            0 < self.size_bytes <= SIZE_BYTES_MAX,
            f"a drive of {self.size_bytes} bytes cannot be",
            "give a size from 1 MiB to 8192 TiB",
        )
        self._refuse_unless(
            self.size_bytes % self.sector_bytes == 0,
            f"{self.size_bytes} bytes are not a multiple of the sector, {self.sector_bytes} bytes",
            f"give {max(self.size_bytes // self.sector_bytes, 1) * self.sector_bytes}B",
        )
        self._refuse_unless(
            self.scale >= 1, f"a scale of {self.scale:g} divides nothing", "give 1 or more"
        )
        self._refuse_unless(
            0 <= self.seed <= SEED_MAX,
            f"{self.seed} cannot be a seed",
            f"give a whole number from 0 to {SEED_MAX}",
        )

    def make_wire_spec(self) -> jobs.WireDriveSpec:
        """The same for the program, which works in a folder of its own: paths in full."""
        stem, backing = self.hlog_stem, self.backing
        in_full: dict[str, Any] = {
            "backing": jobs.InMemory()
            if backing is None
            else jobs.InFile(path=str(backing.absolute())),
            "hlog_stem": None if stem is None else str(stem.absolute()),
        }
        return jobs.WireDriveSpec(**vars(self) | in_full)

    def _refuse_unless(self, right: bool, problem: str, remedy: str) -> None:
        if not right:
            raise UserError(problem, where=f"drive {self.name}", remedy=remedy)


def check_name(name: str) -> None:
    """Raise UserError for what cannot be the name of a drive."""
    if not NAME.fullmatch(name):
        raise UserError("this cannot be the name of a drive", where=repr(name), remedy=NAME_RULE)


PATIENCE_S = 60.0
"""How long an answer may take; bringing a drive up measures its transport first."""

_Answer = TypeVar("_Answer", bound=wire.AnyAnswer)


class Control:
    """The control socket of one program. Each call is a connection of its own."""

    def __init__(self, path: Path, patience_s: float = PATIENCE_S) -> None:
        """`path`: the socket; nothing is opened yet."""
        self.path = path
        self._patience_s = patience_s

    def add_drive(self, spec: DriveSpec) -> DriveUp:
        """Make one more drive."""
        return self._ask(wire.Up(spec=spec.make_wire_spec()), wire.AnswerUp)

    def list(self) -> tuple[DriveUp, ...]:
        """The drives that are up, in the order of their names."""
        return self._ask(wire.List(), wire.AnswerList).drives

    def read_counters(self, name: str) -> DriveCounters:
        """What a drive did since it came up."""
        return self._ask(wire.Stats(drive=name), wire.AnswerStats)

    def set(
        self,
        name: str,
        *,
        transport_s: float | None = None,
        spin_s: float | None = None,
        paced: bool | None = None,
    ) -> None:
        """Change how a drive waits; what is None stays.

        `paced` False: requests take no time and the drive does not age, for loading data.
        """
        command = wire.Set(drive=name, transport_s=transport_s, spin_s=spin_s, paced=paced)
        self._ask(command, wire.AnswerDone)

    def set_fault(self, name: str, fault: jobs.AnyFault) -> wire.AnswerPowerCut | None:
        """Break a drive, or mend it; after a power cut, what became of the volatile writes."""
        answer = self._ask(
            wire.Fault(drive=name, fault=fault), (wire.AnswerDone, wire.AnswerPowerCut)
        )
        return answer if isinstance(answer, wire.AnswerPowerCut) else None

    def snapshot(self, name: str) -> None:
        """Keep what of a drive outlasts its requests; there is room for one."""
        self._ask(wire.Snapshot(drive=name), wire.AnswerDone)

    def restore(self, name: str) -> None:
        """Put back what the last snapshot kept."""
        self._ask(wire.Restore(drive=name), wire.AnswerDone)

    def trace(self, name: str, path: Path | None) -> wire.AnswerTrace:
        """Write down each request of a drive into a file; None: no more, and how many it were."""
        place = None if path is None else str(path.absolute())
        return self._ask(wire.DriveTraceFile(drive=name, path=place), wire.AnswerTrace)

    def take_down(self, name: str | None = None) -> None:
        """Take a drive down; None: all, and the program with them."""
        self._ask(wire.Down(drive=name), wire.AnswerDone)

    def _ask(
        self, command: wire.AnyCommand, kind: type[_Answer] | tuple[type[_Answer], ...]
    ) -> _Answer:
        line = self._send_line(command.model_dump_json().encode() + b"\n")
        try:
            answer = wire.parse_answer(line)
        except ValidationError as error:
            raise self._make_strange_error(error.errors()[0]["msg"], line) from error
        if isinstance(answer, wire.AnswerFailure):
            raise make_failure_error(answer)
        if not isinstance(answer, kind):
            raise self._make_strange_error(f"unexpected {answer.answer!r}", line)
        return answer

    def _send_line(self, line: bytes) -> bytes:
        try:
            with connect_socket(self.path, self._patience_s) as connection:
                connection.sendall(line)
                with connection.makefile("rb") as reader:
                    answer = reader.readline()
        except TimeoutError as error:
            raise InfrastructureError(
                f"the drive program did not answer within {self._patience_s:g} s",
                where=str(self.path),
                remedy="check whether a signal or a debugger holds it; `stithy drive down` ends it",
            ) from error
        except OSError as error:
            raise self._make_ended_error() from error
        if not answer.endswith(b"\n"):
            raise self._make_ended_error()
        return answer

    def _make_ended_error(self) -> InfrastructureError:
        return InfrastructureError(
            f"the drive program has ended, and its drives with it{describe_end(self.path.parent)}",
            where=str(self.path),
            remedy="find out from the kernel log (dmesg) whether it was killed for memory, remove "
            "what it left with `stithy clean`, and start the drives again",
        )

    def _make_strange_error(self, problem: str, line: bytes) -> InfrastructureError:
        return InfrastructureError(
            f"the answer of the drive program is not valid ({problem}): {line[:200]!r}",
            where=str(self.path),
            remedy="make sure that Stithy and its native programs are of the same version",
        )
