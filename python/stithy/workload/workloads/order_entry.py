"""Order entry: the wholesale supplier's workload, derived from the TPC-C specification."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from stithy.metrics import Metric
from stithy.units import Percent, PercentOrNone
from stithy.wire.jobs import U32, WorkloadChoice
from stithy.workload.workload import HEADLINE_PER_MIN, TransactionType, Workload

NAME = "order-entry"
_STRICT = ConfigDict(extra="forbid", frozen=True, strict=True)
COMPRESSIBLE_MIN_PERCENT = 26
"""Letters and digits, however random, compress by a quarter."""


def _compressible(value: int) -> int:
    if value < COMPRESSIBLE_MIN_PERCENT:
        right = f"at least {COMPRESSIBLE_MIN_PERCENT}%, or leave it out for random text"
        raise PydanticCustomError("bound", "{what}: {right}", {"what": "too small", "right": right})
    return value


class Data(BaseModel):
    """The text in the loaded rows: how well it compresses, how much of it repeats.

    Names, by which rows are found and sorted, stay random. What a sample comes to is measured with
    zstd while loading.
    """

    model_config = _STRICT

    compressible_percent: Annotated[PercentOrNone, AfterValidator(_compressible)] = Field(
        default=None,
        alias="compressible",
        json_schema_extra={"default": "that of random letters and digits"},
        description=(
            "Share of the text's bytes that compression saves, at least 26%. By default the "
            "text is random letters and digits, as specified, of which compression saves a "
            "quarter."
        ),
        examples=["50%"],
    )
    duplicate_percent: Percent = Field(
        default=0,
        alias="duplicate",
        json_schema_extra={"default": "0%"},
        description="Share of the text's values that have copies elsewhere in the table.",
        examples=["10%"],
    )


class Spec(BaseModel):
    """The study's `workload` section for order entry."""

    model_config = _STRICT

    name: Literal["order-entry"] = Field(
        description="Name of the workload.", examples=["order-entry"]
    )
    warehouses: int = Field(
        ge=1,
        le=100_000,
        description="Number of warehouses; each takes about 100 MB on disk.",
        examples=[10],
    )
    data: Data = Field(
        default_factory=Data,
        json_schema_extra={"default": {}},
        description="Properties of the generated text.",
        examples=[{"compressible": "50%", "duplicate": "0%"}],
    )


class Profile(StrEnum):
    """Which mix and which keys virtual users draw."""

    SPECIFICATION = "specification"
    HAMMERDB = "hammerdb"


class Choice(WorkloadChoice):
    """What a job of the hammer says to order entry; the same in every job on the same database.

    `warehouses_touched` None touches all, `users_per_warehouse` None binds nobody to a warehouse.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = NAME
    warehouses: U32
    warehouses_touched: U32 | None = None
    users_per_warehouse: U32 | None = None
    profile: Profile = Profile.SPECIFICATION
    deferred_delivery: bool = False
    procedures: bool = True


WORKLOAD = Workload(
    name=NAME,
    title="Order entry",
    # Clauses 5.2.4.2 (a deck of 23 cards) and 5.2.5.7 (keying and mean think times). HammerDB draws
    # one number of 1 to 23 for each transaction, which has the same shares.
    transactions=(
        TransactionType("new-order", 10 / 23, 18.0, 12.0),
        TransactionType("payment", 10 / 23, 3.0, 12.0),
        TransactionType("order-status", 1 / 23, 2.0, 10.0),
        TransactionType("delivery", 1 / 23, 2.0, 5.0, deferred=True),
        TransactionType("stock-level", 1 / 23, 2.0, 5.0),
    ),
    headline="new-order",
    bytes_fixed=200 * 2**20,
    bytes_per_warehouse=110 * 2**20,
    bytes_per_transaction=1500,
    # Measured: 12 to 14 kB with 5 warehouses. With many, each new order is the first after a
    # checkpoint to change its ten pages of stock, and those are logged whole.
    log_bytes_per_transaction=64 * 1024,
    load_s_per_warehouse=1.5,
    provenance=(
        "The order-entry workload is derived from the TPC-C specification; it is not a TPC "
        "benchmark, and its results are not comparable with published TPC results."
    ),
    deviations="docs/reference/order-entry.md",
    # Ten users x 60 s x 45 % / 20.99 s, the cycle at the specified minima.
    throughput_per_warehouse_max=12.86,
    metric=Metric(
        "nopm", "1/min", "higher", "window", HEADLINE_PER_MIN, "new orders per minute", "NOPM"
    ),
)
