"""Emulated drives, all of which were written, and closed loops as fio and the drives saw them."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from stithy.drives import control
from stithy.drives.control import DriveSpec
from stithy.drives.program import DriveProgram, start
from stithy.fio.load import FioLoad, FioTarget
from stithy.fio.measure import FioMachine, lay_out, measure, prepare_fio
from stithy.fio.output import FioAnswer
from stithy.fio.profile import DIRECTIONS, Pattern
from stithy.hosts.runner import LocalRunner
from stithy.wire.drive.messages import OperationCounters
from support.places import DISK, a_place

Figures = Mapping[tuple[str, str], float]
"""By what is said (`iops`, `bytes_per_s`, `mean_s`) and of which kind of request, `all` too."""


@dataclass(frozen=True)
class Raised:
    """A drive of a program, and a folder for files of fio."""

    name: str
    program: DriveProgram
    machine: FioMachine
    target: FioTarget
    folder: Path

    def counters(self) -> Mapping[str, OperationCounters]:
        """What it did since it came up, by operation."""
        operations = self.program.control.read_counters(self.name).operations
        return {each.name: each for each in operations}


@contextmanager
def all_raised(specs: Sequence[DriveSpec], state: Path) -> Iterator[Mapping[str, Raised]]:
    """Drives by their names in one program, written without their times."""
    runner = LocalRunner()
    with pytest.MonkeyPatch.context() as patch, a_place(DISK) as folder:
        patch.setenv("STITHY_STATE", str(state))
        program = start(specs, control.get_folder(specs[0].name), runner=runner)
        try:
            targets = {
                each.name: FioTarget(program.devices[each.name], each.size_bytes) for each in specs
            }
            machine = prepare_fio(runner, list(targets.values()), folder / "tried")
            for name, target in targets.items():
                program.control.set(name, paced=False)
                lay_out(machine, target, folder / name / "laid-out", seed=1)
                program.control.set(name, paced=True)
            yield {
                name: Raised(name, program, machine, target, folder / name)
                for name, target in targets.items()
            }
        finally:
            program.stop()


@dataclass(frozen=True)
class Seen:
    """A closed loop by fio, and the same requests by the drive's own counters."""

    by_fio: Figures
    by_drive: Figures


def closed_loop(drive: Raised, pattern: Pattern, duration_s: float, turn: int) -> Seen:
    """A pattern with one stream, all of which fio counts."""
    before = drive.counters()
    load = FioLoad(duration_s, 0.0, 7 + turn, engine=drive.machine.engine, logs=False)
    with tempfile.TemporaryDirectory(dir=drive.folder) as folder:
        workers = [(drive.target, load)]
        (answer,) = measure(drive.machine, pattern, workers, Path(folder) / "run").answers
    return Seen(dict(of_fio(answer)), dict(of_drive(before, drive.counters(), answer.duration_s)))


def of_fio(answer: FioAnswer) -> Iterator[tuple[tuple[str, str], float]]:
    """What fio says."""
    for way in DIRECTIONS:
        if (side := answer.get_side(way)) is not None:
            yield ("iops", way), side.iops
            yield ("bytes_per_s", way), side.bytes_per_s
            yield ("mean_s", way), side.latency.mean_s or 0.0
    if answer.flush is not None:
        yield ("iops", "flush"), answer.flush.count / answer.duration_s
        yield ("mean_s", "flush"), answer.flush.mean_s or 0.0
    yield ("iops", "all"), answer.iops
    yield ("mean_s", "all"), answer.latency.mean_s or 0.0


def of_drive(
    before: Mapping[str, OperationCounters],
    after: Mapping[str, OperationCounters],
    duration_s: float,
) -> Iterator[tuple[tuple[str, str], float]]:
    """What the drive answered meanwhile; latencies are those that its model gave."""
    counts, sums_s = {}, {}
    for kind in ("read", "write", "flush"):
        then, now = before[kind], after[kind]
        counts[kind] = now.answered - then.answered
        sums_s[kind] = _sum_s(now) - _sum_s(then)
        if counts[kind]:
            yield ("iops", kind), counts[kind] / duration_s
            yield ("mean_s", kind), sums_s[kind] / counts[kind]
            if kind != "flush":
                yield ("bytes_per_s", kind), (now.moved_bytes - then.moved_bytes) / duration_s
    moved = counts["read"] + counts["write"]
    yield ("iops", "all"), moved / duration_s
    yield ("mean_s", "all"), (sums_s["read"] + sums_s["write"]) / moved


def _sum_s(counted: OperationCounters) -> float:
    return counted.answered * (counted.given_mean_s or 0.0)
