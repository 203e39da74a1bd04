"""Native: each candidate is loaded once, and its server restores what it has kept of that.

A session that goes on with a run loads each candidate again: whether what a killed server had kept
is whole, nobody could tell without reading all of it.
"""

from stithy.engines.engine import Instance, kept_of, native_of
from stithy.plan.steps import Dataset
from stithy.run.context import Context
from stithy.run.copies import rows
from stithy.run.restoring import Restored
from stithy.run.volumes import Inside, tenants_of

NAME = "native"
keep, said = rows.keep, rows.said


def put_back(context: Context, candidate: str, dataset: Dataset, tenants: int) -> Restored:
    """Where its servers have not kept the dataset yet, they load it."""
    verify_s, kept = 0.0, _kept(context, candidate, tenants)
    for tenant in tenants_of(tenants):
        with rows.loading(context, candidate, tenant) as instance:
            _restore(context, candidate, dataset, instance, is_kept=dataset.name in kept)
            verify_s += rows.compare(context, dataset, instance)
    # Last: where anything failed before, nothing is known of what the servers have kept.
    context.volumes.inside[candidate] = Inside(tenants, kept | {dataset.name})
    return Restored(verify_s, *rows.held(context, candidate, tenants))


def _kept(context: Context, candidate: str, tenants: int) -> frozenset[str]:
    """The datasets that the candidate's servers have kept; without any they are made anew."""
    known = context.volumes.inside.pop(candidate, None)
    if known is not None and known.tenants == tenants:
        return known.datasets
    rows.make_databases(context, candidate, tenants)
    return frozenset()


def _restore(
    context: Context, candidate: str, dataset: Dataset, instance: Instance, *, is_kept: bool
) -> None:
    native = native_of(context.file.study.database.engine)
    name = f"kept{context.plan.datasets.index(dataset) + 1}"
    there = context.servers.by_url(candidate)
    if there is not None:  # others have databases there, too
        number = list(context.file.study.candidates).index(candidate)
        name = f"{kept_of(context.session.run_id)}c{number}{name}"
    if not is_kept:
        native.empty(instance.url) if there is None else there.empty()
        rows.load_again(context, candidate, dataset, instance)
        native.keep(instance.url, name)
    if there is None:
        native.restore(instance.url, name, dataset.log_bytes)
    else:
        there.restore(name)
