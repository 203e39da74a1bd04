"""What PostgreSQL counts: commits, checkpoints, autovacuum, settings in force.

All but the counts of autovacuum are read from the maintenance database, because every transaction
in the database under test would add to the very counters that are compared with the hammer's.

The server's commit counter exceeds the hammer's by a few for each session's start and for what
autovacuum does; `analysis.validity` states the bound.
"""

import json
from collections.abc import Callable
from typing import Any

from stithy.clock import Clock, SystemClock
from stithy.database.engine import (
    CheckpointRule,
    CommitCounters,
    MaintenanceCounters,
    ServerFacts,
)
from stithy.database.engines.postgresql.connection import (
    MAINTENANCE_DATABASE,
    Connection,
    connect,
    parse_url,
)
from stithy.secrets import Secret

HAMMER_APPLICATION = "stithy-hammer"
SETTLE_PATIENCE_S = 5.0
SETTLE_PAUSE_S = 0.1


def read_commit_counters(url: Secret, clock: Clock | None = None) -> CommitCounters:
    """Commits and rollbacks of the database, once they stand still.

    A backend hands its counts over when it ends or has been idle for a second (PostgreSQL 15 and
    later), and before that through a collector process: so this waits, for at most
    `SETTLE_PATIENCE_S`, until the hammer's connections have ended and two readings agree.
    Errors as in `connect`.
    """
    clock = clock or SystemClock()
    target = parse_url(url)
    until_s = clock.monotonic_s() + SETTLE_PATIENCE_S
    with connect(target, database=MAINTENANCE_DATABASE) as connection:
        last = _commits(connection, target.database)
        while clock.monotonic_s() < until_s:
            clock.sleep_s(SETTLE_PAUSE_S)
            quiet = not _hammer_connections(connection, target.database)
            now = _commits(connection, target.database)
            if quiet and now == last:
                return CommitCounters(*now, settled=True)
            last = now
        return CommitCounters(*last, settled=False)


def _commits(connection: Connection, database: str) -> tuple[int, int]:
    rows = connection.run(
        "SELECT xact_commit, xact_rollback FROM pg_stat_database WHERE datname = :name",
        name=database,
    )
    commits, rollbacks = rows[0] if rows else (0, 0)
    return commits, rollbacks


def _hammer_connections(connection: Connection, database: str) -> int:
    rows = connection.run(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = :name AND application_name = :app",
        name=database,
        app=HAMMER_APPLICATION,
    )
    count: int = rows[0][0]
    return count


def read_maintenance_counters(url: Secret) -> MaintenanceCounters:
    """Checkpoints, autovacuum and the log's position. Errors as in `connect`."""
    with connect(parse_url(url)) as connection:
        version = server_version_number(connection)
        row = connection.run(
            f"SELECT {checkpoint_columns(version)},"
            " (SELECT extract(epoch FROM checkpoint_time)::float8 FROM pg_control_checkpoint()),"
            " (SELECT coalesce(sum(autovacuum_count + autoanalyze_count), 0)::int8"
            "  FROM pg_stat_all_tables),"
            " (pg_current_wal_insert_lsn() - '0/0')::int8"
            f" FROM {checkpoint_view(version)}"
        )[0]
    return MaintenanceCounters(*row)


def read_checkpoint_rule(url: Secret) -> CheckpointRule:
    """When it begins a checkpoint by itself.

    By log it is one that ends, as slowly as it may, before the log has its largest size.
    Source: CalculateCheckpointSegments in PostgreSQL's src/backend/access/transam/xlog.c.
    Errors as in `connect`.
    """
    with connect(parse_url(url), database=MAINTENANCE_DATABASE) as connection:
        rows = connection.run(
            "SELECT name, setting::float8 FROM pg_settings WHERE name = ANY(:names)",
            names=["checkpoint_timeout", "max_wal_size", "checkpoint_completion_target"],
        )
    setting: dict[str, float] = dict(rows)
    most_bytes = setting["max_wal_size"] * 2**20
    after = most_bytes / (1 + setting["checkpoint_completion_target"])
    return CheckpointRule(setting["checkpoint_timeout"], int(after))


def checkpoint_view(version: int) -> str:
    """The view that counts checkpoints: of its own since PostgreSQL 17."""
    return "pg_stat_checkpointer" if version >= 170000 else "pg_stat_bgwriter"


def checkpoint_columns(version: int) -> str:
    """Its columns of timed and of requested checkpoints."""
    return "num_timed, num_requested" if version >= 170000 else "checkpoints_timed, checkpoints_req"


def server_version_number(connection: Connection) -> int:
    """Such as 150013."""
    return int(connection.run("SHOW server_version_num")[0][0])


def read_server_facts(url: Secret) -> ServerFacts:
    """Version, and every setting that differs from the built-in default or is of `TELLING`.

    Settings that name places or could hold secrets are left out. Errors as in `connect`.
    """
    with connect(parse_url(url), database=MAINTENANCE_DATABASE) as connection:
        version: str = connection.run("SHOW server_version")[0][0]
        rows = connection.run(
            "SELECT name, current_setting(name) FROM pg_settings"
            " WHERE (setting IS DISTINCT FROM boot_val OR name = ANY(:telling))"
            " AND category NOT LIKE 'File Locations%' AND category NOT LIKE '%SSL'"
            " AND category NOT LIKE 'Connections and Authentication%'"
            " AND source <> 'client' AND name <> ALL(:private) ORDER BY name",
            telling=list(TELLING),
            private=list(PRIVATE),
        )
    return ServerFacts(version, dict(rows))


TELLING = (
    *("autovacuum", "bgwriter_delay", "checkpoint_completion_target", "checkpoint_timeout"),
    *("commit_delay", "data_checksums", "effective_io_concurrency", "fsync", "full_page_writes"),
    *("huge_pages", "io_method", "maintenance_work_mem", "max_connections", "max_wal_size"),
    *("min_wal_size", "random_page_cost", "shared_buffers", "synchronous_commit"),
    *("wal_buffers", "wal_compression", "wal_level", "wal_segment_size", "wal_sync_method"),
    *("work_mem", "max_parallel_workers", "temp_buffers", "block_size", "wal_block_size"),
)
"""Settings that a reader of a storage comparison looks for, default or not."""

PRIVATE = (
    *("primary_conninfo", "archive_command", "restore_command", "archive_cleanup_command"),
    *("recovery_end_command", "ssl_passphrase_command", "log_directory", "log_filename"),
    *("log_line_prefix", "cluster_name", "application_name", "dynamic_library_path"),
)
"""Settings that name places of a machine or could hold secrets."""


_DATABASE = """'database', (SELECT json_build_object(
  'commits', xact_commit, 'rollbacks', xact_rollback, 'blocks_read', blks_read,
  'blocks_hit', blks_hit, 'temp_bytes', temp_bytes, 'deadlocks', deadlocks)
  FROM pg_stat_database WHERE datname = {database})"""

_SERVER = """'wal_bytes', pg_current_wal_insert_lsn() - '0/0',
 'last_checkpoint_at_s',
   (SELECT extract(epoch FROM checkpoint_time) FROM pg_control_checkpoint())"""

# The query's own backend is left out; a state of null is a backend of another user, without rights.
_ACTIVITY = """'backends', (SELECT json_build_object(
  'autovacuum', sum(n) FILTER (WHERE kind = 'autovacuum worker'),
  'waits', json_agg(json_build_array(wait_event_type, wait_event, n))
    FILTER (WHERE kind = 'client backend'))
  FROM (SELECT backend_type AS kind, wait_event_type, wait_event, count(*) AS n
    FROM pg_stat_activity
    WHERE pid <> pg_backend_pid() AND (backend_type = 'autovacuum worker'
      OR backend_type = 'client backend' AND state = 'active')
    GROUP BY 1, 2, 3) AS groups)"""

_WAL = """'wal', (SELECT json_build_object(
  'records', wal_records, 'full_pages', wal_fpi, 'buffers_full', wal_buffers_full{more})
  FROM pg_stat_wal)"""

_WAL_WRITTEN = ", 'writes', wal_write, 'syncs', wal_sync"

# PostgreSQL 18 counts them with the other writes and syncs.
_WAL_WRITTEN_18 = """,
  'writes', (SELECT sum(writes) FROM pg_stat_io WHERE object = 'wal'),
  'syncs', (SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal')"""

_IO = """'io', (SELECT json_object_agg(backend_type, counts) FROM (
  SELECT backend_type, json_build_object('reads', sum(reads), 'writes', sum(writes),
    'extends', sum(extends), 'fsyncs', sum(fsyncs)) AS counts
  FROM pg_stat_io WHERE object <> 'wal' AND backend_type IN
    ('client backend', 'checkpointer', 'background writer', 'autovacuum worker')
  GROUP BY backend_type) AS kinds)"""


class ActivityReader:
    """Asks one server about one of its databases, again and again."""

    def __init__(self, url: Secret) -> None:
        """Connect to the server of `url`. Errors as in `connection.connect`."""
        target = parse_url(url)
        self._connection = connect(target, database=MAINTENANCE_DATABASE)
        self.version = server_version_number(self._connection)
        self._ask: Callable[[], list[list[Any]]] = self._connection.prepare(
            activity_query(self.version, target.database)
        )

    def read(self) -> dict[str, Any]:
        """The answer, by group; InfrastructureError where the server is gone."""
        answer: dict[str, Any] = json.loads(self._ask()[0][0])
        return answer

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


def activity_query(version: int, database: str) -> str:
    """The query for a server version such as 150013."""
    parts = [
        _DATABASE.format(database=_literal(database)),
        _SERVER,
        _checkpoints(version),
        _ACTIVITY,
    ]
    if version >= 140000:
        parts.append(_WAL.format(more=_WAL_WRITTEN if version < 180000 else _WAL_WRITTEN_18))
    if version >= 160000:
        parts.append(_IO)
    # As text: pg8000 would parse a JSON column with its own, slower, settings.
    return f"SELECT json_build_object({', '.join(parts)})::text"


def _checkpoints(version: int) -> str:
    timed, requested = checkpoint_columns(version).split(", ")
    written = "buffers_written" if version >= 170000 else "buffers_checkpoint"
    counts = f"'timed', {timed}, 'requested', {requested}, 'buffers', {written}"
    own = f"'checkpoints', (SELECT json_build_object({counts}) FROM {checkpoint_view(version)})"
    backend = ", 'backend', buffers_backend" if version < 170000 else ""
    cleaner = f"(SELECT json_build_object('cleaner', buffers_clean{backend}) FROM pg_stat_bgwriter)"
    return f"{own}, 'writers', {cleaner}"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


ANSWER_S = 10.0
"""A person waits for it; the hammer gives up as early."""


def loaded_warehouses(url: Secret) -> int | None:
    """Warehouses of the loaded workload; None where nothing was loaded. Errors as in `connect`."""
    with connect(parse_url(url), timeout_s=ANSWER_S) as connection:
        if connection.run("SELECT to_regclass('stithy_meta')")[0][0] is None:
            return None
        rows = connection.run("SELECT warehouses FROM stithy_meta")
    return int(rows[0][0]) if rows else None
