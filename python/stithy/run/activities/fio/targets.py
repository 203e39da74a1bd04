"""What block I/O reads and writes of a candidate: a file on its volume, or its block device."""

import shutil
from pathlib import Path

from stithy.errors import InfrastructureError, PreconditionError
from stithy.fio.load import Target
from stithy.fio.measure import Machine, discard, ready
from stithy.fio.measure import lay_out as write_target
from stithy.fio.measure import read_back as compare
from stithy.fio.precondition import FILL_BYTES, Plan, plan
from stithy.plan.scenarios.block_io import spec_of, target_bytes
from stithy.plan.steps import derive_seed
from stithy.run.context import Context
from stithy.storage.consent import DATA
from stithy.units import format_size

TARGET = "target"
FOLDER = "fio"


def target_of(context: Context, candidate: str, size_bytes: int) -> Target:
    """The first so many bytes of a candidate."""
    volume = context.volumes.of(candidate)
    path = volume.path if volume.raw else volume.path / DATA / TARGET
    return Target(str(path), size_bytes)


def preconditioning_of(context: Context, candidate: str) -> Plan:
    """What comes before the windows of a candidate."""
    spec, is_device = spec_of(context.file.study), context.volumes.of(candidate).raw
    return plan(spec.precondition, spec.precondition_matrix, is_device=is_device, discards=True)


def lay_out(context: Context, candidate: str) -> str:
    """Write all that any window uses of a candidate, as often as the study asks; in words."""
    study = context.file.study
    volume, spec = context.volumes.of(candidate), spec_of(study)
    before = preconditioning_of(context, candidate)
    _need_written(candidate, before, is_file=not volume.raw)
    if not volume.raw:
        context.volumes.make_tree(candidate, DATA)
    target = target_of(context, candidate, target_bytes(study))
    folder = new_folder(context, f"lay-out-{candidate}")
    if not volume.raw:
        # What is tried before anything is written must be there.
        with Path(target.path).open("wb") as file:
            file.truncate(target.size_bytes)
    machine = ready(context.host.runner, target, folder / "tried")
    purged = f", {_purge(context, candidate, machine, target)}" if before.purge != "none" else ""
    for number in range(before.passes):
        write_target(
            machine,
            target,
            folder / f"written-{number}",
            seed=derive_seed(context.plan.seed, "target") % 2**31 + number,
            compressible_share=(spec.compressible_percent or 0) / 100,
            verify=spec.verify,
            block_bytes=FILL_BYTES if before.patterns else None,
            stop=context.session.stop.asked,
        )
    times = {0: "nothing", 1: format_size(target.size_bytes)}
    written = times.get(before.passes, f"{before.passes} times {format_size(target.size_bytes)}")
    return f"{written} written{purged}, {machine.engine} of {machine.found.version}"


def _purge(context: Context, candidate: str, machine: Machine, target: Target) -> str:
    """Make the target forget what was written there, as far as it can; returns how, in words."""
    if not context.volumes.of(candidate).raw:
        return "made anew"  # the file was, a moment ago
    folder = new_folder(context, f"purge-{candidate}")
    try:
        discard(machine, target, folder, context.session.stop.asked)
    except InfrastructureError:
        return "not purged, it cannot discard"
    return "discarded"


def read_back(context: Context, candidate: str) -> str:
    """Compare all that was written with its checksums; returns that in words.

    Raises InvalidMeasurement for a block that is damaged or in another place.
    """
    target = target_of(context, candidate, target_bytes(context.file.study))
    folder = new_folder(context, f"read-back-{candidate}")
    machine = ready(context.host.runner, target, folder / "tried")
    compare(machine, target, folder / "read", context.session.stop.asked)
    return f"{format_size(target.size_bytes)} read back: every block is what was written"


def _need_written(candidate: str, before: Plan, *, is_file: bool) -> None:
    if is_file and not before.passes:
        raise PreconditionError(
            "a file that nobody wrote is read without its device",
            where=f"candidate {candidate}",
            remedy="write `precondition: fill`, or give a block device with data",
        )


def new_folder(context: Context, name: str) -> Path:
    """A new folder for files of fio among the results."""
    folder = context.session.directory.root / FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
