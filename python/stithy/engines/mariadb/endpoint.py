"""A MariaDB or MySQL database by its URL, whoever runs its server: what it counts, how it is set.

A commit counts wherever it is said, within procedures too; a statement that commits by itself does
not, so what Stithy asks adds nothing.
"""

from collections.abc import Mapping

from stithy.clock import Clock
from stithy.collectors.collector import LiveCollector
from stithy.engines.instance import (
    CheckpointRule,
    CommitCounters,
    Loaded,
    MaintenanceCounters,
    ServerFacts,
)
from stithy.engines.mariadb.activity import LSN, StatusCollector, read_counters, sum_counters
from stithy.engines.mariadb.connection import ControlSession, connect, is_mariadb, parse_version
from stithy.engines.mariadb.upkeep import list_tables
from stithy.engines.mariadb.url import parse_url
from stithy.engines.served import ANSWER_S, CHECKSUMS_S, MARK, ServedEndpoint, settle_commits
from stithy.secrets import Secret

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


def open_endpoint(url: Secret, password: Secret | None = None) -> "MariaDBEndpoint":
    """Give the endpoint of a URL as a person gives it, and of a password given beside it."""
    resolved = parse_url(url, password).url
    return MariaDBEndpoint(resolved, resolved)


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
            return settle_commits(
                clock,
                lambda: all(other.user != user for other in session.list_sessions()),
                lambda: _read_commits(session),
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


def _read_commits(session: ControlSession) -> tuple[int, int]:
    status = session.read_status()
    return int(status["com_commit"]), int(status["com_rollback"])
