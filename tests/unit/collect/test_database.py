"""Rates and levels from a server's answers."""

from typing import Any

import pytest

from fakes.clock import FakeClock
from stithy.collect.collector import Sample, Scope, Unavailable
from stithy.collect.collectors.database import METRICS, WAIT_TYPES, Database, create


class Reader:
    """Gives one answer after another."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = list(answers)

    def read(self) -> dict[str, Any]:
        """The next answer."""
        return self.answers.pop(0)

    def close(self) -> None:
        """Nothing to close."""


def answer(commits: int = 0, **more: Any) -> dict[str, Any]:
    """An answer as PostgreSQL 15 gives it."""
    database = dict.fromkeys(
        ("rollbacks", "blocks_read", "blocks_hit", "temp_bytes", "deadlocks"), 0
    )
    return {
        "database": {"commits": commits, **database},
        "wal_bytes": 0,
        "wal": {"records": 0, "full_pages": 0, "buffers_full": 0, "writes": 0, "syncs": 0},
        "checkpoints": {"timed": 0, "requested": 0, "buffers": 0},
        "writers": {"cleaner": 0, "backend": 0},
        "last_checkpoint_at_s": 1000.0,
        "backends": {"autovacuum": None, "waits": None},
        **more,
    }


def sampled(before: dict[str, Any], after: dict[str, Any]) -> dict[tuple[str, str], Sample]:
    """The second sample, 2 s after the first."""
    clock = FakeClock()
    reader: Any = Reader(before, after)
    database = Database(Scope((), None, clock=clock), reader)
    assert list(database.sample()) == []
    clock.sleep_s(2)
    return {(sample.subject, sample.metric): sample for sample in database.sample()}


def test_counters_become_rates() -> None:
    """500 commits in 2 s are 250 a second."""
    found = sampled(answer(100), answer(600, wal_bytes=1 << 20))
    assert found["", "commits_per_s"].value == 250
    assert found["", "wal_bytes_per_s"].value == 1 << 19


def test_backends_are_counted_by_what_they_wait_for() -> None:
    """No wait event means at work on the CPU; types without a backend are a real 0."""
    waits = [[None, None, 2], ["IO", "WALSync", 3], ["IO", "DataFileRead", 1], ["New", "Kind", 1]]
    found = sampled(answer(), answer(backends={"autovacuum": 1, "waits": waits}))
    assert found["CPU", "waiting_backends"].value == 2
    assert found["IO", "waiting_backends"].value == 4
    assert found["Lock", "waiting_backends"].value == 0
    assert found["New", "waiting_backends"].value == 1
    assert found["IO:WALSync", "waiting_backends_by_event"].value == 3
    assert found["", "active_backends"].value == 7
    assert found["", "autovacuum_workers"].value == 1
    assert {subject for subject, name in found if name == "waiting_backends"} >= set(WAIT_TYPES)


def test_what_a_version_does_not_count_is_null_with_a_reason() -> None:
    """PostgreSQL 13 has no pg_stat_wal, 17 no count of buffers written by backends."""
    old = answer(writers={"cleaner": 0})
    del old["wal"]
    found = sampled(old, old)
    for name in ("wal_syncs_per_s", "backend_buffers_per_s", "io_reads_per_s"):
        assert found["", name].value is None
        assert found["", name].missing_because
    assert {name for _, name in found} | {"waiting_backends_by_event"} == {m.name for m in METRICS}


def test_input_and_output_is_told_by_kind_of_process() -> None:
    """Since PostgreSQL 16; what a kind of process never does is left out."""
    first = {"checkpointer": {"reads": None, "writes": 0, "extends": None, "fsyncs": 0}}
    then = {"checkpointer": {"reads": None, "writes": 10, "extends": None, "fsyncs": 2}}
    found = sampled(answer(io=first), answer(io=then))
    assert found["checkpointer", "io_writes_per_s"].value == 5
    assert ("checkpointer", "io_reads_per_s") not in found


def test_a_window_without_a_database_makes_it_unavailable() -> None:
    """There is nobody to ask."""
    with pytest.raises(Unavailable, match="no database"):
        create(Scope((), None))
