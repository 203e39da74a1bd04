"""A second opinion on whether a drive is a disk: fio writes, reads back and compares."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from stithy.drives import program
from stithy.drives.spec import DriveSpec, File, Memory

pytestmark = pytest.mark.needs_drive

MIB = 2**20
JOBS = 4
SIZE_BYTES = 64 * MIB


def fio(device: str, place: Path, *options: str) -> dict[str, object]:
    """Run fio on a device, in `place`, and give what it tells; fails on a wrong block."""
    if shutil.which("fio") is None:
        pytest.skip("fio was not found: install fio")
    common = ["--output-format=json", "--direct=1", f"--filename={device}", "--group_reporting"]
    done = subprocess.run(["fio", *common, *options], capture_output=True, text=True, cwd=place)
    assert done.returncode == 0, done.stdout + done.stderr
    [job] = json.loads(done.stdout[done.stdout.index("{") :])["jobs"]
    assert job["error"] == 0
    told: dict[str, object] = job
    return told


@pytest.mark.parametrize("backing", ["memory", "file"])
def test_fio_reads_back_what_it_wrote(backing: str, disk_place: Path) -> None:
    """Four jobs with 16 requests under way each, of 4 KiB to 1 MiB, with flushes, checksummed."""
    lies = Memory() if backing == "memory" else File(disk_place / "image")
    spec = DriveSpec("disk", None, JOBS * SIZE_BYTES, backing=lies)
    drives = program.start([spec], disk_place / "drives", hold_off_idle=False)
    try:
        told = fio(
            drives.devices["disk"],
            disk_place,
            "--name=verify",
            "--rw=randwrite",
            "--ioengine=libaio",
            "--iodepth=16",
            f"--numjobs={JOBS}",
            f"--size={SIZE_BYTES}",
            f"--offset_increment={SIZE_BYTES}",
            "--bssplit=4k/60:64k/30:1m/10",
            "--fsync=32",
            "--verify=crc32c",
            "--verify_fatal=1",
            "--do_verify=1",
            "--randseed=1",
        )
    finally:
        drives.stop()
    read, written = told["read"], told["write"]
    assert isinstance(read, dict)
    assert isinstance(written, dict)
    assert read["io_bytes"] == written["io_bytes"] == JOBS * SIZE_BYTES
