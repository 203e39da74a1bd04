"""Programs of a server are found; its last words, its memory and its views are known."""

from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path

import pytest

from stithy.database.engines.postgresql import server
from stithy.database.engines.postgresql.counters import activity_query
from stithy.database.engines.postgresql.engine import find_installation
from stithy.database.engines.postgresql.server import last_words, remove_segment
from stithy.errors import InfrastructureError, PreconditionError
from stithy.hosts.runner import LocalRunner


def programs(folder: Path, version: str, names: tuple[str, ...] = ("initdb", "pg_ctl")) -> Path:
    """A folder with programs that only tell their version."""
    folder.mkdir(parents=True)
    for name in ("postgres", *names):
        (folder / name).write_text(f"#!/bin/sh\necho 'postgres (PostgreSQL) {version}'\n")
        (folder / name).chmod(0o755)
    return folder


def test_the_newest_version_wins_wherever_it_is(tmp_path: Path) -> None:
    """By number, not by the order of its digits."""
    folders = [programs(tmp_path / each, each) for each in ("15.4", "9.6", "16.10", "16.9")]
    found = find_installation(LocalRunner(), None, folders)
    assert (found.programs, found.version) == (tmp_path / "16.10", "16.10")


def test_an_incomplete_set_is_not_chosen_and_told_if_nothing_else_is_there(tmp_path: Path) -> None:
    """Distributions have client packages too."""
    folder = programs(tmp_path / "a", "15.4", names=("pg_ctl",))
    with pytest.raises(PreconditionError, match=f"{folder} lacks initdb"):
        find_installation(LocalRunner(), None, [folder])


def test_a_version_that_is_too_old_is_told(tmp_path: Path) -> None:
    """With the oldest that would do."""
    folder = programs(tmp_path / "a", "11.2")
    with pytest.raises(PreconditionError, match="has version 11, older than 14"):
        find_installation(LocalRunner(), None, [folder])


def test_without_any_programs_the_remedy_names_both_ways_to_get_them(tmp_path: Path) -> None:
    """The distribution's, and the package for those without root."""
    with pytest.raises(PreconditionError) as caught:
        find_installation(LocalRunner(), None, [tmp_path])
    assert "no PostgreSQL server programs were found" in str(caught.value)
    assert "apt-get install postgresql" in caught.value.remedy
    assert "stithy[postgresql]" in caught.value.remedy


def test_a_link_leads_to_the_folder_of_the_real_programs(tmp_path: Path) -> None:
    """They find their other files beside themselves."""
    real = programs(tmp_path / "real", "15.4")
    (tmp_path / "bin").mkdir()
    for path in real.iterdir():
        (tmp_path / "bin" / path.name).symlink_to(path)
    assert find_installation(LocalRunner(), None, [tmp_path / "bin"]).programs == real


def test_a_beta_is_a_version_too(tmp_path: Path) -> None:
    """Its name is kept."""
    folder = programs(tmp_path / "a", "19beta1")
    assert find_installation(LocalRunner(), None, [folder]).version == "19beta1"


STARTING = "FATAL:  the database system is starting up"


def test_errors_are_told_before_anything_else() -> None:
    """At most three, the latest."""
    lines = ["ERROR: a", "LOG: x", "ERROR: b", "PANIC: c", "LOG: y", "FATAL: d"]
    assert last_words(lines) == "ERROR: b | PANIC: c | FATAL: d"


def test_without_errors_the_last_lines_are_told() -> None:
    """Stithy's own probes are no errors of the server."""
    assert last_words(["LOG: x", STARTING, "LOG: y"]) == "LOG: x | LOG: y"


def test_a_silent_server_is_said_to_be_silent() -> None:
    """Never an empty message."""
    assert last_words([STARTING]) == "it wrote nothing"


FACTS = {"key": "1", "shmid": "0", "files": ""}


def removed(monkeypatch: pytest.MonkeyPatch, attached: Iterator[int | None]) -> list[int]:
    """Which segments are removed while the kernel tells these numbers of users, one after another.

    Nothing of the machine's is touched.
    """
    gone: list[int] = []

    class Libc:
        def __init__(self, name: None) -> None:
            """The C library."""

        def shmctl(self, shmid: int, command: int, buffer: None) -> None:
            """Note it down."""
            gone.append(shmid)

    told = chain(attached, repeat(None))
    monkeypatch.setattr(server, "_attached", lambda facts: next(told))
    monkeypatch.setattr("ctypes.CDLL", Libc)
    remove_segment(FACTS)
    return gone


def test_processes_that_still_die_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed process holds its memory for a moment when it can no longer be found."""
    assert removed(monkeypatch, iter([2, 1, 0])) == [0]


def test_a_segment_in_use_is_left_alone_and_not_taken_for_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The server lives: `clean` has to come again."""
    monkeypatch.setattr(server, "SEGMENT_PATIENCE_S", 0.05)
    with pytest.raises(InfrastructureError, match="it is still there"):
        removed(monkeypatch, repeat(2))


def test_files_whose_segment_nobody_knows_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether a server uses them cannot be known, so they stay, and are not forgotten."""
    monkeypatch.setattr(server, "SHM", tmp_path)
    (tmp_path / "PostgreSQL.7").touch()
    with pytest.raises(InfrastructureError, match="it is still there"):
        remove_segment({"files": "PostgreSQL.7"})
    assert (tmp_path / "PostgreSQL.7").exists()


def test_a_segment_of_another_is_not_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel knows none of this key and number."""
    assert removed(monkeypatch, iter([None])) == []


def test_views_follow_the_version() -> None:
    """Each is asked only where it is there, and columns only where they are."""
    old, middle, new = (activity_query(number, "d") for number in (130000, 150000, 180000))
    assert "pg_stat_wal" not in old
    assert "pg_stat_wal" in middle
    assert "wal_sync" in middle
    assert "wal_sync" not in new
    assert "object = 'wal'" in new
    assert "pg_stat_io" not in middle
    assert "pg_stat_io" in new
    assert "checkpoints_timed" in middle
    assert "buffers_backend" in middle
    assert "pg_stat_checkpointer" in new
    assert "buffers_backend" not in new


def test_a_name_with_a_quote_stays_a_name() -> None:
    """A database may be called anything."""
    assert "datname = 'it''s'" in activity_query(150000, "it's")
