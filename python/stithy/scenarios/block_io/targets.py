"""Where files of fio lie among the results of a run."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from stithy.errors import InfrastructureError, PreconditionError
from stithy.fio import library
from stithy.fio.generations import compare, list_written_blocks
from stithy.fio.generations import list_laid_out_blocks as first_generation
from stithy.fio.load import FILL_BYTES, FioLoad, FioTarget, PreconditioningPlan, plan
from stithy.fio.measure import FioMachine, discard, get_worker_folder, make_file, prepare_fio
from stithy.fio.measure import lay_out as write_target
from stithy.fio.measure import read_back as read_target
from stithy.fio.profile import MIB
from stithy.plan.steps import Step, derive_seed
from stithy.results.layout import empty_folder
from stithy.run.agents import require_shared
from stithy.run.context import Context
from stithy.scenarios.block_io.plan import (
    find_spec,
    is_data_laid_out,
    is_laid_out,
    sum_target_bytes,
)
from stithy.scenarios.block_io.values import File, list_files
from stithy.storage.consent import DATA
from stithy.storage.provider import Role, Volume
from stithy.units import format_size

FOLDER = "fio"


def find_folder(context: Context, name: str) -> Path:
    """A folder for files of fio."""
    return context.session.directory.root / FOLDER / name


def make_folder(context: Context, name: str) -> Path:
    """The same, empty."""
    return empty_folder(find_folder(context, name))


def begin_generations(context: Context, candidate: str, began: Mapping[FioTarget, float]) -> None:
    """Targets were written from end to end since these monotonic times; all before is forgotten."""
    if find_spec(context.file.study).verify:
        pieces = [first_generation(target, began_s) for target, began_s in began.items()]
        folder = make_folder(context, _name(candidate))
        pl.concat(pieces).write_parquet(folder / "laid-out.parquet")


@contextmanager
def keep_generations(
    context: Context,
    candidate: str,
    name: str,
    workers: Sequence[tuple[FioTarget, FioLoad]],
    folder: Path,
) -> Iterator[None]:
    """Within it fio runs in `folder`; what it has written is kept, where all is read back."""
    clock = context.session.clock
    apart_s = clock.now_s() - clock.monotonic_s()
    yield
    if not find_spec(context.file.study).verify:
        return
    apart_s = max(apart_s, clock.now_s() - clock.monotonic_s())
    pieces = [
        list_written_blocks(target.path, get_worker_folder(folder, number), apart_s)
        for number, (target, _) in enumerate(workers)
    ]
    pl.concat(pieces).write_parquet(find_folder(context, _name(candidate)) / f"{name}.parquet")


def compare_generations(context: Context, candidate: str, targets: Sequence[FioTarget]) -> None:
    """Raise InvalidMeasurement where a block is older than what was written there last."""
    folder = find_folder(context, _name(candidate))
    pieces = [pl.read_parquet(path) for path in sorted(folder.iterdir())]
    for target in targets:
        compare(target, pieces, context.session.stop.asked)


def _name(candidate: str) -> str:
    return f"generations-{candidate}"


TARGET = "target"


def list_targets(
    context: Context, candidate: str, roles: Sequence[Role], size_bytes: int
) -> tuple[FioTarget, ...]:
    """The first so many bytes of each of these volumes of a candidate."""
    study, main = context.file.study, context.volumes.of(candidate)
    every = list_files(is_laid_out(study))
    return tuple(
        _make_target(main, file, every, sum_target_bytes(study), size_bytes)
        for file in list_files(roles)
    )


def list_all_targets(context: Context, candidate: str) -> tuple[FioTarget, ...]:
    """All that any window uses of a candidate."""
    study = context.file.study
    return list_targets(context, candidate, is_laid_out(study), sum_target_bytes(study))


def _make_target(
    main: Volume, file: File, every: Sequence[File], largest_bytes: int, size_bytes: int
) -> FioTarget:
    """A file, or its part of a block device: places do not depend on what else a window uses."""
    role, number = file
    volume = main.get_part(role)
    if not volume.raw:
        name = TARGET if number == 1 else f"{TARGET}-{number}"
        return FioTarget(str(volume.path / _name_folder(main, role) / name), size_bytes)
    beside = [each for each in every if main.get_part(each[0]).path == volume.path]
    return FioTarget(str(volume.path), size_bytes, beside.index(file) * largest_bytes)


def _name_folder(main: Volume, role: Role) -> str:
    return DATA if role == "data" else role


def find_preconditioning(context: Context, candidate: str) -> PreconditioningPlan:
    """What comes before the windows of a candidate."""
    spec, is_device = find_spec(context.file.study), _are_raw(context, candidate)
    return plan(spec.precondition, spec.precondition_matrix, is_device=is_device)


def _are_raw(context: Context, candidate: str) -> bool:
    main = context.volumes.of(candidate)
    return all(main.get_part(role).raw for role in is_laid_out(context.file.study))


def lay_out(context: Context, step: Step) -> str:
    """Write all that any window uses of a candidate, as often as the study asks; in words."""
    study, candidate = context.file.study, step.whose
    main = context.volumes.of(candidate)
    spec, before = find_spec(study), find_preconditioning(context, candidate)
    if not before.passes and not _are_raw(context, candidate):
        raise PreconditionError(
            "a file that nobody wrote is read without its device",
            where=f"candidate {candidate}",
            remedy="write `precondition: fill`, or give a block device with data",
        )
    for role in dict.fromkeys(is_laid_out(study)):
        if not main.get_part(role).raw:
            context.volumes.make_tree(candidate, _name_folder(main, role), role)
    targets = list_all_targets(context, candidate)
    if context.agents is not None:
        require_shared(context.agents, dict.fromkeys(Path(each.path).parent for each in targets))
    rules = list_working_sets(context, candidate)
    folder = make_folder(context, f"lay-out-{candidate}")
    for each in targets:
        make_file(each)
    machine = prepare_fio(context.host.runner, targets, folder / "tried")
    purged = (
        f", {_empty_targets(context, candidate, machine, targets)}"
        if before.purge != "none"
        else ""
    )
    seed = derive_seed(context.plan.seed, "target") % 2**31
    began: dict[FioTarget, float] = {}
    for number in range(before.passes * len(targets)):
        target = targets[number % len(targets)]
        began[target] = context.session.clock.monotonic_s()
        write_target(
            machine,
            target,
            folder / f"written-{number}",
            # No two volumes hold the same, which storage may keep once.
            seed=seed + number,
            data=is_data_laid_out(study),
            verify=spec.verify,
            block_bytes=FILL_BYTES if before.patterns else None,
            stop=context.session.stop.asked,
        )
    begin_generations(context, candidate, began)
    size = _write_amount(targets)
    times = {0: "nothing", 1: size}
    list_written_blocks = times.get(before.passes, f"{before.passes} times {size}")
    return (
        f"{list_written_blocks} written{purged}, {machine.engine} of {machine.found.version}{rules}"
    )


def list_working_sets(context: Context, candidate: str) -> str:
    """How much profiles with a rule of their own would use of the main volume, which has files."""
    volume = context.volumes.of(candidate)
    if volume.raw:
        return ""
    place = shutil.disk_usage(volume.path)
    known = map(library.find, find_spec(context.file.study).profiles)
    found = {each.name: each for each in known}
    return "".join(
        f"; by its rule {each.name} uses {format_size(size // MIB * MIB)} of this volume"
        for each in found.values()
        if each.working_set and (size := each.working_set.choose_bytes(place.total, place.free))
    )


def _write_amount(targets: Sequence[FioTarget]) -> str:
    size = format_size(targets[0].size_bytes)
    return f"{size} on each of {len(targets)} volumes" if len(targets) > 1 else size


def _empty_targets(
    context: Context, candidate: str, machine: FioMachine, targets: Sequence[FioTarget]
) -> str:
    """Make the targets forget what was written there, as far as they can; returns how, in words.

    Files were made anew, a moment ago.
    """
    devices = [target for target in targets if Path(target.path).is_block_device()]
    if not devices:
        return "made anew"
    folder = make_folder(context, f"purge-{candidate}")
    try:
        for number, each in enumerate(devices):
            discard(machine, each, folder / str(number), context.session.stop.asked)
    except InfrastructureError:
        return "not purged, it cannot discard"
    return "discarded"


def read_back(context: Context, step: Step) -> str:
    """Compare all that was written with its checksums and generations; returns that in words.

    Raises InvalidMeasurement for a block that is damaged, in another place, or an older one.
    """
    candidate = step.whose
    targets = list_all_targets(context, candidate)
    folder = make_folder(context, f"read-back-{candidate}")
    machine = prepare_fio(context.host.runner, targets, folder / "tried")
    for number, each in enumerate(targets):
        read_target(machine, each, folder / f"read-{number}", context.session.stop.asked)
    compare_generations(context, candidate, targets)
    return f"{_write_amount(targets)} read back: every block is what was written last"
