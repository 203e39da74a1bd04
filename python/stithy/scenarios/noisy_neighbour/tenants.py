"""What several hammers did together, as the tables of a single one have it.

Counts are added, distributions are merged as histograms, and of what is a bound the largest counts.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import Any

from stithy.activities.hammer.activity import HammerActivity
from stithy.activities.hammer.declared import LOAD
from stithy.activities.hammer.rows import make_tables as tables_of_one
from stithy.collectors.collector import TimedSample
from stithy.errors import Interrupted, StithyError, convert_machine_failures
from stithy.metrics import ALL, PERCENTILES, count_values_needed
from stithy.plan.steps import WindowPlan, name_instance
from stithy.results import tables
from stithy.results.convert import (
    Latencies,
    list_measured_intervals,
    make_bucket_rows,
    make_transaction_rows,
    merge_seconds,
)
from stithy.results.hlog import LoggedInterval, decode, merge
from stithy.results.tables import Row, Table
from stithy.run.activity import Span, Subject, Times, WindowValue
from stithy.run.context import Context
from stithy.run.volumes import number_instances
from stithy.scenarios.noisy_neighbour.declared import TENANT_SECONDS
from stithy.units import format_duration

LARGEST = frozenset(
    {"longest_response_s", "ledger_sync_max_s", "first_success_s", "memory_peak_bytes"}
)
SAME = frozenset(
    {
        "think_mean_s", "restore_s", "driver_nice", "driver_rate_per_s_max", "driver_users_max",
        "driver_others_share", "checkpoints_inside", "server_cpus", "memory_limit_bytes",
        "buffer_pool_bytes", "database_bytes", "units_touched", "units_total",
    }
)  # fmt: skip
"""What is everyone's, or is not known of all together: null where tenants differ in it."""


def _merge_column(name: str, kind: str, found: Sequence[Any]) -> Any:
    """A column of all tenants; what is missing of one is missing of all."""
    known = [each for each in found if each is not None]
    if kind == "truth":
        return all(known) if known else None
    if kind not in ("integer", "real") or name in SAME:
        return known[0] if known and (name not in SAME or len(set(known)) == 1) else None
    if len(known) < len(found):
        return None
    return max(known) if name in LARGEST else sum(known)


def _join_rows(table: Table, rows: Sequence[Row]) -> list[Row]:
    """A broken condition of one tenant is broken for all; counts of ledgers are added."""
    if table is tables.CONDITIONS:
        by_number: dict[int, Row] = {}
        for row in sorted(rows, key=lambda row: bool(row["holds"]), reverse=True):
            by_number[row["number"]] = row
        return [by_number[number] for number in sorted(by_number)]
    if table is tables.LEDGER:
        deals: dict[str, Row] = {}
        for row in rows:
            if had := deals.get(row["deal"]):
                sums = {key: had[key] + each for key, each in row.items() if isinstance(each, int)}
                row = had | sums
            deals[row["deal"]] = row
        return list(deals.values())
    return list(rows)


def _collect_latencies(kept: Sequence[HammerActivity]) -> Latencies:
    """The logs of all; a tenant's times are those of the first, so that seconds meet."""
    starts = [
        each.driven.seconds[0].at_s if each.driven and each.driven.seconds else 0.0 for each in kept
    ]
    return Latencies(response=tuple(
        replace(interval, started_at_s=interval.started_at_s - start + starts[0])
        for each, start in zip(kept, starts, strict=True) for interval in each.latencies.response
    ))  # fmt: skip


def _make_histogram_rows(window_id: str, kept: Iterable[HammerActivity]) -> Iterator[Row]:
    kinds: dict[str, list[LoggedInterval]] = {}
    for each in kept:
        assert each.driven is not None  # as the caller chose them
        logs = each.latencies
        for kind, intervals in (
            ("response", logs.response), ("service", logs.service), ("pool-wait", logs.pool_wait),
        ):  # fmt: skip
            kinds.setdefault(kind, []).extend(
                list_measured_intervals(intervals, each.driven.summary)
            )
    for kind, every in kinds.items():
        yield from make_bucket_rows(window_id, kind, every)


OF_EACH = ("p95", "p99")
NOTHING = "nothing was measured"
LEAD_S = 1.0
LEAD_S_PER_TENANT = 0.3
"""Own: how long hammers take to open their connections before all begin; on two CPUs one starts
after the other."""


class TenantsActivity:
    """One window of several tenants; `lost`: by number why one of them counts for nothing."""

    def __init__(self, context: Context, window: WindowPlan) -> None:
        self.context, self.window = context, window
        numbers = number_instances(window.instances)
        self.each = tuple(HammerActivity(context, window, number=number) for number in numbers)
        self.lost: dict[int, str] = {}

    @property
    def kept(self) -> tuple[HammerActivity, ...]:
        """Those of whom there are numbers."""
        return tuple(each for n, each in enumerate(self.each) if n not in self.lost and each.driven)

    @contextmanager
    def ready(self) -> Iterator[Subject]:
        """All servers run, their caches warm; at the end each is checked by itself."""
        stacks: list[ExitStack] = []
        found: list[Subject] = []
        try:
            for each in self.each:
                stacks.append(stack := ExitStack())
                found.append(stack.enter_context(each.ready()))
            yield Subject(
                tuple(one for each in found for one in each.instances),
                found[0].cpus,
                frozenset().union(*(each.pids for each in found)),
            )
        except BaseException:
            for stack in reversed(stacks):
                with suppress(StithyError):
                    stack.__exit__(*sys.exc_info())
            raise
        for number, stack in reversed(list(enumerate(stacks))):
            with self._isolate(number):
                stack.close()

    @contextmanager
    def _isolate(self, number: int) -> Iterator[None]:
        try:
            with convert_machine_failures(f"tenant {number + 1}"):
                yield
        except Interrupted:
            raise
        except StithyError as error:
            self.lost.setdefault(number, error.text)
        if because := self.each[number].ended_because:
            self.lost[number] = because

    def begin(self) -> None:
        """Read the counters of all servers."""
        for each in self.each:
            each.begin()

    def act(self) -> None:
        """All users work, from the same moment on."""
        start_at_s = self.context.session.clock.now_s() + compute_lead_s(len(self.each))

        def work(number: int) -> None:
            self.each[number].start_at_s = start_at_s
            with self._isolate(number):
                self.each[number].act()

        with ThreadPoolExecutor(len(self.each)) as pool:
            working = [pool.submit(work, number) for number in range(len(self.each))]
        for each in working:
            each.result()
        for number, hammer in enumerate(self.each):
            if hammer.driven is not None and not hammer.driven.summary.complete:
                self.lost.setdefault(number, hammer.cut_short())

    def end(self) -> None:
        """Read the counters again."""
        for number, each in enumerate(self.each):
            with self._isolate(number):
                each.end()

    def aftermath(self) -> None:
        """Compare the ledgers of those whose server ended."""
        for each in self.each:
            each.aftermath()

    @property
    def times(self) -> Times | None:
        """Those of the first tenant that was not lost: all began at once."""
        return self.kept[0].times if self.kept else None

    @property
    def ended_because(self) -> str | None:
        """Of all tenants; one that is lost alone is in the spans."""
        return next(iter(self.lost.values()), None) if len(self.lost) == len(self.each) else None

    @property
    def is_full(self) -> bool:
        """Whether any of them met a full file system."""
        return any(each.is_full for each in self.each)

    def cut_short(self) -> str:
        """Why none came to its end."""
        return next(iter(self.lost.values()), None) or self.each[0].cut_short()

    def values(self) -> Iterator[WindowValue]:
        """Of all together, and of each tenant."""
        known = [each.numbers for each in self.kept]
        lost = f"{len(self.lost)} of {len(self.each)} tenants were lost" if self.lost else None
        for quantity in self.context.workload.rates:
            rates = [row[quantity.known.column] for row in known]
            whole = None if lost or None in rates or not rates else sum(rates)
            because = lost or (None if rates else NOTHING)
            yield WindowValue(quantity.metric, whole, missing_because=because)
        for number, each in enumerate(self.each):
            yield from self._list_values(each, name_instance(number + 1), self.lost.get(number))

    def _list_values(
        self, tenant: HammerActivity, name: str, lost: str | None
    ) -> Iterator[WindowValue]:
        if because := lost or (None if tenant.driven else "its users never began"):
            for metric in ("tenant.tpm", *(f"tenant.{key}_s" for key in OF_EACH)):
                yield WindowValue(metric, None, name, missing_because=because)
            return
        rate = tenant.numbers["tpm"]
        yield WindowValue("tenant.tpm", rate, name, None, NOTHING if rate is None else None)
        whole = next(row for row in tenant.transactions if row["transaction"] == ALL)
        count = whole["committed"] + whole["rolled_back"]
        for key in OF_EACH:
            needed = count_values_needed(PERCENTILES[key][0])
            value = whole[f"response_{key}_s"]
            missing = None if value is not None else "no answer was measured"
            if count < needed:
                value, missing = None, f"it needs {needed:,} answers, and there were {count:,}"
            yield WindowValue(f"tenant.{key}_s", value, name, count, missing)

    def spans(self) -> Iterator[Span]:
        """One for each tenant that was lost, from its start on, which says why."""
        for number, because in sorted(self.lost.items()):
            if times := self.each[number].times or self.times:
                name = name_instance(number + 1)
                yield Span(name, times.started_at_s, times.measure_to_s, "lost", because)

    def tables(self, readings: Sequence[TimedSample]) -> Iterator[tuple[Table, list[Row]]]:
        """Those of a single hammer, of all together; and the seconds of each."""
        yield from self._merge_tables(readings)
        yield TENANT_SECONDS, [
            {
                "window_id": self.window.id, "tenant": name_instance(number + 1),
                "second": second.second, "at_s": second.at_s, "phase": str(second.phase),
                "completed": sum(t.committed + t.rolled_back for t in second.transactions),
            }
            for number, each in enumerate(self.each)
            if each.driven is not None and number not in self.lost
            for second in each.driven.seconds
        ]  # fmt: skip

    def _merge_tables(self, readings: Sequence[TimedSample]) -> Iterator[tuple[Table, list[Row]]]:
        kept = self.kept or self.each
        single = [
            {table.name: rows for table, rows in tables_of_one(each, readings)} for each in kept
        ]
        loads = [each["load"][0] for each in single]
        kinds = {column.name: column.kind for column in LOAD.columns}
        load = {
            name: _merge_column(name, kinds[name], [row[name] for row in loads])
            for name in loads[0]
        }
        yield LOAD, [load | self._read_distributions()]
        for table in (tables.CONDITIONS, tables.LEDGER, tables.LEDGER_FINDINGS):
            rows = [row for each in single for row in each.get(table.name, [])]
            yield table, _join_rows(table, rows)
        if not self.kept:
            yield tables.HISTOGRAMS, []
            return
        window_id, driven = self.window.id, [each.driven for each in kept if each.driven]
        summaries, seconds = [of.summary for of in driven], [of.seconds for of in driven]
        yield tables.TRANSACTIONS, make_transaction_rows(window_id, *summaries)
        yield tables.SECONDS, merge_seconds(window_id, seconds, _collect_latencies(kept))
        yield tables.HISTOGRAMS, list(_make_histogram_rows(window_id, kept))

    def _read_distributions(self) -> Row:
        summaries = [each.driven.summary for each in self.kept if each.driven]
        if not summaries:
            return {}
        lateness = merge(decode(summary.lateness) for summary in summaries)
        whole = make_transaction_rows(self.window.id, *summaries)[-1]
        return {
            "lateness_mean_s": lateness.mean_s if lateness else None,
            "lateness_p99_s": lateness.percentile_s(99) if lateness else None,
            "service_p50_s": whole["service_p50_s"],
        }

    def surroundings(self) -> Row:
        """What their servers did by themselves, in all."""
        rows = [each.surroundings() for each in self.each]
        logs = [row["log_bytes"] for row in rows]
        lost = (row["memory_limit_lost"] for row in rows)
        return rows[0] | {
            "log_bytes": None if None in logs else sum(logs),
            "memory_limit_lost": next(filter(None, lost), None),
        }

    def said(self) -> str:
        """What all did together, and who was lost."""
        rates = [each.numbers["tpm"] or 0.0 for each in self.kept]
        summaries = (each.driven.summary for each in self.kept if each.driven)
        whole = make_transaction_rows(self.window.id, *summaries)
        p95_s = next((row["response_p95_s"] for row in whole if row["transaction"] == ALL), None)
        shown = f"{len(self.each)} tenants, {sum(rates):,.0f} TPM in all"
        shown += "" if p95_s is None else f", p95 {format_duration(p95_s)}"
        names = ", ".join(name_instance(number + 1) for number in sorted(self.lost))
        return f"{shown}; LOST: {names}" if names else shown


def compute_lead_s(tenants: int) -> float:
    """How long before the users' start their hammers begin."""
    return LEAD_S + LEAD_S_PER_TENANT * tenants
