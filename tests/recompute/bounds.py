"""How much of each bound a window reached: shares of the users' time, of CPUs, of the driver.

As docs/explanation/method.md has them; waits are counted in looks at sessions, once a second.
"""

import tomllib
from functools import cache
from itertools import pairwise
from statistics import median
from typing import Any

from recompute import stalls
from recompute.files import Files, Row

Seen = dict[str, Any]

WAITS = ", ".join(
    "coalesce(sum(total) FILTER (metric = 'waiting_sessions_by_event' AND wait_group(subject) = "
    f"'{group}'), 0) AS {group}"
    for group in ("cpu", "data", "log", "locks")
)
SEEN = f"""
SELECT w.*, service_mean_s, response_mean_s, pool_wait_mean_s, deferred, reads, seen.*,
  coalesce(others_cpu_s / span_s, 0) AS others
FROM win w JOIN tx t ON t.window_id = w.window_id AND transaction = 'all'
LEFT JOIN surroundings s ON s.window_id = w.window_id
LEFT JOIN (SELECT window_id, sum((committed + rolled_back) * greatest(0, pool_wait_mean_s -
  response_mean_s)) AS deferred FROM tx WHERE transaction <> 'all' GROUP BY ALL) d
  ON d.window_id = w.window_id
LEFT JOIN (SELECT r.window_id, max(r.value * coalesce(l.value, 0)) AS reads FROM means r LEFT JOIN
  weighted l ON l.window_id = r.window_id AND l.subject = r.subject AND l.metric = 'read_latency_s'
  WHERE r.collector = 'block' AND r.metric = 'reads_per_s' GROUP BY ALL) r
  ON r.window_id = w.window_id
LEFT JOIN (SELECT window_id AS seen_id, {WAITS},
  max(looks) FILTER (metric = 'active_sessions') AS looks,
  max(value) FILTER (metric = 'active_sessions') AS active,
  sum(value) FILTER (collector = 'block' AND metric = 'utilisation_share') AS in_use,
  if(in_use > 1, 1, in_use) AS used,
  max(value) FILTER (collector = 'block' AND metric = 'utilisation_share') AS busiest,
  max(value) FILTER (collector = 'block' AND metric = 'queue_length') AS queue,
  map_from_entries(list((collector || ' ' || metric || ' ' || subject, value)) FILTER (
    collector IN ('cpu', 'drive', 'exporters'))) AS means
  FROM means GROUP BY ALL) seen ON seen_id = w.window_id
"""
"""A row a window: what it did, and means of what was sampled while it was measured."""


@cache
def of_windows(files: Files) -> dict[str, Seen]:
    """The shares of every window by name, those that nobody could know as None."""
    return {row["window_id"]: _seen(files, row) for row in files.rows(SEEN)}


def odd_blocks(files: Files) -> int:
    """Blocks before which the machine was off its median by more than three median deviations."""
    rows = files.rows("SELECT * FROM baseline")
    odd = set()
    cpu = (0.05, 0.5)
    bounds = {"one_rounds_per_s": cpu, "all_rounds_per_s": cpu, "read_p50_s": (1 / 3, 1)}
    for column, (floor, ceiling) in bounds.items():
        known = {row["window_id"]: row[column] for row in rows if row[column] is not None}
        if known:
            middle = median(known.values())
            off = {name: abs(value / middle - 1) for name, value in known.items()}
            usual = max(3 * median(off.values()), floor) if len(known) >= 4 else ceiling
            odd |= {name for name, each in off.items() if each > min(usual, ceiling)}
    return len(odd)


def _seen(files: Files, win: Row) -> Seen:
    """All that is known of a window."""
    users, used, is_open = win["users"], win["used"], win["pace"] == "rate"
    places = win["connections_opened"] if is_open and win["connections_opened"] else users
    samples = (win["looks"] or 0) * places
    mean_s = win["service_mean_s" if is_open else "response_mean_s"]
    under_way = win["rate"] * mean_s if mean_s is not None else None
    shares = not is_open and win["connections_opened"] < users
    # Little's law for the line before a pool: arrivals a second times their mean wait in it. A wait
    # that is in no response time is that of a deferred transaction, and of no user.
    waits = win["rate"] * (win["pool_wait_mean_s"] or 0.0)
    in_line = waits - (win["deferred"] or 0.0) / win["measured_s"] if shares else 0.0
    paced = win["pace"] in ("keyed", "think")
    paused = 0.0 if not paced else None if under_way is None else max(0.0, 1 - under_way / places)
    part = {g: _part(g, win, samples) for g in ("cpu", "data", "log", "locks")}
    storage = _storage(part, used, paused, places, in_line)
    data, reads = part["data"], win["reads"]
    if data is not None and win["queue"] is not None:
        data = min(data, win["queue"] / places)
    # What works beside the users may read the same device: whose reads those are is not known.
    reads = None if "," in win["activity"] else reads
    reads = None if reads is None else min(1.0, reads / places, 1.0 if used is None else used)
    room = [asked / most for asked, most in (
        ((win["transactions"] + (win["backlog"] or 0)) / win["measured_s"],
         win["driver_rate_per_s_max"]),
        (users, win["driver_users_max"]),
    ) if most]  # fmt: skip
    found = {
        "looks": win["looks"], "used": used, "storage_share": storage, "reads": reads,
        "data": data, "log": part["log"] if part["log"] is not None else storage,
        "locks": part["locks"], "driver": min(1.0, max(room)) if room else None,
        "pool": min(1.0, in_line / places) if shares else None, "paused": paused,
        "device-latency": data if data is not None else reads,
        **_cpus(files, win), "checkpoints": stalls.in_checkpoints(files, win["window_id"]),
        "growth": _growth(files, win), "device-rate": _rate(files, win),
        "emulation": _emulated(files, win),
    }  # fmt: skip
    sampled = {"device-latency": data, "log": part["log"], "locks": part["locks"]}
    if data is not None and part["log"] is not None:
        sampled["storage"] = storage
    if win["active"] is not None and under_way is not None and samples >= 30:
        outside = max(0.0, min(1.0, (under_way - win["active"] - in_line) / places))
        if outside >= max(0.5, found["driver"] or 0.0):
            found["driver"] = sampled["driver"] = outside
    found |= _intervals(sampled, samples)
    if win["lateness_mean_s"] > (0.5 if win["attempt"] else 0.25) * win["response_mean_s"]:
        found["driver"] = 1.0
    own = _own(files, win, found, part["cpu"], under_way, places)
    users_share = None if paused is None else min(1.0, paused + (own or 0.0))
    if is_open:
        backlog = win["backlog"] or 0
        users_share = 1 - backlog / (backlog + win["transactions"] + (win["errors"] or 0))
    return found | {"own": own, "demand": users_share}


def _intervals(sampled: Seen, samples: int) -> Seen:
    """Of shares that fewer than 100 samples tell: how many these are, and the ends."""
    known = {name: share for name, share in sampled.items() if share is not None}
    found: Seen = {"samples": samples} if known else {}
    if samples < 100:
        for name, share in known.items():
            found[f"{name}_low"], found[f"{name}_high"] = interval(share, samples)
    return found


def _own(
    files: Files, win: Row, found: Seen, cpu: float | None, under_way: float | None, places: int
) -> float | None:
    """Share of the users' time in which the server worked for them, where more of them do more."""
    if found["server-cpu"] is not None:
        busy = found["server-cpu"] * win["server_cpus"]
    elif found["host-cpu"] is not None and cpu is not None:
        count = files.manifest["environment"]["cpus"]["value"]
        busy = min(found["host-cpu"] * count, cpu * places)
    else:
        return None
    own: float = min(1.0, max(0.0, busy - win["others"]) / places)
    own = own if under_way is None else min(own, under_way / places)
    above = [each for each in files.levels if each > win["users"]]
    if found["growth"] is None or not above:
        return own
    grown = (found["growth"] - 1) / (above[0] / win["users"] - 1)
    return own if grown >= 0.5 else 0.0


def _rate(files: Files, win: Row) -> float | None:
    """The most that was reached of what a drive's profile allows; of another device its use."""
    drives = _drives(files, win)
    means, reached, busiest = win["means"] or {}, list[float](), win["busiest"]
    for drive in drives:
        profile = tomllib.loads(drive["profile"])
        for cap, limit in profile.get("cap", {}).items():
            of, _, what = cap.partition("_")
            metric = "answers_per_s" if what == "iops" else "moved_bytes_per_s"
            subjects = ("read", "write") if of == "total" else (of,)
            known = [means.get(f"drive {metric} {drive['role']}:{each}") for each in subjects]
            total = [each for each in known if each is not None]
            reached += [sum(total) * drive["scale"] / limit] if total else []
        channels = 1 if "disk" in profile else profile.get("channels")
        queue = means.get(f"drive queue_length {drive['role']}")
        if channels and queue is not None and busiest is not None:
            reached.append(min(busiest, queue / channels))
    if reached:
        return min(1.0, max(reached))
    return busiest if not drives and busiest is not None and busiest < 0.8 else None


def _drives(files: Files, win: Row) -> list[Row]:
    [facts] = [e for e in files.manifest["candidates"] if e["name"] == win["candidate"]]
    drives: list[Row] = facts["drives"]
    return drives


def _emulated(files: Files, win: Row) -> float | None:
    """1 where the report says that a drive was another one than its profile describes."""
    failed = files.one(
        "SELECT count(*) FROM read_parquet(?) WHERE list_contains(string_split(window_ids, ', '), "
        "?) AND regexp_matches(sentence, '^The instrument failed:.*emulated drive')",
        f"{files.root}/report/tables/reasons.parquet", win["window_id"],
    )  # fmt: skip
    return float(failed > 0) if _drives(files, win) else None


def _cpus(files: Files, win: Row) -> Seen:
    """How busy CPUs were, and at most how much of it was the work of other programs."""
    counts = {"host": files.manifest["environment"]["cpus"]["value"],
              "server": win["server_cpus"]}  # fmt: skip
    found: Seen = {}
    for who, subject in (("host", ""), ("server", "server")):
        idle, waiting = (
            (win["means"] or {}).get(f"cpu {each}_share {subject}") for each in ("idle", "iowait")
        )
        busy = None
        if counts[who] and idle is not None:
            busy = max(0.0, 1 - idle - (waiting or 0.0))
        found[f"{who}-cpu"] = busy
        found[f"{who}-others"] = None if busy is None else min(busy, win["others"] / counts[who])
    told = {e: (win["means"] or {}).get(f"exporters {e}_share nas") for e in ("idle", "iowait")}
    if told["idle"] is not None:
        found["storage-cpu"] = 1 - told["idle"] - (told["iowait"] or 0.0)
    return found


def _part(group: str, win: Row, samples: int) -> float | None:
    """Share of the users' time in sessions of a group; None where too few were looked at."""
    if not samples:
        return None
    share: float = win[group] / samples
    if group in ("data", "log") and win["used"] is not None:
        seen = (win["data"] + win["log"]) / samples
        share *= min(1.0, win["used"] / seen) if seen else 1.0
    share = min(1.0, share)
    low, high = interval(share, samples)
    is_told = samples >= 30 or share + samples**-0.5 < 0.5
    return share if is_told and high - low <= 0.5 else None


def interval(share: float, samples: int) -> tuple[float, float]:
    """Where a share p lies of which samples are known: both ends solve (p - s)² = z² p (1 - p) / n.

    By bisection, between 0 and the sampled share s, and between that and 1.
    """

    def off(p: float) -> float:
        return (p - share) ** 2 - 1.96**2 * p * (1 - p) / samples

    def root(inside: float, outside: float) -> float:
        for _ in range(80):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if off(middle) <= 0 else (inside, middle)
        return inside

    return root(share, 0.0), root(share, 1.0)


def _storage(
    part: Seen, used: float | None, paused: float | None, places: int, in_line: float
) -> float | None:
    """At most this share of the users' time went to storage.

    Of those who have a connection some wait for storage, or for one who does; who stands in line
    for a connection waits for those, so that the same part of his wait is for storage.
    """
    most = [] if paused is None else [1 - paused]
    if part["data"] is not None and part["log"] is not None:
        users = part["data"] + part["log"]
        locks = 1.0 if part["locks"] is None else part["locks"]
        users += locks * min(1.0, users * places)
        connected = 1 - (paused or 0.0) - in_line / places
        in_storage = users / connected if connected > 0 else 1.0
        most.append(min(1.0, users + in_storage * in_line / places) if connected > 0 else 1.0)
    elif used is not None:
        most.append(used)
    elif not paused:
        return None
    return min(most) if most else None


def _growth(files: Files, win: Row) -> float | None:
    """What the next level did, as a multiple of this one's throughput."""
    known = files.rows(
        "SELECT users, avg(tpm) AS tpm FROM win WHERE valid AND candidate = ? GROUP BY users "
        "ORDER BY users", (win["candidate"],),
    )  # fmt: skip
    steps = {low["users"]: high["tpm"] / low["tpm"] for low, high in pairwise(known)}
    return steps.get(win["users"])
