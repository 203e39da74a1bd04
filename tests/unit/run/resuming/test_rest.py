"""What is left of a run that was cut off, from its journal and its results."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from stithy.plan.expand import expand
from stithy.plan.steps import Plan
from stithy.results.layout import RunDirectory
from stithy.results.read import read_manifest
from stithy.run.resuming.past import Past, read_past
from stithy.run.resuming.rest import Rest, rest_of
from stithy.study.load import read_study
from support.faked_run import FakedRun

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
) -> Rest:
    """The rest of a run whose journal does not tell that those steps were finished."""
    past: Past = read_past(directory)
    known = replace(past, finished=past.finished - without, skipped=skipped or {})
    return rest_of(plan(directory).steps, directory, known, read_manifest(directory.manifest))


def ids(directory: RunDirectory, found: Rest) -> list[str]:
    """The steps that are left to do, in order."""
    return [step.id for step in plan(directory).steps if step.id not in found.state.done]


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
        f"canary-{LAST}",
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
    assert [row["window_id"] for row in found.state.restores] == ["w-a-u1-b0"]
    assert {row["moment"] for row in found.state.conditions} == {"end"}
    assert list(found.state.limits) == ["a"]
    assert found.state.server_facts is not None


def test_a_window_without_its_row_is_not_measured(whole: RunDirectory) -> None:
    """Whatever the journal says: somebody may have removed it."""
    whole.window(LAST).table("window").unlink()
    assert rest(whole).windows == 1


def test_a_window_that_was_not_needed_stays_left_out(whole: RunDirectory) -> None:
    """With the reason, which the manifest keeps."""
    found = rest(whole, frozenset({LAST}), {LAST: "a is better"})
    assert found.windows == 0
    assert found.state.skipped == {LAST: "a is better"}


def test_a_final_check_without_its_database_is_impossible(whole: RunDirectory) -> None:
    """Of a candidate that has no window left; those of others are done."""
    found = rest(whole, frozenset({LAST, "check-end-a", "check-end-b"}))
    assert list(found.impossible) == ["check-end-a"]
    assert "check-end-b" in ids(whole, found)


def test_a_master_copy_spares_loading(whole: RunDirectory) -> None:
    """The check of it counts; keeping the drives' states is done again."""
    past = read_past(whole)
    known = replace(past, finished=past.finished - {LAST, "check-end-b"})
    manifest = read_manifest(whole.manifest)
    found = rest_of(plan(whole).steps, whole, known, manifest, has_master=True)
    assert ids(whole, found)[:3] == ["provision-a", "provision-b", "snapshot"]
    assert {row["moment"] for row in found.state.conditions} == {"load", "end"}


def test_a_final_check_whose_database_is_there_is_done(whole: RunDirectory) -> None:
    """With its own candidate and nothing else; one that was done is not done again."""
    past = read_past(whole)
    known = replace(past, finished=past.finished - {"check-end-a"})
    manifest, both = read_manifest(whole.manifest), frozenset({"a", "b"})
    found = rest_of(plan(whole).steps, whole, known, manifest, databases=both)
    assert ids(whole, found) == ["provision-a", "check-end-a", "tear-down-a"]
    assert (found.windows, found.impossible) == (0, {})
