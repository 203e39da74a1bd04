"""The memory of a killed server goes once nobody uses it any more, and not before."""

from collections.abc import Iterator

import pytest

from stithy.database.engines.postgresql import shared_memory
from stithy.database.engines.postgresql.shared_memory import remove_segment

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

    monkeypatch.setattr(shared_memory, "_attached", lambda facts: next(attached))
    monkeypatch.setattr("ctypes.CDLL", Libc)
    remove_segment(FACTS)
    return gone


def test_processes_that_still_die_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed process holds its memory for a moment when it can no longer be found."""
    assert removed(monkeypatch, iter([2, 1, 0])) == [0]


def test_a_segment_in_use_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server lives."""
    monkeypatch.setattr(shared_memory, "PATIENCE_S", 0.05)
    assert removed(monkeypatch, iter([2] * 1000)) == []


def test_a_segment_of_another_is_not_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel knows none of this key and number."""
    assert removed(monkeypatch, iter([None])) == []
