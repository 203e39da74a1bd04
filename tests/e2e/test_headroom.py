"""A study that finds out what its driver can do, on a real server."""

import json

import pytest

from stithy.results.layout import RunDirectory
from support.finished import Finished
from support.html_page import page_text
from support.running import left_by, manifest, window_row

pytestmark = pytest.mark.needs_postgresql


def test_a_study_is_calibrated_before_its_first_window(finished: Finished) -> None:
    """What was found is kept, and every window is told of it; how much it is no test can say.

    On a host that is busy meanwhile the driver is late at every rate, or its headroom is not
    proven for what others used: these are results, too.
    """
    out = finished.out
    assert finished.code == 0, finished.stderr
    kept = json.loads(RunDirectory(out).calibration.read_text())
    assert (kept["connections"], kept["think_s"]) == (2, None)
    assert RunDirectory(out).calibrate_output.exists()
    facts = manifest(out)["calibration"]
    for window_id in manifest(out)["plan"]["windows"]:
        row = window_row(out, window_id)
        for name in ("rate_per_s_max", "users_max"):
            assert kept[name] == facts[name] == row[f"driver_{name}"]
    assert (facts["rate_per_s_max"] is None) == ("late at every" in str(facts["missing_because"]))
    page = page_text(RunDirectory(out).page)
    known = "that the driver sustained in its calibration" in page or "used at most" in page
    assert known or "headroom is not proven" in page
    assert not known or facts["rate_per_s_max"] is not None
    assert left_by(out) == []
