"""Bad days on a run's way: what is killed costs its window and nothing else."""

import os
import signal
from pathlib import Path

import pytest

from stithy.results.layout import RunDirectory
from support.html_page import page_text
from support.running import (
    PATIENCE_S,
    Stithy,
    entries,
    hammer_of,
    left_by,
    seconds_measured,
    wait_for,
    window_row,
    write_study,
)

pytestmark = pytest.mark.needs_postgresql

DURATION = "3 s"
"""Time enough for what is done to a window, where another test runs beside."""


def postmaster(data: Path) -> int:
    """Process id of the server on a data directory."""
    return int((data / "postmaster.pid").read_text().splitlines()[0])


def test_a_server_or_hammer_that_is_killed_costs_its_window_only(
    stithy: Stithy, place: Path
) -> None:
    """The window is invalid with the reason and measured once more, the run goes on."""
    out = place / "out"
    study = write_study(place / "study.yaml", {"a": place / "a"}, users=[1, 2], duration=DURATION)
    process = stithy.start("run", study, "--out", out)
    wait_for(lambda: seconds_measured(out, "w-a-u1-b0") >= 1, process)
    os.kill(postmaster(place / "a/data"), signal.SIGKILL)
    wait_for(lambda: seconds_measured(out, "w-a-u2-b0") >= 1, process)
    os.kill(hammer_of(out), signal.SIGKILL)
    _, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, stderr
    server, hammer = (window_row(out, f"w-a-u{users}-b0") for users in (1, 2))
    assert not server["complete"]
    assert "the server was ended by SIGKILL" in server["missing_because"]
    assert not hammer["complete"]
    assert "was ended by SIGKILL without a summary" in hammer["missing_because"]
    for users in (1, 2):
        again = window_row(out, f"w-a-u{users}-b0-again")
        assert (again["complete"], again["attempt"], again["block"]) == (True, 1, 0)
    assert [entry.facts["because"] for entry in entries(out, "windows-added")] == [
        "the block is measured a second time, because this is invalid: "
        f"w-a-u{users}-b0 (no numbers)"
        for users in (1, 2)
    ]
    assert "added: the block is measured once more" in stderr
    assert "Block 0 at 1 user" in page_text(RunDirectory(out).page)
    assert left_by(out) == []
