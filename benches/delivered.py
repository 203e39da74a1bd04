"""What a database gets of emulated drives: `benches/delivered.py`, as root, on a quiet machine.

4 users of PostgreSQL without pauses, one short window on generic-sata and one on generic-nvme. For
each operation: what the profile asked at that load, what the drive answered, and what the kernel
counted on the block device, without the flushes that it counts as writes. Then a control on a disk
of this machine: single direct writes beside bursts of write-back, by the same counters.
"""

import mmap
import os
import sys
import tempfile
from pathlib import Path

import polars as pl

from stithy.hosts.devices import DiskCounters, average_times_s, list_devices_under, parse_diskstats
from studies import stithy

STUDY = """
study: What does a database get of emulated drives?
candidates:
  sata: {drive: generic-sata}
  nvme: {drive: generic-nvme}
database: {engine: postgresql, memory: 384 MiB, settings: {shared_buffers: 128MB}}
workload: {name: order-entry, warehouses: 3}
load: {users: [4], ramp_up: 5 s, duration: 15 s, repeat: 1}
"""
PAGE = 4096
BURST = 64
BURSTS = 40


def main() -> int:
    """Print both tables; 1 where the study gave no windows."""
    with tempfile.TemporaryDirectory(prefix="stithy-delivered-", dir="/var/tmp") as place:
        folder = Path(place)
        (folder / "study.yaml").write_text(STUDY)
        out = folder / "out"
        done = stithy(folder, "run", folder / "study.yaml", "--out", out)
        tables = sorted(out.glob("windows/*/drives.parquet"))
        if not tables:
            print(done.stdout, done.stderr, file=sys.stderr)
            return 1
        print(
            f"{'window':14} {'operation':9} {'count':>8} {'asked':>8} {'drive':>8} {'block':>8}  µs"
        )
        for table in tables:
            _tell(pl.read_parquet(table))
        control(folder)
    return 0


def _tell(frame: pl.DataFrame) -> None:
    for row in frame.filter(pl.col("device_mean_s").is_not_null()).iter_rows(named=True):
        asked_s = row["device_mean_s"] - (row["added_mean_s"] or 0.0)
        times = (asked_s, row["latency_mean_s"] or 0.0, row["device_mean_s"])
        shown = " ".join(f"{1e6 * each:8.1f}" for each in times)
        print(f"{row['window_id']:14} {row['operation']:9} {row['answered']:8} {shown}")


def control(folder: Path) -> None:
    """Single direct writes beside bursts of write-back on the disk under a folder."""
    names = list_devices_under(folder, Path("/proc"), Path("/sys"))
    if not names:
        print("no block device under /var/tmp: no control")
        return
    path, size = folder / "control", BURST * BURSTS * 16 * PAGE
    path.write_bytes(bytes(size))
    os.sync()
    for name, write in (("single", _singly), ("in bursts", _in_bursts)):
        before = _counted(names[-1])
        write(path)
        after = _counted(names[-1])
        mean_s = average_times_s(before, after, BURST * BURSTS)["write"]
        print(f"control on {names[-1]}: writes {name}: {1e6 * (mean_s or 0.0):.1f} µs")


def _counted(name: str) -> DiskCounters:
    return parse_diskstats(Path("/proc/diskstats").read_bytes(), [name.encode()])[name]


def _singly(path: Path) -> None:
    """As a log is written: each waits for the one before it."""
    handle = os.open(path, os.O_WRONLY | os.O_DIRECT)
    page = mmap.mmap(-1, PAGE)
    for n in range(BURST * BURSTS):
        os.pwrite(handle, page, n * 16 * PAGE)
    os.close(handle)


def _in_bursts(path: Path) -> None:
    """As checkpoints are: scattered pages in the cache, handed on at once."""
    handle = os.open(path, os.O_WRONLY)
    for burst in range(BURSTS):
        for n in range(BURST):
            os.pwrite(handle, bytes(PAGE), (burst * BURST + n) * 16 * PAGE)
        os.fdatasync(handle)
    os.close(handle)


if __name__ == "__main__":
    raise SystemExit(main())
