"""SQLite: a database in one file, which the load driver itself reads and writes.

It is backed up by its online API or by a compacted copy, in a process beside the driver, which
reads the database through SQLite. Each restore is a copy of the file, whose integrity is checked.
"""

import sqlite3
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stithy.engines.backup import BackupJob, BackupMethod, BackupOptions, Run, Source
from stithy.engines.declaration import Declaration, ErrorClass
from stithy.engines.engine import Engine
from stithy.errors import InfrastructureError, give_reason
from stithy.names import suggest_instead
from stithy.secrets import Secret

if TYPE_CHECKING:
    from stithy.engines import instance
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

    no_agent = "the database is a file of this host, which no server gives to others"

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
        rate = str(job.options.bytes_per_s or 0)
        return _command("back-up", str(source.data / FILE), str(job.folder / FILE), rate)


class VacuumInto(FileBackup):
    """A compacted copy."""

    name = "vacuum"
    summary = "writes a compacted copy in one transaction (`VACUUM INTO`), as fast as it can"
    no_bandwidth = "it reads as fast as it can (online has one)"

    def back_up(self, job: BackupJob, source: Source) -> "Command":
        return _command("vacuum", str(source.data / FILE), str(job.folder / FILE))


BACKUPS = (Online(), VacuumInto())
"""The default first."""

WORDS = {
    "journal": ("wal", "delete", "truncate", "persist"),
    "synchronous": ("full", "extra", "normal", "off"),
}
"""By setting what it may be, the default first. Other journals do not survive a kill."""

NUMBERS = {
    "cache_kib": (2000, 1, 2**30),
    "page_size": (4096, 512, 65536),
    "autocheckpoint": (1000, 0, 2**31 - 1),
    "busy_timeout_ms": (5000, 0, 3_600_000),
}
"""By setting the default, the least and the most."""

DEFAULTS = {name: words[0] for name, words in WORDS.items()} | {
    name: str(default) for name, (default, _, _) in NUMBERS.items()
}

LOG_BYTES = 64 * 2**20
"""Own: what the log comes to hold while readers keep a checkpoint from starting it anew."""

READ_BYTES = 2**20

RETRYABLE, FULL = ("SQLITE_BUSY", "SQLITE_LOCKED"), ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")

DAMAGED = (
    "SQLITE_IOERR", "SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_CANTOPEN", "SQLITE_READONLY",
)  # fmt: skip

NEVER_FLUSHED = (
    "nothing is flushed, so a crash of the machine may lose committed transactions and leave a "
    "database that cannot be repaired"
)
LAST_LOST = (
    "with a write-ahead log a commit is not flushed, so a power cut may lose the last commits; the "
    "database stays whole"
)
LAST_UNDONE = (
    "with the journal delete a commit does not wait until the journal's removal is durable, so a "
    "power cut may undo the last commit; synchronous extra waits for it"
)
TORN = "with a rollback journal a power cut at a bad moment may leave a damaged database"


def complete(settings: Mapping[str, str]) -> dict[str, str]:
    """Give all settings as they are in force: as given, else by default."""
    return DEFAULTS | {name.lower(): value.strip().lower() for name, value in settings.items()}


def classify_error(code: str | None, text: str) -> ErrorClass:
    """Classify an error by its code or, without one, by its text.

    >>> classify_error("SQLITE_BUSY_SNAPSHOT", "database is locked")
    'retryable'
    """
    if code and code.startswith(RETRYABLE):
        return "retryable"
    is_full = "database or disk is full" in text if code is None else code.startswith(FULL)
    if is_full:
        return "full"
    return "storage" if code and code.startswith(DAMAGED) else "other"


class SQLite(Engine):
    """SQLite, embedded in the load driver."""

    name = "sqlite"
    url_schemes = ("sqlite",)
    url_examples = ("sqlite:///srv/test.db", "sqlite:///srv/test.db?journal=delete")
    setting_examples = ({"cache_kib": "2000"}, {"cache_kib": "8000"})
    unsafe_settings = {"synchronous": "off"}
    backups = BACKUPS
    separate_roles = frozenset({"temp"})
    declaration = Declaration(
        error_class=classify_error,
        error_classes=frozenset({"retryable", "full", "storage", "other"}),
        is_embedded=True,
        isolation="serializable",
        block_bytes=4096,
        commits=None,
        server="database",
        buffers="page cache in each connection",
        maintenance="checkpoints",
        log_note="The write-ahead log is a file beside the database and cannot be moved.",
        wait_note=(
            "SQLite has one writer: transactions that write wait for each other in the driver, and "
            "their response times contain that wait."
        ),
    )

    def explain_setting(self, name: str, value: str) -> tuple[str, str] | None:
        """Say what is wrong with a name or a value: others are not passed on."""
        setting, given = name.lower(), value.strip().lower()
        if (words := WORDS.get(setting)) is not None:
            is_there = given in words
            return None if is_there else (f"no value of {setting}", f"one of {', '.join(words)}")
        if setting not in NUMBERS:
            return "not a setting of SQLite that Stithy sets", suggest_instead(setting, [*DEFAULTS])
        _, least, most = NUMBERS[setting]
        if not (given.isdecimal() and least <= int(given) <= most):
            return f"no value of {setting}", f"a whole number from {least:,} to {most:,}"
        if setting == "page_size" and int(given).bit_count() != 1:
            return "no size of a page", "a power of two"
        return None

    def list_given_up(self, settings: Mapping[str, str]) -> dict[str, str]:
        """List `synchronous` where a commit does not wait until it is durable and whole."""
        given = complete(settings)
        because = {
            "off": NEVER_FLUSHED,
            "normal": LAST_LOST if given["journal"] == "wal" else TORN,
            "full": LAST_UNDONE if given["journal"] == "delete" else None,
        }.get(given["synchronous"])
        return {"synchronous": because} if because else {}

    def count_log_bytes(self, settings: Mapping[str, str], window_s: float = 0.0) -> int:
        """Count what the file of the log may hold; unknown where no commit makes a checkpoint."""
        return 0 if complete(settings)["autocheckpoint"] == "0" else LOG_BYTES

    def configure(self, request: "instance.Request") -> "instance.ConfiguredEngine":
        from stithy.engines.sqlite.database import ConfiguredSQLite

        return ConfiguredSQLite(request)

    def find_damage(self, instance: "instance.Instance") -> str | None:
        import sqlite3

        from stithy.engines.sqlite.copies import check
        from stithy.engines.sqlite.database import read_file

        file = read_file(instance.url)
        try:
            with file.open("rb") as reading:  # so that the check, page by page, waits for no drive
                while reading.read(READ_BYTES):
                    pass
            check(str(file))
        except (sqlite3.OperationalError, OSError) as error:
            because = give_reason(error) if isinstance(error, OSError) else error
            raise InfrastructureError(
                f"the file cannot be read: {because}", where=str(file),
                remedy="read the kernel's log: a failing device is the usual cause",
            ) from error  # fmt: skip
        except sqlite3.DatabaseError as error:
            return str(error)
        return ""

    def connect(self, url: Secret, password: Secret | None = None) -> "instance.Endpoint":
        from stithy.engines.sqlite.database import DatabaseFile

        return DatabaseFile(url)

    def locate(self, url: Secret) -> str:
        from stithy.engines.sqlite.database import read_file

        return str(read_file(url))

    def set_driver(self, start: "instance.Start") -> Mapping[str, str]:
        """Let it make temporary files on the volume; by itself it would in /var/tmp."""
        return {"SQLITE_TMPDIR": str(start.temp or start.data)}


PLUGINS = (SQLite(),)
