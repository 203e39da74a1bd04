"""pgBackRest: a repository of backups, full and of what changed, and of the log between them.

The server hands each finished file of its log to the repository, all the time: `archive_mode` is on
in windows without backups, too. No file of configuration is read or written: every word is given.
A restore ends at the backup's own end, not at that of the log.
"""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from stithy.engines.backup import FULL, BackupJob, BackupMethod, BackupOptions, Source
from stithy.engines.postgresql.url import make_client_environment, parse_url
from stithy.hosts.runner import Command
from stithy.needs import Package, ProgramNeed

PROGRAM, VERSION = "pgbackrest", "version"
PACKAGE = Package("pgbackrest", "pgbackrest")
STANZA = "stithy"
KINDS = {FULL: "full", "incremental": "incr", "differential": "diff"}
COMPRESSIONS = {"none": "none", "gzip": "gz", "lz4": "lz4", "zstd": "zst"}

ARCHIVE_S = 600
"""How long a backup waits for its last file of the log; a slow drive may have many before it."""


class PgBackRest(BackupMethod):
    """A repository of backups."""

    name = "pgbackrest"
    summary = (
        "keeps a repository of files and of the log, which the server archives all the time; it "
        "makes backups of every kind, with no limit of bandwidth"
    )
    needs = (
        ProgramNeed(name=PROGRAM, package=PACKAGE, asked=(VERSION,), why="it makes the backups"),
    )
    reads_files = True
    keeps_repository = True
    restored_settings = {"hot_standby": "off"}  # it answers once it has recovered, not before
    no_bandwidth = "it reads as fast as it can (basebackup has one)"

    def list_programs(self, options: BackupOptions) -> Mapping[str, Package]:
        """It compresses by itself."""
        return {PROGRAM: PACKAGE}

    def ask_version(self, programs: Path) -> Command:
        """It is a word, no option."""
        return Command([PROGRAM, VERSION])

    def set_up_server(self, job: BackupJob, data: Path) -> Mapping[str, str]:
        """Of a server that archives its log; a percent sign of a path would be a placeholder."""
        words = [*_words(job.folder, data), _compress(job.options), "archive-push"]
        command = " ".join(map(shlex.quote, words)).replace("%", "%%")
        return {"archive_mode": "on", "archive_command": f'{command} "%p"'}

    def prepare(self, job: BackupJob, data: Path) -> Sequence[Command]:
        """Make the repository of a database whose server does not run."""
        words = [*_words(job.folder, data), "--no-online", "stanza-create"]
        return [Command(words, environment={"LC_ALL": "C"}, directory=job.folder)]

    def back_up(self, job: BackupJob, source: Source) -> Command:
        """Older backups that no other needs are removed. One that was cut off is not continued."""
        server, kept = parse_url(source.url), ["--repo1-retention-full=1"]
        if job.options.kind == "differential":
            kept.append("--repo1-retention-diff=1")
        return Command(
            [
                *_words(job.folder, source.data), f"--type={KINDS[job.options.kind]}",
                _compress(job.options), f"--process-max={job.options.processes}",
                "--start-fast", "--no-resume", *kept,
                f"--archive-timeout={ARCHIVE_S}", f"--pg1-user={server.user}",
                f"--pg1-socket-path={server.host}", "backup",
            ],
            environment=make_client_environment(source.url),
            directory=job.folder,
        )  # fmt: skip

    def locate_last(self, folder: Path) -> Path:
        """The directory of the last backup."""
        return (folder / "repository/backup" / STANZA / "latest").resolve()

    def restore(self, job: BackupJob, data: Path) -> Sequence[Command]:
        """Tablespaces come to lie beside the data, never where they are in the source."""
        words = [
            *_words(job.folder, data), f"--process-max={job.options.processes}", "--type=immediate",
            "--target-action=promote", "--archive-mode=off",
            f"--tablespace-map-all={data.parent / 'tablespaces'}", "restore",
        ]  # fmt: skip
        return [Command(words, environment={"LC_ALL": "C"}, directory=data)]

    def count_room_bytes(self, held: int, log: int, options: BackupOptions, cycles: int) -> int:
        """The log of a window is in it, too."""
        return super().count_room_bytes(held, log, options, cycles) + log


def _words(folder: Path, data: Path) -> list[str]:
    return [
        PROGRAM, "--no-config", f"--stanza={STANZA}", f"--pg1-path={data}",
        f"--repo1-path={folder / 'repository'}", f"--lock-path={folder / 'locks'}",
        "--log-level-file=off", "--log-level-console=off", "--log-level-stderr=warn",
    ]  # fmt: skip


def _compress(options: BackupOptions) -> str:
    return f"--compress-type={COMPRESSIONS[options.compression]}"
