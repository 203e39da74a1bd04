"""The tables of each window against what the programs wrote: messages line by line, latency logs.

A run without these files, as a made-up one, has no rawer ones than its tables.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from recompute.files import Files, Row
from recompute.levels import SHARES
from recompute.tables import Rows

COUNTS = ("committed", "rolled_back", "errors", "retries")
DISTRIBUTION = (
    "sum(count * (low_us + (high_us - low_us + 1) // 2)) / sum(count) / 1e6 AS mean, "
    "min(low_us) / 1e6 AS min, max(high_us) / 1e6 AS max"
)


def sources(files: Files) -> Iterator[tuple[str, Rows, str]]:
    """Name of a table, what it must hold, and a query for what it holds."""
    names = [p.parent.name for p in sorted(files.root.glob("windows/*/hammer.jsonl"))]
    if not names:
        return
    whole = {name: _messages(files.root / "windows" / name / "hammer.jsonl") for name in names}
    summaries = {n: _of(m, "run-summary")[-1] for n, m in whole.items() if _of(m, "run-summary")}
    mine = f"window_id IN ({', '.join(map(repr, summaries))})"
    for table, keys, rows, query in (
        ("window", "window_id", [_window(files, n, s) for n, s in summaries.items()],
         f"SELECT * FROM window_rows WHERE {mine}"),
        ("transactions", "window_id transaction", _transactions(files, summaries),
         f"SELECT * FROM tx_rows WHERE {mine}"),
        ("seconds", "window_id second transaction", _seconds(files, whole),
         f"SELECT * FROM seconds WHERE {mine}"),
        ("histograms", "window_id kind transaction lowest_s", files.rows(BUCKETS),
         f"SELECT * FROM read_parquet('{files.root}/windows/*/histograms.parquet')"),
        ("drives", "window_id role operation", _drives(files),
         "SELECT * FROM drives WHERE latency_p50_s IS NOT NULL"),
        ("baseline", "one_rounds_per_s", _baselines(files.root), "SELECT * FROM baseline"),
        ("ledger", "window_id deal", list(_ledgers(files.root)), "SELECT * FROM ledger"),
    ):  # fmt: skip
        yield table, Rows(tuple(keys.split()), partial(_known, rows)), query


def _known(rows: list[Row], files: Files) -> list[Row]:
    return rows


BUCKETS = (
    "SELECT window_id, kind, tag AS transaction, low_us / 1e6 AS lowest_s, high_us / 1e6 AS "
    "highest_s, CASE WHEN low_us < 2048 THEN low_us ELSE ((floor(log2(low_us)) - 10) * 1024 + "
    "floor(low_us / pow(2, floor(log2(low_us)) - 10))) END AS bucket, sum(count) AS count "
    "FROM lat WHERE measured AND kind != 'late' GROUP BY ALL"
)


def _messages(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _of(messages: list[Row], kind: str) -> list[Row]:
    return [each for each in messages if each["message"] == kind]


def _window(files: Files, name: str, summary: Row) -> Row:
    totals, told, sizes = summary["transactions"], summary["workload"], summary["sizes"]
    numbers, driver = summary["proof"], summary["driver"]
    ledger = summary["ledger"] or {}
    place = re.search(r"-b(\d+)(-again)?$", name)
    merged = files.percentiles(
        "kind", f"lat WHERE measured AND window_id = '{name}'", {"p50": 0.5, "p99": 0.99}
    )
    kinds = {each["kind"]: each for each in merged}
    logged = {
        "service_p50_s": kinds.get("service", {}).get("p50"),
        "lateness_p99_s": kinds.get("late", {}).get("p99"),
        "longest_response_s": files.one("SELECT max(high_us) / 1e6 FROM lat WHERE kind = "
                                        "'response' AND window_id = ?", name),
        "block": int(place[1]) if place else None, "attempt": int(bool(place and place[2])),
        "driver_rate_per_s_max": files.manifest["calibration"]["rate_per_s_max"],
        "driver_others_share": files.manifest["calibration"].get("others_share"),
        "think_mean_s": files.manifest["load"].get("think_s"),
        "driver_users_max": files.manifest["calibration"]["users_max"],
        "memory_limit_bytes": files.memory_limit(
            files.one("SELECT candidate FROM win WHERE window_id = ?", name)
        ),
    }  # fmt: skip
    minutes = (summary["measure_to_s"] - summary["measure_from_s"]) / 60
    orders = sum(each["committed"] for each in totals if each["name"] == "new-order")
    done = sum(each["committed"] + each["rolled_back"] for each in totals)
    return {
        "window_id": name, **logged, "headline_committed": orders, "transactions": done,
        "headline_per_min": orders / minutes,
        "headline_per_s": orders / (60 * minutes), "tpm": done / minutes,
        "errors": sum(each["count"] for each in summary["errors"]),
        "retries": sum(each["retries"] for each in totals),
        **{f"connections_{k}": summary["connections"][k] for k in ("opened", "lost", "reopened")},
        "first_success_s": summary["connections"]["first_success_s"],
        "gap_s": summary["gaps"]["longest_s"], "gap_from_s": summary["gaps"]["longest_from_s"],
        **{f"user_gap_{k}_s": summary["gaps"][f"user_{k}_s"] for k in ("p50", "p99", "max")},
        **{k: told.get(k) for k in ("units_touched", "units_total", "results_open")},
        "database_bytes": sizes["database_bytes"], "buffer_pool_bytes": sizes["cache_bytes"],
        "driver_nice": driver["nice"], "driver_cpu_s": driver["cpu_s"],
        "driver_run_queue_s": driver["run_queue_delay_s"],
        "proof_before": numbers["before"], "proof_after": numbers["after"],
        **{f"headline_{k}": numbers[k] for k in ("acknowledged", "in_doubt", "in_doubt_found")},
        "client_commits": summary["commits"], "client_rollbacks": summary["rollbacks"],
        "ledger_acknowledged": ledger.get("acknowledged"),
        "ledger_sync_max_s": ledger.get("slowest_sync_s"),
        **{k: summary[k] for k in ("started_at_s", "measure_from_s", "measure_to_s", "users",
                                   "suppressed_arrivals", "backlog")},
    }  # fmt: skip


def _logged(files: Files, keys: str, where: str) -> dict[tuple[Any, ...], Row]:
    """Percentiles, mean and ends of merged logs by these keys."""
    names = keys.split(", ")
    ends = files.rows(f"SELECT {keys}, {DISTRIBUTION} FROM {where} GROUP BY ALL")
    found = {tuple(row[k] for k in names): row for row in ends}
    for row in files.percentiles(keys, where, SHARES):
        found[tuple(row[k] for k in names)] |= row
    return found


def _transactions(files: Files, summaries: Mapping[str, Row]) -> list[Row]:
    """Counts as told; distributions by the logs."""
    by_type = _logged(files, "window_id, kind, tag", "lat WHERE measured")
    of_all = _logged(files, "window_id, kind", "lat WHERE measured")
    rows = []
    for name, summary in summaries.items():
        for each in summary["transactions"]:
            row = {"window_id": name, "transaction": each["name"], **{k: each[k] for k in COUNTS}}
            for kind in ("response", "service", "pool_wait"):
                logged = by_type.get((name, kind.replace("_", "-"), each["name"]), {})
                row |= {f"{kind}_{k}_s": logged.get(k) for k in (*SHARES, "mean", "min", "max")}
            rows.append(row)
        total = {k: sum(each[k] for each in summary["transactions"]) for k in COUNTS}
        row = {"window_id": name, "transaction": "all", **total}
        for kind in ("response", "service", "pool-wait"):
            logged = of_all.get((name, kind), {})
            row |= {f"{kind.replace('-', '_')}_{k}_s": v for k, v in logged.items()}
        rows.append(row)
    return rows


def _seconds(files: Files, whole: Mapping[str, list[Row]]) -> list[Row]:
    logged = _logged(files, "window_id, second", "lat WHERE kind = 'response'")
    by_type = _logged(files, "window_id, second, tag", "lat WHERE kind = 'response'")
    rows = []
    for name, messages in whole.items():
        for shown in _of(messages, "second"):
            head = {"window_id": name, "second": shown["second"], "at_s": shown["at_s"]}
            for each in shown["transactions"]:
                times = by_type.get((name, shown["second"], each["name"]), {})
                counts = {k: each[k] for k in COUNTS}
                rows.append({**head, "transaction": each["name"], **counts, **_of_second(times)})
            times = logged.get((name, shown["second"]), {})
            rows.append({
                **head, "transaction": "all", "waiting": shown["waiting"],
                **{k: sum(each[k] for each in shown["transactions"]) for k in COUNTS},
                **_of_second(times),
            })  # fmt: skip
    return rows


def _of_second(times: Row) -> Row:
    return {f"response_{p}_s": times.get(p) for p in ("p50", "p95", "p99")}


def _drives(files: Files) -> list[Row]:
    """Latencies of what lies whole within the measurement: its edges cut the log."""
    by_operation = _logged(files, "window_id, role, tag", "drive_lat")
    of_all = _logged(files, "window_id, role", "drive_lat")
    rows = [(*keys, row) for keys, row in by_operation.items()]
    rows += [(window, role, "all", row) for (window, role), row in of_all.items()]
    return [
        {"window_id": window, "role": role, "operation": operation,
         "logged": row["total"],
         **{f"latency_{k}_s": row[k] for k in ("mean", "min", *SHARES, "max")}}
        for window, role, operation, row in rows
    ]  # fmt: skip


def _baselines(root: Path) -> list[Row]:
    shown = _of(_messages(root / "baseline/hammer.jsonl"), "baseline-summary")
    return [
        {**each, "reads": (each["reads"] or {}).get("count"),
         **{f"read_{k}": v for k, v in (each["reads"] or {}).items()}}
        for each in shown
    ]  # fmt: skip


def _ledgers(root: Path) -> Iterator[Row]:
    for path in root.glob("windows/*/verify-ledger.jsonl"):
        for shown in _of(_messages(path), "ledger-summary"):
            for deal in ("order", "payment"):
                yield {"window_id": path.parent.name, "deal": deal, **shown["entries"][deal]}
