"""All that a collector wants to know of a running PostgreSQL, in one query, asked each second.

The answer is one JSON value, so that the client's work does not grow with the number of metrics.
Views differ by version; what a version does not count is absent from the answer.
"""

import json
from collections.abc import Callable
from typing import Any

from stithy.database.engines.postgresql.connection import (
    MAINTENANCE_DATABASE,
    connect,
    parse_url,
)
from stithy.database.engines.postgresql.counters import (
    checkpoint_columns,
    checkpoint_view,
    server_version_number,
)
from stithy.secrets import Secret

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
