"""What each table of the report must hold: a query over the rawest files, or a row's own sum.

A query names the columns by which its rows are found, and gives all rows. A function gets a row of
the report, takes names from it alone, and returns the numbers that belong there.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean
from typing import Any

from recompute import asked, bounds, cost, hosts, power, stalls, statistics, steady, work
from recompute.files import Files, Row
from recompute.levels import bounds_of, by_block, in_report, level, logs_of, printed

Expected = Mapping[str, Any]


@dataclass(frozen=True)
class Rows:
    """All rows of a table, found by `keys`."""

    keys: tuple[str, ...]
    of: Callable[[Files], Sequence[Row]]


Source = Rows | Callable[[Files, Row], Expected | None]


def query(keys: str, sql: str) -> Rows:
    """The answer to a query, with its keys in one text."""
    return Rows(tuple(keys.split()), lambda files: files.rows(sql))


def compared(files: Files, row: Row) -> Expected:
    """A verdict's ratio, its interval, and how many blocks it rests on."""
    return _compared(files, row["a"], row["b"], row["users"], row["metric"])


@cache
def _compared(files: Files, a: str, b: str, users: int, label: str) -> Expected:
    logs, bounds = logs_of(files, a, b, users, label), bounds_of(files, a, b, users, label)
    low, high = statistics.interval(logs, bounds) or (None, None)
    value = math.exp(fmean(logs)) if logs else None
    found = {"users": users, "value": value, "low": low, "high": high, "blocks": len(logs)}
    of_a, of_b = (by_block(files, name, users, label) for name in (a, b))
    apart = [of_b[turn] - of_a[turn] for turn in of_a if turn in of_b]
    ends = None if any(map(any, bounds)) else statistics.around(apart)
    less = (fmean(apart) if apart else None, *(ends or (None, None)))
    found |= dict(zip(("less", "less_low", "less_high"), less, strict=True))
    return found | dict(
        zip(("plain_low", "plain_high"), statistics.plain(logs) or (), strict=False)
    )


def a_first(files: Files, row: Row) -> list[bool]:
    """Whether the first candidate's window came first, block by block."""
    found = files.rows("SELECT * FROM win WHERE users = ?", (row["users"],))
    places = {(w["candidate"], w["block"], w["attempt"]): w["position"] for w in found}
    of_a, of_b = (by_block(files, row[x], row["users"], row["metric"]) for x in "ab")
    return [places[row["a"], *turn] < places[row["b"], *turn] for turn in of_a if turn in of_b]


def position(files: Files, row: Row) -> Expected:
    """What the later window of a block does, divided by the earlier one."""
    logs = logs_of(files, row["a"], row["b"], row["users"], row["metric"])
    found = statistics.position(logs, a_first(files, row)) or (None, None, None)
    return {"users": row["users"], **dict(zip(("value", "low", "high"), found, strict=True))}


def certain(files: Files, row: Row) -> Expected:
    """The cross-checks beside a verdict."""
    of = row["a"], row["b"], row["users"], row["metric"]
    logs = logs_of(files, *of)
    plan = files.manifest["plan"]["question"] or {}
    limit, margin = plan.get("blocks_most") or 20, plan.get("margin_share") or 0.02
    low, high = statistics.bootstrap(logs, files.manifest["seed"])
    decides = len(logs) >= min(statistics.CRITICAL)
    return {
        "users": row["users"], "lag_1": statistics.correlation(logs),
        "widened": statistics.widening(logs) if decides else None,
        "sign_flip_share": statistics.sign_flips(logs), "chance_share": _chance(files, row),
        "bootstrap_low": low, "bootstrap_high": high,
        "blocks_needed": None if _is_decided(files, row)
        else statistics.blocks_needed(logs, margin, limit, bounds_of(files, *of)),
    }  # fmt: skip


def _is_decided(files: Files, row: Row) -> bool:
    keys = ("users", "a", "b", "metric")
    rows = in_report(files, "verdicts")
    calls = [r["verdict"] for r in rows if all(r[k] == row[k] for k in keys)]
    return not any(each.startswith(("undecided", "not tested")) for each in calls)


def _chance(files: Files, row: Row) -> float | None:
    """Of the question by itself, times the pairs; of the others by Holm over their levels."""
    rows = [r for r in in_report(files, "verdicts") if (r["a"], r["b"]) == (row["a"], row["b"])]
    mine = [r for r in rows if r["metric"] == row["metric"]]
    of = {r["users"]: (r["a"], r["b"], r["users"], r["metric"]) for r in mine}
    logs = {users: logs_of(files, *each) for users, each in of.items()}
    bounds = {users: bounds_of(files, *each) for users, each in of.items()}
    questions = [r["users"] for r in mine if "(the question)" in r["verdict"]]
    if row["users"] in questions:
        count = len(files.candidates)
        plan = files.manifest["plan"]["question"] or {}
        pairs = 1 if plan.get("candidates") else count * (count - 1) // 2
        return statistics.chance(logs[row["users"]], pairs, bounds[row["users"]])
    others = {u: statistics.chance(each, 1, bounds[u])
              for u, each in logs.items() if u not in questions}  # fmt: skip
    known = {u: each for u, each in others.items() if each is not None}
    return dict(zip(known, statistics.holm(list(known.values())), strict=True)).get(row["users"])


def summary(files: Files, row: Row) -> Expected:
    """NOPM, ratio with interval, and p95 of each candidate at a level."""
    users, (first, *others) = row["users"], files.candidates
    found: Row = {"users": users}
    for name in files.candidates:
        found[f"throughput:{name}"] = level(files, name, users, "NOPM")
        found[f"p95:{name}"] = printed(files, name, users, "p95")
    for name in others:
        seen = compared(files, {"a": first, "b": name, "users": users, "metric": "NOPM"})
        found |= {f"ratio:{name}": seen["value"], f"low:{name}": seen["low"]}
        found[f"high:{name}"] = seen["high"]
    return found


def candidate(files: Files, row: Row) -> Expected:
    """A candidate at the level of the answer: what it did, whom it serves, what its device took."""
    return _candidate(files, row["candidate"], row["users"])


@cache
def _candidate(files: Files, name: str, users: int) -> Expected:
    windows = files.one(
        "SELECT count(*) FROM win WHERE valid AND candidate = ? AND users = ?", name, users
    )
    facts = next(each for each in files.manifest["candidates"] if each["name"] == name)
    nopm = level(files, name, users, "NOPM")
    served = asked.bracket(files, name)
    return {
        "users": users, "windows": windows, "throughput": nopm,
        "memory_limit_bytes": files.memory_limit(name),
        **{f"{p}_s": printed(files, name, users, p) for p in ("p95", "p99")},
        "within_users": served.low, "within_not_at": served.high,
        **device(files, name, users, emulated=bool(facts["drives"])),
    }  # fmt: skip


OPERATIONS = {"read": "reads", "write": "writes", "flush": "flushes"}
BLOCKS = "(SELECT * FROM means WHERE collector = 'block')"
"""Other collectors have metrics of the same names."""


def device(files: Files, name: str, users: int, *, emulated: bool) -> Row:
    """What operations took on the block device, what a profile asked for, and a drive's own p99."""
    found: Row = {}
    for operation in OPERATIONS:
        if emulated:
            shown = _drive(files, name, users, operation)
        else:
            shown = {
                what: files.one(
                    f"SELECT avg(most) FROM (SELECT max(value) AS most FROM {source} WHERE valid "
                    "AND candidate = ? AND users = ? AND metric = ? GROUP BY window_id)",
                    name, users, f"{metric}_s",
                )
                for what, source, metric in (
                    ("mean", "weighted", f"{operation}_latency"),
                    ("per", BLOCKS, f"{OPERATIONS[operation]}_per"),
                )
            }  # fmt: skip
        found |= {f"{operation}_{what}_s": value for what, value in shown.items()}
    return found


def _drive(files: Files, name: str, users: int, operation: str) -> Row:
    """Of several drives the slowest; percentiles by their logs, or those of the median window."""
    rows = files.rows(
        "SELECT role, median(latency_p99_s) AS p99, sum(answered) AS answers, min(logged) AS "
        "fewest, sum(answered * device_mean_s) FILTER (known) "
        "/ sum(answered) FILTER (known) AS mean, mean - sum(answered * added_mean_s) / "
        "sum(answered) FILTER (known) AS asked FROM (SELECT *, added_mean_s IS NOT NULL AS known "
        "FROM drives JOIN win USING (window_id) WHERE valid AND candidate = ? AND users = ? AND "
        "operation = ? AND answered > 0) GROUP BY role ORDER BY mean DESC",
        (name, users, operation),
    )  # fmt: skip
    if not rows:
        return {}
    where = (
        f"drive_lat WHERE valid AND candidate = '{name}' AND users = {users} "
        f"AND tag = '{operation}'"
    )
    logged = files.percentiles("role", where, {"p99": 0.99}) or rows
    windows = files.one(
        "SELECT count(*) FROM win WHERE valid AND candidate = ? AND users = ?", name, users
    )
    per_s = files.one(
        "SELECT sum(answered) FILTER (operation = ?) / (SELECT sum(measure_to_s - started_at_s) "
        "FROM win w WHERE valid AND candidate = $2 AND users = $3 AND EXISTS (SELECT 1 FROM drives "
        "d WHERE d.window_id = w.window_id)) FROM drives JOIN win USING (window_id) WHERE valid "
        "AND candidate = $2 AND users = $3".replace("?", "$1"), operation, name, users,
    )  # fmt: skip
    # Logs are merged where there are several windows; a table's is the median of its windows.
    merged = logged is not rows and windows > 1
    few = any(each["total" if merged else "fewest"] < 10_000 for each in logged)
    p99 = None if few else max(each["p99"] for each in logged)
    shown = {key: rows[0][key] for key in ("role", "mean", "asked")}
    return {**shown, "p99": p99, "per": per_s}


def finding(files: Files, row: Row) -> Expected:
    """A number of a finding, by the way to it: `effect.low`, `of.disk.1.windows`."""
    found = {"finding": row["finding"]}
    number: str = row["number"]
    if number.startswith("limits."):
        found |= _of_limits(files, number.removeprefix("limits."))
    elif row["kind"] == "comparison":
        found["value"] = _of_comparison(files, row["finding"] == 1, number)
    elif row["kind"] == "growth":
        ends = {"lowest.users": min(files.levels), "highest.users": max(files.levels)}
        if number.startswith("factors."):
            name = number.removeprefix("factors.").removesuffix(".1")
            low, high = (level(files, name, users, "NOPM") for users in ends.values())
            found["value"] = high / low if low and high else None
        else:
            found["value"] = ends[number]
    elif row["kind"] == "limits":
        found |= _of_limits(files, number)
    elif row["kind"] == "served":
        found["value"] = asked.of_search(files, number)
    elif row["kind"] == "alone":
        users, name = max(files.levels), files.candidates[0]
        of = {
            "value": level(files, name, users, "NOPM"),
            "p95_s": printed(files, name, users, "p95"),
        }
        windows = len(by_block(files, name, users, "NOPM"))
        found["value"] = {**of, "point.users": users, "windows": windows}[number]
    return found


def users_of(of: Row) -> int | None:
    """The level of a question or of a side of a threshold."""
    return int(of["point"].removeprefix("users=")) if "point" in of else None


def question(files: Files) -> Row:
    """The comparison that answers the question: names, level and metric from the verdicts."""
    rows = in_report(files, "verdicts")
    ends = {"a": files.candidates[0], "b": files.candidates[-1]}
    nothing = {**ends, "users": files.told_level, "metric": "NOPM", "verdict": ""}
    return next((row for row in [*rows, nothing] if "(the question)" in row["verdict"]), nothing)


def both_questions(files: Files) -> tuple[Row, Row]:
    """The first sentence tells of the question's metric, another of the other one."""
    first = dict(question(files))
    return first, {**first, "metric": "p95" if first["metric"] in ("NOPM", "TPM") else "NOPM"}


def _of_comparison(files: Files, first: bool, number: str) -> float | None:
    row = both_questions(files)[0 if first else 1]
    seen = compared(files, row)
    logs = logs_of(files, row["a"], row["b"], row["users"], row["metric"])
    if number.startswith("effect.apart."):
        return logs[int(number.removeprefix("effect.apart."))]
    if number.startswith("effect.bounds."):
        block, end = map(int, number.removeprefix("effect.bounds.").split("."))
        return bounds_of(files, row["a"], row["b"], row["users"], row["metric"])[block][end]
    plan = files.manifest["plan"]["question"] or {}
    target = asked.limit_of(files)
    known = {
        "target.limit_s": target[0]["limit_s"] if target else None,
        "point.users": row["users"], "effect.ratio": seen["value"], "effect.low": seen["low"],
        "effect.high": seen["high"], "effect.pairs": len(logs), "verdict.blocks": len(logs),
        "verdict.margin_share": plan.get("margin_share") or 0.02,
        "effect.difference.mean": seen["less"], "effect.difference.low": seen["less_low"],
        "effect.difference.high": seen["less_high"],
        "instead_of.users": users_of(plan) or max(files.levels),
        **{f"value_{x}": level(files, row[x], row["users"], row["metric"]) for x in "ab"},
    }  # fmt: skip
    return known.get(number)


def limited_most(files: Files, name: str, users: int) -> tuple[int, list[str], list[str]] | None:
    """Of how many valid windows how many have the commonest limit, by its words; and which."""
    by = {row["window_id"]: row["by"] for row in in_report(files, "limited")}
    valid = files.rows(
        "SELECT window_id FROM win WHERE valid AND candidate = ? AND users = ? ORDER BY block, "
        "attempt", (name, users),
    )  # fmt: skip
    known = {each["window_id"]: by[each["window_id"]] for each in valid if each["window_id"] in by}
    if not known:
        return None
    kinds = list(known.values())
    commonest = max(kinds, key=kinds.count)
    mine = [each for each, kind in known.items() if kind == commonest]
    return len(mine), list(known), mine


def _of_limits(files: Files, number: str) -> Expected:
    """Windows are counted by what the report says of them; shares stand in `limits`."""
    users = question(files)["users"]
    if number == "point.users":
        return {"value": users}
    name, _, what = number.removeprefix("of.").rpartition(".1.")
    most, every, mine = limited_most(files, name, users) or (0, [], [])
    counts = {"windows": most, "windows_all": len(every)}
    if what in counts:
        return {"value": counts[what]}
    seen = [bounds.of_windows(files)[each] for each in mine]
    if what in ("samples", "storage_samples"):
        return {"value": sum(each["samples"] for each in seen)}
    if what == "storage_share":
        known = [each["storage_share"] for each in seen if each["storage_share"] is not None]
        return {"value": fmean(known) if known else None}
    if what == "cpus_share":
        of_all = [bounds.of_windows(files)[each] for each in every]
        cpus = [[each[f"{who}-cpu"] for each in of_all] for who in ("server", "host")]
        return {"value": [fmean(each) for each in cpus if None not in each][:1]}
    return {"value": shares_of_most(files, name, users)}


def shares_of_most(files: Files, name: str, users: int) -> list[float]:
    """Which bound it is stands in words: means of all that were reached, and of the first."""
    _, _, mine = limited_most(files, name, users) or (0, [], [])
    seen = [bounds.of_windows(files)[each] for each in mine]
    keys = seen[0] if seen else {}
    reached = [[each[key] for each in seen if each[key] is not None] for key in keys]
    return [value for each in reached if each for value in (fmean(each), each[0])]


def identity(files: Files, row: Row) -> Expected:
    """Both sides of a law, their difference, and what is allowed of it."""
    if row["left"] is None:
        return {}
    [win] = files.rows("SELECT * FROM win WHERE window_id = ?", (row["window_id"],))
    types = files.rows(
        "SELECT *, committed + rolled_back AS done FROM tx WHERE window_id = ? AND transaction "
        "<> 'all'", (row["window_id"],),
    )  # fmt: skip
    total, failed = (sum(each[name] for each in types) for name in ("done", "errors"))
    if row["name"].startswith("TPM"):
        left, right, allowed = win["tpm"], total * 60 / win["measured_s"], 0.001
    elif row["name"].startswith("users"):
        waited = sum(each["done"] * (each["response_mean_s"] or 0.0) for each in types)
        is_cut = failed or win["errors"] or win["errors_expected"]
        gap_s = (win["user_gap_max_s"] or win["longest_response_s"]) if is_cut else 0.0
        left, right = win["users"], waited / win["measured_s"]
        allowed = 0.05 + max(win["longest_response_s"], gap_s) / win["measured_s"]
        allowed += failed * gap_s / win["measured_s"] / win["users"]
        if win["pace"] == "think":
            right += (total + failed) / win["measured_s"] * win["think_mean_s"]
            allowed += 5 / math.sqrt(total)
        elif win["pace"] != "none":
            return {}
    else:
        name = row["name"].removeprefix("share of ").partition(" = ")[0]
        left, done = row["left"], next(e["done"] for e in types if e["transaction"] == name)
        ends = min(win["users"], win["connections_opened"] or win["users"]) + (win["backlog"] or 0)
        ends += failed
        allowed = (5 * math.sqrt(left * (1 - left) / total) + ends / total) / left
        right = done / total
    return {
        "left": left, "right": right, "off_share": right / left - 1, "tolerance_share": allowed,
    }  # fmt: skip


def device_of(files: Files, row: Row) -> Expected:
    """The device of a candidate by operation, at the level of the answer."""
    found = candidate(files, {**row, "users": files.told_level})
    return {
        f"{what}_s": found.get(f"{row['operation']}_{what}_s")
        for what in ("per", "mean", "asked", "p99")
    }


def of_type(files: Files, row: Row) -> Expected:
    """A percentile of a transaction type: of each candidate where enough values lie beyond it."""
    label = f"{row['percentile']} of {row['transaction']}"
    seen = compared(files, {**row, "metric": label})
    return {
        "users": files.told_level, "ratio": seen["value"],
        **{f"{x}_s": printed(files, row[x], files.told_level, label) for x in "ab"},
        **{name: seen[name] for name in ("low", "high", "blocks")},
    }  # fmt: skip


def counted(files: Files, row: Row) -> Expected:
    """How many windows a row names."""
    del files
    return {"count": len(row["window_ids"].split(", "))}


def drive_facts(files: Files, row: Row) -> Expected:
    """An emulated drive, as the manifest has it."""
    of = next(each for each in files.manifest["candidates"] if each["name"] == row["candidate"])
    # Of several drives of a role each has a name of its own.
    return next(each for each in of["drives"] if row["role"] in (each.get("name"), each["role"]))


WINDOWS = (
    "SELECT w.*, t.committed + t.rolled_back AS done, CASE WHEN done >= 200 THEN "
    "t.response_p50_s END AS response_p50_s, CASE WHEN done >= 2000 THEN t.response_p95_s END AS "
    "response_p95_s, CASE WHEN done >= 10000 THEN t.response_p99_s END AS response_p99_s, CASE "
    "WHEN done >= 10000 THEN t.pool_wait_p99_s END AS pool_wait_p99_s FROM win w LEFT JOIN tx t "
    "ON w.window_id = t.window_id AND t.transaction = 'all'"
)
STEADY = ("range_share", "slope_share", "late_s", "late_share")


def _windows(files: Files) -> list[Row]:
    """What each window did, and how steady it was where that can be reported."""
    unknown = dict.fromkeys(STEADY)
    known = steady.of_windows(files)
    return [{**row, **known.get(row["window_id"], unknown)} for row in files.rows(WINDOWS)]


def planned(files: Files, row: Row) -> Expected:
    """Of a candidate: the points of the plan, and what became of them."""
    points = [int(each.removeprefix("users=")) for each in files.manifest["plan"]["points"]]
    skipped = files.manifest["plan"]["skipped"]
    known = {
        column: files.column(
            f"SELECT DISTINCT users FROM win WHERE candidate = ? AND {where}", (row["candidate"],)
        )
        for column, where in (("measured", "tpm IS NOT NULL"), ("valid", "valid"))
    }
    return {
        "planned": len(points),
        "not_needed": sum(f"w-{row['candidate']}-u{each}-b0" in skipped for each in points),
        **{column: len({*points} & {*users}) for column, users in known.items()},
    }


TABLES: dict[str, Source] = {
    "points": planned,
    "power": power.of_level,
    "meters": power.of_meter,
    "hosts": hosts.of_part,
    "host-parts": hosts.of_part,
    "exporters": hosts.of_exporter,
    "summary": summary,
    "verdicts": compared,
    "certainty": certain,
    "orders": position,
    "devices": device_of,
    "types": of_type,
    "search": asked.searched,
    "thresholds": asked.threshold,
    "work": work.of_level,
    "stalls": stalls.row,
    "candidates": candidate,
    "costs": cost.of_candidate,
    "cost-terms": cost.of_term,
    "prices": cost.of_input,
    "measured": cost.of_level,
    "findings": finding,
    "identities": identity,
    "reasons": counted,
    "reasons-gathered": counted,
    "limited-levels": lambda files, row: (
        {"users": row["users"]} if row["users"] in files.levels else {}
    ),
    "limited": lambda files, row: bounds.of_windows(files)[row["window_id"]],
    "facts-drives": drive_facts,
    "windows": Rows(("window_id",), _windows),
    "driver": query(
        "window_id",
        "SELECT window_id, lateness_p99_s, service_p50_s, driver_cpu_s, driver_run_queue_s, "
        "driver_nice, connections_opened, connections_lost, first_success_s, driver_cpu_s / "
        "transactions AS cpu_per_transaction_s, (transactions + coalesce(backlog, 0)) / "
        "measured_s AS asked_per_s, asked_per_s AS rate_per_s, asked_per_s / driver_rate_per_s_max "
        "AS rate_share, users / driver_users_max AS users_share FROM win",
    ),
    "proof": query(
        "window_id",
        "SELECT window_id, proof_after - proof_before AS proof_grown, "
        "headline_acknowledged, headline_in_doubt, headline_in_doubt_found, client_commits, "
        "server_commits FROM win",
    ),
    "conditions": query(
        "moment candidate",
        "SELECT moment, candidate, count(*) AS verified, count(*) FILTER (holds) AS held, "
        "sum(violations) AS violations, sum(duration_s) AS duration_s FROM (SELECT * FROM "
        "run_conditions UNION ALL BY NAME SELECT * FROM window_conditions) GROUP BY ALL",
    ),
    "conditions-broken": query(
        "candidate window_id moment number",
        "SELECT * FROM (SELECT * FROM run_conditions UNION ALL BY NAME SELECT * FROM "
        "window_conditions) WHERE NOT holds",
    ),
    "restores": query(
        "window_id",
        "SELECT r.*, w.warm_up_s FROM restores r LEFT JOIN win w ON r.window_id = w.window_id",
    ),
    "ledger": query("window_id deal", "SELECT * FROM ledger"),
    "ledger-findings": query("window_id deal kind text", "SELECT * FROM ledger_findings"),
    "ledgers-written": query(
        "window_id",
        "SELECT window_id, ledger_acknowledged, ledger_sync_max_s FROM win WHERE "
        "ledger_acknowledged IS NOT NULL OR ledger_unverified_because IS NOT NULL",
    ),
    "drives": query(
        "window_id role operation",
        "SELECT * REPLACE (CASE WHEN logged >= 200 THEN latency_p50_s END AS latency_p50_s, CASE "
        "WHEN logged >= 10000 THEN latency_p99_s END AS latency_p99_s), late_answers / "
        "nullif(answered, 0) AS late_share FROM drives WHERE answered > 0",
    ),
    "storage-cpu": query("candidate users", work.STORAGE_CPU),
    "cluster-parts": Rows(("candidate", "users", "part"), work.of_cluster_parts),
    "baseline": query(
        "window_id",
        "SELECT *, regexp_extract(point, 'users=(\\d+)', 1)::BIGINT AS users, "
        "one_rounds_per_s / (SELECT median(one_rounds_per_s) FROM baseline) - 1 AS "
        "one_share, all_rounds_per_s / (SELECT median(all_rounds_per_s) FROM baseline) - 1 AS "
        "all_share, read_p50_s / (SELECT median(read_p50_s) FROM baseline) - 1 AS read_share "
        "FROM baseline",
    ),
}
