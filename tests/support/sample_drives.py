"""An emulated drive of a synthetic run, and what it did in a window."""

from typing import Any

from stithy.results.manifest import DriveFacts

Row = dict[str, Any]

PROFILE = (
    'version = 1\nname = "sample-ssd"\ntitle = "a drive with <b>no</b> markup"\n'
    "capacity_bytes = 1\nchannels = 8\n[read]\np50_us = 120\np99_us = 360\n"
    "[write]\np50_us = 55\n[flush]\ncost_us = 40\n"
)


def sample_drive() -> DriveFacts:
    """A drive at scale 1/8 of which two numbers are assumed."""
    return DriveFacts(
        role="data", device="/dev/loop7", profile_name="sample-ssd", title="an SSD for samples",
        profile=PROFILE, assumed=("write", "flush"), scale=8.0, size_bytes=2**31,
        sector_bytes=4096, filesystem="ext4", mount_options="rw,noatime", backing="memory", seed=1,
        transport="fuse", transport_s=12e-6, spin_s=50e-6,
    )  # fmt: skip


def drive_rows(window_id: str, late_share: float) -> list[Row]:
    """Rows of the `drives` table: reads, writes, flushes, then all."""
    counts = {"read": 30_000, "write": 60_000, "flush": 10_000, "all": 100_000}
    return [_row(window_id, name, count, late_share) for name, count in counts.items()]


def _row(window_id: str, operation: str, answered: int, late_share: float) -> Row:
    middle = {"read": 120e-6, "write": 110e-6, "flush": 80e-6, "all": 110e-6}[operation]
    factors = {
        "mean": 1.1, "min": 0.4, "p50": 1.0, "p90": 1.6, "p95": 2.0, "p99": 3.0, "p999": 6.0,
        "max": 20.0,
    }  # fmt: skip
    merged = operation == "all"
    return {
        "window_id": window_id, "role": "data", "operation": operation, "answered": answered,
        "moved_bytes": answered * 4096, "errors": 0, "logged": answered,
        **{f"latency_{name}_s": middle * factor for name, factor in factors.items()},
        "late_answers": round(answered * late_share) if merged else None,
        "late_mean_s": 18e-6 if merged else None,
        "device_mean_s": None if merged else middle + 1.5e-6,
        "added_mean_s": None if merged else 1.5e-6,
        "cpu_s": 1.2 if merged else None,
        "cpu_wait_s": 0.1 if merged else None,
    }  # fmt: skip
