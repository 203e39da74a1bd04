"""Requests of a real drive: written down as they were, and what was written is what is read.

fio gives a second opinion on whether a drive is a disk: it writes, reads back and compares.
"""

import json
import mmap
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from stithy.drives.control import DriveSpec
from stithy.drives.program import DriveProgram, start
from stithy.hosts.resources import join_io_group, leave_io_group
from stithy.results.hlog import merge, read_hlog
from support.drive_profile import drive

pytestmark = pytest.mark.needs_drive

SECTOR_BYTES = 4096
MIB = 2**20
JOBS = 4
SIZE_BYTES = 64 * MIB
VERIFY = (
    "--output-format=json --direct=1 --group_reporting --name=verify --rw=randwrite "
    f"--ioengine=libaio --iodepth=16 --numjobs={JOBS} --size={SIZE_BYTES} "
    f"--offset_increment={SIZE_BYTES} --bssplit=4k/60:64k/30:1m/10 --fsync=32 --verify=crc32c "
    "--verify_fatal=1 --do_verify=1 --randseed=1"
)


@contextmanager
def up(
    place: Path, size_bytes: int = 16 * MIB, profile: str | None = None, **more: Any
) -> Iterator[DriveProgram]:
    """A drive, which takes no time without a profile, until the end of the block."""
    spec = DriveSpec("disk", profile, size_bytes, **more)
    drives = start([spec], place / "drives", hold_off_idle=False)
    try:
        yield drives
    finally:
        drives.stop()


@contextmanager
def opened(drives: DriveProgram, flags: int = 0) -> Iterator[int]:
    """Its device, to be written to."""
    disk = os.open(drives.devices["disk"], os.O_WRONLY | flags)
    try:
        yield disk
    finally:
        os.close(disk)


@pytest.mark.parametrize("backing", ["memory", "file"])
def test_fio_reads_back_what_it_wrote(backing: str, disk_place: Path) -> None:
    """Four jobs with 16 requests under way each, of 4 KiB to 1 MiB, with flushes, checksummed."""
    if shutil.which("fio") is None:
        pytest.skip("fio was not found: install fio")
    lies = None if backing == "memory" else disk_place / "image"
    with up(disk_place, JOBS * SIZE_BYTES, backing=lies) as drives:
        command = ["fio", f"--filename={drives.devices['disk']}", *VERIFY.split()]
        done = subprocess.run(command, capture_output=True, text=True, cwd=disk_place)
    assert done.returncode == 0, done.stdout + done.stderr
    [job] = json.loads(done.stdout[done.stdout.index("{") :])["jobs"]
    assert job["error"] == 0
    assert job["read"]["io_bytes"] == job["write"]["io_bytes"] == JOBS * SIZE_BYTES


def test_the_interval_log_of_a_drive_is_read_as_all_others(disk_place: Path) -> None:
    """Its tags are operations, its seconds add up to the total, and both to what was counted."""
    stem = disk_place / "logged"
    with up(disk_place, hlog_stem=stem) as drives, opened(drives, os.O_DSYNC) as disk:
        for sector in range(20):
            os.pwrite(disk, bytes(SECTOR_BYTES), sector * SECTOR_BYTES)
    seconds = read_hlog(Path(f"{stem}.latency.hlog"))
    total = {each.tag: each.histogram for each in read_hlog(Path(f"{stem}.latency-total.hlog"))}
    writes = merge(second.histogram for second in seconds if second.tag == "write")
    assert {"write", "flush"} <= total.keys() <= {"read", "write", "flush", "discard"}
    assert writes is not None
    assert writes.count == total["write"].count == 20


FLUSHES = 10


def test_reads_wait_for_no_flush_outside_the_root_group(disk_place: Path) -> None:
    """One after the other there would be about two reads for each flush of 100 ms."""
    groups: list[Path] = []

    def write() -> None:
        with opened(drives, os.O_DSYNC) as disk:
            for sector in range(FLUSHES):
                os.pwrite(disk, bytes(SECTOR_BYTES), sector * SECTOR_BYTES)

    with up(disk_place, profile=drive(times_ms=(0.1, 0.2), flush_ms=100)) as drives:
        try:
            join_io_group(f"stithy-test-{os.getpid()}", groups.append)
            if not groups:
                pytest.skip("this process is in no root group of blkio")
            device = os.open(drives.devices["disk"], os.O_RDONLY | os.O_DIRECT)
            writer, reads = threading.Thread(target=write), 0
            writer.start()
            with mmap.mmap(-1, SECTOR_BYTES) as page:
                while writer.is_alive():
                    reads += os.preadv(device, [page], 8 * MIB) // SECTOR_BYTES
            os.close(device)
            assert reads > 10 * FLUSHES
        finally:
            for group in groups:
                leave_io_group(group)
    assert not any(group.exists() for group in groups)
