"""What submission makes of the same load on the same storage: synchronous against asynchronous.

`submission.py DRIVE` measures a file on ext4 on an emulated drive, `submission.py DIRECTORY` one in
that directory. Each load is measured both ways, one after the other in a random order, in rounds;
the ratio is asynchronous over synchronous of each round in which other programs took little CPU
during both. As many requests are outstanding either way, or arrive a second. It takes six minutes;
the file of an earlier measurement is gone on with: `submission.py DRIVE FILE.json`. `--quick` takes
a short round, and keeps no numbers.
"""

import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import kept
from stithy.analysis.effect import estimate_paired_ratio
from stithy.drives import filesystems
from stithy.drives.control import DriveSpec
from stithy.drives.measure.measuring import raise_drive
from stithy.drives.profiles import read_profile_text
from stithy.fio import library
from stithy.fio.load import FioLoad, FioTarget
from stithy.fio.measure import FioMachine, Measured, lay_out, measure, prepare_fio
from stithy.fio.output import Histogram, merge_histograms
from stithy.fio.profile import Submission
from stithy.fio.variants import Shape, apply_shape
from stithy.hosts.runner import LocalRunner

DRIVE_BYTES, FILE_BYTES = 1536 * 2**20, 2**30
SECONDS, RAMP_S, LIMIT_S = 3.0, 0.5, 360.0
CALM_CPUS = 0.1
"""A pair beside other programs that took more is kept, and not compared."""

KERNEL = 2
"""The parent of its threads."""

WAYS: tuple[Submission, ...] = ("sync", "async")
FACTS = ("round", "case", "way", "engines", "others_cpus")


class Case(NamedTuple):
    """A profile, its shape where it is asynchronous, and a rate."""

    profile: str
    submitters: tuple[int, int] | None = None
    outstanding: int | None = None
    rate_per_s: float | None = None

    @property
    def label(self) -> str:
        """What a person calls it."""
        few = f", {self.outstanding} outstanding" if self.outstanding else ""
        return f"{self.profile}{few}{f' at {self.rate_per_s:g}/s' if self.rate_per_s else ''}"


CASES = (
    Case("oltp-8k", outstanding=1), Case("oltp-8k", outstanding=4), Case("oltp-8k", (4, 8)),
    Case("oltp-8k", rate_per_s=1000.0),
    Case("commit-log/one-writer"), Case("commit-log/many-writers"),
    Case("four-corners/random-read-4k", (4, 32)), Case("four-corners/random-write-4k", (4, 16)),
    Case("sql"), Case("sql-80-20"), Case("oracle"), Case("vmfleet-sql"),
)  # fmt: skip
"""Of the shipped profiles with synchronous streams those that differ in more than a mix or a depth.

`submitters` are the threads and the depth that they had before."""


def main(words: list[str]) -> int:
    """Measure all, show, keep."""
    quick = "--quick" in words
    place, *earlier = (each for each in words if not each.startswith("--"))
    known = [row for each in earlier for row in json.loads(Path(each).read_text())["rows"]]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/var/tmp")))
        on = folder if "/" not in place else Path(place)
        if on is folder:
            spec = DriveSpec("submission", read_profile_text(place), DRIVE_BYTES)
            program = stack.enter_context(raise_drive(spec, LocalRunner()))
            on = folder / "mounted"
            on.mkdir()
            filesystems.make(program.devices[spec.name], "ext4")
            filesystems.mount(program.devices[spec.name], on, "ext4")
            stack.callback(filesystems.unmount, on)
        target = FioTarget(str(on / "submission-target"), FILE_BYTES)
        stack.callback(Path(target.path).unlink, missing_ok=True)
        patterns = [library.find(each.profile).patterns[0] for each in CASES]
        Path(target.path).touch()
        os.truncate(target.path, FILE_BYTES)
        machine = prepare_fio(LocalRunner(), [target], folder / "tried", patterns)
        lay_out(machine, target, folder / "laid-out", seed=1)
        first = 1 + max((row["round"] for row in known), default=-1)
        rows = [*known, *rounds(machine, target, first, 0.0 if quick else LIMIT_S)]
    for row in compared(rows):
        print("{case:38} {figure:10} {sync:9.1f} {async:9.1f} {ratio:6.3f} {bounds}".format(**row))
    if not quick:
        facts = {
            "target": place, "file_system": "ext4", "fio": machine.found.version,
            "engine": machine.engine, "seconds": SECONDS, "load_after": os.getloadavg(),
        }  # fmt: skip
        kept.keep("submission", facts, {"rows": rows, "compared": list(compared(rows))})
    return 0


def rounds(
    machine: FioMachine, target: FioTarget, first: int, limit_s: float
) -> Iterator[dict[str, object]]:
    """Every case both ways, in each round in an order of its own, until the time is over."""
    end_s = time.monotonic() + limit_s
    for number in count(first):
        draw = random.Random(number)
        for case in draw.sample(CASES, len(CASES)):
            if number > first and time.monotonic() > end_s:
                return
            for way in draw.sample(WAYS, len(WAYS)):
                before, begun_s = others_s(), time.monotonic()
                found = done(machine, target, case, way)
                took_s = sum(now - before.get(each, 0.0) for each, now in others_s().items())
                taken = took_s / (time.monotonic() - begun_s)
                engines = {each.name: each.engine for each in found.streams}
                yield {"round": number, "case": case.label, "way": way, "engines": engines,
                       "others_cpus": taken, **dict(figures(found))}  # fmt: skip


def done(machine: FioMachine, target: FioTarget, case: Case, way: Submission) -> Measured:
    """A case, one way; `sync` of a profile that ships it is the profile itself."""
    pattern = library.find(case.profile).patterns[0]
    shape = Shape()
    if way == "async":
        threads, depth = case.submitters or (None, None)
        shape = Shape(submission="async", threads=threads, queue_depth=depth)
        if case.outstanding:
            shape = replace(shape, threads=1, queue_depth=case.outstanding)
    elif case.outstanding:
        shape = Shape(threads=case.outstanding)
    load = FioLoad(
        SECONDS, RAMP_S, 7, engine=machine.engine, rate_per_s=case.rate_per_s, logs=False
    )
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        workers = [(target, load)]
        return measure(machine, apply_shape(pattern, shape), workers, Path(folder) / "run")


def others_s() -> dict[str, float]:
    """CPU time of each process but those of this bench, its drive and the kernel's threads."""
    times = {}
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            stat = each.read_text()
        except OSError:
            continue  # it has ended
        fields = stat.rpartition(")")[2].split()
        parent, number = int(fields[1]), each.parent.name
        is_drive = "(stithy-drive)" in stat
        if parent != KERNEL and os.getpid() not in (parent, int(number)) and not is_drive:
            times[number] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return times


def figures(found: Measured) -> Iterator[tuple[str, float]]:
    """Requests a second, CPU time a request, and means and percentiles in microseconds."""
    yield "per_s", found.iops
    parts: dict[str, list[Histogram]] = {"read": [], "write": [], "flush": []}
    for answer in found.answers:
        for way, served in (("read", answer.read), ("write", answer.write)):
            parts[way] += [served.latency] if served is not None else []
        parts["flush"] += [answer.flush] if answer.flush is not None else []
    whole = {name: merge_histograms(each) for name, each in parts.items() if each}
    for name, latency in whole.items():
        if latency.count:
            yield f"{name} mean", (latency.mean_s or 0.0) * 1e6
            yield f"{name} p99", (latency.find_quantile_s(0.99) or 0.0) * 1e6
    moved = sum(each.count for name, each in whole.items() if name != "flush")
    yield "cpu", sum(each.cpu_s for each in found.answers) / moved * 1e6


def compared(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Of each case and figure the means, and the ratio with its interval of 95 %."""
    for case in CASES:
        mine = [row for row in rows if row["case"] == case.label]
        busy = {row["round"] for row in mine if row["others_cpus"] > CALM_CPUS}
        of = {way: [row for row in mine if row["way"] == way and row["round"] not in busy]
              for way in WAYS}  # fmt: skip
        if not of["sync"]:
            print(f"{case.label}: no round without other programs")
            continue
        for name in [key for key in of["sync"][0] if key not in FACTS]:
            sync, other = ([float(row[name]) for row in of[way]] for way in WAYS)
            effect = estimate_paired_ratio(sync, other)
            yield {
                "case": case.label, "figure": name, "sync": sum(sync) / len(sync),
                "async": sum(other) / len(other), "ratio": effect.ratio,
                "bounds": effect.plain_bounds, "rounds": len(sync),
            }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
