"""On this machine, as it is: a new study is valid, and what `stithy doctor` says is true."""

import json
import os
from pathlib import Path

import pytest

from conftest import Unprivileged
from support.running import Stithy

pytestmark = pytest.mark.needs_postgresql
DRIVE = ("provider", "drive")


def test_a_new_study_of_this_machine_can_be_planned(place: Path) -> None:
    """Nothing but the file is made."""
    stithy = Stithy(place / "state")
    study = place / "study.yaml"
    written = stithy.run("new", study, "--short")
    assert written.returncode == 0, written.stderr
    assert sorted(each.name for each in place.iterdir()) == ["study.yaml"]
    assert stithy.run("plan", study).returncode == 0


@pytest.mark.needs_drive
def test_what_drives_need_is_there_where_they_can_be_had(place: Path) -> None:
    """The tests' own probe of this machine and the doctor agree."""
    told = json.loads(Stithy(place / "state").run("doctor", "--json").stdout)
    (drive,) = [each for each in told["parts"] if (each["family"], each["name"]) == DRIVE]
    lacks = [each["what"] for each in drive["needs"] if each["state"] == "missing"]
    assert not {"root", "/dev/fuse", "/dev/loop-control"} & set(lacks)


@pytest.mark.needs_unprivileged
def test_a_user_without_rights_is_told_what_is_missing_and_gets_a_study(
    place: Path, unprivileged: Unprivileged, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with a folder on the PATH that is closed; nothing is a bug, and nothing is made."""
    closed = place / "closed"
    closed.mkdir(mode=0o700 if os.geteuid() == 0 else 0o000)
    monkeypatch.setenv("PATH", f"{closed}/bin:{os.environ['PATH']}")
    stithy = Stithy(place / "state", prefix=unprivileged.stithy())
    told = stithy.run("doctor", "--json")
    assert told.returncode == 3, told.stderr
    assert "root" in [each["what"] for each in json.loads(told.stdout)["demo"]["lacks"]]
    written = stithy.run("new", "-", "--short", "--warehouses", "1")
    assert written.returncode == 0, written.stderr
    study = place / "study.yaml"
    study.write_text(written.stdout)
    assert stithy.run("plan", study, "--out", f"{place}-out").returncode == 0
