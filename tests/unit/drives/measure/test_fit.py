"""A drive whose numbers are known is measured, and the fit gives them back."""

import math
import random

import pytest

from fakes.fio import SimulatedDrive, bin_ns
from stithy.drives.measure.fit import (
    SHARES,
    Fit,
    fit,
    mean_of_geometric,
    mean_s,
    sustained_fit,
    times_s,
)
from stithy.drives.measure.measurement import Histogram, WrittenSlice
from support.measured_drive import measured


@pytest.fixture(scope="module")
def fitted() -> Fit:
    """The fit of a drive of 8 channels, 100 and 40 µs, 1 GB/s a request, flushes of 200 µs."""
    return fit(measured(SimulatedDrive()))


def test_channels_come_back(fitted: Fit) -> None:
    """By Little's law, from the rate at which more depth gains nothing."""
    assert fitted.channels == 8


def test_the_time_of_each_byte_comes_back(fitted: Fit) -> None:
    """For reads and for writes."""
    assert fitted.read.bytes_per_s == pytest.approx(1e9, rel=0.03)
    assert fitted.write.bytes_per_s == pytest.approx(1e9, rel=0.03)


def test_latencies_at_depth_one_come_back(fitted: Fit) -> None:
    """Median and 99th percentile of a log-normal time."""
    for access, median_s in ((fitted.read, 100e-6), (fitted.write, 40e-6)):
        alone = access.rows[0]
        assert (alone.length_bytes, alone.depth) == (4096, 1)
        assert alone.times_s[SHARES.index(0.5)] == pytest.approx(median_s, rel=0.03)
        p99_s = median_s * math.exp(0.3 * 2.326)
        assert alone.times_s[SHARES.index(0.99)] == pytest.approx(p99_s, rel=0.06)


def test_rates_at_each_depth_come_back(fitted: Fit) -> None:
    """Depth over mean is the rate: in proportion up to the channels, then flat."""
    mean_alone_s = 100e-6 * math.exp(0.3**2 / 2)
    for row in fitted.read.rows:
        if row.length_bytes == 4096 and row.depth != 8:
            wanted = min(row.depth, 8) / mean_alone_s
            assert row.depth / mean_s(row.times_s) == pytest.approx(wanted, rel=0.05)


def test_caps_are_the_best_that_was_seen(fitted: Fit) -> None:
    """Eight channels of 104.6 µs, and never less than any point gave."""
    assert fitted.read.iops_max == pytest.approx(8 / 104.6e-6, rel=0.05)
    assert fitted.read.bytes_per_s_max == pytest.approx(8e9 * 1044480 / 1149000, rel=0.1)


def test_the_cost_of_a_flush_comes_back(fitted: Fit) -> None:
    """Without what it waits for."""
    assert fitted.flush.mean_s == pytest.approx(200e-6, rel=0.02)
    assert fitted.assumed == {}


def test_a_device_without_a_volatile_cache_gets_none() -> None:
    """The kernel's word is taken for it."""
    assert fit(measured(SimulatedDrive(), write_cache="write through")).cache is None


def test_a_volatile_cache_drains_as_fast_as_flushes_show() -> None:
    """4 MiB before a flush make it longer by the time they take to drain."""
    drive = SimulatedDrive(drain_bytes_per_s=500e6)
    found = fit(measured(drive, write_cache="write back"))
    assert found.cache is not None
    assert found.cache.drain_bytes_per_s == pytest.approx(500e6, rel=0.05)
    assert set(found.assumed) == {"cache.size_bytes", "cache.protected"}


def test_a_cache_that_flushes_do_not_wait_for_is_marked_as_assumed() -> None:
    """Nothing tells how fast it drains."""
    found = fit(measured(SimulatedDrive(), write_cache="write back"))
    assert "cache.drain_bytes_per_s" in found.assumed


def test_what_was_not_measured_is_assumed_and_says_so() -> None:
    """Without writing, writes are taken as reads and flushes as small writes."""
    found = fit(measured(SimulatedDrive(), writing=False))
    assert found.write == found.read
    assert found.flush.mean_s == pytest.approx(104.6e-6, rel=0.05)
    wanted = {"write", "flush", "cap.write_iops", "cap.write_bytes_per_s"}
    assert set(found.assumed) == wanted


def slices(*rates: float) -> list[WrittenSlice]:
    """Writing at these rates, a second each."""
    return [WrittenSlice(moved_bytes=round(rate), duration_s=1.0) for rate in rates]


def test_slowing_down_is_found_where_it_happened() -> None:
    """After what was written until then, and to the rate after it."""
    found = sustained_fit(slices(1000, 1010, 990, 1000, 400, 410, 390))
    assert found is not None
    assert found.after_bytes == 4000
    assert found.write_bytes_per_s == pytest.approx(400)


@pytest.mark.parametrize(
    "rates", [(1000, 1050, 990, 1020, 900, 1010), (400, 400, 1000, 1000, 1000), (1, 2, 3), ()]
)
def test_noise_is_no_slowing_down(rates: tuple[float, ...]) -> None:
    """Nor is becoming faster, nor too few slices."""
    assert sustained_fit(slices(*rates)) is None


def of(times: list[float]) -> Histogram:
    """A histogram in fio's bins."""
    bins = sorted(bin_ns(round(each * 1e9)) for each in times)
    return Histogram(
        counts_by_ns={each: bins.count(each) for each in sorted(set(bins))}, sum_s=sum(times)
    )


@pytest.mark.parametrize("spread", [0.01, 0.4, 1.2])
def test_a_table_keeps_the_quantiles_and_the_mean(spread: float) -> None:
    """What is drawn from it then has the rate that was measured."""
    draw = random.Random(2)
    times = sorted(1e-4 * draw.lognormvariate(0, spread) for _ in range(20_000))
    table = times_s(of(times))
    assert len(table) == len(SHARES)
    assert list(table) == sorted(table)
    for share in (0.1, 0.5, 0.9, 0.99):
        wanted = times[int(share * len(times)) - 1]
        assert table[SHARES.index(share)] == pytest.approx(wanted, rel=0.02)
    assert mean_s(table) == pytest.approx(sum(times) / len(times), rel=0.01)


def test_one_time_alone_is_a_flat_table() -> None:
    """Nothing is divided by nothing."""
    table = times_s(of([1e-4]))
    assert table[0] == table[-1] == pytest.approx(1e-4, rel=0.01)


def test_the_mean_between_two_times_is_the_logarithmic_mean() -> None:
    """Against a slow literal version."""
    steps = 100_000
    literal = sum(2.0 * 5.0 ** ((i + 0.5) / steps) for i in range(steps)) / steps
    assert mean_of_geometric(2.0, 10.0) == pytest.approx(literal, rel=1e-6)
    assert mean_of_geometric(3.0, 3.0) == 3.0
