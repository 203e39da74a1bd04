"""Brokerage: a broker's house with customers and a market, derived from the TPC-E specification."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from stithy.metrics import Metric
from stithy.units import Seconds, format_duration
from stithy.wire.jobs import U32, WorkloadChoice
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

NAME = "brokerage"
LOAD_UNIT = 1000
"""Customers of a load unit, by which sizes grow."""

SPECIFIED_CUSTOMERS = 5000
"""Fewer are below the specified minimum. Source: TPC-E 1.14, scaling."""

SMALL = f"SMALL SIZE: fewer customers than the {SPECIFIED_CUSTOMERS:,} that are specified at least"

_FEWEST_DAYS = 12
"""Fewest initial trade days: with less an account has fewer trades than a transaction lists."""


class BrokerageChoice(WorkloadChoice):
    """What each job of the hammer says to brokerage."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = NAME
    customers: U32
    days: U32
    price_period_s: float
    exchange_delay_s: float
    maintenance_interval_s: float
    skew_part: int
    exchange_connections: U32 | None = Field(default=None, exclude_if=lambda value: value is None)


class BrokerageKeys(WorkloadKeys):
    """The study's `workload` section for brokerage."""

    name: Literal["brokerage"] = Field(description="Name of the workload.", examples=["brokerage"])
    customers: Annotated[
        int,
        require(lambda value: value % LOAD_UNIT == 0, "no step", f"a multiple of {LOAD_UNIT:,}"),
    ] = Field(
        ge=LOAD_UNIT,
        le=1_000_000,
        description=(
            "Number of customers, in steps of 1,000. Fewer than 5,000 are below the specified "
            "minimum; every output says so, unless their number varies."
        ),
        examples=[1000],
        json_schema_extra={"multipleOf": LOAD_UNIT},
    )
    days: int = Field(
        default=_FEWEST_DAYS,
        ge=_FEWEST_DAYS,
        le=10_000,
        description=(
            "Initial trade days, 300 as specified. Each adds 57,600 trades per 1,000 customers, "
            "about 43 MB on disk."
        ),
        examples=[12],
    )
    price_period_s: Seconds = Field(
        default=900.0,
        alias="price_period",
        json_schema_extra={"default": "15m"},
        gt=0,
        le=86_400,
        description=(
            "Time in which a price swings from low to high and back: the longest wait of a limit "
            "order. Runs shorter than this begin with fewer results than later."
        ),
        examples=["15m"],
    )
    exchange_delay_s: Seconds = Field(
        default=1.0,
        alias="exchange_delay",
        json_schema_extra={"default": "1s"},
        gt=0,
        le=86_400,
        description="Mean time after which the exchange executes an order.",
        examples=["1s"],
    )
    maintenance_interval_s: Seconds = Field(
        default=60.0,
        alias="maintenance_interval",
        json_schema_extra={"default": "1m"},
        gt=0,
        le=86_400,
        description=(
            "Time between two transactions of data maintenance. They change twelve tables in turn."
        ),
        examples=["1m"],
    )
    skew_part: int = Field(
        default=4,
        ge=1,
        le=1_000_000,
        description=(
            "Skew of picked trades, moments and days: A of the formula is the greatest 2^k - 1 up "
            "to the count divided by this. A greater number reads more evenly, and more from disk."
        ),
        examples=[4],
    )
    exchange_connections: int | None = Field(
        default=None,
        ge=1,
        le=100_000,
        json_schema_extra={
            "default": "half as many as users up to 64, one for eight users beyond, at least two"
        },
        description="Connections of the market exchange, besides those of users.",
        examples=[8],
    )

    @property
    def size(self) -> Size:
        return {"customers": self.customers, "days": self.days}

    def choice(self, driving: Driving) -> BrokerageChoice:
        return BrokerageChoice.model_validate({**self.size, **self.options(driving)})

    def options(self, driving: Driving) -> Options:
        return self.model_dump(exclude={"name", *self.size})

    def count_connections(self, users: int) -> int:
        """Those of the exchange, as many as the hammer takes where none are given."""
        return self.exchange_connections or max(2, min(64, users // 2), users // 8)

    def misfits(self, driving: Driving) -> Iterator[Misfit]:
        """Users touch everything: the specification wants all load units used evenly."""
        if driving.touch_percent != 100:
            yield Misfit(
                "brokerage on a part of its data",
                "leave it out: users touch all customers evenly, as specified",
                f"{driving.touch_percent}%",
                ("load", "touch"),
            )


class Brokerage(Workload):
    """What the options of brokerage mean for planning and reporting."""

    def label(self, options: Options, size: Size) -> str | None:
        """Numbers of a smaller size must never be taken for those of a specified one."""
        few = size.get("customers", SPECIFIED_CUSTOMERS) < SPECIFIED_CUSTOMERS
        return SMALL if few else None

    def in_words(self, options: Options) -> Sequence[str]:
        words = {
            "price_period_s": "prices swing once in {}",
            "exchange_delay_s": "the exchange answers after {} in the mean",
            "maintenance_interval_s": "data maintenance every {}",
        }
        said = [words[key].format(format_duration(value)) for key in words
                if isinstance(value := options.get(key), float)]  # fmt: skip
        if (part := options.get("skew_part")) is not None:
            said.append(f"A of skewed picks at most 1/{part} of the count")
        return said

    def fit_size(self, units: int) -> Size:
        """At least one load unit with the fewest days."""
        days = max(_FEWEST_DAYS, units // LOAD_UNIT)
        return {"customers": LOAD_UNIT, "days": days}

    def get_nominal_rate(self, size: Size) -> float | None:
        """Source: TPC-E 1.14, scaling: 500 customers for a completed trade per second."""
        return size["customers"] / 500 * 60

    def isolated(self, level: str) -> str:
        """Source: TPC-E 1.14, which wants three levels for its transactions."""
        if level == "serializable":
            return f"Transactions ran at isolation level {level}, the strictest that is specified."
        return (
            f"Transactions ran at isolation level {level}. The specification requires that some "
            "of them exclude more phenomena; the account that a trade result changes is locked "
            "first instead, which keeps all consistency conditions."
        )

    def is_one_commit(self, options: Options, *, counts_statements: bool) -> bool:
        """Those of one statement have no COMMIT."""
        return counts_statements

    def has_several_answers(self, options: Options) -> bool:
        """Reads are batches of statements."""
        return True


BROKERAGE = Brokerage(
    name=NAME,
    keys=BrokerageKeys,
    title="Brokerage",
    size=(SizeNumber("customers", "customer"), SizeNumber("days", "customer-day")),
    run_keys=frozenset({
        "price_period", "exchange_delay", "maintenance_interval", "skew_part",
        "exchange_connections",
    }),
    # Source: TPC-E 1.14, transaction mix. Results and feeds follow orders, maintenance the clock.
    transactions=(
        TransactionType("broker-volume", 0.049),
        TransactionType("customer-position", 0.13),
        TransactionType("market-watch", 0.18),
        TransactionType("security-detail", 0.14),
        TransactionType("trade-lookup", 0.08),
        TransactionType("trade-order", 0.101),
        TransactionType("trade-status", 0.19),
        TransactionType("trade-update", 0.02),
        TransactionType("trade-result", 0.1, by_users=False),
        TransactionType("market-feed", 0.01, by_users=False),
        TransactionType("data-maintenance", 0.0, by_users=False),
    ),
    headline="trade-result",
    bytes_fixed=30 * 2**20,
    # 57.6 trades a day of each customer with all that belongs to them.
    bytes_per_unit=43_000,
    # What a customer has without trades: news, prices, watch lists.
    bytes_per_part=220_000,
    # Measured with 60 days: 0.52, of the eighth condition in parallel; with 36 days 0.18.
    bytes_spilled=0.6,
    bytes_per_transaction=75,
    log_bytes_per_transaction=16 * 1024,
    load_s_per_unit=0.002,
    warm_up_per_unit=0.05,
    provenance=(
        "The brokerage workload is derived from the TPC-E specification; it is not a TPC "
        "benchmark, and its results are not comparable with published TPC results."
    ),
    deviations="docs/reference/brokerage.md",
    metric=Metric("completed_trades_per_min", "1/min", "higher", "window",
                  HEADLINE_COLUMNS["1/min"], "completed trades per minute", "CTPM"),
    conditions=Conditions(s_per_unit=0.0006, quick_s_per_unit=0.0001),
    has_ledger=True,
    counts_headline=True,
    is_divisible=False,
)  # fmt: skip

PLUGINS = (BROKERAGE,)
