"""Restores that are proven by rows: checksums of what was loaded first, and loading it again."""

import json
import shutil
from contextlib import AbstractContextManager
from pathlib import Path

from stithy.engines.instance import Instance
from stithy.errors import InfrastructureError, failures_of_the_machine
from stithy.plan.steps import Dataset
from stithy.run.context import Context
from stithy.run.copies.loading import load
from stithy.run.copies.restore import make_trees
from stithy.run.volumes import Parts, master_name, number_instances, parts_of
from stithy.storage.copy import Contents, contents_of, copy_tree, size_of_tree, sync_filesystem

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
    return contents_of(master)


def compare(context: Context, dataset: Dataset, instance: Instance) -> float:
    """Compare all rows with those that were loaded first; returns the seconds it took.

    Raises InfrastructureError where they differ, with the first such table.
    """
    began_s = context.session.clock.monotonic_s()
    kept = context.volumes.masters_place / master_name(dataset) / ROWS
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
    for parts in make_trees(context.volumes, candidate, instances):
        _initialise(context, parts)


def _initialise(context: Context, parts: Parts) -> None:
    """Make an empty database in empty directories, with its log where that belongs."""
    engine = context.servers.engine
    engine.initialise(parts.data, context.servers.scratch)
    if parts.log is None or engine.log_folder is None:
        return
    own = parts.data / engine.log_folder
    with failures_of_the_machine(str(parts.log)):
        copy_tree(own, parts.log)
        shutil.rmtree(own)
        own.symlink_to(parts.log)


def loading(
    context: Context, candidate: str, number: int | None
) -> AbstractContextManager[Instance]:
    """A server on the candidate's database with the settings of loading, inside only."""
    log = _log(context, candidate)
    return context.servers.running(candidate, log, loading=True, number=number)


def load_again(context: Context, candidate: str, dataset: Dataset, instance: Instance) -> None:
    """Load the rows of a dataset, which the database under test does not have yet."""
    output = context.session.directory.restore_output(candidate)
    load(context, dataset, instance, output, loaders=ONE_LOADER)


def held(context: Context, candidate: str, instances: int) -> tuple[int | None, int]:
    """Number and bytes of the files of a candidate's databases; of one by URL only the bytes."""
    if (there := context.servers.by_url(candidate)) is not None:
        return None, there.size_bytes()
    volume = context.volumes.of(candidate)
    every = (parts_of(volume, number) for number in number_instances(instances))
    sizes = [size_of_tree(tree) for parts in every for tree in (parts.data, parts.log) if tree]
    return sum(files for files, _ in sizes), sum(size for _, size in sizes)


def _log(context: Context, candidate: str) -> Path:
    """What the server says meanwhile."""
    return context.session.directory.restore_output(candidate).with_name(f"{candidate}.server.log")
