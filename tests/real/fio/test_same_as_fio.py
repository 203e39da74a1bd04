"""A job file run by fio and by Stithy is the same load, as the trace of the drive has it.

Both draw from one seed, so the requests of each job are the same in the same order, whatever its
options: direction, place and size. The runs of a pair are at the same time, on a drive each; they
differ in how far each job came, and in the requests that are then outstanding. The drives are so
slow and even that the machine matters little; a pair whose rate or latency differs is measured
again, and the median of all pairs must not.
"""

import json
import math
import random
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import polars as pl
import pytest

from stithy.drives.control import DriveSpec
from stithy.fio import library
from stithy.fio.load import FioLoad
from stithy.fio.measure import measure
from stithy.fio.output import Histogram
from stithy.fio.profile import DIRECTIONS, Pattern
from stithy.fio.traces import read_trace
from support.drive_profile import drive
from support.raised_drive import Raised, all_raised

pytestmark = [pytest.mark.needs_drive, pytest.mark.needs_fio]

MIB = 2**20
SIZE_BYTES = 64 * MIB
FILES = 15
PERCENTILES = {"median": "50.000000", "99th percentile": "99.000000"}
DURATION_S = 0.4
TRIES = 4
AHEAD_SHARE = 0.1
"""By how much one of several jobs may be ahead of where it was in the other run."""

DIFFERENCE_MOST, MEDIAN_MOST = 0.25, 0.05
"""Of rates and latencies: of a pair, and of the median pair."""

TAIL_MOST = 0.6
"""Of a 99th percentile of one pair: a single moment of the machine moves it."""

REQUESTS_LEAST = 50
"""Of fewer, one that the machine held up is a large share of the latency."""

PROFILE = drive(size_bytes=SIZE_BYTES, channels=32, times_ms=(8, 8.1), bytes_per_s=1e10, flush_ms=1)

ENGINES = ("", "ioengine=psync", "ioengine=pvsync2", "ioengine=libaio", "ioengine=libaio",
           "ioengine=io_uring")  # fmt: skip
SIZES = ("", "bs=8k", "bs=4k,16k", "bs=32k,", "bssplit=4k/60:8k/30:64k/10", "bsrange=4k-16k",
         "bssplit=4k/50:16k/,8k/")  # fmt: skip
PLACES = (
    "", "", "norandommap", "percentage_random=50", "percentage_random=100,30", "ba=16k",
    "random_distribution=zoned:60/10:30/20:10/",
    # Not where reads and writes differ in size, which is refused.
    "random_distribution=zipf:1.1", "random_distribution=pareto:0.2",
    "random_distribution=normal:20",
)  # fmt: skip
SHARES = ("", "", "size=50%", "offset=25%\nsize=50%", "offset_increment=25%")
BYTES = ("size=64m", "offset=16m\nsize=48m", "offset=32m\nsize=16m\noffset_increment=16m")
PACES = ("", "", "", "thinktime=20ms\nthinktime_blocks=8", "rate_iops=150", "rate=1m")
BATCHES = ("", "", "iodepth_batch=2\niodepth_batch_complete_min=2", "iodepth_low=1",
           "iodepth_batch=0")  # fmt: skip
SYNCS = ("", "", "fsync=4", "fdatasync=1", "sync=dsync")


def job_file(draw: random.Random) -> str:
    """A job file of options that are translated; where and how long is said elsewhere."""
    sections = [["[global]", "direct=1", draw.choice(ENGINES), draw.choice(SIZES)]]
    regions = draw.choice([SHARES, SHARES, BYTES])
    for number in range(draw.choice([1, 1, 2])):
        mode = draw.choice(["randread", "randwrite", "randrw", "read", "write", "rw"])
        jobs = 2 if "increment=16m" in (region := draw.choice(regions)) else draw.randint(1, 3)
        lines = [f"[job{number}]", f"rw={mode}", f"numjobs={jobs}", region]
        lines += [f"iodepth={draw.choice([1, 2, 5, 8])}", draw.choice(BATCHES)]
        if draw.random() < 0.3:
            lines.append(draw.choice(["bs=8k", "bs=16k", "bs=32k"]))
        if mode.startswith("rand"):
            lines.append(draw.choice(PLACES[: 7 if "," in sections[0][-1] else None]))
        if mode.endswith("rw"):  # which of both comes first at a rate is a matter of moments
            lines.append(draw.choice(["", "rwmixread=70", "rwmixwrite=40"]))
        else:
            lines.append(draw.choice(PACES))
        if not mode.endswith("read"):
            lines.append(draw.choice(SYNCS))
        sections.append(lines)
    return "".join(f"{line}\n" for lines in sections for line in lines if line)


@dataclass(frozen=True)
class Run:
    """What the drive saw of a run, in the order of its answers, and what its program says."""

    requests: list[tuple[str, int, int]]
    flushes: int
    deepest: int
    figures: Mapping[str, float]


Figures = Mapping[str, float]
"""Requests a second, mean and percentiles of latency, by name and kind of request."""

Measure = Callable[[Raised, int, Path], Figures]
"""The figures of a run with this seed."""


def trace_all(drives: Mapping[str, Raised], runs: list[Measure], seed: int) -> list[Run]:
    """Runs at the same time, one on each drive, with the drive's trace."""

    def trace(run: Measure, drive: Raised) -> Run:
        with tempfile.TemporaryDirectory(dir=drive.folder) as folder:
            path = Path(folder) / "trace"
            drive.program.control.trace(drive.name, path)
            figures = run(drive, seed, Path(folder) / "run")
            drive.program.control.trace(drive.name, None)
            return read_run(path, figures)

    with ThreadPoolExecutor() as pool:
        return list(pool.map(trace, runs, drives.values()))


def read_run(path: Path, figures: Figures) -> Run:
    """What a trace has of a run."""
    trace = read_trace(path)
    assert trace.lost == 0
    moved = trace.requests.filter(pl.col("operation").is_in(DIRECTIONS))
    deepest = moved["depth"].max()
    assert isinstance(deepest, int)
    requests = moved.select("operation", "offset_bytes", "length_bytes").rows()
    return Run(requests, trace.requests.height - moved.height, deepest, figures)


def by_fio(text: str) -> Measure:
    """A job file as a person runs it, by fio's own document."""

    def run(drive: Raised, seed: int, _folder: Path) -> Figures:
        head = (
            f"[global]\nfilename={drive.target.path}\ntime_based\n"
            f"runtime={1000 * DURATION_S:.0f}ms\n"
            f"randrepeat=0\nrandseed={seed}\nrandom_generator=tausworthe64\n"
        )
        words = [drive.machine.found.program, "--output-format=json", "-"]
        done = subprocess.run(words, input=head + text, capture_output=True, text=True, check=True)
        document = json.loads(done.stdout[done.stdout.index("{\n") :])
        sides = [job[direction] for job in document["jobs"] for direction in DIRECTIONS]
        waited_s = sum(side["total_ios"] * side["lat_ns"]["mean"] for side in sides) / 1e9
        count = sum(side["total_ios"] for side in sides)
        figures = {"rate": sum(side["iops"] for side in sides), "mean": waited_s / count}
        if "percentile" in sides[0]["lat_ns"]:  # of all submitters, as they are one group
            (job,) = document["jobs"]
            kinds = {kind: job[kind]["lat_ns"] for kind in (*DIRECTIONS, "sync")}
            for kind, times in kinds.items():
                for name, key in PERCENTILES.items() if times["mean"] else ():
                    figures[f"{name} of {kind}"] = times["percentile"][key] / 1e9
        return figures

    return run


def by_stithy(pattern: Pattern) -> Measure:
    """The same, as `stithy block` measures it in a window."""

    def run(drive: Raised, seed: int, folder: Path) -> Figures:
        load = FioLoad(DURATION_S, 0.0, seed, engine=drive.machine.engine, logs=False)
        answers = measure(drive.machine, pattern, [(drive.target, load)], folder).answers
        waited_s = sum(answer.latency.sum_s for answer in answers)
        count = sum(answer.latency.count for answer in answers)
        figures = {"rate": sum(answer.iops for answer in answers), "mean": waited_s / count}
        kinds: dict[str, Histogram | None] = {"sync": answers[0].flush}
        for way in DIRECTIONS:
            side = answers[0].get_side(way)
            kinds[way] = side.latency if side else None
        for kind, latency in kinds.items():
            if latency is None:
                continue
            for name, key in PERCENTILES.items():
                figures[f"{name} of {kind}"] = latency.find_quantile_s(float(key) / 100) or 0.0
        return figures

    return run


def differences(fio: Run, stithy: Run, pattern: Pattern) -> Iterator[str]:
    """What of two runs is not the same load."""
    streams = pattern.streams
    jobs = sum(stream.jobs for stream in streams)
    outstanding = sum(stream.outstanding for stream in streams)
    fewer = min(len(fio.requests), len(stithy.requests))
    common = (Counter(fio.requests) & Counter(stithy.requests)).total()
    if common < fewer - outstanding - (AHEAD_SHARE * fewer if jobs > 1 else 0):
        yield f"{common} of {fewer} requests are the same"
    if outstanding == 1 and fio.requests[:fewer] != stithy.requests[:fewer]:
        yield "another order"
    if fio.deepest != stithy.deepest and not any(stream.is_paced for stream in streams):
        yield f"{fio.deepest} and {stithy.deepest} outstanding"
    # Flushes of several jobs may be one for the drive.
    if bool(fio.flushes) != bool(stithy.flushes):
        yield f"{fio.flushes} and {stithy.flushes} flushes"
    shares = [run.flushes / len(run.requests) for run in (fio, stithy)]
    if outstanding == 1 and abs(shares[0] - shares[1]) * fewer > 2:
        yield f"{shares[0]:.2f} and {shares[1]:.2f} flushes a request"


@pytest.fixture(scope="module")
def drives(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Raised]]:
    """Two drives, one for each program."""
    specs = [DriveSpec(name, PROFILE, SIZE_BYTES) for name in ("fio", "stithy")]
    with all_raised(specs, tmp_path_factory.mktemp("state")) as raised:
        yield raised


def compare_runs(
    drives: Mapping[str, Raised], text: str, pattern: Pattern, seed: int
) -> tuple[list[str], dict[str, float]]:
    """What differs in every try, and Stithy's figures as multiples of fio's, of the best tries."""
    best: dict[str, float] = {}
    for _ in range(TRIES):
        fio, stithy = trace_all(drives, [by_fio(text), by_stithy(pattern)], seed)
        problems = list(differences(fio, stithy, pattern))
        for name, value in fio.figures.items():
            ratios = stithy.figures[name] / value, best.get(name, math.inf)
            best[name] = min(ratios, key=lambda ratio: abs(ratio - 1))
        if len(stithy.requests) >= REQUESTS_LEAST:
            for name, ratio in best.items():
                if abs(ratio - 1) > (TAIL_MOST if "99th" in name else DIFFERENCE_MOST):
                    problems.append(f"{name} {ratio - 1:+.0%}")
        if not problems:
            break
    return problems, best


def assert_alike(outcomes: Mapping[str, tuple[list[str], dict[str, float]]]) -> None:
    """No run of these job files differs, and the median of no figure does."""
    wrong = [f"{problems}:\n{text}" for text, (problems, _) in outcomes.items() if problems]
    assert not wrong, "\n".join(wrong)
    for name in ("rate", "mean"):
        assert abs(median(ratios[name] for _, ratios in outcomes.values()) - 1) < MEDIAN_MOST


def test_job_files_are_the_same_load(drives: Mapping[str, Raised], tmp_path: Path) -> None:
    """The same requests, as many outstanding, as many flushes; rates and latencies within noise."""
    texts = [job_file(random.Random(f"job file {number}")) for number in range(FILES)]
    assert_alike({
        text: compare_runs(drives, text, translate(text, drives, tmp_path / f"{n}.fio"), n)
        for n, text in enumerate(texts, start=1)
    })  # fmt: skip


BY_HAND = {
    "sql-80-20": "ioengine=psync rw=randrw rwmixread=80 bs=8k numjobs=18",
    "four-corners/random-read-4k": "ioengine=psync rw=randread bs=4k numjobs=128",
    "four-corners/random-write-4k": "ioengine=psync rw=randwrite bs=4k numjobs=64",
    "four-corners/sequential-read-64k": "ioengine=libaio rw=read bs=64k iodepth=16",
    "four-corners/sequential-write-64k": "ioengine=libaio rw=write bs=64k iodepth=8",
    "commit-log/one-writer": "ioengine=psync rw=write bs=8k fdatasync=1",
}
"""Shipped patterns' own parameters, as a person would write them."""


def test_shipped_patterns_are_what_a_person_would_run(drives: Mapping[str, Raised]) -> None:
    """With medians and 99th percentiles of each kind of request."""
    head = "[global] direct=1 lat_percentiles=1 percentile_list=50:99 group_reporting=1 [job] "
    for _ in range(TRIES):  # other work on the machine delays the slowest of either
        outcomes = {
            text: compare_runs(drives, text, library.find(name).patterns[0], 1)
            for name, options in BY_HAND.items()
            if (text := "\n".join((head + options).split()) + "\n")
        }
        tails = [best[name] for _, best in outcomes.values() for name in best if "99th" in name]
        if abs(median(tails) - 1) < DIFFERENCE_MOST:
            break
    assert_alike(outcomes)
    assert abs(median(tails) - 1) < DIFFERENCE_MOST


def test_the_seed_decides_all_places(drives: Mapping[str, Raised], tmp_path: Path) -> None:
    """No submitter goes to the same places again with another seed, so no cache knows them."""
    pattern = translate("[job]\ndirect=1\nrw=randread\n", drives, tmp_path / "seeded.fio")
    runs = [trace_all(drives, [by_stithy(pattern)], seed)[0] for seed in (1, 2)]
    places = [{offset for _, offset, _ in run.requests} for run in runs]
    assert len(places[0] & places[1]) < len(places[0]) / 10


def translate(text: str, drives: Mapping[str, Raised], file: Path) -> Pattern:
    """The pattern of a job file that runs on the second drive."""
    file.write_text(f"[global]\nfilename={drives['stithy'].target.path}\n{text}")
    (pattern,) = library.find(str(file)).patterns
    return pattern
