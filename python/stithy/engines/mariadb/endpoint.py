"""A MariaDB or MySQL database by its URL, whoever runs its server: how it is set, what it counts.

A commit counts wherever it is said, within procedures too; a statement that commits by itself does
not, so what Stithy asks adds nothing. Second by second: rates, log, write-back, waits of sessions,
with one SHOW GLOBAL STATUS and one look at the list of sessions, about a millisecond each; of
MySQL, which counts some things elsewhere, one more question.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from stithy.clock import Clock
from stithy.collectors.collector import LiveCollector, Sample
from stithy.engines.instance import (
    CheckpointRule,
    CommitCounters,
    Loaded,
    MaintenanceCounters,
    ServerFacts,
)
from stithy.engines.mariadb.connection import ControlSession, connect, is_mariadb, parse_version
from stithy.engines.mariadb.declaration import TYPES, classify_state
from stithy.engines.mariadb.upkeep import list_tables
from stithy.engines.mariadb.url import parse_url
from stithy.engines.served import (
    ANSWER_S,
    CHECKSUMS_S,
    MARK,
    ServedEndpoint,
    make_rate,
    settle_commits,
)
from stithy.secrets import Secret

LSN, AGE = "innodb_lsn_current", "innodb_checkpoint_age"

RATES: Mapping[str, tuple[str, ...]] = {
    "commits_per_s": ("com_commit",),
    "rollbacks_per_s": ("com_rollback",),
    "blocks_read_per_s": ("innodb_pages_read",),
    "blocks_hit_per_s": ("innodb_buffer_pool_read_requests", "-innodb_buffer_pool_reads"),
    "deadlocks_per_s": ("innodb_deadlocks",),
    "log_bytes_per_s": (LSN,),
    "log_writes_per_s": ("innodb_log_writes",),
    "log_syncs_per_s": ("innodb_os_log_fsyncs",),
    "log_waits_per_s": ("innodb_log_waits",),
    "checkpoint_buffers_per_s": (
        "innodb_buffer_pool_pages_flushed", "-innodb_buffer_pool_pages_lru_flushed",
    ),
    "pages_written_per_s": ("innodb_pages_written",),
    "doublewrite_pages_per_s": ("innodb_dblwr_pages_written",),
    "file_read_bytes_per_s": ("innodb_data_read",),
    "file_written_bytes_per_s": ("innodb_data_written",),
    "file_syncs_per_s": ("innodb_data_fsyncs",),
    "free_page_waits_per_s": ("innodb_buffer_pool_wait_free",),
    "row_lock_waits_per_s": ("innodb_row_lock_waits",),
}  # fmt: skip
"""The counters of each rate; one with a minus is taken off."""

LEVELS = {
    "checkpoint_age_bytes": AGE,
    "dirty_pages": "innodb_buffer_pool_pages_dirty",
    "old_versions": "innodb_history_list_length",
}

MISSING = {
    "temp_bytes_per_s": "the server counts temporary tables on disk, and not their bytes",
    "last_checkpoint_at_s": "InnoDB makes checkpoints all the time, and says of none when it began",
    "maintenance_workers": "the server does not say how many of its purge threads are at work",
    "log_syncs_per_s": "the server counts syncs of its log with those of data (file_syncs_per_s)",
    "checkpoint_buffers_per_s": "the server counts them with pages written to make room "
    "(pages_written_per_s)",
}
UNCOUNTED = "this version of the server does not count it"

NAMES = {"lock_deadlocks": "innodb_deadlocks", "trx_rseg_history_len": "innodb_history_list_length"}
ELSEWHERE = (
    "SELECT name, count FROM information_schema.innodb_metrics WHERE status = 'enabled'"
    f" AND name IN {tuple(NAMES)}"
)
"""What MySQL counts there, and how MariaDB's status calls it."""


def read_counters(session: ControlSession) -> dict[str, str]:
    """Read all counters by MariaDB's names, those too that are not in MySQL's status.

    Of MySQL the account needs the right PROCESS.
    """
    status = session.read_status()
    if is_mariadb(session.version):
        return status
    status |= {NAMES[str(name).lower()]: str(count) for name, count in session.run(ELSEWHERE)}
    log, flushed = (status.get(f"innodb_redo_log_{of}_lsn") for of in ("current", "checkpoint"))
    if not (log and flushed):  # before 8.0.30
        text = str(session.run("SHOW ENGINE INNODB STATUS")[0][2])
        log, flushed = (
            found and found[1]
            for found in (re.search(rf"{of} +(\d+)", text) for of in (
                "Log sequence number", "Last checkpoint at",
            ))
        )  # fmt: skip
    if log and flushed:
        status |= {LSN: log, AGE: str(int(log) - int(flushed))}
    return status


class StatusCollector:
    """Rates and levels between two answers; a collector."""

    def __init__(self, session: ControlSession, clock: Clock) -> None:
        """`session` is connected, and is closed with this."""
        self._session = session
        self._clock = clock
        self._last: Mapping[str, str] | None = None
        self._last_s = 0.0

    def sample(self) -> Sequence[Sample]:
        """All metrics."""
        now, now_s = read_counters(self._session), self._clock.monotonic_s()
        sessions = Counter(
            session.state for session in self._session.list_sessions() if session.is_active
        )
        last, self._last = self._last, now
        elapsed_s, self._last_s = now_s - self._last_s, now_s
        if last is None:
            return []
        return [*_read_numbers(last, now, elapsed_s), *_read_waits(sessions, now)]

    def close(self) -> None:
        """End the connection."""
        self._session.close()


def sum_counters(status: Mapping[str, str], counters: Sequence[str]) -> int | None:
    """Add counters up; None where the server lacks one."""
    if any(name.lstrip("-") not in status for name in counters):
        return None
    return sum(
        -int(status[name[1:]]) if name.startswith("-") else int(status[name]) for name in counters
    )


def _read_numbers(
    last: Mapping[str, str], now: Mapping[str, str], elapsed_s: float
) -> Iterator[Sample]:
    for metric, counters in RATES.items():
        before, after = sum_counters(last, counters), sum_counters(now, counters)
        yield make_rate(metric, before, after, elapsed_s, MISSING.get(metric, UNCOUNTED))
    for metric in MISSING.keys() - RATES.keys():
        yield Sample("", metric, None, MISSING[metric])
    for metric, counter in LEVELS.items():
        value = now.get(counter)
        yield Sample("", metric, None if value is None else float(value),
                     UNCOUNTED if value is None else None)  # fmt: skip


def count_waits(sessions: Mapping[str, int], now: Mapping[str, str]) -> dict[str, int]:
    """Count sessions by what they wait for: by their states, and two counts of the whole server.

    A state does not say that a statement waits for a row or a page. As many as wait for rows now,
    and as many as there are reads of pages now, are taken from those whose state says nothing.
    """
    waits: dict[str, int] = {}
    for state, count in sessions.items():
        event = classify_state(state)
        waits[event] = waits.get(event, 0) + count
    for event, counter in (
        ("Lock:row", "innodb_row_lock_current_waits"),
        ("IO:page read", "innodb_data_pending_reads"),
    ):
        count = min(waits.get("CPU", 0), max(0, int(now.get(counter, "0"))))
        if count:
            waits["CPU"] -= count
            waits[event] = waits.get(event, 0) + count
    return {event: count for event, count in waits.items() if count}


def _read_waits(sessions: Mapping[str, int], now: Mapping[str, str]) -> Iterator[Sample]:
    waits = count_waits(sessions, now)
    by_type = dict.fromkeys(TYPES, 0)
    yield Sample("", "active_sessions", sum(waits.values()))
    for event, count in waits.items():
        by_type[event.partition(":")[0]] += count
        yield Sample(event, "waiting_sessions_by_event", count)
    for kind, count in by_type.items():
        yield Sample(kind, "waiting_sessions", count)


TELLING = frozenset((
    "binlog_format", "character_set_server", "innodb_adaptive_hash_index",
    "innodb_buffer_pool_size", "innodb_change_buffering", "innodb_data_file_buffering",
    "innodb_data_file_write_through", "innodb_doublewrite", "innodb_file_per_table",
    "innodb_flush_log_at_trx_commit", "innodb_flush_method", "innodb_flush_neighbors",
    "innodb_io_capacity", "innodb_io_capacity_max", "innodb_lock_wait_timeout",
    "innodb_log_buffer_size", "innodb_log_file_buffering", "innodb_log_file_size",
    "innodb_log_file_write_through", "innodb_log_write_ahead_size",
    "innodb_max_dirty_pages_pct", "innodb_max_dirty_pages_pct_lwm", "innodb_page_size",
    "innodb_purge_threads", "innodb_read_io_threads", "innodb_redo_log_capacity",
    "innodb_snapshot_isolation", "innodb_undo_tablespaces", "innodb_use_native_aio",
    "innodb_write_io_threads", "log_bin", "max_connections", "open_files_limit",
    "performance_schema", "sync_binlog", "table_open_cache", "thread_handling",
    "transaction_isolation", "tx_isolation",
))  # fmt: skip
"""Settings that a reader of a storage comparison looks for, default or not."""

PRIVATE = (
    "address", "basename", "dir", "directories", "dirs", "file", "gtid", "hostname", "index",
    "init_connect", "log_error", "password", "path", "port", "report", "secure_file", "server_id",
    "socket", "ssl", "timestamp", "tls", "uid", "version", "wsrep",
)  # fmt: skip
"""Beginnings and ends of names of settings that name places of a machine or could hold secrets."""

LRU = "innodb_buffer_pool_pages_lru_flushed"
"""Pages written to make room, which no checkpoint asked for."""

GIVEN = (
    "SELECT LOWER(variable_name) FROM information_schema.system_variables"
    " WHERE global_value_origin IN ('COMMAND-LINE', 'CONFIG', 'SQL')"
)
GIVEN_MYSQL = (
    "SELECT variable_name FROM performance_schema.variables_info"
    " WHERE variable_source <> 'COMPILED'"
)


class MariaDBEndpoint(ServedEndpoint):
    """What can be asked of a database by URL. Errors as in `connection.connect`."""

    def __init__(self, url: Secret, control: Secret) -> None:
        """`control`: the URL with the account that Stithy itself uses. Nothing is connected yet."""
        super().__init__(url)
        self.control = control

    def commits(self, clock: Clock) -> CommitCounters:
        """Count commits and rollbacks of the server, once the hammer's sessions have ended."""
        user = parse_url(self.url).user
        with self._connect() as session:

            def count() -> tuple[int, int]:
                status = session.read_status()
                return int(status["com_commit"]), int(status["com_rollback"])

            return settle_commits(
                clock, lambda: all(other.user != user for other in session.list_sessions()), count
            )

    def maintenance(self) -> MaintenanceCounters:
        """Log and pages; InnoDB counts neither checkpoints nor runs of its own maintenance."""
        with self._connect() as session:
            status = read_counters(session)
        flushed = ["innodb_buffer_pool_pages_flushed"]
        if LRU in status:  # MySQL counts both as one
            flushed.append(f"-{LRU}")
        return MaintenanceCounters(
            log_position_bytes=sum_counters(status, (LSN,)),
            pages_written=sum_counters(status, flushed),
        )

    def checkpoint_rule(self) -> CheckpointRule | None:
        """When InnoDB must write pages back: at an age of the oldest; no time makes it do so."""
        with self._connect() as session:
            age = session.read_status().get("innodb_checkpoint_max_age")
        return None if age is None else CheckpointRule(None, int(age))

    def facts(self) -> ServerFacts:
        """Version, and settings that were given or are of `TELLING`; none that names places."""
        with self._connect() as session:
            version, values = session.version, session.read_variables()
            given = session.run(GIVEN if is_mariadb(version) else GIVEN_MYSQL)
        names = TELLING | {name for (name,) in given}
        shown = {
            name: value
            for name, value in sorted(values.items())
            if name in names and not name.startswith(PRIVATE) and not name.endswith(PRIVATE)
        }
        return ServerFacts(".".join(map(str, parse_version(version))), shown)

    def checksums(self) -> Mapping[str, str]:
        """By table the number of its rows and the server's checksum, whatever their order."""
        with self._connect(timeout_s=CHECKSUMS_S) as session:
            found = {}
            for table in list_tables(session):
                [(count,)] = session.run(f"SELECT count(*) FROM {table}")
                [(_, checksum)] = session.run(f"CHECKSUM TABLE {table} EXTENDED")
                found[table.strip("`")] = f"{count} rows, {checksum}"
        found.pop(MARK, None)
        return found

    def activity(self, clock: Clock) -> LiveCollector:
        """Collect its metrics of the collector `database`; connected at once."""
        return StatusCollector(self._connect(), clock)

    def loaded(self) -> Loaded | None:
        """Workload and size; None where nothing was loaded."""
        with self._connect(timeout_s=ANSWER_S) as session:
            if "`stithy_meta`" not in list_tables(session):
                return None
            # Where a size is one number, there is no column for it.
            has_size = session.run("SHOW COLUMNS FROM stithy_meta LIKE 'size'")
            column = "size" if has_size else "units"
            rows = session.run(f"SELECT workload, {column} FROM stithy_meta")
        return Loaded(str(rows[0][0]), str(rows[0][1])) if rows else None

    def _connect(self, timeout_s: float = 60.0) -> ControlSession:
        return connect(parse_url(self.control), timeout_s=timeout_s)
