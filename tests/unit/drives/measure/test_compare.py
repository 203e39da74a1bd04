"""Real and emulated figures side by side."""

import pytest

from stithy.drives.measure.compare import Compared, Figures

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


def test_what_is_not_known_has_no_ratio() -> None:
    """It is neither within nor out."""
    assert against(iops=None).ratio("iops") is None
    assert against().ratio("iops") == 1.0
