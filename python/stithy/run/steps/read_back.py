"""All of a target of block I/O is read back and compared with its checksums."""

from stithy.plan.steps import Step
from stithy.run.activities.fio.targets import read_back
from stithy.run.context import Context

NAME = "read-back"
WHAT = BRIEF = "read back and compare"
PHASE, PACED = "loading", False


def do(context: Context, step: Step) -> str:
    """A block that is not what was written fails the study."""
    assert step.candidate is not None  # the plan gives every one its candidate
    return read_back(context, step.candidate)
