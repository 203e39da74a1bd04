"""Runs on emulated drives that end before their time, and go back to nothing or go on."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from stithy.drives.program import find
from stithy.exits import Exit
from stithy.results.hlog import read_hlog
from stithy.results.layout import RunDirectory
from support.running import (
    Stithy,
    entries,
    left_by,
    manifest,
    measures,
    seconds_measured,
    wait_for,
    write_study,
)

pytestmark = [pytest.mark.needs_drive, pytest.mark.needs_postgresql]

PLAIN = "{drive: generic-nvme}"


MOMENTS = ("drive", "mount", "window")


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_on_drives_that_is_killed_can_be_cleaned(
    stithy: Stithy, place: Path, moment: str
) -> None:
    """While the drive comes up, while its file system does, and in a window."""
    study = write_study(place / "s.yaml", {"a": PLAIN, "b": PLAIN}, users=(1,), duration="30 s")
    out = place / "out"
    running = stithy.start("run", study, "--out", out)
    if moment == "window":
        wait_for(lambda: measures(out), running)
    else:
        wait_for(
            lambda: [e for e in entries(out, "creating") if e.facts["kind"] == moment], running
        )
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


NOT_FINISHED = "its master copy had not been finished"
RESUMED: dict[str | None, tuple[tuple[int, ...], Callable[[Path], object]]] = {
    NOT_FINISHED: ((1,), lambda out: entries(out, "drives-unpaced")),
    None: ((1, 2), lambda out: seconds_measured(out, "w-a-u2-b0") >= 1),
}
"""Levels, and the moment of the kill: while the database is loaded, and in the second window; by
why the master copy is lost. It lies beside the results, so that it outlives the drives."""


@pytest.mark.parametrize("because", RESUMED)
def test_a_killed_run_on_drives_is_resumed_on_drives_made_anew(
    stithy: Stithy, place: Path, because: str | None
) -> None:
    """Those that were up go with what they held; the logs of both sessions are kept."""
    users, is_the_moment = RESUMED[because]
    study = write_study(place / "s.yaml", {"a": PLAIN}, users=users)
    out = place / "out"
    running = stithy.start("run", study, "--out", out)
    wait_for(lambda: is_the_moment(out), running)
    assert not cpus_of_drives(out) & set(manifest(out)["database"]["cpus"] or ())
    os.kill(running.pid, signal.SIGKILL)
    running.communicate()
    resumed = stithy.run("resume", out)
    # Where CPUs are busy a drive may be slower than its profile: such a window is invalid.
    assert resumed.returncode in (Exit.OK, Exit.INVALID), resumed.stderr
    assert [each["end"] for each in manifest(out)["sessions"]] == ["killed", "finished"]
    lost = [entry.facts["because"] for entry in entries(out, "master-lost")]
    assert lost == ([because] if because else [])
    for window_id in manifest(out)["plan"]["windows"]:
        table = RunDirectory(out).window(window_id).table("window")
        assert pl.read_parquet(table)["complete"].all()
    first = RunDirectory(out).drives / "a.data.latency.hlog"
    assert read_hlog(first)
    assert read_hlog(first.parent / "session-2" / first.name)
    assert left_by(out) == []
    assert stithy.drives() == []
    assert stithy.registered() == []


def cpus_of_drives(out: Path) -> set[int]:
    """Numbers of the CPUs that the programs of the run's drives may use."""
    resource = [entry.facts for entry in entries(out, "creating")]
    folders = [Path(each["facts"]["folder"]) for each in resource if each["kind"] == "drive"]
    found = [program for folder in folders if (program := find(folder))]
    assert found
    return set().union(*(os.sched_getaffinity(each.pid) for each in found))
