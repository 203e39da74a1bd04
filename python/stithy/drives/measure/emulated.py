"""An emulated drive raised for a while, to be measured as a real one is."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from stithy.clock import Clock
from stithy.drives import places
from stithy.drives.measure import fio as fio_program
from stithy.drives.measure.fio import Fio, Place
from stithy.drives.measure.measurement import Measurement, TargetFacts
from stithy.drives.measure.measuring import Plan, Watch, measure
from stithy.drives.program import DriveProgram, start
from stithy.drives.spec import DriveSpec
from stithy.hosts.runner import Runner
from stithy.units import format_size

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
        return measure(fio, place, plan, facts(spec), watch, clock)


@contextmanager
def written(spec: DriveSpec, runner: Runner, watch: Watch) -> Iterator[tuple[Fio, Place]]:
    """A raised drive, all of which was written once without its times: ready to be measured."""
    with raised(spec, runner) as program:
        place = Place(program.devices[spec.name], spec.name, spec.size_bytes, may_write=True)
        fio = fio_program.ready(runner, place)
        watch.on_step(f"writing all {format_size(spec.size_bytes)} of the emulated drive", 0, 1)
        program.control.set(spec.name, paced=False)
        fio.fill(place)
        program.control.set(spec.name, paced=True)
        yield fio, place


def facts(spec: DriveSpec) -> TargetFacts:
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
