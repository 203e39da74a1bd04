"""What a PostgreSQL server answers becomes rates, levels and waits."""

from typing import Any

from fakes.clock import FakeClock
from stithy.engines.postgresql.activity import ServerActivity

Found = dict[tuple[str, str], float | None]


class _Answers:
    """Gives one answer after another, in the place of a server."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)

    def read(self) -> Any:
        """The next one."""
        return self._answers.pop(0)


def _answer(commits: int = 0, **more: Any) -> dict[str, Any]:
    """An answer as PostgreSQL 15 gives it."""
    names = ("rollbacks", "blocks_read", "blocks_hit", "temp_bytes", "deadlocks")
    return {
        "database": {"commits": commits, **dict.fromkeys(names, 0)}, "wal_bytes": 0,
        "wal": {"records": 0, "full_pages": 0, "buffers_full": 0, "writes": 0, "syncs": 0},
        "checkpoints": {"timed": 0, "requested": 0, "buffers": 0},
        "writers": {"cleaner": 0, "backend": 0}, "last_checkpoint_at_s": 1000.0,
        "log_files_to_archive": None, "backends": {"autovacuum": None, "waits": None}, **more,
    }  # fmt: skip


def _database(before: dict[str, Any], after: dict[str, Any]) -> Found:
    """The second sample, 2 s after the first."""
    clock, reader = FakeClock(), _Answers(before, after)
    activity = ServerActivity(reader, clock)  # type: ignore[arg-type]  # a stand-in
    assert list(activity.sample()) == []
    clock.sleep_s(2)
    return {(each.subject, each.metric): each.value for each in activity.sample()}


def test_a_servers_counters_become_rates_and_its_waits_are_counted() -> None:
    """No wait event means at work on the CPU; types without a backend are a real 0."""
    waits = [[None, None, 2], ["IO", "WALSync", 3], ["IO", "DataFileRead", 1], ["New", "Kind", 1]]
    first = {"checkpointer": {"reads": None, "writes": 0, "extends": None, "fsyncs": 0}}
    then = {"checkpointer": {"reads": None, "writes": 10, "extends": None, "fsyncs": 2}}
    after = _answer(600, wal_bytes=1 << 20, backends={"autovacuum": 1, "waits": waits}, io=then)
    found = _database(_answer(100, io=first), after)
    expected = {
        ("", "commits_per_s"): 250, ("", "log_bytes_per_s"): 1 << 19, ("", "active_sessions"): 7,
        ("CPU", "waiting_sessions"): 2, ("IO", "waiting_sessions"): 4,
        ("Lock", "waiting_sessions"): 0, ("New", "waiting_sessions"): 1,
        ("IO:WALSync", "waiting_sessions_by_event"): 3, ("", "maintenance_workers"): 1,
        ("checkpointer", "io_writes_per_s"): 5,
    }  # fmt: skip
    assert {key: found[key] for key in expected} == expected
    assert ("checkpointer", "io_reads_per_s") not in found, "it never reads"
    old = _answer(writers={"cleaner": 0})
    del old["wal"]
    found = _database(old, old)
    for name in ("log_syncs_per_s", "backend_buffers_per_s", "io_reads_per_s"):
        assert found["", name] is None


def test_files_of_the_log_that_wait_for_their_archive_are_counted_where_there_is_one() -> None:
    """Without an archive the count is missing, and is no 0."""
    key = ("", "log_files_to_archive")
    assert _database(_answer(), _answer(log_files_to_archive=7))[key] == 7
    assert _database(_answer(), _answer())[key] is None
