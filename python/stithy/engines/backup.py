"""The interface of a backup method: a way to back a database up, which belongs to its engine.

Two engines may have methods of one name. A restore reads nothing of the source, and writes nothing
but the data directory and what lies beside it. A method that keeps a repository, in which later
backups build on earlier ones, has `keeps_repository`: before each window the repository is made
anew, and gets a full backup that does not count where those that are measured need one.
"""

import os
import shutil
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stithy.errors import PreconditionError, UserError
from stithy.needs import Need, Package, find_version
from stithy.secrets import Secret

if TYPE_CHECKING:
    from stithy.hosts.runner import Command, Finished

FULL: Final = "full"
"""The kind of a backup that needs no other."""

ENDINGS = {"none": "", "gzip": ".gz", "lz4": ".lz4", "zstd": ".zst"}
"""Of the files of backups, by compression."""

OF_THE_HOST = "it reads files of the server's host by itself, and another host has none"

PACKERS = {name: Package(name, name) for name in ENDINGS if name != "none"}
"""The programs that compress and unpack, by compression."""


@dataclass(frozen=True)
class BackupOptions:
    """How a backup is made: with so many processes, compressed so (`none`: not at all).

    `bytes_per_s`: how fast it reads the database at most; None as fast as it can. `kind`: whether
    it holds everything, or what changed since an earlier one. `agent`: at which agent it is made;
    empty on this host.
    """

    processes: int = 1
    compression: str = "none"
    bytes_per_s: int | None = None
    kind: str = FULL
    agent: str = ""


def list_packers(options: BackupOptions) -> Mapping[str, Package]:
    """List the program that compresses, with its package."""
    return {name: package for name, package in PACKERS.items() if name == options.compression}


@dataclass(frozen=True)
class BackupJob:
    """How a backup is made, and its `folder`, empty unless it is a repository.

    `programs`: where the engine's own are; those of the machine are found by their names.
    """

    programs: Path
    options: BackupOptions
    folder: Path


@dataclass(frozen=True)
class Source:
    """A running server, and its data directory."""

    url: Secret
    data: Path


Run = Callable[["Command"], "Finished"]
"""Runs a command as the server's user, to its end."""


class BackupMethod:
    """One way to back up and to restore."""

    name: str
    """Unique in its engine."""

    summary: str
    """What it does and can do, as a sentence goes on that begins with its name."""

    needs: tuple[Need, ...] = ()
    """What it needs of a machine besides the engine."""

    reads_files: bool = False
    """Whether it reads the files itself and not through the server: it shares its memory limit."""

    keeps_repository: bool = False

    loads_rows: bool = False
    """Whether a backup is loaded into a new, empty database, which the engine makes."""

    no_bandwidth: str = ""
    """Why its reading cannot be slowed down; empty where it can."""

    no_agent: str = ""
    """Why no agent can make it; empty where one can, or it reads files or keeps a repository."""

    processes_most: tuple[int, str] = (0, "")
    """The most processes it can have, 0 for any number, and why there cannot be more."""

    packs_with_zstd_alone: bool = False
    """Whether its only further processes are those of a compression by `zstd`."""

    restored_settings: Mapping[str, str] = {}
    """What a server on a restored data directory is started with."""

    def explain_refusal(self, options: BackupOptions) -> str | None:
        """Say why it cannot have these options, and what to change; None if it can."""
        if options.kind != FULL and not self.keeps_repository:
            return f"{self.name} makes full backups, no {options.kind} ones"
        is_here = self.reads_files or self.keeps_repository
        if options.agent and (because := self.no_agent or (OF_THE_HOST if is_here else "")):
            return f"{self.name} has no `agent`: {because}"
        if options.bytes_per_s is not None and self.no_bandwidth:
            return f"{self.name} has no `bandwidth`: {self.no_bandwidth}"
        if options.processes > 1 and options.compression != "zstd" and self.packs_with_zstd_alone:
            return f"{self.name} uses several processes only with `compression: zstd`"
        most, because = self.processes_most
        if most and options.processes > most:
            return f"{self.name} takes at most {most} `processes`{because}"
        return None

    def list_programs(self, options: BackupOptions) -> Mapping[str, Package]:
        """List the programs that it starts, each with its package."""
        return {}

    def ask_version(self, programs: Path) -> "Command":
        """Give the command by which the program that makes a backup says its version."""
        raise NotImplementedError

    def find_lack(self, programs: Path, options: BackupOptions, run: Run) -> str | None:
        """Say what the installed programs refuse of the options; None if nothing."""
        return None

    def count_commits(self, options: BackupOptions) -> int:
        """Count the transactions that a backup itself commits in the database at most."""
        return 0

    def count_room_bytes(self, held: int, log: int, options: BackupOptions, cycles: int) -> int:
        """Count what so many backups may come to hold.

        `held`: the database. `log`: what is logged in a window at most. In a repository the one
        before is removed once the next one is whole, and increments build on each other.
        """
        if not self.keeps_repository:
            return held
        return {FULL: 2, "differential": 3}.get(options.kind, 1 + cycles) * held

    def back_up(self, job: BackupJob, source: Source) -> "Command":
        """Give the command that backs a running server up."""
        raise NotImplementedError

    def restore(self, job: BackupJob, data: Path) -> "Sequence[Command]":
        """Give the commands that make a data directory in the empty directory `data`."""
        raise NotImplementedError

    def load(self, job: BackupJob, fresh: Source) -> "Sequence[Command]":
        """Give the commands that fill or check the running server `fresh`."""
        return ()

    def set_up_server(self, job: BackupJob, data: Path) -> Mapping[str, str]:
        """Give the settings of each server on `data`, backed up or not: no cost of a backup."""
        return {}

    def prepare(self, job: BackupJob, data: Path) -> "Sequence[Command]":
        """Give the commands that make a repository, before such a server starts."""
        raise NotImplementedError

    def locate_last(self, folder: Path) -> Path:
        """Find the directory of the last backup."""
        return folder

    def identify_tool(self, programs: Path, run: Run) -> str:
        """Say what makes its backups, with its version: `pg_dump 15.8`."""
        command = self.ask_version(programs)
        finished = run(command)  # some say it on standard error
        version = find_version(finished.stdout) or find_version(finished.stderr)
        return f"{Path(command.argv[0]).name} {version}".rstrip()

    def check_options(self, options: BackupOptions, where: str = "scenario.backup") -> None:
        """Raise UserError for options that it cannot have."""
        if problem := self.explain_refusal(options):
            raise UserError(problem, where=where, remedy="change it, or choose another method")

    def check_programs(self, options: BackupOptions, paths: Mapping[str, str | None]) -> None:
        """Raise UserError for options that do not fit, PreconditionError for a missing program.

        `paths`: of each program by its name, None where it is not there.
        """
        self.check_options(options)
        for name, package in self.list_programs(options).items():
            if paths.get(name) is None:
                raise PreconditionError(
                    f"the backup needs the program {name}, which was not found",
                    where="scenario.backup",
                    remedy=f"install it: {package.install()}",
                )

    def check_installed(self, options: BackupOptions, programs: Path, run: Run) -> None:
        """Raise PreconditionError where programs are missing or cannot have these options."""
        path = f"{programs}:{os.defpath}"
        names = self.list_programs(options)
        self.check_programs(options, {name: shutil.which(name, path=path) for name in names})
        if lack := self.find_lack(programs, options, run):
            remedy = "change the option, or install a newer version"
            raise PreconditionError(lack, where="scenario.backup", remedy=remedy)


Progress = Generator[float | None, None, None]
"""The percent that is done, about once a second, None where it is not known.

It raises StithyError where it fails; closed early, it ends what is done.
"""


class ServerMethod(BackupMethod):
    """One that the server of a database by URL does by itself, to files that it alone sees.

    A backup has a name, and is overwritten by the next one of that name.
    """

    def back_up_inside(self, url: Secret, name: str, options: BackupOptions) -> Progress:
        """Back the database up."""
        raise NotImplementedError

    def measure_backup(self, url: Secret, name: str) -> int | None:
        """Give the bytes of the backup, by the server's books; None where they say nothing."""
        raise NotImplementedError

    def restore_beside(
        self, url: Secret, name: str, options: BackupOptions, beside: str
    ) -> Progress:
        """Restore it to another database of the server."""
        raise NotImplementedError

    def locate_beside(self, url: Secret, beside: str) -> Secret:
        """Give the URL of that database."""
        raise NotImplementedError

    def drop_beside(self, url: Secret, beside: str) -> None:
        """Remove that database, where it is there."""
        raise NotImplementedError

    def remove_backup(self, url: Secret, name: str) -> None:
        """Remove the files of the backup."""
        raise NotImplementedError
