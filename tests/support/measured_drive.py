"""The measurement of a simulated drive, over the whole matrix and in no time."""

from functools import cache

from fakes.clock import FakeClock
from fakes.fio import FioRunner, SimulatedDrive
from stithy.drives.measure.measurement import Measurement, Schedule, TargetFacts, matrix
from stithy.drives.measure.measuring import Plan, Watch, measure
from stithy.fio.load import Target
from stithy.fio.measure import Machine
from stithy.fio.program import Found


@cache
def measured(
    drive: SimulatedDrive, *, writing: bool = True, write_cache: str | None = None
) -> Measurement:
    """A simulated drive, measured for a moment at each point."""
    fio = Machine(FioRunner(drive), Found("fio", "fio-3.33"))
    place = Target("/dev/simulated", 2**30, name="simulated", read_only=not writing)
    plan = Plan(matrix(writing=writing), Schedule(0.3, 1, 0.0), seed=3)
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
    return measure(fio, place, plan, facts, Watch(), FakeClock())
