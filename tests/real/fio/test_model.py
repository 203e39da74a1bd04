"""What fio measures on an emulated drive is what its profile says: rate, bandwidth, mean latency.

The drive is gp3's: 3,000 requests and 128 MiB a second. On a machine that does other work the best
of some tries counts.
"""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from stithy.drives.measure.compare import raised
from stithy.drives.profiles import own_figures
from stithy.drives.program import DriveProgram
from stithy.drives.spec import DriveSpec
from stithy.fio.load import Load, Target
from stithy.fio.measure import Machine, lay_out, measure, ready
from stithy.fio.profile import Pattern, Stream
from stithy.hosts.runner import LocalRunner
from stithy.wire.drive.jobs import LoadPoint
from support.places import DISK, a_place

pytestmark = pytest.mark.needs_drive

KIB, MIB = 2**10, 2**20
SIZE_BYTES = 64 * MIB
PROFILE = (Path(__file__).parents[3] / "crates/drive/profiles/gp3.toml").read_text()
SLOW = re.sub(r"^(p\d\d_us = \S+)", r"\g<1>0", PROFILE, flags=re.MULTILINE)
"""Latencies ten times as long."""
OUTSTANDING = 12
IOPS, BYTES_PER_S = 3000.0, 125.0 * MIB
AGREES = 0.05
TRIES = 12


@dataclass(frozen=True)
class Raised:
    """The drive, all of which was written, and a folder for files of fio."""

    program: DriveProgram
    machine: Machine
    target: Target
    folder: Path

    def answered(self) -> tuple[int, int]:
        """Reads and writes that the drive answered since it came up, and their bytes."""
        operations = self.program.control.stats("limited").operations
        moved = [each for each in operations if each.name in ("read", "write")]
        return sum(each.answered for each in moved), sum(each.moved_bytes for each in moved)


@contextmanager
def written(profile: str, state: Path) -> Iterator[Raised]:
    """A drive, written without its times."""
    if shutil.which("fio") is None:
        pytest.skip("fio was not found: install fio")
    spec, runner = DriveSpec("limited", profile, SIZE_BYTES), LocalRunner()
    with pytest.MonkeyPatch.context() as patch, a_place(DISK) as folder:
        patch.setenv("STITHY_STATE", str(state))
        with raised(spec, runner) as program:
            target = Target(program.devices[spec.name], SIZE_BYTES)
            program.control.set(spec.name, paced=False)
            machine = ready(runner, [target], folder / "tried")
            lay_out(machine, target, folder / "laid-out", seed=1)
            program.control.set(spec.name, paced=True)
            yield Raised(program, machine, target, folder)


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Raised]:
    """gp3 as it is."""
    with written(PROFILE, tmp_path_factory.mktemp("limited")) as made:
        yield made


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Raised]:
    """gp3 of latencies ten times as long, beside which a busy machine adds little."""
    with written(SLOW, tmp_path_factory.mktemp("slow")) as made:
        yield made


@dataclass(frozen=True)
class Seen:
    """Of a closed loop by fio; `shares_of_drive`: its requests and bytes over the drive's own."""

    iops: float
    bytes_per_s: float
    mean_s: float
    shares_of_drive: tuple[float, float]


def closed_loop(drive: Raised, pattern: Pattern, turn: int) -> Seen:
    """A pattern for a little more than a second, all of which fio counts."""
    count, moved_bytes = drive.answered()
    folder = drive.folder / f"{pattern.name}-{turn}"
    load = Load(1.2, 0.0, 7 + turn, engine=drive.machine.engine, logs=False)
    (answer,) = measure(drive.machine, pattern, [(drive.target, load)], folder).answers
    count_after, moved_after = drive.answered()
    sides = [each for each in (answer.read, answer.write) if each]
    own_bytes = sum(each.moved_bytes for each in sides)
    shares = answer.count / (count_after - count), own_bytes / (moved_after - moved_bytes)
    mean_s = answer.latency.mean_s
    assert mean_s is not None
    return Seen(answer.iops, sum(each.bytes_per_s for each in sides), mean_s, shares)


def pattern_of(name: str, read_share: float, size_bytes: int, depth: int) -> Pattern:
    """Random requests of one size, so many outstanding."""
    sizes = {size_bytes: 1.0}
    stream = Stream(
        name="requests", read_share=read_share, random_share=1.0, jobs=1, iodepth=depth,
        read_sizes=sizes if read_share else {}, write_sizes=sizes if read_share < 1 else {},
    )  # fmt: skip
    return Pattern(name=name, streams=(stream,))


def agrees(drive: Raised, pattern: Pattern, iops: float) -> None:
    """Fail where in none of the tries all numbers are those of the model at this rate."""
    (stream,) = pattern.streams
    (size_bytes,) = {**stream.read_sizes, **stream.write_sizes}
    expected = {"iops": iops, "bytes_per_s": iops * size_bytes,
                "mean_s": stream.outstanding / iops}  # fmt: skip
    tries = []
    for turn in range(TRIES):
        seen = closed_loop(drive, pattern, turn)
        assert seen.shares_of_drive == pytest.approx((1.0, 1.0), rel=0.02)
        ratios = {name: getattr(seen, name) / value for name, value in expected.items()}
        if all(abs(each - 1) <= AGREES for each in ratios.values()):
            return
        tries.append(ratios)
    pytest.fail(f"measured over modelled: {tries}")


@pytest.mark.parametrize(
    ("name", "read_share", "size_bytes", "depth", "iops"),
    [
        ("small-reads", 1.0, 4 * KIB, 64, IOPS),
        ("small-writes", 0.0, 4 * KIB, 64, IOPS),
        ("mixed", 0.7, 8 * KIB, 64, IOPS),
        ("large-reads", 1.0, 128 * KIB, 32, BYTES_PER_S / (128 * KIB)),
    ],
)
def test_a_closed_loop_at_a_limit_of_the_drive_has_its_rate_and_littles_latency(
    limited: Raised, name: str, read_share: float, size_bytes: int, depth: int, iops: float
) -> None:
    """Rate = limit, bandwidth = rate x size, mean latency = outstanding / rate."""
    agrees(limited, pattern_of(name, read_share, size_bytes, depth), iops)


@pytest.mark.parametrize("read_share", [1.0, 0.0])
def test_below_the_limits_requests_take_what_the_profile_says(
    slow: Raised, read_share: float
) -> None:
    """The mean of the simulated drive, to which the block layer adds little."""
    point = LoadPoint(
        read_share=read_share,
        length_bytes=4 * KIB,
        depth=OUTSTANDING,
        sequential=False,
        flushed_every=0,
    )
    (own,) = own_figures(SLOW, [point], SIZE_BYTES, seed=7)
    figures = own.read if read_share else own.write
    assert figures is not None
    assert figures.iops < 0.6 * IOPS
    agrees(
        slow, pattern_of(f"below-{read_share:g}", read_share, 4 * KIB, OUTSTANDING), figures.iops
    )
