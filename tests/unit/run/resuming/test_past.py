"""What a journal tells of a run: sessions, steps that were done, things that were made."""

from pathlib import Path
from typing import Any

import pytest

from fakes.clock import HurriedClock
from stithy.errors import PreconditionError, UserError
from stithy.results.layout import RunDirectory
from stithy.run.journal import Journal
from stithy.run.resuming.past import Past, read_past

OWNER = {"boot_id": "one", "pid": "7", "start_ticks": "9"}
START: dict[str, Any] = {
    "run_id": "r1",
    "study": "/s.yaml",
    "study_sha256": "abc",
    "null": False,
    "owner": OWNER,
    "machine": {"kernel": "6.1"},
}


def past(root: Path, *entries: tuple[str, dict[str, Any]]) -> Past:
    """The past of a run whose journal has these entries after its first."""
    journal = Journal(root / "journal.jsonl", HurriedClock())
    for event, facts in (("run-started", START), *entries):
        journal.write(event, **facts)
    journal.close()
    return read_past(RunDirectory(root))


def test_a_killed_session_has_no_end(tmp_path: Path) -> None:
    """Its last entry is the last that is known of it."""
    found = past(tmp_path, ("step-started", {"id": "prepare"}))
    [session] = found.sessions
    assert (session.end, session.owner.pid, session.changed) == (None, 7, ())
    assert session.facts().end == "killed"
    assert session.last_at_s > session.started_at_s


def test_each_resume_begins_a_session(tmp_path: Path) -> None:
    """The end of one is not that of the next; the machine is that of the last."""
    again = {**START, "machine": {"kernel": "6.2"}, "changed": ["kernel: 6.1 before, 6.2 now"]}
    found = past(
        tmp_path,
        ("run-ended", {"end": "interrupted", "because": "stopped"}),
        ("run-resumed", again),
    )
    assert [each.end for each in found.sessions] == ["interrupted", None]
    assert found.sessions[0].facts().end_because == "stopped"
    assert found.sessions[1].changed == ("kernel: 6.1 before, 6.2 now",)
    assert found.machine == {"kernel": "6.2"}


def test_steps_count_over_all_sessions(tmp_path: Path) -> None:
    """A step that was started and not finished is not done; one left out keeps its reason."""
    found = past(
        tmp_path,
        ("step-started", {"id": "w-a-u1-b0"}),
        ("step-finished", {"id": "w-a-u1-b0"}),
        ("run-resumed", START),
        ("step-started", {"id": "w-b-u1-b0"}),
        ("step-skipped", {"id": "w-a-u1-b1", "kind": "window", "because": "decided"}),
    )
    assert found.finished == {"w-a-u1-b0"}
    assert found.skipped == {"w-a-u1-b1": "decided"}


def test_what_was_unmade_in_its_own_step_is_not_among_the_things_made(tmp_path: Path) -> None:
    """What was made twice and unmade is gone."""
    scratch = {"kind": "scratch", "facts": {"path": "/tmp/stithy-1"}}
    server = {"kind": "server", "facts": {"data": "/a/data"}}
    found = past(
        tmp_path, ("making", scratch), ("making", server), ("making", server), ("unmade", server)
    )
    assert [(each.kind, each.facts) for each in found.makings] == [("scratch", scratch["facts"])]


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    """With what it lacks: the directory, the journal, or the beginning of the run."""
    (tmp_path / "file").touch()
    for root, problem in (
        (tmp_path / "none", "no such directory"),
        (tmp_path, "it has no journal"),
        (tmp_path / "file", "no such directory"),
    ):
        with pytest.raises(UserError) as raised:
            read_past(RunDirectory(root))
        assert problem in raised.value.problem
    (tmp_path / "journal.jsonl").write_text('{"sequence": 0, "at')
    with pytest.raises(UserError) as raised:
        read_past(RunDirectory(tmp_path))
    assert "had not begun" in raised.value.problem


def test_a_journal_that_lacks_what_is_needed_is_refused(tmp_path: Path) -> None:
    """It is not guessed whose run it was."""
    journal = Journal(tmp_path / "journal.jsonl", HurriedClock())
    journal.write("run-started", run_id="r1", study="/s.yaml")
    journal.close()
    with pytest.raises(PreconditionError):
        read_past(RunDirectory(tmp_path))


def started(id: str, kind: str, candidate: str | None) -> tuple[str, dict[str, Any]]:
    """A step that began."""
    return "step-started", {"id": id, "kind": kind, "candidate": candidate}


def test_what_came_last_to_a_database_is_known(tmp_path: Path) -> None:
    """By candidate; to make its storage ready again changes nothing in it."""
    found = past(
        tmp_path,
        started("provision-a", "provision", "a"),
        started("restore-w-a-u1-b0", "restore", "a"),
        started("w-a-u1-b0", "window", "a"),
        started("canary-u1-b1", "canary", None),
        ("run-resumed", START),
        started("provision-a", "provision", "a"),
    )
    assert {name: each.id for name, each in found.touched.items()} == {"a": "w-a-u1-b0"}


def test_a_master_copy_is_known_until_loading_begins_anew(tmp_path: Path) -> None:
    """By its hash; that of a session that used it on is the same."""
    made = ("master-copy", {"sha256": "abc"})
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    used_on = past(
        tmp_path / "one",
        started("prepare", "prepare", "a"),
        made,
        ("run-resumed", START),
        ("master-kept", {"sha256": "abc"}),
    )
    assert used_on.master == "abc"
    assert [each.master_kept for each in used_on.sessions] == [False, True]
    again = past(tmp_path / "two", made, ("run-resumed", START), started("prepare", "prepare", "a"))
    assert again.master is None
