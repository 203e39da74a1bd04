"""What block I/O reads and writes of a candidate: a file on its volume, or its block device."""

import shutil
from pathlib import Path

from stithy.fio.load import Target
from stithy.fio.measure import lay_out as write_target
from stithy.fio.measure import ready
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


def lay_out(context: Context, candidate: str) -> str:
    """Write all that any window uses of a candidate once; returns that in words."""
    study = context.file.study
    volume, spec = context.volumes.of(candidate), spec_of(study)
    if not volume.raw:
        context.volumes.make_tree(candidate, DATA)
    target = target_of(context, candidate, target_bytes(study))
    folder = new_folder(context, f"lay-out-{candidate}")
    if not volume.raw:
        # What is tried before anything is written must be there.
        with Path(target.path).open("wb") as file:
            file.truncate(target.size_bytes)
    machine = ready(context.runner, target, folder / "tried")
    write_target(
        machine,
        target,
        folder / "written",
        seed=derive_seed(context.plan.seed, "target") % 2**31,
        compressible_share=(spec.compressible_percent or 0) / 100,
        stop=context.session.stop.asked,
    )
    return f"{format_size(target.size_bytes)} written, {machine.engine} of {machine.found.version}"


def new_folder(context: Context, name: str) -> Path:
    """A new folder for files of fio among the results."""
    folder = context.session.directory.root / FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
