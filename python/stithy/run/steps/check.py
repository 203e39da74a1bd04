"""All consistency conditions are verified."""

from stithy.errors import Interrupted, StithyError
from stithy.plan.steps import Step
from stithy.run.context import Context
from stithy.run.copies.loading import check
from stithy.run.events import Note

NAME = "check"
WHAT, BRIEF = "check all consistency conditions", "check"
PHASE, PACED = "loading", False


def do(context: Context, step: Step) -> str:
    """Verify all conditions; at a candidate's end a database that is gone ends nothing."""
    try:
        return check(context, step)
    except Interrupted:
        raise
    except StithyError as error:
        if not step.at_end:
            raise
        context.session.tell(Note(f"{step.candidate}: the final check failed: {error}"))
        return f"not done: {error.text}"
