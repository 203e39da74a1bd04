"""Files: a master copy beside the results; what is restored is proven by the hash of every file."""

from pathlib import Path

from stithy.errors import InfrastructureError, reason_of
from stithy.plan.steps import Dataset
from stithy.run.context import Context
from stithy.run.copies.restore import compare, make_trees
from stithy.run.restoring import Restored
from stithy.run.volumes import Parts, master_name
from stithy.storage.consent import DATA
from stithy.storage.copy import Contents, contents_of, copy_tree, joined, sync_filesystem
from stithy.units import format_size

NAME = "files"


def keep(context: Context, dataset: Dataset, master: Path) -> Contents:
    """Copy what was loaded; it lies on no candidate's volume, so that all are as large and full."""
    del dataset  # the volume has no other
    loaded = context.volumes.of(context.master_candidate).path / DATA
    copy_tree(loaded, master)
    sync_filesystem(master)
    contents = contents_of(master)
    compare(contents_of(loaded), contents, str(master))
    return contents


def said(contents: Contents) -> str:
    """Its size."""
    return f"{format_size(contents.size_bytes)} in {len(contents.files)} files"


def put_back(context: Context, candidate: str, dataset: Dataset, tenants: int) -> Restored:
    """Replace the candidate's database by a copy of the master copy; each tenant gets one."""
    clock, volumes = context.session.clock, context.volumes
    source = volumes.masters_place / master_name(dataset)
    every = make_trees(volumes, candidate, tenants)
    for parts in every:
        _copy(context, source, parts)
    copied_s = clock.monotonic_s()
    for parts in every:
        found = _contents(context, parts)
        # The plan makes each master copy before any restore of it.
        compare(volumes.masters[dataset.name], found, str(parts.data))
    verify_s = clock.monotonic_s() - copied_s
    return Restored(verify_s, tenants * len(found.files), tenants * found.size_bytes)


def _copy(context: Context, source: Path, parts: Parts) -> None:
    """Copy each part to its place. A full device is an error."""
    name = context.servers.engine.log_folder
    try:
        if parts.log is None:
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


def _contents(context: Context, parts: Parts) -> Contents:
    """What all parts hold, as if they lay in one place."""
    if parts.log is None:
        return contents_of(parts.data)
    name = context.servers.engine.log_folder
    return joined(contents_of(parts.data, without=name), name, contents_of(parts.log))
