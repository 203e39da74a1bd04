"""Cleaning drives: what killed programs left, and what is of runs that nobody knows; only that."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from fakes.clock import FakeClock
from stithy.cli import app
from stithy.drives import places
from stithy.drives.places import Entry
from stithy.hosts.processes import Identity, identity_of, own_identity
from stithy.run.journal import Journal
from stithy.run.undoing import clean
from stithy.run.undoing.register import Register

DEAD = Identity("another boot", 1, 1)


@pytest.fixture(autouse=True)
def _register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A register of its own."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path))


def left() -> list[str]:
    """The names of the folders that are there still."""
    return [each.name for each in places.all_folders()]


def test_what_killed_drives_left_is_removed(capsys: pytest.CaptureFixture[str]) -> None:
    """It is told by the drive's name."""
    places.make(places.folder_of("fast"), Entry(None, ("fast",), DEAD))
    assert app.run(["clean", "--json"]) == 0
    cleaned = json.loads(capsys.readouterr().out)
    assert [(each["drives"], each["left"]) for each in cleaned] == [(["fast"], None)]
    assert left() == []
    assert app.run(["clean"]) == 0
    assert capsys.readouterr().out == "Nothing to clean.\n"


def test_drives_that_live_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person's that is up, and one whose program is about to come."""
    places.make(places.folder_of("fast"), Entry(None, ("fast",), DEAD))
    places.make(places.folder_of("new"), Entry(None, ("new",), own_identity()))
    monkeypatch.setattr(clean, "find", lambda folder: own_identity())
    assert clean.clean_drives() == []
    assert left() == ["fast", "new"]


def test_drives_of_a_run_go_when_nobody_knows_it_any_more(tmp_path: Path) -> None:
    """A run that goes on, or was kept, has its drives."""
    known = Register("r1", tmp_path, FakeClock())
    for run_id in ("r1", "r2"):
        places.make(places.folder_of("nvme", run_id), Entry(run_id, ("data",), DEAD))
    assert [each.folder.name for each in clean.clean_drives()] == ["r2.nvme"]
    assert left() == ["r1.nvme"]
    known.close(remove=True)
    assert app.run(["clean"]) == 0
    assert left() == []


def test_what_cannot_be_removed_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And the exit code says it."""

    def refuse(folder: Path) -> None:
        raise OSError(16, "Device or resource busy")

    places.make(places.folder_of("fast"), Entry(None, ("fast",), DEAD))
    monkeypatch.setattr(clean, "remove", refuse)
    assert app.run(["clean"]) == 4
    assert "not removed: drive fast: " in capsys.readouterr().err


def test_cleaning_one_run_leaves_drives_of_others_alone(tmp_path: Path) -> None:
    """The person named what is to be cleaned."""
    places.make(places.folder_of("fast"), Entry(None, ("fast",), DEAD))
    (tmp_path / "results").mkdir()
    assert app.run(["clean", str(tmp_path / "results")]) == 0
    assert left() == ["fast"]


def test_a_directory_that_is_not_there_and_of_no_run_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else a slip of the pen would look as if all were clean."""
    assert app.run(["clean", str(tmp_path / "rnus/x")]) == 2
    assert "there is no such directory" in capsys.readouterr().err


def test_a_process_that_has_a_dead_runs_process_id_now_is_neither_it_nor_ended(
    tmp_path: Path,
) -> None:
    """Its run is cleaned all the same; a run is known by boot, process id and start."""
    other = subprocess.Popen(["sleep", "60"])
    try:
        found = identity_of(other.pid)
        assert found is not None
        (tmp_path / "runs").mkdir()
        for name, owner in (("r1", replace(found, start_ticks=1)), ("r2", found)):
            book = Journal(tmp_path / f"runs/{name}.jsonl", FakeClock())
            book.write("run", run_id=name, directory=f"/{name}", owner=owner.facts())
            book.write("making", kind="directory", facts={"path": str(tmp_path / name)})
            book.close()
            (tmp_path / name).mkdir()
        cleaned = {each.run.run_id: each.running for each in clean.clean()}
        assert cleaned == {"r1": False, "r2": True}
        assert [(tmp_path / name).exists() for name in ("r1", "r2")] == [False, True]
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
