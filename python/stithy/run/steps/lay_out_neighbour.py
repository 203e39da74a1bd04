"""The neighbour's file is written once, before anything is measured beside it."""

from stithy.plan.steps import Step
from stithy.run.activities.neighbour_block_io import lay_out
from stithy.run.context import Context

NAME = "lay-out-neighbour"
WHAT = BRIEF = "write the neighbour's file"
PHASE, PACED = "copying", False


def do(context: Context, step: Step) -> str:
    """Write it, and make it durable."""
    assert step.candidate is not None  # the plan gives every one its candidate
    return lay_out(context, step.candidate)
