"""One reading of a drive by fio: what the client saw, and what it cost the drive's program.

A reading also tells how much of the machine others took meanwhile, so that a bench can take those
in which it was left alone; none is thrown away unseen.
"""

import json
import os
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from processes import run

CALM_CPUS = 0.08
"""Others who take less than this many CPUs disturb nobody."""

PATIENCE_S = 4.0
QUANTILES = "50:99:99.9"


@dataclass(frozen=True)
class Work:
    """What fio is to do: `rw` and `block` in fio's words, `depth` requests at once."""

    rw: str
    block: str = "4k"
    depth: int = 1
    duration_s: float = 2.0

    @property
    def reads(self) -> bool:
        """Whether it reads."""
        return "read" in self.rw

    def __str__(self) -> str:
        return f"{self.rw} {self.block}, QD {self.depth}"


@dataclass(frozen=True)
class DriveReading:
    """What one run gave; times are fio's total latency.

    `cpu_us_per_io` is the CPU time of the drive's program; `others_cpus` how many CPUs were taken
    by what is neither fio, nor the program, nor the kernel's workers.
    """

    iops: float
    bytes_per_s: float
    mean_us: float
    p50_us: float
    p99_us: float
    p999_us: float
    cpu_us_per_io: float
    others_cpus: float


def readings(work: Work, device: str, pid: int, *, wanted: int, most: int) -> list[DriveReading]:
    """The `wanted` calmest of at most `most` readings; no more than needed are taken."""
    taken: list[DriveReading] = []
    while len(taken) < most and sum(each.others_cpus < CALM_CPUS for each in taken) < wanted:
        wait_for_calm()
        taken.append(read(work, device, pid))
    return sorted(taken, key=lambda each: each.others_cpus)[:wanted]


def wait_for_calm() -> None:
    """Until the machine has been idle for a quarter of a second, at most `PATIENCE_S`."""
    until_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < until_s:
        before_s = busy_s()
        time.sleep(0.25)
        if busy_s() - before_s < 0.03:
            return


def read(work: Work, device: str, pid: int, more: Sequence[str] = ()) -> DriveReading:
    """One run of fio, told `more`, against a block device whose program is `pid`."""
    started_s, busy_before_s = time.monotonic(), busy_s()
    kernel_before_s, program_before_s = kernel_s(), program_s(pid)
    own_before = resource.getrusage(resource.RUSAGE_CHILDREN)
    shown = fio(work, device, more)
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    program = program_s(pid) - program_before_s
    known_s = own.ru_utime + own.ru_stime - own_before.ru_utime - own_before.ru_stime
    known_s += program + kernel_s() - kernel_before_s
    passed_s = time.monotonic() - started_s
    times = shown["lat_ns"]
    ios = max(int(shown["total_ios"]), 1)
    return DriveReading(
        iops=float(shown["iops"]),
        bytes_per_s=float(shown["bw_bytes"]),
        mean_us=times["mean"] / 1e3,
        p50_us=times["percentile"]["50.000000"] / 1e3,
        p99_us=times["percentile"]["99.000000"] / 1e3,
        p999_us=times["percentile"]["99.900000"] / 1e3,
        cpu_us_per_io=program / ios * 1e6,
        others_cpus=max(busy_s() - busy_before_s - known_s, 0.0) / passed_s,
    )


def fio(work: Work, device: str, more: Sequence[str] = ()) -> dict:  # type: ignore[type-arg]  # plain JSON
    """What fio tells of the direction that it was asked for."""
    command = [
        "fio",
        "--name=bench",
        f"--filename={device}",
        "--direct=1",
        "--ioengine=io_uring",
        f"--rw={work.rw}",
        f"--bs={work.block}",
        f"--iodepth={work.depth}",
        "--norandommap",
        "--randrepeat=0",
        "--time_based",
        f"--runtime={work.duration_s}",
        "--lat_percentiles=1",
        "--clat_percentiles=0",
        f"--percentile_list={QUANTILES}",
        "--output-format=json",
        *more,
    ]
    text = run(command).stdout
    shown = json.loads(text[text.index("{") :])
    return dict(shown["jobs"][0]["read" if work.reads else "write"])


def busy_s() -> float:
    """CPU time of the whole machine since it started."""
    numbers = [int(each) for each in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    user, nice, system, _, _, hard, soft, *_ = numbers
    return (user + nice + system + hard + soft) / os.sysconf("SC_CLK_TCK")


def program_s(pid: int) -> float:
    """CPU time of all threads of a process that are there."""
    return sum(_thread_s(folder) for folder in Path(f"/proc/{pid}/task").iterdir())


def kernel_s() -> float:
    """CPU time of the kernel's workers, which carry requests to drives and answers back."""

    def works(folder: Path) -> bool:
        return _quietly(folder / "comm").startswith(("kworker", "ksoftirqd"))

    folders = (Path("/proc") / name for name in os.listdir("/proc") if name.isdigit())
    return sum(_thread_s(folder) for folder in folders if works(folder))


def _thread_s(folder: Path) -> float:
    numbers = _quietly(folder / "schedstat").split()
    return int(numbers[0]) / 1e9 if numbers else 0.0


def _quietly(path: Path) -> str:
    """What a file of /proc holds; nothing of a process that has ended."""
    try:
        return path.read_text()
    except OSError:
        return ""
