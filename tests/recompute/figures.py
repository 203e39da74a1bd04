"""What the table behind each figure must hold, as in `tables`; names may have a level in them."""

import math
import re
from functools import cache, partial
from itertools import accumulate, pairwise, product
from statistics import fmean

from recompute import between, bounds, cost, power, statistics
from recompute.asked import limit_of
from recompute.files import Files, Row
from recompute.levels import bounds_of, level, logs_of, needed, printed
from recompute.tables import Expected, Rows, Source, compared, query, question

PLACE = "users candidate block"
PARTS = {
    "user": "user_share nice_share", "system": "system_share", "idle": "idle_share",
    "waiting for I/O": "iowait_share", "interrupts, steal": "irq_share steal_share",
}  # fmt: skip


def by_place(value: str, source: str = "win", more: str = "") -> Source:
    """A value of every window, and whatever else tells its rows apart."""
    keys = f"{PLACE} {more}"
    columns = ", ".join(keys.split())
    return query(keys, f"SELECT {columns}, {value} AS value FROM {source}")


def _of_metric(metric: str, scale: float = 1.0) -> Source:
    return by_place(
        f"value * {scale}", f"means WHERE collector = 'database' AND metric = '{metric}'"
    )


def _device(operation: str, where: str, source: str = "means", value: str = "value") -> Source:
    return query(
        f"operation {PLACE} device",
        f"SELECT {operation} AS operation, users, candidate, block, subject AS device, {value} AS "
        f"value FROM {source} WHERE {where}",
    )


def _cpu(files: Files, row: Row) -> Expected:
    metrics = PARTS[row["part"]].split()
    value = files.one(
        "SELECT sum(mean) FROM (SELECT avg(value) AS mean FROM means WHERE valid AND collector = "
        "'cpu' AND subject = '' AND list_contains(?, metric) AND users = ? AND candidate = ? "
        "GROUP BY metric)", metrics, row["users"], row["candidate"],
    )  # fmt: skip
    return {"users": row["users"], "value": value}


def _waits(files: Files, row: Row) -> Expected:
    value = files.one(
        "SELECT sum(value) / (SELECT count(*) FROM win WHERE valid AND users = $1 AND candidate = "
        "$2) FROM means WHERE valid AND metric = 'waiting_sessions' AND subject = $3 AND "
        "users = $1 AND candidate = $2", row["users"], row["candidate"], row["part"],
    )  # fmt: skip
    return {"users": row["users"], "value": value}


def _ratio(files: Files, row: Row, metric: str = "") -> Expected:
    metric = metric or question(files)["metric"]
    names = {"a": files.candidates[0], "b": row["candidate"], "metric": metric}
    found = compared(files, {**row, **names})
    return {**found, "pairs": found["blocks"]}


def _forest(files: Files, row: Row) -> Expected:
    b, _, a = row["pair"].partition(" ÷ ")
    return compared(files, {**row, "a": a, "b": b})


def _course(files: Files, row: Row) -> Expected:
    """What was known after so many blocks of the question, and what a claim had to pass."""
    of = question(files)
    named = of["a"], of["b"], of["users"], of["metric"]
    logs = logs_of(files, *named)[: row["blocks"]]
    low, high = statistics.interval(logs, bounds_of(files, *named)[: len(logs)]) or (None, None)
    found: Row = {
        "blocks": len(logs), "block_ratio": math.exp(logs[-1]), "value": math.exp(fmean(logs)),
        "low": low, "high": high, "boundary_low": None, "boundary_high": None,
    }  # fmt: skip
    if len(logs) >= min(statistics.CRITICAL):
        chosen = (files.manifest["plan"]["question"] or {}).get("candidates")
        count = len(files.candidates)
        pairs = 1 if chosen else count * (count - 1) // 2
        looks = sum(at <= len(logs) for at in statistics.CRITICAL)
        rare = statistics.t_critical(len(logs) - 1, 0.05 / looks / pairs) if pairs > 1 else 0.0
        wide = max(statistics.critical(len(logs)), rare) * statistics.widening(logs)
        half = wide * statistics.error(logs)
        # Of a delayed block the end of the interval is the boundary, too.
        half = max(half, math.log(high) - fmean(logs)) if high else half
        found |= {"boundary_low": math.exp(-half), "boundary_high": math.exp(half)}
    return found


def _percentiles(files: Files, row: Row) -> Expected:
    """A point of the curve: a share of the merged values, the highest of these, those beyond."""
    found = files.buckets_of(row["what"], row["users"], row["candidate"])
    total = sum(count for _, count in found)
    # Twelve steps for each power of ten of 1 / (1 - share), the median, and ten values left.
    shares = [0.5, 1 - 10 / total, *(1 - 10 ** (-step / 12) for step in range(12 * 9))]
    share = min(shares, key=lambda each: abs(each - row["share"]))
    rank = max(1, math.ceil(round(share * total, 6)))
    reached = zip(accumulate(count for _, count in found), found, strict=True)
    value = next(high_us for until, (high_us, _) in reached if until >= rank) / 1e6
    return {**row, "share": share, "value": value, "beyond": total - rank, "values": total}


def _throughput(files: Files, row: Row) -> Expected:
    """A level as it is reported, or one window of it."""
    known = limit_of(files)
    label = known[1] if known else "p95"
    name, users = row["candidate"], row["users"]
    if row["block"] is None:
        nopm, value = level(files, name, users, "NOPM"), printed(files, name, users, label)
    else:
        at = "users = ? AND candidate = ? AND block = ?"
        place = (users, name, row["block"])
        column, _, kind = f"response_{label.replace('.', '')}_s".partition(" of ")
        column = f"{column.removesuffix('_s')}_s"
        kind = kind.removesuffix("_s") or "all"
        nopm = files.one(f"SELECT list(headline_per_min) FROM win WHERE {at}", *place)
        value = files.one(
            f"SELECT list({column}) FROM tx WHERE transaction = '{kind}' AND {at} AND "
            f"committed + rolled_back >= {needed(column)}",
            *place,
        )
    return {**row, "done": nopm, "value": value}


def _heat(files: Files, row: Row) -> Expected:
    """A cell: the transactions of its seconds whose bucket's middle lies between its edges."""
    found = _by_second(files, row["candidate"], row["block"])
    seconds = sorted({each["second"] for each in files.told_heat})
    wide = min((b - a for a, b in pairwise(seconds)), default=1)
    inside = sum(
        count
        for second, middle_s, count in found
        if row["second"] <= second < row["second"] + wide
        and row["from_s"] * (1 - 1e-9) <= middle_s < row["to_s"] * (1 - 1e-9)
    )
    return {**row, "transactions": inside}


@cache
def _by_second(files: Files, name: str, block: int) -> list[tuple[int, float, int]]:
    found = files.rows(
        "SELECT second, (low_us + high_us) / 2e6 AS middle_s, sum(count) AS count FROM lat WHERE "
        "kind = 'response' AND before_end AND users = $1 AND candidate = $2 AND block = $3 AND "
        "attempt = (SELECT max(attempt) FROM win WHERE users = $1 AND block = $3) GROUP BY ALL",
        (files.told_level, name, block),
    )
    return [(each["second"], each["middle_s"], each["count"]) for each in found]


def _baseline(files: Files, row: Row) -> Expected:
    """A figure of the machine before a block: as measured, and off its median."""
    column = {"one CPU": "one_rounds_per_s", "all CPUs": "all_rounds_per_s"}
    name = column.get(row["gauge"], "read_p50_s")
    found = files.rows(
        f"SELECT {name} AS measured, {name} / (SELECT median({name}) FROM baseline) - 1 AS value, "
        "(at_s - (SELECT min(at_s) FROM baseline)) / 60 AS minutes FROM baseline WHERE point = ? "
        "AND block = ? ORDER BY attempt", (row["point"], row["block"]),
    )  # fmt: skip
    return {**row, **{key: [each[key] for each in found] for key in found[0]}}


def _limits(files: Files, row: Row) -> Expected:
    """How much of each bound a window reached."""
    found = bounds.of_windows(files)[row["window_id"]]
    shown = {name: found[name] for name in row if None not in (found.get(name), row[name])}
    return {"block": row["block"], **shown}


SECONDS = """
WITH done AS (SELECT s.window_id, s.second, (s.committed + s.rolled_back) * 60 AS tpm,
  CASE WHEN s.committed + s.rolled_back >= 2000 THEN s.response_p95_s END AS p95,
  CASE WHEN max(s.waiting) OVER () > 0 THEN s.waiting END AS waiting
  FROM seconds s JOIN win w ON s.window_id = w.window_id
  WHERE s.transaction = 'all' AND s.phase <> 'drain'),
busy AS (SELECT window_id, second, max(v) AS device FROM (SELECT window_id, subject,
  CAST(round_even(second, 0) AS BIGINT) - 1 AS second, sum(value) AS v FROM series
  WHERE collector = 'block' AND metric IN ('reads_per_s', 'writes_per_s') AND second >= 0.5
  GROUP BY ALL) GROUP BY ALL)
SELECT window_id, second, done.tpm, p95, waiting, device, w.block, w.users FROM done
FULL JOIN busy USING (window_id, second) JOIN win w USING (window_id)
"""

_BORNE = """committed + rolled_back AS done, CASE WHEN done >= 200 THEN response_p50_s END AS p50,
  CASE WHEN done >= 2000 THEN response_p95_s END AS p95,
  CASE WHEN done >= 10000 THEN response_p99_s END AS p99"""
"""Percentiles of a window, where enough of its transactions lie beyond them."""


def _response(files: Files, *, by_type: bool = False) -> list[Row]:
    """Percentiles of windows; of all windows of a level where none of them has values enough."""
    windows = files.rows(
        f"UNPIVOT (SELECT transaction, users, candidate, block, {_BORNE} FROM tx WHERE "
        f"(transaction <> 'all') = {by_type}) ON p50, p95, p99 INTO NAME percentile VALUE value"
    )
    keys = ("transaction", "percentile", "users", "candidate")
    alone = {tuple(row[key] for key in keys) for row in windows}
    kinds = {kind for kind, *_ in alone}
    every = set(product(kinds, ("p50", "p95", "p99"), files.levels, files.candidates))
    together = [
        {**dict(zip(keys, place, strict=True)), "block": None, "value": value}
        for place in every - alone
        if (value := printed(files, place[3], place[2], f"{place[1]} of {place[0]}")) is not None
    ]
    return [*windows, *together]


FIGURES: dict[str, Source] = {
    "throughput-by-users": by_place("headline_per_min"),
    "power-mean-w": power.of_figure("power.mean_w"),
    "power-joules-per-order": power.of_figure("power.joules_per_order"),
    "response-by-users": Rows(("percentile", *PLACE.split()), _response),
    "response-by-transaction": Rows(
        ("percentile", "transaction", *PLACE.split()), partial(_response, by_type=True)
    ),
    "log-by-users": _of_metric("log_bytes_per_s", 1e-6),
    "log-syncs-by-users": _of_metric("log_syncs_per_s"),
    "blocks-read-by-users": _of_metric("blocks_read_per_s"),
    "device-rate": _device(
        "replace(metric, '_per_s', '')",
        "collector = 'block' AND metric IN ('reads_per_s', 'writes_per_s', 'flushes_per_s')",
    ),
    "device-queue": _device("'queue'", "collector = 'block' AND metric = 'queue_length'"),
    "device-latency": _device(
        "replace(replace(metric, '_latency_s', 's'), 'flushs', 'flushes')",
        "metric IN ('read_latency_s', 'write_latency_s', 'flush_latency_s')",
        "weighted",
    ),
    "device-latency-p99": _device(
        "replace(operation || 's', 'flushs', 'flushes')",
        "operation IN ('read', 'write', 'flush') AND latency_p99_s IS NOT NULL AND logged >= 10000",
        "(SELECT *, role AS subject FROM drives JOIN win USING (window_id))",
        "latency_p99_s",
    ),
    "pressure-by-users": query(
        f"what {PLACE}",
        "SELECT CASE subject WHEN 'io' THEN 'storage' WHEN 'cpu' THEN 'CPU' ELSE subject END AS "
        "what, users, candidate, block, value FROM means WHERE collector = 'pressure' AND "
        "metric = 'some_share'",
    ),
    "memory-by-users": query(
        f"what {PLACE}",
        "SELECT CASE metric WHEN 'used_bytes' THEN 'in use within the limit' ELSE "
        "'page cache alone' END AS what, users, candidate, block, value FROM means WHERE "
        "collector = 'cgroup' AND metric IN ('used_bytes', 'page_cache_bytes')",
    ),
    "cpu-by-users": _cpu,
    "waits-by-users": _waits,
    "throughput-ratio": lambda files, row: _ratio(files, row, "NOPM"),
    "question-ratio": _ratio,
    "forest": _forest,
    "cost-inputs": lambda files, row: cost.of_swing(files, row["input"]),
    "cost-per-million": lambda files, row: {
        "users": row["users"],
        "block": row["block"],
        "value": cost.of_windows(files, row),
    },
    "heat": _heat,
    "verdict-by-block": _course,
    "limits": _limits,
    "baselines": _baseline,
    "percentiles": _percentiles,
    "response-throughput": _throughput,
}


def title(files: Files, row: Row) -> Expected:
    """The ratio of a title: over the blocks of the two that it names, of the rows of its figure.

    Which panel of a figure it is of stands in words, so the ratio is that of any of them.
    """
    found = re.match(r"At ([\d,]+) \w+, (.+) has [\d.,]+ times ([\w.-]+)'s .+$", row["title"])
    if row["figure"] == "forest":
        return {"ratio": [compared(files, question(files))["value"]]}
    if not found:
        return {}
    table = _file(files, row)
    words = set(_columns(files, table, "VARCHAR")) - {"candidate", "device", "note", "window_id"}
    panels = ", ".join(sorted(words)) or "1"
    # Of several devices the busiest counts.
    points = (f"(SELECT {panels}, block, max(value) AS value FROM {table} WHERE valid AND users = "
              "? AND candidate = ? GROUP BY ALL)")  # fmt: skip
    using = f"block{'' if panels == '1' else f', {panels}'}"
    by = "" if panels == "1" else f"GROUP BY {panels}"
    users = int(found[1].replace(",", ""))
    ratios = files.column(
        f"SELECT exp(avg(ln(h.value / l.value))) FROM {points} h JOIN {points} l USING ({using}) "
        f"WHERE l.value > 0 {by}", (users, found[2], users, found[3]),
    )  # fmt: skip
    return {"ratio": ratios}


def title_pool(files: Files, row: Row) -> list[float]:
    """What a title may speak of: levels, its ratio, and what the rows of its figure come to."""
    name, table, plan = row["figure"], _file(files, row), files.manifest["plan"]
    columns = _columns(files, table)
    keys = [each for each in _columns(files, table, "VARCHAR") if each not in ("note", "window_id")]
    by = ", ".join(f'"{each}"' for each in keys + [x for x in columns if x == "users"])
    valid = "valid" if "valid" in columns else "true"
    margin = (plan["question"] or {}).get("margin_share") or 0.02
    found: list[float] = [margin, *files.levels, *title(files, row).get("ratio", [])]
    for number in _columns(files, table, "DOUBLE", "BIGINT") if by else ():
        for way in ("avg", "median", "min", "max"):
            found += files.column(
                f'SELECT {way}("{number}") AS v FROM {table} WHERE {valid} GROUP BY {by}'
            )
    if "response" in name:
        types = files.column("SELECT DISTINCT transaction FROM tx_rows")
        found += [
            level(files, each, users, f"{share} of {kind}") or 0.0
            for share in ("p50", "p95", "p99")
            for each in files.candidates for users in files.levels for kind in types
        ]  # fmt: skip
    if name == "percentiles":
        found += [0.5, *files.column(f"SELECT unnest([share, value]) FROM {table}")]
    if name == "heat":
        found += [each["v"] for each in files.percentiles(
            "candidate, block, attempt, second",
            f"lat WHERE measured AND kind = 'response' AND users = {files.told_level}", {"v": 0.95},
        ) if each["total"] >= 2000]  # fmt: skip
    if name.startswith("seconds-"):
        found += files.column(
            f"SELECT unnest([min(tpm), max(tpm)]) FROM {table} JOIN seconds s USING (window_id, "
            "second) WHERE s.phase = 'measure' AND s.transaction = 'all' GROUP BY window_id"
        )
    if name in ("throughput-ratio", "question-ratio"):
        found += files.column(f"SELECT unnest([value, 1 / value]) FROM {table}")
    if name == "response-by-transaction":
        found.append(files.one("SELECT count(DISTINCT transaction) FROM tx_rows") - 1)
    if name == "cost-inputs":
        found += [0.2, cost.answer(files, files.manifest["cost"]) or 0.0]
    if name == "baselines":
        found += [bounds.odd_blocks(files), files.one("SELECT count(*) FROM baseline")]
    return [*found, *[each["limit_s"] for each in (plan["limit"], plan["search"]) if each]]


def words_pool(files: Files, row: Row) -> list[float]:
    """What a caption may speak of as well: rows, blocks, and what the method says."""
    table = _file(files, row)
    found = title_pool(files, row)
    if files.one(f"SELECT count(*) FROM {table}") <= 200:
        for each in _columns(files, table, "DOUBLE", "BIGINT"):
            found += files.column(f'SELECT "{each}" FROM {table}')
    found += files.column(
        "SELECT unnest([block, checkpoints_inside, max(block) OVER () + 1]) FROM win"
    )
    return [*found, 0.95, min(statistics.CRITICAL), 10, 8192.0, 1.0]


def _columns(files: Files, table: str, *kinds: str) -> list[str]:
    """The columns of these kinds; all, where none is given."""
    found = files.rows(f"DESCRIBE SELECT * FROM {table}")
    return [x["column_name"] for x in found if not kinds or x["column_type"] in kinds]


def _file(files: Files, row: Row) -> str:
    return f"read_parquet('{files.root}/report/figures/{row['figure']}.parquet')"


def source_of(name: str) -> Source | None:
    """What a figure's table must hold; those of the seconds are one for each level."""
    if level := re.fullmatch(r"seconds-(\d+)-\w+", name):
        return query("window_id second", f"{SECONDS} WHERE users = {level[1]}")
    if number := re.fullmatch(r"runs-(\d+)", name):
        return lambda files, row: between.run_of(files, int(number[1]), row)
    return FIGURES.get(name)
