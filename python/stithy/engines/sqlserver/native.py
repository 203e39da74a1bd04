"""What SQL Server does besides the work of users: be put in order, and its own restore.

The restore is by a database snapshot, of which the changed pages are copied back, or by a backup
with COPY_ONLY. Either is within the server, on its storage.
Sources: Microsoft's "Revert a database to a database snapshot" and RESTORE.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any

from stithy.engines.backup import Progress
from stithy.engines.served import ANSWER_PATIENCE_S
from stithy.engines.sqlserver.connection import MASTER, ServerError, SQLServerSession
from stithy.engines.sqlserver.endpoint import SQLServerEndpoint, list_tables
from stithy.engines.sqlserver.given import Wish, quote_name, quote_text
from stithy.errors import InfrastructureError, PreconditionError

LACKING = 33557097
"""The number by which a stand-in such as Babelfish says that it lacks a statement."""

UNREADABLE = (208, 916)
"""There is no such table, or no way to its database."""

PROGRESS_S = 1.0
PERCENT = "SELECT percent_complete FROM sys.dm_exec_requests WHERE session_id = %s"

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
    drop_database(master, name)
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


def drop_database(master: SQLServerSession, name: str) -> None:
    """Drop a database or a snapshot where it is there; sessions in a database are ended."""
    if master.run("SELECT 1 FROM sys.databases WHERE name = %s", name):
        text = quote_text(name)
        master.run(
            f"IF DATABASEPROPERTYEX({text}, 'Status') = 'ONLINE'"
            f" AND DATABASEPROPERTYEX({text}, 'Updateability') = 'READ_WRITE'"
            f" ALTER DATABASE {quote_name(name)} SET SINGLE_USER WITH ROLLBACK IMMEDIATE"
        )
        master.run(f"DROP DATABASE {quote_name(name)}")


def list_backups(database: str, name: str, wish: Wish) -> Iterator[str]:
    """List the statements that back up and verify that."""
    devices = wish.list_devices(name)
    yield make_backup(database, name, devices, wish)
    yield f"RESTORE VERIFYONLY FROM {_join_devices(devices)} WITH CHECKSUM"


def make_backup(database: str, name: str, devices: Sequence[str], wish: Wish) -> str:
    """Give the statement that backs up."""
    words = ", ".join([*wish.list_backup_words(writes=True), f"NAME = {quote_text(name)}"])
    return f"BACKUP DATABASE {quote_name(database)} TO {_join_devices(devices)} WITH {words}"


def make_restore(
    master: SQLServerSession, database: str, beside: str, devices: Sequence[str], wish: Wish
) -> str:
    """Give the statement that restores to another database, whose files lie beside the first's."""
    files = master.run(
        "SELECT name, physical_name FROM sys.master_files WHERE database_id = DB_ID(%s)"
        " AND type IN (0, 1) ORDER BY file_id", database,
    )  # fmt: skip
    moves = [f"MOVE {quote_text(file)} TO {quote_text(f'{path}.{beside}')}" for file, path in files]
    words = ", ".join([*moves, *wish.list_backup_words(writes=False)])
    return f"RESTORE DATABASE {quote_name(beside)} FROM {_join_devices(devices)} WITH {words}"


def run_watched(remote: SQLServerEndpoint, statement: str) -> Progress:
    """Run a statement of the whole server to its end; closed early, its session is ended."""
    with (
        remote.connect(MASTER, ANSWER_PATIENCE_S) as working,
        remote.connect(MASTER, ANSWER_PATIENCE_S) as watching,
        ThreadPoolExecutor(1) as pool,
    ):
        [(session,)] = working.run("SELECT @@SPID")
        future = pool.submit(working.run, statement)
        try:
            while not wait([future], PROGRESS_S).done:
                rows = watching.run(PERCENT, int(session))
                yield float(rows[0][0]) if rows else None
        finally:
            if not future.done():
                with suppress(ServerError):  # it has ended, or nobody answers any more
                    watching.run(f"KILL {int(session)}")
        future.result()


def measure_backup(master: SQLServerSession, database: str, name: str) -> int | None:
    """Read the size of the last backup of this name, compressed."""
    rows = master.run(
        "SELECT TOP 1 CONVERT(bigint, compressed_backup_size) FROM msdb.dbo.backupset"
        " WHERE database_name = %s AND name = %s ORDER BY backup_set_id DESC", database, name,
    )  # fmt: skip
    return int(rows[0][0]) if rows else None


def restore(master: SQLServerSession, database: str, name: str, wish: Wish) -> None:
    """Make it what was kept under the name; other sessions in it are ended."""
    words = f"RESTORE DATABASE {quote_name(database)} FROM"
    if wish.keeps_backups:
        options = ["REPLACE", *wish.list_backup_words(writes=False)]
        statement = f"{words} {_join_devices(wish.list_devices(name))} WITH {', '.join(options)}"
    else:
        statement = f"{words} DATABASE_SNAPSHOT = {quote_text(name)}"
    own = quote_name(database)
    master.run(f"ALTER DATABASE {own} SET SINGLE_USER WITH ROLLBACK IMMEDIATE")
    try:
        master.run(statement)
    finally:
        master.run(f"ALTER DATABASE {own} SET MULTI_USER")
    fit_files(master, database, wish)


def forget_kept(master: SQLServerSession, database: str, begin: str) -> bool:
    """Remove snapshots, restored databases and files of backups whose names begin so.

    Returns whether any was there.
    """
    databases = [
        str(name)
        for (name,) in master.run(
            "SELECT name FROM sys.databases WHERE source_database_id = DB_ID(%s)"
            " OR LEFT(name, %s) = %s", database, len(begin), begin,
        )
        if str(name).startswith(begin)
    ]  # fmt: skip
    for name in databases:
        drop_database(master, name)
    return bool(delete_backups(master, database, begin) or databases)


def delete_backups(master: SQLServerSession, database: str, begin: str) -> list[str]:
    """Delete the files of backups of the database whose names begin so; returns their paths.

    A server whose history cannot be read has made none: BACKUP writes it.
    """
    try:
        rows = ask(
            master,
            "SELECT DISTINCT f.physical_device_name FROM msdb.dbo.backupset s"
            " JOIN msdb.dbo.backupmediafamily f ON f.media_set_id = s.media_set_id"
            " WHERE s.database_name = %s AND LEFT(s.name, %s) = %s", database, len(begin), begin,
        )  # fmt: skip
    except ServerError as error:
        if error.number not in UNREADABLE:
            raise
        return []
    paths = [str(path) for (path,) in rows or ()]
    for path in paths:
        master.run(f"EXEC master.sys.xp_delete_file 0, {quote_text(path)}")
    return paths


def _join_devices(paths: Sequence[str]) -> str:
    return ", ".join(f"DISK = {quote_text(path)}" for path in paths)
