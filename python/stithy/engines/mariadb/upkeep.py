"""What MariaDB does besides the work of users: be put in order before windows, begin anew, scan."""

import time
from collections.abc import Iterator

from stithy.engines.mariadb.connection import ControlSession, connect, quote_name
from stithy.engines.mariadb.url import parse_url
from stithy.engines.served import ANSWER_PATIENCE_S, scan_large
from stithy.errors import InfrastructureError, UserError
from stithy.secrets import Secret

PAUSE_S = 0.1
AT_ONCE = "innodb_log_checkpoint_now"
"""A checkpoint by command; MySQL and older minor versions do not have it."""

PURGED = "innodb_max_purge_lag_wait"
DIRTY_MOST, DIRTY_FEW = "innodb_max_dirty_pages_pct", "innodb_max_dirty_pages_pct_lwm"
TOO_LONG = 1118
"""The number of the error of rows that no page can hold."""

TABLES_OF = (
    "SELECT table_name FROM information_schema.tables"
    " WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'"
)


def list_tables(session: ControlSession) -> list[str]:
    """List the tables of the session's database, as SQL has their names."""
    return [quote_name(name) for (name,) in session.run(f"{TABLES_OF} ORDER BY 1")]


def write_back(session: ControlSession) -> None:
    """Write all dirty pages, and make a checkpoint of it."""
    there = session.read_variables()
    if AT_ONCE in there:
        session.run(f"SET GLOBAL {AT_ONCE} = ON")
        return
    before = {name: there[name] for name in (DIRTY_FEW, DIRTY_MOST)}
    try:
        for name in before:
            session.run(f"SET GLOBAL {name} = 0")
        while int(session.read_status()["innodb_buffer_pool_pages_dirty"]) > 0:
            time.sleep(PAUSE_S)
    finally:
        for name in reversed(before):
            session.run(f"SET GLOBAL {name} = {float(before[name])}")


def wait_for_purge(session: ControlSession) -> None:
    """Wait until no old versions of rows are left that a window would have to remove."""
    if PURGED in session.read_variables():
        session.run(f"SET GLOBAL {PURGED} = 0")


def compress(session: ControlSession, key_block: str) -> None:
    """Build those tables anew that are not compressed yet, with pages of so many KiB.

    Raises UserError where a row may fit into none.
    """
    for (name,) in session.run(f"{TABLES_OF} AND row_format <> 'Compressed' ORDER BY 1"):
        words = f"ROW_FORMAT = COMPRESSED KEY_BLOCK_SIZE = {key_block}"
        try:
            session.run(f"ALTER TABLE {quote_name(name)} {words}")
        except InfrastructureError as error:
            if error.__cause__ is None or error.__cause__.args[0] != TOO_LONG:
                raise
            raise UserError(
                f"the table {name} cannot be compressed: {error.__cause__.args[1]}",
                where="database.settings.key_block_size", remedy="give more, such as 8",
            ) from error  # fmt: skip


def finish_loading(session: ControlSession) -> None:
    """Gather statistics of all tables, purge and write back. Raises where a table is damaged."""
    for table in list_tables(session):
        session.run(f"ANALYZE TABLE {table}")
        for _, _, kind, text in session.run(f"CHECK TABLE {table}"):
            if kind.lower() == "error" or (kind.lower() == "status" and text != "OK"):
                raise InfrastructureError(
                    f"the table {table} is damaged: {text}", where="CHECK TABLE",
                    remedy="do not trust this device before its errors are found",
                )  # fmt: skip
    wait_for_purge(session)
    write_back(session)


SIZES = (
    "SELECT table_name, data_length FROM information_schema.tables"
    " WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' ORDER BY 2 DESC, 1"
)


def empty(url: Secret) -> None:
    """Drop the database, and make it without tables."""
    target = parse_url(url)
    with connect(target, timeout_s=ANSWER_PATIENCE_S, elsewhere=True) as session:
        name = quote_name(target.database)
        session.run(f"DROP DATABASE IF EXISTS {name}")
        session.run(f"CREATE DATABASE {name} CHARACTER SET latin1 COLLATE latin1_bin")


def scans(url: Secret) -> Iterator[int]:
    """Count the rows of each large table by a scan of the table itself, and no index beside it."""
    with connect(parse_url(url), timeout_s=ANSWER_PATIENCE_S) as session:
        yield from scan_large(
            session.run, SIZES, lambda name: f"{quote_name(name)} FORCE INDEX (PRIMARY)"
        )


def find_damage(session: ControlSession) -> str:
    """Find what the check of all tables and their indexes finds in the session's database."""
    rows = session.run(f"CHECK TABLE {', '.join(list_tables(session))} EXTENDED")
    return "; ".join(f"{row[0]}: {row[3]}" for row in rows if (row[2], row[3]) != ("status", "OK"))
