"""The ways to back MariaDB up: a copy of all files, and all rows as statements.

`mariadb-backup` writes one stream of files, with the log that they need. A restore unpacks it and
applies the log, so that the files are as after a clean stop; the server makes its redo log of full
size at its first start on them. `mariadb-dump` reads one snapshot in one process; `mariadb` loads
it into a new database, and statistics of the optimizer are gathered at the end. Either is written
as one file, compressed by a program of the machine or not at all.
"""

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from stithy.engines.backup import ENDINGS, PACKERS, BackupJob, BackupMethod, BackupOptions, Source
from stithy.engines.mariadb.url import (
    CLIENT,
    list_client_words,
    make_client_environment,
    parse_url,
)
from stithy.hosts.runner import Command
from stithy.needs import Package

BESIDE = (".", "../bin", "../sbin", "../scripts")
"""Where other programs are, seen from the server's."""


def find_tool(programs: Path, name: str) -> Path:
    """Find a program beside the server's; where there is none, the place in which it should be."""
    places = [(programs / beside / name).resolve() for beside in BESIDE]
    return next((place for place in places if os.access(place, os.X_OK)), programs / name)


def list_packers(options: BackupOptions) -> Mapping[str, Package]:
    """List the program that compresses, with its package."""
    return {name: package for name, package in PACKERS.items() if name == options.compression}


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


def _name_file(job: BackupJob, name: str) -> Path:
    return job.folder / f"{name}{ENDINGS[job.options.compression]}"


COPIER, UNPACKER = "mariadb-backup", "mbstream"
COPIERS_PACKAGE = Package("mariadb-backup", "mariadb-backup")
PROCESSES_MAX = 64

PUT_LOG = "mkdir -p redo && mv ib_logfile0 redo/ && rm -f xtrabackup_* backup-my.cnf"
"""The log lies where servers of Stithy have it; nothing else of the backup stays."""


class CopyBackup(BackupMethod):
    """All files in one stream."""

    name = "copy"
    summary = (
        "copies all files of the running server and the log that they need (`mariadb-backup`); it "
        "makes full backups with several processes and no limit of bandwidth, and the restore "
        "applies the log"
    )
    reads_files = True
    no_bandwidth = "mariadb-backup reads as fast as it can"

    def explain_refusal(self, options: BackupOptions) -> str | None:
        """It has a most of threads."""
        if problem := super().explain_refusal(options):
            return problem
        if options.processes > PROCESSES_MAX:
            return f"copy takes at most {PROCESSES_MAX} `processes`"
        return None

    def list_programs(self, options: BackupOptions) -> Mapping[str, Package]:
        """Its own, and what compresses."""
        return {COPIER: COPIERS_PACKAGE, UNPACKER: COPIERS_PACKAGE, **list_packers(options)}

    def ask_version(self, programs: Path) -> Command:
        """Without a server."""
        return Command([str(find_tool(programs, COPIER)), "--no-defaults", "--version"])

    def back_up(self, job: BackupJob, source: Source) -> Command:
        """Write one stream; what it keeps meanwhile lies beside it."""
        first, *others = list_client_words(source.url)
        argv = [
            str(find_tool(job.programs, COPIER)), first, "--backup", *others,
            f"--datadir={source.data}", "--stream=mbstream",
            f"--parallel={job.options.processes}", f"--target-dir={job.folder}",
        ]  # fmt: skip
        return write_packed(
            argv, _name_file(job, "backup.mbs"), job.options, make_client_environment(source.url)
        )

    def restore(self, job: BackupJob, data: Path) -> Sequence[Command]:
        """Unpack the files, apply the log to them, and put it where a server looks for it."""
        plain = {"LC_ALL": "C"}
        unpack = [str(find_tool(job.programs, UNPACKER)), "--extract", f"--directory={data}",
                  f"--parallel={job.options.processes}"]  # fmt: skip
        apply = [str(find_tool(job.programs, COPIER)), "--no-defaults", "--prepare",
                 f"--target-dir={data}"]  # fmt: skip
        return [
            read_packed(unpack, _name_file(job, "backup.mbs"), job.options, plain, data),
            Command(apply, environment=plain, directory=data),
            Command(["sh", "-c", PUT_LOG], environment=plain, directory=data),
        ]


DUMPER, LOADER, ANALYSER = "mariadb-dump", "mariadb", "mariadb-check"


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

    def list_programs(self, options: BackupOptions) -> Mapping[str, Package]:
        """The clients of the distribution, and what compresses."""
        return {**dict.fromkeys((DUMPER, LOADER, ANALYSER), CLIENT), **list_packers(options)}

    def ask_version(self, programs: Path) -> Command:
        """Without a server."""
        return Command([str(find_tool(programs, DUMPER)), "--no-defaults", "--version"])

    def back_up(self, job: BackupJob, source: Source) -> Command:
        """Read one snapshot, with procedures."""
        argv = [
            str(find_tool(job.programs, DUMPER)), *list_client_words(source.url),
            "--single-transaction", "--quick", "--routines", "--hex-blob",
            "--databases", parse_url(source.url).database,
        ]  # fmt: skip
        return write_packed(
            argv, _name_file(job, "dump.sql"), job.options, make_client_environment(source.url)
        )

    def load(self, job: BackupJob, fresh: Source) -> Sequence[Command]:
        """Run the statements, then gather statistics."""
        own = make_client_environment(fresh.url)
        load = [str(find_tool(job.programs, LOADER)), *list_client_words(fresh.url)]
        analyse = [
            str(find_tool(job.programs, ANALYSER)), *list_client_words(fresh.url),
            "--analyze", "--silent", "--databases", parse_url(fresh.url).database,
        ]  # fmt: skip
        return [
            read_packed(load, _name_file(job, "dump.sql"), job.options, own, job.folder),
            Command(analyse, environment=own, directory=job.folder),
        ]


BACKUPS = (CopyBackup(), StatementDump())
"""The default first."""
