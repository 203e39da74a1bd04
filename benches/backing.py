"""How late are answers of an emulated drive because its data are in a file?

Needs root. Compares programs in turns, each with data in a file below /var/tmp and in memory: fio
on the block device, and what the drive itself counts; and how fast a drive is loaded that takes no
time. `benches/backing.py PROGRAM...` gives files named stithy-drive to compare, none: the one that
is found; a number among them is how many rounds are taken.
"""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import drive_readings as fio
from drive_readings import Work
from kept import keep
from processes import run
from stithy.drives.control import DriveSpec
from stithy.drives.profiles import read_profile_text
from stithy.drives.program import DriveProgram, start
from stithy.wire.drive.messages import DriveCounters
from stithy.wire.program import DRIVE, find_program

SIZE_BYTES = 2**31
FOLDER = Path("/var/tmp")  # a disk, where /tmp may be memory
SECONDS = 10.0
ROUNDS = 3
MIX = Work("randrw", depth=8, duration_s=SECONDS)
"""With 70 % reads, see `MORE`."""
COMMITS = Work("randwrite", depth=1, duration_s=SECONDS)
MORE = {MIX: ("--rwmixread=70",), COMMITS: ("--fsync=1",)}
CASES = (("generic-15k", MIX), ("gp3", MIX), ("gp3", COMMITS), ("generic-7200", COMMITS))


@dataclass(frozen=True)
class Lateness:
    """One reading; `program` is its folder's name, `late_share` are answers that count as late."""

    program: str
    backing: str
    profile: str
    work: str
    answers: int
    late_share: float
    late_mean_s: float
    late_p99_s: float
    cpu_us_per_answer: float
    others_cpus: float

    def __str__(self) -> str:
        return (
            f"{self.profile:<13}{self.work:<22}{self.backing:<8}{self.program:<8}"
            f"{self.answers:>7} answers  late {self.late_share:7.3%}  mean "
            f"{self.late_mean_s * 1e6:7.1f} us  p99 {self.late_p99_s * 1e6:8.1f} us  "
            f"CPU {self.cpu_us_per_answer:5.1f} us  others {self.others_cpus:.2f} CPUs"
        )


def main(words: Sequence[str]) -> int:
    """Measure in turns, show, keep."""
    rounds = next((int(word) for word in words if word.isdigit()), ROUNDS)
    programs = [Path(word) for word in words if not word.isdigit()] or [find_program(DRIVE)]
    taken: list[Lateness] = []
    unpaced: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(prefix="stithy-bench-", dir=FOLDER) as folder:
        image = Path(folder) / "image"
        fill(image, programs[0])
        for number in range(rounds):
            order = programs if number % 2 == 0 else programs[::-1]
            for program in order:
                unpaced.append(loaded(program, image))
                print(unpaced[-1], flush=True)
            for name, work in CASES:
                for backing in (image, None):
                    for program in order:
                        taken.append(reading(program, name, work, backing))
                        print(taken[-1], flush=True)
    keep("backing", {"size_bytes": SIZE_BYTES}, {"lateness": taken, "unpaced": unpaced})
    return 0


@contextmanager
def up(program: Path, name: str | None, backing: Path | None) -> Iterator[DriveProgram]:
    """A drive of a program of its own."""
    profile = None if name is None else read_profile_text(name)
    spec = DriveSpec("bench", profile, SIZE_BYTES, backing=backing)
    with tempfile.TemporaryDirectory(prefix="stithy-bench-") as folder:
        started = start([spec], Path(folder) / "drives", program=program)
        try:
            yield started
        finally:
            started.stop()


def fill(image: Path, program: Path) -> None:
    """Write all of an image: what was never written is read without the disk."""
    with up(program, None, image) as drive:
        run(["dd", "if=/dev/urandom", f"of={drive.devices['bench']}", "bs=1M", "oflag=direct",
             f"count={SIZE_BYTES >> 20}"])  # fmt: skip


def loaded(program: Path, image: Path) -> dict[str, object]:
    """How fast a drive that takes no time is written and read, as when data are loaded."""
    shown: dict[str, object] = {"program": program.parent.name}
    with up(program, "generic-7200", image) as drive:
        drive.control.set("bench", paced=False)
        for work in (
            Work("write", "128k", 8, 4.0),
            Work("randwrite", "4k", 1, 4.0),
            Work("randwrite", "4k", 8, 4.0),
            Work("randread", "4k", 1, 4.0),
            Work("read", "128k", 4, 4.0),
        ):
            read = fio.read(work, drive.devices["bench"], drive.identity.pid)
            shown[str(work)] = round(read.bytes_per_s / 1e6, 1)
            shown[f"{work}, others"] = round(read.others_cpus, 2)
    return shown


def reading(program: Path, name: str, work: Work, backing: Path | None) -> Lateness:
    """One run of fio, and what the drive counted since it came up."""
    with up(program, name, backing) as drive:
        fio.wait_for_calm()
        before = drive.control.read_counters("bench")
        seen = fio.read(work, drive.devices["bench"], drive.identity.pid, MORE[work])
        after = drive.control.read_counters("bench")
    answers = answered(after) - answered(before)
    late_s = late_sum_s(after) - late_sum_s(before)
    cpu_s = (after.cpu_s or 0.0) - (before.cpu_s or 0.0)
    return Lateness(
        program.parent.name,
        "memory" if backing is None else "file",
        name,
        " ".join([str(work), *MORE[work]]),
        answers,
        (after.late_answers - before.late_answers) / answers,
        late_s / answers,
        after.late.p99_s or 0.0,
        cpu_s / answers * 1e6,
        seen.others_cpus,
    )


def answered(counters: DriveCounters) -> int:
    """Answers of every kind."""
    return sum(each.answered for each in counters.operations)


def late_sum_s(counters: DriveCounters) -> float:
    """The lateness of all answers together."""
    return (counters.late.mean_s or 0.0) * counters.late.count


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
