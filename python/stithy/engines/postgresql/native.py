"""What PostgreSQL does besides the work of users: begin anew, scan tables, and its own restore.

The restore is by a template database in the same server. A new database is a copy of the template's
files, which the server makes, with the rows in the same places, the same indexes and the same
statistics of the planner. Since version 15 the server would rather log every page of it, which
fills the log of each window otherwise than that of the last.
Source: CREATE DATABASE in PostgreSQL's manual.
"""

from collections.abc import Iterator
from contextlib import ExitStack

from stithy.engines.postgresql.connection import MAINTENANCE_DATABASE, connect, quote_name
from stithy.engines.postgresql.upkeep import OTHERS, fill_log, freeze
from stithy.engines.postgresql.url import parse_url
from stithy.engines.served import ANSWER_PATIENCE_S, select_large
from stithy.secrets import Secret

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
        large = select_large([(str(name), int(size)) for name, size in session.run(TABLES)])
        while large:
            for name, size in large:
                session.run(f"SELECT count(*) FROM {name}")
                yield size


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
