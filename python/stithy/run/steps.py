"""The kinds of steps that studies of any scenario have."""

from collections.abc import Sequence
from pathlib import Path

from stithy.errors import Interrupted, StithyError
from stithy.hosts.devices import find_shared
from stithy.plan.steps import Step
from stithy.run import datasets, drives
from stithy.run.activity import StepKind
from stithy.run.context import Context
from stithy.run.datasets import restore_step
from stithy.run.events import Note
from stithy.run.power import measure_idle
from stithy.run.surroundings import check_baseline
from stithy.run.window import measure_window


def provision(context: Context, step: Step) -> str:
    """Make a candidate's volume."""
    volume = context.volumes.provision(step.whose)
    if device := find_shared_device(context, step.whose):
        context.session.tell(
            Note(
                f"candidate {step.whose} and its ledgers share {device}: the ledgers' syncs load "
                "it, and one failure can lose both; name another device with --out"
            )
        )
    if volume.database is not None:
        return "the database is marked as the run's"
    words = []
    for part in volume.parts:
        array = f", layer {part.array.layer}" if part.array else ""
        drives, plural = part.emulated, "s" if len(part.emulated) > 1 else ""
        names = " and ".join(drive.device for drive in drives)
        under = f", {drives[0].role} on the emulated drive{plural} {names}" if names else ""
        words.append(f"{part.path} on {part.filesystem}{array}{under}")
    return "; ".join(words)


def find_shared_device(
    context: Context, candidate: str, folders: Sequence[Path] = ()
) -> str | None:
    """Name what a candidate's volume and its ledgers lie on both; None without ledgers.

    `folders`: where agents keep theirs while users work.
    """
    load = context.file.study.given_load
    if load is None or not load.ledger or context.file.study.by_url:
        return None
    volume = context.volumes.of(candidate).path
    places = folders if load.agents else [context.session.directory.root]
    return next(filter(None, (find_shared(volume, place) for place in places)), None)


def check_conditions(context: Context, step: Step) -> str:
    """Verify all conditions; at a candidate's end a database that is gone ends nothing."""
    try:
        return datasets.check(context, step)
    except Interrupted:
        raise
    except StithyError as error:
        if not step.at_end:
            raise
        context.session.tell(Note(f"{step.candidate}: the final check failed: {error}"))
        return f"not done: {error.text}"


def tear_down(context: Context, step: Step) -> str:
    """Remove what was made for one candidate."""
    drives.record(context, step.whose, "end")
    context.volumes.remove_volume(step.whose)
    return "removed"


PLUGINS = (
    StepKind("provision", provision, "around", "create the volume", "create volumes", True),
    StepKind("measure-idle", measure_idle, "around", "measure the idle power",
             "measure the idle power", True),
    StepKind("prepare", datasets.prepare, "loading", "load the database", "load"),
    StepKind(
        "check", check_conditions, "loading", "check all consistency conditions", "check"
    ),
    StepKind("snapshot", datasets.snapshot, "copying", "keep what restores need",
             "keep what restores need"),
    StepKind("restore", restore_step, "measuring", "restore the database", ""),
    StepKind(
        "baseline-check", check_baseline, "measuring",
        "wait for a quiet machine, check the baseline", "", True,
    ),
    StepKind("window", measure_window, "measuring", "measure a window", "", True),
    StepKind(
        "tear-down", tear_down, "around", "remove what was created", "remove everything", True
    ),
)  # fmt: skip
