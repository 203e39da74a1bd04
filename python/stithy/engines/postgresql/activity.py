"""What a PostgreSQL server does, second by second: rates, log, checkpoints, waits of sessions.

One query a second goes to the maintenance database, so that no counter includes it. Backends
publish their counts about once per second: rates are correct over seconds, not within one.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from stithy.clock import Clock
from stithy.collectors.collector import Rates, Sample
from stithy.engines.postgresql.connection import MAINTENANCE_DATABASE, connect, quote_text
from stithy.engines.postgresql.declaration import TYPES
from stithy.engines.postgresql.url import parse_url
from stithy.engines.served import make_rate
from stithy.secrets import Secret

_DATABASE = """'database', (SELECT json_build_object(
  'commits', xact_commit, 'rollbacks', xact_rollback, 'blocks_read', blks_read,
  'blocks_hit', blks_hit, 'temp_bytes', temp_bytes, 'deadlocks', deadlocks)
  FROM pg_stat_database WHERE datname = {database})"""

_SERVER = """'wal_bytes', pg_current_wal_insert_lsn() - '0/0',
 'last_checkpoint_at_s',
   (SELECT extract(epoch FROM checkpoint_time) FROM pg_control_checkpoint()),
 'log_files_to_archive', CASE WHEN current_setting('archive_mode') <> 'off' THEN
   (SELECT count(*) FROM pg_ls_archive_statusdir() WHERE right(name, 6) = '.ready') END"""

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
        self.version = self._connection.version
        self._ask: Callable[[], list[list[Any]]] = self._connection.prepare(
            make_activity_query(self.version, target.database)
        )

    def read(self) -> dict[str, Any]:
        """The answer, by group; InfrastructureError where the server is gone."""
        answer: dict[str, Any] = json.loads(self._ask()[0][0])
        return answer

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


def make_activity_query(version: int, database: str) -> str:
    """The query for a server version such as 150013."""
    counters = _DATABASE.format(database=quote_text(database))
    parts = [counters, _SERVER, _read_checkpoints(version), _ACTIVITY]
    if version >= 140000:
        parts.append(_WAL.format(more=_WAL_WRITTEN if version < 180000 else _WAL_WRITTEN_18))
    if version >= 160000:
        parts.append(_IO)
    return f"SELECT json_build_object({', '.join(parts)})::text"


def choose_checkpoint_view(version: int) -> str:
    """The view that counts checkpoints: of its own since PostgreSQL 17."""
    return "pg_stat_checkpointer" if version >= 170000 else "pg_stat_bgwriter"


def checkpoint_columns(version: int) -> str:
    """Its columns of timed and of requested checkpoints."""
    return "num_timed, num_requested" if version >= 170000 else "checkpoints_timed, checkpoints_req"


def _read_checkpoints(version: int) -> str:
    timed, requested = checkpoint_columns(version).split(", ")
    written = "buffers_written" if version >= 170000 else "buffers_checkpoint"
    counts = f"'timed', {timed}, 'requested', {requested}, 'buffers', {written}"
    view = choose_checkpoint_view(version)
    own = f"'checkpoints', (SELECT json_build_object({counts}) FROM {view})"
    backend = ", 'backend', buffers_backend" if version < 170000 else ""
    cleaner = f"(SELECT json_build_object('cleaner', buffers_clean{backend}) FROM pg_stat_bgwriter)"
    return f"{own}, 'writers', {cleaner}"


# Where each rate's counter is in the answer, by group and name.
_RATES = {
    "commits_per_s": ("database", "commits"),
    "rollbacks_per_s": ("database", "rollbacks"),
    "blocks_read_per_s": ("database", "blocks_read"),
    "blocks_hit_per_s": ("database", "blocks_hit"),
    "temp_bytes_per_s": ("database", "temp_bytes"),
    "deadlocks_per_s": ("database", "deadlocks"),
    "log_bytes_per_s": ("wal_bytes", ""),
    "log_records_per_s": ("wal", "records"),
    "log_full_pages_per_s": ("wal", "full_pages"),
    "log_buffers_full_per_s": ("wal", "buffers_full"),
    "log_writes_per_s": ("wal", "writes"),
    "log_syncs_per_s": ("wal", "syncs"),
    "checkpoints_timed_per_s": ("checkpoints", "timed"),
    "checkpoints_requested_per_s": ("checkpoints", "requested"),
    "checkpoint_buffers_per_s": ("checkpoints", "buffers"),
    "cleaner_buffers_per_s": ("writers", "cleaner"),
    "backend_buffers_per_s": ("writers", "backend"),
}

_IO_RATES = ("reads", "writes", "extends", "fsyncs")
UNCOUNTED = "this version of PostgreSQL does not count it"


def sample_server(reader: ActivityReader, clock: Clock) -> Rates[dict[str, Any]]:
    """The collector of rates and levels between two answers."""
    return Rates(
        lambda: {"": reader.read()},
        lambda _, last, now, elapsed_s: [*_read_rates(last, now, elapsed_s), *_read_levels(now)],
        clock,
        (reader,),
    )


def _read_rates(last: dict[str, Any], now: dict[str, Any], elapsed_s: float) -> Iterator[Sample]:
    for metric, (group, name) in _RATES.items():
        before, after = (found.get(name) if isinstance(found, dict) else found
                         for found in (last.get(group), now.get(group)))  # fmt: skip
        yield make_rate(metric, before, after, elapsed_s, UNCOUNTED)
    if not now.get("io"):
        for name in _IO_RATES:
            yield Sample("", f"io_{name}_per_s", None, "PostgreSQL counts it since version 16")
        return
    for kind, counts in now["io"].items():
        for name in _IO_RATES:
            before, after = last["io"].get(kind, {}).get(name), counts[name]
            if before is not None and after is not None:
                yield Sample(kind, f"io_{name}_per_s", max(0, after - before) / elapsed_s)


def _read_levels(now: dict[str, Any]) -> Iterator[Sample]:
    yield Sample("", "last_checkpoint_at_s", now["last_checkpoint_at_s"])
    waiting = now["log_files_to_archive"]
    because = "the server archives no log" if waiting is None else None
    yield Sample("", "log_files_to_archive", waiting, because)
    yield Sample("", "maintenance_workers", now["backends"]["autovacuum"] or 0)
    waits = [(kind or "CPU", event, n) for kind, event, n in now["backends"]["waits"] or ()]
    yield Sample("", "active_sessions", sum(n for _, _, n in waits))
    by_type = dict.fromkeys(TYPES, 0)
    for kind, event, n in waits:
        by_type[kind] = by_type.get(kind, 0) + n
        yield Sample(f"{kind}:{event}" if event else kind, "waiting_sessions_by_event", n)
    for kind, n in by_type.items():
        yield Sample(kind, "waiting_sessions", n)
