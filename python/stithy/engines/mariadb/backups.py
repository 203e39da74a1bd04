"""The ways to back MariaDB up: copies of all files, of what changed, and all rows as statements.

`mariadb-backup` writes one stream of files, with the log that they need. A restore unpacks it and
applies the log, so that the files are as after a clean stop; the server makes its redo log of full
size at its first start on them. `mariadb-dump` reads one snapshot in one process; `mariadb` loads
it into a new database, and statistics of the optimizer are gathered at the end. Either is written
as one file, compressed by a program of the machine or not at all.
"""

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from stithy.engines.backup import (
    ENDINGS,
    FULL,
    BackupJob,
    BackupMethod,
    BackupOptions,
    Source,
    list_packers,
)
from stithy.engines.engine import UNDO_FOLDER
from stithy.engines.mariadb.url import CLIENT, list_client_words, make_client_environment, parse_url
from stithy.hosts.runner import Command
from stithy.needs import Package

BESIDE = (".", "../bin", "../sbin", "../scripts")
"""Where other programs are, seen from the server's."""


def find_tool(programs: Path, name: str) -> Path:
    """Find a program beside the server's; where there is none, the place in which it should be."""
    places = [(programs / beside / name).resolve() for beside in BESIDE]
    return next((place for place in places if os.access(place, os.X_OK)), programs / name)


WRITE = """mkfifo "$1" || exit
%s <"$1" >"$2" & packer=$!
%s >"$1"; made=$?
wait "$packer"; packed=$?
rm "$1"
[ "$made" -eq 0 ] || exit "$made"
[ "$packed" -eq 0 ] || exit "$packed"
sync --file-system "$2"
"""
"""A pipe of which either end may fail: the shells of distributions do not tell both."""

READ = """mkfifo "$1" || exit
%s -d -c <"$2" >"$1" & unpacker=$!
%s <"$1"; read=$?
wait "$unpacker"; unpacked=$?
rm "$1"
[ "$read" -eq 0 ] || exit "$read"
exit "$unpacked"
"""


def write_packed(
    argv: Sequence[str], file: Path, options: BackupOptions, environment: Mapping[str, str]
) -> Command:
    """Run a program, and write what it gives into a file, which is durable at the end."""
    packer = {"none": "cat", "zstd": f"zstd --quiet -T{options.processes}"}.get(
        options.compression, f"{options.compression} -c"
    )
    script = WRITE % (packer, shlex.join(argv))
    words = ["sh", "-c", script, "sh", f"{file}.pipe", str(file)]
    return Command(words, environment=environment, directory=file.parent)


def read_packed(
    argv: Sequence[str], file: Path, options: BackupOptions, environment: Mapping[str, str],
    place: Path,
) -> Command:  # fmt: skip
    """Run a program in `place`, where its pipe is for a moment, on what `write_packed` wrote."""
    if options.compression == "none":
        words = ["sh", "-c", f'{shlex.join(argv)} <"$1"', "sh", str(file)]
    else:
        script = READ % (options.compression, shlex.join(argv))
        words = ["sh", "-c", script, "sh", str(place / "pipe"), str(file)]
    return Command(words, environment=environment, directory=place)


def _name_file(folder: Path, name: str, options: BackupOptions) -> Path:
    return folder / f"{name}{ENDINGS[options.compression]}"


COPIER, UNPACKER = "mariadb-backup", "mbstream"
COPIERS_PACKAGE = Package("mariadb-backup", "mariadb-backup")
PROCESSES_MAX = 64

PUT_LOG = (
    f"mkdir -p redo {UNDO_FOLDER} && mv ib_logfile0 redo/ && rm -f xtrabackup_* backup-my.cnf"
    f" && find . -maxdepth 1 -name 'undo[0-9]*' -exec mv -t {UNDO_FOLDER} {{}} +"
)
"""The log and undo lie where servers of Stithy have them; nothing else of the backup stays."""


class CopyBackup(BackupMethod):
    """All files in one stream; what it keeps meanwhile lies beside it."""

    name = "copy"
    summary = (
        "copies all files of the running server and the log that they need (`mariadb-backup`); it "
        "makes full backups with several processes and no limit of bandwidth, and the restore "
        "applies the log"
    )
    reads_files = True
    no_bandwidth = "mariadb-backup reads as fast as it can"
    processes_most = (PROCESSES_MAX, "")

    def list_programs(self, options: BackupOptions) -> Mapping[str, Package]:
        """Its own, and what compresses."""
        return {COPIER: COPIERS_PACKAGE, UNPACKER: COPIERS_PACKAGE, **list_packers(options)}

    def ask_version(self, programs: Path) -> Command:
        """Without a server."""
        return Command([str(find_tool(programs, COPIER)), "--no-defaults", "--version"])

    def back_up(self, job: BackupJob, source: Source) -> Command:
        """Write one stream."""
        return _write_stream(job, source, job.folder)

    def restore(self, job: BackupJob, data: Path) -> Sequence[Command]:
        """Unpack the files, apply the log to them, and put it where a server looks for it."""
        return [
            _unpack_stream(job, job.folder, data),
            _apply_log(job, data),
            Command(["sh", "-c", PUT_LOG], environment=PLAIN, directory=data),
        ]


STREAM, PLAIN = "backup.mbs", {"LC_ALL": "C"}


def _list_copier_words(job: BackupJob, source: Source, folder: Path) -> list[str]:
    first, *others = list_client_words(source.url)
    return [
        str(find_tool(job.programs, COPIER)), first, "--backup", *others,
        f"--datadir={source.data}", f"--parallel={job.options.processes}", f"--target-dir={folder}",
    ]  # fmt: skip


def _write_stream(job: BackupJob, source: Source, folder: Path, *words: str) -> Command:
    argv = [*_list_copier_words(job, source, folder), "--stream=mbstream", *words]
    file = _name_file(folder, STREAM, job.options)
    return write_packed(argv, file, job.options, make_client_environment(source.url))


def _unpack_stream(job: BackupJob, folder: Path, to: Path) -> Command:
    argv = [str(find_tool(job.programs, UNPACKER)), "--extract", f"--directory={to}",
            f"--parallel={job.options.processes}"]  # fmt: skip
    return read_packed(argv, _name_file(folder, STREAM, job.options), job.options, PLAIN, to)


def _apply_log(job: BackupJob, data: Path, *words: str) -> Command:
    argv = [str(find_tool(job.programs, COPIER)), "--no-defaults", "--prepare",
            f"--target-dir={data}", *words]  # fmt: skip
    return Command(argv, environment=PLAIN, directory=data)


class ChainBackup(CopyBackup):
    """A full backup and what changed since, each one stream in a directory with its number."""

    name = "chain"
    summary = (
        "keeps a full backup and what changed since it, each one stream of `mariadb-backup`, which "
        "reads all pages each time; it makes backups of every kind with several processes and no "
        "limit of bandwidth, and the restore applies one after the other"
    )
    keeps_repository = True

    def prepare(self, job: BackupJob, data: Path) -> Sequence[Command]:
        """An empty directory is enough."""
        return ()

    def back_up(self, job: BackupJob, source: Source) -> Command:
        """Build on the one before, or on the full one; older ones that no other needs go.

        It gets its number when it is whole. One that was cut off is not continued.
        """
        older, kind, new = _list_chain(job.folder), job.options.kind, job.folder / "new"
        words = [f"--extra-lsndir={new}"]  # that what the next one builds on is not in the stream
        if kind != FULL:
            words.append(f"--incremental-basedir={older[-1 if kind == 'incremental' else 0]}")
        unneeded = {FULL: older, "differential": older[1:]}.get(kind, [])
        number = int(older[-1].name) + 1 if older else 1
        write = _write_stream(job, source, new, *words)
        _, option, script, *places = write.argv
        fresh, kept = shlex.quote(str(new)), shlex.quote(str(job.folder / f"{number:06}"))
        script = (
            f"rm -rf {fresh} && mkdir {fresh} || exit\n{script.rstrip()} && mv {fresh} {kept}"
            + "".join(f" && rm -r {shlex.quote(str(folder))}" for folder in unneeded)
        )
        return replace(write, argv=["sh", option, script, *places], directory=job.folder)

    def locate_last(self, folder: Path) -> Path:
        """The one with the highest number; the directory itself where there is none."""
        return (_list_chain(folder) or [folder])[-1]

    def restore(self, job: BackupJob, data: Path) -> Sequence[Command]:
        """Unpack what changed beside the files, and apply it to them."""
        full, *others = _list_chain(job.folder)
        beside = data.parent / "changed"
        steps = [_unpack_stream(job, full, data), _apply_log(job, data)]
        for folder in others:
            steps += [
                Command(["mkdir", str(beside)], environment=PLAIN, directory=data),
                _unpack_stream(job, folder, beside),
                _apply_log(job, data, f"--incremental-dir={beside}"),
                Command(["rm", "-r", str(beside)], environment=PLAIN, directory=data),
            ]
        return [*steps, Command(["sh", "-c", PUT_LOG], environment=PLAIN, directory=data)]


def _list_chain(folder: Path) -> list[Path]:
    """List the backups that are whole, the oldest first; those after the full one build on it."""
    return sorted(path for path in folder.iterdir() if path.name.isdigit())


class PreparedCopy(CopyBackup):
    """All files with the log applied, in a directory: what `restore: native` puts back."""

    name = "prepared-copy"

    def list_programs(self, options: BackupOptions) -> Mapping[str, Package]:
        """It is not packed."""
        return {COPIER: COPIERS_PACKAGE}

    def back_up(self, job: BackupJob, source: Source) -> Command:
        """Copy the running server's files, then apply the log."""
        copy = shlex.join(_list_copier_words(job, source, job.folder))
        apply = shlex.join(_apply_log(job, job.folder).argv)
        environment = make_client_environment(source.url)
        return Command(["sh", "-c", f"{copy} && {apply}"], environment=environment)

    def restore(self, job: BackupJob, data: Path) -> Sequence[Command]:
        """Copy them into the empty directory."""
        argv = [str(find_tool(job.programs, COPIER)), "--no-defaults", "--copy-back",
                f"--target-dir={job.folder}", f"--datadir={data}",
                f"--parallel={job.options.processes}"]  # fmt: skip
        return [
            Command(argv, environment=PLAIN, directory=job.folder),
            Command(["sh", "-c", PUT_LOG], environment=PLAIN, directory=data),
        ]


class StatementDump(BackupMethod):
    """All rows as statements."""

    name = "dump"
    summary = (
        "writes all rows as statements (`mariadb-dump`), to be loaded into a new database "
        "(`mariadb`); it makes full backups with one process, which may compress, and has no limit "
        "of bandwidth"
    )
    loads_rows = True
    no_bandwidth = "mariadb-dump reads as fast as it can"
    packs_with_zstd_alone = True
    dumper, loader, analyser = "mariadb-dump", "mariadb", "mariadb-check"
    package: ClassVar = CLIENT
    words: ClassVar[Sequence[str]] = ()
    """Of the dumper, beside those of every product."""

    def list_programs(self, options: BackupOptions) -> Mapping[str, Package]:
        """The clients of the distribution, and what compresses."""
        own = dict.fromkeys((self.dumper, self.loader, self.analyser), self.package)
        return {**own, **list_packers(options)}

    def ask_version(self, programs: Path) -> Command:
        """Without a server."""
        return Command([str(find_tool(programs, self.dumper)), "--no-defaults", "--version"])

    def back_up(self, job: BackupJob, source: Source) -> Command:
        """Read one snapshot, with procedures."""
        argv = [
            str(find_tool(job.programs, self.dumper)), *list_client_words(source.url), *self.words,
            "--single-transaction", "--quick", "--routines", "--hex-blob",
            "--databases", parse_url(source.url).database,
        ]  # fmt: skip
        file = _name_file(job.folder, "dump.sql", job.options)
        return write_packed(argv, file, job.options, make_client_environment(source.url))

    def load(self, job: BackupJob, fresh: Source) -> Sequence[Command]:
        """Run the statements, then gather statistics."""
        own = make_client_environment(fresh.url)
        file = _name_file(job.folder, "dump.sql", job.options)
        load = [str(find_tool(job.programs, self.loader)), *list_client_words(fresh.url)]
        analyse = [
            str(find_tool(job.programs, self.analyser)), *list_client_words(fresh.url),
            "--analyze", "--silent", "--databases", parse_url(fresh.url).database,
        ]  # fmt: skip
        return [
            read_packed(load, file, job.options, own, job.folder),
            Command(analyse, environment=own, directory=job.folder),
        ]


class MySQLDump(StatementDump):
    """The same by MySQL's own programs, which know how its accounts log in."""

    summary = (
        "writes all rows as statements (`mysqldump`), to be loaded into a new database (`mysql`); "
        "it makes full backups with one process, which may compress, and has no limit of bandwidth"
    )
    no_bandwidth = "mysqldump reads as fast as it can"
    dumper, loader, analyser = "mysqldump", "mysql", "mysqlcheck"
    package = Package("mysql-client-core", "mysql")
    words = ("--no-tablespaces", "--set-gtid-purged=OFF")


BACKUPS = (CopyBackup(), ChainBackup(), StatementDump())
"""The default first."""

NATIVE = PreparedCopy()
"""By it a loaded database is kept beside its files."""

MYSQL_BACKUPS = (MySQLDump(),)
"""Files are copied by products of others."""
