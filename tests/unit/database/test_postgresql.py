"""A PostgreSQL server: its programs, settings, last words, memory, views, counters and log."""

from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest

from fakes.clock import FakeClock
from fakes.machine import FakeMachine
from stithy.engines.engine import get_engine
from stithy.engines.instance import Configuration
from stithy.engines.postgresql import OWNED_SETTINGS, server
from stithy.engines.postgresql.activity import make_activity_query, sample_server
from stithy.engines.postgresql.connection import Connection
from stithy.engines.postgresql.engine import find_installation
from stithy.engines.postgresql.server import last_words, remove_segment
from stithy.engines.postgresql.settings import FIXED, complete, parse_message, write_configuration
from stithy.engines.postgresql.upkeep import BESIDE, FILL, SEGMENTS, SEGMENTS_MIN, fill_log
from stithy.errors import InfrastructureError, PreconditionError

MIB, GIB = 2**20, 2**30


def _programs(folder: Path, version: str, names: tuple[str, ...] = ("initdb", "pg_ctl")) -> Path:
    folder.mkdir(parents=True)
    for name in ("postgres", *names):
        (folder / name).write_text(f"#!/bin/sh\necho 'postgres (PostgreSQL) {version}'\n")
        (folder / name).chmod(0o755)
    return folder


def test_the_newest_complete_version_wins_wherever_it_is(tmp_path: Path) -> None:
    """By number, not by the order of its digits; a link leads to the real programs."""
    folders = [_programs(tmp_path / each, each) for each in ("15.4", "9.6", "16.10", "16.9")]
    (tmp_path / "bin").mkdir()
    for path in folders[2].iterdir():
        (tmp_path / "bin" / path.name).symlink_to(path)
    folders = [folders[0], folders[1], tmp_path / "bin", folders[3]]
    found = find_installation(FakeMachine(), folders)
    assert (found.programs, found.version) == (tmp_path / "16.10", "16.10")
    beta = _programs(tmp_path / "beta", "19beta1")
    assert find_installation(FakeMachine(), [beta]).version == "19beta1"
    for folder, shown in (
        (_programs(tmp_path / "client", "15.4", ("pg_ctl",)), "client lacks initdb"),
        (_programs(tmp_path / "old", "11.2"), "has version 11, older than 14"),
        (tmp_path, "no PostgreSQL server programs.*apt-get install postgresql.*stithy.postgresql"),
    ):
        with pytest.raises(PreconditionError, match=shown):
            find_installation(FakeMachine(), [folder])


def test_a_study_may_choose_among_the_installed_versions(tmp_path: Path) -> None:
    """By the first number or both, or by the directory; what is not there names what is."""
    folders = [_programs(tmp_path / each, each) for each in ("15.4", "18beta1", "15.14", "16.9")]
    machine = FakeMachine()
    for asked, version in (
        (None, "18beta1"), ("15", "15.14"), ("15.4", "15.4"), ("18", "18beta1"),
        (f"{tmp_path}/16.9", "16.9"),
    ):  # fmt: skip
        found = find_installation(machine, folders, asked)
        assert found.version == version
        others = {each.version for each in found.others}
        assert version not in others
        assert len(others) == (3 if asked is None or "/" not in asked else 0)
    everything = "18beta1 in .*, 16.9 in .*, 15.14 in .*, 15.4 in "
    for asked, problem in (
        ("1", f"PostgreSQL 1 is not installed.*{everything}"), ("15.5", everything),
        (f"{tmp_path}", "no PostgreSQL server programs"),
    ):  # fmt: skip
        with pytest.raises(PreconditionError, match=problem):
            find_installation(machine, folders, asked)


def test_the_last_words_of_a_server_are_its_errors() -> None:
    """At most three; Stithy's own probes are none; never an empty message."""
    probe = "FATAL:  the database system is starting up"
    errors = ["ERROR: a", "LOG: x", "ERROR: b", "PANIC: c", "LOG: y", "FATAL: d"]
    assert last_words(errors) == "ERROR: b | PANIC: c | FATAL: d"
    assert last_words(["LOG: x", probe, "LOG: y"]) == "LOG: x | LOG: y"
    assert last_words([probe]) == "it wrote nothing"


class Libc:
    """Removes nothing of the machine's, but remembers what it was asked to."""

    removed: ClassVar[list[int]] = []

    def __init__(self, name: None) -> None: ...

    def shmctl(self, shmid: int, command: int, buffer: None) -> None:
        """Remember."""
        self.removed.append(shmid)


def test_shared_memory_is_removed_once_nobody_uses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What may be in use is not taken for removed: `clean` comes again. None: it is another's."""
    monkeypatch.setattr("ctypes.CDLL", Libc)
    monkeypatch.setattr(server, "SHM", tmp_path)
    facts = {"key": "1", "shmid": "7", "files": ""}
    for attached in ((2, 1, 0), (None,)):
        shown: Iterator[int | None] = chain(attached, repeat(None))
        monkeypatch.setattr(server, "_list_attached", lambda facts, shown=shown: next(shown))
        remove_segment(facts)
    assert Libc.removed == [7]
    monkeypatch.setattr(server, "SEGMENT_PATIENCE_S", 0.05)
    monkeypatch.setattr(server, "_list_attached", lambda facts: 2)
    (tmp_path / "PostgreSQL.7").touch()
    for used in (facts, {"files": "PostgreSQL.7"}):
        with pytest.raises(InfrastructureError, match="it is still there"):
            remove_segment(used)
    assert Libc.removed == [7]


def test_views_are_asked_where_they_are() -> None:
    """By version; a name with a quote stays a name."""
    old, middle, new = (make_activity_query(number, "it's") for number in (130000, 150000, 180000))
    assert "datname = 'it''s'" in middle
    for view, there in (
        ("pg_stat_wal", (False, True, True)), ("wal_sync", (False, True, False)),
        ("pg_stat_io", (False, False, True)), ("object = 'wal'", (False, False, True)),
        ("pg_stat_checkpointer", (False, False, True)), ("buffers_backend", (True, True, False)),
    ):  # fmt: skip
        assert tuple(view in query for query in (old, middle, new)) == there, view


def test_a_studys_settings_win_over_defaults_and_not_over_what_is_fixed() -> None:
    """In whatever case; buffers fit the memory and connections the users; quotes are doubled."""
    found = complete(Configuration({"Shared_Buffers": "64MB", "work_mem": "5MB"}, 1024 * MIB), 8)
    assert (found["shared_buffers"], found["work_mem"]) == ("64MB", "5MB")
    for memory, users, expected in (
        (1024 * MIB, 8, (f"{128 * 1024}kB", "100")), (64 * MIB, 500, (f"{16 * 1024}kB", "520")),
    ):  # fmt: skip
        found = complete(Configuration({}, memory), users)
        assert (found["shared_buffers"], found["max_connections"]) == expected
    assert set(FIXED) <= set(OWNED_SETTINGS)
    assert write_configuration({"a": "it's \\ so", "b": ""}) == "a = 'it''s \\\\ so'\nb = ''\n"
    lines = (
        '2026-01-01 00:00:00.000 GMT [7] FATAL:  invalid value for parameter "wal_level": "x"\n'
        "2026-01-01 00:00:00.000 GMT [7] HINT:  Available values: minimal, replica.\n"
    )
    shown = 'invalid value for parameter "wal_level": "x", Available values: minimal, replica'
    assert [parse_message(each) for each in (lines, "odd\n", "")] == [shown, "odd", "no message"]


def test_the_log_is_bounded_by_its_setting_and_a_fifth() -> None:
    """A bare number is megabytes, as the server has it; nonsense is the server's to refuse."""
    sizes = {
        "1GB": GIB,
        "512 MB": GIB // 2,
        "256": GIB // 4,
        "nonsense": GIB,
        "2.5GB": 2.5 * GIB,
        "536870912B": GIB // 2,
    }
    for size, expected_bytes in sizes.items():
        assert get_engine("postgresql").count_log_bytes({"Max_WAL_size": size}) == pytest.approx(
            expected_bytes * 1.2
        )
    assert get_engine("postgresql").count_log_bytes({}) == pytest.approx(GIB * 1.2)


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
    activity = sample_server(reader, clock)  # type: ignore[arg-type]  # a stand-in
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


SEGMENT = 16 * 2**20
MIN_WAL_MB = 160


class Server:
    """A session of one that keeps at most so many segments, and how many there are."""

    def __init__(self, most: int, future: int = 0) -> None:
        self.most, self.future, self.segments = most, future, 1 + future
        self.ran: list[str] = []

    def run(self, statement: str, **given: Any) -> list[list[Any]]:
        """What a server would answer; a switch uses a future segment before it makes another."""
        self.ran.append(statement)
        if statement == SEGMENTS:
            return [[self.segments]]
        if "pg_switch_wal" in statement:
            self.future, made = max(0, self.future - 1), int(self.future == 0)
            self.segments = min(self.most, self.segments + made)
        if "wal_segment_size" in statement:
            return [["16MB", MIN_WAL_MB]]
        return [[SEGMENT if given else None]]


@pytest.mark.parametrize(("most", "future"), [(100, 0), (100, 5), (4, 0)])
def test_a_log_is_filled_to_what_a_window_needs_or_to_what_its_server_keeps(
    most: int, future: int
) -> None:
    """A server whose log is small makes checkpoints meanwhile; the last one ends it."""
    server = Server(most, future)
    fill_log(cast(Connection, server), 1)
    assert server.segments == min(most, SEGMENTS_MIN + BESIDE)
    assert server.ran[-1] == "CHECKPOINT"
    assert server.ran.index(FILL) < server.ran.index(SEGMENTS)
