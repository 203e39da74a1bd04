"""pgBackRest: a repository of backups, full and of what changed, and of the log between them.

The server hands each finished file of its log to the repository, all the time: `archive_mode` is on
in windows without backups, too. No file of configuration is read or written: every word is given.
A restore ends at the backup's own end, not at that of the log.
"""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from stithy.engines.backup import FULL, Options, Source, Tools
from stithy.engines.postgresql.client import environment
from stithy.engines.postgresql.url import parse_url
from stithy.hosts.runner import Command
from stithy.needs import Package, Program

PROGRAM, VERSION = "pgbackrest", "version"
PACKAGE = Package("pgbackrest", "pgbackrest")
NEEDS = (Program(name=PROGRAM, package=PACKAGE, asked=(VERSION,), why="it makes the backups"),)
STANZA = "stithy"
KINDS = {FULL: "full", "incremental": "incr", "differential": "diff"}
COMPRESSIONS = {"none": "none", "gzip": "gz", "lz4": "lz4", "zstd": "zst"}

READS_FILES = True
ARCHIVE_S = 600
"""How long a backup waits for its last file of the log; a slow drive may have many before it."""


def problem(options: Options) -> str | None:
    """It knows no bandwidth."""
    if options.bytes_per_s is not None:
        return "pgbackrest has no `bandwidth`: it reads as fast as it can (basebackup has one)"
    return None


def programs(options: Options) -> Mapping[str, Package]:
    """It compresses by itself."""
    del options
    return {PROGRAM: PACKAGE}


def version(tools: Tools) -> Command:
    """It is a word, no option."""
    del tools
    return Command([PROGRAM, VERSION])


def settings(data: Path, folder: Path, options: Options) -> Mapping[str, str]:
    """Of a server that archives its log; a percent sign of a path would be a placeholder."""
    words = [*_words(folder, data), _compress(options), "archive-push"]
    command = " ".join(map(shlex.quote, words)).replace("%", "%%")
    return {"archive_mode": "on", "archive_command": f'{command} "%p"'}


def prepare(tools: Tools, data: Path, folder: Path, options: Options) -> Sequence[Command]:
    """Make the repository of a database whose server does not run."""
    del tools, options
    words = [*_words(folder, data), "--no-online", "stanza-create"]
    return [Command(words, environment={"LC_ALL": "C"}, directory=folder)]


def take(tools: Tools, source: Source, target: Path, options: Options) -> Command:
    """Older backups that no other needs are removed. One that was cut off is not continued."""
    del tools
    server, kept = parse_url(source.url), ["--repo1-retention-full=1"]
    if options.kind == "differential":
        kept.append("--repo1-retention-diff=1")
    return Command(
        [
            *_words(target, source.data), f"--type={KINDS[options.kind]}", _compress(options),
            f"--process-max={options.processes}", "--start-fast", "--no-resume", *kept,
            f"--archive-timeout={ARCHIVE_S}", f"--pg1-user={server.user}",
            f"--pg1-socket-path={server.host}", "backup",
        ],
        environment=environment(source.url),
        directory=target,
    )  # fmt: skip


def stored(folder: Path) -> Path:
    """The directory of the last backup."""
    return (folder / "repository/backup" / STANZA / "latest").resolve()


def restore(tools: Tools, backup: Path, data: Path, options: Options) -> Sequence[Command]:
    """Tablespaces come to lie beside the data, never where they are in the source."""
    del tools
    words = [
        *_words(backup, data), f"--process-max={options.processes}", "--type=immediate",
        "--target-action=promote", "--archive-mode=off",
        f"--tablespace-map-all={data.parent / 'tablespaces'}", "restore",
    ]  # fmt: skip
    return [Command(words, environment={"LC_ALL": "C"}, directory=data)]


def restored_settings() -> Mapping[str, str]:
    """The server answers once it has recovered, and not before."""
    return {"hot_standby": "off"}


def room_bytes(held: int, log: int, options: Options, cycles: int) -> int:
    """The one before is removed once the next one is whole; increments build on each other."""
    backups = {FULL: 2, "differential": 3}.get(options.kind, 1 + cycles)
    return backups * held + log


def _words(folder: Path, data: Path) -> list[str]:
    return [
        PROGRAM, "--no-config", f"--stanza={STANZA}", f"--pg1-path={data}",
        f"--repo1-path={folder / 'repository'}", f"--lock-path={folder / 'locks'}",
        "--log-level-file=off", "--log-level-console=off", "--log-level-stderr=warn",
    ]  # fmt: skip


def _compress(options: Options) -> str:
    return f"--compress-type={COMPRESSIONS[options.compression]}"
