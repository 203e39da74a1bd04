"""The trace of a real drive, read back."""

import os
from pathlib import Path

import pytest

from stithy.drives import program
from stithy.drives.spec import DriveSpec
from stithy.drives.trace import read_trace

pytestmark = pytest.mark.needs_drive

SECTOR_BYTES = 4096


def test_every_request_is_in_the_trace(disk_place: Path) -> None:
    """What was written and synced is there, with its place and a time; as many as were counted."""
    spec = DriveSpec("traced", None, 16 * 2**20)
    drives = program.start([spec], disk_place / "drives", hold_off_idle=False)
    path = disk_place / "trace"
    try:
        drives.control.trace("traced", path)
        disk = os.open(drives.devices["traced"], os.O_WRONLY)
        for sector in (3, 1, 2):
            os.pwrite(disk, bytes(SECTOR_BYTES), sector * SECTOR_BYTES)
            os.fsync(disk)
        os.close(disk)
        counts = drives.control.trace("traced", None)
    finally:
        drives.stop()
    trace = read_trace(path)
    assert (trace.drive, trace.lost, trace.is_complete) == ("traced", 0, True)
    assert len(trace.requests) == counts.written
    of = trace.requests.partition_by("operation", as_dict=True)
    writes, flushes = of[("write",)], of[("flush",)]
    assert writes["offset_bytes"].to_list() == [n * SECTOR_BYTES for n in (3, 1, 2)]
    assert set(writes["length_bytes"]) == {SECTOR_BYTES}
    assert len(flushes) >= 3
    assert (trace.requests["latency_s"] >= 0).all()
    assert writes["arrived_s"].is_sorted()
