"""`stithy doctor` tells people and programs the same, and ends with what the demo lacks."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT
from fakes.machine import FakeMachine
from stithy.cli import app
from stithy.needs import Judgement
from stithy.run.preparation import doctor


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A good machine in the place of this one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("stithy.hosts.here.LocalMachine", FakeMachine)
    monkeypatch.setattr(doctor, "engine_here", lambda name: Judgement(name, "there", "15.1 in /x"))


def test_a_machine_that_can_run_the_demo_ends_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    """The first line is the answer."""
    assert app.run(["doctor"]) == 0
    assert capsys.readouterr().out.startswith("The demo can run here")


def test_what_the_demo_lacks_ends_with_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is data, not an error: nothing goes to standard error."""
    monkeypatch.setattr("stithy.hosts.here.LocalMachine", lambda: FakeMachine(is_root=False))
    assert app.run(["doctor"]) == 3
    shown = capsys.readouterr()
    assert shown.out.startswith("The demo cannot run here yet. It lacks: root.")
    assert shown.err == ""


def test_the_json_has_every_check_and_every_need(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A program may look for what it wants."""
    monkeypatch.setattr("stithy.hosts.here.LocalMachine", lambda: FakeMachine(is_root=False))
    assert app.run(["doctor", "--json"]) == 3
    read = json.loads(capsys.readouterr().out)
    assert read["schema_version"] == 1
    assert read["demo"]["can_run"] is False
    assert [each["what"] for each in read["demo"]["lacks"]] == ["root"]
    (drive,) = [each for each in read["parts"] if each["name"] == "drive" and each["needs"]]
    assert (drive["family"], drive["works"]) == ("provider", False)
    assert drive["needs"][0] == {
        "why": "FUSE, loop devices and mounting",
        "optional": False,
        "what": "root",
        "state": "missing",
        "found": "this user is not root",
        "remedy": "start it with sudo",
    }
    assert {"kernel", "load", "cpu", "drives"} <= read["checks"].keys()
    assert {"drive profile", "drive compare"} <= {each["name"] for each in read["parts"]}


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    """`stithy doctor --json | head -1` ends quietly, on this machine."""
    reading, writing = os.pipe()
    os.close(reading)
    finished = subprocess.run(
        [sys.executable, "-m", "stithy", "doctor", "--json"],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
    )
    os.close(writing)
    assert finished.stderr == ""
    assert finished.returncode == 0
