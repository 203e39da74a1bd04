"""Real and emulated figures side by side."""

import pytest

from fakes.fio import SimulatedDrive
from stithy.drives.measure.compare import (
    Compared,
    Figures,
    compared,
    of_measurement,
    of_profile,
)
from stithy.drives.measure.points import Point
from stithy.wire.drive.messages import LoadFigures, PointFigures
from stithy.wire.messages import Percentiles
from support.measured_drive import measured

REAL = Figures(iops=1000.0, p50_s=100e-6, p99_s=400e-6)


def against(**changed: float | None) -> Compared:
    """The same drive with other figures."""
    figures = {"iops": REAL.iops, "p50_s": REAL.p50_s, "p99_s": REAL.p99_s} | changed
    return Compared("read 4 KiB, depth 1", "read", REAL, Figures(**figures))


@pytest.mark.parametrize(
    ("changed", "missed"),
    [
        ({}, ()),
        ({"iops": 1090.0, "p50_s": 91e-6, "p99_s": 479e-6}, ()),
        ({"iops": 1110.0}, ("iops",)),
        ({"iops": 890.0}, ("iops",)),
        ({"p50_s": 111e-6, "p99_s": 481e-6}, ("p50_s", "p99_s")),
        ({"iops": None}, ()),
    ],
)
def test_each_figure_has_its_tolerance(
    changed: dict[str, float | None], missed: tuple[str, ...]
) -> None:
    """A tenth for rates and medians, a fifth for the 99th percentile, in both directions."""
    assert against(**changed).missed() == missed


def test_a_measurement_is_like_itself() -> None:
    """Every kind at every point is compared, and nothing is out."""
    measurement = measured(SimulatedDrive())
    rows = compared(of_measurement(measurement), measurement)
    assert len({(each.point, each.kind) for each in rows}) == len(rows) > len(measurement.matrix)
    assert not any(each.missed() for each in rows)
    assert {each.ratio("p99_s") for each in rows} == {1.0}


def test_a_profile_is_compared_by_what_it_tells_of_itself() -> None:
    """Flushes have no rate of their own; what was not asked is not compared."""
    point = Point(0.0, 4096, 1, sequential=True, flushed_every=1)
    times = Percentiles(
        count=9, mean_s=1e-4, min_s=1e-4, p50_s=1e-4, p90_s=1e-4, p95_s=1e-4, p99_s=2e-4,
        p999_s=2e-4, max_s=2e-4,
    )  # fmt: skip
    told = LoadFigures(iops=5000.0, latency=times)
    found = of_profile([point], [PointFigures(read=None, write=told, flush=told)])
    assert found[point] == {
        "write": Figures(5000.0, 1e-4, 2e-4),
        "flush": Figures(None, 1e-4, 2e-4),
    }


def test_what_is_not_known_has_no_ratio() -> None:
    """It is neither within nor out."""
    assert against(iops=None).ratio("iops") is None
    assert against().ratio("iops") == 1.0
