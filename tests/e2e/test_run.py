"""A study from its file to its report, and bad days on the way: each leaves nothing behind."""

import os
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from stithy.hosts.processes import pids_inside, pids_of_run
from stithy.results.layout import RunDirectory
from support.html_page import page_text
from support.plain_log import buckets
from support.running import (
    PATIENCE_S,
    Stithy,
    entries,
    hammer_of,
    left_by,
    manifest,
    seconds_measured,
    wait_for,
    window_row,
    write_study,
)

pytestmark = pytest.mark.needs_postgresql


def postmaster(data: Path) -> int:
    """Process id of the server on a data directory."""
    return int((data / "postmaster.pid").read_text().splitlines()[0])


def program_of(pid: int) -> str:
    """The program's file."""
    return os.readlink(f"/proc/{pid}/exe")


def times_in_table(out: Path, row: dict[str, Any]) -> dict[tuple[str, int], int]:
    """How often which response time was measured, by type and microseconds."""
    table = pl.read_parquet(RunDirectory(out).window(row["window_id"]).table("histograms"))
    rows = table.filter(pl.col("kind") == "response").iter_rows(named=True)
    return {(each["transaction"], round(each["lowest_s"] * 1e6)): each["count"] for each in rows}


def times_in_log(out: Path, row: dict[str, Any]) -> dict[tuple[str, int], int]:
    """The same as another reader finds it in the hammer's own log."""
    stem = RunDirectory(out).window(row["window_id"]).hlog_stem
    found: Counter[tuple[str, int]] = Counter()
    for each in buckets(stem.with_name(f"{stem.name}.response.hlog")):
        if row["measure_from_s"] - 0.001 <= each.at_s < row["measure_to_s"] - 0.001:
            found[each.tag, each.low_us] += each.count
    return dict(found)


def test_a_small_study_goes_from_its_file_to_its_report(
    stithy: Stithy, place: Path, disk_place: Path
) -> None:
    """Every window is there, every restore is proven, all conditions hold, nothing is left."""
    study = write_study(place / "study.yaml", {"a": disk_place / "a", "b": place / "b"})
    (place / "b").mkdir()
    out = place / "out"
    ended = stithy.run("run", study, "--out", out)
    assert ended.returncode == 0, ended.stderr
    assert str(out / "report.html") in ended.stdout
    assert RunDirectory(out).study.read_bytes() == study.read_bytes()
    restores = pl.read_parquet(RunDirectory(out).table("restores"))
    assert restores["window_id"].n_unique() == 4
    assert restores["identical"].all()
    conditions = pl.read_parquet(RunDirectory(out).table("conditions"))
    assert set(conditions["moment"]) == {"load", "end"}
    assert conditions["holds"].all()
    for window_id in manifest(out)["plan"]["windows"]:
        row = window_row(out, window_id)
        assert row["complete"], row["missing_because"]
        assert row["new_orders"] > 0
        grown = row["order_numbers_after"] - row["order_numbers_before"]
        assert grown == row["new_orders_acknowledged"]
        assert times_in_table(out, row) == times_in_log(out, row) != {}
    assert manifest(out)["end"] == "finished"
    assert left_by(out) == []
    assert stithy.registered() == []
    assert not (disk_place / "a").exists()
    assert list((place / "b").iterdir()) == []


def test_ctrl_c_ends_a_run_cleanly_with_a_report_of_what_there_is(
    stithy: Stithy, place: Path
) -> None:
    """The window under way is there as incomplete, with the reason."""
    study = write_study(place / "study.yaml", {"a": place / "a"}, users=[1, 2], duration="60 s")
    out = place / "out"
    process = stithy.start("run", study, "--out", out)
    wait_for(lambda: seconds_measured(out, "w-a-u1-b0") >= 2, process)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, stderr
    assert "finishing" in stderr
    assert (out / "report.html").exists()
    assert str(out / "report.html") in stdout
    row = window_row(out, "w-a-u1-b0")
    assert not row["complete"]
    assert row["missing_because"] == "stopped by a person"
    assert manifest(out)["end"] == "interrupted"
    assert left_by(out) == []
    assert stithy.registered() == []


def test_a_server_or_hammer_that_is_killed_costs_its_window_only(
    stithy: Stithy, place: Path
) -> None:
    """The window is invalid with the reason and measured once more, the run goes on."""
    study = write_study(place / "study.yaml", {"a": place / "a"}, users=[1, 2, 3], duration="3 s")
    out = place / "out"
    process = stithy.start("run", study, "--out", out)
    wait_for(lambda: seconds_measured(out, "w-a-u1-b0") >= 1, process)
    os.kill(postmaster(place / "a/data"), signal.SIGKILL)
    wait_for(lambda: seconds_measured(out, "w-a-u2-b0") >= 1, process)
    os.kill(hammer_of(out), signal.SIGKILL)
    stdout, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, stderr
    server, hammer, other = (window_row(out, f"w-a-u{users}-b0") for users in (1, 2, 3))
    assert not server["complete"]
    assert "the server was ended by SIGKILL" in server["missing_because"]
    assert not hammer["complete"]
    assert "was ended by SIGKILL without a summary" in hammer["missing_because"]
    assert other["complete"]
    for users in (1, 2):
        again = window_row(out, f"w-a-u{users}-b0-again")
        assert (again["complete"], again["attempt"], again["block"]) == (True, 1, 0)
    added = [entry.facts["because"] for entry in entries(out, "windows-added")]
    assert [why for why in added if "w-a-u3" not in why] == [
        f"the block is measured once more, for this is invalid: w-a-u{users}-b0 (no numbers)"
        for users in (1, 2)
    ]
    assert "added: the block is measured once more" in stderr
    assert "Block 0 at 1 user" in page_text(RunDirectory(out).page)
    assert left_by(out) == []


def test_a_closed_terminal_ends_a_run_cleanly(stithy: Stithy, place: Path, hang_up: None) -> None:
    """As Ctrl-C does: SIGHUP must not leave servers behind."""
    study = write_study(place / "study.yaml", {"a": place / "a"}, users=[1], duration="60 s")
    out = place / "out"
    process = stithy.start("run", study, "--out", out)
    wait_for(lambda: seconds_measured(out, "w-a-u1-b0") >= 1, process)
    assert process.stderr is not None
    process.stderr.close()
    process.send_signal(signal.SIGHUP)
    assert process.wait(PATIENCE_S) == 130
    assert manifest(out)["end"] == "interrupted"
    assert left_by(out) == []


def test_a_hammer_that_is_held_costs_its_window_only(stithy: Stithy, place: Path) -> None:
    """SIGSTOP must not hold the run for ever."""
    study = write_study(place / "study.yaml", {"a": place / "a"}, users=[1, 2], duration="3 s")
    out = place / "out"
    process = stithy.start("run", study, "--out", out)
    wait_for(lambda: seconds_measured(out, "w-a-u1-b0") >= 1, process)
    [run_id] = [entry.facts["run_id"] for entry in entries(out, "run-started")]
    hammers = [pid for pid in pids_of_run(run_id) if "stithy-hammer" in program_of(pid)]
    for pid in hammers:
        os.kill(pid, signal.SIGSTOP)
    stdout, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, stderr
    held, other = window_row(out, "w-a-u1-b0"), window_row(out, "w-a-u2-b0")
    assert "was held by a signal" in held["missing_because"]
    assert other["complete"]
    assert left_by(out) == []


MOMENTS: dict[str, Callable[[Path], object]] = {
    "while loading": lambda out: entries(out, "making", kind="shared-memory"),
    "while restoring": lambda out: entries(out, "step-started", kind="restore"),
    "in a window": lambda out: seconds_measured(out, "w-a-u1-b0") >= 1,
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_stithy_leaves_nothing_that_clean_does_not_remove(
    stithy: Stithy, place: Path, moment: str
) -> None:
    """Servers, hammers, sockets, groups and files go; the results and the user's files stay."""
    (place / "a").mkdir()
    study = write_study(place / "study.yaml", {"a": place / "a"}, users=[1], duration="60 s")
    out = place / "out"
    process = stithy.start("run", study, "--out", out)
    wait_for(lambda: MOMENTS[moment](out), process)
    process.kill()
    process.communicate()
    assert left_by(out) != []
    (place / "a/precious.txt").write_text("the user put this here meanwhile")
    results = {path for path in out.rglob("*") if path.is_file()}
    cleaned = stithy.run("clean")
    assert cleaned.returncode == 0, cleaned.stderr
    assert left_by(out) == []
    assert stithy.registered() == []
    assert [path.name for path in (place / "a").iterdir()] == ["precious.txt"]
    assert results <= {path for path in out.rglob("*") if path.is_file()}
    assert stithy.run("clean").stdout == "Nothing to clean.\n"


def test_what_a_killed_run_left_does_not_stop_the_next(stithy: Stithy, place: Path) -> None:
    """The next run cleans up first and uses the same directory."""
    study = write_study(place / "study.yaml", {"a": place / "a"}, users=[1], duration="1 s")
    process = stithy.start("run", study, "--out", place / "first")
    wait_for(lambda: entries(place / "first", "making", kind="shared-memory"), process)
    process.kill()
    process.communicate()
    ended = stithy.run("run", study, "--out", place / "second")
    assert ended.returncode == 0, ended.stderr
    assert left_by(place / "first") == []
    assert left_by(place / "second") == []
    assert not (place / "a").exists()


def test_kept_instances_go_on_until_clean(stithy: Stithy, place: Path) -> None:
    """Their URLs hold no password; the file that does is the owner's alone."""
    study = write_study(place / "study.yaml", {"a": place / "a"}, users=[1], duration="1 s")
    out = place / "out"
    ended = stithy.run("run", study, "--out", out, "--keep")
    assert ended.returncode == 0, ended.stderr
    [line] = [line for line in ended.stdout.splitlines() if "kept running" in line]
    passfile = Path(line.rpartition("passfile=")[2])
    assert passfile.stat().st_mode & 0o077 == 0
    password = passfile.read_text().rpartition(":")[2].strip()
    for path in out.rglob("*"):
        assert not path.is_file() or password.encode() not in path.read_bytes()
    assert pids_inside(place / "a/data", "postgres")
    checked = stithy.run("hammer", "check", line.rpartition("running: ")[2])
    assert checked.returncode == 0, checked.stdout + checked.stderr
    refused = stithy.run("run", study, "--out", place / "second")
    assert refused.returncode == 3
    assert "stithy clean" in refused.stderr
    assert stithy.run("clean").returncode == 0
    assert left_by(out) == []
    assert not (place / "a").exists()


@pytest.fixture
def small_volume(place: Path) -> Iterator[Path]:
    """A file system that just holds what the plan expects."""
    path = place / "small"
    path.mkdir()
    options = ["-t", "tmpfs", "-o", "size=640m,mode=755"]
    subprocess.run(["mount", *options, "tmpfs", str(path)], check=True)
    yield path
    subprocess.run(["umount", str(path)], check=True)


@pytest.mark.needs_root
def test_a_disk_that_runs_full_ends_the_run_with_its_name(
    place: Path, small_volume: Path, stithy: Stithy
) -> None:
    """The message says which candidate ran full in which window; nothing is left."""
    study = write_study(
        place / "study.yaml",
        {"roomy": place / "roomy", "small": small_volume / "x"},
        users=[4],
        duration="8 s",
    )
    out = place / "out"
    process = stithy.start("run", study, "--out", out)
    wait_for(lambda: seconds_measured(out, "w-small-u4-b0") >= 1, process)
    # The server writes meanwhile, so what is free cannot be known beforehand.
    with suppress(OSError), (small_volume / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(bytes(2**16))
    stdout, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 4, stderr
    assert f"candidate small: the file system of {small_volume}/x ran full" in stderr
    assert not window_row(out, "w-small-u4-b0")["complete"]
    assert (out / "report.html").exists()
    assert left_by(out) == []
    assert [path.name for path in small_volume.iterdir()] == ["filler"]


@pytest.mark.needs_root
def test_a_full_disk_under_the_results_ends_the_run_with_its_name(
    stithy: Stithy, place: Path
) -> None:
    """It is no bug of Stithy's, and the candidates are cleaned all the same."""
    study = write_study(place / "study.yaml", {"a": place / "a"}, users=[1], duration="30 s")
    results = place / "results"
    results.mkdir()
    options = ["-t", "tmpfs", "-o", "size=8m,mode=755"]
    subprocess.run(["mount", *options, "tmpfs", str(results)], check=True)
    try:
        out = results / "out"
        process = stithy.start("run", study, "--out", out)
        wait_for(lambda: seconds_measured(out, "w-a-u1-b0") >= 1, process)
        with suppress(OSError), (results / "filler").open("wb", buffering=0) as filler:
            while True:
                filler.write(bytes(512))
        stdout, stderr = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 4, stderr
        assert "make room" in stderr
        assert "bug" not in stderr
        assert left_by(out) == []
        assert stithy.registered() == []
    finally:
        subprocess.run(["umount", str(results)], check=True)
