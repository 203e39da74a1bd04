"""How much of each bound a window reached: shares of the users' time, of CPUs, of the driver.

As docs/explanation/method.md has them; waits are counted in looks at sessions, once a second.
"""

import tomllib
from functools import cache
from itertools import pairwise
from statistics import median
from typing import Any

from recompute.files import Files, Row

GROUPS = """
CREATE OR REPLACE MACRO wait_group(event) AS CASE
  WHEN event LIKE 'CPU%' THEN 'cpu'
  WHEN regexp_matches(event, '^(IO|LWLock):(?i)WAL') THEN 'log'
  WHEN event LIKE 'IO:%' OR lower(event) IN ('ipc:bufferio', 'lwlock:buffer_io') THEN 'data'
  WHEN regexp_matches(event, '^(Lock|LWLock|BufferPin)') THEN 'locks' ELSE 'other' END;
"""
Seen = dict[str, Any]


@cache
def of_windows(files: Files) -> dict[str, Seen]:
    """The shares of every window by name, those that nobody could know as None."""
    files.rows(GROUPS)
    return {row["window_id"]: _seen(files, row) for row in files.rows("SELECT * FROM win")}


def odd_blocks(files: Files) -> int:
    """Blocks before which the machine was off its median by more than three median deviations."""
    rows = files.rows("SELECT * FROM canary")
    odd = set()
    for column, floor in (
        ("one_rounds_per_s", 0.05), ("all_rounds_per_s", 0.05), ("read_p50_s", 1 / 3),
    ):  # fmt: skip
        known = {row["window_id"]: row[column] for row in rows if row[column] is not None}
        if len(known) >= 4:
            middle = median(known.values())
            off = {name: abs(value / middle - 1) for name, value in known.items()}
            allowed = max(3 * median(off.values()), floor)
            odd |= {name for name, each in off.items() if each > allowed}
    return len(odd)


def _mean(files: Files, window: str, collector: str, metric: str, subject: str) -> float | None:
    return files.number(
        "SELECT value FROM means WHERE window_id = ? AND collector = ? AND metric = ? AND "
        "subject = ?", window, collector, metric, subject,
    )  # fmt: skip


def _busy(files: Files, window: str, subject: str) -> float | None:
    idle, waiting = (
        _mean(files, window, "cpu", f"{each}_share", subject) for each in ("idle", "iowait")
    )
    return None if idle is None else max(0.0, 1 - idle - (waiting or 0.0))


def _seen(files: Files, win: Row) -> Seen:
    """All that is known of a window."""
    name, users = win["window_id"], win["users"]
    is_open = win["pace"] == "rate"
    places = win["connections_opened"] if is_open and win["connections_opened"] else users
    looks = files.one(
        "SELECT looks FROM means WHERE window_id = ? AND metric = 'active_backends'", name
    )
    waits = {row["g"]: row["n"] for row in files.rows(
        "SELECT wait_group(subject) AS g, sum(total) AS n FROM means WHERE window_id = ? AND "
        "metric = 'waiting_backends_by_event' GROUP BY ALL", (name,),
    )}  # fmt: skip
    used = files.one(
        "SELECT if(sum(value) > 1, 1, sum(value)) FROM means WHERE window_id = ? AND collector = "
        "'block' AND metric = 'utilisation_share'", name,
    )  # fmt: skip
    [times] = files.rows(
        "SELECT service_mean_s, response_mean_s, pool_wait_mean_s FROM tx WHERE window_id = ? AND "
        "transaction = 'all'", (name,),
    )  # fmt: skip
    mean_s = times["service_mean_s" if is_open else "response_mean_s"]
    under_way = win["rate"] * mean_s if mean_s is not None else None
    shares = not is_open and win["connections_opened"] < users
    in_line = _in_line(files, win, times["pool_wait_mean_s"]) if shares else 0.0
    paced = win["pace"] in ("keyed", "think")
    paused = 0.0 if not paced else None if under_way is None else max(0.0, 1 - under_way / places)
    part = {g: _part(g, waits, looks, places, used) for g in ("cpu", "data", "log", "locks")}
    reads = files.one(
        "SELECT max(r.value * coalesce(l.value, 0)) FROM means r LEFT JOIN weighted l ON "
        "l.window_id = r.window_id AND l.subject = r.subject AND l.metric = 'read_latency_s' "
        "WHERE r.window_id = ? AND r.collector = 'block' AND r.metric = 'reads_per_s'", name,
    )  # fmt: skip
    queue = files.one(
        "SELECT max(value) FROM means WHERE window_id = ? AND collector = 'block' AND metric = "
        "'queue_length'", name,
    )  # fmt: skip
    storage = _storage(part, used, paused, places, in_line)
    data = part["data"] if queue is None or part["data"] is None else (
        min(part["data"], queue / places))  # fmt: skip
    read_share = None if reads is None else min(1.0, reads / places, 1.0 if used is None else used)
    room = _room(win)
    found = {
        "looks": looks, "used": used, "storage_share": storage, "reads": read_share,
        "data": data, "log": part["log"] if part["log"] is not None else storage,
        "locks": part["locks"], "driver": min(1.0, max(room)) if room else None,
        "pool": min(1.0, in_line / places) if shares else None,
        "device-latency": data if part["data"] is not None else read_share,
        **_cpus(files, name), "checkpoints": _stalled(files, name), "growth": _growth(files, win),
        "device-rate": _rate(files, win, used), "emulation": _emulated(files, win),
    }  # fmt: skip
    sampled = {"device-latency": data, "log": part["log"], "locks": part["locks"]}
    if part["data"] is not None and part["log"] is not None:
        sampled["storage"] = storage
    active = files.number(
        "SELECT value FROM means WHERE window_id = ? AND metric = 'active_backends'", name
    )
    if active is not None and under_way is not None and (looks or 0) * places >= 30:
        outside = max(0.0, min(1.0, (under_way - active - in_line) / places))
        if outside >= max(0.5, found["driver"] or 0.0):
            found["driver"] = outside
            sampled["driver"] = outside
    found |= _intervals(sampled, (looks or 0) * places)
    if win["lateness_p99_s"] > max(0.001, 0.05 * win["service_p50_s"]):
        found["driver"] = 1.0
    backlog, found["paused"] = win["backlog"] or 0, paused
    own = _own(files, win, found, part["cpu"], under_way, places)
    users_share = None if paused is None else min(1.0, paused + (own or 0.0))
    if is_open:
        users_share = 1 - backlog / (backlog + win["transactions"] + (win["errors"] or 0))
    found |= {"own": own, "users": users_share}
    return found


def _room(win: Row) -> list[float]:
    """How much of the rate and of the users that the driver can do were asked of it."""
    return [
        (win["transactions"] + (win["backlog"] or 0)) / win["measured_s"] / each
        for each in [win["driver_rate_per_s_max"]] if each
    ] + [win["users"] / each for each in [win["driver_users_max"]] if each]  # fmt: skip


def _in_line(files: Files, win: Row, wait_s: float | None) -> float:
    """Little's law for the line before a pool: arrivals a second times their mean wait in it.

    A wait that is in no response time is that of a deferred transaction, and of no user.
    """
    deferred = files.one(
        "SELECT coalesce(sum((committed + rolled_back) * greatest(0, pool_wait_mean_s - "
        "response_mean_s)), 0) FROM tx WHERE window_id = ? AND transaction <> 'all'",
        win["window_id"],
    )
    return float(win["rate"] * (wait_s or 0.0) - deferred / win["measured_s"])


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
    bound = files.manifest["database"]["cpus"]
    others = files.number(
        "SELECT others_cpu_s / span_s FROM surroundings WHERE window_id = ?", win["window_id"]
    )
    if found["server-cpu"] is not None:
        busy = found["server-cpu"] * len(bound)
    elif found["host-cpu"] is not None and cpu is not None:
        count = files.manifest["environment"]["cpus"]["value"]
        busy = min(found["host-cpu"] * count, cpu * places)
    else:
        return None
    own: float = min(1.0, max(0.0, busy - (others or 0.0)) / places)
    own = own if under_way is None else min(own, under_way / places)
    above = [each for each in files.levels if each > win["users"]]
    if found["growth"] is None or not above:
        return own
    grown = (found["growth"] - 1) / (above[0] / win["users"] - 1)
    return own if grown >= 0.5 else 0.0


CAPS = {
    "read_iops": ("answers_per_s", "read"), "write_iops": ("answers_per_s", "write"),
    "total_iops": ("answers_per_s", "read write"),
    "read_bytes_per_s": ("moved_bytes_per_s", "read"),
    "write_bytes_per_s": ("moved_bytes_per_s", "write"),
    "total_bytes_per_s": ("moved_bytes_per_s", "read write"),
}  # fmt: skip


def _rate(files: Files, win: Row, used: float | None) -> float | None:
    """The most that was reached of what a drive's profile allows; of another device its use."""
    [facts] = [e for e in files.manifest["candidates"] if e["name"] == win["candidate"]]
    name, reached = win["window_id"], list[float]()
    busiest = files.number(
        "SELECT max(value) FROM means WHERE window_id = ? AND collector = 'block' AND metric = "
        "'utilisation_share'", name,
    )  # fmt: skip
    for drive in facts["drives"]:
        profile = tomllib.loads(drive["profile"])
        for cap, limit in profile.get("cap", {}).items():
            metric, operations = CAPS[cap]
            subjects = [f"{drive['role']}:{each}" for each in operations.split()]
            total = files.number(
                "SELECT sum(value) FROM means WHERE window_id = ? AND collector = 'drive' AND "
                "metric = ? AND list_contains(?, subject)", name, metric, subjects,
            )  # fmt: skip
            reached += [] if total is None else [total * drive["scale"] / limit]
        channels = 1 if "disk" in profile else profile.get("channels")
        queue = _mean(files, name, "drive", "queue_length", drive["role"])
        if channels and queue is not None and busiest is not None:
            reached.append(min(busiest, queue / channels))
    if reached:
        return min(1.0, max(reached))
    is_told = not facts["drives"] and busiest is not None and busiest < 0.8
    return busiest if is_told else None


def _emulated(files: Files, win: Row) -> float | None:
    """1 where the report says that a drive was another one than its profile describes."""
    failed = files.one(
        "SELECT count(*) FROM read_parquet(?) WHERE list_contains(string_split(window_ids, ', '), "
        "?) AND regexp_matches(sentence, '^The instrument failed:.*emulated drive')",
        f"{files.root}/report/tables/reasons.parquet", win["window_id"],
    )  # fmt: skip
    drives = [e["drives"] for e in files.manifest["candidates"] if e["name"] == win["candidate"]]
    return float(failed > 0) if drives[0] else None


def _cpus(files: Files, name: str) -> Seen:
    """How busy CPUs were, and at most how much of it was the work of other programs."""
    others = files.one("SELECT others_cpu_s / span_s FROM surroundings WHERE window_id = ?", name)
    bound = files.manifest["database"]["cpus"]
    counts = {"host": files.manifest["environment"]["cpus"]["value"], "server": len(bound or [])}
    found: Seen = {}
    for who, subject in (("host", ""), ("server", "server")):
        busy = _busy(files, name, subject) if counts[who] else None
        found[f"{who}-cpu"] = busy
        found[f"{who}-others"] = None if busy is None else min(busy, (others or 0.0) / counts[who])
    return found


def _part(
    group: str, waits: Seen, looks: int | None, places: int, used: float | None
) -> float | None:
    """Share of the users' time in sessions of a group; None where too few were looked at."""
    if not looks:
        return None
    share = min(1.0, waits.get(group, 0.0) / looks / places)
    if group in ("data", "log") and used is not None:
        seen = (waits.get("data", 0.0) + waits.get("log", 0.0)) / looks / places
        share *= min(1.0, used / seen) if seen else 1.0
    unsure = (looks * places) ** -0.5
    low, high = interval(share, looks * places)
    is_told = looks * places >= 30 or share + unsure < 0.5
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


def _stalled(files: Files, name: str) -> float | None:
    """Throughput lost in seconds of a checkpoint with less than half of the usual one."""
    told = files.rows(
        "SELECT metric, value, min(at_s) AS at_s FROM series WHERE window_id = ? AND collector = "
        "'database' AND value IS NOT NULL AND (metric = 'last_checkpoint_at_s' OR (metric = "
        "'checkpoint_buffers_per_s' AND value > 0)) GROUP BY metric, value, CASE WHEN metric = "
        "'checkpoint_buffers_per_s' THEN at_s END ORDER BY min(at_s)", (name,),
    )  # fmt: skip
    done = files.rows(
        "SELECT CAST(floor(at_s) AS BIGINT) AS at, committed + rolled_back AS done FROM seconds "
        "WHERE window_id = ? AND phase = 'measure' AND transaction = 'all'", (name,),
    )  # fmt: skip
    if not told or not done:
        return None
    inside: set[int] = set()
    begun = [each for each in told if each["metric"] == "last_checkpoint_at_s"]
    for each in begun[1:]:
        inside.update(range(int(each["value"]), int(each["at_s"]) + 1))
    for each in told:
        if each["metric"] != "last_checkpoint_at_s":
            inside.update((int(each["at_s"]) - 1, int(each["at_s"])))
    usual = median(each["done"] for each in done)
    lost = sum(
        usual - each["done"] for each in done if each["at"] in inside and each["done"] < usual / 2
    )
    return lost / (usual * len(done)) if usual else 0.0
