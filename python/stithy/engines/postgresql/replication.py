"""Streaming replication: a second server on a base backup follows the first, and takes over.

The log that it still needs is kept by a slot. The first server's fast shutdown waits until all of
its log was sent; where that ends is in its control file.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from stithy.engines.postgresql.connection import MAINTENANCE_DATABASE, Connection, connect
from stithy.engines.postgresql.url import list_client_words, make_client_environment, parse_url
from stithy.errors import InfrastructureError
from stithy.hosts.runner import Command, Runner
from stithy.secrets import Secret

SLOT = "stithy"
SOCKET = ".s.PGSQL.5432"
PROMOTE_S = 60
LAG = (
    "SELECT pg_wal_lsn_diff(pg_current_wal_flush_lsn(), replay_lsn)::bigint "
    "FROM pg_stat_replication WHERE state = 'streaming'"
)
STATE = re.compile(r"^Database cluster state:\s+(.+)$", re.MULTILINE)
END = re.compile(r"^Latest checkpoint location:\s+(\S+)$", re.MULTILINE)
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


def keep_log(url: Secret) -> None:
    """Make the slot, from the latest checkpoint on."""
    with _open(url) as session:
        session.run("SELECT pg_create_physical_replication_slot(%(slot)s, true)", slot=SLOT)


def count_lag_bytes(url: Secret) -> int | None:
    """Count what it has not replayed of what is durable here."""
    with _open(url) as session:
        rows = session.run(LAG)
    return None if not rows or rows[0][0] is None else int(rows[0][0])


def read_end(runner: Runner, programs: Path, data: Path) -> str:
    """Read the place of the shutdown's checkpoint, the last record of its log.

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
    return match[1]


def has_all(url: Secret, end: str) -> bool:
    """Whether it has replayed the record there: then it is past it."""
    with _open(url) as session:
        [[past]] = session.run(
            "SELECT coalesce(pg_last_wal_replay_lsn() > %(end)s::pg_lsn, false)", end=end
        )
    return bool(past)


def promote(url: Secret) -> None:
    """Return when it writes. Raises InfrastructureError where it does not."""
    with _open(url) as session:
        [[promoted]] = session.run(f"SELECT pg_promote(true, {PROMOTE_S})")
    if not promoted:
        raise InfrastructureError(
            f"the second server did not take over within {PROMOTE_S} s",
            where=parse_url(url).host,
            remedy="read its log; a device that hangs is the usual cause",
        )


def hand_over(sockets: Path, to: Path) -> None:
    """Put a link to the other socket where the first server's was."""
    socket = sockets / SOCKET
    socket.unlink(missing_ok=True)
    socket.symlink_to(to / SOCKET)


def _open(url: Secret) -> Connection:
    return connect(parse_url(url), database=MAINTENANCE_DATABASE)
