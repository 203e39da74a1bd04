"""`stithy plan` shows a plan to people and to programs."""

import json
from pathlib import Path

import pytest

from stithy.cli import app
from stithy.errors import PreconditionError, Problems, StithyError, UserError
from stithy.run.preparation import preflight
from support.studies import write_study


def found(monkeypatch: pytest.MonkeyPatch, *problems: StithyError, warnings: str = "") -> None:
    """Let the checks of the machine find this, whatever machine the tests run on."""
    known = Problems()
    known.found += problems
    checked = preflight.Preflight(None, known, (warnings,) if warnings else ())
    monkeypatch.setattr(preflight, "preflight", lambda *_, **__: checked)


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which every study runs."""
    found(monkeypatch)


def test_all_problems_are_shown_below_the_page_with_the_exit_code_of_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever fixes them fixes all in one round; a warning prevents nothing."""
    settings = UserError("PostgreSQL refuses it", where="database.settings", remedy="correct it")
    place = PreconditionError("/b is not empty", where="candidate b", remedy="empty it")
    found(monkeypatch, settings, place, warnings="the machine is not quiet")
    write_study(tmp_path)
    assert app.run(["plan", str(tmp_path / "study.yaml")]) == 3
    told = capsys.readouterr()
    assert "2 problems prevent a run" in told.out
    assert "warning: the machine is not quiet" in told.out
    assert "PostgreSQL refuses it" in told.err
    assert "/b is not empty" in told.err
    found(monkeypatch, settings)
    assert app.run(["plan", str(tmp_path / "study.yaml"), "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["schema_version"] == 1


def test_a_page_has_a_line_for_each_level_and_steps_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Totals before them; the plan of the demo fits a screen."""
    study = Path(__file__).resolve().parents[3] / "studies/demo.yaml"
    assert app.run(["plan", str(study)]) == 0
    page = capsys.readouterr().out
    assert len(page.splitlines()) <= 40
    assert page.index("Undecided to the end: ") < page.index("ramp-up 5 s")
    assert "restore-w-" not in page
    assert app.run(["plan", str(study), "--steps"]) == 0
    assert "restore-w-" in capsys.readouterr().out


def test_the_json_has_all_steps_and_totals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every field of the plan, and what it adds up to."""
    write_study(tmp_path)
    assert app.run(["plan", str(tmp_path / "study.yaml"), "--json"]) == 0
    read = json.loads(capsys.readouterr().out)
    assert read["schema_version"] == 1
    assert read["master_candidate"] == "disk"
    assert set(read["totals"]["space_bytes"]) == {"disk", "memory"}
    likely = sum(step["cost"]["time_s"] for step in read["steps"])
    assert read["totals"]["time_s"] == pytest.approx(likely)


def test_planning_leaves_nothing_behind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The machine is as it was: no directory of a candidate, no run."""
    changes = ("/var/tmp/stithy", str(tmp_path / "disk"))
    write_study(tmp_path, changes)
    assert app.run(["plan", str(tmp_path / "study.yaml")]) == 0
    assert capsys.readouterr().err == ""
    assert [path.name for path in tmp_path.iterdir()] == ["study.yaml"]


def test_a_study_that_is_not_there_ends_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One clear message, no traceback."""
    assert app.run(["plan", str(tmp_path / "none.yaml")]) == 2
    assert "there is no such file" in capsys.readouterr().err


def test_the_time_of_varied_drives_is_shown_beside_the_totals(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """For people and for programs; without the option there is none."""
    monkeypatch.setattr(preflight, "check_sensitivity", lambda file: None)  # asks the program
    study = str(Path(__file__).resolve().parents[3] / "studies/demo.yaml")
    assert app.run(["plan", study, "--sensitivity", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["sensitivity"]
    assert 0 < told["time_s_least"] <= told["time_s"] <= told["time_s_max"]
    assert (told["runs_least"], told["runs_most"]) == (1, 2)
    assert app.run(["plan", study, "--sensitivity"]) == 0
    assert "every assumed number of the drives 25%" in capsys.readouterr().out
    assert app.run(["plan", study, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sensitivity"] is None


def test_a_study_without_drives_has_none_to_vary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence, with what to do, and the exit code of a run."""
    write_study(tmp_path)
    assert app.run(["plan", str(tmp_path / "study.yaml"), "--sensitivity"]) == 2
    assert "no candidate is an emulated drive" in capsys.readouterr().err
