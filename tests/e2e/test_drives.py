"""Studies on emulated drives, from nothing to a report, and from a kill to the end."""

import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl
import pytest

from stithy.drives.program import find
from stithy.exits import Exit
from stithy.results.hlog import read_hlog
from stithy.results.layout import RunDirectory
from support.html_page import page_text
from support.running import (
    Stithy,
    entries,
    left_by,
    manifest,
    seconds_measured,
    wait_for,
    write_study,
)

pytestmark = [pytest.mark.needs_drive, pytest.mark.needs_postgresql]

PLAIN = "{drive: generic-nvme}"


def roles(backing: Path) -> str:
    """A drive for each role, on three kinds of file systems, one of them in a file."""
    return (
        "{drives: {"
        f"data: {{drive: generic-sata, backing: {backing}}}, "
        "log: {drive: generic-nvme, filesystem: xfs, size: 1 GiB}, "
        "temp: {drive: generic-nvme, scale: 1/8}, "
        "backup: {drive: gp3, filesystem: btrfs}}}"
    )


def test_a_study_with_a_drive_for_each_role_is_measured_and_leaves_nothing(
    stithy: Stithy, place: Path
) -> None:
    """Both candidates have valid or explained windows; what was emulated is in the results."""
    (place / "images").mkdir()
    study = write_study(
        place / "s.yaml", {"one": PLAIN, "each": roles(place / "images")}, users=(2,)
    )
    out = place / "out"
    finished = stithy.run("run", study, "--out", out)
    # Where CPUs are busy a drive may be slower than its profile: such a window is invalid.
    assert finished.returncode in (Exit.OK, Exit.INVALID), finished.stderr
    told = {each["name"]: each["drives"] for each in manifest(out)["candidates"]}
    assert [each["role"] for each in told["each"]] == ["data", "log", "temp", "backup"]
    assert [each["filesystem"] for each in told["each"]] == ["ext4", "xfs", "ext4", "btrfs"]
    assert told["each"][2]["scale"] == 8
    assert 'name = "generic-nvme"' in told["one"][0]["profile"]
    assert told["one"][0]["transport_s"] > 0
    assert_measured(out, {"one": ["data"], "each": ["backup", "data", "log", "temp"]})
    assert "EMULATED drives: one = generic-nvme" in page_text(RunDirectory(out).page)
    assert left_by(out) == []
    assert list((place / "images").iterdir()) == []
    assert stithy.drives() == []
    assert stithy.registered() == []


def assert_measured(out: Path, drives: Mapping[str, list[str]]) -> None:
    """Each drive has its counters, samples and log; the log's drive got what the log wrote."""
    for candidate, names in drives.items():
        window = RunDirectory(out).window(f"w-{candidate}-u2-b0")
        rows = pl.read_parquet(window.table("drives"))
        assert sorted(set(rows["role"])) == names
        writer = "log" if "log" in names else "data"
        flushes = rows.filter((pl.col("role") == writer) & (pl.col("operation") == "flush"))
        assert flushes["answered"][0] > 10
        assert flushes["latency_p50_s"][0] > 0
        series = pl.read_parquet(window.table("series")).filter(pl.col("collector") == "drive")
        assert {f"{name}:read" for name in names} <= set(series["subject"])
        for name in names:
            assert read_hlog(RunDirectory(out).drives / f"{candidate}.{name}.latency.hlog")
    restores = pl.read_parquet(RunDirectory(out).table("restores"))
    assert restores["identical"].all()


NOT_FINISHED = "its master copy had not been finished"
GONE = "its master copy is gone: what it lay on was removed, or is made anew"
RESUMED: dict[str, tuple[tuple[int, ...], Callable[[Path], object]]] = {
    NOT_FINISHED: ((1,), lambda out: entries(out, "drives-unpaced")),
    GONE: ((1, 2), lambda out: seconds_measured(out, "w-a-u2-b0") >= 1),
}
"""Levels, and the moment of the kill: while the database is loaded, and in the second window; by
what is told."""


@pytest.mark.parametrize("because", RESUMED)
def test_a_killed_run_on_drives_is_resumed_on_drives_made_anew(
    stithy: Stithy, place: Path, because: str
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
    [lost] = entries(out, "master-lost")
    assert lost.facts["because"] == because
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
    making = [entry.facts for entry in entries(out, "making")]
    folders = [Path(each["facts"]["folder"]) for each in making if each["kind"] == "drive"]
    found = [program for folder in folders if (program := find(folder))]
    assert found
    return set().union(*(os.sched_getaffinity(each.pid) for each in found))
