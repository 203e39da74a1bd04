"""A MariaDB or MySQL database by URL as a candidate: whose it is, what a run makes and removes."""

import json

from stithy.engines.instance import Demand, Mark, NotStarted
from stithy.engines.mariadb.connection import (
    OLDEST,
    ControlSession,
    connect,
    is_mariadb,
    parse_version,
    quote_name,
)
from stithy.engines.mariadb.endpoint import MariaDBEndpoint
from stithy.engines.mariadb.upkeep import finish_loading, write_back
from stithy.engines.mariadb.url import parse_url
from stithy.engines.served import (
    ANSWER_PATIENCE_S,
    MARK,
    explain_end,
    explain_full,
    make_held_error,
    make_left_error,
    measure_round_trip_s,
)
from stithy.errors import PreconditionError, StithyError
from stithy.secrets import Secret

OLDEST_MYSQL = (8, 0, 4)
"""The first with JSON_TABLE."""

NEEDED = frozenset((
    "SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "INDEX",
    "CREATE ROUTINE", "ALTER ROUTINE", "EXECUTE",
))  # fmt: skip
"""Rights on the database: tables are made and loaded, and procedures are made last."""

RIGHTS = """SELECT privilege_type FROM information_schema.user_privileges WHERE grantee = %s
 UNION SELECT privilege_type FROM information_schema.schema_privileges
 WHERE grantee = %s AND DATABASE() LIKE table_schema"""

STATEMENTS_EACH = 5
"""What a session of order entry prepares; without procedures it is some 30."""

HELD = """SELECT IF(table_type LIKE '%VIEW', 'view', 'table') AS kind, table_name AS name
  FROM information_schema.tables WHERE table_schema = DATABASE()
 UNION ALL SELECT LOWER(routine_type), routine_name
  FROM information_schema.routines WHERE routine_schema = DATABASE()
 UNION ALL SELECT 'event', event_name FROM information_schema.events WHERE event_schema = DATABASE()
 ORDER BY kind, name"""
"""What the database holds; triggers go with their tables."""


class RemoteMariaDB(NotStarted, MariaDBEndpoint):
    """A database on a server that runs already."""

    def __init__(self, url: Secret) -> None:
        """Ask when its server was started."""
        super().__init__(url, url)
        self._since_s = self._read_start()

    def _read_start(self) -> float:
        """Unix time of the server's start, by its own clock, to a second or two."""
        with self._open_session() as session:
            [(now_s,)] = session.run("SELECT UNIX_TIMESTAMP()")
            return float(now_s) - float(session.read_status()["uptime"])

    def check(self, demand: Demand) -> None:
        """Version, rights, room for users, and whether it is empty; nothing is set of it."""
        with self._open_session() as session:
            if problem := _find_unfit(session) or _find_full(session, demand.sessions):
                raise PreconditionError(problem[0], where=self.place, remedy=problem[1])
            held = _list_held(session)
        if held and self.mark() is None:
            raise make_held_error(held[0], self.place)

    def mark(self) -> Mark | None:
        """Read the table of the mark."""
        with self._open_session() as session:
            if not session.run(f"SHOW TABLES LIKE '{MARK}'"):
                return None
            rows = session.run(f"SELECT run_id, owner, candidate FROM {MARK}")
        return Mark(rows[0][0], json.loads(rows[0][1]), rows[0][2]) if rows else None

    def claim(self, mark: Mark) -> None:
        """Mark it; what an older mark stood for goes first."""
        self.check(Demand())
        if self.mark() is not None:
            self.empty()
        with self._open_session() as session:
            session.run(
                f"CREATE TABLE IF NOT EXISTS {MARK} (one TINYINT PRIMARY KEY, run_id TEXT,"
                " owner TEXT, candidate TEXT) ENGINE = InnoDB CHARACTER SET utf8mb4"
            )
            session.run(
                f"REPLACE INTO {MARK} VALUES (1, %s, %s, %s)",
                mark.run_id, json.dumps(dict(mark.owner)), mark.candidate,
            )  # fmt: skip

    def empty(self) -> None:
        """Drop tables and routines; anything else is refused."""
        with self._open_session() as session:
            for kind, name in _list_held(session):
                if kind in ("table", "procedure", "function"):
                    session.run(f"DROP {kind} {quote_name(name)}")
            left = _list_held(session)
        if left:
            raise make_left_error(left[0], self.place)

    def checkpoint(self) -> None:
        """Write all dirty pages now."""
        with self._open_session() as session:
            write_back(session)

    def finish_loading(self, log_bytes: int) -> None:
        """Analyse, purge and write all. Its log is as a long-running server has it already."""
        with self._open_session() as session:
            finish_loading(session)

    def keep(self, name: str) -> None:
        """No server of this engine keeps a copy inside."""
        raise NotImplementedError

    def restore(self, name: str) -> None:
        """No server of this engine keeps a copy inside."""
        raise NotImplementedError

    def give_back(self, run_id: str) -> None:
        """Remove what the run made, and its mark."""
        mark = self.mark()
        if mark is not None and mark.run_id == run_id:
            self.empty()
            with self._open_session() as session:
                session.run(f"DROP TABLE {MARK}")

    def size_bytes(self) -> int:
        """Of this database alone, as the server estimates it."""
        with self._open_session() as session:
            [(size,)] = session.run(
                "SELECT COALESCE(SUM(data_length + index_length), 0)"
                " FROM information_schema.tables WHERE table_schema = DATABASE()"
            )
        return int(size)

    def round_trip_s(self) -> float:
        """Ask what needs no work: one message there, one answer back."""
        with self._open_session() as session:
            return measure_round_trip_s(lambda: session.run("DO 1"))

    def describe_server(self) -> str:
        """Describe it as the session of now is."""
        with self._open_session() as session:
            secret = "" if session.is_encrypted else "not "
            product = "MariaDB" if is_mariadb(session.version) else "MySQL"
            version = ".".join(map(str, parse_version(session.version)))
            return f"{product} {version}, {secret}encrypted"

    def ended_by(self) -> str | None:
        """Whether it was started anew, or does not answer."""
        return explain_end(lambda: self._read_start() - self._since_s < 3)

    def _open_session(self) -> ControlSession:
        return connect(parse_url(self.control), timeout_s=ANSWER_PATIENCE_S)


def _list_held(session: ControlSession) -> list[tuple[str, str]]:
    return [(str(kind), str(name)) for kind, name in session.run(HELD) if name != MARK]


def _find_unfit(session: ControlSession) -> tuple[str, str] | None:
    version = parse_version(session.version)
    oldest = OLDEST if is_mariadb(session.version) else OLDEST_MYSQL
    if version < oldest:
        has, least = (".".join(map(str, numbers)) for numbers in (version, oldest))
        return f"the server has version {has}, older than {least}", f"use {least} or a later one"
    variables = session.read_variables()
    if "ON" in (variables.get("read_only"), variables.get("innodb_read_only")):
        return "the server is read-only, as a replica is", "name the primary"
    if variables.get("local_infile") != "ON":
        return "the server takes no LOAD DATA LOCAL", "SET GLOBAL local_infile = ON"
    return _find_lacking_right(session)


def _find_lacking_right(session: ControlSession) -> tuple[str, str] | None:
    [(account,)] = session.run("SELECT CURRENT_USER()")
    user, _, host = str(account).rpartition("@")
    grantee = f"'{user}'@'{host}'"
    lacking = NEEDED - {str(right) for (right,) in session.run(RIGHTS, grantee, grantee)}
    if lacking and not _is_granted_otherwise(session):
        problem = f"the user lacks {', '.join(sorted(lacking))} on the database"
        return problem, "GRANT ALL ON the database TO the user"
    try:
        session.run("SET GLOBAL innodb_max_dirty_pages_pct = @@GLOBAL.innodb_max_dirty_pages_pct")
    except StithyError:
        remedy = "GRANT SUPER ON *.* TO the user (MySQL: SYSTEM_VARIABLES_ADMIN)"
        return "the user may not make checkpoints, for which a setting is changed", remedy
    try:
        session.run("SHOW ENGINE INNODB STATUS")
    except StithyError:
        return "the user may not see the server's activity", "GRANT PROCESS ON *.* TO the user"
    return None


def _is_granted_otherwise(session: ControlSession) -> bool:
    """Whether a role, or all users, may do what these tables do not say."""
    [(role, database)] = session.run("SELECT CURRENT_ROLE(), DATABASE()")
    if role not in (None, "NONE"):
        return True
    try:
        grants = [str(row[0]) for row in session.run("SHOW GRANTS FOR PUBLIC")]
    except StithyError:  # of MySQL, and of older versions
        return False
    return any(f"`{database}`" in grant for grant in grants)


def _find_full(session: ControlSession, sessions: int) -> tuple[str, str] | None:
    variables, status = session.read_variables(), session.read_status()
    statements = int(variables["max_prepared_stmt_count"]) - int(status["prepared_stmt_count"])
    if statements < STATEMENTS_EACH * sessions:
        problem = f"the server can prepare {max(0, statements)} more statements, and {sessions}"
        remedy = "raise max_prepared_stmt_count"
        return f"{problem} users need {STATEMENTS_EACH} each or more", remedy
    limits = [int(variables[name]) for name in ("max_connections", "max_user_connections")]
    used = int(status["threads_connected"]) - 1
    room = min(limit for limit in limits if limit > 0) - used
    return explain_full(room, sessions, "the user")
