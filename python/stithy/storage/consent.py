"""Which directories and devices may be used: the only module that allows it.

Nothing of the user's is ever destroyed. A directory is used if it is missing, empty, or carries the
mark of Stithy and holds nothing that Stithy did not put there; without a readable mark it is the
user's, whatever it looks like. A device that anything uses is never overwritten: no mount, swap or
partition, no array, no program that has it open. One that is not used must be empty, or the person
names it by an id that stays with it and says `wipe: true`; to measure its writes it must be named
so and have no signature.
"""

import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from shlex import quote

from pydantic import TypeAdapter

from stithy.errors import PreconditionError, give_reason
from stithy.hosts import processes
from stithy.hosts.devices import find_whole_disk, list_mounts, read_text
from stithy.hosts.runner import Command, Finished, Runner
from stithy.storage.space import measure_files
from stithy.wire.program import DRIVE

MARK = ".stithy.json"
VERSION = 1
"""1: run, made_directory, owner, kept."""


@dataclass(frozen=True)
class DirectoryMark:
    """Which run a directory belongs to.

    `made_directory`: Stithy made the directory, so it also removes it. `owner` is the process that
    runs, None once the run ended and its instances were kept.
    """

    run_id: str
    made_directory: bool
    owner: processes.ProcessIdentity | None

    @property
    def is_in_use(self) -> bool:
        """Whether the run goes on in another process, or was kept until `stithy clean`."""
        return self.owner is None or (
            self.owner.pid != os.getpid() and processes.is_alive(self.owner)
        )


_MARKS = TypeAdapter(DirectoryMark)


def read_mark(directory: Path) -> DirectoryMark | None:
    """The mark of a directory; None where there is none that this version can read."""
    try:
        fields = json.loads((directory / MARK).read_text())
        return _MARKS.validate_python(fields) if fields["stithy_mark"] == VERSION else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_mark(directory: Path, mark: DirectoryMark) -> None:
    """Put the mark into the directory, replacing an older one in one move."""
    fields = {"stithy_mark": VERSION, **_MARKS.dump_python(mark, mode="json")}
    fresh = directory / f"{MARK}.new"
    fresh.write_text(json.dumps(fields, indent=2) + "\n")
    fresh.replace(directory / MARK)


def remove_mark(directory: Path, run_id: str) -> None:
    """Take the mark away if it is this run's. Idempotent."""
    mark = read_mark(directory)
    if mark is not None and mark.run_id == run_id:
        (directory / MARK).unlink(missing_ok=True)
        (directory / f"{MARK}.new").unlink(missing_ok=True)


DATA = "data"
MASTER = "master"
KEPT = "kept"
"""The folder of what a restore method keeps beside the database."""

OTHER = "beside-database"
"""The folder of what works on the same storage as the database, but is not it."""

MOVED, ASIDE = "moved", "before-the-move"
"""The folders of a database that moved: its files there, and those that it left behind."""

STITHY_ENTRIES = frozenset({MARK, f"{MARK}.new", DATA, KEPT, MASTER, OTHER, MOVED, ASIDE})
"""What Stithy puts into a candidate's directory; of several master copies each has a name more."""


def is_stithy_entry(name: str) -> bool:
    """Whether an entry of a marked directory is Stithy's."""
    return name in STITHY_ENTRIES or name.startswith(f"{MASTER}-")


def list_stithy_entries(directory: Path) -> list[str]:
    """Names in `directory` that Stithy may have put there, sorted; none where it is missing."""
    there = os.listdir(directory) if directory.is_dir() else []
    return sorted(name for name in there if is_stithy_entry(name))


ANOTHER = "name another directory"
OF_THE_FILE_SYSTEM = frozenset({"lost+found"})
"""What a fresh file system holds at its mount point; never touched."""


class Use(Enum):
    """In what state a directory that may be used was found."""

    MISSING = "missing"
    EMPTY = "empty"
    OURS = "ours"


def may_use(path: Path, where: str) -> Use:
    """How `path` may be used for a volume; changes nothing.

    `where` names the candidate in messages. Raises PreconditionError for whatever is not missing,
    empty, or Stithy's own and free.
    """
    if not path.is_absolute():
        raise _refuse(f"{path} is a relative path", where, f"write it in full: {Path.cwd() / path}")
    if os.path.islink(path) and not os.path.exists(path):
        raise _refuse(f"{path} points to nothing", where, "name a directory, or correct the link")
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return _judge_missing(path, where)
    except OSError as error:
        raise _refuse(f"{path} cannot be read: {give_reason(error)}", where, ANOTHER) from error
    if not stat.S_ISDIR(found.st_mode):
        raise _refuse(f"{path} is not a directory", where, "name a directory that is empty or new")
    _refuse_shared(path, found, where)
    return _judge_existing(path, where)


def may_empty(directory: Path, run_id: str) -> bool:
    """Whether what Stithy put into `directory` may be removed for this run: its mark decides.

    A link is not what was marked: Stithy knows its directories by their real names.
    """
    mark = None if directory.is_symlink() else read_mark(directory)
    return mark is not None and mark.run_id == run_id


def count_held_bytes(directory: Path) -> int:
    """What Stithy's own directories in it take of the file system; 0 without its mark."""
    if read_mark(directory) is None:
        return 0
    return sum(measure_files(directory / name)[1] for name in list_stithy_entries(directory))


def list_foreign_entries(directory: Path) -> list[str]:
    """Names in `directory` that are not Stithy's, sorted."""
    known = OF_THE_FILE_SYSTEM if os.path.ismount(directory) else frozenset()
    there = (name for name in os.listdir(directory) if name not in known)
    return sorted(name for name in there if not is_stithy_entry(name))


def _judge_missing(path: Path, where: str) -> Use:
    parent = path.parent
    if not parent.is_dir():
        if parent.exists():
            raise _refuse(f"{parent} is not a directory", where, ANOTHER)
        raise _refuse(f"{parent} does not exist", where, f"make it: mkdir -p {quote(str(parent))}")
    _need_writable(parent, where)
    return Use.MISSING


def _judge_existing(path: Path, where: str) -> Use:
    _need_writable(path, where)
    try:
        foreign = list_foreign_entries(path)
    except OSError as error:
        raise _refuse(f"{path} cannot be read: {give_reason(error)}", where, ANOTHER) from error
    mark = read_mark(path)
    if foreign or (mark is None and list_stithy_entries(path)):
        first = (foreign or list_stithy_entries(path))[0]
        what = "not Stithy's" if foreign else "without Stithy's mark"
        raise _refuse(
            f"{path} is not empty: it holds {first!r}, {what}",
            where,
            f"empty it yourself, or {ANOTHER}, such as {path / 'stithy'}",
        )
    if mark is None:
        return Use.EMPTY
    if mark.is_in_use:
        raise _refuse(
            f"{path} is in use by run {mark.run_id}",
            where,
            "wait for its end, or remove it with `stithy clean` if it was kept",
        )
    return Use.OURS


def _refuse_shared(path: Path, found: os.stat_result, where: str) -> None:
    if path.resolve().parent == path.resolve():
        raise _refuse(f"{path} is the root of the machine", where, ANOTHER)
    if found.st_mode & stat.S_ISVTX and found.st_mode & stat.S_IWOTH:
        raise _refuse(
            f"{path} is shared by all users", where, f"use a directory in it: {path / 'stithy'}"
        )


def _need_writable(path: Path, where: str) -> None:
    if os.statvfs(path).f_flag & os.ST_RDONLY:
        raise _refuse(f"{path} is on a read-only file system", where, ANOTHER)
    if not os.access(path, os.W_OK | os.X_OK):
        raise _refuse(f"{path} is not writable for this user", where, f"{ANOTHER}, or use sudo")


def _refuse(problem: str, where: str, remedy: str) -> PreconditionError:
    return PreconditionError(problem, where=where, remedy=remedy)


BY_ID = Path("/dev/disk/by-id")


def may_erase(
    device: Path,
    named: str,
    runner: Runner,
    *,
    by_id: Path = BY_ID,
    proc: Path = Path("/proc"),
    sys: Path = Path("/sys"),
) -> None:
    """Return where `device` may be overwritten; changes nothing.

    `named` is the id by which the person named it. Raises PreconditionError for any reason against.
    """
    real = device.resolve()
    known = list_stable_ids(real, by_id=by_id, sys=sys)
    if named not in known:
        shown = (
            f"its ids are {', '.join(known)}" if known else "it has none that would stay with it"
        )
        raise _refuse_device(f"{named!r} does not name this device", device, shown)
    for problem, remedy in (
        *_find_uses(real, proc, sys),
        *_list_signatures(real, runner),
        *_require_exclusive(real),
    ):
        raise _refuse_device(problem, device, remedy)


def list_stable_ids(
    device: Path, *, by_id: Path = BY_ID, sys: Path = Path("/sys")
) -> tuple[str, ...]:
    """Names that stay with a device wherever it is: udev's, its serial number, its WWN."""
    found = []
    if by_id.is_dir():
        found = sorted(link.name for link in by_id.iterdir() if link.resolve() == device)
    place = sys / "class" / "block" / device.name
    files = ("serial", "device/serial", "wwid", "device/wwid")
    return tuple(
        dict.fromkeys([*found, *filter(None, (read_text(place / file) for file in files))])
    )


EDGE_BYTES = 2**20
"""What must be zero at either end of an empty device. An encrypted one may have no signature, and
is never zero there; what Stithy has made it takes from there when it goes."""

STABLE_FOLDERS = ("by-id", "by-partuuid")
"""Folders of udev's names that stay with a device. A name in `by-path` stays with the slot, which
may hold another one; a name in `by-uuid` or `by-label` goes with the content."""

LOOP_MARK = ".stithy"
"""Added to the name of a loop device's file: a file so called beside it says that Stithy may
overwrite it. A loop device has no name of its own that would stay."""


@dataclass(frozen=True)
class Content:
    """What a device holds: known things by name, and whether anything else is seen at its ends."""

    known: tuple[str, ...]
    written: bool

    @property
    def is_empty(self) -> bool:
        """Whether nothing is there that could be lost."""
        return not self.known and not self.written

    def __str__(self) -> str:
        return ", ".join(self.known) or ("data of unknown kind" if self.written else "nothing")


def may_format(
    given: Path,
    where: str,
    runner: Runner,
    *,
    wipe: bool,
    dev: Path = Path("/dev"),
    proc: Path = Path("/proc"),
    sys: Path = Path("/sys"),
) -> Content:
    """What would be lost by overwriting the block device `given`, which may be; changes nothing.

    `given` is as the person names it, `where` the candidate. Raises PreconditionError for whatever
    is in use, and for what is not empty without `wipe` and a name that stays with the device.
    """
    device = _resolve_block_device(given, where)
    for problem, remedy in (*_find_uses(device, proc, sys), *_require_exclusive(device)):
        raise _refuse(f"{given} is not overwritten: {problem}", where, remedy)
    content = read_content(device, given, where, runner)
    if content.is_empty:
        return content
    stays, names = _list_stable_names(given, device, dev, sys)
    if not wipe:
        remedy = "name another device, or give all of that up with `wipe: true`"
        if not stays and (first := next(iter(names), None)):
            remedy = f"{remedy} and its name {first}"
        raise _refuse(f"{given} is not empty: it holds {content}", where, remedy)
    if not stays:
        raise _refuse(
            f"{given} holds {content}, and by this name it could be another device tomorrow",
            where,
            f"name it by an id that stays with it: {' or '.join(names)}"
            if names
            else "use a device with an id in /dev/disk/by-id: this one has none",
        )
    return content


def read_content(device: Path, given: Path, where: str, runner: Runner) -> Content:
    """What is seen of a device's content without knowing who wrote it."""
    looked = _list_signature_types(device, runner)
    if looked.code != 0:
        problem = f"{given} cannot be examined: {looked.stderr.strip()}"
        raise _refuse(problem, where, "run as root, with sudo")
    try:
        with device.open("rb", buffering=0) as file:
            begin = file.read(EDGE_BYTES)
            end_at = max(0, file.seek(0, os.SEEK_END) - EDGE_BYTES)
            file.seek(end_at)
            written = any(begin) or any(file.read(EDGE_BYTES))
    except OSError as error:
        problem = f"{given} cannot be read: {give_reason(error)}"
        raise _refuse(problem, where, "check the device and the kernel log (dmesg)") from error
    return Content(tuple(dict.fromkeys(looked.stdout.split())), written)


def _resolve_block_device(given: Path, where: str) -> Path:
    try:
        found = os.stat(given)
    except OSError as error:
        problem = f"{given} is not there: {give_reason(error)}"
        raise _refuse(problem, where, "list the devices that are: ls -l /dev/disk/by-id") from error
    if not stat.S_ISBLK(found.st_mode):
        remedy = "name a block device such as /dev/disk/by-id/…, or use a directory with `path`"
        raise _refuse(f"{given} is not a block device", where, remedy)
    return given.resolve()


def _list_stable_names(
    given: Path, device: Path, dev: Path, sys: Path
) -> tuple[bool, tuple[str, ...]]:
    """Whether `given` stays with the device, and all names that do."""
    folders = [dev / "disk" / name for name in STABLE_FOLDERS]
    names = [
        str(link)
        for folder in folders
        if folder.is_dir()
        for link in sorted(folder.iterdir())
        if link.resolve() == device
    ]
    backing = read_text(sys / "class" / "block" / device.name / "loop" / "backing_file")
    if backing and Path(f"{backing}{LOOP_MARK}").is_file():
        return True, (str(given),)
    return str(given) in names, tuple(names)


def _find_uses(device: Path, proc: Path, sys: Path) -> Iterator[tuple[str, str]]:
    """What uses it, each with its remedy; the first is enough."""
    place = (sys / "class" / "block" / device.name).resolve()
    parts = sorted(path.parent.name for path in place.glob("*/partition"))
    if parts:
        yield f"it has partitions: {', '.join(parts)}", "remove them yourself, or name one of them"
    number = read_text(place / "dev")
    for mount in list_mounts(proc):
        if mount.number == number or os.path.realpath(mount.source) == str(device):
            remedy = "unmount it, if nothing on it is needed"
            if mark := read_mark(mount.point):
                remedy = f"wait for the end of run {mark.run_id}, or remove it with `stithy clean`"
            yield f"it is mounted at {mount.point}", remedy
    swaps = read_text(proc / "swaps").splitlines()[1:]
    if any(line.split()[0] == str(device) for line in swaps):
        yield "it is swap space", "turn it off with swapoff, if the machine can do without"
    holders = sorted(each.name for each in (place / "holders").glob("*"))
    if holders:
        yield f"it is used by {', '.join(holders)}", "take that apart first"
    if openers := _find_openers(place, proc):
        yield f"it is open in {processes.name_users(openers)}", "end what has it open first"


def _find_openers(place: Path, proc: Path) -> list[processes.User]:
    """Who has it open, or the disk that it is a part of, but for the program that makes it.

    `pid` is of the kernel's nbd: the thread that speaks with the server. Source:
    drivers/block/nbd.c.
    """
    whole = find_whole_disk(place)
    numbers = {read_text(each / "dev") for each in (place, whole)} - {""}
    thread = read_text(whole / "pid")

    def serves(pid: int) -> bool:
        by_nbd = bool(thread) and (proc / str(pid) / "task" / thread).exists()
        return by_nbd or DRIVE in processes.list_program_names(pid)

    return processes.find_openers(numbers, serves, proc)


def _list_signatures(device: Path, runner: Runner) -> Iterator[tuple[str, str]]:
    looked = _list_signature_types(device, runner)
    if looked.code != 0:
        yield f"it cannot be examined: {looked.stderr.strip()}", "run as root, with sudo"
    if kinds := looked.stdout.split():
        remedy = f"if nothing on it is needed: wipefs --all {quote(str(device))}"
        yield f"there is something on it: {', '.join(kinds)}", remedy


def _list_signature_types(device: Path, runner: Runner) -> Finished:
    words = ["wipefs", "--no-act", "--noheadings", "--output", "TYPE", "--", str(device)]
    return runner.run(Command(words), timeout_s=60.0)


def _require_exclusive(device: Path) -> Iterator[tuple[str, str]]:
    """The kernel refuses an exclusive opening while anything in it uses the device."""
    try:
        os.close(os.open(device, os.O_RDWR | os.O_EXCL))
    except OSError as error:
        yield f"it cannot be had alone: {give_reason(error)}", "find what uses it: lsblk"


def _refuse_device(problem: str, device: Path, remedy: str) -> PreconditionError:
    return PreconditionError(f"it is not written to: {problem}", where=str(device), remedy=remedy)
