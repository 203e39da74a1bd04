"""What the database server does, from its own statistics: transactions, log, checkpoints, waits.

One query per second goes to the server's maintenance database, so that no counter includes it.
Backends publish their counts about once per second: rates are correct over seconds, not within one.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from stithy.collect.collector import Sample, Scope, Unavailable
from stithy.metrics import CollectedMetric
from stithy.needs import Need

if TYPE_CHECKING:
    from stithy.database.engines.postgresql.counters import ActivityReader

NAME = "database"
SAMPLES = "the database"
NEEDS: tuple[Need, ...] = ()
"""It comes with the instance."""

BLOCKS = True
"""It asks a server that may stall: it gets a thread of its own."""

UNDER_TEST = True
"""That server is what is measured: if it does not answer, no instrument has failed."""

METRICS = (
    CollectedMetric("commits_per_s", "1/s", "transactions committed in the database"),
    CollectedMetric("rollbacks_per_s", "1/s", "transactions rolled back in the database"),
    CollectedMetric("blocks_read_per_s", "1/s", "blocks requested from the operating system"),
    CollectedMetric("blocks_hit_per_s", "1/s", "blocks found in shared buffers"),
    CollectedMetric("temp_bytes_per_s", "B/s", "bytes written to temporary files"),
    CollectedMetric("deadlocks_per_s", "1/s", "deadlocks", better="lower"),
    CollectedMetric("wal_bytes_per_s", "B/s", "write-ahead log inserted"),
    CollectedMetric("wal_records_per_s", "1/s", "records of the write-ahead log"),
    CollectedMetric("wal_full_pages_per_s", "1/s", "full page images in the write-ahead log"),
    CollectedMetric(
        "wal_buffers_full_per_s", "1/s", "log written early because its buffers were full"
    ),
    CollectedMetric("wal_writes_per_s", "1/s", "writes of the write-ahead log"),
    CollectedMetric("wal_syncs_per_s", "1/s", "syncs of the write-ahead log"),
    CollectedMetric("checkpoints_timed_per_s", "1/s", "checkpoints caused by checkpoint_timeout"),
    CollectedMetric(
        "checkpoints_requested_per_s", "1/s", "checkpoints caused by log volume or by command"
    ),
    CollectedMetric("checkpoint_buffers_per_s", "1/s", "buffers written by checkpoints"),
    CollectedMetric("cleaner_buffers_per_s", "1/s", "buffers written by the background writer"),
    CollectedMetric("backend_buffers_per_s", "1/s", "buffers written by backends"),
    CollectedMetric(
        "last_checkpoint_at_s",
        "s",
        "Unix time at which the last complete checkpoint began",
        compared=False,
    ),
    CollectedMetric("active_backends", "", "active connections of users, waiting ones included"),
    CollectedMetric(
        "waiting_backends",
        "",
        "active connections by wait type; `CPU` if they do not wait",
        of_several="sum",
    ),
    CollectedMetric(
        "waiting_backends_by_event",
        "",
        "active connections by wait event; only events that occur",
        of_several="sum",
    ),
    CollectedMetric("autovacuum_workers", "", "active autovacuum workers"),
    CollectedMetric(
        "io_reads_per_s", "1/s", "reads of data files by kind of process", of_several="sum"
    ),
    CollectedMetric(
        "io_writes_per_s", "1/s", "writes of data files by kind of process", of_several="sum"
    ),
    CollectedMetric(
        "io_extends_per_s", "1/s", "extensions of data files by kind of process", of_several="sum"
    ),
    CollectedMetric(
        "io_fsyncs_per_s", "1/s", "syncs of data files by kind of process", of_several="sum"
    ),
)

# Where each rate's counter is in the answer, and since or until when PostgreSQL has it.
_RATES = {
    "commits_per_s": ("database", "commits"),
    "rollbacks_per_s": ("database", "rollbacks"),
    "blocks_read_per_s": ("database", "blocks_read"),
    "blocks_hit_per_s": ("database", "blocks_hit"),
    "temp_bytes_per_s": ("database", "temp_bytes"),
    "deadlocks_per_s": ("database", "deadlocks"),
    "wal_bytes_per_s": ("wal_bytes", ""),
    "wal_records_per_s": ("wal", "records"),
    "wal_full_pages_per_s": ("wal", "full_pages"),
    "wal_buffers_full_per_s": ("wal", "buffers_full"),
    "wal_writes_per_s": ("wal", "writes"),
    "wal_syncs_per_s": ("wal", "syncs"),
    "checkpoints_timed_per_s": ("checkpoints", "timed"),
    "checkpoints_requested_per_s": ("checkpoints", "requested"),
    "checkpoint_buffers_per_s": ("checkpoints", "buffers"),
    "cleaner_buffers_per_s": ("writers", "cleaner"),
    "backend_buffers_per_s": ("writers", "backend"),
}

_IO_RATES = ("reads", "writes", "extends", "fsyncs")

WAIT_TYPES = ("CPU", "IO", "LWLock", "Lock", "BufferPin", "IPC", "Client", "Timeout", "Extension")
"""Reported in every sample, also when nothing waits for it; others when they occur."""


class Database:
    """Rates and levels between two answers."""

    def __init__(self, scope: Scope, reader: "ActivityReader") -> None:
        """`reader` is connected."""
        self._clock = scope.clock
        self._reader = reader
        self._last: dict[str, Any] | None = None
        self._last_s = 0.0

    def sample(self) -> Sequence[Sample]:
        """All metrics."""
        now, now_s = self._reader.read(), self._clock.monotonic_s()
        last, self._last = self._last, now
        elapsed_s, self._last_s = now_s - self._last_s, now_s
        if last is None:
            return []
        return [*_rates(last, now, elapsed_s), *_io(last, now, elapsed_s), *_levels(now)]

    def close(self) -> None:
        """End the connection."""
        self._reader.close()


def _rates(last: dict[str, Any], now: dict[str, Any], elapsed_s: float) -> Iterator[Sample]:
    for metric, place in _RATES.items():
        before, after = _count(last, *place), _count(now, *place)
        if before is None or after is None:
            yield Sample("", metric, None, "this version of PostgreSQL does not count it")
        else:
            yield Sample("", metric, max(0, after - before) / elapsed_s)


def _count(answer: dict[str, Any], group: str, name: str) -> int | None:
    found = answer.get(group)
    value: int | None = found.get(name) if isinstance(found, dict) else found
    return value


def _io(last: dict[str, Any], now: dict[str, Any], elapsed_s: float) -> Iterator[Sample]:
    if not now.get("io"):
        for each in _IO_RATES:
            yield Sample("", f"io_{each}_per_s", None, "PostgreSQL counts it since version 16")
        return
    for kind, counts in now["io"].items():
        for each in _IO_RATES:
            before, after = last["io"].get(kind, {}).get(each), counts[each]
            if before is not None and after is not None:
                yield Sample(kind, f"io_{each}_per_s", max(0, after - before) / elapsed_s)


def _levels(now: dict[str, Any]) -> Iterator[Sample]:
    yield Sample("", "last_checkpoint_at_s", now["last_checkpoint_at_s"])
    yield Sample("", "autovacuum_workers", now["backends"]["autovacuum"] or 0)
    waits = [(kind or "CPU", event, n) for kind, event, n in now["backends"]["waits"] or ()]
    yield Sample("", "active_backends", sum(n for _, _, n in waits))
    by_type = dict.fromkeys(WAIT_TYPES, 0)
    for kind, event, n in waits:
        by_type[kind] = by_type.get(kind, 0) + n
        yield Sample(f"{kind}:{event}" if event else kind, "waiting_backends_by_event", n)
    for kind, n in by_type.items():
        yield Sample(kind, "waiting_backends", n)


def create(scope: Scope) -> Database:
    """The collector; Unavailable where there is no database."""
    if scope.database_url is None:
        raise Unavailable("there is no database to ask")
    # Here, for who asks what there is to sample needs no client of a database.
    from stithy.database.engines.postgresql.counters import ActivityReader

    return Database(scope, ActivityReader(scope.database_url))
