"""What leaves a PostgreSQL server as a long-running one would be, so that windows find no more."""

from collections.abc import Sequence

from stithy.engines.postgresql.connection import MAINTENANCE_DATABASE, Connection, is_corruption
from stithy.errors import InfrastructureError

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
