"""Is an emulated drive like the disk that its profile was measured on? This machine's own.

The disk is measured over the whole matrix and described by a profile. Then the drive of that
profile and the disk are measured in turns, so that one sees how far the disk is from itself: on a
shared or virtual disk much of the difference is its own. Deep idle states are held off all the
time, as the drive program does for itself, so that all are measured alike. The file lies in
/var/tmp; `--quick` measures each point once and briefly, and keeps no numbers.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import kept
from stithy.cli.drive.profile import compare_profiles
from stithy.drives.control import DriveSpec
from stithy.drives.measure import compare
from stithy.drives.measure.compare import (
    TOLERANCES,
    Compared,
    compared,
    name_of_process,
    of_measurement,
    written,
)
from stithy.drives.measure.fit import fit
from stithy.drives.measure.measurement import Measurement, Schedule, matrix, together
from stithy.drives.measure.measuring import Plan, Watch, fill, measure, ready
from stithy.drives.measure.profiling import profile_text
from stithy.drives.measure.target import facts, inspect, scratch_file
from stithy.fio.load import Target
from stithy.fio.measure import Machine
from stithy.hosts.runner import LocalRunner

DISK = Path("/var/tmp")
SPAN_BYTES = 2**30
SEED = 20_260_101


def main(words: list[str]) -> int:
    """Measure three times, show, keep; 99 where a figure is out that the disk itself keeps."""
    timing = Schedule(0.5, 1, 0.0) if "--quick" in words else Schedule(1.0, 2, 0.0)
    plan, before = Plan(matrix(writing=True), timing, SEED), os.getloadavg()
    with no_deep_idle(), scratch_file(DISK, SPAN_BYTES) as path:
        place = Target(path, SPAN_BYTES, name=str(DISK))
        fio = ready(LocalRunner(), place)
        fill(fio, place, Watch())
        say("the disk")
        disk = of_disk(fio, place, plan)
        text = profile_text("replayed", fit(disk), disk)
        drive, again = in_turns(fio, place, plan, text)
    wanted = of_measurement(disk)
    rows, noise = compared(wanted, drive), compared(wanted, again)
    print(compare_profiles(rows))
    for line in lines(rows, noise):
        print(line)
    if "--quick" not in words:
        facts_of_run = {
            "tool": disk.tool,
            "point_s": disk.point_s,
            "rounds": disk.rounds,
            "load_before_and_after": [before, os.getloadavg()],
        }
        kept.keep("replay", {**facts_of_run, "profile": text}, raw(disk, drive, again))
    return kept.TARGET_MISSED if any(missed(rows, noise)) else 0


@contextmanager
def no_deep_idle() -> Iterator[None]:
    """Processors wake at once while this is held, where the kernel can be told so."""
    try:
        handle = os.open("/dev/cpu_dma_latency", os.O_WRONLY)
    except OSError:
        yield
        return
    try:
        os.write(handle, b"\0\0\0\0")
        yield
    finally:
        os.close(handle)


def say(what: str) -> None:
    """What is measured now."""
    print(f"replay: {what}", file=sys.stderr, flush=True)


def of_disk(fio: Machine, place: Target, plan: Plan) -> Measurement:
    """The disk, by the scratch file on it."""
    return measure(fio, place, plan, facts(inspect(DISK), SPAN_BYTES), Watch())


def in_turns(
    fio: Machine, place: Target, plan: Plan, profile: str
) -> tuple[Measurement, Measurement]:
    """The drive of a profile, and the disk again, a round each in turns."""
    spec = DriveSpec(name_of_process(), profile, SPAN_BYTES, seed=SEED)
    drive, disk = [], []
    with written(spec, LocalRunner(), Watch()) as (over_drive, place_on_drive):
        for number in range(plan.schedule.rounds):
            one = replace(plan, schedule=replace(plan.schedule, rounds=1), seed=SEED + number)
            say(f"the emulated drive, and the disk again: round {number + 1}")
            drive.append(
                measure(over_drive, place_on_drive, one, compare.emulated_facts(spec), Watch())
            )
            disk.append(of_disk(fio, place, one))
    return all_rounds(drive), all_rounds(disk)


def all_rounds(parts: Sequence[Measurement]) -> Measurement:
    """Rounds that were measured one by one, as one measurement."""
    matrix_of_all = tuple(
        points[0].model_copy(
            update={
                "answer": together(each.answer for each in points),
                "iops_by_round": tuple(rate for each in points for rate in each.iops_by_round),
            }
        )
        for points in zip(*(part.matrix for part in parts), strict=True)
    )
    return parts[0].model_copy(update={"matrix": matrix_of_all, "rounds": len(parts)})


def missed(rows: Sequence[Compared], noise: Sequence[Compared]) -> Iterator[tuple[str, str, str]]:
    """Figures out of their tolerance though the disk is within it of itself."""
    own = {(each.point, each.kind): each.missed() for each in noise}
    for row in rows:
        for figure in row.missed():
            if figure not in own[row.point, row.kind]:
                yield row.point, row.kind, figure


def lines(rows: Sequence[Compared], noise: Sequence[Compared]) -> Iterator[str]:
    """The sums: how many figures are within, for the drive and for the disk against itself."""
    for figure, most in TOLERANCES.items():
        counted = [row for row in rows if row.ratio(figure) is not None]
        within = sum(figure not in row.missed() for row in counted)
        itself = sum(figure not in row.missed() for row in noise if row.ratio(figure) is not None)
        yield (
            f"{figure} within {most:.0%}: {within} of {len(counted)} of the drive, "
            f"{itself} of the disk against itself"
        )
    out = list(missed(rows, noise))
    yield f"out though the disk itself is not: {len(out)} figures"
    yield from (f"  {point}, {kind}: {figure}" for point, kind, figure in out)


def raw(disk: Measurement, drive: Measurement, again: Measurement) -> dict[str, object]:
    """Every figure and ratio; histograms are too large to be kept."""
    wanted = of_measurement(disk)
    measured = {"disk": disk, "drive": drive, "again": again}
    return {
        "drive_against_disk": [as_row(each) for each in compared(wanted, drive)],
        "disk_against_itself": [as_row(each) for each in compared(wanted, again)],
        "iops_by_round": {
            name: [each.iops_by_round for each in one.matrix] for name, one in measured.items()
        },
    }


def as_row(row: Compared) -> dict[str, object]:
    """One row for programs."""
    ratios = {figure: row.ratio(figure) for figure in TOLERANCES}
    return {
        "point": row.point,
        "kind": row.kind,
        "real": vars(row.real),
        "other": vars(row.emulated),
        "ratios": ratios,
        "missed": row.missed(),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
