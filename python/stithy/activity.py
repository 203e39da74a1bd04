"""What an activity says of itself, whoever reads its results: its tables, metrics and factors.

It is declared in the stage `map_factors` of its folder, apart from what happens
(`stithy.run.activity`), so that readers of results and `stithy plan` load none of that.

An activity declares the factors that are its own, such as the users of a load. Any other factor is
known by its key in the study alone: its values are said as they are written.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from stithy.errors import UserError
from stithy.registry import Family, Plugin, plugins
from stithy.results.tables import TABLES, Table

if TYPE_CHECKING:
    pass
    from stithy.metrics import Metric

COMMON = frozenset({"window", "values", "series", "surroundings", "drives", "baseline"})
"""The tables of every window, and those that are there where their source is."""


@dataclass(frozen=True)
class DeclaredActivity(Plugin):
    """What an activity measures.

    `tables`: names of those without which its windows cannot be judged. `details`: tables that it
    alone fills. `metrics`: with the source `values`, their names beginning with that of the
    activity. `factors`: those that its scenarios have because of it. `expects`: classes of errors
    (`lost`, `full`, as the hammer reports them) that it causes on purpose. Those of other
    activities in its windows are counted, but are no fault, and a full disk does not end the run.
    The hammer opens lost connections again; of other errors it gives up after some, expected or
    not. `explains`: names of flags of its windows that it causes on purpose. `by_agents`: whether
    agents may drive the users of its windows. Their ledger is there once they are done, so one that
    reads it earlier says `without-ledger`.
    """

    family: ClassVar = Family(stage="declared")

    name: str
    metrics: "tuple[Metric, ...]" = ()
    tables: tuple[str, ...] = ()
    details: tuple[Table, ...] = ()
    factors: "tuple[Factor, ...]" = ()
    expects: frozenset[str] = frozenset()
    explains: frozenset[str] = frozenset()
    by_agents: Literal["no", "without-ledger", "yes"] = "no"


def collect_expected_errors(activities: Iterable[str]) -> frozenset[str]:
    """Collect the classes of errors that one of these activities causes on purpose."""
    return frozenset().union(*(each.expects for each in _list_declared(activities)))


def list_not_by_agents(activities: Iterable[str], *, has_ledger: bool) -> list[str]:
    """List those beside which agents cannot drive users."""
    refused = {"no", "without-ledger"} if has_ledger else {"no"}
    return [each.name for each in _list_declared(activities) if each.by_agents in refused]


def collect_explained_flags(activities: Iterable[str]) -> frozenset[str]:
    """Collect the names of flags that one of these activities causes on purpose."""
    return frozenset().union(*(each.explains for each in _list_declared(activities)))


def _list_declared(names: Iterable[str]) -> list[DeclaredActivity]:
    declared = plugins(DeclaredActivity)
    return [declared[name] for name in names if name in declared]


def split_names(activities: str) -> list[str]:
    """Split the names of a window's activities, as the table `window` has them."""
    return activities.split(", ")


def list_tables(activities: str) -> frozenset[str]:
    """Name the tables that windows of these activities have; as in the table `window`."""
    return COMMON.union(*(each.tables for each in _list_declared(split_names(activities))))


def list_every_table() -> tuple[Table, ...]:
    """List all tables of results: the common ones, and the detail tables of each activity."""
    declared = plugins(DeclaredActivity).values()
    return (*TABLES, *(table for activity in declared for table in activity.details))


def get_table(name: str) -> Table:
    """Look a table up. Raises StopIteration for one that nobody declares."""
    return next(table for table in list_every_table() if table.name == name)


TAKEN = frozenset({
    "a", "a_s", "acknowledged", "active_sessions", "agent", "all_rounds_per_s", "all_share",
    "allocated_bytes", "answers_least", "asked", "asked_metric", "asked_per_s", "at_s", "attempt",
    "available_bytes", "b", "b_s", "backlog", "because", "beyond", "block", "blocks",
    "blocks_needed", "bootstrap_high", "bootstrap_low", "bound", "broken", "by_server",
    "bytes_per_s", "candidate", "cause", "chance_share", "change", "changed", "checkpoints_inside",
    "clock_moved_s", "clock_off_s", "clock_within_s", "commit_latency_s", "commits_per_s",
    "compared", "compression",
    "cost.per_million", "count_per_s", "covered_share", "cpu_share", "cpus", "cuts", "damaged",
    "detect_s", "device", "device_reads", "device_source", "difference", "difference_high",
    "difference_low", "difference_told", "differing", "done", "drawn", "drives", "duration_s",
    "end", "errors", "fate", "first", "flush_asked_s", "flush_lies", "flush_mean_s", "flush_p99_s",
    "flush_per_s", "from", "given_up", "headline_per_min", "headline_per_s", "heal_s", "high",
    "hit_share", "host", "idle_share", "interval", "iops", "iowait_share", "kept", "kept_after",
    "label", "lag_1", "late_s", "late_share", "latency_mean_s", "latency_p99_s",
    "lateness_mean_s", "lateness_p99_s", "letter", "level", "limit",
    "log_bytes", "longer", "longer_high", "longer_low", "longer_shown", "lost",
    "lost_work", "lost_work_high", "lost_work_low", "lost_work_shown", "low", "measured_s",
    "memory_limit_bytes", "metric", "middle", "missing", "missing_because", "note", "of",
    "one_rounds_per_s", "one_share", "operation", "order", "p50_ratio", "p50_ratio_high",
    "p50_ratio_low", "p50_s", "p95_ratio", "p95_ratio_high", "p95_ratio_low", "p95_s",
    "p99_after_s", "p99_before_s", "p99_fault_s", "p99_moving_s", "p99_ratio", "p99_ratio_high",
    "p99_ratio_low", "p99_s", "p99_shown", "pair", "pairs", "part", "pause_high", "pause_low",
    "pause_s", "pause_without_s", "per_s", "percentile", "phase", "phase_s", "plain_high",
    "plain_low", "point", "pool_wait_p99_s", "power.above_idle_w", "power.joules_per_order",
    "power.marginal_joules_per_order", "power.mean_w", "power.sampled_share", "primary", "promised",
    "queue_length", "range_share", "ratio", "read_asked_s", "read_latency_s", "read_mean_s",
    "read_p50_s", "read_p99_s", "read_per_s", "read_share", "reads_per_s", "rebuild_s",
    "received_bytes_per_s", "recovery_max_s", "recovery_p50_s", "recovery_per_s", "recovery_s",
    "response_p50_s", "response_p95_s", "response_p99_s", "restore_bytes_per_s", "restore_s",
    "retransmits_per_s", "retries", "said", "seconds", "sent_bytes_per_s", "server", "server_cpu_s",
    "server_cpus", "setting", "settings", "share", "sign_flip_share", "size_bytes", "slope_share",
    "start_late_s", "steady", "steady_unknown_because", "steal_share", "storage",
    "suppressed_arrivals", "switch_s", "tables", "tail_change", "tail_high", "tail_low",
    "throughput", "throughput_change", "throughput_high", "throughput_low", "throughput_ratio",
    "throughput_ratio_high", "throughput_ratio_low", "to", "tpm", "tpm_shown", "transaction",
    "transactions_lost", "unchecked", "unreadable", "user_pause_s", "utilisation_share", "valid",
    "value", "values", "verdict", "visible", "what", "widened", "window", "window_id", "windows",
    "within_at_least", "within_not_at", "within_shown", "within_users", "write_asked_s",
    "write_latency_s", "write_mean_s", "write_p99_s", "write_per_s", "writes_per_s", "x",
})  # fmt: skip
"""Columns of tables and figures of the report beside that of a factor, which has its name."""


@dataclass(frozen=True)
class Factor:
    """A factor by its name in studies, points and tables; `title` is what an axis of it is called.

    `unit`: one of what its values count, which are whole numbers and the levels of a study; empty
    for all other factors. `short`: its word in names of files, where that is not the last part of
    its name. `open_loop`: title and unit in an open loop, where they differ.
    """

    name: str
    title: str
    unit: str = ""
    short: str = ""
    open_loop: tuple[str, str] | None = None

    @property
    def counts(self) -> bool:
        """Whether its values are whole numbers of something."""
        return bool(self.unit)

    @property
    def plural(self) -> str:
        """What its values count; its name where they count nothing."""
        return f"{self.unit}s" if self.unit else self.name

    def driven(self, *, is_open: bool) -> "Factor":
        """The same as it is called where users are driven so."""
        title, unit = self.open_loop if is_open and self.open_loop else (self.title, self.unit)
        return replace(self, title=title, unit=unit)


def get_factor(name: str) -> Factor:
    """What is declared of a factor, or what holds for any other."""
    return map_factors().get(name) or Factor(name, title=name)


def get_users() -> DeclaredActivity:
    """Get the activity of users: what fills the table `load`."""
    for activity in plugins(DeclaredActivity).values():
        if any(table.name == "load" for table in activity.details):
            return activity
    raise LookupError("no activity fills the table load")


def get_level_factor() -> Factor:
    """The factor whose values are levels: that of the users."""
    return get_users().factors[0]


def count_users(load: Mapping[str, Any]) -> int:
    """Give the users of a window, by its row of the table `load`."""
    return int(load[get_level_factor().name])


def require_usable(names: Collection[str], scenario: str) -> None:
    """Refuse factors of a scenario whose column would hide another one. Raises UserError."""
    if taken := sorted(TAKEN.intersection(names)):
        raise UserError(
            f"a factor cannot be called `{taken[0]}`: tables have another column of this name",
            where=f"`factors` of the scenario {scenario}",
            remedy=f"give the factor another name, such as `{scenario}_{taken[0]}`",
        )


def map_factors() -> dict[str, Factor]:
    """All that activities declare, by name."""
    activities = plugins(DeclaredActivity).values()
    return {factor.name: factor for activity in activities for factor in activity.factors}
