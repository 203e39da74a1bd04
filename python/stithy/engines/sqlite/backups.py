"""The ways to back SQLite up: its online API, and a compacted copy.

Both run in a process of their own beside the driver, and read the database through SQLite. Each
restore is a copy of the file, whose integrity is then checked.
"""

import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stithy.engines.backup import BackupJob, BackupMethod, BackupOptions, Run, Source

if TYPE_CHECKING:
    from stithy.hosts.runner import Command

FILE = "stithy.db"
"""The name of the database in its data directory, and of its backup."""

SCRIPT = Path(__file__).with_name("copies.py")


def _command(*words: str) -> "Command":
    """By its text: the user of servers may not be allowed to read where Stithy is installed."""
    from stithy.hosts.runner import Command

    return Command([sys.executable, "-I", "-c", SCRIPT.read_text(), *words])


class FileBackup(BackupMethod):
    """What both methods have in common."""

    def explain_refusal(self, options: BackupOptions) -> str | None:
        """It makes full backups by one process, and compresses none."""
        if problem := super().explain_refusal(options):
            return problem
        if options.processes > 1:
            return f"{self.name} has one process: leave `processes` out"
        if options.compression != "none":
            return f"{self.name} does not compress: leave `compression` out"
        return None

    def identify_tool(self, programs: Path, run: Run) -> str:
        """It is the library of Python."""
        return f"sqlite {sqlite3.sqlite_version}"

    def restore(self, job: BackupJob, data: Path) -> "Sequence[Command]":
        """Copy the file, and check it."""
        from stithy.hosts.runner import Command

        file = str(data / FILE)
        return [Command(["cp", str(job.folder / FILE), file]), _command("check", file)]


class Online(FileBackup):
    """The online API."""

    name = "online"
    summary = (
        "copies all pages by the online API of SQLite; it takes a bandwidth. Meanwhile a "
        "write-ahead log grows, and with a rollback journal users who write wait"
    )

    def back_up(self, job: BackupJob, source: Source) -> "Command":
        """Copy all pages, no faster than the options say."""
        rate = str(job.options.bytes_per_s or 0)
        return _command("back-up", str(source.data / FILE), str(job.folder / FILE), rate)


class VacuumInto(FileBackup):
    """A compacted copy."""

    name = "vacuum"
    summary = "writes a compacted copy in one transaction (`VACUUM INTO`), as fast as it can"
    no_bandwidth = "it reads as fast as it can (online has one)"

    def back_up(self, job: BackupJob, source: Source) -> "Command":
        """Write what is in use."""
        return _command("vacuum", str(source.data / FILE), str(job.folder / FILE))


BACKUPS = (Online(), VacuumInto())
"""The default first."""
