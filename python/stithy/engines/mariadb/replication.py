"""Replication by global transaction ids: a second server on a copy follows the first by its log.

A server follows another over TCP only, so the first one listens on loopback, too. Who may not write
to a server that is read-only is anybody but Stithy's own account.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from stithy.engines.backup import BackupJob, BackupOptions, Source
from stithy.engines.mariadb import MariaDBEngine
from stithy.engines.mariadb.backups import NATIVE, PUT_LOG
from stithy.engines.mariadb.connection import ControlSession, connect, quote_text
from stithy.engines.mariadb.settings import LOG_FOLDER
from stithy.engines.mariadb.url import ADMIN, ROLE, parse_url
from stithy.errors import InfrastructureError
from stithy.hosts.runner import Command, Runner
from stithy.secrets import Secret

POSITION, FIRST_STATEMENTS = "stithy-position", "stithy-follow.sql"
"""In the files of a copy: where its log ends, and what its server does at its start."""

ACCOUNT = "stithy_follower@'127.0.0.1'"
WORKERS = "4"
"""Own: transactions of users commit together, so one after the other would fall behind."""

COPY = f"%s && cat *backup_binlog_info >{POSITION} && {{ {PUT_LOG}; }} && sync --file-system ."
FOLLOWS = """SET GLOBAL gtid_slave_pos = {position};
CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, MASTER_USER = 'stithy_follower', \
MASTER_PASSWORD = {password}, MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1, MASTER_SSL = 0;
START SLAVE;
"""
"""A statement in each line, as the server reads them."""


def make_copy(url: Secret, programs: Path, place: Path) -> Command:
    """Give `mariadb-backup` into a directory, with the log applied; its files are synced."""
    with _open(url) as session:
        [[data]] = session.run("SELECT @@datadir")
    job = BackupJob(programs, BackupOptions(), place)
    copy = NATIVE.back_up(job, Source(url, Path(data)))
    script = COPY % copy.argv[-1]
    return replace(copy, argv=["sh", "-c", script], directory=place)


def set_up_follower(url: Secret, place: Path) -> Mapping[str, str]:
    """Let its server follow from where the copy ends."""
    return _follow(url, place, quote_text(parse_position((place / POSITION).read_text())))


def set_up_source(url: Secret, place: Path) -> Mapping[str, str]:
    """Let its server follow from the end of its own binary log, whichever server began that."""
    return _follow(url, place, "@@GLOBAL.gtid_binlog_pos")


def _follow(url: Secret, place: Path, position: str) -> Mapping[str, str]:
    """Write its first statements into a file with a password that only it reads."""
    word, owner, file = parse_url(url).password, place.stat(), place / FIRST_STATEMENTS
    password = quote_text(word.reveal() if word else "")
    with _open(url) as session:
        [[port, number]] = session.run("SELECT @@port, @@server_id")
        session.run(f"CREATE USER IF NOT EXISTS {ACCOUNT} IDENTIFIED BY {password}")
        session.run(f"GRANT REPLICATION SLAVE ON *.* TO {ACCOUNT}")
    file.touch(mode=0o600)
    file.write_text(FOLLOWS.format(position=position, port=port, password=password))
    os.chown(file, owner.st_uid, owner.st_gid)
    return {
        **MariaDBEngine.replica_settings,  # once it has taken over, another one may follow it
        "relay_log": f"{LOG_FOLDER}/relay", "server_id": str(int(number) + 1),
        "slave_parallel_threads": WORKERS,
        "read_only": "ON", "init_file": str(file),
    }  # fmt: skip


def parse_position(text: str) -> str:
    r"""Read the transaction id from what a copy says of its end; empty before the first one.

    >>> parse_position("binlog.000001\t1156\t0-1-5\n")
    '0-1-5'
    """
    return text.strip("\n").split("\t")[-1] if text.count("\t") > 1 else ""


def count_lag_bytes(url: Secret, follower: Secret) -> int | None:
    """Count the log that it has not applied."""
    with _open(follower) as session:
        status = _read_status(session)
    with _open(url) as session:
        logs = session.run("SHOW BINARY LOGS")
    file, done = status.get("Relay_Master_Log_File", ""), status.get("Exec_Master_Log_Pos", "0")
    return sum_lag_bytes(logs, file, int(done))


def sum_lag_bytes(logs: Sequence[Sequence[Any]], file: str, done: int) -> int | None:
    """Sum up what lies behind a place in a file of the log; None where it has begun with none.

    >>> sum_lag_bytes([("binlog.1", 900), ("binlog.2", 500)], "binlog.1", 600)
    800
    """
    names = [str(name) for name, *_ in logs]
    if file not in names:
        return None
    return sum(int(size) for _, size, *_ in logs[names.index(file) :]) - done


def _read_status(session: ControlSession) -> dict[str, str]:
    """Read how it follows. Raises InfrastructureError where it does no longer."""
    rows = session.run("SHOW SLAVE STATUS")
    status = dict(zip(session.columns, map(str, rows[0]), strict=True)) if rows else {}
    for thread, error in (("IO", "Last_IO_Error"), ("SQL", "Last_SQL_Error")):
        if status.get(f"Slave_{thread}_Running") == "No" and status[error]:
            raise InfrastructureError(
                f"the second server follows no longer: {status[error]}",
                where="SHOW SLAVE STATUS", remedy="read its log",
            )  # fmt: skip
    return status


@contextmanager
def stop_commits(url: Secret, socket: Path) -> Iterator[str]:
    """Let nobody in, end the sessions of users, and write no more; give the transaction id of now.

    A server that is read-only has let all commits come to their end.
    """
    with _open(url) as session:
        socket.unlink()
        session.run(f"KILL CONNECTION USER {ROLE}@localhost")
        session.run("SET GLOBAL read_only = ON")
        [[end]] = session.run("SELECT @@gtid_binlog_pos")
        yield str(end)


def read_end(runner: Runner, programs: Path, data: Path) -> str:
    """Nobody asks: `Engine.tells_log_end`."""
    raise NotImplementedError


def has_all(url: Secret, end: str) -> bool:
    """Whether it has committed all transactions up to this one."""
    with _open(url) as session:
        _read_status(session)
        [[reached]] = session.run("SELECT MASTER_GTID_WAIT(%s, 0)", end)
    return bool(reached == 0)


def promote(url: Secret) -> None:
    """Follow nobody any more, and let users write."""
    with _open(url) as session:
        for statement in ("STOP SLAVE", "RESET SLAVE ALL", f"DROP USER {ACCOUNT}",
                          "SET GLOBAL read_only = OFF"):  # fmt: skip
            session.run(statement)


def _open(url: Secret) -> ControlSession:
    return connect(replace(parse_url(url), user=ADMIN), elsewhere=True)
