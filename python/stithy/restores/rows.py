"""Restores that are proven by checksums of all rows: loading again, and the engine's own.

A session that goes on with a run loads each candidate again: whether what a killed server had kept
is whole, nobody could tell without reading all of it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stithy.engines.engine import Engine, get_engine
from stithy.registry import plugins
from stithy.restores.method import Restored, RestoreMethod

if TYPE_CHECKING:
    from stithy.engines.instance import Instance
    from stithy.plan.steps import Dataset
    from stithy.run.context import Context
    from stithy.storage.copy import Contents


class RowsMethod(RestoreMethod):
    """What methods have in common that prove a restore by checksums of all rows."""

    keep_step = "keep checksums of the rows"
    proof = "gave the rows that were loaded first, by their checksums"
    resume_note = "the checksums of the rows{of} are unchanged: restores are compared with them"
    resumed_state = "loaded again from the same seed, with the same rows by their checksums"
    keep_work = ("read",)

    def keep(self, context: "Context", dataset: "Dataset", master: Path) -> "Contents":
        """Write down by table the number and a checksum of the rows that were loaded."""
        from stithy.run import datasets

        return datasets.keep(context, dataset, master)

    def describe(self, contents: "Contents") -> str:
        """Say the same for every dataset: a number of bytes says nothing."""
        return "checksums of all rows"


class Reload(RowsMethod):
    """The database is made and loaded again, from the same seed, before each window."""

    name = "reload"
    summary = (
        "makes the database anew and loads it from the same seed before each window; it needs "
        "nothing of the engine, and takes longest"
    )
    restore_step = "load the database again"
    start_state = (
        "Each window starts from a database that was loaded for it, from the same seed. Checksums "
        "of all rows were compared; the planner's statistics were sampled anew."
    )
    restore_work, first_work = ("load", "read"), ("load", "read")

    def put_back(self, context: "Context", candidate: str, every: "Sequence[Dataset]") -> Restored:
        """Nothing of an earlier database is left."""
        from stithy.run import datasets
        from stithy.run.volumes import number_instances

        dataset, instances, verify_s = every[0], len(every), 0.0
        datasets.make_databases(context, candidate, instances)
        for number in number_instances(instances):
            with datasets.run_for_loading(context, candidate, number) as instance:
                datasets.load_again(context, candidate, dataset, instance)
                verify_s += datasets.compare_rows(context, dataset, instance)
        return Restored(verify_s, *datasets.measure_held(context, candidate, instances))


class Native(RowsMethod):
    """The engine keeps the loaded database in its server, and restores it by its own means."""

    name = "native"
    summary = (
        "loads each candidate once, keeps the loaded database inside its server or beside its "
        "files, and restores it from there by the engine's own means; the candidate holds the data "
        "twice. "
        + "; ".join(
            f"`{name}` {engine.native_restore}"
            for name, engine in plugins(Engine).items()
            if engine.native_restore
        )
    )
    restore_step = "restore what the candidate has kept"
    start_state = (
        "Each candidate was loaded once, from the same seed, and the engine's own means restored "
        "each window's database from what was kept. Checksums of all rows were compared; the "
        "planner's statistics were sampled once for each candidate. The kept database lies on the "
        "candidate's storage, too."
    )
    keeps_inside = True
    restore_work = ("copy", "read")
    first_work = ("load", "copy", "read")

    def explain_refusal(self, engine: Engine) -> str | None:
        """An engine says in `native_restore` how it restores."""
        if engine.native_restore:
            return None
        return f"the engine {engine.name} has no restore of its own"

    def put_back(self, context: "Context", candidate: str, every: "Sequence[Dataset]") -> Restored:
        """Where its servers have not kept the dataset yet, they load it."""
        from stithy.run import datasets
        from stithy.run.volumes import Inside

        dataset, instances = every[0], len(every)
        kept = _list_kept(context, candidate, dataset, instances)
        engine = get_engine(context.study_of(dataset.name).database.engine)
        restore = _restore_files if engine.native_copy else _restore_inside
        verify_s = restore(context, candidate, dataset, instances, kept)
        # Last: where anything failed before, nothing is known of what the servers have kept.
        context.volumes.inside[candidate] = Inside(instances, kept | {dataset.name})
        return Restored(verify_s, *datasets.measure_held(context, candidate, instances))


def _list_kept(
    context: "Context", candidate: str, dataset: "Dataset", instances: int
) -> frozenset[str]:
    """List the datasets that the candidate's servers have kept; without any make them anew.

    Servers of another engine are none of them.
    """
    from stithy.run import datasets

    inside = context.volumes.inside.pop(candidate, None)
    if inside is not None and inside.instances == instances:
        engines = {
            context.study_of(name).database.engine for name in {*inside.datasets, dataset.name}
        }
        if len(engines) == 1:
            return inside.datasets
    datasets.make_databases(context, candidate, instances)
    return frozenset()


def _restore_inside(
    context: "Context", candidate: str, dataset: "Dataset", instances: int, kept: frozenset[str]
) -> float:
    """Restore within running servers; returns the seconds that proving it took."""
    from stithy.run import datasets
    from stithy.run.volumes import number_instances

    verify_s = 0.0
    for number in number_instances(instances):
        with datasets.run_for_loading(context, candidate, number) as instance:
            _restore_one(context, candidate, dataset, instance, is_kept=dataset.name in kept)
            verify_s += datasets.compare_rows(context, dataset, instance)
    return verify_s


def _restore_one(
    context: "Context", candidate: str, dataset: "Dataset", instance: "Instance", *, is_kept: bool
) -> None:
    from stithy.engines.instance import kept_of
    from stithy.run import datasets

    name = f"kept{context.plan.datasets.index(dataset) + 1}"
    remote = context.servers.by_url(candidate)
    if remote is not None:  # others have databases there, too
        number = list(context.file.study.candidates).index(candidate)
        name = f"{kept_of(context.session.run_id)}c{number}{name}"
        if not is_kept:
            remote.empty()
            datasets.load_again(context, candidate, dataset, instance)
            remote.keep(name)
        remote.restore(name)
        return
    native = get_engine(context.study_of(dataset.name).database.engine).get_native_restore()
    if not is_kept:
        native.empty(instance.url)
        datasets.load_again(context, candidate, dataset, instance)
        native.keep(instance.url, name)
    native.restore(instance.url, name, dataset.log_bytes)


def _restore_files(
    context: "Context", candidate: str, dataset: "Dataset", instances: int, kept: frozenset[str]
) -> float:
    """Restore copies of files while no server runs; returns the seconds that proving it took."""
    from stithy.run import datasets
    from stithy.run.kept import copy_kept, keep_copy
    from stithy.run.volumes import number_instances
    from stithy.storage.consent import KEPT

    numbers, verify_s = number_instances(instances), 0.0
    if not kept:
        context.volumes.make_tree(candidate, KEPT)
    if dataset.name not in kept:
        if kept:  # else they were made just now
            datasets.make_databases(context, candidate, instances)
        for number in numbers:
            with datasets.run_for_loading(context, candidate, number) as instance:
                datasets.load_again(context, candidate, dataset, instance)
                keep_copy(context, candidate, dataset, number, instance)
    datasets.make_trees(context.volumes, candidate, instances)
    for number in numbers:
        copy_kept(context, candidate, dataset, number)
        with datasets.run_for_loading(context, candidate, number) as instance:
            verify_s += datasets.compare_rows(context, dataset, instance)
    return verify_s


PLUGINS = (Native(), Reload())
