"""`pg_dump`: all rows as text, one file a table, read by one snapshot in several processes.

`pg_restore` loads it into a new database: rows are copied, indexes and constraints made again. A
dump holds no statistics of the optimizer, so they are gathered at the end of a restore. Without
them the first queries would be slow, and a restored database not yet of use.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from stithy.engines.backup import BackupJob, BackupMethod, BackupOptions, Run, Source
from stithy.engines.postgresql.url import (
    CLIENT,
    list_client_words,
    make_client_environment,
    parse_url,
)
from stithy.hosts.runner import Command
from stithy.needs import Package

PROGRAMS = ("pg_dump", "pg_restore", "vacuumdb")
LEVELS = {"none": "0", "gzip": "6"}
"""As every version takes them; others go by their names, from 16 on."""
PROCESSES_MAX = 16
"""Own: each process has a connection, and the server has those of the users and few more."""

COMMITS_PER_SESSION = 24
"""Measured: 13 or 14 with PostgreSQL 15; later versions have more settings."""


class Dump(BackupMethod):
    """All rows as text."""

    name = "dump"
    summary = (
        "writes all rows as text (`pg_dump`), to be loaded into a new database (`pg_restore`); it "
        "makes full backups with at most 16 processes and no limit of bandwidth, and compresses "
        "with `lz4` and `zstd` from PostgreSQL 16 on"
    )
    loads_rows = True
    no_bandwidth = "pg_dump reads as fast as it can (basebackup has one)"

    def explain_refusal(self, options: BackupOptions) -> str | None:
        """Each of its processes has a connection."""
        if problem := super().explain_refusal(options):
            return problem
        if options.processes > PROCESSES_MAX:
            return f"dump takes at most {PROCESSES_MAX} `processes`: each needs a connection"
        return None

    def list_programs(self, options: BackupOptions) -> Mapping[str, Package]:
        """They compress and unpack by themselves."""
        return dict.fromkeys(PROGRAMS, CLIENT)

    def find_lack(self, programs: Path, options: BackupOptions, run: Run) -> str | None:
        """A method of compression that this version or build does not have.

        It is tried without a server: what it cannot do it says before it connects.
        """
        if options.compression in LEVELS:
            return None
        nowhere = Path("/nonexistent")
        asked = [str(programs / "pg_dump"), "--format=directory", _compress(options)]
        finished = run(Command([*asked, f"--file={nowhere}/dump", f"--host={nowhere}"],
                               environment={"LC_ALL": "C"}))  # fmt: skip
        said = [line for line in finished.stderr.splitlines() if "compress" in line.lower()]
        if not said:
            return None
        return f"this pg_dump has no compression {options.compression} ({said[0].strip()})"

    def count_commits(self, options: BackupOptions) -> int:
        """Each session sets itself up before its one transaction."""
        return COMMITS_PER_SESSION * (options.processes + 1)

    def ask_version(self, programs: Path) -> Command:
        """Without a server."""
        return Command([str(programs / "pg_dump"), "--version"])

    def back_up(self, job: BackupJob, source: Source) -> Command:
        """Its files are durable when it ends."""
        return Command(
            [
                str(job.programs / "pg_dump"), *list_client_words(source.url), "--format=directory",
                f"--jobs={job.options.processes}", _compress(job.options), f"--file={job.folder}",
                f"--dbname={parse_url(source.url).database}",
            ],
            environment=make_client_environment(source.url),
            directory=job.folder,
        )  # fmt: skip

    def load(self, job: BackupJob, fresh: Source) -> Sequence[Command]:
        """Make the database with its rows, indexes and constraints; then gather statistics."""
        jobs = f"--jobs={job.options.processes}"
        every = [
            [
                "pg_restore", *list_client_words(fresh.url), "--format=directory", jobs, "--create",
                "--exit-on-error", "--dbname=postgres", str(job.folder),
            ],
            [
                "vacuumdb", *list_client_words(fresh.url), "--analyze-only", "--quiet", jobs,
                f"--dbname={parse_url(fresh.url).database}",
            ],
        ]  # fmt: skip
        own = make_client_environment(fresh.url)
        return [
            Command([str(job.programs / name), *rest], environment=own, directory=job.folder)
            for name, *rest in every
        ]  # fmt: skip


def _compress(options: BackupOptions) -> str:
    return f"--compress={LEVELS.get(options.compression, options.compression)}"
