"""Reload: the database is made and loaded again, from the same seed, before each window."""

from stithy.plan.steps import Dataset
from stithy.run.context import Context
from stithy.run.copies import rows
from stithy.run.restoring import Restored
from stithy.run.volumes import tenants_of

NAME = "reload"
keep, said = rows.keep, rows.said


def put_back(context: Context, candidate: str, dataset: Dataset, tenants: int) -> Restored:
    """Nothing of an earlier database is left."""
    verify_s = 0.0
    rows.make_databases(context, candidate, tenants)
    for tenant in tenants_of(tenants):
        with rows.loading(context, candidate, tenant) as instance:
            rows.load_again(context, candidate, dataset, instance)
            verify_s += rows.compare(context, dataset, instance)
    return Restored(verify_s, *rows.held(context, candidate, tenants))
