"""What can be asked of a SQL Server database by URL: what it holds, what it counts, how it is set.

Each second its views are asked four questions. What the server lacks, or its user may not see, is
null with the reason. A table's checksum is the sum of a hash of each row's values as text: their
order does not matter.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from stithy.clock import Clock
from stithy.collectors.collector import LiveCollector, Rates, Sample
from stithy.engines.instance import CheckpointRule, Loaded, MaintenanceCounters, ServerFacts
from stithy.engines.served import ANSWER_S, CHECKSUMS_S, MARK, ServedEndpoint, make_rate
from stithy.engines.sqlserver import TYPES, WAITS, classify_wait
from stithy.engines.sqlserver.connection import ServerError, SQLServerSession, connect
from stithy.engines.sqlserver.given import parse_url, quote_name

LOG_BYTES = "Log Bytes Flushed/sec"
RATES: Mapping[str, tuple[str, ...]] = {
    "batch_requests_per_s": ("Batch Requests/sec",),
    "write_transactions_per_s": ("Write Transactions/sec",),
    "blocks_read_per_s": ("Page reads/sec",),
    "blocks_hit_per_s": ("Page lookups/sec", "-Page reads/sec"),
    "deadlocks_per_s": ("Number of Deadlocks/sec",),
    "log_bytes_per_s": (LOG_BYTES,),
    "log_writes_per_s": ("Log Flushes/sec",),
    "log_flush_waits_per_s": ("Log Flush Waits/sec",),
    "checkpoint_buffers_per_s": ("Checkpoint pages/sec", "Background writer pages/sec"),
    "page_writes_per_s": ("Page writes/sec",),
    "lazy_writes_per_s": ("Lazy writes/sec",),
    "lock_waits_per_s": ("Lock Waits/sec",),
}
"""The counters of each rate; one with a minus is taken off. All count up, whatever their names."""

PAGE_LIFE = "Page life expectancy"
MISSING = {
    "commits_per_s": "the server counts transactions that wrote (write_transactions_per_s), and "
    "those that only read when they begin",
    "rollbacks_per_s": "the server does not count them",
    "log_syncs_per_s": "each write of the log is durable when it ends (log_writes_per_s)",
    "last_checkpoint_at_s": "the server makes checkpoints all the time, and says of none when",
    "maintenance_workers": "the server does not say which of its own tasks maintain something",
}
UNCOUNTED = "this server does not count it"

_COUNTED = sorted({name.lstrip("-") for names in RATES.values() for name in names} | {PAGE_LIFE})
COUNTERS = (
    "SELECT RTRIM(counter_name), SUM(cntr_value) FROM sys.dm_os_performance_counters"
    f" WHERE counter_name IN ({', '.join(repr(name) for name in _COUNTED)})"
    " AND (instance_name IN ('', DB_NAME()) OR object_name LIKE '%:Locks%'"
    " AND instance_name = '_Total') GROUP BY counter_name"
)
FILES = (
    "SELECT f.name, s.database_id, s.num_of_reads, s.io_stall_read_ms, s.num_of_writes,"
    " s.io_stall_write_ms, s.num_of_bytes_written FROM sys.master_files f CROSS APPLY"
    " sys.dm_io_virtual_file_stats(f.database_id, f.file_id) s WHERE f.database_id IN (DB_ID(), 2)"
)
TEMP_ID = 2
_LIKE = " OR ".join(f"wait_type LIKE '{begin}%'" for begins in WAITS.values() for begin in begins)
WAITED = f"SELECT wait_type, wait_time_ms FROM sys.dm_os_wait_stats WHERE {_LIKE}"
SESSIONS = (
    "SELECT COALESCE(r.wait_type, ''), COUNT(*) FROM sys.dm_exec_requests r"
    " JOIN sys.dm_exec_sessions s ON s.session_id = r.session_id"
    " WHERE s.is_user_process = 1 AND r.session_id <> @@SPID AND r.database_id = DB_ID()"
    " GROUP BY COALESCE(r.wait_type, '')"
)

Rows = Mapping[Any, Sequence[float]]


def read_view(session: SQLServerSession, sql: str, keys: int = 1, hidden: str = "") -> Rows | str:
    """Read numbers by the first columns, so many as are `keys`; or say why there are none.

    `hidden`: why an answer has no rows, for one that always has some.
    """
    try:
        rows = session.run(sql)
    except ServerError as error:
        if error.number == 0:
            raise  # it is gone
        right = ": GRANT VIEW SERVER STATE" if error.number in (297, 300) else ""
        return f"{error.words}{right}"
    if hidden and not rows:
        return hidden
    return {
        row[0] if keys == 1 else tuple(row[:keys]): [float(value) for value in row[keys:]]
        for row in rows
    }


class View(NamedTuple):
    """A question whose answer is compared with the one before, and the metrics that `read` gives.

    `keys`, `hidden`: as in `read_view`.
    """

    sql: str
    metrics: Sequence[str]
    read: Callable[[Rows, Rows, float], Iterator[Sample]]
    keys: int = 1
    hidden: str = ""

    def list_samples(self, last: Rows | str, now: Rows | str, elapsed_s: float) -> Iterator[Sample]:
        """List what two answers tell; without either of them why it is missing."""
        if isinstance(last, str) or isinstance(now, str):
            because = str(now if isinstance(now, str) else last)
            return (Sample("", metric, None, because) for metric in self.metrics)
        return self.read(last, now, elapsed_s)


Answers = tuple[list[Rows | str], Rows | str]
"""Those of `VIEWS`, and of `SESSIONS`."""


def sample_views(session: SQLServerSession, clock: Clock) -> Rates[Answers]:
    """The collector of rates and levels between two answers; it closes the session."""

    def read() -> Mapping[str, Answers]:
        views = [read_view(session, view.sql, view.keys, view.hidden) for view in VIEWS]
        return {"": (views, read_view(session, SESSIONS))}

    def compare(_: str, last: Answers, now: Answers, elapsed_s: float) -> Iterator[Sample]:
        for view, before, after in zip(VIEWS, last[0], now[0], strict=True):
            yield from view.list_samples(before, after, elapsed_s)
        for metric, because in MISSING.items():
            yield Sample("", metric, None, because)
        yield from read_sessions(now[1])

    return Rates(read, compare, clock, (session,))


def sum_counters(counted: Rows, names: Sequence[str]) -> float | None:
    """Add counters up; None where the server lacks one."""
    if any(name.lstrip("-") not in counted for name in names):
        return None
    return sum(
        -counted[name[1:]][0] if name.startswith("-") else counted[name][0] for name in names
    )


def _read_counters(last: Rows, now: Rows, elapsed_s: float) -> Iterator[Sample]:
    for metric, names in RATES.items():
        before, after = sum_counters(last, names), sum_counters(now, names)
        yield make_rate(metric, before, after, elapsed_s, UNCOUNTED)
    life = sum_counters(now, [PAGE_LIFE])
    yield Sample("", "page_life_s", life, UNCOUNTED if life is None else None)


OF_FILES = tuple(
    f"database_file_{ending}" for ending in ("reads_per_s", "writes_per_s", "read_s", "write_s")
)


def _read_files(last: Rows, now: Rows, elapsed_s: float) -> Iterator[Sample]:
    """Read by file; one that was opened anew, as after a restore, has counts from then on."""
    reads_per_s, writes_per_s, read_s, write_s = OF_FILES
    temp = 0.0
    for (name, database), after in now.items():
        before = last.get((name, database), [0.0] * 5)
        reads, read_ms, writes, write_ms, written = (
            max(0.0, a - b) for a, b in zip(after, before, strict=True)
        )
        temp += written if database == TEMP_ID else 0.0
        subject = f"tempdb.{name}" if database == TEMP_ID else name
        yield Sample(subject, reads_per_s, reads / elapsed_s)
        yield Sample(subject, writes_per_s, writes / elapsed_s)
        for metric, count, stall_ms in ((read_s, reads, read_ms), (write_s, writes, write_ms)):
            mean_s = stall_ms / count / 1000 if count else None
            yield Sample(subject, metric, mean_s, None if count else "there was none")
    yield Sample("", "temp_bytes_per_s", temp / elapsed_s)


def _read_waited(last: Rows, now: Rows, elapsed_s: float) -> Iterator[Sample]:
    waited_ms: Counter[str] = Counter()
    for wait, (after,) in now.items():
        waited_ms[classify_wait(wait).partition(":")[0]] += int(after - last.get(wait, [0.0])[0])
    for kind in WAITS:
        yield Sample(kind, "waiting_by_class", max(0, waited_ms[kind]) / 1000 / elapsed_s)


VIEWS = (
    View(COUNTERS, (*RATES, "page_life_s"), _read_counters),
    View(
        FILES, (*OF_FILES, "temp_bytes_per_s"), _read_files, keys=2,
        hidden="the server shows no file: GRANT VIEW ANY DEFINITION",
    ),
    View(WAITED, ("waiting_by_class",), _read_waited),
)  # fmt: skip
"""What is asked each second, besides what sessions do now."""


def read_sessions(sessions: Rows | str) -> Iterator[Sample]:
    """Give the sessions at work, by what they wait for."""
    if isinstance(sessions, str):
        for metric in ("active_sessions", "waiting_sessions", "waiting_sessions_by_event"):
            yield Sample("", metric, None, sessions)
        return
    by_event: Counter[str] = Counter()
    for wait, (count,) in sessions.items():
        by_event[classify_wait(wait)] += int(count)
    yield Sample("", "active_sessions", by_event.total())
    for event, count in by_event.items():
        yield Sample(event, "waiting_sessions_by_event", count)
    for kind in TYPES:
        count = sum(n for event, n in by_event.items() if event.partition(":")[0] == kind)
        yield Sample(kind, "waiting_sessions", count)


BINARY = (
    "SELECT name FROM sys.columns WHERE object_id = OBJECT_ID(%s)"
    " AND TYPE_NAME(user_type_id) = 'varbinary'"
)
"""Columns of bytes, which may be long, and are no text."""

HASH = "CONVERT(bigint, CONVERT(binary(8), HASHBYTES('MD5', {})))"

TABLES = (
    "SELECT t.name, c.name FROM sys.tables t JOIN sys.columns c ON c.object_id = t.object_id"
    " WHERE t.is_ms_shipped = 0 ORDER BY t.name, c.column_id"
)
PRODUCT = (
    "SELECT CONVERT(nvarchar(128), SERVERPROPERTY('ProductVersion')),"
    " CONVERT(nvarchar(128), SERVERPROPERTY('Edition')), @@VERSION"
)
"""Version, edition, and both in a text with its name."""

OPTIONS = (
    "recovery_model_desc", "delayed_durability_desc", "is_read_committed_snapshot_on",
    "snapshot_isolation_state_desc", "page_verify_option_desc", "target_recovery_time_in_seconds",
    "is_auto_create_stats_on", "is_auto_update_stats_on", "is_query_store_on",
    "is_accelerated_database_recovery_on", "compatibility_level", "collation_name",
)  # fmt: skip
"""Columns of sys.databases, of which a version may lack some."""

CONFIGURED = (
    "max server memory (MB)", "max degree of parallelism", "backup compression default",
    "user connections",
)  # fmt: skip


class SQLServerEndpoint(ServedEndpoint):
    """What can be asked of a database by URL. Errors as in `connection.connect`."""

    def commits(self, clock: Clock) -> None:
        """It counts transactions that wrote, and those that began: none is a commit of a client."""

    def maintenance(self) -> MaintenanceCounters:
        """The bytes of log that were written; checkpoints are not counted."""
        with self.connect() as session:
            counted = read_view(session, COUNTERS)
        if isinstance(counted, str) or LOG_BYTES not in counted:
            return MaintenanceCounters()
        return MaintenanceCounters(log_position_bytes=int(counted[LOG_BYTES][0]))

    def checkpoint_rule(self) -> CheckpointRule | None:
        """Pages are written all the time, so that recovery would take so long and no longer."""
        return None

    def facts(self) -> ServerFacts:
        """Version and edition, and the options of database and server that matter to storage."""
        with self.connect() as session:
            [(version, edition, _)] = session.run(PRODUCT)
            there = {name for (name,) in session.run(
                "SELECT name FROM sys.all_columns WHERE object_id = OBJECT_ID('sys.databases')"
            )}  # fmt: skip
            options = [name for name in OPTIONS if name in there]
            [values] = session.run(
                f"SELECT {', '.join(options)} FROM sys.databases WHERE name = DB_NAME()"
            )
            configured = session.run(
                "SELECT name, CONVERT(bigint, value_in_use) FROM sys.configurations WHERE name IN"
                f" ({', '.join(repr(name) for name in CONFIGURED)})"
            )
        pairs = [*zip(options, values, strict=True), *configured, ("edition", edition)]
        settings = {str(name): str(value) for name, value in pairs if value is not None}
        return ServerFacts(str(version), dict(sorted(settings.items())))

    def checksums(self) -> Mapping[str, str]:
        """By table the number of its rows and a checksum of them, in whatever order they lie."""
        with self.connect(timeout_s=CHECKSUMS_S) as session:
            return {
                table: _read_checksum(session, table, columns)
                for table, columns in list_tables(session).items()
            }

    def activity(self, clock: Clock) -> LiveCollector:
        """Collect its metrics of the collector `database`; connected at once."""
        return sample_views(self.connect(), clock)

    def loaded(self) -> Loaded | None:
        """Workload and size; None where nothing was loaded."""
        with self.connect(timeout_s=ANSWER_S) as session:
            columns = list_tables(session).get("stithy_meta")
            if columns is None:
                return None
            # Where a size is one number, there is no column for it.
            column = "size" if "size" in columns else "units"
            rows = session.run(f"SELECT workload, {quote_name(column)} FROM stithy_meta")
        return Loaded(str(rows[0][0]), str(rows[0][1])) if rows else None

    def connect(self, database: str = "", timeout_s: float = 60.0) -> SQLServerSession:
        """Connect to it, or to another database of its server."""
        return connect(parse_url(self.url), database=database, timeout_s=timeout_s)


def list_tables(session: SQLServerSession) -> dict[str, list[str]]:
    """List the columns of each table that users made, without that of the mark."""
    tables: dict[str, list[str]] = {}
    for table, column in session.run(TABLES):
        tables.setdefault(str(table), []).append(str(column))
    tables.pop(MARK, None)
    return tables


def _read_checksum(session: SQLServerSession, table: str, columns: list[str]) -> str:
    # CONCAT takes several arguments, and writes a null as nothing.
    binary = {str(name) for (name,) in session.run(BINARY, table)}
    values = (
        HASH.format(quote_name(name)) if name in binary else quote_name(name) for name in columns
    )
    words = ", N'|', ".join(
        f"COALESCE(CONVERT(nvarchar(4000), {value}), NCHAR(1))" for value in values
    )
    row = HASH.format(f"CONCAT(N'', {words})")
    [(count, checksum)] = session.run(
        f"SELECT COUNT_BIG(*), COALESCE(SUM(CONVERT(decimal(38, 0), {row})), 0)"
        f" FROM {quote_name(table)}"
    )
    return f"{count} rows, {checksum}"
