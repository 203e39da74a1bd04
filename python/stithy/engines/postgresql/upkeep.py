"""What PostgreSQL does besides the work of users: be put in order before windows, begin anew, scan.

Its own restore is by a template database in the same server. A new database is a copy of the
template's files, which the server makes, with the rows in the same places, the same indexes and the
same statistics of the planner. Since version 15 the server would rather log every page of it, which
fills the log of each window otherwise than that of the last.
Source: CREATE DATABASE in PostgreSQL's manual.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from stithy.engines.postgresql.connection import (
    MAINTENANCE_DATABASE,
    Connection,
    connect,
    is_corruption,
    quote_name,
)
from stithy.engines.postgresql.url import parse_url
from stithy.engines.served import ANSWER_PATIENCE_S, scan_large
from stithy.errors import InfrastructureError
from stithy.secrets import Secret

SEGMENTS_MIN = 5
SEGMENTS = "SELECT count(*) FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$'"
FILL = "SELECT pg_logical_emit_message(true, 'stithy', 'fill')"
"""A message with a transaction: its commit writes it, and with it the segment that it lies in."""
BESIDE = 2
"""The segment that is written, and one that the shutdown's checkpoint may begin."""

OTHERS = (MAINTENANCE_DATABASE, "template1")
"""The databases that `initdb` makes beside the one under test, and autovacuum visits too."""


def freeze(sessions: Sequence[Connection]) -> None:
    """Freeze and analyse the databases of these sessions: autovacuum does what is left undone."""
    for session in sessions:
        session.run("VACUUM (FREEZE, ANALYZE)")
    # Analysing replaced rows of pg_statistic. A session reports that after a command: before
    # version 15 at most once a second, and since then whenever it is told to.
    [[waits]] = sessions[0].run("SELECT current_setting('server_version_num')::int < 150000")
    if waits:
        sessions[0].run("SELECT pg_sleep(1.1)")
    for session in sessions:
        session.run("SELECT 1" if waits else "SELECT pg_stat_force_next_flush()")
        session.run("VACUUM (FREEZE) pg_statistic")


def fill_log(session: Connection, log_bytes: int) -> None:
    """Leave log segments that a window only has to overwrite, and write all that is dirty.

    Segments are filled by switching to the next one until there are as many as wanted, whatever was
    there before; the checkpoint then turns them into future ones (`min_wal_size` keeps it from
    removing them). Edge case: with a small `max_wal_size` the server makes checkpoints meanwhile,
    which take segments away; there are then as many as these leave.
    """
    wanted = _count_segments(session, log_bytes) + BESIDE
    # Loading does without: then the server may write a message only after segments were counted.
    session.run("SET synchronous_commit = on")
    session.run(FILL)
    # Those that are there for the future are used first.
    for _ in range(2 * wanted):
        if session.run(SEGMENTS)[0][0] >= wanted:
            break
        session.run("SELECT pg_switch_wal()")
        # The next one is made when something is written to it: here, and not by the checkpoint.
        session.run(FILL)
    session.run("CHECKPOINT")


def _count_segments(session: Connection, log_bytes: int) -> int:
    """Enough for so much log, at most what `min_wal_size` keeps."""
    [[segment_bytes, kept_mb]] = session.run(
        "SELECT current_setting('wal_segment_size')::text,"
        " setting::bigint FROM pg_settings WHERE name = 'min_wal_size'"
    )
    [[size]] = session.run("SELECT pg_size_bytes(%(size)s)", size=segment_bytes)
    most = kept_mb * 2**20 // size
    return int(max(SEGMENTS_MIN, min(-(-log_bytes // size), most)))


HAS_AMCHECK = "SELECT count(*) FROM pg_available_extensions WHERE name = 'amcheck'"
CHECK_HEAPS = """
SELECT c.oid::regclass::text, h.blkno, h.msg
FROM pg_class c CROSS JOIN LATERAL verify_heapam(c.oid) h
WHERE c.relkind = 'r' AND c.relpersistence = 'p' LIMIT 10
"""
CHECK_INDEXES = """
SELECT bt_index_check(c.oid, true)
FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid JOIN pg_am a ON a.oid = c.relam
WHERE a.amname = 'btree' AND c.relkind = 'i' AND c.relpersistence = 'p'
AND i.indisready AND i.indisvalid
"""
"""Of each index, whether it is in order and has every row of its table. Pages are read on the way,
so that those with a wrong checksum are found, too. Source: PostgreSQL's documentation, amcheck."""


def find_damage(session: Connection) -> str | None:
    """Find what `amcheck` finds in the session's database; None where it is not installed.

    Raises InfrastructureError for all else that keeps it from its end.
    """
    if session.run(HAS_AMCHECK) == [[0]]:
        return None
    session.run("CREATE EXTENSION IF NOT EXISTS amcheck")
    damaged: list[str] = []
    for check in (CHECK_HEAPS, CHECK_INDEXES):
        try:
            rows = session.run(check)
        except InfrastructureError as error:
            if not is_corruption(error):
                raise
            damaged.append(error.text)
        else:
            damaged += (f"{row[0]}, page {row[1]}: {row[2]}" for row in rows if len(row) == 3)
    return "; ".join(damaged)


ALONE = ("enable_indexonlyscan", "enable_indexscan", "enable_bitmapscan")
"""What would spare reading the table itself."""

TABLES = (
    "SELECT format('%I.%I', schemaname, tablename),"
    " pg_table_size(format('%I.%I', schemaname, tablename)::regclass) FROM pg_tables"
    " WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 2 DESC, 1"
)


def empty(url: Secret) -> None:
    """Drop the database, and make it without tables."""
    target = parse_url(url)
    with connect(target, database=MAINTENANCE_DATABASE, timeout_s=ANSWER_PATIENCE_S) as session:
        name = quote_name(target.database)
        session.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        session.run(f"CREATE DATABASE {name} TEMPLATE template0")


def scans(url: Secret) -> Iterator[int]:
    """Count the rows of each large table by a sequential scan in one process."""
    with connect(parse_url(url), timeout_s=ANSWER_PATIENCE_S) as session:
        for setting in ALONE:
            session.run(f"SET {setting} = off")
        session.run("SET max_parallel_workers_per_gather = 0")
        yield from scan_large(session.run, TABLES)


WITH_STRATEGY = 150000
"""The first version that can be told how to copy; those before always copy files."""


def keep(url: Secret, name: str) -> None:
    """Turn the loaded database into a template that nobody can connect to."""
    target = parse_url(url)
    with connect(target, database=MAINTENANCE_DATABASE, timeout_s=ANSWER_PATIENCE_S) as session:
        own = quote_name(target.database)
        session.run(f"DROP DATABASE IF EXISTS {name}")
        session.run(f"ALTER DATABASE {own} RENAME TO {name}")
        session.run(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false")


def copy_back(url: Secret, name: str) -> None:
    """Make the database from the template."""
    target = parse_url(url)
    with connect(target, database=MAINTENANCE_DATABASE, timeout_s=ANSWER_PATIENCE_S) as session:
        own = quote_name(target.database)
        session.run(f"DROP DATABASE IF EXISTS {own} WITH (FORCE)")
        how = "STRATEGY file_copy" if session.version >= WITH_STRATEGY else ""
        session.run(f"CREATE DATABASE {own} TEMPLATE {name} {how}")


def restore(url: Secret, name: str, log_bytes: int) -> None:
    """Make it from the template; its catalogues are frozen, as the template's are."""
    copy_back(url, name)
    target = parse_url(url)
    # Other sessions: at its end this one has reported its new rows in the catalogue of databases.
    with ExitStack() as stack:
        sessions = [
            stack.enter_context(connect(target, database=name, timeout_s=ANSWER_PATIENCE_S))
            for name in OTHERS
        ]
        freeze(sessions)
        fill_log(sessions[0], log_bytes)
