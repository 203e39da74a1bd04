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
    if step.candidate is not None:
        space.record(context, step.candidate, "end")
    left = context.session.books.remove_all(candidate=step.candidate)
    if left:
        raise InfrastructureError(
            f"{left[0].resource.kind} could not be removed: {left[0].reason}",
            where=f"candidate {step.candidate}",
            remedy="fix that, then run `stithy clean`",
        )
    return "removed"
