"""A drive whose numbers are known is measured, and its profile has them; targets are not hurt.

tests/real/drives measures with fio itself.
"""

import math
import os
import random
import threading
import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from fakes.clock import FakeClock
from fakes.fio import FioRunner, SimulatedDrive, bin_ns
from stithy.drives.measure import measurement
from stithy.drives.measure.fit import SHARES, average_times_s, fit, fit_sustained, fit_times_s
from stithy.drives.measure.measurement import (
    OVERHEAD_S,
    MeasurementPoint,
    MeasurementSchedule,
    WrittenSlice,
    inspect,
    list_points,
    need_room,
    open_scratch_file,
    order,
    schedule,
)
from stithy.drives.measure.measuring import (
    ComparedFigures,
    Figures,
    MeasuringPlan,
    MeasuringWatch,
    compare_points,
    make_measured_reference,
    measure,
    prepare_points,
)
from stithy.drives.measure.profiling import WantedProfile, profile_target
from stithy.errors import Interrupted, PreconditionError, UserError
from stithy.fio.load import FioTarget
from stithy.fio.measure import FioMachine
from stithy.fio.output import Histogram, merge_histograms
from stithy.fio.program import FioProgram
from support.measured_drive import measured

MIB = 2**20
FACTS = measured(SimulatedDrive()).target


def test_an_engine_that_works_is_taken_of_a_fio_that_is_new_enough() -> None:
    """io_uring may be forbidden; without direct I/O nothing can be measured."""
    place = FioTarget("/dev/x", MIB)
    assert prepare_points(FioRunner(refused=("io_uring",)), place).engine == "libaio"
    with pytest.raises(PreconditionError, match="no asynchronous engine of fio works"):
        prepare_points(FioRunner(refused=("io_uring", "libaio")), place)
    for version in ("fio-2.16", "fio-3.1-5", ""):
        with pytest.raises(
            PreconditionError, match=r"at least 3.28 is needed.*apt-get install fio"
        ):
            prepare_points(FioRunner(version=version), place)


def test_points_are_asked_of_fio_as_other_patterns_are() -> None:
    """With direct I/O, for the time of the schedule, and not to write where nothing may be."""
    points = (
        MeasurementPoint(0.7, 4096, 16),
        MeasurementPoint(0.0, 131072, 1, sequential=True, flushed_every=32),
    )
    target, timing = FioTarget("/dev/x", 64 * MIB, name="x"), MeasurementSchedule(0.5, 1, 0.0)
    for read_only in (False, True):
        runner = FioRunner(SimulatedDrive())
        fio = FioMachine(runner, FioProgram("fio", "fio-3.33"), "io_uring")
        place = replace(target, read_only=read_only)
        made = measure(
            fio, place, MeasuringPlan(points, timing, seed=3), FACTS, MeasuringWatch(), FakeClock()
        )
        mixed, log = sorted(runner.commands, key=lambda each: each["rw"])
        for each in (mixed, log):
            asked = ("direct", "ramp_time", "runtime", "ioengine", "filename")
            engine = "psync" if each is log else "io_uring"
            assert [each[key] for key in asked] == ["1", "300ms", "500ms", engine, "/dev/x"]
            assert ("readonly" in each) == read_only
        assert (mixed["rw"], mixed["rwmixread"], mixed["iodepth"]) == ("randrw", "70", "16")
        assert (log["rw"], log["bs"], log["fdatasync"]) == ("write", "131072,131072", "32")
        assert made.engine == "psync at depth 1, io_uring above"
        flushes = made.matrix[1].answer.flush
        assert flushes is not None
        assert flushes.latency.count > 0


def test_a_schedule_takes_its_time_for_all_points_in_an_order_of_the_seed() -> None:
    """Too little is refused with the least that will do."""
    points = list_points(writing=True)
    assert len(set(points)) == len(points)
    assert not any(point.writes for point in list_points(writing=False))
    for duration_s in (80.0, 180.0, 600.0, 3600.0):
        made = schedule(duration_s, len(points), sustained=True)
        each_s = made.point_s + made.settle_s + OVERHEAD_S
        assert made.rounds * len(points) * each_s + made.sustained_s == pytest.approx(duration_s)
        assert 0.5 <= made.point_s <= 5.0
    with pytest.raises(UserError, match="give at least 27 s"):
        schedule(5.0, 20, sustained=False)
    assert schedule(27.0, 20, sustained=False).rounds == 1
    rounds = order(points, 3, seed=7)
    assert all(sorted(map(str, each)) == sorted(map(str, points)) for each in rounds)
    assert (rounds[0] == rounds[1], rounds == order(points, 3, seed=7)) == (False, True)


def _histogram(times_ns: list[int]) -> Histogram:
    return Histogram(
        counts_by_ns=dict(sorted(Counter(times_ns).items())), sum_s=sum(times_ns) / 1e9
    )


def test_the_parts_merged_are_the_whole_in_any_order() -> None:
    """Quantiles are those of all times; nothing has no figures."""
    draw = random.Random(4)
    times = [draw.randrange(1, 500) for _ in range(300)]
    parts = [_histogram(times[:10]), _histogram(times[10:250]), _histogram(times[250:])]
    whole = merge_histograms(parts)
    assert whole.counts_by_ns == merge_histograms(reversed(parts)).counts_by_ns
    for share in (0.01, 0.5, 0.99, 1.0):
        rank = max(1, -(-int(share * 1000) * len(times) // 1000))
        assert whole.find_quantile_s(share) == sorted(times)[rank - 1] / 1e9
    assert (merge_histograms([]).mean_s, merge_histograms([]).find_quantile_s(0.5)) == (None, None)


def test_each_figure_of_an_emulation_has_its_tolerance() -> None:
    """A tenth for rates and medians, a fifth for the 99th percentile; unknown is not out."""
    real = Figures(1000.0, 100e-6, 400e-6)
    for iops, p50_us, p99_us, missed in (
        (1090.0, 91, 479, ()),
        (1110.0, 100, 400, ("iops",)),
        (890.0, 100, 400, ("iops",)),
        (1000.0, 111, 481, ("p50_s", "p99_s")),
        (None, 100, 400, ()),
    ):
        other = Figures(iops, p50_us / 1e6, p99_us / 1e6)
        row = ComparedFigures("read 4 KiB, depth 1", "read", real, other)
        assert (row.list_missed(), row.find_ratio("iops") is None) == (missed, iops is None)
    measurement = measured(SimulatedDrive())
    rows = compare_points(make_measured_reference(measurement), measurement)
    assert len({(each.point, each.kind) for each in rows}) == len(rows) > len(measurement.matrix)
    assert {each.find_ratio("p99_s") for each in rows} == {1.0}


def test_the_numbers_of_a_drive_come_back() -> None:
    """8 channels, 100 and 40 µs, 1 GB/s a request, flushes of 200 µs; rates up to the channels."""
    found = fit(measured(SimulatedDrive()))
    assert (found.channels, found.assumed) == (8, {})
    for access, median_s in ((found.read, 100e-6), (found.write, 40e-6)):
        assert access.bytes_per_s == pytest.approx(1e9, rel=0.03)
        alone = access.rows[0]
        assert (alone.length_bytes, alone.depth) == (4096, 1)
        assert alone.times_s[SHARES.index(0.5)] == pytest.approx(median_s, rel=0.03)
        p99_s = median_s * math.exp(0.3 * 2.326)
        assert alone.times_s[SHARES.index(0.99)] == pytest.approx(p99_s, rel=0.06)
    for row in found.read.rows:
        if row.length_bytes == 4096 and row.depth != 8:
            wanted = min(row.depth, 8) / (100e-6 * math.exp(0.3**2 / 2))
            assert row.depth / average_times_s(row.times_s) == pytest.approx(wanted, rel=0.05)
    assert found.read.iops_max == pytest.approx(8 / 104.6e-6, rel=0.05)
    assert found.read.bytes_per_s_max == pytest.approx(8e9 * 1044480 / 1149000, rel=0.1)
    assert found.flush.mean_s == pytest.approx(200e-6, rel=0.02)


def test_a_cache_drains_as_fast_as_flushes_show_and_what_was_not_measured_is_assumed() -> None:
    """The kernel says whether there is one; without writing, writes are taken as reads."""
    assert fit(measured(SimulatedDrive(), write_cache="write through")).cache is None
    drive = SimulatedDrive(drain_bytes_per_s=500e6)
    found = fit(measured(drive, write_cache="write back"))
    assert found.cache is not None
    assert found.cache.drain_bytes_per_s == pytest.approx(500e6, rel=0.05)
    assert set(found.assumed) == {"cache.size_bytes", "cache.protected"}
    unseen = fit(measured(SimulatedDrive(), write_cache="write back"))
    assert "cache.drain_bytes_per_s" in unseen.assumed
    found = fit(measured(SimulatedDrive(), writing=False))
    assert found.write == found.read
    assert found.flush.mean_s == pytest.approx(104.6e-6, rel=0.05)
    assert set(found.assumed) == {"write", "flush", "cap.write_iops", "cap.write_bytes_per_s"}


def test_slowing_down_is_found_where_it_happened() -> None:
    """After what was written until then, and to the rate after it; noise is none."""
    for rates, expected in (
        ((1000, 1010, 990, 1000, 400, 410, 390), (4000, 400)),
        ((1000, 1050, 990, 1020, 900, 1010), None),
        ((400, 400, 1000, 1000, 1000), None),
        ((1, 2, 3), None),
        ((), None),
    ):
        found = fit_sustained([WrittenSlice(moved_bytes=rate, duration_s=1.0) for rate in rates])
        assert (found and (found.after_bytes, round(found.write_bytes_per_s))) == expected


def test_a_table_keeps_the_quantiles_and_the_mean() -> None:
    """What is drawn from it then has the rate that was measured."""
    for spread in (0.0, 0.01, 0.4, 1.2):
        draw = random.Random(2)
        times = sorted(1e-4 * draw.lognormvariate(0, spread) for _ in range(20_000))
        counts = Counter(bin_ns(round(time * 1e9)) for time in times)
        table = fit_times_s(Histogram(counts_by_ns=dict(sorted(counts.items())), sum_s=sum(times)))
        assert list(table) == sorted(table)
        for share in (0.1, 0.5, 0.9, 0.99):
            wanted = times[int(share * len(times)) - 1]
            assert table[SHARES.index(share)] == pytest.approx(wanted, rel=0.02)
        assert average_times_s(table) == pytest.approx(sum(times) / len(times), rel=0.01)


def test_a_file_is_only_read_and_only_where_all_of_it_was_written(disk_place: Path) -> None:
    """Never-written places are read from nowhere, at once; a small file tells of a cache."""
    written, sparse, aside = (disk_place / name for name in ("written", "sparse", "aside"))
    written.write_bytes(b"x" * 5000)
    with pytest.raises(PreconditionError, match="5000 bytes: too little"):
        inspect(written)
    with sparse.open("wb") as file:
        file.truncate(64 * MIB)
    with aside.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, 64 * MIB)
    for path in (sparse, aside):
        with pytest.raises(PreconditionError, match="never written at byte 0"):
            inspect(path)
    with written.open("wb") as file:
        file.write(b"\7" * 64 * MIB)
        file.flush()
        os.fsync(file.fileno())
    runner = FioRunner(SimulatedDrive())
    with pytest.raises(UserError, match="an existing file is only read"):
        profile_target(
            inspect(written), WantedProfile("a", 80.0, True, 64 * MIB), runner, MeasuringWatch()
        )
    profile_target(
        inspect(written), WantedProfile("a", 61.0, False, 64 * MIB), runner, MeasuringWatch()
    )
    assert all("readonly" in command for command in runner.commands)
    assert written.read_bytes() == b"\7" * 64 * MIB


def test_a_directory_becomes_a_profile_with_sources_and_leaves_nothing(disk_place: Path) -> None:
    """Only a scratch file without a name is written to; also where a person stops it."""
    runner = FioRunner(SimulatedDrive())
    done = profile_target(
        inspect(disk_place),
        WantedProfile("a-drive", 61.0, False, 64 * MIB),
        runner,
        MeasuringWatch(),
    )
    table = tomllib.loads(done.text)
    assert (table["name"], table["channels"]) == ("a-drive", 8)
    assert len(table["read"]["load_us"][0]) == 2 + len(table["read"]["load_shares"])
    source = table["provenance"]["source"][0]
    assert ("fio-3.33" in source["text"], "read.load_us" in source["keys"]) == (True, True)
    assert "write" in table["provenance"]["assumed"]
    assert [command["name"] for command in runner.commands if "read" not in command["rw"]] == [
        "fill"
    ]
    assert all(each["filename"].startswith("/proc/") for each in runner.commands)
    stop = threading.Event()
    watch = MeasuringWatch(lambda _what, done, _total: stop.set() if done == 5 else None, stop)
    with pytest.raises(Interrupted):
        profile_target(
            inspect(disk_place), WantedProfile("a", 61.0, False, 64 * MIB), FioRunner(), watch
        )
    assert list(disk_place.iterdir()) == []
    with open_scratch_file(disk_place, MIB) as path:
        assert (os.stat(path).st_size, list(disk_place.iterdir())) == (MIB, [])
    space = os.statvfs(disk_place)
    with pytest.raises(PreconditionError, match="does not fit.*--size"):
        need_room(disk_place, space.f_bavail * space.f_frsize)
    kept = measurement.get_measurement_path(disk_place / "a-drive.toml")
    kept.write_text(done.measurement.model_dump_json())
    assert measurement.read_measurement(kept) == done.measurement
    kept.write_text('{"version": 1}')
    with pytest.raises(UserError, match="this is not a measurement of this version"):
        measurement.read_measurement(kept)
