"""Which processes live: a process is known by boot, process id and start time, never by id alone.

Process ids are used again; the triple is not. The processes of a run are found by a mark in
their environment, so that those of a killed Stithy can be ended without having been written down.
"""

import os
import signal
import stat
import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

PROC = Path("/proc")
RUN_VARIABLE = "STITHY_RUN"
"""Environment variable that every process of a run carries; its value is the run's id."""


@dataclass(frozen=True)
class ProcessIdentity:
    """One process for good; `start_ticks` counts clock ticks since boot."""

    boot_id: str
    pid: int
    start_ticks: int

    def list_facts(self) -> dict[str, str]:
        """As strings, for a journal."""
        return {name: str(value) for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Stat:
    """A process as the kernel tells it in one line: its name, and its fields from the state on."""

    name: str
    fields: Sequence[str]


def read_stat(folder: Path) -> Stat | None:
    """The line of a process by its folder in /proc; None where there is no such process.

    `1234 (name of it) S 1 …`; the name may hold anything, so fields count from its last bracket.
    Source: proc_pid_stat(5).
    """
    try:
        head, _, rest = (folder / "stat").read_text(errors="replace").rpartition(")")
    except OSError:
        return None
    fields = rest.split()
    return Stat(head.partition("(")[2], fields) if fields else None


def read_identity(pid: int) -> ProcessIdentity | None:
    """The identity of the process that has this id now; None where there is none (or a zombie).

    While other threads of a zombie have yet to end, it still has its files open.
    """
    stat = _read_stat(pid)
    if stat is None or (stat.fields[0] in ("Z", "X") and int(stat.fields[17]) <= 1):
        return None
    return ProcessIdentity(read_boot_id(), pid, int(stat.fields[19]))


def is_held(pid: int) -> bool:
    """Whether a signal or a debugger holds the process, so that it does nothing."""
    stat = _read_stat(pid)
    return stat is not None and stat.fields[0] in ("T", "t")


def get_identity() -> ProcessIdentity:
    """The identity of this process."""
    found = read_identity(os.getpid())
    assert found is not None  # this process lives while it asks
    return found


def parse_identity(facts: Mapping[str, str]) -> ProcessIdentity:
    """The identity that `Identity.facts` wrote; ValueError or KeyError for anything else."""
    return ProcessIdentity(facts["boot_id"], int(facts["pid"]), int(facts["start_ticks"]))


def is_alive(identity: ProcessIdentity) -> bool:
    """Whether this very process still runs."""
    return read_identity(identity.pid) == identity


def read_boot_id() -> str:
    """The kernel's id of this boot."""
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()


def find_pids_of_run(run_id: str) -> list[int]:
    """All processes but this one whose environment carries the run's mark."""
    mark = f"{RUN_VARIABLE}={run_id}".encode()
    return [pid for pid in _list_pids() if mark in _read(pid, "environ").split(b"\0")]


def find_pids_inside(directory: Path, program: str) -> list[int]:
    """All processes of this program (by its file name) whose working directory is `directory`.

    A server's own children overwrite their environment with a title, so the mark is not enough.
    """
    return [
        pid
        for pid in _list_pids()
        if _link(pid, "cwd") == str(directory) and _read_program(pid) == program
    ]


def find_descendants(pid: int) -> list[int]:
    """The children of a process, and theirs, as they are now."""
    parents = {child: int(stat.fields[1]) for child in _list_pids() if (stat := _read_stat(child))}
    found = [pid]
    for one in found:  # it grows while it is read
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def find_pids_within(directory: Path) -> list[int]:
    """All processes that work in `directory`, whatever their program is."""
    return [pid for pid in _list_pids() if _link(pid, "cwd") == str(directory)]


def read_cmdline(pid: int) -> list[str]:
    """The words with which a process was started; empty where it has ended."""
    return _read(pid, "cmdline").decode(errors="replace").split("\0")[:-1]


DELETED = " (deleted)"
"""After the name of a directory that is no more but in use. Source: proc_pid_cwd(5)."""


def list_abandoned_folders(program: str) -> list[Path]:
    """The directories in which processes of this program work, and that were deleted."""
    own = [_link(pid, "cwd") for pid in _list_pids() if _read_program(pid) == program]
    gone = {link.removesuffix(DELETED) for link in own if link.endswith(DELETED)}
    return sorted(map(Path, gone))


@dataclass(frozen=True)
class User:
    """A process that uses a file system, and the name of its program."""

    pid: int
    name: str


def name_users(users: Sequence[User]) -> str:
    """The first few of them, as messages name them."""
    return ", ".join(f"{user.name} ({user.pid})" for user in users[:5])


def find_users(point: Path) -> list[User]:
    """The processes that work in, or hold a file of, the file system mounted at `point`."""
    place = str(point.resolve())
    return [User(pid, _name(pid)) for pid in sorted(_list_pids()) if _is_using(pid, place)]


PASSING_S = 2.0
"""How long a program may have a device open and let go by itself: udev looks into each device after
somebody wrote to it."""


def find_openers(
    numbers: Container[str], serves: Callable[[int], bool], proc: Path = PROC
) -> list[User]:
    """The processes that have block devices of these numbers (`major:minor`) open, for longer.

    By whatever name of the device. `serves`: whether the device is what a process makes.
    """
    until_s = time.monotonic() + PASSING_S
    while found := [
        pid for pid in sorted(_list_pids(proc)) if _has_open(pid, numbers, proc) and not serves(pid)
    ]:
        if time.monotonic() > until_s:
            break
        time.sleep(0.05)
    return [User(pid, _name(pid)) for pid in found]


def _has_open(pid: int, numbers: Container[str], proc: Path) -> bool:
    try:
        held = list((proc / str(pid) / "fd").iterdir())
    except OSError:  # it ended, or is another user's
        return False
    return any(read_device_number(file) in numbers for file in held if _is_in_dev(file))


def _is_in_dev(descriptor: Path) -> bool:
    """Other files are not looked at: what lies on a network that is gone would not answer."""
    try:
        return "/dev/" in os.readlink(descriptor)
    except OSError:
        return False


def read_device_number(device: Path) -> str:
    """The number of a block device, `major:minor`; empty for anything else."""
    try:
        found = os.stat(device)
    except OSError:
        return ""
    is_device = stat.S_ISBLK(found.st_mode)
    return f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}" if is_device else ""


def _is_using(pid: int, place: str) -> bool:
    try:
        open_files = [_link(pid, f"fd/{each}") for each in os.listdir(PROC / str(pid) / "fd")]
    except OSError:  # it ended, or is another user's
        open_files = []
    held = [_link(pid, "cwd"), _link(pid, "root"), *open_files]
    return any(file == place or file.startswith(f"{place}/") for file in held)


def _name(pid: int) -> str:
    return _read(pid, "comm").decode(errors="replace").strip() or "?"


def _read_program(pid: int) -> str:
    """The file name of its program, also where that was replaced by a newer one since."""
    return os.path.basename(_link(pid, "exe")).removesuffix(" (deleted)")


def list_program_names(pid: int) -> set[str]:
    """The file name of its program; of a script in Python also that of the script."""
    program = _read_program(pid)
    script = read_cmdline(pid)[1:2] if program.startswith("python") else []
    return {program, *map(os.path.basename, script)}


def resume_processes(pids: Iterable[int]) -> None:
    """Let processes go on that a signal holds.

    Without a look whether one is held: a signal that is under way would hold it after the look.
    """
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def end(pids: Iterable[int], first: signal.Signals, patience_s: float = 10.0) -> None:
    """Send `first`, wait for the end, then SIGKILL; returns when all are gone.

    A process id that comes to belong to another process meanwhile is left alone.
    """
    targets = [found for pid in pids if (found := read_identity(pid))]
    _send_signal(targets, first)
    if not _wait(targets, patience_s):
        _send_signal(targets, signal.SIGKILL)
        _wait(targets, patience_s)


def end_tree(pid: int, first: signal.Signals) -> None:
    """End a process and those that it has started: a shell would leave its pipe's at work."""
    end([pid, *find_descendants(pid)], first)


def _send_signal(targets: list[ProcessIdentity], number: signal.Signals) -> None:
    for target in targets:
        if is_alive(target):
            with suppress(ProcessLookupError):
                os.kill(target.pid, number)


def _wait(targets: list[ProcessIdentity], patience_s: float) -> bool:
    deadline = time.monotonic() + patience_s
    while any(is_alive(target) for target in targets):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _list_pids(proc: Path = PROC) -> list[int]:
    return [
        int(path.name)
        for path in proc.iterdir()
        if path.name.isdigit() and path.name != str(os.getpid())
    ]


def _read(pid: int, name: str) -> bytes:
    try:
        return (PROC / str(pid) / name).read_bytes()
    except OSError:
        return b""


def _read_stat(pid: int) -> Stat | None:
    return read_stat(PROC / str(pid))


def _link(pid: int, name: str) -> str:
    try:
        return os.readlink(PROC / str(pid) / name)
    except OSError:
        return ""
