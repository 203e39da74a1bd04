"""What a MariaDB or MySQL server does, second by second: rates, log, write-back, waits of sessions.

One SHOW GLOBAL STATUS and one look at the list of sessions a second, about a millisecond each;
of MySQL, which counts some things elsewhere, one more question.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from stithy.clock import Clock
from stithy.collectors.collector import Sample
from stithy.engines.mariadb.connection import ControlSession, is_mariadb
from stithy.engines.mariadb.declaration import TYPES, classify_state

LSN, AGE = "innodb_lsn_current", "innodb_checkpoint_age"

RATES: Mapping[str, tuple[str, ...]] = {
    "commits_per_s": ("com_commit",),
    "rollbacks_per_s": ("com_rollback",),
    "blocks_read_per_s": ("innodb_pages_read",),
    "blocks_hit_per_s": ("innodb_buffer_pool_read_requests", "-innodb_buffer_pool_reads"),
    "deadlocks_per_s": ("innodb_deadlocks",),
    "log_bytes_per_s": (LSN,),
    "log_writes_per_s": ("innodb_log_writes",),
    "log_syncs_per_s": ("innodb_os_log_fsyncs",),
    "log_waits_per_s": ("innodb_log_waits",),
    "checkpoint_buffers_per_s": (
        "innodb_buffer_pool_pages_flushed", "-innodb_buffer_pool_pages_lru_flushed",
    ),
    "pages_written_per_s": ("innodb_pages_written",),
    "doublewrite_pages_per_s": ("innodb_dblwr_pages_written",),
    "file_read_bytes_per_s": ("innodb_data_read",),
    "file_written_bytes_per_s": ("innodb_data_written",),
    "file_syncs_per_s": ("innodb_data_fsyncs",),
    "free_page_waits_per_s": ("innodb_buffer_pool_wait_free",),
    "row_lock_waits_per_s": ("innodb_row_lock_waits",),
}  # fmt: skip
"""The counters of each rate; one with a minus is taken off."""

LEVELS = {
    "checkpoint_age_bytes": AGE,
    "dirty_pages": "innodb_buffer_pool_pages_dirty",
    "old_versions": "innodb_history_list_length",
}

MISSING = {
    "temp_bytes_per_s": "the server counts temporary tables on disk, and not their bytes",
    "last_checkpoint_at_s": "InnoDB makes checkpoints all the time, and says of none when it began",
    "maintenance_workers": "the server does not say how many of its purge threads are at work",
    "log_syncs_per_s": "the server counts syncs of its log with those of data (file_syncs_per_s)",
    "checkpoint_buffers_per_s": "the server counts them with pages written to make room "
    "(pages_written_per_s)",
}
UNCOUNTED = "this version of the server does not count it"

NAMES = {"lock_deadlocks": "innodb_deadlocks", "trx_rseg_history_len": "innodb_history_list_length"}
ELSEWHERE = (
    "SELECT name, count FROM information_schema.innodb_metrics WHERE status = 'enabled'"
    f" AND name IN {tuple(NAMES)}"
)
"""What MySQL counts there, and how MariaDB's status calls it."""


def read_counters(session: ControlSession) -> dict[str, str]:
    """Read all counters by MariaDB's names, those too that are not in MySQL's status.

    Of MySQL the account needs the right PROCESS.
    """
    status = session.read_status()
    if is_mariadb(session.version):
        return status
    status |= {NAMES[str(name).lower()]: str(count) for name, count in session.run(ELSEWHERE)}
    log, flushed = (status.get(f"innodb_redo_log_{of}_lsn") for of in ("current", "checkpoint"))
    if not (log and flushed):  # before 8.0.30
        text = str(session.run("SHOW ENGINE INNODB STATUS")[0][2])
        log, flushed = (
            found and found[1]
            for found in (re.search(rf"{of} +(\d+)", text) for of in (
                "Log sequence number", "Last checkpoint at",
            ))
        )  # fmt: skip
    if log and flushed:
        status |= {LSN: log, AGE: str(int(log) - int(flushed))}
    return status


class StatusCollector:
    """Rates and levels between two answers; a collector."""

    def __init__(self, session: ControlSession, clock: Clock) -> None:
        """`session` is connected, and is closed with this."""
        self._session = session
        self._clock = clock
        self._last: Mapping[str, str] | None = None
        self._last_s = 0.0

    def sample(self) -> Sequence[Sample]:
        """All metrics."""
        now, now_s = read_counters(self._session), self._clock.monotonic_s()
        sessions = Counter(
            session.state for session in self._session.list_sessions() if session.is_active
        )
        last, self._last = self._last, now
        elapsed_s, self._last_s = now_s - self._last_s, now_s
        if last is None:
            return []
        return [*_read_rates(last, now, elapsed_s), *_read_levels(now), *_read_waits(sessions, now)]

    def close(self) -> None:
        """End the connection."""
        self._session.close()


def sum_counters(status: Mapping[str, str], counters: Sequence[str]) -> int | None:
    """Add counters up; None where the server lacks one."""
    if any(name.lstrip("-") not in status for name in counters):
        return None
    return sum(
        -int(status[name[1:]]) if name.startswith("-") else int(status[name]) for name in counters
    )


def _read_rates(
    last: Mapping[str, str], now: Mapping[str, str], elapsed_s: float
) -> Iterator[Sample]:
    for metric, counters in RATES.items():
        before, after = sum_counters(last, counters), sum_counters(now, counters)
        if before is None or after is None:
            yield Sample("", metric, None, MISSING.get(metric, UNCOUNTED))
        else:
            yield Sample("", metric, max(0, after - before) / elapsed_s)
    for metric in MISSING.keys() - RATES.keys():
        yield Sample("", metric, None, MISSING[metric])


def _read_levels(now: Mapping[str, str]) -> Iterator[Sample]:
    for metric, counter in LEVELS.items():
        value = now.get(counter)
        yield Sample("", metric, None if value is None else float(value),
                     UNCOUNTED if value is None else None)  # fmt: skip


def count_waits(sessions: Mapping[str, int], now: Mapping[str, str]) -> dict[str, int]:
    """Count sessions by what they wait for: by their states, and two counts of the whole server.

    A state does not say that a statement waits for a row or a page. As many as wait for rows now,
    and as many as there are reads of pages now, are taken from those whose state says nothing.
    """
    waits: dict[str, int] = {}
    for state, count in sessions.items():
        event = classify_state(state)
        waits[event] = waits.get(event, 0) + count
    for event, counter in (
        ("Lock:row", "innodb_row_lock_current_waits"),
        ("IO:page read", "innodb_data_pending_reads"),
    ):
        count = min(waits.get("CPU", 0), max(0, int(now.get(counter, "0"))))
        if count:
            waits["CPU"] -= count
            waits[event] = waits.get(event, 0) + count
    return {event: count for event, count in waits.items() if count}


def _read_waits(sessions: Mapping[str, int], now: Mapping[str, str]) -> Iterator[Sample]:
    waits = count_waits(sessions, now)
    by_type = dict.fromkeys(TYPES, 0)
    yield Sample("", "active_sessions", sum(waits.values()))
    for event, count in waits.items():
        by_type[event.partition(":")[0]] += count
        yield Sample(event, "waiting_sessions_by_event", count)
    for kind, count in by_type.items():
        yield Sample(kind, "waiting_sessions", count)
