"""What a candidate did at a level: of each window, and of all its valid windows together.

A label names what: `NOPM`, `p99.9 of payment`, or a collector's metric, `block.reads_per_s of sda`.
"""

import math
import re
from functools import cache
from pathlib import Path
from statistics import fmean, median

from recompute import delays
from recompute.files import Files, Row

SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
COLLECTORS = Path(__file__).parents[2] / "docs/reference/collectors.md"

RATES = {"nopm": "headline_per_min", "tpm": "tpm"}
"""Columns of windows, by the name of what they count."""

Turn = tuple[int, int]
"""A block and its attempt."""


def metric_of(label: str) -> tuple[str, str]:
    """The column of windows or transactions, or the collector's metric; and of whom."""
    name, _, of = label.partition(" of ")
    if re.match(r"[a-z]+\.", name):
        return name, of
    name = name.lower().replace(".", "")
    if name in RATES:
        return RATES[name], "all"
    return f"response_{name}_s", of or "all"


def needed(column: str) -> int:
    """So many values a window must have for a percentile of it to be compared."""
    share = SHARES.get(column.removeprefix("response_").removesuffix("_s"))
    return round(100 / (1 - share)) if share else 0


@cache
def by_block(
    files: Files, name: str, users: int, label: str, least: int | None = None
) -> dict[Turn, float]:
    """The values of the valid windows that a comparison may rest on, or with `least` values."""
    column, kind = metric_of(label)
    if "." in column:
        source, column = f"({_sampled(column, kind)}) WHERE", "value"
    else:
        enough = needed(column) if least is None else least
        of = f"transaction = '{kind}' AND committed + rolled_back >= {enough} AND"
        source = "win WHERE" if column in RATES.values() else f"tx WHERE {of}"
    found = files.rows(
        f"SELECT block, attempt, {column} AS value FROM {source} valid AND candidate = ? "
        f"AND users = ? AND {column} IS NOT NULL ORDER BY block, attempt", (name, users),
    )  # fmt: skip
    return {(row["block"], row["attempt"]): row["value"] for row in found}


def _sampled(column: str, of: str) -> str:
    """A collector's metric by window: of the whole, else the largest of several or their sum."""
    collector, _, metric = column.partition(".")
    chapter = COLLECTORS.read_text().partition(f"\n## {collector}\n")[2].partition("\n## ")[0]
    summed = re.search(rf"\| `{metric}` .*(?:of several the sum|the sum of several)", chapter)
    source = "weighted" if metric.endswith("_latency_s") else "means"
    every = f"{'sum' if summed else 'max'}(value)"
    asked = f"list_contains(string_split_regex(subject, '[.:]'), '{of}') OR subject = '{of}'"
    more = f"AND ({asked})" if of else ""
    whole = every if of else f"coalesce(max(value) FILTER (subject = ''), {every})"
    mine = "" if source == "weighted" else f"collector = '{collector}' AND "
    return (
        f"SELECT w.candidate, w.users, w.block, w.attempt, w.valid, {whole} AS value FROM {source} "
        f"s JOIN win w ON s.window_id = w.window_id WHERE {mine}metric = '{metric}' {more} "
        "GROUP BY ALL"
    )


def logs_of(files: Files, a: str, b: str, users: int, label: str) -> list[float]:
    """Log ratios of b to a, over the blocks that have both."""
    of_a, of_b = (by_block(files, name, users, label) for name in (a, b))
    return [math.log(of_b[turn] / of_a[turn]) for turn in of_a if turn in of_b]


def bounds_of(files: Files, a: str, b: str, users: int, label: str) -> list[tuple[float, float]]:
    """How far below and above what was seen each of them can be, for delays of its windows."""
    found = files.rows("SELECT * FROM win WHERE users = ?", (users,))
    ids = {(w["candidate"], w["block"], w["attempt"]): w["window_id"] for w in found}
    of_a, of_b = (by_block(files, name, users, label) for name in (a, b))
    column, _ = metric_of(label)
    return [delays.bound(files, ids[a, *turn], ids[b, *turn], column)
            for turn in of_a if turn in of_b]  # fmt: skip


@cache
def level(files: Files, name: str, users: int, label: str) -> float | None:
    """Mean of rates; percentile of the merged logs, or of a single window what its table has."""
    column, kind = metric_of(label)
    windows = list(by_block(files, name, users, label, 0).values())
    if column in RATES.values() or "." in column:
        return fmean(windows) if windows else None
    if len(windows) > 1 and files.has_logs:
        of = "" if kind == "all" else f"AND tag = '{kind}'"
        share = {"value": SHARES[column.removeprefix("response_").removesuffix("_s")]}
        where = f"lat WHERE measured AND valid AND kind = 'response' {of} AND users = {users}"
        found = {r["candidate"]: r["value"] for r in files.percentiles("candidate", where, share)}
        return found.get(name)
    return median(windows) if windows else None


@cache
def answers(files: Files, name: str, users: int, kind: str) -> int:
    """How many transactions of a type its valid windows completed."""
    return int(files.one(
        "SELECT sum(committed + rolled_back) FROM tx WHERE valid AND candidate = ? AND users = ? "
        "AND transaction = ?", name, users, kind,
    ) or 0)  # fmt: skip


def printed(files: Files, name: str, users: int, label: str) -> float | None:
    """The same as it is printed: None where too few values lie beyond a percentile."""
    column, kind = metric_of(label)
    enough = answers(files, name, users, kind) >= needed(column)
    return level(files, name, users, label) if enough else None


@cache
def in_report(files: Files, name: str) -> list[Row]:
    """The rows of a table of the report: for names and words alone."""
    return files.rows(f"SELECT * FROM read_parquet('{files.root}/report/tables/{name}.parquet')")
