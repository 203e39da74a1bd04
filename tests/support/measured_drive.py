"""The measurement of a simulated drive, over the whole matrix and in no time."""

from functools import cache

from fakes.clock import FakeClock
from fakes.fio import FioRunner, SimulatedDrive
from stithy.drives.measure.measurement import (
    Measurement,
    MeasurementSchedule,
    TargetFacts,
    list_points,
)
from stithy.drives.measure.measuring import MeasuringPlan, MeasuringWatch, measure
from stithy.fio.load import FioTarget
from stithy.fio.measure import FioMachine
from stithy.fio.program import FioProgram


@cache
def measured(
    drive: SimulatedDrive, *, writing: bool = True, write_cache: str | None = None
) -> Measurement:
    """A simulated drive, measured for a moment at each point."""
    fio = FioMachine(FioRunner(drive), FioProgram("fio", "fio-3.33"))
    place = FioTarget("/dev/simulated", 2**30, name="simulated", read_only=not writing)
    plan = MeasuringPlan(list_points(writing=writing), MeasurementSchedule(0.3, 1, 0.0), seed=3)
    facts = TargetFacts.model_validate(
        {
            "kind": "device",
            "name": "simulated",
            "model": None,
            "size_bytes": 10**12,
            "span_bytes": 2**30,
            "file_system": None,
            "rotates": False,
            "write_cache": write_cache,
            "in_virtual_machine": False,
        }
    )
    return measure(fio, place, plan, facts, MeasuringWatch(), FakeClock())
