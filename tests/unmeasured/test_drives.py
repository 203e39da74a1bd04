"""Runs on emulated drives that end before their time, and go back to nothing or go on."""

import os
import signal
from pathlib import Path

import pytest

from stithy.drives.program import find
from stithy.results.hlog import read_hlog
from stithy.results.layout import RunDirectory
from support.running import (
    ROWS,
    Stithy,
    entries,
    manifest,
    measures,
    seconds_measured,
    wait_for,
    window_row,
    write_study,
)

pytestmark = [pytest.mark.needs_drive, pytest.mark.needs_postgresql]
PLAIN = "{drive: generic-nvme}"


def test_a_killed_run_is_cleaned(stithy: Stithy, place: Path) -> None:
    """While a drive comes up.

    test_storage.py kills and cleans a run in a window, real/drives/test_by_hand.py what had just
    mounted a drive.
    """
    study = write_study(place / "s.yaml", {"a": PLAIN, "b": PLAIN}, users=(1,))
    out = place / "out"
    stithy.kill(lambda: entries(out, "creating", kind="drive"), "run", study, "--out", out)
    cleaned = stithy.run("clean")
    assert cleaned.returncode == 0, cleaned.stdout + cleaned.stderr
    stithy.assert_nothing_left(out)


def test_a_dead_drive_ends_the_run(stithy: Stithy, place: Path) -> None:
    """I/O errors instead of a hung machine."""
    study = write_study(place / "s.yaml", {"a": PLAIN}, users=(1,), duration="8 s", data=ROWS)
    out = place / "out"
    running = stithy.start("run", study, "--out", out)
    wait_for(lambda: measures(out), running)
    programs = [each.pid for folder in stithy.drives() if (each := find(folder))]
    assert programs
    for pid in programs:
        os.kill(pid, signal.SIGKILL)
    _, shown = running.communicate(timeout=120)
    assert running.returncode != 0, shown
    stithy.assert_nothing_left(out)


def test_a_run_killed_twice_is_resumed(stithy: Stithy, place: Path) -> None:
    """While the database is loaded, and in the second window, whose master copy outlives the
    drives. Those that were up go with what they held; the logs of all sessions are kept.
    """
    study, out = place / "s.yaml", place / "out"
    write_study(study, {"a": PLAIN}, duration="3 s", data=ROWS)

    def apart(is_the_moment: bool) -> bool:
        """At that moment drives and server have no CPU in common."""
        if is_the_moment:
            programs = [find(folder) for folder in stithy.drives()]
            cpus = [os.sched_getaffinity(program.pid) for program in programs if program]
            assert cpus
            assert not set().union(*cpus) & set(manifest(out)["database"]["cpus"] or ())
        return is_the_moment

    stithy.kill(lambda: apart(bool(entries(out, "drives-unpaced"))), "run", study, "--out", out)
    stithy.kill(lambda: apart(seconds_measured(out, "w-a-u2-b0") >= 1), "resume", out)
    stithy.run_well("resume", out)
    assert [each["end"] for each in manifest(out)["sessions"]] == ["killed", "killed", "finished"]
    [lost] = entries(out, "master-lost")
    assert lost.facts["because"] == "its master copy had not been finished"
    assert all(window_row(out, each)["complete"] for each in manifest(out)["plan"]["windows"])
    log = Path("a.data.latency.hlog")
    for session in ("", "session-2", "session-3"):
        assert read_hlog(RunDirectory(out).drives / session / log)
    stithy.assert_nothing_left(out)
