"""Runs on emulated drives that end before their time, and go back to nothing."""

import os
import signal
from pathlib import Path

import pytest

from stithy.drives.program import find
from support.running import Stithy, entries, left_by, measures, wait_for, write_study

pytestmark = [pytest.mark.needs_drive, pytest.mark.needs_postgresql]

PLAIN = "{drive: generic-nvme}"


MOMENTS = ("drive", "mount", "tree", "window")


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_on_drives_that_is_killed_can_be_cleaned(
    stithy: Stithy, place: Path, moment: str
) -> None:
    """While the drive comes up, while its file system does, while loading, and in a window."""
    study = write_study(place / "s.yaml", {"a": PLAIN, "b": PLAIN}, users=(1,), duration="30 s")
    out = place / "out"
    running = stithy.start("run", study, "--out", out)
    if moment == "window":
        wait_for(lambda: measures(out), running)
    else:
        wait_for(lambda: [e for e in entries(out, "making") if e.facts["kind"] == moment], running)
    os.kill(running.pid, signal.SIGKILL)
    running.communicate()
    cleaned = stithy.run("clean")
    assert cleaned.returncode == 0, cleaned.stdout + cleaned.stderr
    assert left_by(out) == []  # its mounts among it
    assert stithy.drives() == []
    assert stithy.registered() == []


def test_a_drive_whose_program_dies_ends_the_run_and_leaves_nothing(
    stithy: Stithy, place: Path
) -> None:
    """I/O errors instead of a hung machine; the message names the candidate."""
    study = write_study(place / "s.yaml", {"a": PLAIN}, users=(1,), duration="8 s")
    out = place / "out"
    running = stithy.start("run", study, "--out", out)
    wait_for(lambda: measures(out), running)
    for pid in _programs(stithy):
        os.kill(pid, signal.SIGKILL)
    _, told = running.communicate(timeout=120)
    assert running.returncode != 0, told
    assert left_by(out) == []
    assert stithy.drives() == []
    assert stithy.registered() == []


def _programs(stithy: Stithy) -> list[int]:
    """The programs of this test's own runs."""
    found = [find(folder) for folder in stithy.drives()]
    assert found
    return [each.pid for each in found if each is not None]
