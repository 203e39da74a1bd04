"""What PostgreSQL does besides the work of users: begin anew, and read large tables whole."""

from collections.abc import Iterator

from stithy.engines.postgresql.connection import (
    MAINTENANCE_DATABASE,
    Connection,
    connect,
    quote_name,
)
from stithy.engines.postgresql.url import parse_url
from stithy.secrets import Secret

LARGE_SHARE = 0.1
"""Own: a table is large that has at least this share of the largest one's bytes."""

ANSWER_PATIENCE_S = 86_400.0
"""A scan on a slow device takes as long as it takes."""

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
        large = _large(session)
        while large:
            for name, size in large:
                session.run(f"SELECT count(*) FROM {name}")
                yield size


def _large(session: Connection) -> list[tuple[str, int]]:
    tables = [(str(name), int(size)) for name, size in session.run(TABLES)]
    return [each for each in tables if each[1] and each[1] >= LARGE_SHARE * tables[0][1]]
