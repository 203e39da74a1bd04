"""Measuring a place: all points in rounds, then writing without a pause.

Points are patterns of `stithy.fio`, measured as all others are: with direct I/O, so that no page
cache of this machine answers, and with whole histograms of the time from submission to completion.
A person may stop it at any time.

An emulated drive, raised for a while, is compared with a real drive's measurement or with its own
profile: IOPS and medians may differ by a tenth and the 99th percentile by a fifth.
"""

import os
import platform
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path

from stithy.clock import Clock, SystemClock
from stithy.drives import control
from stithy.drives.control import DriveSpec
from stithy.drives.measure.measurement import (
    KIB,
    MeasuredPoint,
    Measurement,
    MeasurementPoint,
    MeasurementSchedule,
    PointResult,
    TargetFacts,
    WrittenSlice,
    merge_rounds,
    order,
)
from stithy.drives.program import DriveProgram, start
from stithy.errors import Interrupted
from stithy.fio import measure as fio_measure
from stithy.fio.load import FioLoad, FioTarget
from stithy.fio.measure import FioMachine
from stithy.fio.output import ServedRequests
from stithy.fio.profile import SYNC_ENGINE
from stithy.hosts.activity import watch
from stithy.hosts.checks import describe_busy_cpus
from stithy.hosts.runner import Runner
from stithy.units import format_size
from stithy.wire.drive.messages import PointFigures

WITHOUT_PAUSE = MeasurementPoint(0.0, 128 * KIB, 32, sequential=True)
POINTS_TRIED = [MeasurementPoint(1.0, 4 * KIB, depth).pattern for depth in (1, 2)]
SLICE_S = 5.0
"""Writing without a pause is reported in slices; between two the drive rests for some tenths."""

UNSTEADY_SHARE = 0.1
"""How far the rounds of a point may differ from their mean."""


@dataclass(frozen=True)
class MeasuringWatch:
    """How a long measurement talks: what it does, how much is done and of how much; and a stop."""

    on_step: Callable[[str, int, int], None] = lambda _what, _done, _total: None
    stop: threading.Event = field(default_factory=threading.Event)


def prepare_points(runner: Runner, place: FioTarget) -> FioMachine:
    """fio with the engines of all points, which read this place directly.

    Raises PreconditionError where one does not: no direct I/O there, or no rights.
    """
    with tempfile.TemporaryDirectory() as folder:
        return fio_measure.prepare_fio(runner, [place], Path(folder), POINTS_TRIED)


def fill(fio: FioMachine, place: FioTarget, watch: MeasuringWatch) -> None:
    """Write all of a place once, from its beginning to its end, with data that differ."""
    with tempfile.TemporaryDirectory() as folder:
        fio_measure.lay_out(fio, place, Path(folder), seed=1, stop=watch.stop)


@dataclass(frozen=True)
class MeasuringPlan:
    """What is measured, for how long, in which random order."""

    points: tuple[MeasurementPoint, ...]
    schedule: MeasurementSchedule
    seed: int


def measure(
    fio: FioMachine,
    place: FioTarget,
    plan: MeasuringPlan,
    target: TargetFacts,
    watch: MeasuringWatch,
    clock: Clock | None = None,
) -> Measurement:
    """Measure everything. Raises Interrupted where a person stops it, InfrastructureError of fio.

    `target` is kept as it is.
    """
    time = clock or SystemClock()
    begun = datetime.fromtimestamp(time.now_s(), UTC)
    answers = _measure_rounds(fio, place, plan, watch)
    matrix = tuple(
        MeasuredPoint(
            **asdict(point),
            answer=merge_rounds(answers[point]),
            iops_by_round=tuple(round(sum_iops(answer), 1) for answer in answers[point]),
        )
        for point in plan.points
    )
    sustained = tuple(_write_continuously(fio, place, plan, watch, time))
    return Measurement(
        target=target,
        at=begun.isoformat(timespec="seconds").replace("+00:00", "Z"),
        tool=fio.found.version,
        engine=f"{SYNC_ENGINE} at depth 1, {fio.engine} above",
        kernel=platform.release(),
        seed=plan.seed,
        point_s=round(plan.schedule.point_s, 3),
        rounds=plan.schedule.rounds,
        matrix=matrix,
        sustained=sustained,
    )


def _measure_rounds(
    fio: FioMachine, place: FioTarget, plan: MeasuringPlan, watch: MeasuringWatch
) -> dict[MeasurementPoint, list[PointResult]]:
    answers: dict[MeasurementPoint, list[PointResult]] = {point: [] for point in plan.points}
    total, done = plan.schedule.rounds * len(plan.points), 0
    for points in order(plan.points, plan.schedule.rounds, plan.seed):
        for point in points:
            _need_go_on(watch, place)
            watch.on_step(point.name, done, total)
            seed = plan.seed + done
            answers[point].append(_answer(fio, place, point, plan.schedule, seed, watch.stop))
            done += 1
    watch.on_step("all points", done, total)
    return answers


def _answer(
    fio: FioMachine,
    place: FioTarget,
    point: MeasurementPoint,
    timing: MeasurementSchedule,
    seed: int,
    stop: threading.Event,
) -> PointResult:
    load = FioLoad(timing.point_s, timing.settle_s, seed, engine=fio.engine, logs=False)
    with tempfile.TemporaryDirectory() as folder:
        workers = [(place, load)]
        found = fio_measure.measure(fio, point.pattern, workers, Path(folder) / "run", stop)
    (answer,) = found.answers
    flushes = None
    if answer.flush is not None:  # they are served like requests, and move nothing
        flushes = ServedRequests(
            latency=answer.flush,
            moved_bytes=0,
            duration_s=answer.duration_s,
            iops_max=answer.flush.count / answer.duration_s,
            bytes_per_s_max=0.0,
        )
    return PointResult(read=answer.read, write=answer.write, flush=flushes)


def sum_iops(answer: PointResult) -> float:
    """Reads and writes a second, together."""
    return sum(served.iops for served in (answer.read, answer.write) if served is not None)


def _write_continuously(
    fio: FioMachine, place: FioTarget, plan: MeasuringPlan, watch: MeasuringWatch, clock: Clock
) -> Iterator[WrittenSlice]:
    """Slices of writing all over the place, again and again."""
    if not plan.schedule.sustained_s:
        return
    timing = MeasurementSchedule(min(SLICE_S, plan.schedule.sustained_s), 1, 0.0, settle_s=0.0)
    begun_s, written_bytes = clock.monotonic_s(), 0
    while (gone_s := clock.monotonic_s() - begun_s) < plan.schedule.sustained_s:
        _need_go_on(watch, place)
        watch.on_step("writing without a pause", round(gone_s), round(plan.schedule.sustained_s))
        begin = written_bytes % place.size_bytes // SLICE_ALIGNED_BYTES * SLICE_ALIGNED_BYTES
        rest = replace(place, begin_bytes=begin, size_bytes=place.size_bytes - begin)
        answer = _answer(fio, rest, WITHOUT_PAUSE, timing, plan.seed, watch.stop)
        if answer.write is not None:
            written_bytes += answer.write.moved_bytes
            yield WrittenSlice(
                moved_bytes=answer.write.moved_bytes, duration_s=answer.write.duration_s
            )


SLICE_ALIGNED_BYTES = 64 * 2**20
"""A slice begins where the last one ended, but never so near the end that it has no room."""


def _need_go_on(watch: MeasuringWatch, place: FioTarget) -> None:
    if watch.stop.is_set():
        remedy = "start it again; nothing is left"
        raise Interrupted("the measurement was stopped", where=place.shown, remedy=remedy)


def describe_other_work() -> str | None:
    """Say which programs use the CPUs before a measurement; None where the machine is quiet."""
    busy = describe_busy_cpus(watch(SystemClock()))
    return f"Other work ran beside it: {busy}." if busy else None


def list_unsteady(measurement: Measurement) -> list[str]:
    """Points whose rounds differ from their mean by more than a tenth; words for people."""
    found = []
    for measured_point in measurement.matrix:
        mean = sum(measured_point.iops_by_round) / len(measured_point.iops_by_round)
        if any(abs(one / mean - 1) > UNSTEADY_SHARE for one in measured_point.iops_by_round):
            found.append(find_point(measured_point).name)
    return found


def find_point(measured: MeasuredPoint) -> MeasurementPoint:
    """What was asked."""
    return MeasurementPoint(
        **{each.name: vars(measured)[each.name] for each in fields(MeasurementPoint)}
    )


SIZE_BYTES = 2 * 2**30
"""Enough that no cache of the processor holds it."""


@contextmanager
def raise_drive(spec: DriveSpec, runner: Runner) -> Iterator[DriveProgram]:
    """A drive in a program of its own, which is gone afterwards.

    Raises whatever `stithy.drives.program.start` raises.
    """
    program = start([spec], control.get_folder(spec.name), runner=runner)
    try:
        yield program
    finally:
        program.stop()


def name_of_process() -> str:
    """A name that no other drive has while this process lives."""
    return f"compare-{os.getpid()}"


def measure_emulated(
    spec: DriveSpec, plan: MeasuringPlan, runner: Runner, watch: MeasuringWatch
) -> Measurement:
    """Raise a drive, write all of it once, and measure it."""
    with fill_drive(spec, runner, watch) as (fio, place):
        return measure(fio, place, plan, describe_emulated(spec), watch)


@contextmanager
def fill_drive(
    spec: DriveSpec, runner: Runner, watch: MeasuringWatch
) -> Iterator[tuple[FioMachine, FioTarget]]:
    """A raised drive, all of which was written once without its times: ready to be measured."""
    with raise_drive(spec, runner) as program:
        place = FioTarget(program.devices[spec.name], spec.size_bytes, name=spec.name)
        fio = prepare_points(runner, place)
        watch.on_step(f"writing all {format_size(spec.size_bytes)} of the emulated drive", 0, 1)
        program.control.set(spec.name, paced=False)
        fill(fio, place, watch)
        program.control.set(spec.name, paced=True)
        yield fio, place


def describe_emulated(spec: DriveSpec) -> TargetFacts:
    """What an emulated drive is, as the target of a measurement."""
    return TargetFacts(
        kind="emulated",
        name=spec.name,
        model=None,
        size_bytes=spec.size_bytes,
        span_bytes=spec.size_bytes,
        file_system=None,
        rotates=None,
        write_cache=None,
        in_virtual_machine=False,
    )


TOLERANCES = {"iops": 0.10, "p50_s": 0.10, "p99_s": 0.20}
"""By how much each figure may differ, as a share of the real one."""

KINDS = ("read", "write", "flush")


@dataclass(frozen=True)
class Figures:
    """What is compared of one kind of request at one point; seconds. None: nothing to compare."""

    iops: float | None
    p50_s: float | None
    p99_s: float | None


@dataclass(frozen=True)
class ComparedFigures:
    """One kind of request at one point, real and emulated."""

    point: str
    kind: str
    real: Figures
    emulated: Figures

    def find_ratio(self, figure: str) -> float | None:
        """Emulated over real of one figure of `TOLERANCES`; None where one of them is not known."""
        real, emulated = vars(self.real)[figure], vars(self.emulated)[figure]
        return None if not real or emulated is None else float(emulated / real)

    def list_missed(self) -> tuple[str, ...]:
        """The figures that are out of their tolerance."""
        return tuple(
            figure
            for figure, most in TOLERANCES.items()
            if (ratio := self.find_ratio(figure)) is not None and abs(ratio - 1) > most
        )


Reference = Mapping[MeasurementPoint, Mapping[str, Figures]]
"""What should come out: for each point the figures of each kind of request."""


def make_measured_reference(measurement: Measurement) -> Reference:
    """What a real drive did."""
    reference = {}
    for point in measurement.matrix:
        answers = {kind: vars(point.answer)[kind] for kind in KINDS}
        reference[find_point(point)] = {
            kind: Figures(  # the rate of flushes is that of their writes
                None if kind == "flush" else served.iops,
                served.latency.find_quantile_s(0.5),
                served.latency.find_quantile_s(0.99),
            )
            for kind, served in answers.items()
            if served is not None
        }
    return reference


def make_profile_reference(
    points: Sequence[MeasurementPoint], shown: Sequence[PointFigures]
) -> Reference:
    """What a drive of a profile does by itself.

    Shapes: `told` has one entry for each of `points`, in their order.
    """
    return {
        point: {
            kind: Figures(
                None if kind == "flush" else found.iops, found.latency.p50_s, found.latency.p99_s
            )
            for kind in KINDS
            if (found := vars(figures)[kind]) is not None
        }
        for point, figures in zip(points, shown, strict=True)
    }


def compare_points(reference: Reference, emulated: Measurement) -> tuple[ComparedFigures, ...]:
    """Every point and kind that both have, in the order of the reference."""
    others = make_measured_reference(emulated)
    return tuple(
        ComparedFigures(point.name, kind, real, others[point][kind])
        for point, kinds in reference.items()
        for kind, real in kinds.items()
        if kind in others.get(point, {})
    )
