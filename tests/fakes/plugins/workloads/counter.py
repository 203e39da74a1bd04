"""A second workload: counters, which users increment; some users each keep to one counter."""

from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field

from stithy.metrics import Metric
from stithy.wire.jobs import WorkloadChoice
from stithy.workloads.workload import (
    HEADLINE_PER_MIN,
    Driving,
    Misfit,
    Options,
    TransactionType,
    Workload,
    WorkloadKeys,
)

NAME = "counter"


class Spec(WorkloadKeys):
    """How many counters there are, and by how much one is incremented."""

    name: Literal["counter"] = Field(description="Name of the workload.", examples=[NAME])
    counters: int = Field(ge=1, description="Number of counters.", examples=[1000])
    step: int = Field(default=1, ge=1, description="What is added at once.", examples=[5])

    @property
    def units(self) -> int:
        """Counters."""
        return self.counters

    def choice(self, driving: Driving) -> WorkloadChoice:
        """Its size, what is touched of it, and its step."""
        touched = driving.touched(self.counters)
        said = {"counters": self.counters, "touched": touched, "step": self.step}
        return WorkloadChoice.model_validate({"name": NAME, **said})

    def options(self, driving: Driving) -> Options:
        """Its step."""
        return {"step": self.step}

    def misfits(self, driving: Driving) -> Iterator[Misfit]:
        """Nobody keys in a number that is added to a counter."""
        if driving.is_keyed and self.step > 1:
            yield Misfit("a step with keys", "leave it out", self.step, ("workload", "step"))


class Counting(Workload):
    """What a step means."""

    def in_words(self, options: Options) -> Sequence[str]:
        """The step, as far as it is the same everywhere."""
        return [f"steps of {options['step']}"] if "step" in options else []


COUNTER = Counting(
    name=NAME,
    keys=Spec,
    title="Counters",
    unit="counter",
    run_keys=frozenset({"step"}),
    transactions=(TransactionType("increment", 1.0, 1.0, 2.0),),
    headline="increment",
    bytes_fixed=2**20,
    bytes_per_unit=100,
    bytes_per_transaction=100,
    log_bytes_per_transaction=8192,
    load_s_per_unit=1e-5,
    check_s_per_unit=1e-6,
    quick_check_s_per_unit=1e-6,
    warm_up_per_unit=0.1,
    provenance="The workload counter is made up; it is no TPC benchmark.",
    deviations="nothing",
    metric=Metric(
        "ipm", "1/min", "higher", "window", HEADLINE_PER_MIN, "increments per minute", "IPM"
    ),
)

PLUGINS = (COUNTER,)
