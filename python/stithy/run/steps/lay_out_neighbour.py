"""What the neighbour needs is made once, before anything is measured beside it."""

from stithy.plan.steps import Step
from stithy.registry import plugins
from stithy.run.context import Context
from stithy.scenarios.noisy_neighbour.plan import activity_of, spec_of

NAME = "lay-out-neighbour"
WHAT = BRIEF = "write the neighbour's files"
PHASE, PACED = "copying", False


def do(context: Context, step: Step) -> str:
    """Write them, and make them durable."""
    acting = plugins("acting")[activity_of(spec_of(context.file.study))]
    return str(acting.lay_out(context, step.whose))
