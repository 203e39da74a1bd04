"""The journal keeps every whole line, whatever a crash did to the last one."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakes.clock import FakeClock
from stithy.errors import InfrastructureError
from stithy.run.journal import Journal, read_journal


def test_entries_come_back_in_order_with_their_facts(tmp_path: Path) -> None:
    """Numbered from 0, with both clocks."""
    journal = Journal(tmp_path / "journal", FakeClock())
    assert journal.write("making", kind="tree", facts={"path": "/ä b"}) == 0
    assert journal.write("unmade", number=0) == 1
    journal.close()
    journal.close()
    first, second = read_journal(tmp_path / "journal")
    assert (first.sequence, first.event) == (0, "making")
    assert first.facts == {"kind": "tree", "facts": {"path": "/ä b"}}
    assert first.at_s - first.monotonic_s == 500_000.0
    assert second.facts == {"number": 0}


def test_a_journal_goes_on_where_it_ended(tmp_path: Path) -> None:
    """Numbers go on too."""
    Journal(tmp_path / "journal", FakeClock()).write("one")
    assert Journal(tmp_path / "journal", FakeClock()).write("two") == 1


def test_a_missing_journal_is_empty(tmp_path: Path) -> None:
    """A run that was killed before its first line has none."""
    assert read_journal(tmp_path / "none") == []
    Journal(tmp_path / "none", FakeClock())
    assert not (tmp_path / "none").exists()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(min_value=0, max_value=400))
def test_a_crash_at_any_byte_loses_no_whole_line_and_no_later_one(tmp_path: Path, cut: int) -> None:
    """A torn line is left out, and what is appended after it counts."""
    path = tmp_path / f"journal-{cut}"
    path.unlink(missing_ok=True)
    whole = Journal(path, FakeClock())
    for number in range(3):
        whole.write("event", number=number)
    whole.close()
    content = path.read_bytes()[:cut]
    path.write_bytes(content)
    kept = content.count(b"\n")
    later = Journal(path, FakeClock())
    later.write("later")
    later.close()
    events = [entry.event for entry in read_journal(path)]
    torn_but_whole = content and not content.endswith(b"\n") and content.endswith(b"}}")
    assert events == ["event"] * (kept + bool(torn_but_whole)) + ["later"]


def test_a_line_that_cannot_be_written_is_an_error_with_its_place(tmp_path: Path) -> None:
    """A line that is not on the disk must not count as written."""
    journal = Journal(tmp_path / "gone/journal", FakeClock())
    with pytest.raises(InfrastructureError, match="gone/journal: the journal could not be written"):
        journal.write("event")


def test_a_line_of_which_a_full_disk_takes_only_a_part_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the next line would join it, and both be lost."""
    path = tmp_path / "journal.jsonl"
    journal = Journal(path, FakeClock())
    journal.write("first")
    write = os.write
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda fd, line: write(fd, line[:7]))
        with pytest.raises(InfrastructureError, match="No space left on device: make room"):
            journal.write("lost")
    assert journal.write("second") == 1
    journal.close()
    assert [each.event for each in read_journal(path)] == ["first", "second"]
