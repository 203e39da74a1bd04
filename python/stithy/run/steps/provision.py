"""A candidate's volume is made."""

from stithy.plan.steps import Step
from stithy.run.activities.hammer.ledger import warn_of_sharing
from stithy.run.context import Context
from stithy.storage.provider import Volume

NAME = "provision"
WHAT, BRIEF = "create the volume", "create volumes"
PHASE, PACED = "around", True


def do(context: Context, step: Step) -> str:
    """Make a candidate's volume."""
    volume = context.volumes.provision(step.whose)
    warn_of_sharing(context, step.whose)
    if volume.database is not None:
        return "the database is marked as the run's"
    return "; ".join(_in_words(part) for part in volume.parts)


def _in_words(volume: Volume) -> str:
    """A volume in words: where it is, on what."""
    array = f", an array of {len(volume.array.members)}" if volume.array else ""
    plural = "s" if len(volume.emulated) > 1 else ""
    names = " and ".join(drive.device for drive in volume.emulated)
    under = f", {volume.emulated[0].role} on the emulated drive{plural} {names}" if names else ""
    return f"{volume.path} on {volume.filesystem}{array}{under}"
