"""Order entry: the wholesale supplier's workload, derived from the TPC-C specification."""

from collections.abc import Iterator, Sequence
from math import ceil
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from stithy.metrics import Metric
from stithy.units import Percent, PercentOrNone
from stithy.wire.jobs import U32, DataShape, WorkloadChoice
from stithy.workloads.workload import (
    HEADLINE_COLUMNS,
    Conditions,
    Driving,
    Misfit,
    Options,
    Size,
    SizeNumber,
    TransactionType,
    Workload,
    WorkloadKeys,
    require,
)

NAME = "order-entry"
_STRICT = ConfigDict(extra="forbid", frozen=True, strict=True)
USERS_MAX = 100_000
HOME_USERS = 10
"""Users at home in each warehouse with keyed pace. Source: TPC-C 5.11, one in each district."""

COMPRESSIBLE_MIN_PERCENT = 26
"""Letters and digits, however random, compress by a quarter."""


class DataKeys(BaseModel):
    """The text in the loaded rows: how well it compresses, how much of it repeats.

    Names, by which rows are found and sorted, stay random. What a sample comes to is measured with
    zstd while loading.
    """

    model_config = _STRICT

    compressible_percent: Annotated[
        PercentOrNone,
        require(
            lambda value: value >= COMPRESSIBLE_MIN_PERCENT,
            "too small",
            f"at least {COMPRESSIBLE_MIN_PERCENT}%, or leave it out for random text",
        ),
    ] = Field(  # fmt: skip
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


Profile = Literal["specification", "hammerdb"]
"""Which mix and which keys virtual users draw."""


class Choice(WorkloadChoice):
    """What a job of the hammer says to order entry; the same in every job on the same database.

    `warehouses_touched` None touches all, `users_per_warehouse` None binds nobody to a warehouse.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = NAME
    warehouses: U32
    warehouses_touched: U32 | None = None
    users_per_warehouse: U32 | None = None
    profile: Profile = "specification"
    deferred_delivery: bool = False
    procedures: bool | None = Field(default=None, exclude_if=lambda value: value is None)


class OrderEntryKeys(WorkloadKeys):
    """The study's `workload` section for order entry."""

    name: Literal["order-entry"] = Field(
        description="Name of the workload.", examples=["order-entry"]
    )
    warehouses: int = Field(
        ge=1,
        le=100_000,
        description="Number of warehouses; each takes about 100 MB on disk.",
        examples=[10],
    )
    data: DataKeys = Field(
        default_factory=DataKeys,
        json_schema_extra={"default": {}},
        description="Properties of the generated text.",
        examples=[{"compressible": "50%", "duplicate": "0%"}],
    )
    users_per_warehouse: Annotated[
        int | None,
        Field(ge=1, le=USERS_MAX),
        WithJsonSchema({"type": "integer", "minimum": 1, "maximum": USERS_MAX}),
    ] = Field(
        default=None,
        json_schema_extra={"default": f"{HOME_USERS} with keyed pace, else no user has a home"},
        description=(
            "Number of users with a home in each warehouse, spread over its districts. Users "
            "without a home choose a random warehouse and district for each transaction."
        ),
        examples=[1500],
    )
    delivery: Annotated[
        Literal["awaited", "deferred"] | None,
        WithJsonSchema({"type": "string", "enum": ["awaited", "deferred"]}),
    ] = Field(
        default=None,
        json_schema_extra={"default": "deferred with keyed pace, else awaited"},
        description=(
            "Whether users wait for deliveries. `deferred`, as specified: a delivery is queued, "
            "and its user continues at once. Its response time is the time to queue it. Its "
            "wait in the queue and its service time are recorded separately."
        ),
        examples=["deferred"],
    )
    profile: Profile = Field(
        default="specification",
        description=(
            "Input profile: the transaction mix and the keys. `hammerdb` uses the mix and the "
            "uniform keys of HammerDB, to compare with numbers measured with it; every output "
            "says so."
        ),
        examples=["hammerdb"],
    )
    procedures: bool | None = Field(
        default=None,
        json_schema_extra={"default": "true where the engine has them, else false"},
        description=(
            "Whether transactions are procedures in the server. `false` sends plain prepared "
            "SQL instead."
        ),
        examples=[False],
    )

    @property
    def size(self) -> Size:
        return {"warehouses": self.warehouses}

    def shape(self) -> DataShape:
        return DataShape.model_validate(self.data.model_dump())

    def find_home_users(self, driving: Driving) -> int | None:
        """Users at home in each warehouse; None where nobody has a home."""
        if self.users_per_warehouse is None and driving.is_keyed:
            return HOME_USERS
        return self.users_per_warehouse

    def is_deferred(self, driving: Driving) -> bool:
        """Whether users leave deliveries to be done behind their backs."""
        return self.delivery == "deferred" or driving.is_keyed

    def choice(self, driving: Driving) -> Choice:
        reached = driving.touched(self.warehouses)
        return Choice(
            warehouses=self.warehouses,
            warehouses_touched=None if reached == self.warehouses else reached,
            users_per_warehouse=self.find_home_users(driving),
            profile=self.profile,
            deferred_delivery=self.is_deferred(driving),
            procedures=self.procedures,
        )

    def options(self, driving: Driving) -> Options:
        return {
            "users_per_warehouse": self.find_home_users(driving),
            "delivery": "deferred" if self.is_deferred(driving) else "awaited",
            "profile": self.profile,
            "procedures": self.procedures,
        }

    def users_max(self, driving: Driving) -> int | None:
        """As many as have a home within reach."""
        homes = self.find_home_users(driving)
        return None if homes is None else homes * driving.touched(self.warehouses)

    def misfits(self, driving: Driving) -> Iterator[Misfit]:
        homes, delivery = self.find_home_users(driving), ("workload", "delivery")
        if driving.is_open and self.users_per_warehouse is not None:
            right = "leave it out: in an open loop each transaction chooses a random warehouse"
            where = ("workload", "users_per_warehouse")
            yield Misfit("homes in an open loop", right, self.users_per_warehouse, where)
        elif not driving.is_open and homes is not None:
            yield from self._require_homes(driving, homes)
        if driving.is_open and self.delivery == "deferred":
            right = "leave it out: in an open loop nobody waits for an answer"
            yield Misfit("deferred deliveries in an open loop", right, self.delivery, delivery)
        if driving.is_keyed and self.delivery == "awaited":
            right = "leave it out: keyed pace has deferred deliveries, as specified"
            yield Misfit("awaited deliveries with keyed pace", right, self.delivery, delivery)
        if self.profile == "hammerdb" and driving.is_keyed:
            right = ("its published numbers are without waits: use `load.pace: none`, or leave out "
                     "`workload.profile`")  # fmt: skip
            what = "HammerDB's mix with the specified waits"
            yield Misfit(what, right, self.profile, ("workload", "profile"))

    def _require_homes(self, driving: Driving, homes: int) -> Iterator[Misfit]:
        reach, most = driving.touched(self.warehouses), driving.users_most
        if most <= reach * homes:
            return
        needed = f"`workload.users_per_warehouse: {ceil(most / reach)}`"
        if most <= self.warehouses * homes:
            share = ceil(100 * ceil(most / homes) / self.warehouses)
            what = f"too few homes in reach for {most} users"
            right = f"at least {share}%, or {needed}"
            yield Misfit(what, right, f"{driving.touch_percent}%", ("load", "touch"))
            return
        yield Misfit(
            "more users than homes",
            f"at most {reach * homes} with {reach} warehouses and {homes} users at home in each; "
            f"or {needed}, or {ceil(most / homes)} warehouses in reach",
            most,
            driving.most_at,
        )


class OrderEntry(Workload):
    """What the options of order entry mean for planning and reporting."""

    def label(self, options: Options, size: Size) -> str | None:
        """Other numbers than of the specified mix must never be taken for these."""
        return HAMMERDB if options.get("profile") == "hammerdb" else None

    def in_words(self, options: Options) -> Sequence[str]:
        homes, label = options.get("users_per_warehouse"), self.label(options, {})
        return [
            *(["deliveries deferred"] if self.defers(options) else []),
            *([f"{homes:,} at home in each warehouse"] if isinstance(homes, int) else []),
            *([label or "specified mix and keys"] if "profile" in options else []),
        ]

    def isolated(self, level: str) -> str:
        """Source: clause 3.4.1 of TPC-C, which excludes the phenomena P0 to P3."""
        if level == "read committed":
            return (
                f"Transactions ran at isolation level {level}, as in most applications. The "
                "specification requires repeatable read or serializable, which exclude the "
                "phenomena P0 to P3."
            )
        return (
            f"Transactions ran at isolation level {level}, which excludes the phenomena P0 to P3 "
            "as specified."
        )

    def defers(self, options: Options) -> bool:
        """Deliveries, which have connections of their own."""
        return options.get("delivery") == "deferred"

    def has_several_answers(self, options: Options) -> bool:
        """One for each statement of plain SQL."""
        return options.get("procedures") is False


HAMMERDB = "PROFILE HAMMERDB: its mix and uniform keys, not those of the specification"

ORDER_ENTRY = OrderEntry(
    name=NAME,
    keys=OrderEntryKeys,
    title="Order entry",
    size=(SizeNumber("warehouses", "warehouse"),),
    run_keys=frozenset({"users_per_warehouse", "delivery", "profile", "procedures"}),
    not_varied={"profile": "it labels every number of a run: run a second study"},
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
    bytes_per_unit=110 * 2**20,
    bytes_per_transaction=1500,
    # Measured: 12 to 14 kB with 5 warehouses. With many, each new order is the first after a
    # checkpoint to change its ten pages of stock, and those are logged whole.
    log_bytes_per_transaction=64 * 1024,
    load_s_per_unit=1.5,
    warm_up_per_unit=500,
    provenance=(
        "The order-entry workload is derived from the TPC-C specification; it is not a TPC "
        "benchmark, and its results are not comparable with published TPC results."
    ),
    deviations="docs/reference/order-entry.md",
    # Ten users x 60 s x 45 % / 20.99 s, the cycle at the specified minima.
    throughput_per_unit_max=12.86,
    throughput_per_unit_because=(
        "The specification has ten users per warehouse, with keying and think times."
    ),
    metric=Metric("nopm", "1/min", "higher", "window", HEADLINE_COLUMNS["1/min"],
                  "new orders per minute", "NOPM"),
    conditions=Conditions(s_per_unit=0.8, quick_s_per_unit=0.05),
    has_ledger=True,
    counts_headline=True,
    is_default=True,
)  # fmt: skip

PLUGINS = (ORDER_ENTRY,)
