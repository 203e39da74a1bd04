"""Was the work done that was acknowledged, are the data right, and do the numbers agree?"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

from stithy.activity import count_users
from stithy.engines.declaration import CommitAllowance, Declaration
from stithy.metrics import find_uncollected
from stithy.point import Point
from stithy.validity import Row
from stithy.workloads.workload import Workload

TOLERANCE_SHARE = 0.05
SUM_TOLERANCE_SHARE = 0.001
"""Own: what time stamps and the ends of a window may do to a law that is otherwise exact, and
rounding to a sum."""

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
class WindowFacts:
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

    @property
    def done_by_users(self) -> dict[str, int]:
        """Those that users began; all where the workload is not known."""
        others = self.workload.begun_by_others if self.workload else ()
        return {name: count for name, count in self.done.items() if name not in others}

    @property
    def failed(self) -> int:
        """Transactions that failed: their users waited and paused for them, too."""
        return sum(each["errors"] for each in self.types.values())


def check_invariants(
    row: Row, types: Mapping[str, Row], workload: Workload | None
) -> tuple[Identity, ...]:
    """All laws that a window must obey; none where it has no numbers.

    `types` are the window's rows of `transactions` by type, `all` apart. Without a workload neither
    the mix nor the pauses are known.
    """
    if row["missing_because"] is not None or row["tpm"] is None:
        return ()
    facts = WindowFacts(row, types, workload)
    closed = () if row["pace"] == "rate" else (check_users_in_closed_loop(facts),)
    return (*closed, check_parts_and_whole(facts), check_mix(facts))


def check_users_in_closed_loop(facts: WindowFacts) -> Identity:
    """Little's law: users = transactions per second x (mean response time + mean pause).

    The response of a deferred transaction is nothing to its user. A user who waits at either end of
    the window brings at most the longest response into it, or takes it out; pauses that are drawn
    make the number of transactions of a window a draw, too, with at most the variance of Poisson's
    law. Of a failed transaction only the pause is known. Its time is within a gap of its user; so
    is that of one that waits for a connection when the window ends. A wait that ended is of the
    response.
    Source: Little (1961).
    """
    paced = facts.row["pace"] != "none"
    name = "users = throughput × " + ("(response + pause)" if paced else "mean response time")
    response_s, pause_s = _average_response_s(facts), _pause_s(facts)
    total, length_s = sum(facts.done_by_users.values()), facts.length_s
    longest_s = facts.row["longest_response_s"]
    if response_s is None or longest_s is None or not total or length_s is None:
        return _make_unknown(name, facts, "the window has no response times")
    if pause_s is None:
        return _make_unknown(name, facts, "the pauses of the workload are not known")
    users, failed = float(count_users(facts.row)), facts.failed
    has_failed = failed or facts.row["errors"] or facts.row["errors_expected"]
    gap_s = (facts.row["user_gap_max_s"] or longest_s) if has_failed else 0.0
    tolerance = TOLERANCE_SHARE + max(longest_s, gap_s) / length_s
    tolerance += CHANCE_SD / sqrt(total) if paced else 0.0
    tolerance += failed * gap_s / (users * length_s) if failed else 0.0
    occupied_s = total * response_s + (total + failed) * pause_s
    return _compare(name, facts, users, occupied_s / length_s, tolerance)


def check_parts_and_whole(facts: WindowFacts) -> Identity:
    """TPM = sum of all transaction types per minute of measurement.

    Own: the merged count must equal the sum of its parts exactly.
    """
    name = "TPM = sum over the transaction types"
    tpm, length_s = facts.row["tpm"], facts.length_s
    if not facts.types or length_s is None:
        return _make_unknown(name, facts, "the window has no transactions")
    total = sum(facts.done.values())
    return _compare(name, facts, tpm, total / (length_s / 60), SUM_TOLERANCE_SHARE)


def check_mix(facts: WindowFacts) -> Identity:
    """Each type's share of what users begin = its share of the workload's mix, the farthest shown.

    Besides chance, a transaction of each connection may be under way at the end, and some may have
    failed, or not have begun.
    Own: the binomial law of a type that is drawn with a known probability.
    """
    done, total = facts.done_by_users, sum(facts.done_by_users.values())
    if facts.workload is None or not total:
        return _make_unknown("mix = that of the workload", facts, "the mix is not known")
    shares = facts.workload.shares
    users = count_users(facts.row)
    open_ends = min(users, facts.row["connections_opened"] or users)
    open_ends += (facts.row["backlog"] or 0) + facts.failed
    allowed = {
        name: CHANCE_SD * sqrt(share * (1 - share) / total) + open_ends / total
        for name, share in shares.items()
    }
    off = {name: abs(done.get(name, 0) / total - share) for name, share in shares.items()}
    far = max(shares, key=lambda name: off[name] / allowed[name])
    name = f"share of {far} = that of the workload"
    share = shares[far]
    return _compare(name, facts, share, done.get(far, 0) / total, allowed[far] / share)


def _average_response_s(facts: WindowFacts) -> float | None:
    """Mean of what users waited for an answer; None where a type's is not known."""
    is_keyed = facts.row["pace"] == "keyed"
    kinds = facts.workload.transactions if facts.workload and is_keyed else ()
    deferred = {kind.name for kind in kinds if kind.deferred}
    done, waited_s = facts.done_by_users, 0.0
    total = sum(done.values())
    for name, count in done.items():
        if name not in deferred:
            if (mean_s := facts.types[name]["response_mean_s"]) is None:
                return None
            waited_s += count * mean_s
    return waited_s / total if total else None


def _pause_s(facts: WindowFacts) -> float | None:
    pace = facts.row["pace"]
    if pace != "keyed":
        return float(facts.row["think_mean_s"]) if pace == "think" else 0.0
    if facts.workload is None or not facts.done:
        return None
    pauses = {
        kind.name: kind.pause_s for kind in facts.workload.transactions if kind.pause_s is not None
    }
    if not facts.done.keys() <= pauses.keys():
        return None
    total = sum(facts.done.values())
    return sum(count * pauses[name] for name, count in facts.done.items()) / total


def _make_unknown(name: str, facts: WindowFacts, because: str) -> Identity:
    return Identity(name, facts.row["window_id"], None, None, None, None, None, because)


def _compare(
    name: str, facts: WindowFacts, left: float, right: float, tolerance: float
) -> Identity:
    window_id = facts.row["window_id"]
    if left == 0:
        because = "the left side is 0"
        return Identity(name, window_id, left, right, None, tolerance, right == 0, because)
    off = right / left - 1
    return Identity(name, window_id, left, right, off, tolerance, abs(off) <= tolerance)


def bound_commits(
    allowed: CommitAllowance,
    client_commits: int,
    job_s: float,
    *,
    connections: int,
    maintenance_runs: int,
    servers: int = 1,
    drivers: int = 1,
) -> tuple[int, int]:
    """Least and greatest growth of the server's commit counter that agrees with the driver's count.

    Units: `job_s` seconds from the first reading to the last; of several `servers` together the
    counters, connections and maintenance runs of all. `drivers`: of one server, as agents are.
    """
    extra = allowed.per_connection * connections + allowed.per_maintenance_run * maintenance_runs
    extra += servers * (drivers * allowed.more + round(allowed.per_s * job_s))
    return client_commits - servers * allowed.fewer, client_commits + extra


def is_one_commit(window: Row, allowed: CommitAllowance, workload: Workload | None) -> bool:
    """Whether the server counts each transaction of a window as one commit.

    `window`: its row. What is not known of workload and options counts as usual.
    """
    if workload is None or not window["options"]:
        return True
    options = Point.parse(window["options"]).values
    return workload.is_one_commit(options, counts_statements=allowed.counts_statements)


def describe_commit_rule(engine: Declaration) -> str:
    """The allowance of `bound_commits` in words, from its numbers: it cannot say anything else."""
    of = engine.commits
    assert of is not None  # nothing is compared where an engine counts none
    each = [f"{of.per_connection} for each connection", f"{of.per_s:g} for each second"]
    if of.per_maintenance_run:
        each.append(f"{of.per_maintenance_run} for each run of {engine.maintenance}")
    *firsts, last = each
    most = f"{of.more} for each load driver, {', '.join(firsts)} and {last}"
    return f"{most}. It may be lower by at most {of.fewer}"


def count_servers(values: Mapping[tuple[str, str], Row]) -> int:
    """Count the servers whose counters a window adds up, by its values that are of one server."""
    of_one = Counter(
        name
        for (name, _), row in values.items()
        if row["value"] is not None and (metric := find_uncollected(name)) and metric.of_instance
    )
    return max(of_one.values(), default=1)
