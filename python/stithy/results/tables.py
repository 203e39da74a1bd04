"""Every table of the results: its columns, their types, units and meanings, as Polars schemas too.

The place where columns are declared; writers, readers and the reference page derive from it. What
only one activity knows is a detail table, which the activity declares with the
same words (`stithy.activity.list_every_table` has all). Whoever adds, renames or removes a column raises
`manifest.SCHEMA_VERSION`.
A missing value is null, and the table has a column that says why or a flag that implies it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import polars as pl

Kind = Literal["text", "integer", "real", "truth"]

Row = dict[str, Any]
"""One row of a table by the names of its columns."""


@dataclass(frozen=True)
class Column:
    """One column; `unit` is `""` for what has none."""

    name: str
    kind: Kind
    unit: str
    meaning: str
    nullable: bool = False


@dataclass(frozen=True)
class Table:
    """One table, in the order of its columns."""

    name: str
    meaning: str
    columns: tuple[Column, ...]


def text(name: str, meaning: str, *, null: bool = False) -> Column:
    """A column of words."""
    return Column(name, "text", "", meaning, null)


def integer(name: str, unit: str, meaning: str, *, null: bool = False) -> Column:
    """A column of whole numbers."""
    return Column(name, "integer", unit, meaning, null)


def real(name: str, unit: str, meaning: str, *, null: bool = False) -> Column:
    """A column of real numbers."""
    return Column(name, "real", unit, meaning, null)


def truth(name: str, meaning: str, *, null: bool = False) -> Column:
    """A column of true and false."""
    return Column(name, "truth", "", meaning, null)


# Short, because each line below is a column.
_t, _i, _r, _b = text, integer, real, truth

DISTRIBUTION = {
    "mean": "mean", "min": "minimum", "p50": "median", "p90": "90th percentile",
    "p95": "95th percentile", "p99": "99th percentile", "p999": "99.9th percentile",
    "max": "maximum",
}  # fmt: skip
"""What of a distribution has a column, with what it is."""

WINDOW = Table(
    "window",
    "One row: one candidate at one point, as measured.",
    (
        _t("window_id", "id of the window, as in the plan"),
        _t("candidate", "name of the candidate"),
        _t("point", "setting of all factors of the study, such as `users=13` or `users=13, database.memory=1 GiB`"),
        _t("activity", "what was done in it: `hammer`, or another activity"),
        _i("block", "", "block within the point, from 0"),
        _b("tried", "the saturation search chose the level; the study did not list it"),
        _i("attempt", "", "0; or 1 if the block was measured a second time after an invalid window; then attempt 1 counts"),
        _i("position", "", "position in the order of the block, from 0"),
        _r("started_at_s", "s", "Unix time at which the work began", null=True),
        _r("measure_from_s", "s", "Unix time at which the measurement began", null=True),
        _r("measure_to_s", "s", "Unix time at which the measurement ended", null=True),
        _b("complete", "the work ran to its planned end"),
        _t("missing_because", "why the numbers are missing, if they are", null=True),
    ),
)  # fmt: skip

VALUES = Table(
    "values",
    "One row per metric that the activity of a window measured, in long form.",
    (
        _t("window_id", "id of the window"),
        _t("activity", "what measured it"),
        _t("metric", "name of the metric, as the activity declares it"),
        _t("of", "of what, such as a transaction type or a direction; `all` for all together"),
        _i("count", "", "number of values that it rests on; null if it is not a statistic", null=True),
        _r("value", "", "the value, in the unit of the metric", null=True),
        _t("missing_because", "why the value is null", null=True),
    ),
)  # fmt: skip

SPANS = Table(
    "spans",
    "One row per named time within a window. Empty if its activity names none.",
    (
        _t("window_id", "id of the window"),
        _t("activity", "whose span it is"),
        _t("name", "what it is, such as a cycle or a phase"),
        _r("from_s", "s", "Unix time at which it began"),
        _r("to_s", "s", "Unix time at which it ended", null=True),
        _t("outcome", "how it ended", null=True),
        _t("invalid_because", "why nothing that was measured of it alone counts; the rest of the window does", null=True),
    ),
)  # fmt: skip

TRANSACTIONS = Table(
    "transactions",
    "One row per transaction type: totals of one window's measurement. `all` is the merged row. The "
    "pool wait is null if each user has its own connection and waits for everything.",
    (
        _t("window_id", "id of the window"),
        _t("transaction", "transaction type, or `all`"),
        _i("committed", "", "committed"),
        _i("rolled_back", "", "rolled back as specified"),
        _i("errors", "", "failed"),
        _i("retries", "", "repeats after serialization failures and deadlocks"),
        *(
            _r(f"{kind}_{name}_s", "s", f"{text} of {what}", null=True)
            for kind, what in (
                ("response", "response time"), ("service", "service time"),
                ("pool_wait", "the wait for a connection, or in the queue of what users do not wait for"),
            )
            for name, text in DISTRIBUTION.items()
        ),
    ),
)  # fmt: skip

SECONDS = Table(
    "seconds",
    "One row per second and transaction type, from the hammer. `all` is the merged row.",
    (
        _t("window_id", "id of the window"),
        _i("second", "s", "seconds since the users started, from 0"),
        _r("at_s", "s", "Unix time at which the second began"),
        _t("phase", "`ramp-up`, `measure` or `drain`"),
        _t("transaction", "transaction type, or `all`"),
        _i("committed", "", "committed"),
        _i("rolled_back", "", "rolled back as specified"),
        _i("errors", "", "failed"),
        _i("retries", "", "repeats"),
        _i("waiting", "", "due and not begun at the end of the second; only in the row of `all`", null=True),
        _r("response_p50_s", "s", "median response time", null=True),
        _r("response_p95_s", "s", "95th percentile of response time", null=True),
        _r("response_p99_s", "s", "99th percentile of response time", null=True),
    ),
)  # fmt: skip

HISTOGRAMS = Table(
    "histograms",
    "One row per bucket with values: the latencies of one window's measurement by transaction type, merged from the interval logs. Merge several windows by adding counts.",
    (
        _t("window_id", "id of the window"),
        _t("kind", "`response`, `service`, or `pool-wait` if users share connections; of fio `latency`"),
        _t("transaction", "transaction type; of fio `read`, `write`, `flush` or `all`"),
        _i("bucket", "", "index of the bucket: of users in an HdrHistogram of 3 digits from 1 µs up, of fio by rising latency"),
        _r("lowest_s", "s", "the smallest latency of the bucket"),
        _r("highest_s", "s", "the largest latency of the bucket; percentiles are these values"),
        _i("count", "", "number of values in the bucket"),
    ),
)  # fmt: skip

STOPPED = "collector stopped: "
"""How `missing_because` begins where a collector died, or never came to life, by a fault; other
reasons tell what a machine or server does not have."""

UNANSWERED = "no answer: "
"""How it begins where what is measured did not answer the collector, which is no fault of it."""

SERIES = Table(
    "series",
    "One row per sample of a collector, in long form: one metric per row.",
    (
        _t("window_id", "id of the window"),
        _r("at_s", "s", "Unix time at which the sampled interval ended"),
        _r("second", "s", "the same, in seconds since the users started (may be negative)", null=True),
        _t("collector", "name of the collector"),
        _t("instance", "the tenant whose server was sampled; empty for the machine, the candidate, and the server of a window that has only one"),
        _t("subject", "what was sampled: a device, an interface, a CPU set; empty for the whole machine or server"),
        _t("metric", "name of the metric, as the collector declares it"),
        _t("unit", "unit of the value"),
        _r("value", "", "the value", null=True),
        _t("missing_because", "why the value is null", null=True),
    ),
)  # fmt: skip

CONDITIONS = Table(
    "conditions",
    "One row per verified consistency condition.",
    (
        _t("candidate", "name of the candidate"),
        _t(
            "window_id",
            "id of the window after which it was verified; null after loading and at the end",
            null=True,
        ),
        _t("moment", "`load`, `window` or `end`"),
        _i("number", "", "number in the specification, 1 to 12"),
        _t("text", "what must hold"),
        _b("holds", "whether it held"),
        _i("violations", "", "rows that break it"),
        _t("example", "one row that breaks it", null=True),
        _r("duration_s", "s", "time it took"),
    ),
)

RESTORES = Table(
    "restores",
    "One row per restore of the database before a window, by the study's restore method.",
    (
        _t("window_id", "id of the window that followed"),
        _t("candidate", "name of the candidate"),
        _r("copy_s", "s", "time to copy, or to load or restore otherwise"),
        _r("verify_s", "s", "time to hash every file, or to read every row, and compare"),
        _r("sync_s", "s", "time to sync and evict"),
        _i("files", "", "files that lay there then; null for a database by URL", null=True),
        _i("size_bytes", "B", "their bytes, or those of the database as its server tells"),
        _b(
            "identical",
            "every file's hash, or every table's checksum, is that of the loaded database",
        ),
        _i("resident_bytes", "B", "bytes still in the page cache after eviction", null=True),
        _t("resident_note", "why that is null or not 0; a tmpfs cannot evict", null=True),
    ),
)

DRIVES = Table(
    "drives",
    "One row per emulated drive and operation. `all` is the merged row. Empty without emulated drives. The rows describe the users' work, ramp-up included; latencies only the measurement.",
    (
        _t("window_id", "id of the window"),
        _t("role", "the part of the database that it holds: `data`, `log`, `undo`, `temp` or `backup`; `data-1` and on where several drives hold it"),
        _t("operation", "`read`, `write`, `flush`, `discard`, or `all`"),
        _i("answered", "", "requests answered during the users' work, ramp-up included"),
        _i("moved_bytes", "B", "bytes that these requests moved"),
        _i("errors", "", "those of them that were answered with an error"),
        _i("logged", "", "answers in the drive's seconds inside the measurement; each latency rests on this many values"),
        *(
            _r(f"latency_{name}_s", "s", f"{text} of the drive's latency: the time of profile and faults plus the drive's lateness; from the drive's seconds inside the measurement", null=True)
            for name, text in DISTRIBUTION.items()
        ),
        _i("late_answers", "", "answers that were late by more than 5 % of their due time and by more than 50 µs, during the users' work; only in the row of `all`", null=True),
        _r("late_mean_s", "s", "mean lateness of all answers in that time; only in the row of `all`", null=True),
        _r("device_mean_s", "s", "mean time of these requests on the block device in that time, by the kernel's counters, without the flushes that the kernel counts as writes; null in the row of `all`", null=True),
        _r("added_mean_s", "s", "difference between that time and the time of profile and faults: lateness plus transport latency minus latency compensation; null in the row of `all`", null=True),
        _r("cpu_s", "s", "CPU time of the drive's threads in that time; only in the row of `all`", null=True),
        _r("cpu_wait_s", "s", "time for which that thread waited for a CPU; only in the row of `all`", null=True),
    ),
)  # fmt: skip

LEDGER = Table(
    "ledger",
    "One row per kind of transaction in the window's commit ledger, with what became of them. Empty without a ledger.",
    (
        _t("window_id", "id of the window"),
        _t("deal", "kind of transaction, as the workload names it"),
        _i("acknowledged", "", "acknowledged by the database"),
        _i("lost", "", "of those, not in the database"),
        _i("differing", "", "of those, in the database with other content"),
        _i("refused", "", "certainly not committed"),
        _i("returned", "", "of those, in the database anyway"),
        _i("in_doubt", "", "sent, without an answer"),
        _i("in_doubt_found", "", "of those, in the database"),
        _i("unknown", "", "in the database, dated within the ledger's time, but not in the ledger"),
    ),
)  # fmt: skip

GONE = {
    "lost": "lost",
    "differing": "with other numbers or amounts",
    "returned": "there although refused",
}
"""The counts of a ledger that must be 0, and what each is called after its number."""

LEDGER_FINDINGS = Table(
    "ledger_findings",
    "One row per transaction in which commit ledger and database differ: the first ones of each kind.",
    (
        _t("window_id", "id of the window"),
        _t("deal", "kind of transaction, as the workload names it"),
        _t("kind", "`lost`, `differs`, `returned`, `doubt-committed`, `doubt-absent` or `unknown`"),
        _t("text", "the transaction, as a sentence"),
    ),
)  # fmt: skip

SURROUNDINGS = Table(
    "surroundings",
    "One row: the surroundings of a window, from just before the users began until just after they ended. Empty if they never began.",
    (
        _t("window_id", "id of the window"),
        _r("span_s", "s", "length of that time"),
        _i("cpus", "", "CPUs that Stithy may use"),
        _r("others_cpu_s", "s", "CPU time of other programs: processes except Stithy, server, hammer, emulated drives and kernel threads"),
        _i("others_bytes", "B", "bytes that these read from storage and caused to be written, as far as this user may see them"),
        _i("others_here_bytes", "B", "the part that may have been on disks under the candidate's volumes: what no other device accounts for, at most what these disks moved"),
        _t("others_names", "the programs with the largest share of both", null=True),
        _i("disks_bytes", "B", "bytes that the disks under the candidate's volumes read and wrote; null if there are none", null=True),
        _i("idle_bytes", "B", "bytes read and written on devices of other candidates alone, such as emulated drives; null if there are none", null=True),
        _t("idle_names", "the candidates of these devices, if any", null=True),
        _i("log_bytes", "B", "growth of the server's write-ahead log", null=True),
        _i("pages_written", "", "pages of its tables that the server wrote back; null if it does not count them", null=True),
        _i("log_files_made", "", "log files that the server created instead of recycling; null if its log is not a directory", null=True),
        _r("checkpoint_after_s", "s", "time after which the server begins a checkpoint", null=True),
        _i("checkpoint_after_bytes", "B", "growth of its log after which the server begins a checkpoint", null=True),
        _t("memory_limit_lost", "why the memory limit no longer held at the end, if it had been set", null=True),
    ),
)  # fmt: skip

BASELINE = Table(
    "baseline",
    "One row per baseline check: fixed work of the machine before a block. It compares no candidates.",
    (
        _t("window_id", "id of the block's first window, which followed it"),
        _t("point", "point of the block: the setting of all factors, such as `users=13`"),
        _i("block", "", "block within the point, from 0"),
        _i("attempt", "", "0; or 1 if the block was measured a second time"),
        _r("waited_s", "s", "how long the run waited for a quiet machine before it; null without a wait", null=True),
        _t("busy_because", "which programs kept the machine busy until the wait ended; null if it was quiet then", null=True),
        _r("at_s", "s", "Unix time at which it began"),
        _r("one_rounds_per_s", "1/s", "iterations of one thread alone, median of slices of 10 ms", null=True),
        _r("all_rounds_per_s", "1/s", "iterations of `threads` threads at once, in total", null=True),
        _i("threads", "", "CPUs that Stithy may use", null=True),
        _i("reads", "", "direct reads of 4 KiB from a file of no candidate, one at a time", null=True),
        *(
            _r(f"read_{name}_s", "s", f"{text} of their times", null=True)
            for name, text in DISTRIBUTION.items() if name in ("mean", "p50", "p99", "max")
        ),
        _t("missing_because", "why numbers are missing, if some are", null=True),
    ),
)  # fmt: skip

SPACE = Table(
    "space",
    "One row per candidate, role and moment: the space that a volume takes. What is not known has its reason.",
    (
        _t("candidate", "name of the candidate"),
        _t("role", "the role that the volume serves: `data`, which has every part without a volume of its own, `log`, `undo`, `temp` or `backup`"),
        _t("moment", "`loaded`: after the database was put there for the first time; `end`: after the last window"),
        _t("dataset", "the dataset of the database; null without one", null=True),
        _i("logical_bytes", "B", "lengths of all files", null=True),
        _i("written_bytes", "B", "the same without their holes, before compression", null=True),
        _i("stored_bytes", "B", "one copy after compression", null=True),
        _i("physical_bytes", "B", "what the drives hold for it: all copies, parity, and the file system's own data", null=True),
        _r("redundancy", "", "bytes on drives for a byte stored", null=True),
        _r("reduction", "", "bytes written for a byte stored, without the write-ahead log", null=True),
        _i("provisioned_bytes", "B", "what is set aside for the volume, or promised to it", null=True),
        _i("allocated_bytes", "B", "what of the storage the volume takes now: all that is provisioned, unless the storage is thin", null=True),
        _i("log_written_bytes", "B", "what of the written is the database's write-ahead log, 0 where it has a volume of its own", null=True),
        _i("log_stored_bytes", "B", "what of the stored is that log", null=True),
        _r("native_reduction", "", "bytes of the database's pages for a byte of its files, where it compresses them itself", null=True),
        _t("missing_because", "why numbers are missing, if some are", null=True),
    ),
)  # fmt: skip

TABLES = (
    WINDOW, VALUES, SPANS, TRANSACTIONS, SECONDS, SERIES, CONDITIONS, DRIVES, LEDGER, LEDGER_FINDINGS, RESTORES,
    SURROUNDINGS, BASELINE, HISTOGRAMS, SPACE,
)  # fmt: skip
"""Those that several activities fill, and those of a run; detail tables are beside these."""


def make_schema(table: Table) -> "pl.Schema":
    """The Polars type of each column, in order."""
    import polars as pl

    types: dict[Kind, pl.DataType] = {
        "text": pl.String(),
        "integer": pl.Int64(),
        "real": pl.Float64(),
        "truth": pl.Boolean(),
    }
    return pl.Schema({column.name: types[column.kind] for column in table.columns})


def make_empty_frame(table: Table) -> "pl.DataFrame":
    """A frame of the table without rows."""
    import polars as pl

    return pl.DataFrame(schema=make_schema(table))
