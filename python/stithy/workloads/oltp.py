"""OLTP: tables of numbered rows and the transactions of sysbench's OLTP scripts on them."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import Any, Literal

from pydantic import Field

from stithy.metrics import Metric
from stithy.units import Percent
from stithy.wire.jobs import U32, Wire, WorkloadChoice
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
)

NAME = "oltp"

Mix = Literal[
    "read_write", "read_only", "write_only", "point_select", "update_index", "update_non_index",
    "insert",
]  # fmt: skip
"""What a transaction consists of, by the name of sysbench's script."""

Distribution = Literal["uniform", "gaussian", "special", "pareto", "zipfian"]
"""How rows are drawn."""

READS = ("point_selects", "simple_ranges", "sum_ranges", "order_ranges", "distinct_ranges")
RANGES = READS[1:]
WRITES = ("index_updates", "non_index_updates", "delete_inserts")

COUNTS: Mapping[Mix, tuple[str, ...]] = {
    "read_write": READS + WRITES,
    "read_only": READS,
    "write_only": WRITES,
}
"""The keys that count the statements of a mix; those of one statement have none."""

READ_ONLY = frozenset({"read_only", "point_select"})

PARAMETERS: Mapping[Distribution, tuple[str, ...]] = {
    "gaussian": ("gaussian_draws",),
    "special": ("gaussian_draws", "special_percent", "special_share_percent"),
    "pareto": ("pareto_h",),
    "zipfian": ("zipfian_exponent",),
}
"""The keys with the parameters of a distribution; the uniform one has none."""


class StatementCounts(Wire):
    """How many statements of each kind a transaction has."""

    point_selects: U32
    simple_ranges: U32
    sum_ranges: U32
    order_ranges: U32
    distinct_ranges: U32
    index_updates: U32
    non_index_updates: U32
    delete_inserts: U32
    range_rows: U32


class OltpChoice(WorkloadChoice):
    """What a job of the hammer says to oltp. `rows_touched` None touches all rows of each table."""

    name: str = NAME
    tables: U32
    rows: U32
    rows_touched: U32 | None = None
    mix: Mix
    statements: StatementCounts
    distribution: Mapping[str, str | int | float]
    secondary_index: bool
    skip_trx: bool


def _count(default: int, what: str) -> Any:
    description = f"Number of {what} in a transaction, where its mix has them."
    return Field(default=default, ge=0, le=10_000, description=description, examples=[default])


_COUNTED = set(StatementCounts.model_fields)


class OltpKeys(WorkloadKeys):
    """The study's `workload` section for oltp."""

    name: Literal["oltp"] = Field(description="Name of the workload.", examples=[NAME])
    tables: int = Field(ge=1, le=5_000, description="Number of tables.", examples=[10])
    rows: int = Field(
        ge=1,
        le=2_000_000_000,
        description="Number of rows in each table; each takes about 300 bytes on disk.",
        examples=[100_000],
    )
    mix: Mix = Field(
        default="read_write",
        description=(
            "What a transaction consists of, by sysbench's scripts. `read_write`, `read_only` and "
            "`write_only` have the statements that the keys below count. The others have one."
        ),
        examples=["read_only"],
    )
    point_selects: int = _count(10, "selects of one row")
    simple_ranges: int = _count(1, "selects of a range")
    sum_ranges: int = _count(1, "sums over a range")
    order_ranges: int = _count(1, "sorted selects of a range")
    distinct_ranges: int = _count(1, "sorted selects of the different values of a range")
    index_updates: int = _count(1, "updates of the indexed column `k`")
    non_index_updates: int = _count(1, "updates of `c`, a column without index,")
    delete_inserts: int = _count(1, "rows that are deleted and inserted again")
    range_rows: int = Field(
        default=100,
        ge=1,
        le=1_000_000,
        alias="range_size",
        description="Number of rows in a range.",
        examples=[100],
    )
    distribution: Distribution = Field(
        default="uniform",
        description=(
            "How rows are drawn, and `k` of the loaded rows: sysbench's distributions. The default "
            "of sysbench 1.0 is `special`, that of its successor `uniform`."
        ),
        examples=["special"],
    )
    gaussian_draws: int = Field(
        default=12,
        ge=1,
        le=1_000,
        description=(
            "Number of uniform draws whose mean is a draw of `gaussian`, and of `special` outside "
            "its middle."
        ),
        examples=[12],
    )
    special_percent: Percent = Field(
        default=1,
        ge=1,
        json_schema_extra={"default": "1%"},
        description="Share of the rows that make the middle of `special`.",
        examples=["1%"],
    )
    special_share_percent: Percent = Field(
        default=75,
        ge=1,
        alias="special_share",
        json_schema_extra={"default": "75%"},
        description="Share of the draws of `special` that fall on its middle.",
        examples=["75%"],
    )
    pareto_h: float = Field(
        default=0.2,
        gt=0,
        lt=1,
        description="Parameter h of `pareto`: h of the rows get 1 - h of the draws.",
        examples=[0.2],
    )
    zipfian_exponent: float = Field(
        default=0.8,
        gt=0,
        le=10,
        description="Exponent of `zipfian`: row i is drawn in proportion to i to the power of it.",
        examples=[0.8],
    )
    secondary_index: bool = Field(
        default=True,
        description="Whether the column `k` has an index.",
        examples=[False],
    )
    skip_trx: bool = Field(
        default=False,
        description="Whether each statement is a transaction of its own.",
        examples=[True],
    )

    @property
    def size(self) -> Size:
        return {"tables": self.tables, "rows": self.rows}

    @property
    def statements(self) -> StatementCounts:
        """As many of each kind as the section says."""
        return StatementCounts.model_validate(self.model_dump(include=_COUNTED))

    def choice(self, driving: Driving) -> OltpChoice:
        rows = ceil(driving.touched(self.units) / self.tables)
        return OltpChoice(
            tables=self.tables,
            rows=self.rows,
            rows_touched=None if rows == self.rows else rows,
            mix=self.mix,
            statements=self.statements,
            distribution=self._describe_law(),
            secondary_index=self.secondary_index,
            skip_trx=self.skip_trx,
        )

    def options(self, driving: Driving) -> Options:
        counts = self.model_dump(include=_COUNTED & {*self._list_used()})
        law = {key: value for key, value in self._describe_law().items() if key != "law"}
        return {
            "mix": self.mix,
            **counts,
            "distribution": self.distribution,
            **law,
            "secondary_index": self.secondary_index,
            "skip_trx": self.skip_trx,
        }

    def misfits(self, driving: Driving) -> Iterator[Misfit]:
        given, used = self.model_dump(include=self.model_fields_set), self._list_used()
        # Those that only some mixes and distributions use.
        names = (*READS, *WRITES, "range_rows", "skip_trx", *sum(PARAMETERS.values(), ()))
        for name in dict.fromkeys(names):
            if name in given and name not in used:
                what = f"no such thing in {self.mix} with {self.distribution} rows"
                where = ("workload", type(self).model_fields[name].alias or name)
                yield Misfit(what, "leave it out", given[name], where)
        counts = COUNTS.get(self.mix, ())
        if counts and not any(self.model_dump(include={*counts}).values()):
            right = f"at least one of {', '.join(counts)} above 0"
            yield Misfit("a transaction without statements", right, self.mix, ("workload", "mix"))
        if driving.keeps_ledger:
            yield from self._check_ledger()

    def _check_ledger(self) -> Iterator[Misfit]:
        where = ("load", "ledger")
        if self.skip_trx:
            right = "leave out one of the two: a ledger needs whole transactions"
            yield Misfit("a ledger with skip_trx", right, True, where)
        writes = self.model_dump(include={*COUNTS.get(self.mix, ())} & {*WRITES})
        if self.mix in READ_ONLY or (writes and not any(writes.values())):
            right = "leave it out, or choose a mix that writes"
            yield Misfit("a ledger of transactions that write nothing", right, True, where)

    def _list_used(self) -> Sequence[str]:
        counts = COUNTS.get(self.mix, ())
        ranges = ["range_rows"] if set(counts) & set(RANGES) else []
        blocks = ["skip_trx"] if counts else []
        return [*counts, *ranges, *blocks, *PARAMETERS.get(self.distribution, ())]

    def _describe_law(self) -> Mapping[str, str | int | float]:
        law: dict[Distribution, Mapping[str, int | float]] = {
            "gaussian": {"draws": self.gaussian_draws},
            "special": {
                "draws": self.gaussian_draws,
                "percent": self.special_percent,
                "share_percent": self.special_share_percent,
            },
            "pareto": {"h": self.pareto_h},
            "zipfian": {"exponent": self.zipfian_exponent},
        }
        return {"law": self.distribution, **law.get(self.distribution, {})}


class Oltp(Workload):
    """What the options of oltp mean for planning and reporting."""

    def in_words(self, options: Options) -> Sequence[str]:
        counts = {
            key.replace("_", " "): options[key]
            for key, field in OltpKeys.model_fields.items()
            if key in _COUNTED and options.get(key, field.default) != field.default
        }
        return [
            *([f"mix {options['mix']}"] if "mix" in options else []),
            *(f"{count} {words}" for words, count in counts.items()),
            *(_describe_rows(options) if "distribution" in options else []),
            *(["no secondary index"] if options.get("secondary_index") is False else []),
            *(["each statement its own transaction"] if options.get("skip_trx") else []),
        ]

    def is_one_commit(self, options: Options, *, counts_statements: bool) -> bool:
        """Those of one statement have no COMMIT; without a block each statement is one."""
        if options.get("mix", "read_write") not in COUNTS:
            return counts_statements
        return not options.get("skip_trx", False)

    def has_several_answers(self, options: Options) -> bool:
        """One for each statement; only some mixes have several."""
        return options.get("mix", "read_write") in COUNTS


def _describe_rows(options: Options) -> Iterator[str]:
    words = {
        "draws": "mean of {} draws",
        "percent": "{}% of the rows in the middle",
        "share_percent": "{}% of the draws",
        "h": "h {}",
        "exponent": "exponent {}",
    }
    parameters = [text.format(options[key]) for key, text in words.items() if key in options]
    yield f"{options['distribution']} rows" + (f" ({', '.join(parameters)})" if parameters else "")


OLTP = Oltp(
    name=NAME,
    keys=OltpKeys,
    title="OLTP",
    size=(SizeNumber("tables", "table"), SizeNumber("rows", "row")),
    # The distribution is not among them: it makes the column `k` of the loaded rows.
    run_keys=frozenset({"mix", *READS, *WRITES, "range_size", "skip_trx"}),
    transactions=(TransactionType("transaction", 1.0),),
    headline="transaction",
    bytes_fixed=20 * 2**20,
    # Measured with PostgreSQL and InnoDB: 225 to 240 bytes of a row, 45 to 60 of its two indexes.
    bytes_per_unit=300,
    # Measured with InnoDB, which adds whole extents: 0.6 MB in all with 2,000 rows, 9.4 with 4,000,
    # 12.6 with 20,000, 22 with 60,000.
    bytes_per_part=8 * 2**20,
    # Two rows are written anew, and two indexes of each; what they replace is used again.
    bytes_per_transaction=1000,
    # After a checkpoint each of the eight to ten pages that a transaction changes is logged whole.
    log_bytes_per_transaction=64 * 1024,
    load_s_per_unit=5e-6,
    # Ranges of 100 rows: three for every 100, so that all but 5 % are read.
    warm_up_per_unit=0.03,
    provenance=(
        "The oltp workload has the tables and statements of sysbench's OLTP scripts. It is not "
        "sysbench: the differences are listed."
    ),
    deviations="docs/reference/oltp.md",
    metric=Metric("tps", "1/s", "higher", "window", HEADLINE_COLUMNS["1/s"],
                  "transactions per second", "TPS"),
    conditions=Conditions(s_per_unit=4e-6, quick_s_per_unit=2e-7),
    has_ledger=True,
)  # fmt: skip

PLUGINS = (OLTP,)
