"""What exporters told of other hosts, and collectors of this machine, by the samples alone."""

from recompute.files import Files, Row

HERE = "this machine"
OF_HERE = "collector IN ('cpu', 'memory', 'block', 'network') AND subject = $4"
OF_OTHERS = "collector = 'exporters' AND subject = $4"


_MEAN = """
SELECT avg(mean) FROM (
  SELECT window_id, sum(s.value * weight) / sum(weight) AS mean FROM (
    SELECT window_id, at_s, value, collector, subject FROM samples WHERE {where} AND metric = $3
    AND valid AND candidate = $1 AND users = $2) s
  JOIN (
    SELECT window_id, at_s, collector, subject, if($5 = '', 1, value) AS weight FROM samples
    WHERE metric = if($5 = '', $3, $5)) w
  USING (window_id, at_s, collector, subject) GROUP BY ALL)
"""


def of_part(files: Files, row: Row) -> Row:
    """The means of a host or of a part of it, of all valid windows of a candidate at a level."""
    part = row.get("part") or ""
    is_here = row["host"] == HERE
    subject = part if is_here else ":".join(filter(None, (row["host"], part)))
    where = OF_HERE if is_here else OF_OTHERS
    place = (row["candidate"], row["users"])
    found: Row = {"users": row["users"]}
    for metric in set(row) - {"users", "candidate", "host", "part"}:
        by = {"read_latency_s": "reads_per_s", "write_latency_s": "writes_per_s"}.get(metric)
        found[metric] = files.one(_MEAN.format(where=where), *place, metric, subject, by or "")
    return found


def of_exporter(files: Files, row: Row) -> Row:
    """How an exporter was read: medians of the windows' means."""
    sql = ("SELECT median(value) FROM means WHERE collector = 'exporters' AND subject = $1 AND "
           "metric = $2")  # fmt: skip
    return {
        "every_s": files.manifest["exporters"][row["host"]]["every_s"],
        **{name: files.one(sql, row["host"], name) for name in ("scrape_s", "clock_offset_s")},
    }
