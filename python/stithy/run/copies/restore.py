"""Putting a candidate's database back to what was loaded, with the proof that it is the same.

By the study's restore method; then it is made durable and dropped from the page cache: pages that
a copier read or wrote are charged to the copier, so a server that found them would escape its
memory limit.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from stithy.engines.instance import UNSEEN
from stithy.errors import InfrastructureError, reason_of
from stithy.plan.steps import Dataset, Step
from stithy.restores.method import Restored
from stithy.results import tables
from stithy.run.context import Context
from stithy.run.copies import drives, space
from stithy.run.volumes import (
    LOG,
    TEMP,
    Parts,
    Volumes,
    master_name,
    number_instances,
    own,
    parts_of,
)
from stithy.storage.consent import DATA
from stithy.storage.copy import (
    Contents,
    contents_of,
    copy_tree,
    evict_tree,
    joined,
    sync_filesystem,
)
from stithy.units import format_duration, format_size

NOT_EVICTABLE = "the pages of this file system are memory themselves and cannot be evicted"
STILL_THERE = "the kernel kept some pages, for example because another process has the files open"


def restore_step(context: Context, step: Step) -> str:
    """Restore before a window; emulated drives are put back to the state after loading, too."""
    candidate, window = step.whose, step.window
    assert window is not None  # the plan gives every restore one
    dataset = context.plan.dataset_at(window.point)
    row = restore(context, candidate, dataset, window_id=window.id, instances=window.instances)
    space.record(context, candidate, "loaded")
    taken_s = row["copy_s"] + row["verify_s"] + row["sync_s"]
    return f"{format_size(row['size_bytes'])} in {format_duration(taken_s)}, proven identical"


def restore(
    context: Context,
    candidate: str,
    dataset: Dataset,
    *,
    window_id: str | None,
    instances: int = 1,
) -> dict[str, Any]:
    """Give the candidate the database of a dataset as it was loaded; returns the row of RESTORES.

    Each of several `instances` gets one. A restore that belongs to no window is not written to the
    table. Raises InfrastructureError where it differs.
    """
    clock, volumes = context.session.clock, context.volumes
    began_s = clock.monotonic_s()
    restored = context.restore_method.put_back(context, candidate, dataset, instances)
    volumes.held[candidate] = dataset.name
    put_back_s = clock.monotonic_s()
    every = [parts_of(volumes.of(candidate), number) for number in number_instances(instances)]
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
    resident = sum(_evicted(context, parts) for parts in every)
    return resident, STILL_THERE if resident else None


def make_trees(volumes: Volumes, candidate: str, instances: int) -> list[Parts]:
    """Empty directories for all parts; what an earlier window left there is gone."""
    parts = parts_of(volumes.of(candidate))
    if parts.log is not None:
        volumes.make_tree(candidate, LOG, "log")
    if parts.temp is not None:
        volumes.make_tree(candidate, TEMP, "temp")
    volumes.make_tree(candidate, DATA)
    every = [parts_of(volumes.of(candidate), number) for number in number_instances(instances)]
    for each in every:
        for path in (each.data, each.log, each.temp):
            if path is not None and not path.exists():
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


def _evicted(context: Context, parts: Parts) -> int:
    if parts.log is None:
        return evict_tree(parts.data)
    return evict_tree(parts.data, context.servers.engine.log_folder) + evict_tree(parts.log)


def copy_loaded(context: Context, master: Path) -> Contents:
    """Copy what was loaded; it lies on no candidate's volume, so that all are as large and full."""
    loaded = context.volumes.of(context.master_candidate).path / DATA
    copy_tree(loaded, master)
    sync_filesystem(master)
    contents = contents_of(master)
    compare(contents_of(loaded), contents, str(master))
    return contents


def copy_back(context: Context, candidate: str, dataset: Dataset, instances: int) -> Restored:
    """Replace the candidate's database by a copy of the master copy, for each instance."""
    clock, volumes = context.session.clock, context.volumes
    source = volumes.masters_place / master_name(dataset)
    trees = make_trees(volumes, candidate, instances)
    for parts in trees:
        _copy(context, source, parts)
    copied_s = clock.monotonic_s()
    for parts in trees:
        copied = _read_contents(context, parts)
        # The plan makes each master copy before any restore of it.
        compare(volumes.masters[dataset.name], copied, str(parts.data))
    verify_s = clock.monotonic_s() - copied_s
    return Restored(verify_s, instances * len(copied.files), instances * copied.size_bytes)


def _copy(context: Context, source: Path, parts: Parts) -> None:
    """Copy each part to its place. A full device is an error."""
    name = context.servers.engine.log_folder
    try:
        if parts.log is None or name is None:
            copy_tree(source, parts.data)
        else:
            copy_tree(source, parts.data, without=name)
            copy_tree(source / name, parts.log)
            (parts.data / name).symlink_to(parts.log)
    except OSError as error:
        raise InfrastructureError(
            f"the database could not be restored: {reason_of(error)}",
            where=str(parts.data),
            remedy="free space there, or look for errors of the device in the kernel log",
        ) from error


def _read_contents(context: Context, parts: Parts) -> Contents:
    """Read what all parts hold, as if they lay in one place."""
    name = context.servers.engine.log_folder
    if parts.log is None or name is None:
        return contents_of(parts.data)
    return joined(contents_of(parts.data, without=name), name, contents_of(parts.log))
