"""The memory of a killed server goes once nobody uses it any more, and not before."""

from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path

import pytest

from stithy.database.engines.postgresql import shared_memory
from stithy.database.engines.postgresql.shared_memory import remove_segment
from stithy.errors import InfrastructureError

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
    monkeypatch.setattr(shared_memory, "_attached", lambda facts: next(told))
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
    monkeypatch.setattr(shared_memory, "PATIENCE_S", 0.05)
    with pytest.raises(InfrastructureError, match="it is still there"):
        removed(monkeypatch, repeat(2))


def test_files_whose_segment_nobody_knows_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether a server uses them cannot be known, so they stay, and are not forgotten."""
    monkeypatch.setattr(shared_memory, "SHM", tmp_path)
    (tmp_path / "PostgreSQL.7").touch()
    with pytest.raises(InfrastructureError, match="it is still there"):
        remove_segment({"files": "PostgreSQL.7"})
    assert (tmp_path / "PostgreSQL.7").exists()


def test_a_segment_of_another_is_not_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel knows none of this key and number."""
    assert removed(monkeypatch, iter([None])) == []
