"""fio at work on a candidate's targets: files on its volumes, or its block devices."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from stithy.activities.hammer import by_agents
from stithy.activities.hammer.declared import AGENTS
from stithy.agents.orders import FioOrder
from stithy.collectors.collector import TimedSample
from stithy.errors import Interrupted
from stithy.fio.load import ROUNDS_MOST, Decision, FioLoad, decide, judge_steadiness, split_load
from stithy.fio.load import PreconditioningPlan as Preconditioning
from stithy.fio.measure import measure, prepare_fio
from stithy.fio.output import FioAnswer, merge_histograms
from stithy.fio.profile import Pattern
from stithy.fio.program import JOB, FioProgram, Worker, read_texts
from stithy.plan.steps import Step, WindowPlan, derive_seed
from stithy.results.layout import empty_folder
from stithy.results.tables import HISTOGRAMS, Row, Table
from stithy.run.activity import Activity, BasicActivity, StepKind, Subject, Times, WindowValue
from stithy.run.context import Context
from stithy.run.events import Note, StepProgress
from stithy.scenarios.block_io.declared import IO_SECONDS, IO_STREAMS, IO_VOLUMES, PRECONDITIONING
from stithy.scenarios.block_io.keys import BlockIoSpec
from stithy.scenarios.block_io.outcome import FioOutcome, find_rate, is_not_needed
from stithy.scenarios.block_io.plan import PROFILE, find_spec
from stithy.scenarios.block_io.targets import (
    FOLDER,
    find_preconditioning,
    keep_generations,
    lay_out,
    list_all_targets,
    list_targets,
    make_folder,
    read_back,
)
from stithy.scenarios.block_io.values import name_files
from stithy.units import format_duration, format_percent


class FioAgents:
    """The agents of a window as hosts of its fio; what became of each stays for its row."""

    def __init__(self, context: Context, window: WindowPlan) -> None:
        assert context.agents is not None  # as the caller knows
        self._agents, self._context, self._window = context.agents, context, window
        self.names = context.agents.names
        self._result = by_agents.expect(self.names)

    def run(
        self, found: FioProgram, workers: Sequence[Worker], duration_s: float, where: str,
        stop: threading.Event | None, patience_s: float,
    ) -> tuple[str, ...]:  # fmt: skip
        """Run all workers; what each said. Raises InfrastructureError where an agent is missing."""
        fence = by_agents.make_fence(self._context, self._window.id)
        watch = by_agents.make_watch(self._context, stop)
        order = FioOrder(self.names, fence, watch, found.version, workers, duration_s, patience_s,
                         where)  # fmt: skip
        self._result = self._agents.run_order(order)
        for worker in workers:  # as it is kept of fio here
            (worker.folder / JOB).write_text(worker.job)
        if stop is not None and stop.is_set():
            raise Interrupted("fio was stopped", where=where, remedy="start it again")
        by_agents.require_complete(self._result, self._window.id)
        return read_texts(workers)

    def make_rows(self, by_host: Sequence[Sequence[FioAnswer]]) -> list[Row]:
        """Make the rows of AGENTS; `by_host`: what each agent's fio answered, if they all did."""
        rows = by_agents.make_agent_rows(self._window.id, self._result)
        for row, answers in zip(rows, by_host, strict=False):
            latency = merge_histograms(answer.latency for answer in answers)
            row |= {
                "requests": latency.count,
                "latency_mean_s": latency.mean_s,
                "latency_p99_s": latency.find_quantile_s(0.99),
                "cpu_s": sum(answer.cpu_s for answer in answers),
            }
        return rows


class FioActivity(BasicActivity):
    """The I/O of a window."""

    who = "fio"

    def __init__(self, context: Context, window: WindowPlan) -> None:
        super().__init__(context, window)
        self._spec = find_spec(context.file.study.at(window.point))
        self._files = context.session.directory.window(window.id).root / FOLDER
        self._outcome: FioOutcome | None = None
        self._by_agents = FioAgents(context, window) if context.agents else None

    @contextmanager
    def ready(self) -> Iterator[Subject]:
        self._rate = find_rate(self.context, self.window)
        volumes, size = self._spec.volumes, self._spec.size_bytes
        self._targets = list_targets(self.context, self.window.candidate, volumes, size)
        files = empty_folder(self._files)
        self._profile = self._spec.profile_of(str(self.window.point.values[PROFILE]))
        patterns, runner = self._profile.patterns, self.context.host.runner
        machine = prepare_fio(runner, self._targets, files / "tried", patterns)
        self._machine = replace(machine, hosts=self._by_agents)
        yield Subject()

    def act(self) -> None:
        context, window, pattern = self.context, self.window, self._profile.patterns[0]
        workers = split_load(self._targets, self._load(), self._profile.workers)
        began_s = context.session.clock.now_s()
        with keep_generations(context, window.candidate, window.id, workers, self._files / "run"):
            found = measure(
                self._machine, pattern, workers, self._files / "run",
                context.session.stop.asked, targets=len(self._targets),
            )  # fmt: skip
        self._outcome = FioOutcome(
            found,
            pattern,
            len(workers),
            window.duration_s,
            self._rate,
            name_files(self._spec.volumes),
        )
        firsts = [rows[0].at_s - rows[0].second for rows in found.seconds.values() if rows]
        from_s = min(firsts, default=began_s + window.ramp_up_s)
        self.times = Times(began_s, from_s, from_s + window.duration_s, complete=True)

    def _load(self) -> FioLoad:
        window = self.window
        return FioLoad(
            duration_s=window.duration_s,
            ramp_s=window.ramp_up_s,
            rate_per_s=self._rate.asked_per_s if self._rate else None,
            verify=self._spec.verify,
            replay=self._spec.replay,
            seed=window.seed % 2**31,
            engine=self._machine.engine,
            data=self._spec.data_of(str(window.point.values[PROFILE])),
        )

    def aftermath(self) -> None:
        """What fio wrote about every request is not kept: the histograms hold it."""
        for path in self._files.glob("run/**/*.log"):
            path.unlink(missing_ok=True)

    def values(self) -> Iterator[WindowValue]:
        yield from self._outcome.values() if self._outcome else ()

    def tables(self, _: Sequence[TimedSample]) -> Iterator[tuple[Table, list[Row]]]:
        name, outcome = self.window.id, self._outcome
        yield HISTOGRAMS, list(outcome.buckets(name)) if outcome else []
        yield IO_SECONDS, list(outcome.seconds(name)) if outcome else []
        yield IO_STREAMS, list(outcome.streams(name)) if outcome else []
        if outcome and outcome.found.by_target:
            yield IO_VOLUMES, list(outcome.list_volume_rows(name))
        if self._by_agents:
            yield AGENTS, self._by_agents.make_rows(outcome.found.by_host if outcome else ())

    def said(self) -> str:
        return self._outcome.said() if self._outcome else "nothing"


Test = Callable[[Pattern, int], tuple[float, float | None]]
"""What a test of a round (from 1) gave: requests a second and their mean latency."""


def precondition_targets(context: Context, step: Step) -> str:
    """Rounds of tests until the tracked ones are steady; returns what came of it, in words.

    A candidate's storage is made anew when a run is resumed, so that all rounds are, too.
    """
    spec, candidate = find_spec(context.file.study), step.whose
    targets = list_all_targets(context, candidate)
    folder = f"rounds-{candidate}"
    machine = prepare_fio(context.host.runner, targets, make_folder(context, folder) / "tried")

    def test(pattern: Pattern, number: int) -> tuple[float, float | None]:
        seed = derive_seed(context.plan.seed, "precondition", pattern.name, number) % 2**31
        load = load_of(spec, seed, machine.engine)
        files = make_folder(context, folder) / "test"
        workers, stop = split_load(targets, load, 1), context.session.stop.asked
        name = f"round-{number}-{pattern.name}"
        with keep_generations(context, candidate, name, workers, files):
            found = measure(machine, pattern, workers, files, stop)
        return found.iops, found.answers[0].latency.mean_s

    return repeat_until_steady(context, candidate, find_preconditioning(context, candidate), test)


def load_of(spec: BlockIoSpec, seed: int, engine: str) -> FioLoad:
    """How a test is run: what it writes has checksums too, where all is read back at the end."""
    return FioLoad(spec.precondition_test_s, 0.0, seed, engine=engine, logs=False,
                data=spec.least_data, verify=spec.verify)  # fmt: skip


def repeat_until_steady(context: Context, candidate: str, plan: Preconditioning, test: Test) -> str:
    """The same for any test; each result is among those of the run at once."""
    tracked: dict[str, list[float]] = {name: [] for name in plan.tracked}
    decision = Decision(goes_on=True, rounds=0, steady_after=None)
    while decision.goes_on:
        number = decision.rounds + 1
        context.session.tell(StepProgress("rounds of preconditioning", number - 1, ROUNDS_MOST))
        for pattern in plan.patterns:
            _keep_round(context, candidate, pattern.name, number, tracked, test(pattern, number))
        decision = decide(tracked)
        context.session.tell(Note(_describe_round(context, candidate, plan, tracked, decision)))
    how = "not steady" if decision.steady_after is None else "steady"
    return f"{how} after {decision.rounds} rounds"


def _keep_round(
    context: Context,
    candidate: str,
    name: str,
    number: int,
    tracked: dict[str, list[float]],
    found: tuple[float, float | None],
) -> None:
    iops, mean_s = found
    if name in tracked:
        tracked[name].append(iops)
    steady = judge_steadiness(tracked.get(name, ()))
    row = {
        "candidate": candidate, "round": number, "test": name,
        "ended_at_s": context.session.clock.now_s(), "tracked": name in tracked, "iops": iops,
        "latency_mean_s": mean_s, "range_share": steady.range_share,
        "excursion_share": steady.excursion_share, "steady": steady.is_steady,
    }  # fmt: skip
    context.add_rows(PRECONDITIONING, [row])


def _describe_round(
    context: Context,
    candidate: str,
    plan: Preconditioning,
    tracked: dict[str, list[float]],
    decision: Decision,
) -> str:
    spreads = [judge_steadiness(each).range_share for each in tracked.values()]
    known = [each for each in spreads if each is not None]
    spread = f", range up to {format_percent(round(max(known), 3))}" if known else ""
    if not decision.goes_on:
        return f"{candidate}: round {decision.rounds}{spread}, the last one"
    test_s = find_spec(context.file.study).precondition_test_s
    left_s = (ROUNDS_MOST - decision.rounds) * len(plan.patterns) * test_s
    return (
        f"{candidate}: round {decision.rounds} of at most {ROUNDS_MOST}{spread}, at most "
        f"{format_duration(left_s)} left"
    )


PLUGINS = (
    Activity("fio", FioActivity, is_not_needed),
    StepKind("lay-out", lay_out, "loading", "write the target", "write the target"),
    StepKind("precondition", precondition_targets, "loading", "precondition until steady",
             "precondition until steady", is_paced=True),
    StepKind("read-back", read_back, "loading", "read back and compare", "read back and compare"),
)  # fmt: skip
