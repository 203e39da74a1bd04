"""What fio measures on an emulated drive is what its profile says and the drive itself counted.

Drives are so slow that their times are theirs, and not the machine's. Of made-up drives of every
shape the figures follow from the profile by a formula; of all that are shipped they are those of
the simulated drive. On a machine that does other work the best of some tries counts.

fio draws the kind of each request of a mix by itself. Where a cap limits writes, the rate of reads
follows from the share that was drawn, and not from the one that was asked for: in 1500 requests, of
which 70 % are reads, that rate has a standard deviation of 6 %. So expected figures are those of
the drawn share.
"""

import json
import math
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from stithy.collectors import pressure
from stithy.drives.control import DriveSpec
from stithy.drives.measure.measurement import MeasurementPoint
from stithy.drives.profiles import own_figures
from stithy.fio.profile import DIRECTIONS
from stithy.wire.drive.jobs import LoadPoint
from stithy.wire.drive.messages import PointFigures
from support.drive_profile import drive
from support.raised_drive import Figures, Raised, all_raised, closed_loop

TIME = re.compile(r"^(\w+_(?:us|ms)) = (.+)$")
RATE = re.compile(r"^(\w*(?:bytes_per_s|iops)|rpm|zones) = (.+)$")
CACHE = re.compile(r"^size_bytes = .+$", re.MULTILINE)


def slower(profile: str, factor: float, cache_bytes: int) -> str:
    """The text of a profile; a write cache is no larger than so many bytes, so that it fills soon.

    `profile` must give its times on one line each.
    """
    assert "load_us" not in profile
    lines = (_line(each, factor) for each in profile.splitlines())
    return CACHE.sub(f"size_bytes = {cache_bytes}", "\n".join(lines) + "\n")


def _line(line: str, factor: float) -> str:
    if match := TIME.match(line):
        return f"{match[1]} = {_times(match[2], factor)}"
    if match := RATE.match(line):
        return f"{match[1]} = {_times(match[2], 1 / factor)}"
    return line


def _times(text: str, factor: float) -> str:
    value = json.loads(text.replace("_", ""))
    if isinstance(value, list):  # pairs of a share and its time or rate
        return json.dumps([[share, each * factor] for share, each in value])
    return json.dumps(value * factor)


pytestmark = [
    pytest.mark.needs_drive,
    pytest.mark.skipif(shutil.which("fio") is None, reason="fio was not found: install fio"),
]

SHIPPED = Path(__file__).parents[3] / "crates/drive/profiles"
KIB, MIB = 2**10, 2**20
SIZE_BYTES = 32 * MIB
MS = 1e-3
AGREES = 0.05
COUNTED = 0.02
"""By how much fio's number of requests may differ from the drive's: those of opening a device."""

PRESSED = 0.1
"""Share of a try in which programs waited for a CPU, from which on that may have slowed it."""

TRIES = 10
DURATION_S, DISK_S = 1.2, 3.0
"""Of a disk, whose times differ the most, more of the few requests are needed."""

NORMAL_99 = 2.3263
"""The 99th percentile of the standard normal distribution."""


SHIPPED_DISK = (SHIPPED / "generic-15k.toml").read_text()
SMALL_DISK = re.sub("(?m)^capacity_bytes = .+$", f"capacity_bytes = {SIZE_BYTES}", SHIPPED_DISK)
DISK = slower(SMALL_DISK, 3, 0)
"""5,000 rpm, seeks over all tracks, no write cache."""

DRIVES = {
    "alone": drive(times_ms=(40, 40)),
    "latencies": drive(channels=8, times_ms=(16, 32)),
    "large-blocks": drive(channels=8, times_ms=(2, 2), bytes_per_s=20e6),
    "rates": drive(more="[cap]\nread_iops = 1200\nwrite_iops = 400"),
    "bandwidths": drive(more="[cap]\nread_bytes_per_s = 60e6\nwrite_bytes_per_s = 30e6"),
    "total": drive(more="[cap]\ntotal_iops = 1500\ntotal_bytes_per_s = 60e6"),
    "flushes": drive(times_ms=(10, 10), flush_ms=15),
    "volatile": drive(
        flush_ms=4, times_ms=(8, 8),
        more="[cache]\nsize_bytes = 1048576\ndrain_bytes_per_s = 2e6\nprotected = false",
    ),
    "full": drive(more="[cache]\nsize_bytes = 65536\ndrain_bytes_per_s = 16e6\nprotected = true"),
    "slows-down": drive(
        more="[cap]\nwrite_iops = 3000\n"
        "[sustained]\nafter_bytes = 65536\nwrite_iops = 500\nrecovery_bytes_per_s = 0"
    ),
    "table": drive(
        read="bytes_per_s = 1e12\nload_shares = [0, 1]\n"
        "load_us = [[4096, 1, 10000, 10000], [65536, 1, 40000, 40000]]"
    ),
    "loaded": drive(
        read="bytes_per_s = 1e12\nload_shares = [0, 1]\n"
        "load_us = [[4096, 1, 8000, 12000], [4096, 4, 16000, 24000]]"
    ),
    "disk": DISK,
}  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """A drive, what is asked of it, and what its profile makes of a drawn share of reads."""

    drive: str
    point: MeasurementPoint
    expected: Callable[[float], Figures]


def figures_at(
    point: MeasurementPoint, iops: Mapping[str, float], mean_s: float | None = None
) -> Figures:
    """Requests of these kinds a second; the mean latency is by Little's law, if not another.

    Bandwidth is IOPS x block size.
    """
    whole = sum(iops.values())
    figures = {("mean_s", "all"): point.depth / whole if mean_s is None else mean_s}
    for kind, rate in iops.items():
        figures |= {("iops", kind): rate, ("bytes_per_s", kind): rate * point.length_bytes}
    return figures


def at_rates(drive: str, point: MeasurementPoint, **iops: float) -> Shape:
    """One kind of request at a rate."""
    figures = figures_at(point, iops)
    return Shape(drive, point, lambda _: figures)


def mixed(
    drive: str, point: MeasurementPoint, iops: Callable[[float], Mapping[str, float]]
) -> Shape:
    """Both kinds at the rates that follow from the share of reads."""
    return Shape(drive, point, lambda share: figures_at(point, iops(share)))


def flushed(drive: str, point: MeasurementPoint, write_s: float, flush_s: float) -> Shape:
    """One writer, who waits for both; each flush belongs to a write."""
    figures = figures_at(point, {"write": 1 / (write_s + flush_s)}, write_s)
    return Shape(drive, point, lambda _: {**figures, ("mean_s", "flush"): flush_s})


def shapes() -> Iterator[Shape]:
    """Each limit that a profile may have."""
    mean_s = 16 * MS * math.exp((math.log(2) / NORMAL_99) ** 2 / 2)  # of a log-normal distribution
    yield at_rates("alone", MeasurementPoint(1.0, 4 * KIB, 1), read=25)
    for depth in (4, 8, 32):
        yield at_rates(
            "latencies", MeasurementPoint(1.0, 4 * KIB, depth), read=min(depth, 8) / mean_s
        )
    yield at_rates("latencies", MeasurementPoint(0.0, 4 * KIB, 4), write=4 / mean_s)
    large_s = 2 * MS + 252 * KIB / 20e6
    yield at_rates("large-blocks", MeasurementPoint(1.0, 256 * KIB, 4), read=4 / large_s)
    yield at_rates("large-blocks", MeasurementPoint(0.0, 256 * KIB, 4), write=4 / large_s)
    yield at_rates("rates", MeasurementPoint(1.0, 4 * KIB, 32), read=1200)
    yield at_rates("rates", MeasurementPoint(0.0, 4 * KIB, 16), write=400)
    # Whoever waits for a write asks for no read meanwhile.
    yield mixed("rates", MeasurementPoint(0.5, 4 * KIB, 32),
                lambda reads: {"read": 400 * reads / (1 - reads), "write": 400})  # fmt: skip
    yield at_rates(
        "bandwidths", MeasurementPoint(1.0, 128 * KIB, 16, sequential=True), read=60e6 / 2**17
    )
    yield at_rates("bandwidths", MeasurementPoint(0.0, 64 * KIB, 16), write=30e6 / 2**16)
    yield mixed("total", MeasurementPoint(0.7, 8 * KIB, 64),
                lambda reads: {"read": reads * 1500, "write": (1 - reads) * 1500})  # fmt: skip
    yield at_rates("total", MeasurementPoint(1.0, 128 * KIB, 16), read=60e6 / 2**17)
    yield flushed(
        "flushes",
        MeasurementPoint(0.0, 8 * KIB, 1, sequential=True, flushed_every=1),
        10 * MS,
        15 * MS,
    )
    drained_s = 64 * KIB / 2e6
    log = MeasurementPoint(0.0, 64 * KIB, 1, sequential=True, flushed_every=1)
    yield flushed("volatile", log, 8 * MS, drained_s - 8 * MS + 4 * MS)
    yield at_rates("full", MeasurementPoint(0.0, 16 * KIB, 32), write=16e6 / 2**14)
    yield at_rates("slows-down", MeasurementPoint(0.0, 4 * KIB, 16), write=500)
    # Of times under load the depth is the number of requests that fio keeps outstanding.
    loaded_s = 4 * MS / math.log(1.5)
    yield at_rates("loaded", MeasurementPoint(1.0, 4 * KIB, 1), read=1 / loaded_s)
    yield at_rates("loaded", MeasurementPoint(1.0, 4 * KIB, 4), read=4 / (2 * loaded_s))
    yield at_rates("loaded", MeasurementPoint(1.0, 4 * KIB, 8), read=8 / (4 * loaded_s))
    # Between two sizes of a table times are interpolated geometrically.
    yield at_rates("table", MeasurementPoint(1.0, 16 * KIB, 1), read=1 / (20 * MS))
    # Electronics, a mean seek, half a turn, and the transfer at the mean of the zones.
    alone_s = 3 * ((0.2 + 2.6 + 2.0) * MS + 4 * KIB / 73e6)
    yield at_rates("disk", MeasurementPoint(1.0, 4 * KIB, 1), read=1 / alone_s)


@pytest.fixture(scope="module")
def drives(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Raised]]:
    """Those of all shapes."""
    specs = [DriveSpec(name, text, SIZE_BYTES) for name, text in DRIVES.items()]
    with all_raised(specs, tmp_path_factory.mktemp("drives")) as made:
        yield made


def agrees(drive: Raised, shape: Shape, duration_s: float = DURATION_S) -> None:
    """Fail where in none of the tries fio, the drive's counters and the profile say the same.

    Where fio differs from the drive, it got answers late: other work on the machine, not the model.
    Where programs waited for a CPU, fio may have asked late, too. Of a machine on which either was
    so in most tries nothing is said.
    """
    tries, late = [], 0
    for turn in range(TRIES):
        waited_s, began_s = cpu_pressure_s(), time.monotonic()
        seen = closed_loop(drive, shape.point.pattern, duration_s, turn)
        pressed = (cpu_pressure_s() - waited_s) / (time.monotonic() - began_s)
        counted = seen.by_fio["iops", "all"] / seen.by_drive["iops", "all"]
        reads = seen.by_fio.get(("iops", "read"), 0.0) / seen.by_fio["iops", "all"]
        expected = shape.expected(reads)
        between = compared(seen.by_fio, seen.by_drive, "fio over drive")
        ratios = compared(seen.by_fio, expected, "fio over profile")
        ratios |= compared(seen.by_drive, expected, "drive over profile")
        is_counted = abs(counted - 1) <= COUNTED
        if is_counted and are_near(between) and are_near(ratios):
            return
        lateness = seen.by_fio["mean_s", "all"] / seen.by_drive["mean_s", "all"] - 1
        late += is_counted and (lateness > AGREES or pressed > PRESSED)
        tries.append(ratios | between)
    if late > TRIES / 2:
        pytest.skip(f"needs quiet: fio was late in {late} of {TRIES} tries: end other work")
    pytest.fail("\n".join(map(str, ["not as its profile", shape.point, expected, *tries])))


def cpu_pressure_s() -> float:
    """Seconds since boot in which some program waited for a CPU; 0 where the kernel counts none."""
    counted = Path("/proc/pressure/cpu")
    return pressure.parse(counted.read_bytes())["some"] / 1e6 if counted.exists() else 0.0


def are_near(ratios: Mapping[str, float]) -> bool:
    """Whether each is near 1."""
    return all(abs(ratio - 1) <= AGREES for ratio in ratios.values())


def compared(found: Figures, expected: Figures, how: str) -> dict[str, float]:
    """Each expected figure with how many times as large it was found: 0 where none was."""
    return {
        f"{how}: {key[0]} of {key[1]}": round(found.get(key, 0.0) / value, 3)
        for key, value in expected.items()
    }


@pytest.mark.needs_quiet
@pytest.mark.parametrize(
    "shape", list(shapes()), ids=lambda each: f"{each.drive}: {each.point.name}"
)
def test_a_closed_loop_follows_from_the_profile(drives: Mapping[str, Raised], shape: Shape) -> None:
    """Within 5 %, of fio and of the drive's own counters, in the same run."""
    agrees(drives[shape.drive], shape, DISK_S if shape.drive == "disk" else DURATION_S)


POINTS = (
    MeasurementPoint(1.0, 4 * KIB, 1),
    MeasurementPoint(1.0, 4 * KIB, 16),
    MeasurementPoint(0.0, 4 * KIB, 16),
    MeasurementPoint(0.7, 8 * KIB, 32),
    MeasurementPoint(1.0, 128 * KIB, 8, sequential=True),
    MeasurementPoint(0.0, 256 * KIB, 4),
    MeasurementPoint(0.0, 8 * KIB, 1, sequential=True, flushed_every=1),
)
IOPS_MOST, LATENCY_LEAST_S = 2000.0, 20 * MS
REQUESTS_WANTED, ROUNDS_WANTED, LONGEST_S = 300, 200, 45.0
"""Requests in all, and of each place in the queue. The first of each finds the drive at rest: with
capped writes in a mix, their mean latency is 4 % shorter for that over 50 rounds, and less than 1 %
over 200. The last of each ends for fio with the last of all, which is about as much longer.
Source: do_io in backend.c of fio 3.33."""

CACHE_BYTES = 256 * KIB
"""So that a write cache is full within a moment."""


def simulated(profile: str, point: MeasurementPoint) -> PointFigures:
    """What a drive of a profile does by itself."""
    asked = LoadPoint(
        read_share=point.read_share, length_bytes=point.length_bytes, depth=point.depth,
        sequential=point.sequential, flushed_every=point.flushed_every,
    )  # fmt: skip
    (figures,) = own_figures(profile, [asked], SIZE_BYTES, seed=7)
    return figures


def slow_enough(profile: str, point: MeasurementPoint) -> str:
    """The same drive, so slow that this machine delivers it at a point."""
    found = simulated(slower(profile, 1, CACHE_BYTES), point)
    sides = [each for each in (found.read, found.write) if each]
    fastest_s = min(side.latency.mean_s or 0.0 for side in sides)
    by_rate = sum(each.iops for each in sides) / IOPS_MOST
    made = slower(profile, max(1, by_rate, LATENCY_LEAST_S / fastest_s), CACHE_BYTES)
    return re.sub(r"^cost_us = (.+)$", _long_enough, made, flags=re.MULTILINE)


def _long_enough(cost: re.Match[str]) -> str:
    """A flush so long that what fio waits for beside the drive, up to 0.6 ms, is a small part."""
    return f"cost_us = {max(float(cost[1]), 1e6 * LATENCY_LEAST_S)}"


def simulated_figures(profile: str, point: MeasurementPoint) -> Figures:
    """The same as fio says it."""
    found = simulated(profile, point)
    figures: dict[tuple[str, str], float] = {}
    for kind in (*DIRECTIONS, "flush"):
        if (side := getattr(found, kind)) is not None:
            figures |= {("iops", kind): side.iops, ("mean_s", kind): side.latency.mean_s}
            if kind != "flush":
                figures["bytes_per_s", kind] = side.iops * point.length_bytes
    return figures


def shape_of(name: str, profile: str, point: MeasurementPoint) -> Shape:
    """What the simulated drive says of a point."""
    return Shape(
        name, point, lambda reads: simulated_figures(profile, replace(point, read_share=reads))
    )


@pytest.mark.long
@pytest.mark.needs_quiet
@pytest.mark.parametrize("name", sorted(path.stem for path in SHIPPED.glob("*.toml")))
def test_every_shipped_drive_does_what_its_simulation_does(tmp_path: Path, name: str) -> None:
    """At small, large, mixed and flushed requests. Long: a hundred drives, some seconds each."""
    profile = (SHIPPED / f"{name}.toml").read_text()
    texts = {f"point-{n}": slow_enough(profile, each) for n, each in enumerate(POINTS)}
    specs = [DriveSpec(each, text, SIZE_BYTES) for each, text in texts.items()]
    with all_raised(specs, tmp_path) as drives:
        for (key, text), point in zip(texts.items(), POINTS, strict=True):
            figures = simulated_figures(text, point)
            rate = sum(value for (what, _), value in figures.items() if what == "iops")
            wanted = max(REQUESTS_WANTED, ROUNDS_WANTED * point.depth)
            duration_s = min(LONGEST_S, max(DURATION_S, wanted / rate))
            agrees(drives[key], shape_of(key, text, point), duration_s)
