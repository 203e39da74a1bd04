"""A corner of the sensitivity on real drives is killed, goes on by `resume`, and is reported.

Long: three databases are loaded; tests/unit/cli/test_sensitivity.py does the same with fakes.
"""

import json
import os
import signal
from pathlib import Path

import pytest

from stithy.exits import Exit
from stithy.results.layout import RunDirectory
from support.running import Stithy, entries, left_by, manifest, measures, wait_for, write_study

pytestmark = [pytest.mark.long, pytest.mark.needs_drive, pytest.mark.needs_postgresql]


def test_corners_on_drives_are_killed_resumed_and_reported(stithy: Stithy, place: Path) -> None:
    """One block decides nothing, so that both are measured; their drives are the varied ones.

    Disks that turn are so slow that a busy machine delivers them, too.
    """
    drives = {"a": "{drive: generic-15k}", "b": "{drive: generic-7200}"}
    study = write_study(place / "s.yaml", drives, users=(1,))
    out = place / "out"
    running = stithy.start("run", study, "--sensitivity", "--out", out)
    first = RunDirectory(out).corner("a") / "run"
    wait_for(lambda: first.exists() and measures(first), running)
    os.kill(running.pid, signal.SIGKILL)
    running.communicate()
    assert manifest(out)["end"] == "finished"
    resumed = stithy.run("resume", out)
    # Where CPUs are busy a drive may be slower than its profile: such a window is invalid.
    assert resumed.returncode in (Exit.OK, Exit.INVALID), resumed.stderr
    assert len(entries(first, "run-resumed")) == 1
    for against, other in (("a", "b"), ("b", "a")):
        corner = RunDirectory(out).corner(against) / "run"
        found = {each["name"]: each["drives"][0] for each in manifest(corner)["candidates"]}
        assert found[against]["profile_name"].endswith("-25-worse")
        assert found[other]["profile_name"].endswith("-25-better")
        assert left_by(corner) == []
    assert stithy.run("report", out, "--format", "json").returncode in (Exit.OK, Exit.INVALID)
    told = json.loads((out / "report.json").read_text())["sensitivity"]
    assert [each["against"] for each in told] == ["a", "b"]
    assert all(each["numbers"] for each in told)
    assert stithy.run("resume", out).returncode == Exit.PRECONDITION
    assert stithy.drives() == []
    assert stithy.registered() == []
