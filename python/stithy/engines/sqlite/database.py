"""A SQLite database by its file, beside the driver in whose process it runs."""

import hashlib
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from stithy.clock import Clock
from stithy.collectors.collector import LiveCollector, Unavailable
from stithy.engines.instance import (
    CheckpointRule,
    CommitCounters,
    Installation,
    Loaded,
    MaintenanceCounters,
    Request,
    ServerFacts,
    Start,
)
from stithy.engines.sqlite import FILE, PLUGINS, complete
from stithy.errors import InfrastructureError, PreconditionError, Problems, UserError
from stithy.hosts.runner import Command, LocalRunner, Runner
from stithy.secrets import Secret
from stithy.wire.program import HAMMER, find_program

OLDEST = (3, 37)
"""The first version that reads tables which are STRICT."""

BUSY_S = 3600.0
"""A checkpoint waits for all that users do."""

TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"


def read_file(url: Secret) -> Path:
    """Read which file a URL names. Raises UserError for one without an absolute path."""
    path = unquote(urlsplit(url.reveal()).path)
    if not path.startswith("/"):
        raise UserError(
            "the URL names no absolute path", where="database URL",
            remedy="write it as sqlite:///srv/test.db",
        )  # fmt: skip
    return Path(path)


class DatabaseFile:
    """What can be asked of a file, whoever works with it."""

    def __init__(self, url: Secret, version: str = "") -> None:
        """`version`: of the driver's library, empty: its program says it."""
        self.url = url
        self._file = read_file(url)
        self._version = version

    @property
    def place(self) -> str:
        """The file: a URL has no secrets."""
        return str(self._file)

    @contextmanager
    def session(self, doing: str = "working") -> Iterator[sqlite3.Connection]:
        """A connection of this process. Raises InfrastructureError for all that fails."""
        try:
            if not self._file.exists():
                raise sqlite3.OperationalError("there is no such file")
            connection = sqlite3.connect(self._file, timeout=BUSY_S, isolation_level=None)
            try:
                yield connection
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise InfrastructureError(
                f"SQLite failed while {doing}: {error}", where=self.place,
                remedy="read the kernel's log: a full or failing device is the usual cause",
            ) from error  # fmt: skip

    def commits(self, clock: Clock) -> CommitCounters | None:
        """SQLite counts none."""
        return None

    def maintenance(self) -> MaintenanceCounters:
        """SQLite counts none."""
        return MaintenanceCounters()

    def checkpoint_rule(self) -> CheckpointRule | None:
        """A commit checkpoints after a number of pages; no time makes it."""
        return None

    def facts(self) -> ServerFacts:
        """The version of the driver's library, and the settings in force."""
        given = complete(dict(parse_qsl(urlsplit(self.url.reveal()).query)))
        with self.session() as session:
            [(size,)] = session.execute("PRAGMA page_size")
        version = self._version or ask_version(LocalRunner())
        return ServerFacts(version, {**given, "page_size": str(size)})

    def checksums(self) -> Mapping[str, str]:
        """By table the number of its rows and the sum of the hashes of all rows."""
        with self.session() as session:
            names = [name for (name,) in session.execute(TABLES)]
            return {name: sum_rows(session, name) for name in names}

    def activity(self, clock: Clock) -> LiveCollector:
        """SQLite has no statistics."""
        raise Unavailable("SQLite has no statistics that another process could read")

    def loaded(self) -> Loaded | None:
        """What the hammer has loaded, by its table `stithy_meta`."""
        if not self._file.exists():
            return None
        with self.session() as session:
            if ("stithy_meta",) not in session.execute(TABLES).fetchall():
                return None
            rows = session.execute("SELECT * FROM stithy_meta")
            meta = dict(
                zip((column for column, *_ in rows.description), rows.fetchone(), strict=True)
            )
        # Where a size is one number, there is no column for it.
        return Loaded(str(meta["workload"]), str(meta.get("size", meta["units"])))


def sum_rows(session: sqlite3.Connection, table: str) -> str:
    """Count the rows of a table, and sum their hashes, whose order is no matter."""
    count = total = 0
    for row in session.execute(f'SELECT * FROM "{table}"'):
        digest = hashlib.blake2b(repr(row).encode(), digest_size=8).digest()
        count, total = count + 1, (total + int.from_bytes(digest, "little")) % 2**64
    return f"{count} rows, {total:016x}"


class EmbeddedDatabase(DatabaseFile):
    """A database on a candidate's volume, while a driver may work with it."""

    pid = None

    def __init__(self, start: Start, settings: Mapping[str, str], version: str) -> None:
        """Recover it after a crash; where it is to be loaded, loading makes it."""
        file, self._ended = start.data / FILE, False
        super().__init__(Secret(f"sqlite://{quote(str(file))}?{urlencode(settings)}"), version)
        if not start.loading:
            with self.session("starting") as session:
                session.execute(TABLES).fetchall()

    def shared_memory(self) -> Mapping[str, str]:
        """The kernel removes it with the process."""
        return {}

    def last_words(self) -> str:
        """The driver tells its errors."""
        return "it writes no log"

    def ended_by(self) -> str | None:
        """It has no process of its own that could end otherwise."""
        return "ended with code 0" if self._ended else None

    def checkpoint(self) -> None:
        """Write the whole log to the database. Raises InfrastructureError where it is in use."""
        with self.session("writing a checkpoint") as session:
            [(busy, _, _)] = session.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            if busy:
                raise sqlite3.OperationalError("others read its log")

    def finish_loading(self, log_bytes: int) -> None:
        """Gather statistics, and give the file to the user of servers, as whom backups run."""
        with self.session("gathering statistics") as session:
            session.execute("PRAGMA analysis_limit = 0")
            session.execute("ANALYZE")
        self.checkpoint()
        owner = self._file.parent.stat()
        os.chown(self._file, owner.st_uid, owner.st_gid)

    def kept_url(self) -> str:
        """It has no password."""
        return self.url.reveal()

    def stop(self, *, at_once: bool = False) -> None:
        """Empty the log, unless it is to be left as after a crash."""
        if not (at_once or self._ended) and self._file.exists():
            self.checkpoint()
        self._ended = True


def ask_version(runner: Runner) -> str:
    """Ask the hammer for the version of its library. Raises PreconditionError without one."""
    finished = runner.run(Command([str(find_program(HAMMER)), "--engines"]), timeout_s=30)
    for line in finished.stdout.splitlines():
        name, _, version = line.partition(" ")
        if name == PLUGINS[0].name:
            return version
    raise PreconditionError(
        "it has no SQLite", where=HAMMER, remedy="install one of the same version as Stithy"
    )


class ConfiguredSQLite:
    """SQLite as a study asks for it."""

    program = HAMMER
    log_folder = None

    def __init__(self, request: Request) -> None:
        self._request = request
        self._version = ""

    def check(self) -> Installation:
        """Try all settings, and find the libraries of the driver and of Python.

        Raises UserError and PreconditionError.
        """
        problems, request = Problems(), self._request
        for where, because, remedy in _list_refused(request):
            problems.found.append(UserError(because, where=where, remedy=remedy))
        for name, options in request.backups:
            problems.attempt(partial(PLUGINS[0].get_backup(name).check_options, options))
        self._version = problems.attempt(partial(ask_version, request.host.runner)) or ""
        own, oldest = sqlite3.sqlite_version, ".".join(map(str, OLDEST))
        if sqlite3.sqlite_version_info < OLDEST:
            problems.found.append(PreconditionError(
                f"it has SQLite {own}", where="Python", remedy=f"use one with {oldest} or later"
            ))  # fmt: skip
        problems.refuse("database")
        tools = {name: f"sqlite {own}" for name, _ in request.backups}
        return Installation(find_program(HAMMER).parent, self._version, tools)

    def initialise(self, data: Path, scratch: Path) -> None:
        """Loading makes the file."""

    def start(self, start: Start) -> EmbeddedDatabase:
        """Open the file once; the driver does so for itself."""
        configuration = start.own or self._request.configuration
        settings = complete({**configuration.settings, **start.more})
        return EmbeddedDatabase(start, settings, self._version)


def _list_refused(request: Request) -> Iterator[tuple[str, str, str]]:
    """List what of the study it cannot have: where it stands, why, and what to do."""
    pages = complete(request.configuration.settings)["page_size"]
    for section, configuration in (("database", request.configuration), *request.own):
        for name, value in configuration.settings.items():
            if problem := PLUGINS[0].explain_setting(name, value):
                yield f"{section}.settings.{name}", f"{name} {value}: {problem[0]}", problem[1]
        if complete(configuration.settings)["page_size"] != pages:
            because = "pages are as large as those of the loaded database"
            yield f"{section}.settings.page_size", because, "set it in `database.settings`"
    if request.programs is not None:
        yield "database.programs", "SQLite is a part of the load driver", "leave it out"
