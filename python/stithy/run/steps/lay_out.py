"""The target of block I/O is written once, so that nothing is read that was never written."""

from stithy.plan.steps import Step
from stithy.run.activities.fio.targets import lay_out as _lay_out
from stithy.run.context import Context

NAME = "lay-out"
WHAT = BRIEF = "write the target"
PHASE, PACED = "loading", False


def do(context: Context, step: Step) -> str:
    """Write it, and make it durable."""
    assert step.candidate is not None  # the plan gives every one its candidate
    return _lay_out(context, step.candidate)
