"""A second kind of step: it does nothing for a while."""

from stithy.plan.steps import Step
from stithy.run.context import Context

NAME = "nap"
WHAT = BRIEF = "sleep"
PHASE, PACED = "around", True


def do(context: Context, step: Step) -> str:
    """Sleep as long as the study says, by the run's clock."""
    context.session.clock.sleep_s(step.cost.time_s)
    return f"slept {step.cost.time_s:g} s"
