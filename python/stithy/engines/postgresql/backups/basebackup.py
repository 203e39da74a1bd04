"""`pg_basebackup`: a copy of all files of a running server, with the log that it needs.

It writes one archive, and one with the log, which it streams meanwhile, so that a backup can be
restored by itself. A tablespace of temporary files is not restored: its place is the source's.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from stithy.engines.backup import (
    ENDINGS,
    BackupJob,
    BackupMethod,
    BackupOptions,
    Source,
    list_packers,
)
from stithy.engines.postgresql.url import CLIENT, list_client_words, make_client_environment
from stithy.hosts.runner import Command
from stithy.needs import Package

PROGRAM = "pg_basebackup"

KIB = 2**10
SLOWEST, FASTEST = 32 * KIB, 1024 * 1024 * KIB
"""Bytes per second that `--max-rate` of `pg_basebackup` takes."""


class BaseBackup(BackupMethod):
    """Archives of all files."""

    name = "basebackup"
    summary = (
        "copies all files of the running server and the log that they need (`pg_basebackup`); it "
        "makes full backups, uses several processes only to compress with `zstd`, and takes a "
        "bandwidth of 32 KiB to 1 GiB"
    )

    packs_with_zstd_alone = True

    def explain_refusal(self, options: BackupOptions) -> str | None:
        """It reads with one process, at rates of its own; only zstd compresses with several."""
        if problem := super().explain_refusal(options):
            return problem
        if options.bytes_per_s is not None and not SLOWEST <= options.bytes_per_s <= FASTEST:
            return "basebackup takes a `bandwidth` of 32 KiB to 1 GiB"
        return None

    def list_programs(self, options: BackupOptions) -> Mapping[str, Package]:
        """Its own, and what unpacks."""
        return {PROGRAM: CLIENT, "tar": Package("tar", "tar"), **list_packers(options)}

    def ask_version(self, programs: Path) -> Command:
        """Without a server."""
        return Command([str(programs / PROGRAM), "--version"])

    def back_up(self, job: BackupJob, source: Source) -> Command:
        """A fast checkpoint first: a spread one would only make the backup begin later."""
        packed = job.options.compression
        workers = f":workers={job.options.processes}" if job.options.processes > 1 else ""
        compress = packed if packed in ("none", "gzip") else f"client-{packed}{workers}"
        limit = job.options.bytes_per_s
        rate = [] if limit is None else [f"--max-rate={round(limit / KIB)}"]
        return Command(
            [
                str(job.programs / PROGRAM), *list_client_words(source.url), "--checkpoint=fast",
                "--format=tar", "--wal-method=stream", f"--compress={compress}", *rate,
                f"--pgdata={job.folder}",
            ],
            environment=make_client_environment(source.url),
            directory=job.folder,
        )  # fmt: skip

    def restore(self, job: BackupJob, data: Path) -> Sequence[Command]:
        """Unpack the files, then the log; links to places of the source are not made again."""
        base = job.folder / f"base.tar{ENDINGS[job.options.compression]}"
        logs = sorted(job.folder.glob("pg_wal.tar*"))
        places = [(base, data), *((log, data / "pg_wal") for log in logs)]
        return [
            Command(
                ["tar", "--extract", "--auto-compress", f"--file={archive}", f"--directory={place}",
                 "--exclude=tablespace_map"],
                environment={"LC_ALL": "C"}, directory=data,
            )
            for archive, place in places
        ]  # fmt: skip
