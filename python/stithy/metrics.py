"""Every metric that a study may ask about by its name: what it is, its unit, what is good of it.

One table for the primary question, for thresholds and for what a report compares beside them: rates
and percentiles of the hammer, percentiles of emulated drives, and each metric of each collector by
the name `collector.metric`, which `docs/reference/collectors.md` lists.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from stithy.activity import DeclaredActivity
from stithy.collectors.collector import Collector
from stithy.environment import list_plugin_folders
from stithy.errors import UserError
from stithy.names import find_closest, make_plain, suggest_instead
from stithy.registry import plugins

Unit = Literal["s", "1/min", "1/s", "B", "B/s", "W", "J", "share", ""]
Better = Literal["higher", "lower"]
OfSeveral = Literal["sum", "largest"]
Source = Literal["window", "transactions", "drives", "series", "values"]
Combined = Literal["mean", "histogram", "sum", "largest", "paired"]

ALL = "all"
"""All transaction types together."""


@dataclass(frozen=True)
class CollectedMetric:
    """A metric of a collector: its name (units last), unit (`""` for none), meaning in a sentence.

    The rest is for who compares candidates by it. `better`: which direction is good, None where
    neither is. `weight`: the metric by which seconds are weighted in its mean, None for a plain
    one. `of_several`: how its subjects make one value; None where one of `subjects` must be named.
    `compared`: False for moments and totals, of which a ratio says nothing. `noun`: what it is
    called in a sentence, where its name and `SAMPLES` do not say it. `negligible`: as `Metric` has
    it, where the best value is 0.
    """

    name: str
    unit: Literal["s", "1/s", "B", "B/s", "W", ""]
    meaning: str
    better: Better | None = None
    weight: str | None = None
    of_several: OfSeveral | None = "largest"
    subjects: tuple[str, ...] = ()
    compared: bool = True
    noun: str = ""
    negligible: float | None = None


@dataclass(frozen=True)
class Metric:
    """One thing that can be asked of a candidate at a level.

    `better`: None where neither direction is. `column`: of the tables `window` and `transactions`;
    of a drive the operation; of a collector its metric. `percent`: which percentile it is.
    `noun` and `label`: in a sentence, and above a column. `combined`: how the windows of a level
    make one value; `paired`: each window is held against that of its block without what is beside
    the users, and of a ratio `column` is the metric that it is of. `subjects`: of what it has
    values beside `all`, for one that an activity measures. `negligible`: of a metric whose best
    value is 0, such as a pause or a loss, and of a share that may be 0, so much in its unit counts
    for nothing; it is compared as a difference. None: as a ratio. `of_instance`: of one server, so
    that tenants must be named. The rest is as a collector declares it.
    """

    name: str
    unit: Unit
    better: Better | None
    source: Source
    column: str
    noun: str
    label: str
    percent: float | None = None
    collector: str = ""
    weight: str | None = None
    of_several: OfSeveral | None = "largest"
    subjects: tuple[str, ...] = ()
    compared: bool = True
    combined: Combined = "mean"
    negligible: float | None = None
    of_instance: bool = False

    @property
    def period_s(self) -> float:
        """Of what time it is the rate: a minute, or a second."""
        return 60.0 if self.unit == "1/min" else 1.0


@dataclass(frozen=True)
class Quantity:
    """A metric, and whose: of a transaction type, a subject of a collector, the role of a drive.

    `of` None: of all transactions together, of all subjects, of all drives.
    """

    metric: str
    of: str | None = None

    @property
    def known(self) -> Metric:
        """What is known of the metric. Raises UnknownQuantity where there is none of this name."""
        if (known := find(self.metric)) is None:
            raise UnknownQuantity(Problem(*_make_unknown(self.metric)))
        return known

    @property
    def noun(self) -> str:
        """In a sentence: `99th percentile of response time of payment`."""
        noun = self.known.noun
        if self.of in (None, ALL):
            return noun
        return f"{noun} of {self.of}" if self.known.percent else f"{noun} ({self.of})"

    @property
    def label(self) -> str:
        """Above a column: `TPM`, `p99 of payment`."""
        return f"{self.known.label} of {self.of}" if self.of else self.known.label

    @property
    def title(self) -> str:
        """Along an axis: `Transactions per minute (TPM)`."""
        return f"{self.noun[0].upper()}{self.noun[1:]} ({self.label})"

    def __str__(self) -> str:
        return f"{self.metric} of {self.of}" if self.of else self.metric


class Problem(NamedTuple):
    """What is wrong with a name, and what would be right; `part` is `metric` or `of`."""

    what: str
    right: str
    part: str = "metric"


class UnknownQuantity(ValueError):
    """A text that names no quantity."""

    def __init__(self, problem: Problem) -> None:
        """Carries what would be right."""
        super().__init__(f"{problem.what}: {problem.right}")
        self.problem = problem


PERCENTILES = {
    "p50": (50.0, "median"), "p90": (90.0, "90th percentile"), "p95": (95.0, "95th percentile"),
    "p99": (99.0, "99th percentile"), "p99.9": (99.9, "99.9th percentile"),
}  # fmt: skip
"""By their names; a column of results has `p999` for the last one."""

BEYOND_LEAST = 100
"""So many values must lie beyond a percentile that is printed, so that neither a number nor a
verdict hangs on a handful of them. Source: docs/explanation/verdicts.md, "The metric"."""

OPERATIONS = ("read", "write", "flush")

ROLES_OF_DRIVES = ("data", "log", "undo", "temp", "backup", "target")


def find_role(drive: str) -> str:
    """What an emulated drive holds, by its name: `data` of `data`, `data-2` or `data-host1-2`."""
    return drive.partition("-")[0]


def count_values_needed(percent: float) -> int:
    """How many values a window must have for this percentile of it to support a verdict.

    `BEYOND_LEAST` of them lie beyond it: 2,000 for the 95th percentile, 10,000 for the 99th.
    """
    return round(BEYOND_LEAST * 100 / (100 - percent))


_PERCENTILE_COLUMN = re.compile(r"_p(\d\d)(\d?)_s$")


def count_needed_by(column: str) -> int:
    """How many values bear this column of a table: `response_p95_s`, `pool_wait_p999_s`.

    0 for what is no percentile.
    """
    found = _PERCENTILE_COLUMN.search(column)
    return count_values_needed(float(f"{found[1]}.{found[2] or 0}")) if found else 0


def has_enough(column: str, values: int) -> bool:
    """Whether so many values bear this column of a table."""
    return values >= count_needed_by(column)


def _own() -> Iterator[Metric]:
    for operation in OPERATIONS:
        for name, (percent, text) in PERCENTILES.items():
            asked = f"drive.{operation}_{name}"
            noun = f"{text} of the emulated drive's {operation} time"
            yield Metric(asked, "s", "lower", "drives", operation, noun, asked, percent)


PAUSE_NEGLIGIBLE_S = 0.1
"""Own: less than what a person notices. Source: Nielsen, Usability Engineering, chapter 5.5."""


def make_pause_metrics(of: str) -> Iterator[Metric]:
    """How long users stood still by what happened, such as `fault`: all of them, and each."""
    for name, column, noun, label in (
        ("pause_s", "gap_s", "longest time in which no transaction was committed", "Pause"),
        ("user_pause_s", "user_gap_p99_s",
         "longest time without a commit of a user, 99th percentile over users", "Pause of users"),
    ):  # fmt: skip
        yield Metric(f"{of}.{name}", "s", "lower", "window", column, noun, label,
                     negligible=PAUSE_NEGLIGIBLE_S)  # fmt: skip


def make_paired_metrics(
    of: str, said: str, percentiles: Sequence[str] = ("p95", "p99"), subjects: tuple[str, ...] = ()
) -> Iterator[Metric]:
    """Throughput and percentiles of users with what is beside them, relative to those without.

    `of`: what is beside them; `said`: `with backups`. `subjects`: as `Metric` has it.
    """
    whole = f"{said} relative to that without"
    yield Metric(f"{of}.throughput_ratio", "", "higher", "values", "tpm",
                 f"throughput {whole}", f"Throughput {said}", subjects=subjects,
                 combined="paired")  # fmt: skip
    for name in percentiles:
        noun = f"{PERCENTILES[name][1]} of response time {whole}"
        yield Metric(f"{of}.{name}_ratio", "", "lower", "values", name, noun, f"{name} {said}",
                     subjects=subjects, combined="paired")  # fmt: skip


SAMPLER, SAMPLING = "sampler", "Stithy's sampling"
SAMPLER_METRICS = (
    CollectedMetric("lateness_s", "s", "time from the second to the start of sampling", "lower"),
    CollectedMetric("duration_s", "s", "time that all collectors of a thread took", "lower"),
    CollectedMetric(
        "cpu_s", "s", "CPU time of the collectors", "lower", noun=f"CPU time of {SAMPLING}"
    ),
)
"""What the sampler of the collectors says of itself."""

COST_METRICS = (
    Metric("cost.per_million", "", "lower", "values", "",
           "cost of a million transactions that the throughput counts", "Cost per million"),
    Metric("cost.per_user", "", "lower", "values", "",
           "yearly cost per user within the response-time target", "Cost per user"),
)  # fmt: skip
"""Of a study that states what its candidates cost, in its currency."""

OWN: Mapping[str, Metric] = {each.name: each for each in (*_own(), *COST_METRICS)}
"""The metrics that neither a collector nor an activity gives."""

COST_PER_MILLION, COST_PER_USER = (Quantity(metric.name) for metric in COST_METRICS)
TPM = Quantity("tpm")
P95 = Quantity("p95")
P99 = Quantity("p99")


def find(name: str) -> Metric | None:
    """The metric of this name; None where there is none."""
    return find_uncollected(name) or (_map_collected().get(name) if "." in name else None)


def find_uncollected(name: str) -> Metric | None:
    """The same without those of collectors, none of which is loaded."""
    return OWN.get(name) or _list_declared().get(name)


def list_names() -> tuple[str, ...]:
    """The names of all metrics."""
    return (*_list_declared(), *OWN, *_map_collected())


def list_in_columns() -> tuple[Metric, ...]:
    """The metrics that stand in columns of their own, of windows and of transactions.

    Workloads share the column of their throughput, which each names by its own metric.
    """
    return tuple(each for each in _list_declared().values() if each.source in IN_COLUMNS)


IN_COLUMNS = frozenset({"window", "transactions"})


ERROR_SHARE = "error_share"
"""What failed, as a column that gathered rows of `transactions` have beside those of the file."""


def find_error_share(row: Mapping[str, Any]) -> float | None:
    """Of the transactions of such a row those that failed; None where none ended.

    Repeats after conflicts are no failures, and what is rolled back as specified is none.
    """
    failed = row["errors"]
    ended = failed + row["committed"] + row["rolled_back"]
    return failed / ended if ended else None


def is_mean(column: str) -> bool:
    """Whether a column is a rate or a share, of which windows have a mean, and no percentile."""
    return any(metric.column == column and metric.percent is None for metric in list_in_columns())


def _list_declared() -> Mapping[str, Metric]:
    return _map_declared(list_plugin_folders())


@cache
def _map_declared(places: tuple[Path, ...]) -> Mapping[str, Metric]:
    from stithy.workloads.workload import Workload  # which imports this module

    own = (workload.metric for workload in plugins(Workload).values())
    by_activity = ((a.name, one) for a in plugins(DeclaredActivity).values() for one in a.metrics)
    return _map_names((*(("workloads", metric) for metric in own if metric), *by_activity))


def _map_names(declared: Iterable[tuple[str, Metric]]) -> Mapping[str, Metric]:
    """Map metrics by name. Raises UserError for two that figures and exports would write alike."""
    plain: dict[str, tuple[str, Metric]] = {}
    for whose, metric in declared:
        first, same = plain.setdefault(make_plain(metric.name), (whose, metric))
        if same is not metric:
            raise UserError(
                f"the metric {metric.name} is declared twice",
                where=f"`metrics` of {first}, {whose}",
                remedy="give the metric another name, or leave it to the other plug-in",
            )
    return {metric.name: metric for _, metric in plain.values()}


@cache
def _map_collected() -> Mapping[str, Metric]:
    found = [
        (name, _find_collected(name, of.subject, metric, of.create_for is not None))
        for name, of in plugins(Collector).items()
        for metric in of.metrics
    ]
    found += [
        (SAMPLER, _find_collected(SAMPLER, SAMPLING, each, False)) for each in SAMPLER_METRICS
    ]
    return _map_names(found)


def map_weights() -> Mapping[tuple[str, str], str]:
    """By a collector and its metric that has one, the metric by which its seconds are weighted."""
    known = _map_collected().values()
    return {(each.collector, each.column): each.weight for each in known if each.weight}


def _find_collected(
    collector: str, samples: str, metric: CollectedMetric, of_instance: bool
) -> Metric:
    name = f"{collector}.{metric.name}"
    unit: Unit = "share" if metric.name.endswith("_share") else metric.unit
    return Metric(
        name, unit, metric.better, "series", metric.name,
        metric.noun or f"{_describe_metric(metric.name)} of {samples}", name, None, collector,
        metric.weight, metric.of_several, metric.subjects, metric.compared,
        negligible=metric.negligible, of_instance=of_instance,
    )  # fmt: skip


_SHORT = {"cpu": "CPU", "io": "I/O", "irq": "interrupt", "iowait": "I/O wait"}
"""What is no word by itself."""


def _describe_metric(name: str) -> str:
    """`reads per second` of `reads_per_s`, `read latency` of `read_latency_s`."""
    rate = name.endswith("_per_s")
    for unit in ("_per_s", "_s", "_w"):
        name = name.removesuffix(unit)
    words = " ".join(_SHORT.get(part, part) for part in name.split("_"))
    return f"{words} per second" if rate else words


def parse_quantity(text: str) -> Quantity:
    """The quantity that a text names: `tpm`, `p99 of payment`, `block.reads_per_s of sda`.

    Raises UnknownQuantity.
    """
    metric, of, whose = " ".join(text.split()).partition(" of ")
    quantity = Quantity(metric, whose if of else None)
    if (problem := check(quantity)) is not None:
        raise UnknownQuantity(problem)
    return quantity


def check(quantity: Quantity, transactions: Sequence[str] | None = None) -> Problem | None:
    """What is wrong with a quantity; None where nothing is.

    `transactions`: the types of the workload; None where they are not known, so that any may be.
    """
    metric, of = find(quantity.metric), quantity.of
    if metric is None:
        return Problem(*_make_unknown(quantity.metric))
    if not metric.compared:
        return Problem(
            f"`{metric.name}` is a point in time or a total, so it cannot be compared",
            "choose another metric",
        )
    if of is None:
        if metric.of_several is None:
            known = " or ".join(f"`{subject}`" for subject in metric.subjects)
            return Problem(f"`{metric.name}` has a value for each subject", f"name one: {known}")
        return None
    return _check_owner(metric, of, transactions)


def _check_owner(metric: Metric, of: str, transactions: Sequence[str] | None) -> Problem | None:
    if metric.source == "window":
        what = f"`{metric.name}` has no value per transaction type"
        return Problem(what, f"leave out `{of}`", "of")
    if metric.source == "transactions":
        known: Sequence[str] = () if transactions is None else (*transactions, ALL)
        what = f"unknown transaction type `{of}`"
    elif metric.source == "values":
        known, what = (*metric.subjects, ALL), f"`{metric.name}` has no `{of}`"
    elif metric.source == "drives":
        known, what = ROLES_OF_DRIVES, f"unknown role of a drive, `{of}`"
    else:
        known, what = metric.subjects, f"`{metric.name}` has no `{of}`"
    return Problem(what, suggest_instead(of, known), "of") if known and of not in known else None


def _make_unknown(name: str) -> tuple[str, str]:
    guess = find_closest(name, list_names())
    few = [each for each in _list_declared() if "." not in each]
    right = f"one of {', '.join(few)}, or a collector's, such as block.reads_per_s"
    return f"unknown metric `{name}`", f"did you mean `{guess}`?" if guess else right
