"""What meters showed: means of samples, added by candidate, and the energy of an order.

What the idle machine drew is in the table of meters alone, which is its rawest file.
"""

import math
import re
from statistics import fmean
from typing import Any

from recompute.files import Files, Row

SHARE_LEAST = 0.9
COLUMNS = ("power.mean_w", "power.above_idle_w", "power.joules_per_order",
           "power.marginal_joules_per_order", "power.sampled_share")  # fmt: skip


def is_metered(files: Files) -> bool:
    """Whether the run measured power."""
    return (files.root / "tables" / "meters.parquet").exists()


def idle_w(files: Files, candidate: str) -> float | None:
    """What the idle machine drew by the meters that count, at last."""
    every = [each["idle_w"] for each in _meters(files, candidate) if each["counted"]]
    return None if None in every else sum(every)


def _meters(files: Files, candidate: str, before_s: float | None = None) -> list[Row]:
    """Those of the last session that began before a moment; by default of all the last."""
    path = files.root / "tables" / "meters.parquet"
    sql = (
        f"SELECT * FROM read_parquet('{path}') WHERE candidate = ? AND meter <> 'all' AND "
        "idle_from_s <= ? QUALIFY rank() OVER (ORDER BY idle_from_s DESC) = 1"
    )
    return files.rows(sql, (candidate, before_s or float("inf")))


def _draw(files: Files, window: Row, meter: Row) -> tuple[float | None, float]:
    """The mean of a meter in a window, None of too few samples; and the share that came."""
    sql = (
        "SELECT at_s, value, at_s - lag(at_s, 1, at_s - ?) OVER (ORDER BY at_s) AS covered "
        "FROM series WHERE collector = 'power' AND window_id = ? AND subject = ?"
    )
    rows = files.rows(sql, (meter["every_s"], window["window_id"], meter["meter"]))
    own = [each for each in rows if window["measure_from_s"]
           <= each["at_s"] - each["covered"] / 2 < window["measure_to_s"]]  # fmt: skip
    known = [each for each in own if each["value"] is not None]
    due = window["measured_s"] / meter["every_s"]
    due = max(1, int(due), min(len(own), math.ceil(due)))
    share = min(1.0, len(known) / due)
    if share < SHARE_LEAST:
        return None, share
    joules = sum(each["value"] * each["covered"] for each in known)
    return joules / sum(each["covered"] for each in known), share


def of_window(files: Files, window: Row) -> dict[str, float | None]:
    """All values of a window; of one without a mean the share alone."""
    meters = _meters(files, window["candidate"], window["measure_from_s"])
    counted = [each for each in meters if each["counted"]]
    draws = [_draw(files, window, meter) for meter in counted]
    known = [watts for watts, _ in draws if watts is not None]
    share = min(share for _, share in draws)
    if len(known) < len(draws):
        return dict(zip(COLUMNS, (None,) * 4 + (share,), strict=True))
    per_s, idle = window["headline_per_min"] / 60, [each["idle_w"] for each in counted]
    above = None if None in idle else sum(known) - sum(idle)
    marginal = None if above is None else above / per_s
    values = (sum(known), above, sum(known) / per_s, marginal, share)
    return dict(zip(COLUMNS, values, strict=True))


def _windows(files: Files, candidate: Any, users: Any) -> list[Row]:
    sql = "SELECT * FROM win WHERE candidate = ? AND users = ? AND valid"
    return files.rows(sql, (candidate, users))


def of_level(files: Files, row: Row) -> Row:
    """The means of all valid windows of a candidate at a level."""
    every = [of_window(files, each) for each in _windows(files, row["candidate"], row["users"])]
    known = {name: [value for each in every if (value := each[name]) is not None]
             for name in COLUMNS}  # fmt: skip
    means = {name: fmean(values) if values else None for name, values in known.items()}
    return {"users": row["users"], **means}


def of_meter(files: Files, row: Row) -> Row:
    """The mean of a meter where the question is asked."""
    [meter] = [each for each in _meters(files, row["candidate"]) if each["meter"] == row["meter"]]
    users = files.one("SELECT max(users) FROM win")
    draws = (_draw(files, each, meter)[0] for each in _windows(files, row["candidate"], users))
    known = [watts for watts in draws if watts is not None]
    return {"mean_w": fmean(known) if known else None}


def of_figure(column: str) -> Any:
    """The values of a figure: of a window by its block, or of either of its attempts."""

    def find(files: Files, row: Row) -> Row:
        sql = "SELECT * FROM win WHERE candidate = ? AND users = ? AND block = ?"
        found = files.rows(sql, (row["candidate"], row["users"], row["block"]))
        return {name: row[name] for name in ("users", "block")} | {
            "value": [of_window(files, each)[column] for each in found]
        }

    return find


def drawn(files: Files, row: Row) -> float | None:
    """What a candidate draws at the users that a sentence names."""
    users = re.search(r"[\d,]+", row["where"])
    assert users is not None
    value = of_level(files, {**row, "users": int(users[0].replace(",", ""))})["power.mean_w"]
    return value  # type: ignore[no-any-return]  # a number or None
