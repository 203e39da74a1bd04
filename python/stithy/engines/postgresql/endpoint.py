"""A PostgreSQL database by its URL, whoever runs its server: what it counts, and how it is set.

All but the counts of autovacuum are read from the maintenance database, because every transaction
in the database under test would add to the very counters that are compared with the hammer's.

The server's commit counter exceeds the hammer's by a few for each session's start and for what
autovacuum does; `analysis.invariants` states the bound.
"""

from collections.abc import Mapping
from dataclasses import replace

from stithy.clock import Clock
from stithy.collectors.collector import LiveCollector
from stithy.engines.instance import (
    CheckpointRule,
    CommitCounters,
    Loaded,
    MaintenanceCounters,
    ServerFacts,
)
from stithy.engines.postgresql.activity import (
    ActivityReader,
    checkpoint_columns,
    choose_checkpoint_view,
    sample_server,
)
from stithy.engines.postgresql.connection import MAINTENANCE_DATABASE, Connection, connect
from stithy.engines.postgresql.url import parse_url
from stithy.engines.served import ANSWER_S, CHECKSUMS_S, MARK, ServedEndpoint, settle_commits
from stithy.secrets import Secret

HAMMER_APPLICATION = "stithy-hammer"
COMMITS = "SELECT xact_commit, xact_rollback FROM pg_stat_database WHERE datname = %(name)s"
SESSIONS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = %(name)s AND application_name = %(app)s"
)
OWN_MARK = f"public.{MARK}"

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
    *("listen_addresses", "port"),
)
"""Settings that name places of a machine or could hold secrets."""


def open_endpoint(url: Secret, password: Secret | None = None) -> "PostgreSQLEndpoint":
    """The endpoint of a URL as a person gives it, and of the password that is given beside it.

    Raises UserError for what is no such URL; errors of `connection.connect`.
    """
    return PostgreSQLEndpoint(resolve(url, password))


def resolve(url: Secret, password: Secret | None) -> Secret:
    """The URL with all that libpq finds elsewhere, so that the hammer need not look for it."""
    target = parse_url(url, password)
    if target.password is None:
        with connect(target) as session:
            target = replace(target, password=session.password)
    return target.url


class PostgreSQLEndpoint(ServedEndpoint):
    """What can be asked of a database by URL. Errors as in `connection.connect`."""

    def commits(self, clock: Clock) -> CommitCounters:
        """Commits and rollbacks of the database, once they stand still.

        A backend hands its counts over when it ends or has been idle for a second (PostgreSQL 15
        and later), and before that through a collector process: so this waits for a while.
        """
        name = parse_url(self.url).database
        with self._connect(MAINTENANCE_DATABASE) as connection:

            def is_quiet() -> bool:
                return connection.run(SESSIONS, name=name, app=HAMMER_APPLICATION) == [[0]]

            def count() -> tuple[int, int]:
                rows = connection.run(COMMITS, name=name)
                return (rows[0][0], rows[0][1]) if rows else (0, 0)

            return settle_commits(clock, is_quiet, count)

    def maintenance(self) -> MaintenanceCounters:
        """Checkpoints, autovacuum and the log's position."""
        with self._connect() as connection:
            version = connection.version
            row = connection.run(
                f"SELECT {checkpoint_columns(version)},"
                " (SELECT extract(epoch FROM checkpoint_time)::float8"
                "  FROM pg_control_checkpoint()),"
                " (SELECT coalesce(sum(autovacuum_count + autoanalyze_count), 0)::int8"
                "  FROM pg_stat_all_tables),"
                " (pg_current_wal_insert_lsn() - '0/0')::int8"
                f" FROM {choose_checkpoint_view(version)}"
            )[0]
        return MaintenanceCounters(*row)

    def checkpoint_rule(self) -> CheckpointRule:
        """When it begins a checkpoint by itself.

        By log it is one that ends, as slowly as it may, before the log has its largest size.
        Source: CalculateCheckpointSegments in PostgreSQL's src/backend/access/transam/xlog.c.
        """
        with self._connect(MAINTENANCE_DATABASE) as connection:
            rows = connection.run(
                "SELECT name, setting::float8 FROM pg_settings WHERE name = ANY(%(names)s)",
                names=["checkpoint_timeout", "max_wal_size", "checkpoint_completion_target"],
            )
        setting: dict[str, float] = dict(rows)
        most_bytes = setting["max_wal_size"] * 2**20
        after = most_bytes / (1 + setting["checkpoint_completion_target"])
        return CheckpointRule(setting["checkpoint_timeout"], int(after))

    def facts(self) -> ServerFacts:
        """Version, and every setting that differs from the built-in default or is of `TELLING`.

        Settings that name places or could hold secrets are left out.
        """
        with self._connect(MAINTENANCE_DATABASE) as connection:
            version: str = connection.run("SHOW server_version")[0][0]
            rows = connection.run(
                "SELECT name, current_setting(name) FROM pg_settings"
                " WHERE (setting IS DISTINCT FROM boot_val OR name = ANY(%(telling)s))"
                " AND category NOT LIKE 'File Locations%%' AND category NOT LIKE '%%SSL'"
                " AND category NOT LIKE 'Connections and Authentication%%'"
                " AND source <> 'client' AND name <> ALL(%(private)s) ORDER BY name",
                telling=list(TELLING),
                private=list(PRIVATE),
            )
        return ServerFacts(version, dict(rows))

    def checksums(self) -> Mapping[str, str]:
        """By table the number of its rows and the sum of their hashes."""
        with self._connect(timeout_s=CHECKSUMS_S) as connection:
            names = [name for (name,) in connection.run(
                "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables"
                " WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
                f" AND schemaname || '.' || tablename <> '{OWN_MARK}' ORDER BY 1"
            )]  # fmt: skip
            sums = {}
            for name in names:  # quoted by the server itself
                [[count, total]] = connection.run(
                    "SELECT count(*), coalesce(sum(hashtextextended(t::text, 0)::numeric), 0)::text"
                    f" FROM {name} t"
                )
                sums[name] = f"{count} rows, {total}"
            return sums

    def activity(self, clock: Clock) -> LiveCollector:
        """Its metrics of the collector `database`; connected at once."""
        return sample_server(ActivityReader(self.url), clock)

    def loaded(self) -> Loaded | None:
        """Workload and size; None where nothing was loaded."""
        with self._connect(timeout_s=ANSWER_S) as connection:
            if connection.run("SELECT to_regclass('stithy_meta')")[0][0] is None:
                return None
            # Where a size is one number, there is no column for it.
            size = "coalesce(to_jsonb(meta) ->> 'size', units::text)"
            rows = connection.run(f"SELECT workload, {size} FROM stithy_meta AS meta")
        return Loaded(str(rows[0][0]), str(rows[0][1])) if rows else None

    def _connect(self, database: str | None = None, timeout_s: float = 60.0) -> Connection:
        return connect(parse_url(self.url), database=database, timeout_s=timeout_s)
