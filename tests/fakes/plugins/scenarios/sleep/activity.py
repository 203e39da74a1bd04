"""A second kind of step: it does nothing for a while."""

from stithy.plan.steps import Step
from stithy.run.activity import StepKind
from stithy.run.context import Context


def nap(context: Context, step: Step) -> str:
    """Sleep as long as the study says, by the run's clock."""
    context.session.clock.sleep_s(step.cost.time_s)
    return f"slept {step.cost.time_s:g} s"


PLUGINS = (StepKind("nap", nap, "around", "sleep", "sleep", is_paced=True),)
