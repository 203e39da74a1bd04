"""The target of block I/O is worked on in rounds until it is steady."""

from stithy.plan.steps import Step
from stithy.run.activities.fio.precondition import rounds
from stithy.run.context import Context

NAME = "precondition"
WHAT = BRIEF = "precondition until steady"
PHASE, PACED = "loading", True


def do(context: Context, step: Step) -> str:
    """Rounds, at most 25."""
    assert step.candidate is not None  # the plan gives every one its candidate
    return rounds(context, step.candidate)
