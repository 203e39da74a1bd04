"""A SQL Server database by URL as a candidate: whose it is, what a run makes, sets and removes."""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from stithy.engines.instance import Demand, Mark, NotStarted, kept_of
from stithy.engines.served import (
    ANSWER_PATIENCE_S,
    MARK,
    explain_end,
    explain_full,
    make_held_error,
    make_left_error,
    measure_round_trip_s,
)
from stithy.engines.sqlserver import native
from stithy.engines.sqlserver.connection import MASTER, ServerError, SQLServerSession
from stithy.engines.sqlserver.endpoint import PRODUCT, SQLServerEndpoint
from stithy.engines.sqlserver.given import COLLATION, Wish, make_wish, parse_url, quote_name
from stithy.errors import PreconditionError
from stithy.needs import parse_numbers
from stithy.secrets import Secret

OLDEST = 13
"""SQL Server 2016, the first with OPENJSON."""

STARTED = "SELECT create_date FROM sys.databases WHERE name = 'tempdb'"
"""It is made at each start."""

HELD = """SELECT CASE type WHEN 'U' THEN 'table' WHEN 'P' THEN 'procedure'
   WHEN 'FN' THEN 'function' WHEN 'IF' THEN 'function' WHEN 'TF' THEN 'function'
   WHEN 'V' THEN 'view' ELSE 'sequence' END AS kind, name FROM sys.objects
  WHERE is_ms_shipped = 0 AND type IN ('U', 'P', 'FN', 'IF', 'TF', 'V', 'SO')
 UNION ALL SELECT 'type', name FROM sys.types WHERE is_user_defined = 1"""
"""What the database holds; triggers and indexes go with their tables."""

REFERENCES = "SELECT OBJECT_NAME(parent_object_id), name FROM sys.foreign_keys"
"""Foreign keys, of which a table that others refer to is rid before it is dropped."""

DROPPED = ("procedure", "function", "table", "sequence", "type")
RIGHTS = (
    ("NULL, NULL, 'CREATE ANY DATABASE'", "the user may not make databases",
     "make the database, or GRANT CREATE ANY DATABASE TO the login"),
    ("NULL, NULL, 'ALTER SETTINGS'", "the user may not set the server",
     "leave max_server_memory and max_degree_of_parallelism out, or GRANT ALTER SETTINGS"),
)  # fmt: skip
*OWN_RIGHTS, BACKUP_RIGHT = (
    (f"DB_NAME(), 'DATABASE', '{right}'", f"the user has no right {right} in the database",
     "make it the owner: ALTER AUTHORIZATION ON DATABASE::… TO the login")
    for right in ("CREATE TABLE", "CREATE PROCEDURE", "ALTER", "BACKUP DATABASE")
)  # fmt: skip
KILL_RIGHT = (
    "NULL, NULL, 'ALTER ANY CONNECTION'", "the user may not end a backup that is to stop",
    "GRANT ALTER ANY CONNECTION TO the login",
)  # fmt: skip


def connect_remote(url: Secret, password: Secret | None = None) -> "RemoteSQLServer":
    """Give the database of a URL; its server is connected."""
    return RemoteSQLServer(parse_url(url, password).url)


class Claim(NamedTuple):
    """What the table of the mark says.

    `made`: whether the run made the database. `before`: values of the server that it has changed.
    """

    mark: Mark
    made: bool
    before: Mapping[str, int]

    @property
    def wish(self) -> Wish:
        """The settings that the run asks for."""
        return make_wish(self.mark.settings)


class RemoteSQLServer(NotStarted, SQLServerEndpoint):
    """A database on a server that runs already; where it is missing, a run makes and drops it."""

    def __init__(self, url: Secret) -> None:
        super().__init__(url)
        self.database = parse_url(url).database
        self._since = self._read_start()

    def _read_start(self) -> str:
        with self.connect_master() as master:
            return str(master.run(STARTED)[0][0])

    def check(self, demand: Demand) -> None:
        """Version, rights, collation, room for users, and whether it is empty."""
        wish = make_wish(demand.settings)
        with self.connect_master() as master:
            state = self._read_state(master)
            problem = (
                _find_unfit(master)
                or _find_right(master, RIGHTS[:1] if state is None else ())
                or _find_right(master, RIGHTS[1:] if wish.list_server_values() else ())
                or _find_full(master, demand.sessions)
                or (_find_no_backup(master, wish) if demand.backs_up else None)
            )
        if problem is None and state not in (None, "ONLINE"):
            problem = (f"the database is {state}", "bring it online, or drop it")
        if problem is None and state is not None:
            problem = self._find_wrong_database(wish, demand)
        if problem:
            raise PreconditionError(problem[0], where=self.place, remedy=problem[1])

    def _find_wrong_database(self, wish: Wish, demand: Demand) -> tuple[str, str] | None:
        """Find why a database that is there cannot be used. Raises where it holds anything."""
        claim = self._read_claim()
        with self._connect_own() as session:
            held = list_held(session)
            if held and claim is None:
                raise make_held_error(held[0], self.place)
            if claim and claim.made:
                return None  # it will be made anew
            if wish.places_files:
                remedy = "drop it: Stithy makes it with its files, and drops it at the end"
                return "the database is there, and its files are where they are", remedy
            rights = [*OWN_RIGHTS]
            if demand.keeps_inside:
                rights.append(RIGHTS[0])  # RESTORE asks for it
            if demand.backs_up:
                rights.append(BACKUP_RIGHT)
            return _find_right(session, rights) or _find_wrong_collation(session)

    def mark(self) -> Mark | None:
        """Read the table of the mark; none where the database is missing."""
        claim = self._read_claim()
        return claim.mark if claim else None

    def _read_claim(self) -> Claim | None:
        with self.connect_master() as master:
            if self._read_state(master) != "ONLINE":
                return None
        with self._connect_own() as session:
            if not session.run("SELECT 1 FROM sys.tables WHERE name = %s", MARK):
                return None
            rows = session.run(
                f"SELECT run_id, owner, candidate, settings, made, before FROM {MARK}"
            )
        if not rows:
            return None
        run_id, owner, candidate, settings, made, before = rows[0]
        mark = Mark(run_id, json.loads(owner), candidate, json.loads(settings))
        return Claim(mark, bool(made), json.loads(before))

    @property
    def wish(self) -> Wish:
        """The settings that its mark has."""
        claim = self._read_claim()
        return make_wish({}) if claim is None else claim.wish

    def claim(self, mark: Mark) -> None:
        """Make it where it is missing, set it as the study asks, and mark it.

        What an older mark stood for goes first. A snapshot that will be needed is tried.
        """
        self.check(Demand(settings=mark.settings))
        if (older := self.mark()) is not None:
            self.give_back(older.run_id)
        wish, made = make_wish(mark.settings), False
        with self.connect_master() as master:
            if self._read_state(master) is None:
                master.run(wish.make_database(self.database))
                made = True
            before = native.set_server(master, wish.list_server_values())
        self._write_mark(mark, made, before)
        with self.connect_master() as master:
            _set_options(master, self.database, wish)
            native.fit_files(master, self.database, wish)
            if mark.keeps_inside and not wish.keeps_backups:
                name = f"{kept_of(mark.run_id)}tried"
                native.make_snapshot(master, self.database, name)
                native.drop_database(master, name)

    def _write_mark(self, mark: Mark, made: bool, before: Mapping[str, int]) -> None:
        with self._connect_own() as session:
            session.run(
                f"CREATE TABLE {MARK} (run_id nvarchar(200), owner nvarchar(max),"
                " candidate nvarchar(200), settings nvarchar(max), made bit, before nvarchar(max))"
            )
            session.run(
                f"INSERT INTO {MARK} VALUES (%s, %s, %s, %s, %s, %s)", mark.run_id,
                json.dumps(dict(mark.owner)), mark.candidate, json.dumps(dict(mark.settings)),
                int(made), json.dumps(dict(before)),
            )  # fmt: skip

    def empty(self) -> None:
        """Drop procedures, functions, tables, sequences and types; anything else is refused."""
        self._drop_held()
        self._set_server(self.wish)

    def _drop_held(self) -> None:
        with self._connect_own() as session:
            held = list_held(session)
            for table, key in session.run(REFERENCES):
                table, key = quote_name(table), quote_name(key)
                session.run(f"ALTER TABLE {table} DROP CONSTRAINT {key}")
            for kind in DROPPED:
                for name in (name for of, name in held if of == kind):
                    session.run(f"DROP {kind} {quote_name(name)}")
            left = list_held(session)
        if left:
            raise make_left_error(left[0], self.place)

    def _set_server(self, wish: Wish) -> None:
        """Set the whole server again, as another candidate on it may have set it otherwise."""
        if values := wish.list_server_values():
            with self.connect_master() as master:
                native.set_server(master, values)

    def checkpoint(self) -> None:
        """Write all dirty pages now."""
        with self._connect_own() as session:
            native.ask(session, "CHECKPOINT")

    def finish_loading(self, log_bytes: int) -> None:
        """Compress, analyse, check and write all. Its log is as its server keeps it."""
        wish = self.wish
        with self._connect_own() as session:
            native.finish_loading(session, self.database, wish)

    def keep(self, name: str) -> None:
        """Keep what was loaded, as its settings say."""
        wish = self.wish
        with self.connect_master() as master:
            native.keep(master, self.database, name, wish)

    def restore(self, name: str) -> None:
        """Revert to the snapshot or restore the backup, either of which has the mark in it."""
        wish = self.wish
        with self.connect_master() as master:
            native.restore(master, self.database, name, wish)
        self._set_server(wish)
        with self._connect_own() as session:
            native.check_database(session, self.database, wish)
        self.checkpoint()

    def give_back(self, run_id: str) -> None:
        """Remove what the run made: what it kept, the database itself, or what is in it.

        A kill during a restore leaves a database that nobody can enter, and no mark; what the run
        had kept of it tells whose it is, and it is dropped.
        """
        claim = self._read_claim()
        if claim is not None and claim.mark.run_id != run_id:
            return
        with self.connect_master() as master:
            state = self._read_state(master)
            kept = native.forget_kept(master, self.database, kept_of(run_id))
            if claim is None:
                if kept and state not in (None, "ONLINE"):
                    master.run(f"DROP DATABASE {quote_name(self.database)}")
                return
            native.set_server(master, claim.before)
        if claim.made:  # other sessions in it are ended
            name = quote_name(self.database)
            with self.connect_master() as master:
                native.ask(master, f"ALTER DATABASE {name} SET SINGLE_USER WITH ROLLBACK IMMEDIATE")
                master.run(f"DROP DATABASE {name}")
            return
        self._drop_held()
        with self._connect_own() as session:
            session.run(f"DROP TABLE {MARK}")

    def size_bytes(self) -> int:
        """Of what its data files hold; they may be larger. A stand-in has no books: 0."""
        with self._connect_own() as session:
            pages = native.ask(
                session, "SELECT SUM(CONVERT(bigint, total_pages)) FROM sys.allocation_units"
            )
        return int((pages[0][0] if pages else 0) or 0) * 8192

    def round_trip_s(self) -> float:
        with self.connect_master() as session:
            return measure_round_trip_s(lambda: session.run("SELECT 1"))

    def describe_server(self) -> str:
        """Describe it as the session of now is."""
        with self.connect_master() as session:
            [(version, edition, product)] = session.run(PRODUCT)
            secret = "" if session.is_encrypted else "not "
        name = str(product).splitlines()[0].partition(" - ")[0].strip()
        return f"{name}, version {version}, {edition}, {secret}encrypted"

    def ended_by(self) -> str | None:
        """Whether it was started anew, or does not answer."""
        return explain_end(lambda: self._read_start() == self._since)

    def _read_state(self, master: SQLServerSession) -> str | None:
        rows = master.run("SELECT state_desc FROM sys.databases WHERE name = %s", self.database)
        return str(rows[0][0]) if rows else None

    def connect_master(self) -> SQLServerSession:
        """Connect to the server, whatever its database is in."""
        return self.connect(MASTER, ANSWER_PATIENCE_S)

    def _connect_own(self) -> SQLServerSession:
        return self.connect(timeout_s=ANSWER_PATIENCE_S)


def list_held(session: SQLServerSession) -> list[tuple[str, str]]:
    """List what a database holds besides the mark, by kind and name."""
    rows = [(str(kind), str(name)) for kind, name in session.run(HELD)]
    return sorted(row for row in rows if row[1] != MARK)


def _set_options(master: SQLServerSession, database: str, wish: Wish) -> None:
    """Set the options; of the defaults a stand-in may lack some."""
    [(version, *_)] = master.run(PRODUCT)
    for key, statement in wish.list_options(database, parse_numbers(str(version))[0]):
        if native.ask(master, statement) is None and key in wish.given:
            raise PreconditionError(
                f"the server lacks the setting {key}", where="database.settings",
                remedy="leave it out",
            )  # fmt: skip


def _find_unfit(master: SQLServerSession) -> tuple[str, str] | None:
    [(version, edition, product)] = master.run(PRODUCT)
    is_stand_in = "Babelfish" in str(product)  # it gives itself the version of an older one
    if not is_stand_in and "Azure" in str(edition):
        problem = "the server is Azure SQL, whose files and counters are not to be seen"
        return problem, "name another"
    if not is_stand_in and parse_numbers(str(version))[0] < OLDEST:
        return f"the server has version {version}, older than SQL Server 2016", "use a newer one"
    try:
        master.run("SELECT TOP 1 cntr_value FROM sys.dm_os_performance_counters")
    except ServerError as error:
        if error.number in (297, 300):
            right = "GRANT VIEW SERVER STATE TO the login (in master)"
            return "the user may not see what the server counts", right
    return None


def _find_no_backup(master: SQLServerSession, wish: Wish) -> tuple[str, str] | None:
    """Find why the server makes no such backups, or restores none to another database.

    Source: Microsoft's "Editions and supported features of SQL Server".
    """
    [(_, edition, product)] = master.run(PRODUCT)
    if "Babelfish" in str(product):
        return "the server makes no backups by T-SQL", "choose a SQL Server, or another scenario"
    packs = wish.get("backup_compression") == "on"
    if packs and any(word in str(edition) for word in ("Express", "Web")):
        return f"{edition} compresses no backups", "leave backup_compression out"
    return _find_right(master, (RIGHTS[0], KILL_RIGHT))


def _find_right(
    session: SQLServerSession, rights: Sequence[tuple[str, str, str]]
) -> tuple[str, str] | None:
    for securable, problem, remedy in rights:
        if session.run(f"SELECT HAS_PERMS_BY_NAME({securable})")[0][0] == 0:
            return problem, remedy
    return None


def _find_full(master: SQLServerSession, sessions: int) -> tuple[str, str] | None:
    [(most,)] = master.run(
        "SELECT COALESCE(NULLIF(MAX(CONVERT(int, value_in_use)), 0), @@MAX_CONNECTIONS)"
        " FROM sys.configurations WHERE name = 'user connections'"
    )
    [(used,)] = master.run("SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE is_user_process = 1")
    room = int(most) - int(used) + 1
    return explain_full(room, sessions, "the server", setting="user connections")


def _find_wrong_collation(session: SQLServerSession) -> tuple[str, str] | None:
    [(name, page)] = session.run(
        "SELECT CONVERT(nvarchar(128), DATABASEPROPERTYEX(DB_NAME(), 'Collation')),"
        " CONVERT(int, COLLATIONPROPERTY(CONVERT(nvarchar(128),"
        " DATABASEPROPERTYEX(DB_NAME(), 'Collation')), 'CodePage'))"
    )
    if str(name).endswith("_BIN2") and page in (1252, None):
        return None
    return (
        f"the database has the collation {name}, which does not compare texts by their bytes in "
        "code page 1252",
        f"make it with COLLATE {COLLATION}, or drop it: Stithy makes it",
    )
