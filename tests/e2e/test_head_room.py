"""A study that finds out what its driver can do, on a real server."""

import json
from pathlib import Path

import pytest

from stithy.results.layout import RunDirectory
from support.html_page import page_text
from support.running import Stithy, left_by, manifest, window_row, write_study

pytestmark = pytest.mark.needs_postgresql


def test_a_study_is_calibrated_before_its_first_window(stithy: Stithy, place: Path) -> None:
    """What was found is kept, and every window is told of it; how much it is no test can say.

    On a host that is busy meanwhile the driver is late at every rate: that is a result, too.
    """
    load = {"calibrate": "true"}
    study = write_study(place / "study.yaml", {"a": place / "a"}, users=[2], load=load)
    out = place / "out"
    ended = stithy.run("run", study, "--out", out)
    assert ended.returncode == 0, ended.stderr
    kept = json.loads(RunDirectory(out).calibration.read_text())
    assert (kept["connections"], kept["think_s"]) == (2, None)
    assert RunDirectory(out).calibrate_output.exists()
    facts = manifest(out)["calibration"]
    row = window_row(out, "w-a-u2-b0")
    for name in ("rate_per_s_max", "users_max"):
        assert kept[name] == facts[name] == row[f"driver_{name}"]
    assert (facts["rate_per_s_max"] is None) == ("late at every" in str(facts["missing_because"]))
    page = page_text(RunDirectory(out).page)
    said = "The driver used at most" in page or "The driver was asked for" in page
    assert said == (facts["rate_per_s_max"] is not None)
    assert left_by(out) == []
