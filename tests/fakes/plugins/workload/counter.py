"""A second workload: its only transaction adds one to a counter."""

from typing import Literal

from pydantic import ConfigDict, Field

from stithy.metrics import Metric
from stithy.wire.jobs import U32, WorkloadChoice
from stithy.workload.workload import (
    HEADLINE_PER_MIN,
    Driving,
    Section,
    TransactionType,
    Workload,
)

NAME = "counter"


class Choice(WorkloadChoice):
    """As `crates/hammer/tests/fakes/counter.rs` reads it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = NAME
    counters: U32


class Spec(Section):
    """The study's `workload` section for counters."""

    name: Literal["counter"] = Field(description="Name of the workload.", examples=["counter"])
    counters: int = Field(ge=1, le=1000, description="Number of counters.", examples=[4])

    @property
    def units(self) -> int:
        """Counters."""
        return self.counters

    def choice(self, driving: Driving) -> Choice:
        """All users use all counters."""
        del driving
        return Choice(counters=self.counters)


WORKLOAD = Workload(
    name=NAME,
    title="Counter",
    unit="counter",
    transactions=(TransactionType("increment", 1.0, 0.0, 0.0),),
    headline="increment",
    bytes_fixed=2**20,
    bytes_per_unit=100,
    bytes_per_transaction=10,
    log_bytes_per_transaction=100,
    load_s_per_unit=0.001,
    check_s_per_unit=0.001,
    quick_check_s_per_unit=0.001,
    warm_up_per_unit=1,
    provenance="The counter workload is of nobody's making.",
    deviations="docs/reference/counter.md",
    metric=Metric(
        "ipm", "1/min", "higher", "window", HEADLINE_PER_MIN, "increments per minute", "IPM"
    ),
)
