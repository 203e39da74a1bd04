"""The repository of backups is made before a window, whether it has backups or not.

What a method needs of the server all the time is thus no cost of its backups, and the windows of a
block begin alike.
"""

from stithy.plan.steps import Step
from stithy.run.activities.backup.cycles import backups_at
from stithy.run.context import Context
from stithy.run.copies.restore import settle
from stithy.run.volumes import parts_of

NAME = "prepare-backup"
WHAT, BRIEF = "make the repository of backups", "prepare backups"
PHASE, PACED = "around", False


def do(context: Context, step: Step) -> str:
    """The database is as it was, and none of its pages in memory."""
    assert step.window is not None  # the plan gives it one
    log = context.session.directory.window(step.window.id).root / "backup.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    said = backups_at(context, step.window).prepare(log)
    settle(context, step.whose, [parts_of(context.volumes.of(step.whose))])
    return said
