"""What a native program answers, a message a line: the Python side of `crates/wire/src/message.rs`.

A message names its kind in `message`. Units are the last part of a name: `_s` is seconds, instants
are Unix time. What is not known is None, never 0. Types here decide nothing.
"""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from stithy.wire.jobs import U32, U64, Wire

Told: TypeAlias = dict[str, Any]
"""What a workload says in its own keys."""


Phase = Literal["ramp-up", "measure", "drain"]
"""Which part of a window a second belongs to."""


class Started(Wire):
    """The job was read and begins."""

    message: Literal["started"] = "started"
    wire: U32
    program: str
    at_s: float


class ProgressMessage(Wire):
    """How far a long job is; `stage` is in words for a person."""

    message: Literal["progress"] = "progress"
    stage: str
    done: U64
    total: U64


class TransactionSecond(Wire):
    """One transaction type in one second.

    `live_p50_s` to `live_p99_s` are percentiles of response time for whoever watches; None where
    none completed.
    """

    name: str
    committed: U64
    rolled_back: U64
    errors: U64
    retries: U64
    live_p50_s: float | None = None
    live_p95_s: float | None
    live_p99_s: float | None = None


class SecondMessage(Wire):
    """One second of a run, counted from the users' start."""

    message: Literal["second"] = "second"
    second: U64
    at_s: float
    phase: Phase
    waiting: U64 = 0
    transactions: tuple[TransactionSecond, ...]


class Warning(Wire):
    """Something a reader should know; the job goes on."""

    message: Literal["warning"] = "warning"
    code: str
    text: str


class Refusal(Wire):
    """Why something cannot be done, in the four parts of an error, with its class as exit code."""

    code: str
    problem: str
    # `where` is the name on the wire in both languages; only Rust has it as a reserved word.
    where: str
    remedy: str
    exit: Annotated[int, Field(ge=0, le=255)]


class Failure(Refusal):
    """Why the job cannot go on; the program ends with its exit code."""

    message: Literal["failure"] = "failure"


class Condition(Wire):
    """One verified consistency condition; `example` is one row that breaks it, in words."""

    message: Literal["condition"] = "condition"
    number: U32
    text: str
    holds: bool
    violations: U64
    example: str | None
    duration_s: float


class TableRows(Wire):
    """Rows of one table."""

    table: str
    rows: U64


class DataSample(Wire):
    """What a sample of the generated rows is like; compressed is zstd, level 3, by 128 KiB.

    `text_*` is the part that a prepare job may shape; `text_repeated_bytes` are those of its values
    that occur more than once in the sample.
    """

    rows_bytes: U64
    rows_compressed_bytes: U64
    text_bytes: U64
    text_compressed_bytes: U64
    text_repeated_bytes: U64


class PrepareSummary(Wire):
    """What loading did; `copy_s` and `index_s` are parts of `duration_s`."""

    message: Literal["prepare-summary"] = "prepare-summary"
    duration_s: float
    copy_s: float
    index_s: float
    tables: tuple[TableRows, ...]
    workload: Told
    sample: DataSample


class WarmUpSummary(Wire):
    """What the warm-up pass did."""

    message: Literal["warm-up-summary"] = "warm-up-summary"
    duration_s: float
    transactions: U64


class Percentiles(Wire):
    """What times come to that nobody merges with others, seconds; None where there were none."""

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
    """One transaction type over the measurement, ramp-up apart.

    `response` counts from the moment the user meant to act, retries included, of a deferred
    one until it is queued; `service` counts from sending the last attempt. `pool_wait` is the
    wait for a connection, or in the queue of deferred ones; None where a type never waits.
    """

    name: str
    committed: U64
    rolled_back: U64
    errors: U64
    retries: U64
    response: PackedHistogram
    service: PackedHistogram
    pool_wait: PackedHistogram | None = None


class Proof(Wire):
    """Whether the database holds as many transactions as it acknowledged, over the whole job.

    Those that count are the workload's choice. `before` and `after` are the database's own count,
    None when it could not be read; of those `in_doubt` the answer never came, `in_doubt_found` of
    them are in the database.
    """

    before: U64 | None
    after: U64 | None
    acknowledged: U64
    in_doubt: U64
    in_doubt_found: U64 | None


ErrorKind = Literal["retryable", "full", "storage", "lost", "other"]
"""What an error means, whatever the engine calls it."""


class ErrorCount(Wire):
    """An unexpected error, the text of its first occurrence, and how often it came.

    `code` is the engine's own; None for errors that are not the server's.
    """

    kind: ErrorKind
    code: str | None
    text: str
    count: U64


class DriverCost(Wire):
    """What the driver itself cost during the measurement, seconds.

    `nice` is its priority, -20 is served first; None where the kernel does not tell.
    """

    cpu_s: float
    run_queue_delay_s: float | None
    nice: int | None = None


class ConnectionCounts(Wire):
    """Connections of a run.

    `first_success_s` is the time from the first loss to the first transaction that ended over a
    connection opened after it; None where none was lost, or none came back.
    """

    opened: U64
    lost: U64
    reopened: U64 = 0
    first_success_s: float | None = None


class OwnGaps(Wire):
    """The gaps of one of several hammers, of which those of all together are made.

    When each that is longer than `above_s` began, after the begin of the measurement, in order;
    how long it was; and the longest of each user.
    """

    above_s: float
    from_s: tuple[float, ...]
    length_s: tuple[float, ...]
    users: PackedHistogram


class CommitGaps(Wire):
    """Times in the measurement in which nothing came to a good end, seconds.

    `longest_s` from the Unix time `longest_from_s`: of all users together. The others are over the
    users, of the longest of each; None without users. `own`: only of one of several hammers.
    """

    longest_s: float
    longest_from_s: float
    user_p50_s: float | None
    user_p99_s: float | None
    user_max_s: float | None
    own: OwnGaps | None = None


class TableSizes(Wire):
    """What the server said of its own size at the start; None where it could not be read."""

    database_bytes: U64 | None
    cache_bytes: U64 | None


class LedgerWritten(Wire):
    """What a run wrote into its ledger; `acknowledged` are those that are durable.

    `problem` says why the ledger ended early, None where it did not.
    """

    acknowledged: U64
    size_bytes: U64
    syncs: U64
    slowest_sync_s: float | None
    problem: str | None


class RunSummary(Wire):
    """What one window gave; `commits` and `rollbacks` cover the whole job, ramp-up included.

    `suppressed_arrivals` are the transactions that users would have begun at their usual pace while
    answers over ten times the median of their type held them up; None in an open loop, and where
    nothing was answered. `backlog` were due in the measurement and not begun by its end. `ledger`
    is None where the job wanted none. `started_at_s` is the start that the job named, if it did,
    and the driver was awake `woke_late_s` after it. `first_late_s`: how late it was with the first
    transaction. Of several hammers both are the worst.
    """

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
    """All conditions were verified; `broken` holds the numbers of those that do not hold."""

    message: Literal["check-summary"] = "check-summary"
    checked: U32
    broken: tuple[U32, ...]


LedgerFindingKind = Literal[
    "lost", "differs", "returned", "doubt-committed", "doubt-absent", "unknown"
]
"""What ledger and database tell differently, or what became of a doubt."""


class LedgerFinding(Wire):
    """A transaction, in words, for which ledger and database tell different things.

    `entry` is which of the transactions that the workload keeps.
    """

    message: Literal["ledger-finding"] = "ledger-finding"
    entry: str
    kind: LedgerFindingKind
    text: str


class LedgerCounts(Wire):
    """One of the transactions that a ledger keeps, counted.

    Of those acknowledged some may be lost or differing, of those refused some may have returned,
    of those in doubt some may be found. `unknown` are rows that the ledger does not know.
    """

    acknowledged: U64
    lost: U64
    differing: U64
    refused: U64
    returned: U64
    in_doubt: U64
    in_doubt_found: U64
    unknown: U64


class LedgerSummary(Wire):
    """The ledger was compared; `torn_bytes` at its end are no whole group of entries."""

    message: Literal["ledger-summary"] = "ledger-summary"
    holds: bool
    entries: dict[str, LedgerCounts]
    torn_bytes: U64


class Calibration(Wire):
    """One rate, or one number of users, that was tried.

    `users` is None where the rate itself was set; times are None where no transaction was done.
    """

    users: U32 | None = None
    rate_per_s: float
    on_time: bool
    done: U64
    lateness_p99_s: float | None
    service_p50_s: float | None
    driver_cpu_s: float


class CalibrateSummary(Wire):
    """The driver's highest rate and number of users on time over so many connections.

    Each is None where it was never on time; `users_limit_reached` says that more users were not
    tried. `think_s` is the mean time between two transactions of a user, None where no users were
    to be tried.
    """

    message: Literal["calibrate-summary"] = "calibrate-summary"
    connections: U32
    rate_per_s_max: float | None
    think_s: float | None = None
    users_max: U32 | None = None
    users_limit_reached: bool = False
    trials: tuple[Calibration, ...]


class BaselineSummary(Wire):
    """What the machine did in a baseline check; rates and times are medians of short moments.

    `all_rounds_per_s` is that of `threads` at once. `reads` are direct reads of 4 KiB, one after
    the other, None with a reason where they could not be done.
    """

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
