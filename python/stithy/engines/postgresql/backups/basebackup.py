"""`pg_basebackup`: a copy of all files of a running server, with the log that it needs.

It writes one archive, and one with the log, which it streams meanwhile, so that a backup can be
restored by itself. A tablespace of temporary files is not restored: its place is the source's.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from stithy.engines.backup import FULL, Options, Source, Tools
from stithy.engines.postgresql.client import CLIENT, environment, words
from stithy.hosts.runner import Command
from stithy.needs import Package

PROGRAM = "pg_basebackup"
ENDINGS = {"none": "", "gzip": ".gz", "lz4": ".lz4", "zstd": ".zst"}
"""Of its archives, by compression."""
PACKAGES = {"gzip": Package("gzip", "gzip"), "lz4": Package("lz4", "lz4"),
            "zstd": Package("zstd", "zstd")}  # fmt: skip

KIB = 2**10
SLOWEST, FASTEST = 32 * KIB, 1024 * 1024 * KIB
"""Bytes per second that `--max-rate` of `pg_basebackup` takes."""


def problem(options: Options) -> str | None:
    """It reads with one process, at rates of its own; only zstd compresses with several."""
    if options.kind != FULL:
        return f"basebackup makes full backups, no {options.kind} ones"
    if options.processes > 1 and options.compression != "zstd":
        return "basebackup uses several processes only with `compression: zstd`"
    if options.bytes_per_s is not None and not SLOWEST <= options.bytes_per_s <= FASTEST:
        return "basebackup takes a `bandwidth` of 32 KiB to 1 GiB"
    return None


def programs(options: Options) -> Mapping[str, Package]:
    """Its own, and what unpacks."""
    own = {PROGRAM: CLIENT, "tar": Package("tar", "tar")}
    packed = options.compression
    return own if packed == "none" else {**own, packed: PACKAGES[packed]}


def version(tools: Tools) -> Command:
    """Without a server."""
    return Command([str(tools.programs / PROGRAM), "--version"])


def take(tools: Tools, source: Source, target: Path, options: Options) -> Command:
    """A fast checkpoint first: a spread one would only make the backup begin later."""
    packed = options.compression
    workers = f":workers={options.processes}" if options.processes > 1 else ""
    compress = packed if packed in ("none", "gzip") else f"client-{packed}{workers}"
    limit = options.bytes_per_s
    rate = [] if limit is None else [f"--max-rate={round(limit / KIB)}"]
    return Command(
        [
            str(tools.programs / PROGRAM), *words(source.url), "--checkpoint=fast",
            "--format=tar", "--wal-method=stream", f"--compress={compress}", *rate,
            f"--pgdata={target}",
        ],
        environment=environment(source.url),
        directory=target,
    )  # fmt: skip


def restore(tools: Tools, backup: Path, data: Path, options: Options) -> Sequence[Command]:
    """Unpack the files, then the log; links to places of the source are not made again."""
    del tools
    base = backup / f"base.tar{ENDINGS[options.compression]}"
    logs = sorted(backup.glob("pg_wal.tar*"))
    places = [(base, data), *((log, data / "pg_wal") for log in logs)]
    return [
        Command(
            ["tar", "--extract", "--auto-compress", f"--file={archive}", f"--directory={place}",
             "--exclude=tablespace_map"],
            environment={"LC_ALL": "C"}, directory=data,
        )
        for archive, place in places
    ]  # fmt: skip
