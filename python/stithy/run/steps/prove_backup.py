"""A backup of the quiet database is restored and compared with it, row by row."""

from stithy.plan.steps import Step
from stithy.run.activities.backup.proof import prove
from stithy.run.context import Context

NAME = "prove-backup"
WHAT, BRIEF = "back up, restore and compare all rows", "prove the backup"
PHASE, PACED = "loading", False


def do(context: Context, step: Step) -> str:
    """A backup that does not restore to an equal database fails the study."""
    return prove(context, step)
