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
from stithy.drives import control as places
from stithy.drives import filesystems
from stithy.drives.program import find, find_drive, remove
from stithy.hosts.devices import list_mounts
from stithy.hosts.processes import end
from stithy.run.books import list_registered
from stithy.storage.copy import sync_filesystem

PYTHON = Path(__file__).resolve().parents[3] / "python"

pytestmark = pytest.mark.needs_drive
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def place(disk_place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with a register of its own, empty at the end."""
    monkeypatch.setenv("STITHY_STATE", str(disk_place / "state"))
    yield disk_place
    for folder in places.list_folders():
        remove(folder)


def mounted(point: Path) -> bool:
    """Whether something is mounted there."""
    return any(mount.point == point for mount in list_mounts())


def stithy(*words: str) -> None:
    """A command that must succeed."""
    assert app.run(["drive", *words]) == 0


def test_a_drive_from_up_to_down(place: Path, capsys: Captured) -> None:
    """Its device is printed; it is mounted, listed, broken, mended, and goes without a trace.

    Its name is taken until then. A row of its trace is a request; none may trace itself.
    """
    point, trace = place / "mnt", str(place / "data.trace")
    words = ["--size", "256MiB", "--scale", "1/8", "--mount", str(point), "--name", "fast"]
    stithy("up", "generic-nvme", *words)
    device = capsys.readouterr().out.strip()
    assert Path(device).is_block_device()
    assert mounted(point)
    assert app.run(["drive", "up", "none", "--size", "16MiB", "--name", "fast"]) == 2
    assert "a drive of this name is already up" in capsys.readouterr().err
    stithy("list")
    row = capsys.readouterr().out.splitlines()[1]
    assert row.split()[:2] == ["fast", device]
    assert "generic-nvme 1/8" in row
    assert str(point) in row
    stithy("fault", "fast", "drive-slow", "--factor", "2")
    stithy("fault", "fast", "heal")
    stithy("set", "fast", "--paced", "off")
    assert app.run(["drive", "trace", "fast", str(point / "x")]) == 2
    assert "each write of the trace would be traced" in capsys.readouterr().err
    stithy("trace", "fast", trace)
    (point / "file").write_bytes(b"x" * 2**20)
    sync_filesystem(point)
    stithy("trace", "fast", "--stop", "--json")
    counts = json.loads(capsys.readouterr().out)
    stithy("convert-trace", trace, str(place / "data.parquet"))
    rows = pl.read_parquet(place / "data.parquet")
    assert len(rows) == counts["written"] > 0
    assert rows.filter(operation="write")["length_bytes"].sum() >= 2**20
    assert "flush" in rows["operation"]
    stithy("stats", "fast", "--json")
    assert not json.loads(capsys.readouterr().out)[0]["paced"]
    stithy("up", "none", "--size", "16MiB", "--name", "other")
    stithy("down", "fast")
    assert not mounted(point)
    assert not point.exists()
    stithy("down", "--all")
    assert places.list_folders() == []


def test_an_image_keeps_the_file_system_that_it_holds(place: Path, capsys: Captured) -> None:
    """Brought up again it is mounted as it is; another kind, or one without room, is refused."""
    point = place / "mnt"
    words = ["none", "--size", "64MiB", "--backing", str(place / "a.img"), "--mount", str(point)]
    stithy("up", *words)
    (point / "file").write_text("kept")
    stithy("down", "none")
    stithy("up", *words)
    assert (point / "file").read_text() == "kept"
    stithy("down", "none")
    small = ["none", "--size", "1MiB", "--mount", str(point), "--filesystem", "btrfs"]
    for asked, code, shown in (
        ([*words, "--filesystem", "xfs"], 2, "the image holds ext4, which would be lost"),
        (small, 4, "btrfs could not be created"),
    ):
        assert app.run(["drive", "up", *asked]) == code
        assert shown in capsys.readouterr().err
        assert places.list_folders() == []
        assert not point.exists()


def test_a_drive_that_somebody_else_mounted_stays(place: Path, capsys: Captured) -> None:
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


def test_a_drive_that_a_program_has_open_stays(place: Path, capsys: Captured) -> None:
    """At once, before anything of it is taken down; the program is named."""
    stithy("up", "none", "--size", "16MiB")
    device = Path(capsys.readouterr().out.strip())
    with device.open("rb") as file, subprocess.Popen(["sleep", "60"], stdin=file) as user:
        try:
            assert app.run(["drive", "down", "none"]) == 3
            shown = capsys.readouterr().err
            stithy("stats", "none")
        finally:
            user.kill()
    assert f"{device} is open in sleep ({user.pid}): end what has it open first" in shown
    stithy("down", "none")


def test_what_a_killed_drive_left_is_cleaned(place: Path, capsys: Captured) -> None:
    """Mounted or not; a drive that is up is left alone."""
    point = place / "mnt"
    stithy("up", "none", "--size", "64MiB", "--mount", str(point))
    stithy("up", "none", "--size", "16MiB", "--name", "other")
    killed = find(places.get_folder("none"))
    assert killed is not None
    end([killed.pid], signal.SIGKILL)
    capsys.readouterr()
    stithy("list")
    assert "its program was killed" in capsys.readouterr().out
    assert app.run(["clean"]) == 0
    assert capsys.readouterr().out == "drive none: removed everything that it left\n"
    assert not mounted(point)
    assert [all_folder.name for all_folder in places.list_folders()] == ["other"]
    assert find(places.get_folder("other")) is not None


# A run that has a drive, mounted and written down as a provider does it, and is then killed.
KILLED_RUN = """
import os, signal, sys
from pathlib import Path
from stithy.clock import SystemClock
from stithy.drives import control as places, filesystems, program
from stithy.drives.control import DriveSpec
from stithy.run.books import Register

point = Path(sys.argv[1])
register = Register("r1", point.parent, SystemClock())
folder = places.get_folder("nvme", "r1")
register.register_creation("drive", {"folder": str(folder)})
up = program.start([DriveSpec("data", None, 64 * 2**20)], folder, run_id="r1")
device = up.devices["data"]
register.register_creation("directory", {"path": str(point)})
point.mkdir()
filesystems.make(device, "ext4")
register.register_creation("mount", {"path": str(point), "device": device})
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
    assert find_drive("data").full_name == "r1.nvme/data"
    assert app.run(["drive", "down", "data"]) == 3
    stithy("fault", "data", "drive-hung", "--duration", "1h")
    assert app.run(["clean"]) == 0
    assert not point.exists()
    assert places.list_folders() == []
    assert list_registered() == []
