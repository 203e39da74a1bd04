"""Measuring a place: all points in rounds, then writing without a pause.

Points are patterns of `stithy.fio`, measured as all others are: with direct I/O, so that no page
cache of this machine answers, and with whole histograms of the time from submission to completion.
A person may stop it at any time.
"""

import platform
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path

from stithy.clock import Clock, SystemClock
from stithy.drives.measure.measurement import (
    KIB,
    MeasuredPoint,
    Measurement,
    Point,
    PointResult,
    Schedule,
    TargetFacts,
    WrittenSlice,
    order,
    together,
)
from stithy.errors import Interrupted
from stithy.fio import measure as fio_measure
from stithy.fio.engines import SYNC_ENGINE
from stithy.fio.histogram import Histogram
from stithy.fio.load import Load, Target
from stithy.fio.measure import Machine
from stithy.fio.output import Served
from stithy.hosts.activity import watch
from stithy.hosts.checks import describe_busy_cpus
from stithy.hosts.runner import Runner

WITHOUT_PAUSE = Point(0.0, 128 * KIB, 32, sequential=True)
POINTS_TRIED = [Point(1.0, 4 * KIB, depth).pattern for depth in (1, 2)]
SLICE_S = 5.0
"""Writing without a pause is reported in slices; between two the drive rests for some tenths."""

UNSTEADY_SHARE = 0.1
"""How far the rounds of a point may differ from their mean."""


@dataclass(frozen=True)
class Watch:
    """How a long measurement talks: what it does, how much is done and of how much; and a stop."""

    on_step: Callable[[str, int, int], None] = lambda _what, _done, _total: None
    stop: threading.Event = field(default_factory=threading.Event)


def ready(runner: Runner, place: Target) -> Machine:
    """fio with the engines of all points, which read this place directly.

    Raises PreconditionError where one does not: no direct I/O there, or no rights.
    """
    with tempfile.TemporaryDirectory() as folder:
        return fio_measure.ready(runner, [place], Path(folder), POINTS_TRIED)


def fill(fio: Machine, place: Target, watch: Watch) -> None:
    """Write all of a place once, from its beginning to its end, with data that differ."""
    with tempfile.TemporaryDirectory() as folder:
        fio_measure.lay_out(fio, place, Path(folder), seed=1, stop=watch.stop)


@dataclass(frozen=True)
class Plan:
    """What is measured, for how long, in which random order."""

    points: tuple[Point, ...]
    schedule: Schedule
    seed: int


def measure(
    fio: Machine,
    place: Target,
    plan: Plan,
    target: TargetFacts,
    watch: Watch,
    clock: Clock | None = None,
) -> Measurement:
    """Measure everything. Raises Interrupted where a person stops it, InfrastructureError of fio.

    `target` is kept as it is.
    """
    time = clock or SystemClock()
    begun = datetime.fromtimestamp(time.now_s(), UTC)
    answers = _measure_rounds(fio, place, plan, watch)
    matrix = tuple(_measured(point, answers[point]) for point in plan.points)
    sustained = tuple(_without_pause(fio, place, plan, watch, time))
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
    fio: Machine, place: Target, plan: Plan, watch: Watch
) -> dict[Point, list[PointResult]]:
    """The answers to each point, one a round."""
    answers: dict[Point, list[PointResult]] = {point: [] for point in plan.points}
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
    fio: Machine, place: Target, point: Point, timing: Schedule, seed: int, stop: threading.Event
) -> PointResult:
    """One point, measured once."""
    load = Load(timing.point_s, timing.settle_s, seed, engine=fio.engine, logs=False)
    with tempfile.TemporaryDirectory() as folder:
        workers = [(place, load)]
        found = fio_measure.measure(fio, point.pattern, workers, Path(folder) / "run", stop)
    (answer,) = found.answers
    flushes = None if answer.flush is None else _measure_flushes(answer.flush, answer.duration_s)
    return PointResult(read=answer.read, write=answer.write, flush=flushes)


def _measure_flushes(latency: Histogram, duration_s: float) -> Served:
    """Flushes are served like requests, and move nothing."""
    return Served(
        latency=latency,
        moved_bytes=0,
        duration_s=duration_s,
        iops_max=latency.count / duration_s,
        bytes_per_s_max=0.0,
    )


def _measured(point: Point, answers: Sequence[PointResult]) -> MeasuredPoint:
    return MeasuredPoint(
        **asdict(point),
        answer=together(answers),
        iops_by_round=tuple(round(iops(each), 1) for each in answers),
    )


def iops(answer: PointResult) -> float:
    """Reads and writes a second, together."""
    return sum(served.iops for served in (answer.read, answer.write) if served is not None)


def _without_pause(
    fio: Machine, place: Target, plan: Plan, watch: Watch, clock: Clock
) -> Iterator[WrittenSlice]:
    """Slices of writing all over the place, again and again."""
    if not plan.schedule.sustained_s:
        return
    timing = Schedule(min(SLICE_S, plan.schedule.sustained_s), 1, 0.0, settle_s=0.0)
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


def _need_go_on(watch: Watch, place: Target) -> None:
    if watch.stop.is_set():
        raise Interrupted(
            "the measurement was stopped",
            where=place.shown,
            remedy="start it again; nothing is left",
        )


def other_work() -> str | None:
    """Say which programs use the CPUs before a measurement; None where the machine is quiet."""
    busy = describe_busy_cpus(watch(SystemClock()))
    return f"Other work ran beside it: {busy}." if busy else None


def unsteady(measurement: Measurement) -> list[str]:
    """Points whose rounds differ from their mean by more than a tenth; words for people."""
    found = []
    for each in measurement.matrix:
        mean = sum(each.iops_by_round) / len(each.iops_by_round)
        if any(abs(one / mean - 1) > UNSTEADY_SHARE for one in each.iops_by_round):
            found.append(point_of(each).name)
    return found


def point_of(measured: MeasuredPoint) -> Point:
    """What was asked."""
    return Point(**{each.name: getattr(measured, each.name) for each in fields(Point)})
