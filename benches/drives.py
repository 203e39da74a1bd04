"""`make bench`: is an emulated drive fast enough to be any drive, and true to its profile?

Floor and throughput of the way to a drive that takes no time; how near a drive of a known latency
comes to it, from one request at a time up to half of that throughput; how evenly caps are kept;
what drives cost that nobody uses. All by fio on the block device. `--quick` looks only briefly and
keeps no numbers; words such as `floor fidelity` choose parts.
"""

import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import drive_readings as fio
from drive_readings import DriveReading, Work
from kept import NOT_VALID, TARGET_MISSED, keep
from stithy.drives.control import DriveSpec
from stithy.drives.program import DriveProgram, start
from stithy.fio.traces import read_trace

GIB = 2**30
LATENCIES_US = (80, 200, 1_000, 5_000, 20_000)
DEPTHS = (1, 4, 8, 16, 32, 64, 128)
CAPS = (
    ("read_iops", 5_000, "4k"),
    ("read_iops", 20_000, "4k"),
    ("read_bytes_per_s", 200e6, "128k"),
)
SLICE_S = 0.1
IDLE_DRIVES = 48
PROFILE = """
version = 1
name = "bench"
title = "A drive of a known latency"
capacity_bytes = 1_000_000_000_000
channels = 1024
read = {{ p50_us = {us}, p99_us = {us}, bytes_per_s = 1e12 }}
write = {{ p50_us = {us}, p99_us = {us}, bytes_per_s = 1e12 }}
flush = {{ cost_us = {us} }}
{cap}
[provenance]
assumed = ["capacity_bytes", "channels", "read", "write", "flush"{marks}]
"""


@dataclass(frozen=True)
class Effort:
    """How long the bench looks at each thing."""

    wanted: int
    most: int
    duration_s: float
    cap_s: float
    idle_s: float
    latencies_us: tuple[int, ...] = LATENCIES_US


FULL = Effort(wanted=3, most=5, duration_s=1.5, cap_s=10.0, idle_s=20.0)
QUICK = Effort(wanted=1, most=1, duration_s=1.0, cap_s=2.0, idle_s=3.0, latencies_us=(80, 1_000))


@dataclass(frozen=True)
class Line:
    """One line of the table; a target is a bound of the value, None where there is none."""

    what: str
    value: float
    unit: str
    most: float | None = None
    least: float | None = None
    beside: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None without one."""
        if self.most is None and self.least is None:
            return None
        above = self.least is None or self.value >= self.least
        return above and (self.most is None or self.value <= self.most)

    def __str__(self) -> str:
        """What is read."""
        target = {None: "", True: "met", False: "MISSED"}[self.met]
        bound = "" if self.most is None else f"at most {self.most:,.3g}"
        bound = bound if self.least is None else f"at least {self.least:,.3g}"
        value = f"{self.value:,.0f}" if self.value >= 1000 else f"{self.value:.3g}"
        return f"{self.what:<52}{value:>10} {self.unit:<7}{bound:<20}{target:<8}{self.beside}"


@dataclass(frozen=True)
class Part:
    """What one part of the bench gave: lines to read, and what they were made of."""

    lines: list[Line]
    raw: object


def main(words: Sequence[str]) -> int:
    """Measure, show, keep; 99 where a target is missed, 5 where there is no number."""
    signal.signal(signal.SIGTERM, _stop)
    effort = QUICK if "--quick" in words else FULL
    chosen = [name for name in PARTS if name in words] or list(PARTS)
    done: dict[str, Part] = {}
    for name in chosen:
        print(f"{time.strftime('%H:%M:%S')} drives: {name}", file=sys.stderr, flush=True)
        done[name] = PARTS[name](effort, done)
        for line in done[name].lines:
            print(line, flush=True)
    if effort is FULL:
        keep("drives", {"effort": effort}, {name: part.__dict__ for name, part in done.items()})
    lines = [line for part in done.values() for line in part.lines]
    return TARGET_MISSED if any(line.met is False for line in lines) else 0 if lines else NOT_VALID


@contextmanager
def up(*specs: DriveSpec, hold_off_idle: bool = True) -> Iterator[DriveProgram]:
    """Drives of a program of their own."""
    with tempfile.TemporaryDirectory(prefix="stithy-bench-") as folder:
        program = start(specs, Path(folder) / "drives", hold_off_idle=hold_off_idle)
        try:
            yield program
        finally:
            program.stop()


def described(us: float, cap: str = "") -> str:
    """A profile of a constant latency."""
    return PROFILE.format(us=us, cap=f"[cap]\n{cap}" if cap else "", marks=', "cap"' if cap else "")


def measured(effort: Effort, program: DriveProgram, name: str, work: Work) -> list[DriveReading]:
    """The calmest readings of a drive."""
    return fio.readings(
        work,
        program.devices[name],
        program.identity.pid,
        wanted=effort.wanted,
        most=effort.most,
    )


def median(taken: Sequence[DriveReading], figure: str) -> float:
    """Over the readings."""
    return float(statistics.median(getattr(each, figure) for each in taken))


def shown(taken: Sequence[DriveReading]) -> str:
    """What stands beside a value: the program's CPU, and whether the machine was left alone."""
    others = max(each.others_cpus for each in taken)
    shared = f", others took {others:.1f} CPUs" if others >= fio.CALM_CPUS else ""
    return f"{median(taken, 'cpu_us_per_io'):.1f} µs CPU an I/O{shared}"


def floor(effort: Effort, done: dict[str, Part]) -> Part:
    """What the way to a drive takes, of a drive that takes no time and is in memory."""
    lines, raw = [], {}
    for held, most_us in ((True, 20.0), (False, 60.0)):
        with up(DriveSpec("floor", None, 2 * GIB), hold_off_idle=held) as program:
            fill(program, "floor")
            for rw in ("randread", "randwrite"):
                taken = measured(effort, program, "floor", Work(rw, duration_s=effort.duration_s))
                idle = "deep idle held off" if held else "deep idle allowed"
                mean_us = median(taken, "mean_us")
                what = f"{rw} 4k, QD 1, {idle}: mean"
                bound_us = most_us if rw == "randread" else None
                lines.append(Line(what, mean_us, "µs", most=bound_us, beside=shown(taken)))
                raw[f"{rw}, {idle}"] = taken
    return Part(lines, raw)


def fill(program: DriveProgram, name: str) -> None:
    """Write everything once: what was never written has no memory yet."""
    work = Work("write", "1m", 8, duration_s=1.0)
    fio.fio(work, program.devices[name], ["--time_based=0", "--size=100%"])


def throughput(effort: Effort, done: dict[str, Part]) -> Part:
    """How much a drive that takes no time gives."""
    lines, raw = [], {}
    with up(DriveSpec("full", None, 2 * GIB)) as program:
        fill(program, "full")
        for rw, block, depth in (
            ("randread", "4k", 32),
            ("randwrite", "4k", 32),
            ("read", "128k", 8),
            ("write", "128k", 8),
        ):
            work = Work(rw, block, depth, effort.duration_s)
            taken = measured(effort, program, "full", work)
            raw[str(work)] = taken
            if block == "4k":
                value, unit, least = median(taken, "iops"), "IOPS", 180_000.0
            else:
                value, unit, least = median(taken, "bytes_per_s") / 1e9, "GB/s", 3.0
            lines.append(Line(str(work), value, unit, least=least, beside=shown(taken)))
    return Part(lines, raw)


def fidelity(effort: Effort, done: dict[str, Part]) -> Part:
    """Configured against measured latency, up to half of the measured throughput."""
    most_iops = half_of_the_floor(effort, done)
    lines, raw = [], {}
    for us in effort.latencies_us:
        with up(DriveSpec("known", described(us), GIB)) as program:
            for depth in DEPTHS:
                if depth > 1 and depth / us * 1e6 > most_iops:
                    continue
                work = Work("randread", depth=depth, duration_s=effort.duration_s)
                taken = measured(effort, program, "known", work)
                raw[f"{us} µs, QD {depth}"] = taken
                lines += fidelity_lines(us, depth, taken)
    return Part(lines, {"most_iops": most_iops, "readings": raw})


def half_of_the_floor(effort: Effort, done: dict[str, Part]) -> float:
    """Half of what a drive gives at most, requests a second."""
    part = done.get("throughput") or throughput(effort, done)
    most_iops: float = part.lines[0].value
    return most_iops / 2


def fidelity_lines(us: float, depth: int, taken: Sequence[DriveReading]) -> list[Line]:
    """Mean within 3 % or 3 µs, p99 within 10 % or 20 µs."""
    mean_us, p99_us = median(taken, "mean_us") - us, median(taken, "p99_us") - us
    iops = median(taken, "iops")
    what = f"{us:,} µs, QD {depth}"
    beside = f"{iops:,.0f} IOPS, {shown(taken)}"
    mean_most_us, p99_most_us = max(0.03 * us, 3.0), max(0.10 * us, 20.0)
    return [
        Line(f"{what}: mean off by {mean_us:+.1f}", abs(mean_us), "µs", mean_most_us, None, beside),
        Line(f"{what}: p99 off by {p99_us:+.1f}", abs(p99_us), "µs", p99_most_us),
    ]


def caps(effort: Effort, done: dict[str, Part]) -> Part:
    """Caps over the whole time, and in slices of 100 ms by the drive's own trace."""
    lines, raw = [], {}
    for key, rate, block in CAPS:
        unit = 131_072.0 if block == "128k" else 1.0
        profile = described(50, f"{key} = {rate:.0f}")
        with up(DriveSpec("capped", profile, GIB)) as program:
            told_s = fio.fio(
                Work("randread", block, 64, effort.cap_s),
                program.devices["capped"],
                ["--ramp_time=1"],
            )
            value = told_s["bw_bytes"] if unit > 1 else told_s["iops"]
            counts = sliced(program, block, effort.cap_s)
        expected = rate / unit * SLICE_S
        within = sum(abs(each - expected) <= max(0.05 * expected, 2.0) for each in counts)
        worst = max(counts, key=lambda each: abs(each - expected))
        name = f"cap {key} = {rate:,.0f}"
        off = 100 * (value / rate - 1)
        share = 100 * within / len(counts)
        beside = f"worst slice {worst} of {expected:.0f}"
        lines.append(Line(f"{name}: off by {off:+.2f}", abs(off), "%", most=1.0))
        lines.append(Line(f"{name}: slices within", share, "%", least=99.0, beside=beside))
        raw[name] = {"value": value, "slices": counts}
    return Part(lines, raw)


def sliced(program: DriveProgram, block: str, duration_s: float) -> list[int]:
    """How many answers each whole slice of a second run had, the first and last second left out."""
    with tempfile.TemporaryDirectory(prefix="stithy-bench-") as folder:
        path = Path(folder) / "capped.trace"
        program.control.trace("capped", path)
        fio.fio(Work("randread", block, 64, duration_s + 2), program.devices["capped"])
        program.control.trace("capped", None)
        requests = read_trace(path).requests
    answered = (requests["arrived_s"] + requests["latency_s"]).to_list()
    first = answered[0] + 1.0
    counts = [0] * round(duration_s / SLICE_S)
    for at_s in answered:
        place = int((at_s - first) // SLICE_S)
        if 0 <= place < len(counts):
            counts[place] += 1
    return counts


def idle(effort: Effort, done: dict[str, Part]) -> Part:
    """What 48 drives take that nobody uses, after each has been written to and read."""
    specs = [DriveSpec(f"idle-{n}", described(100), 2**26) for n in range(IDLE_DRIVES)]
    with up(*specs) as program:
        works = all(kept(program.devices[spec.name], n) for n, spec in enumerate(specs))
        time.sleep(3)
        before_s = fio.program_s(program.identity.pid)
        time.sleep(effort.idle_s)
        taken_s = fio.program_s(program.identity.pid) - before_s
    share = 100 * taken_s / effort.idle_s / IDLE_DRIVES
    lines = [
        Line(f"{IDLE_DRIVES} drives at once keep what is written", float(works), "", least=1.0),
        Line("idle: CPU a drive, of one core", share, "%", most=0.1),
    ]
    return Part(lines, {"cpu_s": taken_s, "idle_s": effort.idle_s})


def kept(device: str, number: int) -> bool:
    """Whether a block written to a device is read again."""
    content = bytes([number + 1]) * 4096
    descriptor = os.open(device, os.O_RDWR | os.O_SYNC)
    try:
        os.pwrite(descriptor, content, 2**20)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        return os.pread(descriptor, 4096, 2**20) == content
    finally:
        os.close(descriptor)


def _stop(signal_number: int, frame: object) -> NoReturn:
    """End through the blocks that take drives down."""
    raise SystemExit(128 + signal_number)


PARTS: dict[str, Callable[[Effort, dict[str, Part]], Part]] = {
    "floor": floor,
    "throughput": throughput,
    "fidelity": fidelity,
    "caps": caps,
    "idle": idle,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
