"""Virtual users at work on the candidate's database, by the hammer.

The server is started within its memory and warmed up before; afterwards its consistency is checked,
and where the study keeps a commit rows, that with the database.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from stithy.activities.hammer import by_agents, rows
from stithy.activities.hammer.preparation import calibrate, run_preconditioning
from stithy.activity import collect_expected_errors
from stithy.agents.window import AgentsDriven
from stithy.collectors.collector import TimedSample
from stithy.engines.engine import declaration
from stithy.engines.instance import (
    CheckpointRule,
    CommitCounters,
    Instance,
    MaintenanceCounters,
    NotStarted,
)
from stithy.engines.served import ServerProcess
from stithy.errors import InfrastructureError, InvalidMeasurement
from stithy.hosts.host import NamespaceHost
from stithy.hosts.links import DriverLink
from stithy.hosts.resources import MemoryGroup
from stithy.metrics import ALL, count_values_needed
from stithy.plan.steps import WindowPlan, derive_seed, name_instance
from stithy.point import Point
from stithy.results.convert import (
    Latencies,
    find_longest_response_s,
    make_transaction_rows,
    make_window_numbers,
    read_latencies,
)
from stithy.results.layout import WindowDirectory
from stithy.results.tables import Row, Table
from stithy.run.activity import Activity, Span, StepKind, Subject, Times, WindowValue
from stithy.run.context import Context, make_pace, read_value
from stithy.run.events import Note, SecondPassed
from stithy.run.volumes import get_parts
from stithy.study.model import Study
from stithy.wire.hammer import Checked, Driven, Hammer, LedgerVerified, ProgressWatch
from stithy.wire.jobs import Pace, RunRequest, WireRate, WorkloadChoice
from stithy.wire.messages import AnyMessage, SecondMessage, Warning

WARM_UP_MAX = 20_000
ERRORS_UNLIMITED = 2**53


@dataclass
class HammerActivity:
    """One window of the users; what it did not come to is None or empty.

    `number`: the one of several instances whose users they are. `start_at_s`: when they begin
    together with those of others, Unix time. `link`: the way of users who are elsewhere.
    """

    context: Context
    window: WindowPlan
    number: int | None = None
    start_at_s: float | None = None
    limit_bytes: int | None = None
    limit_note: str | None = None
    limit_lost: str | None = None
    peak_bytes: int | None = None
    warm_up_s: float | None = None
    round_trip_s: float | None = None
    link: DriverLink | None = None
    link_round_trip_s: float | None = None
    asked: Pace | None = None
    driven: Driven | None = None
    by_agents: AgentsDriven | None = None
    commits: list[CommitCounters | None] = field(default_factory=list)
    maintenance: list[MaintenanceCounters] = field(default_factory=list)
    checkpoint_rule: CheckpointRule | None = None
    checked: Checked | None = None
    ledger: LedgerVerified | None = None
    ledger_unverified_because: str | None = None
    ended_because: str | None = None
    _instance: Instance | None = None
    _first_pid: int | None = None

    @contextmanager
    def ready(self) -> Iterator[Subject]:
        """The server runs, its caches warm."""
        context, window = self.context, self.window
        log = self.directory.server_log
        with (
            context.servers.limited(window.candidate, self.point) as limit,
            context.servers.link_driver(window.candidate, self.point) as self.link,
        ):
            self.limit_bytes = limit.group.limit_bytes if limit.group else None
            self.limit_note = limit.note
            limits, candidate = context.state.known.limits, window.candidate
            before, now = limits.get(candidate), (limit.group is not None, limit.note)
            limits[candidate] = now
            if limit.note and before != now:
                context.session.tell(Note(f"{candidate}: {limit.note}"))
            group = limit.group
            with context.servers.running(
                window.candidate, log, point=self.point,
                memory_cgroup=group.path if group else None, number=self.number, link=self.link,
            ) as instance:  # fmt: skip
                try:
                    yield from self._use_server(instance, group)
                finally:
                    self.ended_because = _explain_end(instance, self._find_group(group))
                if self.driven is not None and not self.driven.summary.complete:
                    # Whatever held the transactions back would hold back the ordinary end, too.
                    instance.stop(at_once=True)

    def _find_group(self, group: MemoryGroup | None) -> MemoryGroup | None:
        """Find the group that the server has now: another one may have taken its place."""
        servers, volume = self.context.servers, self.context.volumes.of(self.window.candidate)
        path = servers.groups.get(get_parts(volume, self.number).data)
        return replace(group, path=path) if group and path else group

    def _use_server(self, instance: Instance, group: MemoryGroup | None) -> Iterator[Subject]:
        hammer = self.context.hammer(instance.url)
        self._instance = instance
        self._keep_facts(instance)
        self._warm_up(hammer)
        if isinstance(instance, NotStarted):
            self.round_trip_s = instance.round_trip_s()
        if self.link is not None:
            self.link_round_trip_s = self.link.measure_round_trip_s()
        try:
            path = group.path if group else None
            yield self.context.servers.watched(self.window, instance, path, self.number)
        finally:
            if now := self._find_group(group):  # lifted, as checks read what users never would
                if instance.pid is not None:
                    self.limit_lost = now.explain_lost(instance.pid)
                self.peak_bytes = now.read_peak_bytes()
                now.lift()
            rows.verify(self, hammer, instance)
        # An interrupted window is verified too: what it did must be right all the same.
        output = self.directory.check_output
        self.checked = self.context.verify_conditions(hammer, self.choice, output)

    def begin(self) -> None:
        """Read the server's counters, after a checkpoint where the study wants one."""
        if self.window.checkpoint:
            self._server.checkpoint()
        self._read()
        self._first_pid = self._get_pid()
        self.checkpoint_rule = self._server.checkpoint_rule()

    def act(self) -> None:
        """The users work."""
        context, directory = self.context, self.directory
        self.asked = choose_pace(context, self.window)
        request = make_request(
            context.file.study, self.window, directory, self.asked, self.start_at_s
        )

        session, drivers = context.session, context.drivers

        def on_message(message: AnyMessage) -> None:
            # Nobody watches one of several instances as if it were all of them.
            if isinstance(message, SecondMessage) and self.number is None:
                session.start.give(min(message.at_s - message.second, session.clock.now_s()))
                session.tell(self._second(message))
            elif isinstance(message, Warning) and drivers is not None:
                session.tell(Note(message.text))

        watch = ProgressWatch(directory.hammer_output, on_message, session.stop.asked)
        try:
            if drivers is None:
                self.driven = self._find_driver().run(self.choice, request, watch=watch)
            else:
                self.by_agents = by_agents.expect(drivers.names)
                self.by_agents = by_agents.drive(self, drivers, self._server.url, request, watch)
                by_agents.require_complete(self.by_agents, self.window.id)
                self.driven = self.by_agents.driven
        finally:
            # Whoever still waits for users who never began must not wait for ever.
            session.start.give(session.clock.now_s())

    def _find_driver(self) -> Hammer:
        """Give the load driver where its users are, by the way that they have to the server."""
        if self.link is None:
            return self.context.hammer(self._server.url)
        assert isinstance(self._server, ServerProcess)  # nobody else listens at a link
        driver = self.context.hammer(self._server.far_url)
        driver.start_by(NamespaceHost(self.link.namespace, self.context.host.runner).runner)
        return driver

    def end(self) -> None:
        """Read the counters again, but of another process, which has counted from another begin.

        Raises InfrastructureError for a server that was started anew.
        """
        if ended := self._server.ended_by():
            raise InfrastructureError(
                f"the server {ended} while users worked",
                where=f"candidate {self.window.candidate}",
                remedy="read its log, and measure the window again",
            )
        if self._get_pid() == self._first_pid:
            self._read()

    def _get_pid(self) -> int | None:
        """Get the server's process; None of one that Stithy did not start."""
        return None if isinstance(self._server, NotStarted) else self._server.pid

    def aftermath(self) -> None:
        """Where the server ended under the users: compare the ledger all the same."""
        rows.verify_after_end(self)

    @cached_property
    def directory(self) -> WindowDirectory:
        """Where its files are."""
        whole = self.context.session.directory.window(self.window.id)
        return whole if self.number is None else whole.of_instance(name_instance(self.number))

    @cached_property
    def point(self) -> Point:
        """The window's point, with what differs between tenants."""
        return self.context.file.study.derive_point(self.window.point, self.number)

    @property
    def choice(self) -> WorkloadChoice:
        """What the hammer is asked to do."""
        return self.context.choice_at(self.point)

    @property
    def _server(self) -> Instance:
        assert self._instance is not None  # it is ready before anything is asked of it
        return self._instance

    def _read(self) -> None:
        self.maintenance.append(self._server.maintenance())
        self.commits.append(self._server.commits(self.context.session.clock))

    def _keep_facts(self, instance: Instance) -> None:
        engine = self.context.file.study.at(self.point).database.engine
        known = self.context.state.known.server_facts.setdefault(engine, {})
        candidate = self.window.candidate
        before = known.get(candidate)
        if before is None:
            known[candidate] = instance.facts()
        elif self.point.others:
            now = instance.facts().settings
            same = {
                name: value for name, value in before.settings.items() if now.get(name) == value
            }
            known[candidate] = replace(before, settings=same)

    def _warm_up(self, hammer: Hammer) -> None:
        """The same fixed pass for every candidate, so that all start with the same caches."""
        context = self.context
        study = context.file.study.at(self.point)
        touched = study.driving.touched(study.workload.units)
        summary = hammer.run_warm_up(
            self.choice,
            seed=derive_seed(context.plan.seed, "warm-up"),
            transactions=min(WARM_UP_MAX, round(context.workload.warm_up_per_unit * touched)),
            watch=ProgressWatch(
                raw_output=self.directory.warm_up_output, stop=context.session.stop.asked
            ),
        )
        self.warm_up_s = summary.duration_s

    def _second(self, message: SecondMessage) -> SecondPassed:
        done = sum(
            transaction.committed + transaction.rolled_back for transaction in message.transactions
        )
        workload = self.context.workload
        live: dict[int, float | None] = {}
        for kind in message.transactions:
            if kind.name == workload.headline:
                values = kind.committed + kind.rolled_back
                times_s = {50: kind.live_p50_s, 95: kind.live_p95_s, 99: kind.live_p99_s}
                live = {of: times_s[of] for of in times_s if values >= count_values_needed(of)}
        rate, label = (done, "TPS") if workload.is_per_second else (done * 60.0, "TPM")
        return SecondPassed(
            self.window, message.second, message.phase, rate, live.get(95), label,
            p50_s=live.get(50), p99_s=live.get(99),
        )  # fmt: skip

    @cached_property
    def transactions(self) -> list[Row]:
        """The rows of TRANSACTIONS; asked once the users are done."""
        assert self.driven is not None  # asked by the callers
        return make_transaction_rows(self.window.id, self.driven.summary)

    @cached_property
    def latencies(self) -> Latencies:
        """The logs of the window, which are complete when its tables are written: read once."""
        return read_latencies(self.directory.hlog_stem)

    @cached_property
    def numbers(self) -> Row:
        """What the hammer itself says of the window."""
        assert self.driven is not None  # asked by the callers
        merged = next((row for row in self.transactions if row["transaction"] == ALL), {})
        headline = self.context.workload.headline
        row = make_window_numbers(
            self.driven.summary, headline, merged.get("service_p50_s"),
            collect_expected_errors(self.window.activities),
        )  # fmt: skip
        row["longest_response_s"] = find_longest_response_s(self.latencies)
        if self.by_agents is not None:
            row |= by_agents.summarize(self.by_agents, self.agent_rows)
        return row

    @cached_property
    def agent_rows(self) -> list[Row]:
        """The rows of AGENTS; none where this host drove the users."""
        return by_agents.make_agent_rows(self.window.id, self.by_agents) if self.by_agents else []

    @property
    def times(self) -> Times | None:
        """As the hammer reports them."""
        if self.driven is None:
            return None
        found = self.driven.summary
        return Times(
            found.started_at_s, found.measure_from_s, found.measure_to_s, complete=found.complete
        )

    @property
    def is_full(self) -> bool:
        """By the server's log, or by the hammer's errors."""
        errors = self.driven.summary.errors if self.driven else ()
        study = self.context.file.study.at(self.point)
        error_class = declaration(study.database.engine).error_class
        classes = [error_class(error.code, error.text) for error in errors if error.code]
        with suppress(OSError):
            lines = self.directory.server_log.read_text(errors="replace").splitlines()
            classes += [error_class(None, line) for line in lines]
        return "full" in classes

    def cut_short(self) -> str:
        """What the hammer said last."""
        if self.driven is None:
            return "the hammer did not begin"
        if errors := self.driven.summary.errors:
            worst = max(errors, key=lambda error: error.count)
            return f"the hammer gave up: {_make_plain(worst.text)} ({worst.count} times)"
        shown = [warning.text for warning in self.driven.warnings]
        return _make_plain(shown[-1]) if shown else "the hammer ended before its time"

    def values(self) -> Iterator[WindowValue]:
        """Rates and percentiles, by transaction type."""
        return rows.make_values(self)

    def spans(self) -> tuple[Span, ...]:
        """None: the users work all the time."""
        return ()

    def tables(self, readings: Sequence[TimedSample]) -> Iterator[tuple[Table, list[Row]]]:
        """What the hammer, the server and the checks say."""
        return rows.make_tables(self, readings)

    def surroundings(self) -> Row:
        """What its server does by itself."""
        rule = self.checkpoint_rule
        return {
            "log_bytes": _find_growth(of.log_position_bytes for of in self.maintenance),
            "pages_written": _find_growth(of.pages_written for of in self.maintenance),
            "checkpoint_after_s": rule.after_s if rule else None,
            "checkpoint_after_bytes": rule.after_bytes if rule else None,
            "memory_limit_lost": self.limit_lost,
        }

    def said(self) -> str:
        """Throughput, response time, and what the ledger shows."""
        return rows.describe_rates(self) + rows.describe_ledger(self)


def _find_growth(counts: Iterable[int | None]) -> int | None:
    """By how much a counter grew from before the users until after them."""
    known = [count for count in counts if count is not None]
    return known[1] - known[0] if len(known) > 1 else None


def _explain_end(instance: Instance, group: MemoryGroup | None) -> str | None:
    if group and group.count_killed():
        return "the server reached its memory limit, which killed it (raise `database.memory`)"
    ended = instance.ended_by()
    return None if ended is None else f"the server {ended}: {instance.last_words()}"


def _make_plain(text: str) -> str:
    return " ".join(text.split())


PLUGINS = (
    Activity("hammer", HammerActivity),
    StepKind("calibrate", calibrate, "calibration", "calibrate the driver", "calibrate the driver",
             is_paced=True),
    StepKind("precondition-database", run_preconditioning, "loading",
             "let users work before it is kept", "pre-condition"),
)  # fmt: skip


def choose_pace(context: Context, window: WindowPlan) -> Pace:
    """When users act in a window: at a share of a measured maximum, or as the load says.

    Raises InvalidMeasurement for a share of a maximum that was not measured.
    """
    load = context.file.study.at(window.point).load
    if window.rate_share is None:
        return make_pace(load)
    assert window.maximum_at is not None  # the plan says both
    at = Point.parse(window.maximum_at)
    per_minute = [read_value(context, name, at, "tpm") for name in window.maximum_of]
    known = [rate for rate in per_minute if rate]
    if len(known) < len(per_minute):
        raise InvalidMeasurement(
            f"{window.rate_share:.0%} of the maximum cannot be asked: a window that measures it "
            "gave none",
            where=f"window {window.id}",
            remedy=f"see why a window at {at} has no numbers, then run again",
        )
    per_s = window.rate_share * min(known) / 60
    return WireRate(per_s=per_s, arrivals=load.arrivals)


def make_request(
    study: Study,
    window: WindowPlan,
    directory: WindowDirectory,
    pace: Pace | None = None,
    start_at_s: float | None = None,
) -> RunRequest:
    """What the hammer is asked in a window, at the pace of the load if at no other."""
    load, expected = study.at(window.point).load, collect_expected_errors(window.activities)
    outlast: dict[str, Any] = {}
    if "lost" in expected:
        # What takes connections away says itself how long: users wait for it as long as they work.
        outlast = {"reconnect_limit_s": window.ramp_up_s + window.duration_s}
    return RunRequest(
        seed=window.seed,
        users=window.point.level,
        ramp_up_s=window.ramp_up_s,
        duration_s=window.duration_s,
        connections=load.connections,
        pace=pace or make_pace(load),
        start_at_s=start_at_s,
        isolation=load.isolation,
        # What is caused on purpose ends nothing: users try again until the window's end.
        error_limit=load.error_limit if expected <= {"lost"} else ERRORS_UNLIMITED,
        hlog_stem=directory.hlog_stem,
        ledger=directory.ledger if load.ledger else None,
        **outlast,
    )
