"""Users who work on a loaded database before what windows start from is kept: nothing is measured.

A database that was just loaded is denser, and its log emptier, than one that was worked on.
"""

from stithy.errors import InfrastructureError, Interrupted, InvalidMeasurement
from stithy.plan.steps import Step, derive_seed
from stithy.run.context import Context, make_choice, make_pace
from stithy.run.datasets import get_dataset, need_database
from stithy.run.events import StepProgress
from stithy.units import format_measured_duration
from stithy.wire.hammer import ProgressWatch
from stithy.wire.jobs import RunRequest
from stithy.wire.messages import AnyMessage, SecondMessage


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
