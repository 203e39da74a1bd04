"""What the journal and the results of a run tell, and what remains to be done of it."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fakes.clock import HurriedClock
from stithy.errors import PreconditionError, UserError
from stithy.plan.expand import expand
from stithy.plan.steps import Plan
from stithy.results.layout import RunDirectory
from stithy.results.read import read_manifest
from stithy.run.cleanup.register import Resource
from stithy.run.context import KEEPER
from stithy.run.journal import Journal
from stithy.run.resuming.history import History, read_history
from stithy.run.resuming.remaining import (
    Remaining,
    Reusable,
    remaining_of,
    without_reusable,
)
from stithy.study.load import read_study
from support.faked_run import FakedRun

OWNER = {"boot_id": "one", "pid": "7", "start_ticks": "9"}


START: dict[str, Any] = {
    "run_id": "r1",
    "study": "/s.yaml",
    "study_sha256": "abc",
    "null": False,
    "owner": OWNER,
    "machine": {"kernel": "6.1"},
}


def past(root: Path, *entries: tuple[str, dict[str, Any]]) -> History:
    """The past of a run whose journal has these entries after its first."""
    journal = Journal(root / "journal.jsonl", HurriedClock())
    for event, facts in (("run-started", START), *entries):
        journal.write(event, **facts)
    journal.close()
    return read_history(RunDirectory(root))


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
        tmp_path,
        ("creating", scratch),
        ("creating", server),
        ("creating", server),
        ("removed", server),
    )
    assert [(each.kind, each.facts) for each in found.resources] == [("scratch", scratch["facts"])]


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    """With what it lacks: the directory, the journal, or the beginning of the run."""
    (tmp_path / "file").touch()
    for root, problem in (
        (tmp_path / "none", "no such directory"),
        (tmp_path, "it has no journal"),
        (tmp_path / "file", "no such directory"),
    ):
        with pytest.raises(UserError) as raised:
            read_history(RunDirectory(root))
        assert problem in raised.value.problem
    (tmp_path / "journal.jsonl").write_text('{"sequence": 0, "at')
    with pytest.raises(UserError) as raised:
        read_history(RunDirectory(tmp_path))
    assert "before it began" in raised.value.problem


def test_a_journal_that_lacks_what_is_needed_is_refused(tmp_path: Path) -> None:
    """It is not guessed whose run it was."""
    journal = Journal(tmp_path / "journal.jsonl", HurriedClock())
    journal.write("run-started", run_id="r1", study="/s.yaml")
    journal.close()
    with pytest.raises(PreconditionError):
        read_history(RunDirectory(tmp_path))


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
        started("baseline-check-u1-b1", "baseline-check", None),
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


LAST = "w-b-u1-b0"


@pytest.fixture
def whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunDirectory:
    """The results of a run with one window of each of two candidates."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "state"))
    faked = FakedRun(tmp_path, users=(1,))
    faked.run()
    return RunDirectory(faked.out)


def plan(directory: RunDirectory) -> Plan:
    """The plan of the run's study."""
    return expand(read_study(directory.study).study)


def rest(
    directory: RunDirectory,
    without: frozenset[str] = frozenset(),
    skipped: Mapping[str, str] | None = None,
) -> Remaining:
    """The rest of a run whose journal does not tell that those steps were finished."""
    history: History = read_history(directory)
    known = replace(history, finished=history.finished - without, skipped=skipped or {})
    return remaining_of(plan(directory).steps, directory, known, read_manifest(directory.manifest))


def ids(directory: RunDirectory, found: Remaining) -> list[str]:
    """The steps that are left to do, in order."""
    return [step.id for step in plan(directory).steps if step.id not in found.state.progress.done]


def test_nothing_is_left_where_every_window_is_measured(whole: RunDirectory) -> None:
    """Not even to load the database, or to make a candidate."""
    found = rest(whole)
    assert (found.windows, found.kept, found.cut_off, dict(found.impossible)) == (0, 2, (), {})
    assert ids(whole, found) == []


def test_one_missing_window_needs_all_that_a_window_stands_on(whole: RunDirectory) -> None:
    """Both candidates as before, the database, the window, its candidate's final check."""
    found = rest(whole, frozenset({LAST, "check-end-b"}))
    assert ids(whole, found) == [
        "provision-a",
        "provision-b",
        "prepare",
        "check-load",
        "snapshot",
        f"baseline-check-{LAST}",
        f"restore-{LAST}",
        LAST,
        "check-end-b",
        "tear-down-a",
        "tear-down-b",
    ]
    assert (found.windows, found.kept, found.cut_off) == (1, 1, (LAST,))
    assert found.impossible == {}


def test_what_earlier_sessions_found_out_is_known(whole: RunDirectory) -> None:
    """Restores and limits of kept windows, final checks that count, the server's settings."""
    found = rest(whole, frozenset({LAST}))
    assert [row["window_id"] for row in found.state.tables.restores] == ["w-a-u1-b0"]
    assert {row["moment"] for row in found.state.tables.conditions} == {"end"}
    assert list(found.state.known.limits) == ["a"]
    assert found.state.known.server_facts is not None


def test_a_window_without_its_row_is_not_measured(whole: RunDirectory) -> None:
    """Whatever the journal says: somebody may have removed it."""
    whole.window(LAST).table("window").unlink()
    assert rest(whole).windows == 1


def test_a_window_that_was_not_needed_stays_left_out(whole: RunDirectory) -> None:
    """With the reason, which the manifest keeps."""
    found = rest(whole, frozenset({LAST}), {LAST: "a is better"})
    assert found.windows == 0
    assert found.state.progress.skipped == {LAST: "a is better"}


def test_a_final_check_without_its_database_is_impossible(whole: RunDirectory) -> None:
    """Of a candidate that has no window left; those of others are done."""
    found = rest(whole, frozenset({LAST, "check-end-a", "check-end-b"}))
    assert list(found.impossible) == ["check-end-a"]
    assert "check-end-b" in ids(whole, found)


REUSABLE = Reusable(
    {KEEPER: frozenset({"master"}), "b": frozenset({"data"})}, Path("/out/master-copy/master")
)


def created(kind: str, candidate: str, **facts: str) -> Resource:
    """A resource of an earlier session."""
    return Resource(0, kind, {"candidate": candidate, **facts})


@pytest.mark.parametrize(
    ("made", "stays"),
    [
        (created("tree", KEEPER, name="master"), True),
        (created("tree", "a", name="data"), False),
        (created("tree", "b", name="data"), True),
        (created("tree", "c", name="data"), False),
        (created("directory", KEEPER, path="/out/master-copy"), True),
        (created("mark", "b", path="/b"), True),
        (created("mark", "c", path="/c"), False),
        (created("server", "a", data="/a/data"), False),
        (Resource(0, "scratch", {"path": "/tmp/stithy-0"}), False),
    ],
)
def test_only_what_a_surviving_directory_needs_stays(made: Resource, stays: bool) -> None:
    """Servers, sockets and groups always go."""
    assert REUSABLE.keeps(made) == stays
    assert without_reusable([made], REUSABLE) == (() if stays else (made,))


def test_without_its_master_copy_nothing_of_it_stays() -> None:
    """What last windows left stays known."""
    without = REUSABLE.without_master()
    assert without.master is None
    assert without.databases == {"b"}
    assert sorted(without.recorded) == [("b", "data")]
    assert sorted(REUSABLE.recorded) == [("b", "data"), (KEEPER, "master")]
