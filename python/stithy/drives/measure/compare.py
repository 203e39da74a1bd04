"""An emulated drive, raised for a while, against a real drive's measurement or its own profile.

IOPS and medians may differ by a tenth and the 99th percentile by a fifth.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from stithy.clock import Clock
from stithy.drives import places
from stithy.drives.control import DriveSpec
from stithy.drives.measure.measurement import Measurement, Point, PointResult, TargetFacts
from stithy.drives.measure.measuring import Plan, Watch, fill, measure, point_of, ready
from stithy.drives.program import DriveProgram, start
from stithy.fio.load import Target
from stithy.fio.measure import Machine
from stithy.fio.output import Served
from stithy.hosts.runner import Runner
from stithy.units import format_size
from stithy.wire.drive.messages import PointFigures

SIZE_BYTES = 2 * 2**30
"""Enough that no cache of the processor holds it."""


@contextmanager
def raised(spec: DriveSpec, runner: Runner) -> Iterator[DriveProgram]:
    """A drive in a program of its own, which is gone afterwards.

    Raises whatever `stithy.drives.program.start` raises.
    """
    program = start([spec], places.folder_of(spec.name), runner=runner)
    try:
        yield program
    finally:
        program.stop()


def name_of_process() -> str:
    """A name that no other drive has while this process lives."""
    return f"compare-{os.getpid()}"


def measure_emulated(
    spec: DriveSpec, plan: Plan, runner: Runner, watch: Watch, clock: Clock | None = None
) -> Measurement:
    """Raise a drive, write all of it once, and measure it."""
    with written(spec, runner, watch) as (fio, place):
        return measure(fio, place, plan, emulated_facts(spec), watch, clock)


@contextmanager
def written(spec: DriveSpec, runner: Runner, watch: Watch) -> Iterator[tuple[Machine, Target]]:
    """A raised drive, all of which was written once without its times: ready to be measured."""
    with raised(spec, runner) as program:
        place = Target(program.devices[spec.name], spec.size_bytes, name=spec.name)
        fio = ready(runner, place)
        watch.on_step(f"writing all {format_size(spec.size_bytes)} of the emulated drive", 0, 1)
        program.control.set(spec.name, paced=False)
        fill(fio, place, watch)
        program.control.set(spec.name, paced=True)
        yield fio, place


def emulated_facts(spec: DriveSpec) -> TargetFacts:
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
class Compared:
    """One kind of request at one point, real and emulated."""

    point: str
    kind: str
    real: Figures
    emulated: Figures

    def ratio(self, figure: str) -> float | None:
        """Emulated over real of one figure of `TOLERANCES`; None where one of them is not known."""
        real, emulated = getattr(self.real, figure), getattr(self.emulated, figure)
        return None if not real or emulated is None else float(emulated / real)

    def missed(self) -> tuple[str, ...]:
        """The figures that are out of their tolerance."""
        return tuple(
            figure
            for figure, most in TOLERANCES.items()
            if (ratio := self.ratio(figure)) is not None and abs(ratio - 1) > most
        )


Reference = Mapping[Point, Mapping[str, Figures]]
"""What should come out: for each point the figures of each kind of request."""


def of_measurement(measurement: Measurement) -> Reference:
    """What a real drive did."""
    return {point_of(each): _of_answer(each.answer) for each in measurement.matrix}


def of_profile(points: Sequence[Point], shown: Sequence[PointFigures]) -> Reference:
    """What a drive of a profile does by itself.

    Shapes: `told` has one entry for each of `points`, in their order.
    """
    return {
        point: {
            kind: Figures(
                None if kind == "flush" else found.iops, found.latency.p50_s, found.latency.p99_s
            )
            for kind in KINDS
            if (found := getattr(figures, kind)) is not None
        }
        for point, figures in zip(points, shown, strict=True)
    }


def _of_answer(answer: PointResult) -> Mapping[str, Figures]:
    return {
        kind: figures(served, with_rate=kind != "flush")
        for kind in KINDS
        if (served := getattr(answer, kind)) is not None
    }


def figures(served: Served, *, with_rate: bool = True) -> Figures:
    """The figures of one kind of request; the rate of flushes is that of their writes."""
    latency = served.latency
    rate = served.iops if with_rate else None
    return Figures(rate, latency.quantile_s(0.5), latency.quantile_s(0.99))


def compared(reference: Reference, emulated: Measurement) -> tuple[Compared, ...]:
    """Every point and kind that both have, in the order of the reference."""
    others = of_measurement(emulated)
    return tuple(
        Compared(point.name, kind, real, others[point][kind])
        for point, kinds in reference.items()
        for kind, real in kinds.items()
        if kind in others.get(point, {})
    )
