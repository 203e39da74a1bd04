"""What was made for a candidate is removed."""

from stithy.errors import InfrastructureError
from stithy.plan.steps import Step
from stithy.run.context import Context
from stithy.run.copies import space

NAME = "tear-down"
WHAT, BRIEF = "remove what was created", "remove everything"
PHASE, PACED = "around", True


def do(context: Context, step: Step) -> str:
    """Remove what belongs to one candidate."""
    space.record(context, step.whose, "end")
    left = context.session.books.remove_all(candidate=step.whose)
    if left:
        raise InfrastructureError(
            f"{left[0].resource.kind} could not be removed: {left[0].reason}",
            where=f"candidate {step.candidate}",
            remedy="fix that, then run `stithy clean`",
        )
    return "removed"
