"""The trace and the interval log of a real drive, read back."""

import os
from pathlib import Path

import pytest

from stithy.drives import program
from stithy.drives.spec import DriveSpec
from stithy.drives.trace import read_trace
from stithy.results.hlog import merge, read_hlog

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


def test_the_interval_log_of_a_drive_is_read_as_all_others(disk_place: Path) -> None:
    """Its tags are operations, its seconds add up to the total, and both to what was counted."""
    stem = disk_place / "logged"
    spec = DriveSpec("logged", None, 16 * 2**20, hlog_stem=stem)
    drives = program.start([spec], disk_place / "drives", hold_off_idle=False)
    try:
        disk = os.open(drives.devices["logged"], os.O_WRONLY | os.O_DSYNC)
        for sector in range(20):
            os.pwrite(disk, bytes(SECTOR_BYTES), sector * SECTOR_BYTES)
        os.close(disk)
    finally:
        drives.stop()
    seconds = read_hlog(Path(f"{stem}.latency.hlog"))
    total = {each.tag: each.histogram for each in read_hlog(Path(f"{stem}.latency-total.hlog"))}
    writes = merge(each.histogram for each in seconds if each.tag == "write")
    assert {"write", "flush"} <= total.keys() <= {"read", "write", "flush", "discard"}
    assert writes is not None
    assert writes.count == total["write"].count == 20
