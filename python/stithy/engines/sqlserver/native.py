"""What SQL Server does besides the work of users: be put in order, and its own restore.

The restore is by a database snapshot, of which the changed pages are copied back, or by a backup
with COPY_ONLY. Either is within the server, on its storage.
Sources: Microsoft's "Revert a database to a database snapshot" and RESTORE.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stithy.engines.sqlserver.connection import ServerError, SQLServerSession
from stithy.engines.sqlserver.endpoint import list_tables
from stithy.engines.sqlserver.given import Wish, quote_name, quote_text
from stithy.errors import InfrastructureError, PreconditionError

LACKING = 33557097
"""The number by which a stand-in such as Babelfish says that it lacks a statement."""

CHECKS = {"physical": "NO_INFOMSGS, PHYSICAL_ONLY", "full": "NO_INFOMSGS, ALL_ERRORMSGS"}


def ask(session: SQLServerSession, sql: str, *parameters: object) -> list[Sequence[Any]] | None:
    """Run what a stand-in may lack; None where it does."""
    try:
        return session.run(sql, *parameters)
    except ServerError as error:
        if error.number != LACKING:
            raise
        return None


def finish_loading(session: SQLServerSession, database: str, wish: Wish) -> None:
    """Compress as asked, gather statistics, check as asked, and write all pages.

    Raises InfrastructureError where the database is damaged.
    """
    for table in list_tables(session):
        name = quote_name(table)
        if packed := wish.get_compression(table):
            session.run(f"ALTER INDEX ALL ON {name} REBUILD WITH (DATA_COMPRESSION = {packed})")
        ask(session, f"UPDATE STATISTICS {name} WITH FULLSCAN")
    check_database(session, database, wish)
    ask(session, "CHECKPOINT")


def check_database(session: SQLServerSession, database: str, wish: Wish) -> None:
    """Let the server read all pages, where that is asked."""
    if (words := CHECKS.get(wish.get("check_database"))) is None:
        return
    try:
        session.run(f"DBCC CHECKDB ({quote_text(database)}) WITH {words}")
    except ServerError as error:
        raise InfrastructureError(
            f"DBCC CHECKDB: {error.words}", where=error.where,
            remedy="do not trust this device before its errors are found",
        ) from error  # fmt: skip


def fit_files(master: SQLServerSession, database: str, wish: Wish) -> None:
    """Let the files have the sizes that are asked, which a revert takes from the log."""
    files = master.run(
        "SELECT name, type, CONVERT(bigint, size) * 8192 FROM sys.master_files"
        " WHERE database_id = DB_ID(%s) AND type IN (0, 1)", database,
    ) if wish.has_sizes else []  # fmt: skip
    count = sum(kind == 0 for _, kind, _ in files)
    for file, kind, size in files:
        share = 1 if kind else count
        change = wish.fit_file(database, str(file), int(size), is_log=kind == 1, files=share)
        if change is not None:
            master.run(change)


def set_server(master: SQLServerSession, values: Mapping[str, int]) -> dict[str, int]:
    """Set values of the whole server, and give those that were others before."""
    before: dict[str, int] = {}
    for name, value in values.items():
        rows = master.run(
            "SELECT CONVERT(bigint, value) FROM sys.configurations WHERE name = %s", name
        )
        if rows and int(rows[0][0]) != value:
            before[name] = int(rows[0][0])
            # An advanced option: it is shown for this, and hidden again by nobody.
            master.run("EXEC sp_configure 'show advanced options', 1; RECONFIGURE")
            master.run(f"EXEC sp_configure {quote_text(name)}, {value}; RECONFIGURE")
    return before


def keep(master: SQLServerSession, database: str, name: str, wish: Wish) -> None:
    """Keep what was loaded under a name."""
    if wish.keeps_backups:
        for statement in list_backups(database, name, wish):
            if ask(master, statement) is None:
                raise PreconditionError(
                    "the server makes no backups", where=database, remedy="give `restore: reload`"
                )
        return
    drop_snapshot(master, name)
    make_snapshot(master, database, name)


def make_snapshot(master: SQLServerSession, database: str, name: str) -> None:
    """Make a snapshot beside the data files. Raises PreconditionError where the server cannot."""
    files = master.run(
        "SELECT name, physical_name FROM sys.master_files WHERE database_id = DB_ID(%s)"
        " AND type = 0 ORDER BY file_id", database,
    )  # fmt: skip
    parts = (
        f"(NAME = {quote_name(file)}, FILENAME = {quote_text(f'{path}.{name}.ss')})"
        for file, path in files
    )
    of = f"AS SNAPSHOT OF {quote_name(database)}"
    try:
        master.run(f"CREATE DATABASE {quote_name(name)} ON {', '.join(parts)} {of}")
    except ServerError as error:
        if error.number == 0:
            raise
        raise PreconditionError(
            f"the server makes no database snapshot: {error.words}", where=error.where,
            remedy="give `settings: {native_restore: backup}`, or `restore: reload`",
        ) from error  # fmt: skip


def drop_snapshot(master: SQLServerSession, name: str) -> None:
    """Drop it where it is there."""
    if master.run("SELECT 1 FROM sys.databases WHERE name = %s", name):
        master.run(f"DROP DATABASE {quote_name(name)}")


def list_backups(database: str, name: str, wish: Wish) -> Iterator[str]:
    """List the statements that back up and verify that."""
    devices = _join_devices(name, wish)
    words = [*wish.list_backup_words(writes=True), f"NAME = {quote_text(name)}"]
    yield f"BACKUP DATABASE {quote_name(database)} TO {devices} WITH {', '.join(words)}"
    yield f"RESTORE VERIFYONLY FROM {devices} WITH CHECKSUM"


def restore(master: SQLServerSession, database: str, name: str, wish: Wish) -> None:
    """Make it what was kept under the name; other sessions in it are ended."""
    words = f"RESTORE DATABASE {quote_name(database)} FROM"
    if wish.keeps_backups:
        options = ["REPLACE", *wish.list_backup_words(writes=False)]
        statement = f"{words} {_join_devices(name, wish)} WITH {', '.join(options)}"
    else:
        statement = f"{words} DATABASE_SNAPSHOT = {quote_text(name)}"
    own = quote_name(database)
    master.run(f"ALTER DATABASE {own} SET SINGLE_USER WITH ROLLBACK IMMEDIATE")
    try:
        master.run(statement)
    finally:
        master.run(f"ALTER DATABASE {own} SET MULTI_USER")
    fit_files(master, database, wish)


def forget_kept(master: SQLServerSession, database: str, begin: str, wish: Wish) -> bool:
    """Remove the snapshots and the files of backups whose names begin so; whether any was there."""
    snapshots = [
        str(name)
        for (name,) in master.run(
            "SELECT name FROM sys.databases WHERE source_database_id = DB_ID(%s)", database
        )
        if str(name).startswith(begin)
    ]
    for name in snapshots:
        drop_snapshot(master, name)
    backups = _list_kept_files(master, database, begin) if wish.keeps_backups else []
    for path in backups:
        master.run(f"EXEC master.sys.xp_delete_file 0, {quote_text(path)}")
    return bool(snapshots or backups)


def _list_kept_files(master: SQLServerSession, database: str, begin: str) -> list[str]:
    rows = ask(
        master,
        "SELECT DISTINCT f.physical_device_name FROM msdb.dbo.backupset s"
        " JOIN msdb.dbo.backupmediafamily f ON f.media_set_id = s.media_set_id"
        " WHERE s.database_name = %s AND LEFT(s.name, %s) = %s", database, len(begin), begin,
    )  # fmt: skip
    return [str(path) for (path,) in rows or ()]


def _join_devices(name: str, wish: Wish) -> str:
    return ", ".join(f"DISK = {quote_text(path)}" for path in wish.list_devices(name))
