"""A run held against an earlier one: Welch's interval of logarithms, wider by the machine's drift.

As docs/explanation/verdicts.md and the words beside the table have it: windows are not paired, and
how far baseline checks and the work of others lie apart is added on both sides.
"""

import math
from collections.abc import Sequence
from functools import cache
from statistics import fmean, median, variance

from recompute import statistics
from recompute.files import Files, Row
from recompute.levels import by_block, level, metric_of

GAUGES = {"one_rounds_per_s": 0.0, "all_rounds_per_s": 0.0, "read_p50_s": math.log(4 / 3)}
"""Figures of the baseline checks, and from which difference on they tell anything of the run."""

TAKEN = (
    "SELECT avg(greatest(others_cpu_s / span_s / cpus + coalesce(steal.value, 0), CASE WHEN "
    "others_here_bytes > greatest(0.05 * disks_bytes, 1048576 * span_s) THEN others_here_bytes / "
    "disks_bytes ELSE 0 END)) FROM surroundings s JOIN win w ON s.window_id = w.window_id "
    "LEFT JOIN means steal ON steal.window_id = w.window_id AND steal.metric = 'steal_share' AND "
    "steal.subject = '' WHERE w.valid AND w.candidate = ? AND w.users = ?"
)


@cache
def machine(base: Files, other: Files) -> dict[str, float]:
    """How many times as much as before each figure of the baseline checks is."""
    found = {}
    for name in GAUGES:
        sides = [
            [row[name] for row in each.rows("SELECT * FROM baseline") if row[name] is not None]
            for each in (base, other)
        ]
        if all(sides):
            found[name] = median(sides[1]) / median(sides[0])
    return found


def taken(base: Files, other: Files, name: str, users: int) -> list[float]:
    """The mean share of the machine that others took in the windows of both; empty: not known."""
    shares = [each.one(TAKEN, name, users) for each in (base, other)]
    return [each for each in shares if each is not None] if None not in shares else []


def apart(shares: Sequence[float]) -> float:
    """How far apart two runs are by what others took of the machine, as a logarithm."""
    left = [1 - min(each, 0.99) for each in shares]
    return abs(math.log(left[1] / left[0])) if left else 0.0


@cache
def changes(base: Files, other: Files, labels: tuple[str, ...]) -> Sequence[Row]:
    """The rows of all metrics, candidates and levels that both have; chances adjusted by Holm."""
    names = [each for each in base.candidates if each in other.candidates]
    levels = [each for each in base.levels if each in other.levels]
    rows = [
        _change(base, other, label, name, users)
        for label in labels for name in names for users in levels
    ]  # fmt: skip
    known = [row for row in rows if row["chance_share"] is not None]
    adjusted = statistics.holm([row["chance_share"] for row in known])
    for row, chance in zip(known, adjusted, strict=True):
        row["chance_share"] = chance
    return rows


def _change(base: Files, other: Files, label: str, name: str, users: int) -> Row:
    a, b = (list(by_block(each, name, users, label, 0).values()) for each in (base, other))
    found: Row = {
        "metric": label, "candidate": name, "users": users, "windows_base": len(a),
        "windows_other": len(b), "base": level(base, name, users, label),
        "other": level(other, name, users, label), "drift_share": 0.0,
        **dict.fromkeys(("ratio", "low", "high", "chance_share")),
    }  # fmt: skip
    if not a or not b or min(*a, *b) <= 0:
        return found
    others = taken(base, other, name, users)
    logs = {key: abs(math.log(ratio)) for key, ratio in machine(base, other).items()}
    drift = max([apart(others), *(x for key, x in logs.items() if x > GAUGES[key])])
    a, b = ([math.log(each) for each in side] for side in (a, b))
    log = fmean(b) - fmean(a)
    found |= {"ratio": math.exp(log), "drift_share": math.exp(drift) - 1}
    is_percentile = metric_of(label)[0].startswith("response_")
    if min(len(a), len(b)) < 2 or (is_percentile and others and abs(others[0] - others[1]) > 0.05):
        return found
    squares = [variance(each) / len(each) for each in (a, b)]
    error = math.sqrt(sum(squares))
    if error < 1e-12:
        return found
    share = sum(s**2 / (len(each) - 1) for s, each in zip(squares, (a, b), strict=True)) / error**4
    degrees = max(1, math.floor(1 / share + 1e-9))
    half = statistics.t_critical(degrees) * error + drift
    chance = statistics.t_beyond(max(0.0, abs(log) - drift) / error, degrees)
    return found | {
        "low": math.exp(log - half),
        "high": math.exp(log + half),
        "chance_share": chance,
    }


def is_apart(row: Row) -> bool:
    """Whether chance alone would give a change in at most 5 of 100 such comparisons."""
    return row["chance_share"] is not None and row["chance_share"] <= 0.05


@cache
def labels(files: Files, number: int) -> tuple[str, ...]:
    """The metrics that are compared, by the names in the table of this number."""
    shown = files.rows(f"SELECT metric FROM '{files.root}/report/tables/runs-{number}.parquet'")
    return tuple(dict.fromkeys(each["metric"] for each in shown))


def run_of(files: Files, number: int, row: Row) -> Row | None:
    """A row of the table that holds the run against the other one of this number."""
    rows = changes(files.others[number - 1], files, labels(files, number))
    keys = ("metric", "candidate")
    mine = (each for each in rows if f"{each['users']:,}" == row["level"])
    return next((each for each in mine if all(each[k] == row[k] for k in keys)), None)
