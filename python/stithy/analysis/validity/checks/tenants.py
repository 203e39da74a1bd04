"""Did all tenants of a window work to its end?"""

from stithy.analysis.validity.record import WindowRecord
from stithy.validity import Check, Flag, Reason, clause

NAME = "tenants"
ORDER = 45

LOST = Flag(
    "tenant lost",
    "{count} of {all} tenants did not work to the end of the window: {because}.",
    "Look at the server's log in the tenant's folder. Numbers of all tenants together do not "
    "count; the other tenants have their own values.",
    invalidates=True,
)


def lost(of: WindowRecord) -> Reason | None:
    """A tenant without throughput: what all did together is then less than it was to be."""
    rows = [row for (metric, _), row in of.values.items() if metric == "tenant.tpm"]
    missing = [row["missing_because"] or "no reason" for row in rows if row["value"] is None]
    if not missing:
        return None
    data = {"count": str(len(missing)), "all": str(len(rows)), "because": clause(missing[0])}
    return Reason(LOST, data)


CHECKS: tuple[Check[WindowRecord], ...] = (Check(("values", "tenant_seconds"), lost),)
