"""A PostgreSQL database by URL as a candidate: whose it is, and what a run makes and removes in it.

Names in SQL are quoted by the server itself.
"""

import json

from stithy.engines.instance import Demand, Mark, NotStarted, kept_of
from stithy.engines.postgresql import upkeep
from stithy.engines.postgresql.connection import MAINTENANCE_DATABASE, Connection, quote_name
from stithy.engines.postgresql.endpoint import OWN_MARK, PostgreSQLEndpoint
from stithy.engines.postgresql.upkeep import freeze
from stithy.engines.postgresql.url import parse_url
from stithy.engines.served import (
    ANSWER_PATIENCE_S,
    explain_end,
    explain_full,
    make_held_error,
    make_left_error,
    measure_round_trip_s,
)
from stithy.errors import PreconditionError
from stithy.secrets import Secret

OLDEST = 140000
"""As of servers that Stithy starts."""

USABLE = """SELECT rolsuper, pg_has_role('pg_monitor', 'USAGE'),
 coalesce((SELECT pg_has_role(oid, 'USAGE') FROM pg_roles WHERE rolname = 'pg_checkpoint'), false),
 coalesce(has_schema_privilege(to_regnamespace('public')::oid, 'CREATE'), false),
 NOT pg_is_in_recovery(),
 rolcreatedb AND (SELECT pg_has_role(datdba, 'USAGE') FROM pg_database
  WHERE datname = current_database()) FROM pg_roles WHERE rolname = current_user"""

ROOM = """SELECT least(current_setting('max_connections')::int - CASE WHEN rolsuper THEN 0
   ELSE current_setting('superuser_reserved_connections')::int
    + coalesce(current_setting('reserved_connections', true)::int, 0) END
  - (SELECT count(*) FROM pg_stat_activity
     WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()),
  CASE WHEN NOT rolsuper THEN nullif(rolconnlimit, -1) END,
  CASE WHEN NOT rolsuper THEN nullif(datconnlimit, -1) END)
 FROM pg_roles, pg_database WHERE rolname = current_user AND datname = current_database()"""
"""The sessions that its user may open now; a limit is -1 where there is none."""

HELD = """SELECT kind, name, owner FROM (
  SELECT CASE relkind WHEN 'r' THEN 'table' WHEN 'p' THEN 'table' ELSE 'relation' END AS kind,
    relnamespace::regnamespace::text || '.' || quote_ident(relname) AS name, relowner AS owner,
    relnamespace AS place, 'pg_class'::regclass AS class, oid AS object FROM pg_class
    WHERE relkind IN ('r', 'p', 'v', 'm', 'f')
      OR relkind = 'S' AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_class.oid
        AND classid = 'pg_class'::regclass AND deptype IN ('a', 'i'))
  UNION ALL SELECT 'routine', oid::regprocedure::text, proowner, pronamespace,
    'pg_proc'::regclass, oid FROM pg_proc
  UNION ALL SELECT 'type', oid::regtype::text, typowner, typnamespace,
    'pg_type'::regclass, oid FROM pg_type WHERE typtype IN ('e', 'd', 'r')
  UNION ALL SELECT 'schema', nspname, nspowner, oid,
    'pg_namespace'::regclass, oid FROM pg_namespace WHERE nspname <> 'public'
  UNION ALL SELECT 'large object', oid::text, lomowner, 0,
    'pg_largeobject'::regclass, oid FROM pg_largeobject_metadata) AS held
 WHERE place NOT IN
    (SELECT oid FROM pg_namespace WHERE nspname ~ '^pg_' OR nspname = 'information_schema')
  AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = class AND objid = object AND deptype = 'e')
 ORDER BY kind, name"""
"""What is there besides the server's own and what extensions brought."""


class RemotePostgreSQL(NotStarted, PostgreSQLEndpoint):
    """A database on a server that runs already."""

    def __init__(self, url: Secret) -> None:
        """Ask when its server was started."""
        super().__init__(url)
        self._since = self._started()

    def _started(self) -> object:
        with self._elsewhere() as session:
            return session.run("SELECT pg_postmaster_start_time()::text")[0][0]

    def check(self, demand: Demand) -> None:
        """Version, rights, room for users, and whether it is empty; nothing is set of it."""
        with self._session() as session:
            problem = _find_unfit(session, keeps_inside=demand.keeps_inside)
            if problem is None:
                [[room]] = session.run(ROOM)
                problem = explain_full(room, demand.sessions, "the role or the database")
            if problem:
                raise PreconditionError(problem[0], where=self.place, remedy=problem[1])
            held = _list_held(session)
        if held and self.mark() is None:
            raise make_held_error(held[0], self.place)

    def mark(self) -> Mark | None:
        """By the table of the mark."""
        with self._session() as session:
            if session.run(f"SELECT to_regclass('{OWN_MARK}')")[0][0] is None:
                return None
            rows = session.run(f"SELECT run_id, owner, candidate FROM {OWN_MARK}")
        return Mark(rows[0][0], json.loads(rows[0][1]), rows[0][2]) if rows else None

    def claim(self, mark: Mark) -> None:
        """What an older mark stood for goes first."""
        self.check(Demand())
        if self.mark() is not None:
            self.empty()
        with self._session() as session:
            columns = "run_id text, owner text, candidate text"
            session.run(f"CREATE TABLE IF NOT EXISTS {OWN_MARK} ({columns})")
            session.run(
                f"WITH gone AS (DELETE FROM {OWN_MARK})"
                f" INSERT INTO {OWN_MARK} VALUES (%(run_id)s, %(owner)s, %(candidate)s)",
                run_id=mark.run_id, owner=json.dumps(dict(mark.owner)), candidate=mark.candidate,
            )  # fmt: skip

    def empty(self) -> None:
        """Tables and routines of this user, all others are refused: nothing is cascaded."""
        with self._session() as session:
            [[user]] = session.run("SELECT oid FROM pg_roles WHERE rolname = current_user")
            made = _list_held(session, user)
            for kind in ("table", "routine"):
                if names := [name for of, name in made if of == kind]:
                    session.run(f"DROP {kind} {', '.join(names)}")
            left = _list_held(session)
        if left:
            raise make_left_error(left[0], self.place)

    def checkpoint(self) -> None:
        """Write all dirty pages now."""
        with self._session() as session:
            session.run("CHECKPOINT")

    def finish_loading(self, log_bytes: int) -> None:
        """Freeze and analyse. Its log is as a long-running server has it already."""
        with self._session() as session:
            freeze([session])
            session.run("CHECKPOINT")

    def keep(self, name: str) -> None:
        """As a template database."""
        upkeep.keep(self.url, name)

    def restore(self, name: str) -> None:
        """From the template database, which has the mark in it."""
        upkeep.copy_back(self.url, name)
        self.checkpoint()

    def give_back(self, run_id: str) -> None:
        """A kill during a restore leaves templates alone: then an empty database is made."""
        database = parse_url(self.url).database
        with self._elsewhere() as session:
            pattern = f"{kept_of(run_id)}%"
            like = "SELECT quote_ident(datname) FROM pg_database WHERE datname LIKE %(pattern)s"
            kept = [name for (name,) in session.run(like, pattern=pattern)]
            there = session.run("SELECT 1 FROM pg_database WHERE datname = %(name)s", name=database)
            if kept and not there:
                session.run(f"CREATE DATABASE {quote_name(database)} TEMPLATE template0")
            for name in kept:
                session.run(f"DROP DATABASE {name}")
        mark = self.mark() if there else None
        if mark is not None and mark.run_id == run_id:
            self.empty()
            with self._session() as session:
                session.run(f"DROP TABLE {OWN_MARK}")

    def size_bytes(self) -> int:
        """Of this database alone."""
        with self._session() as session:
            return int(session.run("SELECT pg_database_size(current_database())")[0][0])

    def round_trip_s(self) -> float:
        """By the simple protocol: one message there, one answer back."""
        with self._session() as session:
            return measure_round_trip_s(lambda: session.run("SELECT 1"))

    def describe_server(self) -> str:
        """As the session of now is."""
        with self._elsewhere() as session:
            [[version]] = session.run("SHOW server_version")
            return f"version {version}, {'' if session.is_encrypted else 'not '}encrypted"

    def ended_by(self) -> str | None:
        """Whether it was started anew, or does not answer."""
        return explain_end(lambda: self._started() == self._since)

    def _session(self, database: str | None = None) -> Connection:
        return self._connect(database, timeout_s=ANSWER_PATIENCE_S)

    def _elsewhere(self) -> Connection:
        return self._session(MAINTENANCE_DATABASE)


def _list_held(session: Connection, owner: int | None = None) -> list[tuple[str, str]]:
    rows = session.run(HELD)
    return [(kind, name) for kind, name, of in rows if name != OWN_MARK and owner in (None, of)]


def _find_unfit(session: Connection, *, keeps_inside: bool) -> tuple[str, str] | None:
    if session.is_pooled:
        return "a connection pooler answers, such as pgbouncer", "name the server itself"
    if session.version < OLDEST:
        return "the server is older than version 14", "use a newer one"
    [[superuser, monitors, checkpoints, creates, writes, copies]] = session.run(USABLE)
    if not writes:
        return "the server is a standby, which takes no writes", "name the primary"
    if not monitors:
        return "the user may not read the server's statistics", "GRANT pg_monitor to the user"
    if not checkpoints and not superuser:
        remedy = "GRANT pg_checkpoint to the user (from version 15 on), or name a superuser"
        return "the user may not make checkpoints", remedy
    if not creates:
        return "the user may not create tables", "GRANT CREATE ON SCHEMA public to the user"
    if keeps_inside and not (copies or superuser):
        remedy = "give it CREATEDB and the database, or use `restore: reload`"
        return "the user may not make copies of this database", remedy
    return None
