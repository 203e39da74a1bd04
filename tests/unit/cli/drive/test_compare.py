"""What `stithy drive compare` shows."""

from stithy.cli.drive.compare import as_json, drive_bytes, verdict
from stithy.cli.drive.measured import comparison
from stithy.drives.measure.compare import Compared, Figures

GOOD = Compared(
    "read 4 KiB, depth 1", "read", Figures(1000.0, 1e-4, 2e-4), Figures(1010.0, 1e-4, 2e-4)
)
BAD = Compared(
    "write 4 KiB, depth 1", "flush", Figures(None, 1e-4, 2e-4), Figures(None, 2e-4, 1e-4)
)


def test_each_figure_stands_beside_its_counterpart() -> None:
    """With the ratio, and what is out of its tolerance."""
    lines = comparison((GOOD, BAD)).splitlines()
    assert lines[1].split()[-1] == "yes"
    assert "1,000" in lines[1]
    assert "1.01" in lines[1]
    assert lines[2].endswith("NO: p50, p99")
    assert verdict((GOOD, BAD)).startswith("✗ 1 of 2")
    assert verdict((GOOD,)).startswith("✓ 1 of 1")


def test_programs_get_every_ratio() -> None:
    """And the tolerances; what is not known is null."""
    told = as_json((BAD,))
    assert told["tolerances"] == {"iops": 0.1, "p50_s": 0.1, "p99_s": 0.2}
    points = told["points"]
    assert isinstance(points, list)
    row = points[0]
    assert row["ratios"] == {"iops": None, "p50_s": 2.0, "p99_s": 0.5}
    assert row["missed"] == ("p50_s", "p99_s")


def test_an_emulated_drive_is_as_large_as_what_was_measured() -> None:
    """At most 2 GiB, as it lies in memory, unless a size is given."""
    assert drive_bytes(None, 2**29) == 2**29
    assert drive_bytes(None, 2**40) == 2**31
    assert drive_bytes("4 GiB", 2**29) == 2**32
    assert drive_bytes("0 MiB", 2**29) == 0
