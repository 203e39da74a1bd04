"""`stithy drive` as a person types it, with real drives: from up to down, and killed on the way."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from stithy.cli import app
from stithy.drives import filesystems, places
from stithy.drives.program import drive_named, find, remove
from stithy.hosts.devices import mounts
from stithy.hosts.processes import end
from stithy.run.cleanup.register import all_registered
from stithy.storage.copy import sync_filesystem

PYTHON = Path(__file__).resolve().parents[3] / "python"

pytestmark = pytest.mark.needs_drive


@pytest.fixture
def place(disk_place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with a register of its own, empty at the end."""
    monkeypatch.setenv("STITHY_STATE", str(disk_place / "state"))
    yield disk_place
    for folder in places.all_folders():
        remove(folder)


def mounted(point: Path) -> bool:
    """Whether something is mounted there."""
    return any(each.point == point for each in mounts())


def stithy(*words: str) -> None:
    """A command that must succeed."""
    assert app.run(["drive", *words]) == 0


def test_a_drive_from_up_to_down(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its device is printed; it is mounted, listed, broken, mended, and goes without a trace."""
    point = place / "mnt"
    words = ["--size", "256MiB", "--scale", "1/8", "--mount", str(point), "--name", "fast"]
    stithy("up", "generic-nvme", *words)
    device = capsys.readouterr().out.strip()
    assert Path(device).is_block_device()
    assert mounted(point)
    stithy("list")
    row = capsys.readouterr().out.splitlines()[1]
    assert row.split()[:2] == ["fast", device]
    assert "generic-nvme 1/8" in row
    assert str(point) in row
    stithy("fault", "fast", "slow", "--factor", "2")
    stithy("fault", "fast", "none")
    stithy("set", "fast", "--paced", "off")
    (point / "file").write_text("x")
    stithy("stats", "fast", "--json")
    counted = json.loads(capsys.readouterr().out)[0]
    assert not counted["paced"]
    stithy("down", "fast")
    assert not mounted(point)
    assert not point.exists()
    assert places.all_folders() == []


def test_a_name_is_taken_until_the_drive_is_down(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The one that is up is left alone."""
    stithy("up", "none", "--size", "16MiB")
    assert app.run(["drive", "up", "none", "--size", "16MiB"]) == 2
    assert "a drive of this name is already up" in capsys.readouterr().err
    stithy("up", "none", "--size", "16MiB", "--name", "other")
    stithy("down", "--all")
    assert places.all_folders() == []


def test_an_image_keeps_the_file_system_that_it_holds(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Brought up again it is mounted as it is; another kind in its place is refused."""
    point = place / "mnt"
    words = ["none", "--size", "64MiB", "--backing", str(place / "a.img"), "--mount", str(point)]
    stithy("up", *words)
    (point / "file").write_text("kept")
    stithy("down", "none")
    stithy("up", *words)
    assert (point / "file").read_text() == "kept"
    stithy("down", "none")
    assert app.run(["drive", "up", *words, "--filesystem", "xfs"]) == 2
    assert "the image holds ext4, which would be lost" in capsys.readouterr().err
    assert places.all_folders() == []


def test_a_file_system_that_does_not_fit_leaves_no_drive(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What its maker says is told."""
    words = ["--size", "1MiB", "--mount", str(place / "mnt"), "--filesystem", "btrfs"]
    assert app.run(["drive", "up", "none", *words]) == 4
    assert "btrfs could not be created" in capsys.readouterr().err
    assert places.all_folders() == []
    assert not (place / "mnt").exists()


def test_a_profile_with_problems_tells_them_all(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With file, line, value and remedy; nothing is brought up."""
    path = place / "mine.toml"
    path.write_text('version = 1\nname = "mine"\nchannels = 0\n[read]\np50_us = -3\n')
    assert app.run(["drive", "up", str(path)]) == 2
    shown = capsys.readouterr().err
    assert f"{path}:3: channels: is impossible: 0" in shown
    assert f"{path}:5: read.p50_us: is impossible: -3" in shown
    assert "    3 | channels = 0" in shown
    assert places.all_folders() == []


def test_a_drive_that_somebody_else_mounted_stays(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The mount point is named."""
    stithy("up", "none", "--size", "64MiB")
    device, point = capsys.readouterr().out.strip(), place / "mnt"
    filesystems.make(device, "ext4")
    point.mkdir()
    filesystems.mount(device, point, "ext4")
    assert app.run(["drive", "down", "none"]) == 3
    assert f"it is mounted at {point}: unmount it first" in capsys.readouterr().err
    filesystems.unmount(point)
    stithy("down", "none")


def test_a_trace_of_real_requests_becomes_parquet(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row a request; a trace that would trace itself is refused."""
    point, parquet = place / "mnt", place / "data.parquet"
    stithy("up", "none", "--size", "64MiB", "--mount", str(point))
    assert app.run(["drive", "trace", "none", str(point / "x")]) == 2
    assert "each write of the trace would be traced" in capsys.readouterr().err
    stithy("trace", "none", str(place / "data.trace"))
    (point / "file").write_bytes(b"x" * 2**20)
    sync_filesystem(point)
    stithy("trace", "none", "--stop", "--json")
    counts = json.loads(capsys.readouterr().out)
    stithy("convert-trace", str(place / "data.trace"), str(parquet))
    rows = pl.read_parquet(parquet)
    assert len(rows) == counts["written"] > 0
    written = rows.filter(pl.col("operation") == "write")["length_bytes"].sum()
    assert written >= 2**20
    assert "flush" in rows["operation"]


def test_what_a_killed_drive_left_is_cleaned(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Mounted or not; a drive that is up is left alone."""
    point = place / "mnt"
    stithy("up", "none", "--size", "64MiB", "--mount", str(point))
    stithy("up", "none", "--size", "16MiB", "--name", "other")
    killed = find(places.folder_of("none"))
    assert killed is not None
    end([killed.pid], signal.SIGKILL)
    capsys.readouterr()
    stithy("list")
    assert "its program was killed" in capsys.readouterr().out
    assert app.run(["clean"]) == 0
    assert capsys.readouterr().out == "drive none: removed everything that it left\n"
    assert not mounted(point)
    assert [each.name for each in places.all_folders()] == ["other"]
    assert find(places.folder_of("other")) is not None


# A run that has a drive, mounted and written down as a provider does it, and is then killed.
KILLED_RUN = """
import os, signal, sys
from pathlib import Path
from stithy.clock import SystemClock
from stithy.drives import filesystems, places, program
from stithy.drives.spec import DriveSpec
from stithy.run.cleanup.register import Register

point = Path(sys.argv[1])
register = Register("r1", point.parent, SystemClock())
folder = places.folder_of("nvme", "r1")
register.creating("drive", {"folder": str(folder)})
up = program.start([DriveSpec("data", None, 64 * 2**20)], folder, run_id="r1")
device = up.devices["data"]
register.creating("directory", {"path": str(point)})
point.mkdir()
filesystems.make(device, "ext4")
register.creating("mount", {"path": str(point), "device": device})
filesystems.mount(device, point, "ext4")
(point / "file").write_text("dirty")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_drives_of_a_killed_run_are_cleaned(place: Path) -> None:
    """Mount, folder and drive are unmade in their order, though the drive stalls."""
    point = place / "mnt"
    environment = {**os.environ, "PYTHONPATH": str(PYTHON)}
    run = subprocess.run([sys.executable, "-c", KILLED_RUN, str(point)], env=environment)
    assert run.returncode == -signal.SIGKILL
    assert mounted(point)
    assert drive_named("data").full_name == "r1.nvme/data"
    assert app.run(["drive", "down", "data"]) == 3
    stithy("fault", "data", "stall", "--duration", "1h")
    assert app.run(["clean"]) == 0
    assert not point.exists()
    assert places.all_folders() == []
    assert all_registered() == []
