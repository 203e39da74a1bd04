"""Stithy's figures against those of fio by hand, in turns on the same target.

Job files are written here by hand, and what fio answers is read here, too. What is compared is the
median of the pairs, against the spread of the pairs: a difference that repeated runs of the same
commands have among themselves is none, nor is one that the best runs of both do not have. So a
noisy machine hides more, but never a quarter. How little may be hidden, only the long tests say.
"""

import json
import math
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import pytest

from stithy.drives.control import DriveSpec
from stithy.fio import library
from stithy.fio.load import Load, Target
from stithy.fio.measure import Machine, lay_out, measure
from stithy.fio.output import Answer
from stithy.fio.program import find
from stithy.hosts.runner import LocalRunner
from support.places import DISK, a_place
from support.raised_drive import Raised, all_raised

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="fio was not found")

MIB = 2**20
SIZE_BYTES = 64 * MIB
PROFILE = """version = 1
name = "made-up"
title = "made up"
capacity_bytes = 67108864
channels = 64
[read]
p50_us = 4000
p99_us = 5000
bytes_per_s = 1e9
[write]
p50_us = 4000
p99_us = 5000
bytes_per_s = 1e9
[cap]
total_iops = 1500
total_bytes_per_s = 40e6
[flush]
cost_us = 3000
[provenance]
assumed = ["capacity_bytes", "channels", "read", "write", "cap", "flush"]
"""
"""So slow and even that little of what differs from run to run is the drive's or the machine's."""

COMMON = """[global]
filename={path}
size={size}
direct=1
thread=1
norandommap=1
random_generator=tausworthe64
randseed={seed}
refill_buffers=1
time_based=1
runtime={runtime_ms}ms
lat_percentiles=1
percentile_list=50:99
group_reporting=1
[job]
"""
BY_HAND = {
    "sql-80-20": "ioengine=psync rw=randrw rwmixread=80 bs=8k numjobs=18",
    "four-corners/random-read-4k": "ioengine=psync rw=randread bs=4k numjobs=128",
    "four-corners/random-write-4k": "ioengine=psync rw=randwrite bs=4k numjobs=64",
    "four-corners/sequential-read-64k": "ioengine={engine} rw=read bs=64k iodepth=16",
    "four-corners/sequential-write-64k": "ioengine={engine} rw=write bs=64k iodepth=8",
    "commit-log/one-writer": "ioengine=psync rw=write bs=8k fdatasync=1",
}
"""The patterns' own parameters, as a person would write them."""

NOISE_WANTED, NOISE_MOST = 0.02, 0.05
"""Standard errors above which long tests measure more pairs, and above which they fail.

Short ones never do: above the second they measure more pairs, and then take what they have.
"""

ERRORS_MOST, DIFFERENCE_LEAST, DIFFERENCE_MOST = 4.0, 0.02, 0.25
"""A difference is one where it is above so many standard errors, and above two percent.

A quarter is always one, but of a p99: of so few requests it may differ by that much.

Of some forty figures that are compared, three standard errors would call chance a difference once
in some ten runs.
"""

PAIRS, PAIRS_MOST = 5, 15
NORMAL = 1.4826
"""The standard deviation of normal values over the median of their distances from their median."""

OF_MEDIAN = math.sqrt(math.pi / 2)
"""The standard error of a median over that of a mean, of normal values."""

Figures = Mapping[str, float]


@dataclass
class Pairs:
    """Logarithms of each figure, by hand and by Stithy, in the order of the runs."""

    hand: list[Figures] = field(default_factory=list)
    own: list[Figures] = field(default_factory=list)

    def difference(self, name: str) -> float:
        """The median of the pairs."""
        return median(self._logs(name))

    def at_best(self, name: str) -> float:
        """Stithy's best run over fio's: what else works on the machine only makes runs worse."""
        best = max if name in ("IOPS", "bytes/s") else min
        own, hand = (best(each[name] for each in side) for side in (self.own, self.hand))
        return math.log(own / hand)

    def error(self, name: str) -> float:
        """The standard error of that median, by the spread of the pairs."""
        logs = self._logs(name)
        middle = median(logs)
        spread = NORMAL * median(abs(log - middle) for log in logs)
        return OF_MEDIAN * spread / math.sqrt(len(logs))

    def differing(self) -> Iterator[str]:
        """Each figure that Stithy and fio by hand do not agree on."""
        for name in self.hand[0]:
            difference, error = self.difference(name), self.error(name)
            most = math.inf if name.endswith("p99") else DIFFERENCE_MOST
            tolerance = min(most, max(DIFFERENCE_LEAST, ERRORS_MOST * error))
            best = self.at_best(name)
            if tolerance < min(abs(difference), math.copysign(best, best * difference)):
                yield f"{name}: {difference:+.2%}, at best {best:+.2%}, standard error {error:.2%}"

    def noisy(self, most: float) -> Iterator[str]:
        """Each figure of which little can be said; of so few requests a p99 always is."""
        rates_and_means = (each for each in self.hand[0] if not each.endswith("p99"))
        yield from (
            rates_and_mean
            for rates_and_mean in rates_and_means
            if self.error(rates_and_mean) > most
        )

    def _logs(self, name: str) -> list[float]:
        """Of each pair the logarithm of Stithy's figure over fio's."""
        pairs = zip(self.own, self.hand, strict=True)
        return [math.log(own[name] / hand[name]) for own, hand in pairs]


def measured_in_turns(
    machine: Machine, target: Target, name: str, folder: Path, runtime_s: float,
    noise_wanted: float,
) -> Pairs:  # fmt: skip
    """As many pairs as it takes to tell them apart."""
    pairs = Pairs()
    while len(pairs.hand) < PAIRS_MOST:
        seed = 11 + len(pairs.hand)
        pairs.hand.append(by_hand(machine, target, name, runtime_s, seed))
        pairs.own.append(
            by_stithy(machine, target, name, folder / name / f"own-{seed}", runtime_s, seed)
        )
        open_questions = [*pairs.noisy(noise_wanted), *pairs.differing()]
        if len(pairs.hand) >= PAIRS and not open_questions:
            break
    return pairs


def by_hand(machine: Machine, target: Target, name: str, runtime_s: float, seed: int) -> Figures:
    """The figures of fio's own document."""
    job = (COMMON + BY_HAND[name].replace(" ", "\n") + "\n").format(
        path=target.path, size=target.size_bytes, seed=seed, engine=machine.engine,
        runtime_ms=round(1000 * runtime_s),
    )  # fmt: skip
    words = [machine.found.program, "--output-format=json", "-"]
    done = subprocess.run(words, input=job, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)["jobs"][0]
    sides = [found["read"], found["write"]]
    figures: dict[str, float] = {
        "IOPS": sum(each["iops"] for each in sides),
        "bytes/s": sum(each["bw_bytes"] for each in sides),
    }
    for way in ("read", "write"):
        if (side := found[way])["total_ios"]:
            figures |= dict(latencies(way, side["lat_ns"]))
    if "fdatasync" in job:
        figures |= dict(latencies("flush", found["sync"]["lat_ns"]))
    return figures


def latencies(kind: str, told: Mapping[str, object]) -> Iterator[tuple[str, float]]:
    """Mean and percentiles in seconds."""
    percentiles = told["percentile"]
    assert isinstance(percentiles, dict)
    for name, value in (
        ("mean", told["mean"]), ("p50", percentiles["50.000000"]),
        ("p99", percentiles["99.000000"]),
    ):  # fmt: skip
        yield f"{kind} {name}", float(str(value)) / 1e9


def by_stithy(
    machine: Machine, target: Target, name: str, folder: Path, runtime_s: float, seed: int
) -> Figures:
    """The same figures of a measurement as studies make it."""
    load = Load(runtime_s, 0.0, seed, engine=machine.engine)
    pattern = library.find(name).patterns[0]
    (answer,) = measure(machine, pattern, [(target, load)], folder).answers
    return dict(of_answer(answer))


def of_answer(answer: Answer) -> Iterator[tuple[str, float]]:
    """By the same names."""
    kinds = {"read": answer.read, "write": answer.write}
    yield "IOPS", answer.iops
    yield "bytes/s", sum(each.bytes_per_s for each in kinds.values() if each)
    distributions = {way: each.latency for way, each in kinds.items() if each}
    if answer.flush is not None:
        distributions["flush"] = answer.flush
    for kind, latency in distributions.items():
        yield f"{kind} mean", latency.mean_s or 0.0
        yield f"{kind} p50", latency.quantile_s(0.5) or 0.0
        yield f"{kind} p99", latency.quantile_s(0.99) or 0.0


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Raised]:
    """A drive of known limits, which is alike from second to second."""
    specs = [DriveSpec("by-hand", PROFILE, SIZE_BYTES)]
    with all_raised(specs, tmp_path_factory.mktemp("by-hand")) as drives:
        yield drives["by-hand"]


@pytest.mark.needs_drive
@pytest.mark.parametrize("name", ["sql-80-20", "commit-log/one-writer"])
def test_stithy_agrees_with_fio_by_hand(drive: Raised, name: str) -> None:
    """A mix and a log, in short runs."""
    pairs = measured_in_turns(drive.machine, drive.target, name, drive.folder, 0.5, NOISE_MOST)
    assert list(pairs.differing()) == []


@pytest.mark.long
@pytest.mark.needs_drive
@pytest.mark.parametrize("name", BY_HAND)
def test_stithy_agrees_with_fio_by_hand_in_every_pattern(drive: Raised, name: str) -> None:
    """Longer runs, told apart to a few percent. Long: six patterns of ten runs and more."""
    folder = drive.folder / "long"
    pairs = measured_in_turns(drive.machine, drive.target, name, folder, 2.0, NOISE_WANTED)
    assert (list(pairs.differing()), list(pairs.noisy(NOISE_MOST))) == ([], [])


@pytest.mark.long
@pytest.mark.parametrize("name", BY_HAND)
def test_stithy_agrees_with_fio_by_hand_on_a_directory(name: str) -> None:
    """As far as a shared disk is like itself. Long: beside other work it never is."""
    with a_place(DISK) as folder:
        machine = Machine(LocalRunner(), find(LocalRunner()))
        target = Target(str(folder / "target"), SIZE_BYTES)
        lay_out(machine, target, folder / "laid-out", seed=1)
        pairs = measured_in_turns(machine, target, name, folder, 2.0, NOISE_WANTED)
        assert list(pairs.differing()) == []


@pytest.mark.parametrize(
    ("times", "noise", "differs"),
    [(1.05, 0.2, True), (1.03, 2, False), (1.01, 0, False), (1.03, 0, True), (1.3, 20, True)],
)
def test_a_difference_is_told_from_noise(times: float, noise: float, differs: bool) -> None:
    """Beyond two percent by what noise leaves unexplained; by a quarter in any noise."""
    pairs = Pairs()
    for own, hand in zip((-1, 2, 0, 1, -2), (1, 2, -1, -2, 0), strict=True):
        pairs.hand.append({"IOPS": 1000 * math.exp(noise / 100 * hand)})
        pairs.own.append({"IOPS": 1000 * times * math.exp(noise / 100 * own)})
    assert bool(list(pairs.differing())) == differs
