"""Order entry: the wholesale supplier's workload, derived from the TPC-C specification."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from stithy.workload.workload import TransactionType, Workload

NAME = "order-entry"


class Spec(BaseModel):
    """The study's `workload` section for order entry."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: Literal["order-entry"] = Field(
        description="Name of the workload.", examples=["order-entry"]
    )
    warehouses: int = Field(
        ge=1, le=100_000, description="Warehouses; each is about 100 MB on disk.", examples=[10]
    )


WORKLOAD = Workload(
    name=NAME,
    title="Order entry",
    # Clause 5.2.5.7 of the specification: minimum shares and 90th-percentile limits.
    transactions=(
        TransactionType("new-order", 0.45, 5.0),
        TransactionType("payment", 0.43, 5.0),
        TransactionType("order-status", 0.04, 5.0),
        TransactionType("delivery", 0.04, 80.0),
        TransactionType("stock-level", 0.04, 20.0),
    ),
    headline="new-order",
    bytes_fixed=200 * 2**20,
    bytes_per_warehouse=110 * 2**20,
    bytes_per_transaction=1500,
    load_s_per_warehouse=1.5,
    provenance=(
        "The order-entry workload is derived from the TPC-C specification; it is not a TPC "
        "benchmark, and its results are not comparable with published TPC results."
    ),
)
