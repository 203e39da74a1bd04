"""Measuring a place: all points in rounds, then writing without a pause.

Between two runs of fio, a few seconds apart, a person may stop it.
"""

import platform
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from stithy.clock import Clock, SystemClock
from stithy.drives.measure.fio import Place, measure_point
from stithy.drives.measure.measurement import (
    MeasuredPoint,
    Measurement,
    PointResult,
    TargetFacts,
    WrittenSlice,
    together,
)
from stithy.drives.measure.points import KIB, Point, Schedule, order
from stithy.errors import Interrupted
from stithy.fio.measure import Machine

WITHOUT_PAUSE = Point(0.0, 128 * KIB, 32, sequential=True)
SLICE_S = 5.0
"""Writing without a pause is reported in slices; between two the drive rests for some tenths."""

BUSY_SHARE = 0.25
"""Load average that is no trouble, as a share of the processors."""

UNSTEADY_SHARE = 0.1
"""How far the rounds of a point may differ from their mean."""


@dataclass(frozen=True)
class Watch:
    """How a long measurement talks: what it does, how much is done and of how much; and a stop."""

    on_step: Callable[[str, int, int], None] = lambda _what, _done, _total: None
    stop: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class Plan:
    """What is measured, for how long, in which random order."""

    points: tuple[Point, ...]
    schedule: Schedule
    seed: int


def measure(
    fio: Machine,
    place: Place,
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
    answers = _rounds(fio, place, plan, watch)
    matrix = tuple(_measured(point, answers[point]) for point in plan.points)
    sustained = tuple(_without_pause(fio, place, plan, watch, time))
    return Measurement(
        target=target,
        at=begun.isoformat(timespec="seconds").replace("+00:00", "Z"),
        tool=fio.found.version,
        engine=fio.engine,
        kernel=platform.release(),
        seed=plan.seed,
        point_s=round(plan.schedule.point_s, 3),
        rounds=plan.schedule.rounds,
        matrix=matrix,
        sustained=sustained,
    )


def _rounds(fio: Machine, place: Place, plan: Plan, watch: Watch) -> dict[Point, list[PointResult]]:
    """The answers to each point, one a round."""
    answers: dict[Point, list[PointResult]] = {point: [] for point in plan.points}
    total, done = plan.schedule.rounds * len(plan.points), 0
    for points in order(plan.points, plan.schedule.rounds, plan.seed):
        for point in points:
            _need_go_on(watch, place)
            watch.on_step(point.name, done, total)
            answers[point].append(measure_point(fio, place, point, plan.schedule, plan.seed + done))
            done += 1
    watch.on_step("all points", done, total)
    return answers


def _measured(point: Point, answers: Sequence[PointResult]) -> MeasuredPoint:
    return MeasuredPoint(
        read_share=point.read_share,
        length_bytes=point.length_bytes,
        depth=point.depth,
        sequential=point.sequential,
        flushed_every=point.flushed_every,
        answer=together(answers),
        iops_by_round=tuple(round(iops(each), 1) for each in answers),
    )


def iops(answer: PointResult) -> float:
    """Reads and writes a second, together."""
    return sum(served.iops for served in (answer.read, answer.write) if served is not None)


def _without_pause(
    fio: Machine, place: Place, plan: Plan, watch: Watch, clock: Clock
) -> Iterator[WrittenSlice]:
    """Slices of writing all over the place, again and again."""
    if not plan.schedule.sustained_s:
        return
    timing = Schedule(min(SLICE_S, plan.schedule.sustained_s), 1, 0.0, settle_s=0.0)
    begun_s, written_bytes = clock.monotonic_s(), 0
    while (gone_s := clock.monotonic_s() - begun_s) < plan.schedule.sustained_s:
        _need_go_on(watch, place)
        watch.on_step("writing without a pause", round(gone_s), round(plan.schedule.sustained_s))
        begin = written_bytes % place.span_bytes // SLICE_ALIGNED_BYTES * SLICE_ALIGNED_BYTES
        rest = replace(place, begin_bytes=begin)
        answer = measure_point(fio, rest, WITHOUT_PAUSE, timing, plan.seed)
        if answer.write is not None:
            written_bytes += answer.write.moved_bytes
            yield WrittenSlice(
                moved_bytes=answer.write.moved_bytes, duration_s=answer.write.duration_s
            )


SLICE_ALIGNED_BYTES = 64 * 2**20
"""A slice begins where the last one ended, but never so near the end that it has no room."""


def _need_go_on(watch: Watch, place: Place) -> None:
    if watch.stop.is_set():
        raise Interrupted(
            "the measurement was stopped",
            where=place.name,
            remedy="start it again; nothing is left",
        )


def busy(load: float, cpus: int) -> str | None:
    """What a reader should know of a machine with this load average before it was measured.

    None where it was idle enough: fio and an emulated drive need processors of their own.
    """
    if load <= BUSY_SHARE * cpus:
        return None
    return f"Other work ran beside it: a load of {load:.1f} on {cpus} processors."


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
    return Point(
        measured.read_share,
        measured.length_bytes,
        measured.depth,
        measured.sequential,
        measured.flushed_every,
    )
