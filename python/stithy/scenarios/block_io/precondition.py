"""Rounds of tests on targets that were purged and written, until they are steady.

The rule is that of `fio.steady`; its windows are five rounds, of which there are at most 25.
"""

from collections.abc import Callable

from stithy.fio.load import Load, for_workers
from stithy.fio.measure import measure, ready
from stithy.fio.precondition import ROUNDS_MOST, Decision, decide, steadiness
from stithy.fio.precondition import Plan as Preconditioning
from stithy.fio.profile import Pattern
from stithy.plan.steps import Step, derive_seed
from stithy.run.context import Context
from stithy.run.events import Note, Progress
from stithy.scenarios.block_io.declared import PRECONDITIONING
from stithy.scenarios.block_io.keys import Spec
from stithy.scenarios.block_io.plan import spec_of
from stithy.scenarios.block_io.targets import (
    all_targets,
    kept_generations,
    new_folder,
    preconditioning_of,
)
from stithy.units import format_duration, format_percent

Test = Callable[[Pattern, int], tuple[float, float | None]]
"""What a test of a round (from 1) gave: requests a second and their mean latency."""


def precondition(context: Context, step: Step) -> str:
    """Rounds of tests until the tracked ones are steady; returns what came of it, in words.

    A candidate's storage is made anew when a run is resumed, so that all rounds are, too.
    """
    spec, candidate = spec_of(context.file.study), step.whose
    targets = all_targets(context, candidate)
    folder = f"rounds-{candidate}"
    machine = ready(context.host.runner, targets, new_folder(context, folder) / "tried")

    def test(pattern: Pattern, number: int) -> tuple[float, float | None]:
        seed = derive_seed(context.plan.seed, "precondition", pattern.name, number) % 2**31
        load = load_of(spec, seed, machine.engine)
        files = new_folder(context, folder) / "test"
        workers, stop = for_workers(targets, load, 1), context.session.stop.asked
        name = f"round-{number}-{pattern.name}"
        with kept_generations(context, candidate, name, workers, files):
            found = measure(machine, pattern, workers, files, stop)
        return found.iops, found.answers[0].latency.mean_s

    return until_steady(context, candidate, preconditioning_of(context, candidate), test)


def load_of(spec: Spec, seed: int, engine: str) -> Load:
    """How a test is run: what it writes has checksums too, where all is read back at the end."""
    return Load(spec.precondition_test_s, 0.0, seed, engine=engine, logs=False,
                data=spec.least_data, verify=spec.verify)  # fmt: skip


def until_steady(context: Context, candidate: str, plan: Preconditioning, test: Test) -> str:
    """The same for any test; each result is among those of the run at once."""
    tracked: dict[str, list[float]] = {name: [] for name in plan.tracked}
    decision = Decision(goes_on=True, rounds=0, steady_after=None)
    while decision.goes_on:
        number = decision.rounds + 1
        context.session.tell(Progress("rounds of preconditioning", number - 1, ROUNDS_MOST))
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
    steady = steadiness(tracked.get(name, ()))
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
    spreads = [steadiness(each).range_share for each in tracked.values()]
    known = [each for each in spreads if each is not None]
    spread = f", range up to {format_percent(round(max(known), 3))}" if known else ""
    if not decision.goes_on:
        return f"{candidate}: round {decision.rounds}{spread}, the last one"
    test_s = spec_of(context.file.study).precondition_test_s
    left_s = (ROUNDS_MOST - decision.rounds) * len(plan.patterns) * test_s
    return (
        f"{candidate}: round {decision.rounds} of at most {ROUNDS_MOST}{spread}, at most "
        f"{format_duration(left_s)} left"
    )
