"""Was the work done that was acknowledged, and are the data right?"""

from collections.abc import Mapping, Sequence
from typing import Any

from stithy.analysis.validity.flags import Flag
from stithy.analysis.validity.reason import Reason

Row = Mapping[str, Any]

COMMITS_MISSING_COUNT = 5
"""Own: the counters are read once all backends have handed theirs over, so this is mere caution."""

COMMITS_EXTRA_COUNT = 30
COMMITS_EXTRA_PER_CONNECTION = 3
COMMITS_EXTRA_PER_S = 0.1
COMMITS_EXTRA_PER_AUTOVACUUM = 5
"""Own: a session's start and its preparation commit, as do the hammer's quiet start and end, visits
of autovacuum and its work on tables. Measured without autovacuum: 14, and 2 more a connection."""


def commit_bounds(
    client_commits: int, job_s: float, *, connections: int, autovacuum_runs: int
) -> tuple[int, int]:
    """Least and greatest growth of the server's commit counter that agrees with the driver's count.

    Units: `job_s` seconds from the first reading to the last.
    Own: see the constants of this module.
    """
    extra = COMMITS_EXTRA_COUNT + COMMITS_EXTRA_PER_CONNECTION * connections
    extra += round(COMMITS_EXTRA_PER_S * job_s) + COMMITS_EXTRA_PER_AUTOVACUUM * autovacuum_runs
    return client_commits - COMMITS_MISSING_COUNT, client_commits + extra


def commit_rule() -> str:
    """The allowance of `commit_bounds` in words, for the report.

    Own: from the constants, so that it cannot say anything else.
    """
    return (
        f"{COMMITS_EXTRA_COUNT}, plus {COMMITS_EXTRA_PER_CONNECTION} for each connection, "
        f"{COMMITS_EXTRA_PER_S:g} for each second and {COMMITS_EXTRA_PER_AUTOVACUUM} for each run "
        f"of autovacuum, and fall short of it by {COMMITS_MISSING_COUNT} at most"
    )


def order_numbers(window: Row) -> Reason | None:
    """The order numbers did not grow by the acknowledged orders.

    Source: docs/explanation/method.md, "Proof that the work was done".
    """
    before, after = window["order_numbers_before"], window["order_numbers_after"]
    acknowledged = window["new_orders_acknowledged"]
    if before is None or after is None or acknowledged is None:
        return Reason(Flag.ORDER_NUMBERS_UNKNOWN)
    expected = acknowledged + (window["new_orders_in_doubt_found"] or 0)
    if after - before == expected:
        return None
    return Reason(Flag.ORDER_NUMBERS, {"grown": f"{after - before:,}", "expected": f"{expected:,}"})


def commits(window: Row) -> Reason | None:
    """Server and driver do not count the same commits.

    Source: docs/explanation/method.md, "Proof that the work was done".
    """
    client, server = window["client_commits"], window["server_commits"]
    if client is None or server is None:
        return Reason(Flag.COMMITS_UNKNOWN)
    job_s = (window["measure_to_s"] or 0.0) - (window["started_at_s"] or 0.0)
    least, most = commit_bounds(
        client,
        max(0.0, job_s),
        connections=_connections(window),
        autovacuum_runs=window["autovacuum_runs"] or 0,
    )
    if least <= server <= most:
        return None
    texts = {"server": server, "client": client, "least": least, "most": most}
    return Reason(Flag.COMMITS, {key: f"{value:,}" for key, value in texts.items()})


def _connections(window: Row) -> int:
    """All that were opened, also after a loss; where that is not known, one for each user."""
    if window["connections_opened"] is None:
        return int(window["users"])
    return int(window["connections_opened"] + (window["connections_reopened"] or 0))


def conditions(rows: Sequence[Row]) -> Reason | None:
    """A consistency condition is broken, or none was verified.

    Source: docs/explanation/method.md, "Proof that the work was done".
    """
    if not rows:
        return Reason(Flag.CONDITIONS_UNKNOWN)
    broken = sorted({int(row["number"]) for row in rows if not row["holds"]})
    if not broken:
        return None
    return Reason(Flag.CONDITIONS, {"numbers": ", ".join(map(str, broken))})


def restore(row: Row | None) -> Reason | None:
    """The window did not start from the master copy.

    Source: docs/explanation/method.md, "The same state".
    """
    return Reason(Flag.RESTORE) if row is not None and not row["identical"] else None
