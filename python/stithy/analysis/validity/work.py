"""Was the work done that was acknowledged, are the data right, and do the numbers agree?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from stithy.analysis.validity.reasons import Flag, Reason, clause
from stithy.engines import CommitAllowance, Declaration
from stithy.workload.workload import Workload

Row = Mapping[str, Any]

TOLERANCE_SHARE = 0.05
"""Own: what time stamps and the ends of a window may do to a sum that is otherwise exact."""

CHANCE_SD = 5.0
"""Own: draws are allowed to be so many standard deviations off, beyond which chance brings one in
two million."""


@dataclass(frozen=True)
class Identity:
    """One law at one window: both sides, and whether they agree within the tolerance.

    Shares are of the left side. `left`, `right`, `off_share`, `tolerance_share` are None with a
    reason where a side is not known.
    """

    name: str
    window_id: str
    left: float | None
    right: float | None
    off_share: float | None
    tolerance_share: float | None
    holds: bool | None
    missing_because: str | None = None


@dataclass(frozen=True)
class Facts:
    """What the laws are about: a window's row, its transactions by type, and its workload."""

    row: Row
    types: Mapping[str, Row]
    workload: Workload | None

    @property
    def length_s(self) -> float | None:
        """Length of the measurement, seconds."""
        begin, end = self.row["measure_from_s"], self.row["measure_to_s"]
        return None if begin is None or end is None or end <= begin else float(end - begin)

    @property
    def done(self) -> dict[str, int]:
        """Completed transactions by type, those with any."""
        counts = {
            name: each["committed"] + each["rolled_back"] for name, each in self.types.items()
        }
        return {name: count for name, count in counts.items() if count}


def check(row: Row, types: Mapping[str, Row], workload: Workload | None) -> tuple[Identity, ...]:
    """All laws that a window must obey; none where it has no numbers.

    `types` are the window's rows of `transactions` by type, `all` apart. Without a workload neither
    the mix nor the pauses are known.
    """
    if row["missing_because"] is not None or row["tpm"] is None:
        return ()
    facts = Facts(row, types, workload)
    closed = () if row["pace"] == "rate" else (users_in_closed_loop(facts),)
    return (*closed, parts_and_whole(facts), mix(facts))


def users_in_closed_loop(facts: Facts) -> Identity:
    """Little's law: users = transactions per second x (mean response time + mean pause).

    The response of a deferred transaction is nothing to its user. A user who waits at either end of
    the window brings at most the longest response into it, or takes it out; pauses that are drawn
    make the number of transactions of a window a draw, too, with at most the variance of Poisson's
    law.
    Source: Little (1961).
    """
    paced = facts.row["pace"] != "none"
    name = "users = throughput × " + ("(response + pause)" if paced else "mean response time")
    response_s, pause_s = _response_s(facts), _pause_s(facts)
    total, length_s = facts.row["transactions"], facts.length_s
    longest_s = facts.row["longest_response_s"]
    if response_s is None or longest_s is None or not total or length_s is None:
        return _unknown(name, facts, "the window has no response times")
    if pause_s is None:
        return _unknown(name, facts, "the pauses of the workload are not known")
    tolerance = TOLERANCE_SHARE + longest_s / length_s
    tolerance += CHANCE_SD / sqrt(total) if paced else 0.0
    users = float(facts.row["users"])
    return _compare(name, facts, users, total / length_s * (response_s + pause_s), tolerance)


def parts_and_whole(facts: Facts) -> Identity:
    """TPM = sum of all transaction types per minute of measurement.

    Own: the merged count must equal the sum of its parts exactly; 5 % is only for rounding of time.
    """
    name = "TPM = sum over the transaction types"
    tpm, length_s = facts.row["tpm"], facts.length_s
    if not facts.types or length_s is None:
        return _unknown(name, facts, "the window has no transactions")
    total = sum(facts.done.values())
    return _compare(name, facts, tpm, total / (length_s / 60), TOLERANCE_SHARE)


def mix(facts: Facts) -> Identity:
    """Each type's share of the transactions = its share of the profile's mix, the farthest shown.

    Besides chance, a transaction of each connection may be under way at the end, and some may not
    have begun.
    Own: the binomial law of a type that is drawn with a known probability.
    """
    done, total = facts.done, sum(facts.done.values())
    if facts.workload is None or not total:
        return _unknown("mix = that of the profile", facts, "the mix is not known")
    shares = facts.workload.shares
    open_ends = min(facts.row["users"], facts.row["connections_opened"] or facts.row["users"])
    open_ends += facts.row["backlog"] or 0
    allowed = {
        name: CHANCE_SD * sqrt(share * (1 - share) / total) + open_ends / total
        for name, share in shares.items()
    }
    off = {name: abs(done.get(name, 0) / total - share) for name, share in shares.items()}
    far = max(shares, key=lambda name: off[name] / allowed[name])
    name = f"share of {far} = that of the profile {facts.row['profile']}"
    share = shares[far]
    return _compare(name, facts, share, done.get(far, 0) / total, allowed[far] / share)


def _response_s(facts: Facts) -> float | None:
    """Mean of what users waited for an answer; None where a type's is not known."""
    deferred = _deferred(facts)
    total, waited_s = sum(facts.done.values()), 0.0
    for name, count in facts.done.items():
        if name not in deferred:
            if (mean_s := facts.types[name]["response_mean_s"]) is None:
                return None
            waited_s += count * mean_s
    return waited_s / total if total else None


def _deferred(facts: Facts) -> set[str]:
    if facts.row["pace"] != "keyed" or facts.workload is None:
        return set()
    return {each.name for each in facts.workload.transactions if each.deferred}


def _pause_s(facts: Facts) -> float | None:
    """Mean pause between an answer and the next transaction, of the mix as it was done."""
    pace = facts.row["pace"]
    if pace != "keyed":
        return float(facts.row["think_mean_s"]) if pace == "think" else 0.0
    if facts.workload is None or not facts.done:
        return None
    pauses = {each.name: each.pause_s for each in facts.workload.transactions}
    if not facts.done.keys() <= pauses.keys():
        return None
    total = sum(facts.done.values())
    return sum(count * pauses[name] for name, count in facts.done.items()) / total


def _unknown(name: str, facts: Facts, because: str) -> Identity:
    return Identity(name, facts.row["window_id"], None, None, None, None, None, because)


def _compare(name: str, facts: Facts, left: float, right: float, tolerance: float) -> Identity:
    window_id = facts.row["window_id"]
    if left == 0:
        because = "the left side is 0"
        return Identity(name, window_id, left, right, None, tolerance, right == 0, because)
    off = right / left - 1
    return Identity(name, window_id, left, right, off, tolerance, abs(off) <= tolerance)


def commit_bounds(
    allowed: CommitAllowance,
    client_commits: int,
    job_s: float,
    *,
    connections: int,
    maintenance_runs: int,
) -> tuple[int, int]:
    """Least and greatest growth of the server's commit counter that agrees with the driver's count.

    Units: `job_s` seconds from the first reading to the last.
    """
    extra = allowed.more + allowed.per_connection * connections
    extra += round(allowed.per_s * job_s) + allowed.per_maintenance_run * maintenance_runs
    return client_commits - allowed.fewer, client_commits + extra


def commit_rule(engine: Declaration) -> str:
    """The allowance of `commit_bounds` in words, for the report.

    Own: from its numbers, so that it cannot say anything else.
    """
    of = engine.commits
    each = [f"{of.per_connection} for each connection", f"{of.per_s:g} for each second"]
    if of.per_maintenance_run:
        each.append(f"{of.per_maintenance_run} for each run of {engine.maintenance}")
    *firsts, last = each
    return f"{of.more}, plus {', '.join(firsts)} and {last}. It may be lower by at most {of.fewer}"


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


def commits(window: Row, engine: Declaration) -> Reason | None:
    """Server and driver do not count the same commits.

    Source: docs/explanation/method.md, "Proof that the work was done".
    """
    client, server = window["client_commits"], window["server_commits"]
    if client is None or server is None:
        return Reason(Flag.COMMITS_UNKNOWN)
    job_s = (window["measure_to_s"] or 0.0) - (window["started_at_s"] or 0.0)
    least, most = commit_bounds(
        engine.commits,
        client,
        max(0.0, job_s),
        connections=_connections(window),
        maintenance_runs=window["maintenance_runs"] or 0,
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


GONE = {
    "lost": "lost",
    "differing": "with other numbers or amounts",
    "returned": "there although refused",
}
"""The counts that must be 0, and what each is called after its number."""


def gone(ledger: Sequence[Row], findings: Sequence[Row]) -> Reason | None:
    """Something acknowledged is lost or differs, or something refused is there.

    Source: docs/reference/ledger.md, "What it proves".
    """
    parts = [
        f"{_deals(row, count)} {text}"
        for row in ledger
        for count, text in GONE.items()
        if row[count]
    ]
    if not parts:
        return None
    kinds = ("lost", "differs", "returned")
    examples = [str(row["text"]) for row in findings if row["kind"] in kinds]
    example = examples[0] if examples else "none that is named"
    return Reason(Flag.LEDGER, {"gone": ", ".join(parts), "example": clause(example)})


def unverified(window: Row) -> Reason | None:
    """A ledger was kept but not compared with the database."""
    because = window["ledger_unverified_because"]
    return Reason(Flag.LEDGER_UNVERIFIED, {"because": clause(because)}) if because else None


def cut(window: Row) -> Reason | None:
    """The ledger could not be written to its end."""
    because = window["ledger_problem"]
    return Reason(Flag.LEDGER_CUT, {"because": clause(because)}) if because else None


def unknown(ledger: Sequence[Row]) -> Reason | None:
    """Rows in the database, dated within the ledger's time, that it does not know.

    Source: docs/reference/ledger.md, "What it proves".
    """
    parts = [_deals(row, "unknown") for row in ledger if row["unknown"]]
    return Reason(Flag.LEDGER_UNKNOWN, {"unknown": " and ".join(parts)}) if parts else None


def shares(window: Row) -> Reason | None:
    """The ledger lay where the candidate's volume lies.

    Own: its syncs load the device under test, and what that loses it may lose.
    """
    what = window["ledger_shares"]
    return Reason(Flag.LEDGER_SHARES, {"what": clause(what)}) if what else None


def _deals(row: Row, count: str) -> str:
    """`1 order`, `2 payments`."""
    return f"{row[count]:,} {row['deal']}{'' if row[count] == 1 else 's'}"
