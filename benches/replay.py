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
from stithy.drives.measure import measuring as compare
from stithy.drives.measure.fit import fit
from stithy.drives.measure.measurement import (
    Measurement,
    MeasurementSchedule,
    inspect,
    list_points,
    merge_rounds,
    open_scratch_file,
    read_facts,
)
from stithy.drives.measure.measuring import (
    TOLERANCES,
    ComparedFigures,
    MeasuringPlan,
    MeasuringWatch,
    compare_points,
    fill,
    fill_drive,
    make_measured_reference,
    measure,
    name_of_process,
    prepare_points,
)
from stithy.drives.measure.profiling import write_profile
from stithy.fio.load import FioTarget
from stithy.fio.measure import FioMachine
from stithy.hosts.runner import LocalRunner

DISK = Path("/var/tmp")
SPAN_BYTES = 2**30
SEED = 20_260_101


def main(words: list[str]) -> int:
    """Measure three times, show, keep; 99 where a figure is out that the disk itself keeps."""
    timing = (
        MeasurementSchedule(0.5, 1, 0.0) if "--quick" in words else MeasurementSchedule(1.0, 2, 0.0)
    )
    plan, before = MeasuringPlan(list_points(writing=True), timing, SEED), os.getloadavg()
    with no_deep_idle(), open_scratch_file(DISK, SPAN_BYTES) as path:
        place = FioTarget(path, SPAN_BYTES, name=str(DISK))
        fio = prepare_points(LocalRunner(), place)
        fill(fio, place, MeasuringWatch())
        say("the disk")
        disk = of_disk(fio, place, plan)
        text = write_profile("replayed", fit(disk), disk)
        drive, again = in_turns(fio, place, plan, text)
    wanted = make_measured_reference(disk)
    rows, noise = compare_points(wanted, drive), compare_points(wanted, again)
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


def of_disk(fio: FioMachine, place: FioTarget, plan: MeasuringPlan) -> Measurement:
    """The disk, by the scratch file on it."""
    return measure(fio, place, plan, read_facts(inspect(DISK), SPAN_BYTES), MeasuringWatch())


def in_turns(
    fio: FioMachine, place: FioTarget, plan: MeasuringPlan, profile: str
) -> tuple[Measurement, Measurement]:
    """The drive of a profile, and the disk again, a round each in turns."""
    spec = DriveSpec(name_of_process(), profile, SPAN_BYTES, seed=SEED)
    drive, disk = [], []
    with fill_drive(spec, LocalRunner(), MeasuringWatch()) as (over_drive, place_on_drive):
        for number in range(plan.schedule.rounds):
            one = replace(plan, schedule=replace(plan.schedule, rounds=1), seed=SEED + number)
            say(f"the emulated drive, and the disk again: round {number + 1}")
            drive.append(
                measure(
                    over_drive,
                    place_on_drive,
                    one,
                    compare.describe_emulated(spec),
                    MeasuringWatch(),
                )
            )
            disk.append(of_disk(fio, place, one))
    return all_rounds(drive), all_rounds(disk)


def all_rounds(parts: Sequence[Measurement]) -> Measurement:
    """Rounds that were measured one by one, as one measurement."""
    matrix_of_all = tuple(
        points[0].model_copy(
            update={
                "answer": merge_rounds(each.answer for each in points),
                "iops_by_round": tuple(rate for each in points for rate in each.iops_by_round),
            }
        )
        for points in zip(*(part.matrix for part in parts), strict=True)
    )
    return parts[0].model_copy(update={"matrix": matrix_of_all, "rounds": len(parts)})


def missed(
    rows: Sequence[ComparedFigures], noise: Sequence[ComparedFigures]
) -> Iterator[tuple[str, str, str]]:
    """Figures out of their tolerance though the disk is within it of itself."""
    own = {(each.point, each.kind): each.list_missed() for each in noise}
    for row in rows:
        for figure in row.list_missed():
            if figure not in own[row.point, row.kind]:
                yield row.point, row.kind, figure


def lines(rows: Sequence[ComparedFigures], noise: Sequence[ComparedFigures]) -> Iterator[str]:
    """The sums: how many figures are within, for the drive and for the disk against itself."""
    for figure, most in TOLERANCES.items():
        counted = [row for row in rows if row.find_ratio(figure) is not None]
        within = sum(figure not in row.list_missed() for row in counted)
        itself = sum(
            figure not in row.list_missed() for row in noise if row.find_ratio(figure) is not None
        )
        yield (
            f"{figure} within {most:.0%}: {within} of {len(counted)} of the drive, "
            f"{itself} of the disk against itself"
        )
    out = list(missed(rows, noise))
    yield f"out though the disk itself is not: {len(out)} figures"
    yield from (f"  {point}, {kind}: {figure}" for point, kind, figure in out)


def raw(disk: Measurement, drive: Measurement, again: Measurement) -> dict[str, object]:
    """Every figure and ratio; histograms are too large to be kept."""
    wanted = make_measured_reference(disk)
    measured = {"disk": disk, "drive": drive, "again": again}
    return {
        "drive_against_disk": [as_row(each) for each in compare_points(wanted, drive)],
        "disk_against_itself": [as_row(each) for each in compare_points(wanted, again)],
        "iops_by_round": {
            name: [each.iops_by_round for each in one.matrix] for name, one in measured.items()
        },
    }


def as_row(row: ComparedFigures) -> dict[str, object]:
    """One row for programs."""
    ratios = {figure: row.find_ratio(figure) for figure in TOLERANCES}
    return {
        "point": row.point,
        "kind": row.kind,
        "real": vars(row.real),
        "other": vars(row.emulated),
        "ratios": ratios,
        "missed": row.list_missed(),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
