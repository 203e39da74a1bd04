"""What a native program answers, a message a line: the Python side of `crates/wire/src/message.rs`.

A message names its kind in `message`. Units are the last part of a name: `_s` is seconds, instants
are Unix time. What is not known is None, never 0. Types here decide nothing, and are described
once, in Rust.
"""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from stithy.wire.jobs import U32, U64, Wire

Told: TypeAlias = dict[str, Any]
"""What a workload says in its own keys."""


Phase = Literal["ramp-up", "measure", "drain"]
"""Which part of a window a second belongs to."""


class Started(Wire):
    message: Literal["started"] = "started"
    wire: U32
    program: str
    at_s: float


class ProgressMessage(Wire):
    message: Literal["progress"] = "progress"
    stage: str
    done: U64
    total: U64


class TransactionSecond(Wire):
    name: str
    committed: U64
    rolled_back: U64
    errors: U64
    retries: U64
    live_p50_s: float | None = None
    live_p95_s: float | None
    live_p99_s: float | None = None


class SecondMessage(Wire):
    message: Literal["second"] = "second"
    second: U64
    at_s: float
    phase: Phase
    waiting: U64 = 0
    transactions: tuple[TransactionSecond, ...]


class Warning(Wire):
    message: Literal["warning"] = "warning"
    code: str
    text: str


class Refusal(Wire):
    code: str
    problem: str
    # `where` is the name on the wire in both languages; only Rust has it as a reserved word.
    where: str
    remedy: str
    exit: Annotated[int, Field(ge=0, le=255)]


class Failure(Refusal):
    message: Literal["failure"] = "failure"


class Condition(Wire):
    message: Literal["condition"] = "condition"
    number: U32
    text: str
    holds: bool
    violations: U64
    example: str | None
    duration_s: float


class TableRows(Wire):
    table: str
    rows: U64


class DataSample(Wire):
    rows_bytes: U64
    rows_compressed_bytes: U64
    text_bytes: U64
    text_compressed_bytes: U64
    text_repeated_bytes: U64


class PrepareSummary(Wire):
    message: Literal["prepare-summary"] = "prepare-summary"
    duration_s: float
    copy_s: float
    index_s: float
    tables: tuple[TableRows, ...]
    workload: Told
    sample: DataSample


class WarmUpSummary(Wire):
    message: Literal["warm-up-summary"] = "warm-up-summary"
    duration_s: float
    transactions: U64


class Percentiles(Wire):
    count: U64
    mean_s: float | None
    min_s: float | None
    p50_s: float | None
    p90_s: float | None
    p95_s: float | None
    p99_s: float | None
    p999_s: float | None
    max_s: float | None


PackedHistogram: TypeAlias = str
"""An HdrHistogram of microseconds, as in an interval log; `stithy.results.hlog.decode` reads it."""


class TransactionTotal(Wire):
    name: str
    committed: U64
    rolled_back: U64
    errors: U64
    retries: U64
    response: PackedHistogram
    service: PackedHistogram
    pool_wait: PackedHistogram | None = None


class Proof(Wire):
    before: U64 | None
    after: U64 | None
    acknowledged: U64
    in_doubt: U64
    in_doubt_found: U64 | None


ErrorKind = Literal["retryable", "full", "storage", "lost", "other"]
"""What an error means, whatever the engine calls it."""


class ErrorCount(Wire):
    kind: ErrorKind
    code: str | None
    text: str
    count: U64


class DriverCost(Wire):
    cpu_s: float
    run_queue_delay_s: float | None
    nice: int | None = None


class ConnectionCounts(Wire):
    opened: U64
    lost: U64
    reopened: U64 = 0
    first_success_s: float | None = None


class OwnGaps(Wire):
    above_s: float
    from_s: tuple[float, ...]
    length_s: tuple[float, ...]
    users: PackedHistogram


class CommitGaps(Wire):
    longest_s: float
    longest_from_s: float
    user_p50_s: float | None
    user_p99_s: float | None
    user_max_s: float | None
    own: OwnGaps | None = None


class TableSizes(Wire):
    database_bytes: U64 | None
    cache_bytes: U64 | None


class LedgerWritten(Wire):
    acknowledged: U64
    size_bytes: U64
    syncs: U64
    slowest_sync_s: float | None
    problem: str | None


class RunSummary(Wire):
    message: Literal["run-summary"] = "run-summary"
    started_at_s: float
    woke_late_s: float | None = None
    first_late_s: float | None = None
    measure_from_s: float
    measure_to_s: float
    ended_at_s: float
    complete: bool
    users: U32
    workload: Told
    sizes: TableSizes
    transactions: tuple[TransactionTotal, ...]
    commits: U64
    rollbacks: U64
    lateness: PackedHistogram
    suppressed_arrivals: U64 | None = None
    backlog: U64 = 0
    proof: Proof
    errors: tuple[ErrorCount, ...]
    driver: DriverCost
    connections: ConnectionCounts
    gaps: CommitGaps
    ledger: LedgerWritten | None = None


class CheckSummary(Wire):
    message: Literal["check-summary"] = "check-summary"
    checked: U32
    broken: tuple[U32, ...]


LedgerFindingKind = Literal[
    "lost", "differs", "returned", "doubt-committed", "doubt-absent", "unknown"
]
"""What ledger and database tell differently, or what became of a doubt."""


class LedgerFinding(Wire):
    message: Literal["ledger-finding"] = "ledger-finding"
    entry: str
    kind: LedgerFindingKind
    text: str


class LedgerCounts(Wire):
    acknowledged: U64
    lost: U64
    differing: U64
    refused: U64
    returned: U64
    in_doubt: U64
    in_doubt_found: U64
    unknown: U64


class LedgerSummary(Wire):
    message: Literal["ledger-summary"] = "ledger-summary"
    holds: bool
    entries: dict[str, LedgerCounts]
    torn_bytes: U64


class Calibration(Wire):
    users: U32 | None = None
    rate_per_s: float
    on_time: bool
    done: U64
    lateness_p99_s: float | None
    service_p50_s: float | None
    driver_cpu_s: float


class CalibrateSummary(Wire):
    message: Literal["calibrate-summary"] = "calibrate-summary"
    connections: U32
    rate_per_s_max: float | None
    think_s: float | None = None
    users_max: U32 | None = None
    users_limit_reached: bool = False
    trials: tuple[Calibration, ...]


class BaselineSummary(Wire):
    message: Literal["baseline-summary"] = "baseline-summary"
    one_rounds_per_s: float
    all_rounds_per_s: float
    threads: U32
    reads: Percentiles | None
    reads_missing_because: str | None


Summary = (
    PrepareSummary
    | WarmUpSummary
    | RunSummary
    | CheckSummary
    | LedgerSummary
    | CalibrateSummary
    | BaselineSummary
)
"""The last message of a job that came to its end."""

AnyMessage = (
    Started
    | ProgressMessage
    | SecondMessage
    | Warning
    | Failure
    | Condition
    | LedgerFinding
    | Summary
)
"""One line of output."""

_MESSAGE: TypeAdapter[AnyMessage] = TypeAdapter(
    Annotated[AnyMessage, Field(discriminator="message")]
)


def parse_message(line: str | bytes) -> AnyMessage:
    """The message of one line; pydantic's ValidationError where it is none."""
    return _MESSAGE.validate_json(line)
