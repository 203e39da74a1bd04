"""Streaming replication: a second server on a base backup follows the first, and takes over.

The log that it still needs is kept by a slot. The first server's fast shutdown waits until all of
its log was sent; where that ends is in its control file. One that goes on has an end of its log
once nobody can commit.
"""

import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from stithy.engines.postgresql.connection import MAINTENANCE_DATABASE, Connection, connect
from stithy.engines.postgresql.upkeep import FILL
from stithy.engines.postgresql.url import list_client_words, make_client_environment, parse_url
from stithy.errors import InfrastructureError
from stithy.hosts.runner import Command, Runner
from stithy.secrets import Secret

SLOT = "stithy"
PROMOTE_S, PROMOTED_S = 60, 0.005
LAG = (
    "SELECT pg_wal_lsn_diff(pg_current_wal_flush_lsn(), replay_lsn)::bigint "
    "FROM pg_stat_replication WHERE state = 'streaming'"
)
STATE = re.compile(r"^Database cluster state:\s+(.+)$", re.MULTILINE)
END = re.compile(r"^Latest checkpoint location:\s+(\S+)$", re.MULTILINE)
END_SESSIONS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = %(database)s AND backend_type = 'client backend' AND pid <> %(mine)s"
)
LOCK = """DO $$ DECLARE named text; BEGIN
SET LOCAL lock_timeout = '10s';
FOR named IN SELECT oid::regclass::text FROM pg_class
  WHERE relkind IN ('r', 'p') AND relpersistence <> 't' AND relnamespace NOT IN
  (SELECT oid FROM pg_namespace WHERE nspname IN ('pg_catalog', 'information_schema'))
LOOP EXECUTE 'LOCK TABLE ' || named || ' IN EXCLUSIVE MODE'; END LOOP; END $$"""
SHUT_DOWN = "shut down"
"""The state after a clean end alone: otherwise there is log behind the latest checkpoint."""


def make_copy(url: Secret, programs: Path, place: Path) -> Command:
    """Give `pg_basebackup` into a directory, with the log since then; its files are synced."""
    return Command(
        [
            str(programs / "pg_basebackup"), *list_client_words(url), "--checkpoint=fast",
            "--wal-method=stream", "--create-slot", f"--slot={SLOT}", f"--pgdata={place}",
        ],
        environment=make_client_environment(url),
        directory=place,
    )  # fmt: skip


def set_up_follower(url: Secret, place: Path) -> Mapping[str, str]:
    """Mark the copy as one that follows; the password is in a file that its server alone reads."""
    address, owner = parse_url(url), place.stat()
    word = address.password.reveal() if address.password else ""
    for name, text in (("standby.signal", ""), ("stithy-pass", f"*:*:*:*:{word}\n")):
        file = place / name
        file.touch(mode=0o600)
        file.write_text(text)
        os.chown(file, owner.st_uid, owner.st_gid)
    conninfo = f"host='{address.host}' user='{address.user}' passfile='{place / 'stithy-pass'}'"
    return {"primary_conninfo": conninfo, "primary_slot_name": SLOT}


def set_up_source(url: Secret, place: Path) -> Mapping[str, str]:
    """Have the log kept by a slot, from the latest checkpoint on, and follow from one's own end.

    No server follows whose own log goes on past where that of the one at the URL began.
    """
    with _open(url) as session:
        session.run("SELECT pg_create_physical_replication_slot(%(slot)s, true)", slot=SLOT)
    return set_up_follower(url, place)


def count_lag_bytes(url: Secret, follower: Secret) -> int | None:
    """Count what it has not replayed of what is durable here."""
    with _open(url) as session:
        rows = session.run(LAG)
    return None if not rows or rows[0][0] is None else int(rows[0][0])


def read_end(runner: Runner, programs: Path, data: Path) -> str:
    """Read the place behind the first byte of the shutdown's checkpoint, the last record.

    Raises InfrastructureError for a server that did not shut down: nobody knows where its log ends.
    """
    command = Command([str(programs / "pg_controldata"), str(data)], environment={"LC_ALL": "C"})
    finished = runner.run(command)
    if (match := END.search(finished.stdout)) is None:
        raise InfrastructureError(
            f"where its log ends cannot be read: {finished.stderr.strip() or finished.stdout[:80]}",
            where=str(data),
            remedy="try pg_controldata by hand",
        )
    if (state := STATE.search(finished.stdout)) is None or state[1] != SHUT_DOWN:
        raise InfrastructureError(
            f"the first server did not shut down: its files are {state[1] if state else 'unknown'}",
            where=str(data),
            remedy="read its log: it was killed, or it crashed",
        )
    high, low = match[1].split("/")
    return f"{high}/{int(low, 16) + 1:X}"


def has_all(url: Secret, end: str) -> bool:
    """Whether it has replayed all records that begin before."""
    with _open(url) as session:
        [[has]] = session.run(
            "SELECT coalesce(pg_last_wal_replay_lsn() >= %(end)s::pg_lsn, false)", end=end
        )
    return bool(has)


def promote(url: Secret) -> None:
    """Return when it writes. Raises InfrastructureError where it does not."""
    until_s = time.monotonic() + PROMOTE_S
    with _open(url) as session:
        session.run("SELECT pg_promote(false)")  # which itself would look every 100 ms only
        while session.run("SELECT pg_is_in_recovery()") == [[True]]:
            if time.monotonic() > until_s:
                raise InfrastructureError(
                    f"the second server did not take over within {PROMOTE_S} s",
                    where=parse_url(url).host,
                    remedy="read its log; a device that hangs is the usual cause",
                )
            time.sleep(PROMOTED_S)


@contextmanager
def stop_commits(url: Secret, socket: Path) -> Iterator[str]:
    """Let nobody in, end the sessions of users, and lock their tables; give the end of the log.

    Who has no locks any more can commit no change, and who waits for one never gets it.
    """
    address = parse_url(url)
    with connect(address) as holder, _open(url) as other:
        socket.unlink()
        other.run(END_SESSIONS, database=address.database, mine=holder.pid)
        holder.run("BEGIN")
        holder.run(LOCK)
        other.run("SET synchronous_commit = on")
        other.run(FILL)  # a commit: all before it is durable, and sent
        [[end]] = other.run("SELECT pg_current_wal_flush_lsn()::text")
        yield str(end)


def _open(url: Secret) -> Connection:
    return connect(parse_url(url), database=MAINTENANCE_DATABASE)
