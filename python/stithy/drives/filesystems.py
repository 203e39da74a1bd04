"""File systems on drives, made, mounted and unmounted by their own programs."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from stithy.clock import Clock, SystemClock
from stithy.environment import search_path
from stithy.errors import InfrastructureError, PreconditionError, UserError
from stithy.hosts.devices import list_dead_mounts, list_mounts
from stithy.hosts.host import SYSTEM_FOLDERS
from stithy.hosts.processes import find_users, name_users
from stithy.hosts.runner import Command, Finished, LocalRunner, Runner
from stithy.needs import KernelFileSystem, Need, Package, ProgramNeed

BUSY_PATIENCE_S = 5.0
TIMEOUT_S = 1800.0
"""Checking a large file system on a slow drive takes its time."""

PLAIN = {"LC_ALL": "C"}
NOTHING_FOUND = 2
"""What blkid ends with on a device that holds nothing it knows. Source: blkid(8)."""


@dataclass(frozen=True)
class Kind:
    """A kind of file system: the programs that make and check it, and what brings them.

    Making starts no work that would go on in the background of a measurement. `uuid` gives it the
    identifier `{}`. `whole`, after `make`, gives nothing on the device back to what lies below.
    """

    make: tuple[str, ...]
    uuid: tuple[str, str]
    check: tuple[str, ...]
    package: Package
    whole: tuple[str, ...] = ("-K",)


KINDS: Mapping[str, Kind] = {
    "ext4": Kind(
        make=("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"),
        uuid=("-U", "{}"),
        check=("e2fsck", "-f", "-n"),
        package=Package("e2fsprogs", "e2fsprogs"),
        # Of several -E the last one counts.
        whole=("-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"),
    ),
    "xfs": Kind(
        make=("mkfs.xfs", "-q", "-f"),
        uuid=("-m", "uuid={}"),
        check=("xfs_repair", "-n"),
        package=Package("xfsprogs", "xfsprogs"),
    ),
    "btrfs": Kind(
        make=("mkfs.btrfs", "-q", "-f"),
        uuid=("-U", "{}"),
        check=("btrfs", "check", "--readonly"),
        package=Package("btrfs-progs", "btrfs-progs"),
    ),
}
"""The kinds by the names that `mount` knows them by."""

UTILITIES = Package("util-linux", "util-linux")
MOUNTING = Package("mount", "util-linux")


def list_needs(usual: str) -> tuple[Need, ...]:
    """What making, mounting and checking file systems takes; all but the `usual` kind can wait."""
    found: list[Need] = []
    for name, kind in KINDS.items():
        why, waits = f"drives with {name}", name != usual
        found.append(_require_program(kind.make[0], kind.package, why=why, optional=waits))
        found.append(KernelFileSystem(name=name, why=why, optional=waits))
        why = f"checking {name} after a power cut"
        found.append(_require_program(kind.check[0], kind.package, why=why, optional=True))
    return (*found, _require_program("mount", MOUNTING, why="mounting drives"))


def _require_program(
    name: str, package: Package, *, why: str, optional: bool = False
) -> ProgramNeed:
    version = "--version" if name in ("btrfs", "mount") else "-V"
    return ProgramNeed(name=name, package=package, asked=(version,), why=why, optional=optional)


def need_tools(kind: str) -> None:
    """Raise where file systems of this kind cannot be made here; changes nothing."""
    find_program(_find_kind(kind).make[0], _find_kind(kind).package)


def make(
    device: str,
    kind: str,
    *,
    uuid: str | None = None,
    options: Sequence[str] = (),
    others: Sequence[str] = (),
    runner: Runner | None = None,
) -> None:
    """Make a file system on a device, over whatever is there; with `uuid` as its identifier.

    `options` are more words for its program; `others` are the devices that it is on as well.

    Raises UserError for an unknown kind, PreconditionError where its programs are not there,
    InfrastructureError where making fails, such as on a device that is too small.
    """
    tool, *words = _find_kind(kind).make
    if uuid is not None:
        words += [each.format(uuid) for each in _find_kind(kind).uuid]
    program = find_program(tool, _find_kind(kind).package)
    command = make_tool_command([program, *words, *options, device, *others])
    finished = (runner or LocalRunner()).run(command, timeout_s=TIMEOUT_S)
    if finished.code != 0:
        raise InfrastructureError(
            f"{kind} could not be created: {_take_last_words(finished)}",
            where=device,
            remedy="give the drive a larger size, or another file system",
        )


def make_tool_command(argv: Sequence[str]) -> Command:
    """Give a program a view of its own without mounts whose FUSE program has died.

    Those of btrfs look at every mounted loop device of the machine before they write to another,
    and give up at one that does not answer. Source: check_mounted_where of btrfs-progs.
    """
    dead = [str(each.point) for each in list_dead_mounts()]
    if not dead:
        return Command(argv, environment=PLAIN)
    hide = 'while [ "$1" != -- ]; do umount -l -- "$1"; shift; done; shift; exec "$@"'
    unshare = [find_program("unshare", UTILITIES), "--mount", "sh", "-c", hide, "sh", *dead, "--"]
    return Command([*unshare, *argv], environment=PLAIN)


def read_tag(
    device: str, tag: Literal["TYPE", "UUID", "LABEL"], *, runner: Runner | None = None
) -> str | None:
    """What blkid says of a device: its kind of content, identifier, or label (of ZFS the pool's).

    None where nothing known lies on it. Raises InfrastructureError where it cannot be read.
    """
    words = ["--probe", "--match-tag", tag, "--output", "value", device]
    finished = run_tool(runner, UTILITIES, "blkid", *words)
    if finished.code == 0:
        return finished.stdout.strip() or "something without a name"
    if finished.code == NOTHING_FOUND:
        return None
    raise InfrastructureError(
        f"its content cannot be identified: {_take_last_words(finished)}",
        where=device,
        remedy="check the kernel log (dmesg)",
    )


def mount(
    device: str,
    folder: Path,
    kind: str,
    *,
    options: Sequence[str] = (),
    runner: Runner | None = None,
) -> None:
    """Mount a device at a folder that exists; InfrastructureError where the kernel refuses."""
    words = ["-t", kind, *(["-o", ",".join(options)] if options else [])]
    finished = run_tool(runner, MOUNTING, "mount", *words, "--", device, str(folder))
    if finished.code != 0:
        raise InfrastructureError(
            f"{kind} on {device} could not be mounted: {_take_last_words(finished)}",
            where=str(folder),
            remedy=f"check the kernel log (dmesg); the kernel must support {kind}",
        )


def unmount(
    folder: Path,
    *,
    devices: Sequence[str] = (),
    runner: Runner | None = None,
    clock: Clock | None = None,
) -> None:
    """Unmount what is mounted at a folder, with `devices` only what is of one of them. Idempotent.

    What is in use is tried again for a while. Raises PreconditionError that names who uses it.
    """
    time = clock or SystemClock()
    until_s = time.monotonic_s() + BUSY_PATIENCE_S
    while is_mounted(folder, *devices):
        finished = run_tool(runner, MOUNTING, "umount", "--", str(folder))
        if finished.code != 0 and is_mounted(folder, *devices):
            if time.monotonic_s() >= until_s:
                users = name_users(find_users(folder))
                problem = f"it could not be unmounted: {_take_last_words(finished)}"
                remedy = (
                    f"end what uses it: {users}" if users else "end what uses it, and try again"
                )
                raise PreconditionError(problem, where=str(folder), remedy=remedy)
            time.sleep_s(0.2)


def is_mounted(folder: Path, *devices: str) -> bool:
    """Whether something, or one of `devices`, is the topmost mount at this very folder.

    Of a file system over several devices the kernel names any one.

    The folder itself is not looked at: behind a drive that fails nobody could.
    """
    place = folder.parent.resolve() / folder.name
    there = [mount for mount in list_mounts() if mount.point == place]
    return bool(there) and (not devices or there[-1].source in devices)


def _find_kind(kind: str) -> Kind:
    if (found := KINDS.get(kind)) is None:
        raise UserError(
            f"{kind!r} is not a file system that Stithy makes",
            where="file system",
            remedy=f"give one of {', '.join(KINDS)}",
        )
    return found


def find_program(name: str, package: Package) -> str:
    """The full path of a program. Raises PreconditionError that names its package."""
    for folder in (*search_path(), *SYSTEM_FOLDERS):
        if os.access(folder / name, os.X_OK):
            return str(folder / name)
    raise PreconditionError(
        f"the program {name} was not found", where="this machine", remedy=package.install()
    )


def run_tool(
    runner: Runner | None, package: Package, name: str, *words: str, timeout_s: float = TIMEOUT_S
) -> Finished:
    """Run a program of the system to its end. Raises PreconditionError as `find_program`."""
    command = Command([find_program(name, package), *words], environment=PLAIN)
    return (runner or LocalRunner()).run(command, timeout_s=timeout_s)


def _take_last_words(finished: Finished) -> str:
    lines = [line.strip() for line in (finished.stdout + finished.stderr).splitlines()]
    said = [line for line in lines if line]
    return said[-1].rstrip(".") if said else f"it ended with code {finished.code}"
