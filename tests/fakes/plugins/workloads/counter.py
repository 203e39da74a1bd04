"""A second workload: groups of counters, which users increment.

It counts by the second, specifies no pauses, and has neither conditions nor a ledger.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field

from stithy.metrics import Metric
from stithy.wire.jobs import WorkloadChoice
from stithy.workloads.workload import (
    HEADLINE_COLUMNS,
    Driving,
    Misfit,
    Options,
    Size,
    SizeNumber,
    TransactionType,
    Workload,
    WorkloadKeys,
)

NAME = "counter"


class Spec(WorkloadKeys):
    """How many groups of how many counters there are, and by how much one is incremented."""

    name: Literal["counter"] = Field(description="Name of the workload.", examples=[NAME])
    groups: int = Field(default=1, ge=1, description="Number of groups.", examples=[10])
    counters: int = Field(ge=1, description="Number of counters in each.", examples=[1000])
    step: int = Field(default=1, ge=1, description="What is added at once.", examples=[5])

    @property
    def size(self) -> Size:
        """Groups, and counters in each."""
        return {"groups": self.groups, "counters": self.counters}

    def choice(self, driving: Driving) -> WorkloadChoice:
        """All counters, what is touched of them, and the step."""
        touched = driving.touched(self.units)
        keys = {"counters": self.units, "touched": touched, "step": self.step}
        return WorkloadChoice.model_validate({"name": NAME, **keys})

    def options(self, driving: Driving) -> Options:
        """Its step."""
        return {"step": self.step}

    def misfits(self, driving: Driving) -> Iterator[Misfit]:
        """Nobody waits for a counter that grows by steps."""
        if driving.is_open and self.step > 1:
            yield Misfit("a step at a rate", "leave it out", self.step, ("workload", "step"))


class Counting(Workload):
    """What a step means."""

    def in_words(self, options: Options) -> Sequence[str]:
        """The step, as far as it is the same everywhere."""
        return [f"steps of {options['step']}"] if "step" in options else []


COUNTER = Counting(
    name=NAME,
    keys=Spec,
    title="Counters",
    size=(SizeNumber("groups", "group"), SizeNumber("counters", "counter")),
    run_keys=frozenset({"step"}),
    transactions=(TransactionType("increment", 1.0),),
    headline="increment",
    bytes_fixed=2**20,
    bytes_per_unit=100,
    bytes_per_transaction=100,
    log_bytes_per_transaction=8192,
    load_s_per_unit=1e-5,
    warm_up_per_unit=0.1,
    provenance="The workload counter is made up; it is no TPC benchmark.",
    deviations="nothing",
    metric=Metric(
        "ips", "1/s", "higher", "window", HEADLINE_COLUMNS["1/s"], "increments per second", "IPS"
    ),
)

PLUGINS = (COUNTER,)
