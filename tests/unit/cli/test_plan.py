"""`stithy plan` shows a plan to people and to programs."""

import json
from pathlib import Path

import pytest

from stithy.cli import app
from support.studies import write_study


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
