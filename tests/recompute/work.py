"""What a transaction took of server and device, by candidate and level."""

from functools import cache

from recompute.files import Files, Row

STORAGE_CPU = (
    "SELECT candidate, users, avg(storage) AS storage, avg(drives) AS drives, avg(server) AS "
    "server, avg(storage) / nullif(avg(server), 0) AS by_server FROM (SELECT w.window_id, "
    "w.candidate, w.users, sum(value) FILTER (collector = 'cluster') AS storage, sum(value) "
    "FILTER (collector = 'drive') AS drives, sum(value) FILTER (collector = 'server') AS server "
    "FROM win w JOIN means m ON m.window_id = w.window_id WHERE w.valid AND metric = 'cpu_share' "
    "GROUP BY ALL) GROUP BY ALL HAVING storage IS NOT NULL"
)
"""CPU time of storage and server, by candidate and level: means of windows, subjects summed up."""

_PARTS = (
    "reads_per_s", "writes_per_s", "read_latency_s", "write_latency_s", "commit_latency_s",
    "queue_length", "recovery_per_s", "allocated_bytes", "cpu_share",
)  # fmt: skip
CLUSTER_PARTS = (
    "SELECT candidate, users, CASE subject WHEN '' THEN 'all OSDs' ELSE subject END AS part, "
    + ", ".join(
        f"{'round' if each == 'allocated_bytes' else ''}(avg(value) FILTER (metric = '{each}')) "
        f"AS {each}" for each in _PARTS
    )
    + " FROM (SELECT m.* EXCLUDE (looks, total) FROM means m WHERE collector = 'cluster' AND "
    "metric NOT IN ('read_latency_s', 'write_latency_s') UNION ALL BY NAME SELECT l.window_id, "
    "l.candidate, l.users, l.valid, l.subject, l.metric, sum(l.value * r.value) / sum(r.value) AS "
    "value FROM samples l JOIN samples r ON l.window_id = r.window_id AND l.at_s = r.at_s AND "
    "l.subject = r.subject AND r.metric = replace(l.metric, '_latency_s', 's_per_s') WHERE "
    "l.collector = 'cluster' AND r.collector = 'cluster' AND r.value > 0 AND l.metric IN "
    "('read_latency_s', 'write_latency_s') GROUP BY ALL) "
    "WHERE valid GROUP BY ALL"
)  # fmt: skip
"""What OSDs, hosts and pools did: means of windows; seconds of latencies by their requests."""


def of_cluster_parts(files: Files) -> list[Row]:
    """What they did at the level of the answer."""
    return [row for row in files.rows(CLUSTER_PARTS) if row["users"] == files.told_level]


def of_level(files: Files, row: Row) -> Row:
    """Log, reads, CPU time and buffer hits of a candidate's transactions at a level."""
    nothing = {"windows": 0, "users": row["users"] if row["users"] in files.levels else None}
    return _work(files).get((row["candidate"], row["users"]), nothing)


@cache
def _work(files: Files) -> dict[tuple[str, int], Row]:
    """By candidate and level: medians of what a mean of a window's measurement was of its rate."""
    found = files.rows(
        "SELECT candidate, users, count(*) AS windows, median(log_bytes) AS log_bytes, "
        "median(device_reads) AS device_reads, median(server_cpu_s) AS server_cpu_s, "
        "median(hit_share) AS hit_share FROM (SELECT w.window_id, w.candidate, w.users, max(value) "
        "FILTER (metric = 'log_bytes_per_s') / any_value(rate) AS log_bytes, max(value) FILTER "
        "(collector = 'block' AND metric = 'reads_per_s') / any_value(rate) AS device_reads, "
        "sum(value) FILTER (collector = 'cpu' AND subject = 'server' AND metric IN ('user_share', "
        "'nice_share', 'system_share', 'irq_share')) * any_value(server_cpus) / any_value(rate) AS "
        "server_cpu_s, max(value) FILTER (metric = 'blocks_hit_per_s') AS hits, hits / (hits + "
        "max(value) FILTER (metric = 'blocks_read_per_s')) AS hit_share FROM win w LEFT JOIN means "
        "m ON m.window_id = w.window_id WHERE w.valid GROUP BY ALL) GROUP BY ALL",
    )  # fmt: skip
    return {(each["candidate"], each["users"]): each for each in found}
