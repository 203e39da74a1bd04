"""Latency logs of a made-up window: as many values of each type as its table tells."""

import math
import random
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from stithy.results.hlog import LoggedHistogram
from support.hlog import HALF, encode, index_of, log

Row = Mapping[str, Any]

QUANTILES = {
    0.0: "min_s", 0.5: "p50_s", 0.9: "p90_s", 0.95: "p95_s", 0.99: "p99_s", 0.999: "p999_s",
    1.0: "max_s",
}  # fmt: skip


def write_logs(stem: Path, seconds: Sequence[Row], times: Sequence[Row], seed: str) -> None:
    """`<stem>.response.hlog` and so on, a line a second and transaction type.

    `times`: the rows of `transactions`, whose percentiles the values follow.
    """
    answered = _answered(seconds, times)
    pooled = ("pool-wait",) if times[0]["pool_wait_mean_s"] is not None else ()
    for what in ("response", "service", *pooled):
        draw = random.Random(f"{seed}/{what}")
        curves = {row["transaction"]: _curve(row, what) for row in times}
        lines = []
        for _, each in groupby(seconds, key=lambda row: row["second"]):
            for row in each:
                if row["transaction"] != "all":
                    count = answered[row["transaction"], row["second"]]
                    made = _histogram(count, curves[row["transaction"]], draw)
                    lines.append(f"Tag={row['transaction']},{row['at_s']:.3f},1.000,1.0,{made}\n")
        stem.with_name(f"{stem.name}.{what}.hlog").write_text(log(*lines))


def _answered(seconds: Sequence[Row], times: Sequence[Row]) -> dict[tuple[str, int], int]:
    """By type and second: those of the seconds, evened out to the totals of the measurement."""
    found = {(row["transaction"], row["second"]): row["committed"] for row in seconds}
    measured = sorted({row["second"] for row in seconds if row["phase"] == "measure"})
    for row in times:
        name, wanted = row["transaction"], row["committed"] + row["rolled_back"]
        missing = wanted - sum(found[name, second] for second in measured)
        for index, second in enumerate(measured):
            left = len(measured) - index
            more = max(missing // left, -found[name, second])
            found[name, second] += more
            missing -= more
    return found


def _curve(row: Row, what: str) -> list[tuple[float, float]]:
    """Shares and the logarithm of their value, microseconds."""
    return [(share, math.log(row[f"{what.replace('-', '_')}_{key}"] * 1e6))
            for share, key in QUANTILES.items()]  # fmt: skip


def _histogram(count: int, curve: list[tuple[float, float]], draw: random.Random) -> str:
    counts: dict[int, int] = {}
    for _ in range(count):
        bucket = index_of(max(1, round(_value_us(draw.random(), curve))))
        counts[bucket] = counts.get(bucket, 0) + 1
    return encode(LoggedHistogram(counts, HALF, 0))


def _value_us(share: float, curve: list[tuple[float, float]]) -> float:
    at = max(1, bisect_left(curve, (share, math.inf)))
    (low, log_low), (high, log_high) = curve[at - 1], curve[at]
    return math.exp(log_low + (share - low) / (high - low) * (log_high - log_low))
