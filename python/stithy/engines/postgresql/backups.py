"""The ways to back PostgreSQL up: `pg_basebackup`, `pg_dump`, pgBackRest."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from stithy.engines.backup import (
    ENDINGS,
    FULL,
    BackupJob,
    BackupMethod,
    BackupOptions,
    Run,
    Source,
    list_packers,
)
from stithy.engines.postgresql.url import (
    CLIENT,
    list_client_words,
    make_client_environment,
    parse_url,
)
from stithy.hosts.runner import Command
from stithy.needs import Package, ProgramNeed

BASEBACKUP = "pg_basebackup"

KIB = 2**10
SLOWEST, FASTEST = 32 * KIB, 1024 * 1024 * KIB
"""Bytes per second that `--max-rate` of `pg_basebackup` takes."""


class BaseBackup(BackupMethod):
    """A copy of all files of a running server, with the log that it needs.

    It writes one archive, and one with the log, which it streams meanwhile, so that a backup can be
    restored by itself. A tablespace of temporary files is not restored: its place is the source's.
    """

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
        return {BASEBACKUP: CLIENT, "tar": Package("tar", "tar"), **list_packers(options)}

    def ask_version(self, programs: Path) -> Command:
        return Command([str(programs / BASEBACKUP), "--version"])

    def back_up(self, job: BackupJob, source: Source) -> Command:
        """A fast checkpoint first: a spread one would only make the backup begin later."""
        packed = job.options.compression
        workers = f":workers={job.options.processes}" if job.options.processes > 1 else ""
        compress = packed if packed in ("none", "gzip") else f"client-{packed}{workers}"
        limit = job.options.bytes_per_s
        rate = [] if limit is None else [f"--max-rate={round(limit / KIB)}"]
        return Command(
            [
                str(job.programs / BASEBACKUP), *list_client_words(source.url), "--checkpoint=fast",
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


PROGRAMS = ("pg_dump", "pg_restore", "vacuumdb")
LEVELS = {"none": "0", "gzip": "6"}
"""As every version takes them; others go by their names, from 16 on."""
PROCESSES_MAX = 16
"""Own: each process has a connection, and the server has those of the users and few more."""

COMMITS_PER_SESSION = 24
"""Measured: 13 or 14 with PostgreSQL 15; later versions have more settings."""


class Dump(BackupMethod):
    """All rows as text, one file a table, read by one snapshot in several processes.

    `pg_restore` loads it into a new database: rows are copied, indexes and constraints made again.
    A dump holds no statistics of the optimizer, so they are gathered at the end of a restore.
    Without them the first queries would be slow, and a restored database not yet of use.
    """

    name = "dump"
    summary = (
        "writes all rows as text (`pg_dump`), to be loaded into a new database (`pg_restore`); it "
        "makes full backups with at most 16 processes and no limit of bandwidth, and compresses "
        "with `lz4` and `zstd` from PostgreSQL 16 on"
    )
    loads_rows = True
    no_bandwidth = "pg_dump reads as fast as it can (basebackup has one)"
    processes_most = (PROCESSES_MAX, ": each needs a connection")

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
        asked = [str(programs / "pg_dump"), "--format=directory", _name_level(options)]
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
        return Command([str(programs / "pg_dump"), "--version"])

    def back_up(self, job: BackupJob, source: Source) -> Command:
        """Its files are durable when it ends."""
        return Command(
            [
                str(job.programs / "pg_dump"), *list_client_words(source.url), "--format=directory",
                f"--jobs={job.options.processes}", _name_level(job.options), f"--file={job.folder}",
                f"--dbname={parse_url(source.url).database}",
            ],
            environment=make_client_environment(source.url),
            directory=job.folder,
        )  # fmt: skip

    def load(self, job: BackupJob, fresh: Source) -> Sequence[Command]:
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


def _name_level(options: BackupOptions) -> str:
    return f"--compress={LEVELS.get(options.compression, options.compression)}"


PGBACKREST, VERSION_WORD = "pgbackrest", "version"
PACKAGE = Package("pgbackrest", "pgbackrest")
STANZA = "stithy"
KINDS = {FULL: "full", "incremental": "incr", "differential": "diff"}
COMPRESSIONS = {"none": "none", "gzip": "gz", "lz4": "lz4", "zstd": "zst"}

ARCHIVE_S = 600
"""How long a backup waits for its last file of the log; a slow drive may have many before it."""


class PgBackRest(BackupMethod):
    """A repository of backups, full and of what changed, and of the log between them.

    The server hands each finished file of its log to the repository, all the time: `archive_mode`
    is on in windows without backups, too. No file of configuration is read or written: every word
    is given. A restore ends at the backup's own end, not at that of the log.
    """

    name = "pgbackrest"
    summary = (
        "keeps a repository of files and of the log, which the server archives all the time; it "
        "makes backups of every kind, with no limit of bandwidth"
    )
    needs = (
        ProgramNeed(
            name=PGBACKREST, package=PACKAGE, asked=(VERSION_WORD,), why="it makes the backups"
        ),
    )
    reads_files = True
    keeps_repository = True
    restored_settings = {"hot_standby": "off"}  # it answers once it has recovered, not before
    no_bandwidth = "it reads as fast as it can (basebackup has one)"

    def list_programs(self, options: BackupOptions) -> Mapping[str, Package]:
        """It compresses by itself."""
        return {PGBACKREST: PACKAGE}

    def ask_version(self, programs: Path) -> Command:
        """It is a word, no option."""
        return Command([PGBACKREST, VERSION_WORD])

    def set_up_server(self, job: BackupJob, data: Path) -> Mapping[str, str]:
        """Of a server that archives its log; a percent sign of a path would be a placeholder."""
        words = [*_list_words(job.folder, data), _name_compression(job.options), "archive-push"]
        command = " ".join(map(shlex.quote, words)).replace("%", "%%")
        return {"archive_mode": "on", "archive_command": f'{command} "%p"'}

    def prepare(self, job: BackupJob, data: Path) -> Sequence[Command]:
        words = [*_list_words(job.folder, data), "--no-online", "stanza-create"]
        return [Command(words, environment={"LC_ALL": "C"}, directory=job.folder)]

    def back_up(self, job: BackupJob, source: Source) -> Command:
        """Older backups that no other needs are removed. One that was cut off is not continued."""
        server, kept = parse_url(source.url), ["--repo1-retention-full=1"]
        if job.options.kind == "differential":
            kept.append("--repo1-retention-diff=1")
        return Command(
            [
                *_list_words(job.folder, source.data), f"--type={KINDS[job.options.kind]}",
                _name_compression(job.options), f"--process-max={job.options.processes}",
                "--start-fast", "--no-resume", *kept,
                f"--archive-timeout={ARCHIVE_S}", f"--pg1-user={server.user}",
                f"--pg1-socket-path={server.host}", "backup",
            ],
            environment=make_client_environment(source.url),
            directory=job.folder,
        )  # fmt: skip

    def locate_last(self, folder: Path) -> Path:
        return (folder / "repository/backup" / STANZA / "latest").resolve()

    def restore(self, job: BackupJob, data: Path) -> Sequence[Command]:
        """Tablespaces come to lie beside the data, never where they are in the source."""
        words = [
            *_list_words(job.folder, data), f"--process-max={job.options.processes}",
            "--type=immediate", "--target-action=promote", "--archive-mode=off",
            f"--tablespace-map-all={data.parent / 'tablespaces'}", "restore",
        ]  # fmt: skip
        return [Command(words, environment={"LC_ALL": "C"}, directory=data)]

    def count_room_bytes(self, held: int, log: int, options: BackupOptions, cycles: int) -> int:
        """The log of a window is in it, too."""
        return super().count_room_bytes(held, log, options, cycles) + log


def _list_words(folder: Path, data: Path) -> list[str]:
    return [
        PGBACKREST, "--no-config", f"--stanza={STANZA}", f"--pg1-path={data}",
        f"--repo1-path={folder / 'repository'}", f"--lock-path={folder / 'locks'}",
        "--log-level-file=off", "--log-level-console=off", "--log-level-stderr=warn",
    ]  # fmt: skip


def _name_compression(options: BackupOptions) -> str:
    return f"--compress-type={COMPRESSIONS[options.compression]}"


BACKUPS = (BaseBackup(), Dump(), PgBackRest())
"""The default first."""
