"""What the driver does once before the first window: find its own headroom, work on the database.

Each window is compared with what the driver can do on this host, found with a null transaction: one
that is asked for much of that measures itself. Users precondition a loaded database, because one
that was just loaded is denser, and its log emptier, than one that was worked on.
"""

import os

from stithy.errors import InfrastructureError, Interrupted, InvalidMeasurement, StithyError
from stithy.hosts.activity import MachineActivity, compare_counters
from stithy.plan.steps import Step, derive_seed
from stithy.results.files import write_json
from stithy.results.manifest import CalibrationFacts
from stithy.run.context import Context, find_pause_s, make_choice, make_pace
from stithy.run.datasets import get_dataset, need_database
from stithy.run.events import Note, StepProgress
from stithy.units import format_measured_duration
from stithy.wire.hammer import ProgressWatch
from stithy.wire.jobs import RunRequest
from stithy.wire.messages import AnyMessage, CalibrateSummary, SecondMessage
from stithy.wire.messages import ProgressMessage as HammerProgress
from stithy.workloads import words

TRIAL_S = 0.75
"""Own: some twenty trials take 20 s, and a stumble of 5 ms is no hundredth of the least rate's."""

OTHERS_CPU_SHARE = 0.05
"""Own: as of windows, see `analysis.surroundings`."""


def calibrate(context: Context, step: Step) -> str:
    """Find what the driver keeps up with and keep it; that it could not be found ends no run.

    Raises Interrupted.
    """
    engine = context.study_of(get_dataset(context, step).name).database.engine
    known = context.state.known.calibrations
    try:
        summary, others = _make_facts(context, step)
    except Interrupted:
        raise
    except StithyError as error:
        because = error.text
        context.session.tell(Note(f"the driver could not be calibrated: {because}"))
        known[engine] = CalibrationFacts(missing_because=because)
        return f"not done: {because}"
    directory = context.session.directory
    write_json(
        directory.calibration.with_stem(step.id.replace("calibrate", "calibration")), summary
    )
    spent_s = others.span_s * len(context.host.cpus)
    share = min(1.0, others.cpu_s / spent_s) if spent_s else None
    over = words.describe_pool(summary.connections)
    late = f"the driver was late at every rate that was tried {over}"
    known[engine] = CalibrationFacts(
        connections=summary.connections,
        rate_per_s_max=summary.rate_per_s_max,
        think_s=summary.think_s,
        users_max=summary.users_max,
        users_limit_reached=summary.users_limit_reached,
        missing_because=None if summary.rate_per_s_max else late,
        others_share=share,
    )
    if share is not None and share > OTHERS_CPU_SHARE:
        who = f" ({', '.join(others.names)})" if others.names else ""
        used = f"other programs used {100 * share:.0f} % of the CPUs"
        found = "the result is a lower bound"
        context.session.tell(Note(f"{used} during the calibration of the driver{who}: {found}"))
    return words.describe_headroom(summary.connections, summary.rate_per_s_max)


def _make_facts(context: Context, step: Step) -> tuple[CalibrateSummary, MachineActivity]:
    session, of = context.session, step.id.removeprefix("calibrate")  # each engine is calibrated
    output = session.directory.calibrate_output.with_name(f"hammer{of}.jsonl")
    candidate = step.candidate or context.master_candidate
    need_database(context, candidate, step)

    def on_message(message: AnyMessage) -> None:
        if isinstance(message, HammerProgress):
            session.tell(StepProgress(message.stage, message.done, message.total))

    with context.servers.running(candidate, output.with_name("server.log")) as instance:
        own = {os.getpid()}
        if instance.pid is not None and not context.file.study.by_url:
            own.add(instance.pid)
        before = context.host.read_counters(session.clock, own)
        # Who keeps up with the users that act most often keeps up with all.
        pauses = map(find_pause_s, context.file.study.variants)
        summary = context.hammer(instance.url).calibrate(
            connections=context.file.study.connections_max,
            trial_s=TRIAL_S,
            think_s=min((pause for pause in pauses if pause is not None), default=None),
            watch=ProgressWatch(output, on_message, session.stop.asked),
        )
        return summary, compare_counters(before, context.host.read_counters(session.clock, own))


def run_preconditioning(context: Context, step: Step) -> str:
    """Let users work as the study says, and verify the quick conditions.

    Raises Interrupted, InfrastructureError if they did not work to the end, InvalidMeasurement
    where conditions do not hold.
    """
    dataset, candidate = get_dataset(context, step), step.whose
    need_database(context, candidate, step)
    study = context.study_of(dataset.name)
    load, asked = study.load, study.load.precondition
    assert asked is not None  # the plan has this step because of it
    output = context.session.directory.get_precondition_output(dataset.name)
    output.parent.mkdir(parents=True, exist_ok=True)
    request = RunRequest(
        seed=derive_seed(context.plan.seed, "precondition"), users=asked.users,
        connections=load.connections, pace=make_pace(load), ramp_up_s=0.0,
        duration_s=asked.for_s, isolation=load.isolation, error_limit=load.error_limit,
    )  # fmt: skip

    def on_message(message: AnyMessage) -> None:
        if isinstance(message, SecondMessage):
            told = StepProgress("pre-condition", message.second, round(asked.for_s))
            context.session.tell(told)

    stop = context.session.stop.asked
    log = output.with_name(f"{dataset.name}.server.log")
    with context.servers.running(candidate, log) as instance:
        hammer, choice = context.hammer(instance.url), make_choice(study)
        watch = ProgressWatch(output, on_message, stop)
        summary = hammer.run(choice, request, watch=watch).summary
        if stop.is_set():
            remedy = "`stithy resume`"
            raise Interrupted("stopped by a person", where="pre-conditioning", remedy=remedy)
        if not summary.complete:
            raise InfrastructureError(
                "the users who precondition the database did not work to the end",
                where=f"candidate {candidate}",
                remedy=f"read {output} and {log}",
            )
        checked = context.verify_conditions(hammer, choice, output.with_suffix(".check"))
        instance.checkpoint()
    if checked and checked.broken:
        raise InvalidMeasurement(
            f"conditions {', '.join(map(str, checked.broken))} do not hold after pre-conditioning",
            where=f"candidate {candidate}",
            remedy=f"read {output}; the device under it is at fault, or the server",
        )
    done = sum(each.committed for each in summary.transactions)
    return f"{done:,} transactions in {format_measured_duration(asked.for_s)}"
