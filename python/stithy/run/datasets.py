"""A dataset on volumes: made, loaded, verified, kept, put back, and proven to be the same.

A restored database is made durable and dropped from the page cache: pages that a copier read or
wrote are charged to the copier, so a server that found them would escape its memory limit.
"""

import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from stithy.engines.engine import get_engine
from stithy.engines.instance import UNSEEN, ConfiguredEngine, Instance
from stithy.errors import (
    InfrastructureError,
    InvalidMeasurement,
    convert_machine_failures,
    give_reason,
)
from stithy.plan.steps import Dataset, Step, derive_seed
from stithy.restores.method import Restored
from stithy.results import tables
from stithy.results.convert import make_condition_rows
from stithy.run import drives
from stithy.run.context import Context, make_choice
from stithy.run.events import StepProgress
from stithy.run.volumes import (
    KEEPER,
    SEPARATE,
    Parts,
    Volumes,
    get_parts,
    name_master,
    number_instances,
    own,
)
from stithy.storage.consent import DATA
from stithy.storage.copy import (
    Contents,
    copy_tree,
    drop_cached_pages,
    hash_tree,
    join_contents,
    measure_tree,
    sync_filesystem,
)
from stithy.units import format_duration, format_size
from stithy.wire.hammer import ProgressWatch, find_text_percent
from stithy.wire.messages import AnyMessage, PrepareSummary, Started
from stithy.wire.messages import ProgressMessage as HammerProgress

LOADERS_MAX = 8

MASTER_MADE = "master-copy"
"""The event that tells the hash of a master copy, once it is whole and durable."""


def prepare(context: Context, step: Step) -> str:
    """Make the database of a dataset on the master candidate's volume and load it."""
    candidate, dataset = context.master_candidate, get_dataset(context, step)
    study = context.study_of(dataset.name)
    if (there := context.servers.by_url(candidate)) is not None:
        there.empty()
    else:
        data = context.volumes.make_tree(candidate, DATA)
        engine = context.servers.get_found(study).engine
        engine.initialise(data, context.servers.scratch)
    context.volumes.held[candidate] = dataset.name
    named = dataset.name if dataset.factors.factors else None  # where there are several
    output = context.session.directory.prepare_output(named)
    log = output.with_name(f"{output.name.removesuffix('hammer.jsonl')}server.log")
    loaders = min(os.cpu_count() or 1, LOADERS_MAX, study.workload.units + 1)
    with context.servers.running(candidate, log, loading=True) as instance:
        summary = load(context, dataset, instance, output, loaders=loaders)
    rows = sum(table.rows for table in summary.tables)
    saved, repeated = find_text_percent(summary.sample)
    text = f"of their text zstd saves {saved:.0f}%, {repeated:.0f}% repeats"
    return f"{rows:,} rows in {format_duration(summary.duration_s)}; {text}"


def load(
    context: Context, dataset: Dataset, instance: Instance, output: Path, *, loaders: int
) -> PrepareSummary:
    """Fill an empty database by so many loaders, and leave it as a long-running one would be."""
    output.parent.mkdir(parents=True, exist_ok=True)
    summary = context.hammer(instance.url).prepare(
        make_choice(context.study_of(dataset.name)),
        seed=derive_seed(context.plan.seed, "data"),
        loaders=loaders,
        data=context.data_of(dataset.name),
        watch=_watch(context, output),
    )
    instance.finish_loading(dataset.log_bytes)
    return summary


def get_dataset(context: Context, step: Step) -> Dataset:
    """The dataset that a step loads, checks or keeps."""
    assert step.dataset is not None  # the plan gives each of these its dataset
    return context.plan.dataset(step.dataset)


def snapshot(context: Context, step: Step) -> str:
    """Keep what restores need of the loaded database, durable, with the hash of every file.

    It lies on no candidate's volume, so that all are as large and as full. The state of all
    emulated drives is kept with it, and put back with each restore. A session that goes on with the
    master copy of an earlier one keeps theirs alone.
    """
    place, dataset = context.volumes.provision_keeper(), get_dataset(context, step)
    known = context.volumes.masters.get(dataset.name)
    contents = known or _keep_master(context, place, dataset)
    drives.keep_state(context.volumes)
    return context.restore_method.describe(contents)


def _keep_master(context: Context, place: Path, dataset: Dataset) -> Contents:
    """Keep what was loaded and remove it there; written down once what is kept is whole."""
    volumes = context.volumes
    volume = volumes.of(context.master_candidate)
    master = volumes.make_in(place, KEEPER, name_master(dataset))
    contents = context.restore_method.keep(context, dataset, master)
    if volume.database is None:
        volumes.remove(volume.path, DATA)
    context.session.journal.write(MASTER_MADE, dataset=dataset.name, sha256=contents.sha256)
    volumes.masters[dataset.name] = contents
    return contents


def check(context: Context, step: Step) -> str:
    """Verify all consistency conditions, after loading or at a candidate's end."""
    candidate = step.candidate or context.master_candidate
    moment = "end" if step.at_end else "load"
    need_database(context, candidate, step)
    when = step.id.removeprefix("check-") if moment == "load" else moment
    output = context.session.directory.check_output(candidate, when)
    choice = make_choice(context.study_of(context.volumes.held[candidate]))
    with context.servers.running(candidate, output.with_suffix(".server.log")) as instance:
        checked = context.hammer(instance.url).check(
            choice, quick=step.quick, after_load=moment == "load", watch=_watch(context, output)
        )
    rows = make_condition_rows(candidate, moment, checked.conditions)
    context.add_rows(tables.CONDITIONS, rows)
    if checked.broken and moment == "load":
        raise InvalidMeasurement(
            f"conditions {', '.join(map(str, checked.broken))} do not hold after loading",
            where=f"candidate {candidate}",
            remedy=f"read {output}; loading or the device under it is at fault",
        )
    count = len(checked.conditions)
    if not checked.broken:
        scope = " of a database in use" if step.at_end else ""
        return f"all {count} conditions{scope} hold"
    return f"of {count} conditions, {', '.join(map(str, checked.broken))} do not hold"


def need_database(context: Context, candidate: str, step: Step) -> None:
    """Restore the candidate's database where there is none.

    Raises InfrastructureError for a check at its end: a fresh copy says nothing of what the last
    window left, or lost.
    """
    volume = context.volumes.of(candidate)
    data = volume.path / DATA
    if because := context.volumes.lost.get(candidate):
        raise InfrastructureError(
            f"its last window lost it: {because}",
            where=str(data),
            remedy="none: a fault took it that its storage does not survive",
        )
    if data.exists() or (volume.database is not None and candidate in context.volumes.held):
        return
    if step.at_end:
        raise InfrastructureError(
            "the database that its last window left is gone",
            where=str(data),
            remedy="none; the quick checks after its windows are valid",
        )
    restore(context, candidate, [get_dataset(context, step)], window_id=None)


def _watch(context: Context, raw_output: Path) -> ProgressWatch:

    def on_message(message: AnyMessage) -> None:
        if isinstance(message, HammerProgress):
            context.session.tell(StepProgress(message.stage, message.done, message.total))
        elif isinstance(message, Started):
            context.state.known.hammer_version = message.program

    return ProgressWatch(
        raw_output=raw_output, on_message=on_message, stop=context.session.stop.asked
    )


NOT_EVICTABLE = "the pages of this file system are memory themselves and cannot be evicted"
STILL_THERE = "the kernel kept some pages, for example because another process has the files open"


def restore_step(context: Context, step: Step) -> str:
    """Restore before a window; emulated drives are put back to the state after loading, too."""
    candidate, window = step.whose, step.window
    assert window is not None  # the plan gives every restore one
    study, numbers = context.file.study, number_instances(window.instances)
    points = [study.derive_point(window.point, number) for number in numbers]
    every = [context.plan.dataset_at(point) for point in points]
    row = restore(context, candidate, every, window_id=window.id)
    drives.record(context, candidate, "loaded")
    taken_s = row["copy_s"] + row["verify_s"] + row["sync_s"]
    return f"{format_size(row['size_bytes'])} in {format_duration(taken_s)}, proven identical"


def restore(
    context: Context, candidate: str, datasets: Sequence[Dataset], *, window_id: str | None
) -> dict[str, Any]:
    """Give the candidate the database of a dataset as it was loaded; returns the row of RESTORES.

    Each of several instances gets its own of the `datasets`. A restore that belongs to no window is
    not written to the table. A lost or moved volume is made anew before. Raises InfrastructureError
    where it differs.
    """
    clock, volumes = context.session.clock, context.volumes
    if candidate in volumes.lost or candidate in volumes.moved:
        volumes.remake(candidate)
    began_s = clock.monotonic_s()
    volumes.held[candidate] = datasets[0].name
    restored = context.restore_method.put_back(context, candidate, datasets)
    put_back_s = clock.monotonic_s()
    numbers = number_instances(len(datasets))
    every = [get_parts(volumes.of(candidate), number) for number in numbers]
    resident, note = settle(context, candidate, every)
    ended_s = clock.monotonic_s()
    volumes.restore_s[candidate] = ended_s - began_s
    row = {
        "window_id": window_id or "",
        "candidate": candidate,
        "copy_s": put_back_s - began_s - restored.verify_s,
        "verify_s": restored.verify_s,
        "sync_s": ended_s - put_back_s,
        "files": restored.files,
        "size_bytes": restored.size_bytes,
        "identical": True,
        "resident_bytes": resident,
        "resident_note": note,
    }
    if window_id is not None:
        context.add_rows(tables.RESTORES, [row])
    return row


def settle(
    context: Context, candidate: str, every: Iterable[Parts]
) -> tuple[int | None, str | None]:
    """Make a candidate's files durable and forget them; returns the bytes of pages that stay.

    The second is why that is None or not 0. Emulated drives are in the state after loading.
    """
    volume = context.volumes.of(candidate)
    if volume.database is not None:
        return None, UNSEEN
    for part in volume.parts:
        sync_filesystem(part.path)
    drives.put_back(context.volumes, candidate)
    if volume.memory_backed:
        return None, NOT_EVICTABLE
    resident = sum(drop_cached_pages(folder) for parts in every for folder in parts.list_kept())
    return resident, STILL_THERE if resident else None


def make_trees(volumes: Volumes, candidate: str, instances: int) -> list[Parts]:
    """Empty directories for all parts; what an earlier window left there is gone."""
    for role in SEPARATE:
        if role in volumes.of(candidate).others:
            volumes.make_tree(candidate, role, role)
    volumes.make_tree(candidate, DATA)
    every = [get_parts(volumes.of(candidate), number) for number in number_instances(instances)]
    for part in every:
        for path in filter(None, (*part.list_kept(), part.temp)):
            if not path.exists():
                path.mkdir(mode=0o700)
                own(path, volumes.host.user)
    return every


def compare(master: Contents, found: Contents, where: str) -> None:
    """Raise InfrastructureError where a copy differs from what it was made of."""
    if found == master:
        return
    differing = sorted(
        name
        for name in {*master.files, *found.files}
        if master.files.get(name) != found.files.get(name)
    )
    raise InfrastructureError(
        f"the copy of the database differs from its original, first in "
        f"{(differing or ['its directories'])[0]}",
        where=where,
        remedy="do not trust this device before its errors are found: read the kernel's log",
    )


def has_holes(context: Context, dataset: Dataset) -> bool:
    """Whether copies of its files must keep their holes."""
    database = context.study_of(dataset.name).database
    return get_engine(database.engine).has_holes(database.settings)


def copy_loaded(context: Context, dataset: Dataset, master: Path) -> Contents:
    """Copy what was loaded; it lies on no candidate's volume, so that all are as large and full."""
    loaded = context.volumes.of(context.master_candidate).path / DATA
    copy_tree(loaded, master, has_holes=has_holes(context, dataset))
    sync_filesystem(master)
    contents = hash_tree(master)
    compare(hash_tree(loaded), contents, str(master))
    return contents


def copy_back(context: Context, candidate: str, datasets: Sequence[Dataset]) -> Restored:
    """Replace the candidate's database by a copy of the master copy, for each instance."""
    clock, volumes = context.session.clock, context.volumes
    folder = context.servers.find_held(candidate).engine.log_folder
    trees = [*zip(make_trees(volumes, candidate, len(datasets)), datasets, strict=True)]
    for parts, dataset in trees:
        source = volumes.masters_place / name_master(dataset)
        _copy(parts.list_moved(folder), source, parts.data, has_holes(context, dataset))
    copied_s, files, size_bytes = clock.monotonic_s(), 0, 0
    for parts, dataset in trees:
        copied = _read_contents(parts.list_moved(folder), parts.data)
        # The plan makes each master copy before any restore of it.
        compare(volumes.masters[dataset.name], copied, str(parts.data))
        files, size_bytes = files + len(copied.files), size_bytes + copied.size_bytes
    return Restored(clock.monotonic_s() - copied_s, files, size_bytes)


def _copy(moved: Mapping[str, Path], source: Path, data: Path, keeps_holes: bool) -> None:
    """Copy a database; folders that are `moved` leave links. A full device is an error."""
    try:
        copy_tree(source, data, without=moved, has_holes=keeps_holes)
        for name, place in moved.items():
            copy_tree(source / name, place)
            (data / name).symlink_to(place)
    except OSError as error:
        raise InfrastructureError(
            f"the database could not be restored: {give_reason(error)}",
            where=str(data),
            remedy="free space there, or look for errors of the device in the kernel log",
        ) from error


def _read_contents(moved: Mapping[str, Path], data: Path) -> Contents:
    contents = hash_tree(data, without=moved)
    for name, place in moved.items():
        contents = join_contents(contents, name, hash_tree(place))
    return contents


ROWS = "rows.json"
ONE_LOADER = 1
"""Several take turns at a table's end, so that each load would put the rows into other places."""


def keep(context: Context, dataset: Dataset, master: Path) -> Contents:
    """Write down by table the number and a checksum of the rows that were loaded."""
    candidate = context.master_candidate
    log = _log(context, candidate)
    with context.servers.running(candidate, log) as instance:
        (master / ROWS).write_text(json.dumps(dict(instance.checksums()), indent=1))
    sync_filesystem(master)
    return hash_tree(master)


def compare_rows(context: Context, dataset: Dataset, instance: Instance) -> float:
    """Compare all rows with those that were loaded first; returns the seconds it took.

    Raises InfrastructureError where they differ, with the first such table.
    """
    began_s = context.session.clock.monotonic_s()
    kept = context.volumes.masters_place / name_master(dataset) / ROWS
    loaded = json.loads(kept.read_bytes())
    found = instance.checksums()
    differing = sorted(name for name in {*loaded, *found} if loaded.get(name) != found.get(name))
    if differing:
        first = differing[0]
        raise InfrastructureError(
            f"the restored database differs from the one that was loaded first: {first} has "
            f"{found.get(first, 'no rows')}, and had {loaded.get(first, 'no rows')}",
            where=instance.place,
            remedy="do not trust this device before its errors are found: read the kernel's log",
        )
    return context.session.clock.monotonic_s() - began_s


def make_databases(context: Context, candidate: str, instances: int) -> None:
    """Empty databases of all instances; nothing of earlier ones is left."""
    if (there := context.servers.by_url(candidate)) is not None:
        there.empty()
        return
    engine = context.servers.find_held(candidate).engine
    for parts in make_trees(context.volumes, candidate, instances):
        engine.initialise(parts.data, context.servers.scratch)
        move_parts(engine, parts)


def move_parts(engine: ConfiguredEngine, parts: Parts) -> None:
    """Give log and undo of a database that is in one place the places that they may have."""
    for name, place in parts.list_moved(engine.log_folder).items():
        with convert_machine_failures(str(place)):
            copy_tree(parts.data / name, place)
            shutil.rmtree(parts.data / name)
            (parts.data / name).symlink_to(place)


def run_for_loading(
    context: Context, candidate: str, number: int | None
) -> AbstractContextManager[Instance]:
    """A server on the candidate's database with the settings of loading, inside only."""
    log = _log(context, candidate)
    return context.servers.running(candidate, log, loading=True, number=number)


def load_again(context: Context, candidate: str, dataset: Dataset, instance: Instance) -> None:
    """Load the rows of a dataset, which the database under test does not have yet."""
    output = context.session.directory.restore_output(candidate)
    load(context, dataset, instance, output, loaders=ONE_LOADER)


def measure_held(context: Context, candidate: str, instances: int) -> tuple[int | None, int]:
    """Number and bytes of the files of a candidate's databases; of one by URL only the bytes."""
    if (there := context.servers.by_url(candidate)) is not None:
        return None, there.size_bytes()
    volume = context.volumes.of(candidate)
    every = (get_parts(volume, number) for number in number_instances(instances))
    sizes = [measure_tree(tree) for parts in every for tree in parts.list_kept()]
    return sum(files for files, _ in sizes), sum(size for _, size in sizes)


def _log(context: Context, candidate: str) -> Path:
    return context.session.directory.restore_output(candidate).with_name(f"{candidate}.server.log")
