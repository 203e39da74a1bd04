"""`stithy new` writes a study that is valid as it stands, and overwrites nothing."""

import json
from pathlib import Path

import pytest

from fakes.machine import FakeMachine
from stithy.cli import app
from stithy.errors import PreconditionError
from stithy.needs import Judgement
from stithy.run.preparation import draft
from stithy.study.load import read_study


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A good machine in the place of this one, on which everything fits."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("stithy.hosts.here.LocalMachine", FakeMachine)
    monkeypatch.setattr(draft, "engine_here", lambda name: Judgement(name, "there", "15.1"))
    monkeypatch.setattr(draft, "check_here", lambda machine, study, plan: None)


def test_a_new_study_can_be_planned_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its name is study.yaml unless another is given."""
    assert app.run(["new"]) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "study.yaml: compares var-tmp, generic-nvme, with postgresql; takes about " in shown.err
    assert "if it stays undecided), at most " in shown.err
    assert [path.name for path in tmp_path.iterdir()] == ["study.yaml"]
    assert app.run(["plan", "study.yaml"]) == 0


def test_standard_output_gets_the_study_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """So that it can go anywhere."""
    assert app.run(["new", "-", "--short"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("# A study for this machine (8 CPUs, 32 GiB of memory")
    assert shown.err == ""


def test_the_json_tells_what_was_written(capsys: pytest.CaptureFixture[str]) -> None:
    """A program need not read the file for it."""
    assert app.run(["new", "a.yaml", "--drive", "gp3", "--warehouses", "3", "--json"]) == 0
    read = json.loads(capsys.readouterr().out)
    assert (read["file"], read["candidates"], read["warehouses"]) == ("a.yaml", ["gp3"], 3)
    assert read["time_s_least"] <= read["time_s"] < read["time_s_max"]
    assert list(read_study(Path("a.yaml")).study.candidates) == ["gp3"]


def test_a_file_that_is_there_stays(capsys: pytest.CaptureFixture[str]) -> None:
    """Also where it is a link that leads nowhere."""
    Path("study.yaml").write_text("mine")
    Path("link.yaml").symlink_to("nowhere")
    for name in ("study.yaml", "link.yaml"):
        assert app.run(["new", name]) == 2
        assert "is not overwritten" in capsys.readouterr().err
    assert Path("study.yaml").read_text() == "mine"
    assert not Path("nowhere").exists()


def test_a_directory_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """It is not made."""
    assert app.run(["new", "no/such/study.yaml"]) == 2
    assert "this user sees no directory no/such" in capsys.readouterr().err


def test_what_cannot_be_a_files_name_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """One that is too long, in one line."""
    assert app.run(["new", "x" * 300]) == 2
    assert "cannot be the name of a file: file name too long" in capsys.readouterr().err


def test_a_directory_that_cannot_be_written_to_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the rights of this user."""

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refused)
    assert app.run(["new"]) == 3
    assert "may not write to" in capsys.readouterr().err


def test_a_full_disk_leaves_no_half_of_a_study(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would be taken for a whole one."""
    file = Path("/dev/full")
    monkeypatch.setattr("stithy.cli.new._need_free", lambda _: None)
    opened = file.open("w")
    monkeypatch.setattr(Path, "open", lambda *_, **__: opened)
    removed: list[Path] = []
    monkeypatch.setattr(Path, "unlink", lambda path, missing_ok: removed.append(path))
    assert app.run(["new", "full.yaml"]) == 4
    assert "no space left" in capsys.readouterr().err
    assert removed == [Path("full.yaml")]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--engine", "postgre"], "did you mean postgresql?"),
        (["--engine", "x"], "one of postgresql"),
        (["--warehouses", "0"], "warehouses"),
        (["--path", "/a", "--path", "/a/b"], "share the same storage"),
    ],
)
def test_what_no_study_can_have_is_a_mistake_of_the_command_line(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written."""
    assert app.run(["new", *words]) == 2
    assert told in capsys.readouterr().err
    assert not Path("study.yaml").exists()


def test_a_machine_without_an_engine_is_told_what_mends_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is a missing precondition."""

    def gone(*_: object) -> None:
        raise PreconditionError("none", where="engine", remedy="apt-get install postgresql")

    monkeypatch.setattr(draft, "choose_engine", gone)
    assert app.run(["new"]) == 3
    assert "apt-get install postgresql" in capsys.readouterr().err
