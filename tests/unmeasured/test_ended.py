"""Real runs that end before their time: by a person, a kill, a full disk; each can be cleaned."""

import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from support.running import (
    PATIENCE_S,
    Stithy,
    entries,
    left_by,
    manifest,
    seconds_measured,
    wait_for,
    window_row,
    write_study,
)

pytestmark = pytest.mark.needs_postgresql


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


MOMENTS: dict[str, Callable[[Path], object]] = {
    "while loading": lambda out: entries(out, "creating", kind="shared-memory"),
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
    master = out / "master-copy"
    files = {path for path in out.rglob("*") if path.is_file()}
    results = {path for path in files if master not in path.parents}
    cleaned = stithy.run("clean")
    assert cleaned.returncode == 0, cleaned.stderr
    assert not master.exists()
    assert left_by(out) == []
    assert stithy.registered() == []
    assert [path.name for path in (place / "a").iterdir()] == ["precious.txt"]
    assert results <= {path for path in out.rglob("*") if path.is_file()}
    assert stithy.run("clean").stdout == "Nothing to clean.\n"


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
    # The master copy of the database lies beside the results.
    options = ["-t", "tmpfs", "-o", "size=600m,mode=755"]
    subprocess.run(["mount", *options, "tmpfs", str(results)], check=True)
    try:
        out = results / "out"
        process = stithy.start("run", study, "--out", out)
        wait_for(lambda: seconds_measured(out, "w-a-u1-b0") >= 1, process)
        with (results / "filler").open("wb", buffering=0) as filler:
            for size in (2**20, 512):
                with suppress(OSError):
                    while True:
                        filler.write(bytes(size))
        stdout, stderr = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 4, stderr
        assert "make room" in stderr
        assert "bug" not in stderr
        assert left_by(out) == []
        assert stithy.registered() == []
    finally:
        subprocess.run(["umount", str(results)], check=True)
