"""By which share disturbances delayed those who waited in a window, and what that bounds.

As docs/explanation/method.md has it, "Emulated drives" and "What each flag lets pass".
"""

import math
from functools import cache

from recompute.files import Files, Row

NOTED = 0.02
TAIL = {"p90": 3.0, "p95": 3.0, "p99": 5.0, "p999": 10.0}
QUEUE = 20.0

DUE = """
WITH judged AS (SELECT *, device_mean_s - added_mean_s AS due FROM drives WHERE answered >= 200 AND
    added_mean_s IS NOT NULL AND operation IN ('read', 'write', 'flush')),
  least AS (SELECT operation, least(150e-6, min(device_mean_s)) AS floor FROM judged
    WHERE due < 150e-6 GROUP BY operation),
  floors AS (SELECT operation, any_value(floor) AS floor FROM judged JOIN least USING (operation)
    WHERE due < 150e-6 AND 1.02 * due < floor GROUP BY operation),
  dues AS (SELECT * REPLACE (greatest(due, coalesce(floor, 0)) AS due) FROM judged LEFT JOIN floors
    USING (operation))
"""
"""What each operation should have taken, with what the machine delivers at best as its floor."""
JUDGED = f"""{DUE} SELECT window_id, role, map_from_entries(list((operation, {{n: answered,
  took: device_mean_s, due: due}}))) AS of, sum(answered * due) AS whole FROM dues GROUP BY ALL"""
LATE = """
SELECT window_id, role, answered * late_mean_s AS late FROM drives WHERE answered >= 200 AND
  late_answers > answered / 100
"""
DRIVEN = """
SELECT w.window_id, lateness_mean_s / response_mean_s AS share,
  least(1, coalesce(pool_wait_mean_s, 0) / response_mean_s) AS queued
FROM win w JOIN tx t ON t.window_id = w.window_id AND transaction = 'all'
"""


@cache
def of_windows(files: Files) -> dict[str, tuple[float, float]]:
    """By window the delay that is noted, and that of response times with the queue that it made."""
    found, drives = {}, of_drives(files)
    for row in files.rows(DRIVEN):
        own = [drives.get(row["window_id"], 0.0), row["share"] or 0.0]
        drive, driver = (share if abs(share) > NOTED else 0.0 for share in own)
        queued = drive * (1 + QUEUE * (row["queued"] or 0.0))
        found[row["window_id"]] = drive + driver, queued + driver
    return found


@cache
def of_drives(files: Files) -> dict[str, float]:
    """Of each window the largest share of its paths, of all together, and of lateness."""
    paths: dict[str, dict[str, tuple[float, float]]] = {}
    late: dict[str, list[float]] = {}
    rows = files.rows(JUDGED)
    lateness = {(row["window_id"], row["role"]): row["late"] for row in files.rows(LATE)}
    logs = set(files.column("SELECT DISTINCT window_id FROM drives WHERE role LIKE 'log%'"))
    for row in rows:
        name, of = row["window_id"], row["of"]
        own = paths.setdefault(name, {})
        if "read" in of:
            own[f"{row['role']} read"] = _path(of["read"])
        if "flush" in of and row["role"].startswith("log" if name in logs else "data"):
            own[f"{row['role']} commit"] = _commit(of)
        late.setdefault(name, []).append(
            lateness.get((name, row["role"]), 0.0) / (row["whole"] or math.inf)
        )
    return {name: _largest(list(own.values()), late[name]) for name, own in paths.items()}


def _path(of: Row) -> tuple[float, float]:
    """Time that was due, and that was added."""
    return of["n"] * of["due"], of["n"] * (of["took"] - of["due"])


def _commit(of: Row) -> tuple[float, float]:
    """As many flushes, and as many writes, which were delayed no more than others one by one."""
    added = {name: each["took"] - each["due"] for name, each in of.items()}
    write = of.get("write", {"due": 0.0})
    singly = max(added.get("read", -math.inf), added["flush"])
    of_write = max(0.0, min(added.get("write", 0.0), singly))
    count = of["flush"]["n"]
    return count * (of["flush"]["due"] + write["due"]), count * (added["flush"] + of_write)


def _largest(paths: list[tuple[float, float]], late: list[float]) -> float:
    due, added = (sum(each) for each in zip(*paths, strict=True)) if paths else (0.0, 0.0)
    felt = [path for path in ((due, added), *paths) if path[0] > due / 100]
    return max([0.0, *late, *(extra / asked for asked, extra in felt)], key=abs)


def bound(files: Files, a: str, b: str, column: str) -> tuple[float, float]:
    """By how much the log ratio of window b to window a can be below and above what was seen."""
    known = of_windows(files)
    is_time = column.startswith("response_")
    tail = TAIL.get(column.removeprefix("response_").removesuffix("_s"), 1.0)
    of_a, of_b = (math.log1p(tail * abs(known.get(each, (0.0, 0.0))[is_time])) for each in (a, b))
    if "." in column or min(known.get(each, (0.0, 0.0))[0] for each in (a, b)) < 0:
        return of_a + of_b, of_a + of_b
    return (of_b, of_a) if is_time else (of_a, of_b)
