"""Seconds in which users stood still, and their causes, from the samples of the run."""

from functools import cache
from statistics import median
from typing import Any

from recompute.files import Files, Row

ORDER = (
    ("creation of a log file", "log-file"), ("checkpoints", "checkpoint"),
    ("flushes of the drive", "flush"), ("waits for the commit log", "log"),
    ("waits for data files", "data"), ("lock waits", "locks"),
    ("waits for a connection", "pool"), ("unknown cause", ""),
)  # fmt: skip
"""Causes as the report says them, the surest first."""


@cache
def of_level(files: Files, name: str, users: int) -> tuple[int, list[tuple[str, str, float]]]:
    """The seconds of all valid windows; of each stalled one window, cause and lost share."""
    length, found = 0, []
    for win in files.rows(
        "SELECT * FROM win WHERE valid AND candidate = ? AND users = ?", (name, users)
    ):
        done = _seconds(files, win["window_id"])
        usual = median(each["done"] for each in done) if done else 0
        least = min(usual / 2, usual - 4 * usual**0.5)
        if least <= 0:
            continue
        length += len(done)
        for each in done:
            if each["done"] < least:
                cause = _cause(files, win, each, len(done))
                found.append((win["window_id"], cause, 1 - each["done"] / usual))
    return length, found


def _seconds(files: Files, window: str) -> list[Row]:
    """What was done in each second of a measurement."""
    return files.rows(
        "SELECT CAST(floor(at_s) AS BIGINT) AS at, committed + rolled_back AS done, waiting "
        "FROM seconds WHERE window_id = ? AND phase = 'measure' AND transaction = 'all'", (window,),
    )  # fmt: skip


def in_checkpoints(files: Files, window: str) -> float | None:
    """Throughput lost in seconds of a checkpoint with less than half of the usual one."""
    inside, done = _checkpointed(files, window), _seconds(files, window)
    if inside is None or not done:
        return None
    usual = median(each["done"] for each in done)
    slow = [each["done"] for each in done if each["at"] in inside and each["done"] < usual / 2]
    return sum(usual - each for each in slow) / (usual * len(done)) if usual else 0.0


def _cause(files: Files, win: Row, second: Row, seconds: int) -> str:
    at, signs = second["at"], set[str]()
    events = files.rows(
        "SELECT wait_group(subject) AS g, subject, value FROM series WHERE window_id = ? AND "
        "metric = 'waiting_sessions_by_event' AND CAST(floor(at_s) AS BIGINT) = ? AND value > 0",
        (win["window_id"], at),
    )
    active = sum(each["value"] for each in events)
    for group in ("log", "data", "locks"):
        waiting = sum(each["value"] for each in events if each["g"] == group)
        signs |= {group} if waiting and waiting >= active / 2 else set()
    if any(each["subject"].lower().startswith("io:walinit") for each in events):
        signs.add("log-file")
    inside = _checkpointed(files, win["window_id"]) or set()
    signs |= {"checkpoint"} if at in inside and len(inside) < seconds / 2 else set()
    signs |= {"flush"} if at in _flushed(files, win["window_id"]) else set()
    pooled = win["pace"] != "rate" and (win["connections_opened"] or win["users"]) < win["users"]
    signs |= {"pool"} if pooled and (second["waiting"] or 0) >= win["users"] / 2 else set()
    return next(words for words, sign in ORDER if sign in signs or not sign)


def _checkpointed(files: Files, window: str) -> set[int] | None:
    """The seconds in which a checkpoint ran or wrote; None where nothing tells of any."""
    shown = files.rows(
        "SELECT metric, value, min(at_s) AS at_s FROM series WHERE window_id = ? AND (metric = "
        "'last_checkpoint_at_s' AND value IS NOT NULL OR metric = 'checkpoint_buffers_per_s' AND "
        "value > 0) GROUP BY metric, value, if(metric = 'last_checkpoint_at_s', 0, at_s) "
        "ORDER BY 3", (window,),
    )  # fmt: skip
    begun = [each for each in shown if each["metric"] == "last_checkpoint_at_s"]
    spans = [range(int(each["value"]), int(each["at_s"]) + 1) for each in begun[1:]]
    wrote = [int(each["at_s"]) for each in shown if each not in begun]
    spans += [range(at - 1, at + 1) for at in wrote]
    return {second for span in spans for second in span} if shown else None


def _flushed(files: Files, window: str) -> set[int]:
    """The seconds that a stalled flush may have begun in."""
    rows = files.rows(
        "SELECT * FROM (SELECT at_s, rate, latency, median(latency) OVER (PARTITION BY subject) AS "
        "usual FROM (SELECT subject, at_s, max(value) FILTER (metric = 'flushes_per_s') AS rate, "
        "max(value) FILTER (metric = 'flush_latency_s') AS latency FROM series WHERE window_id = ? "
        "AND collector = 'block' GROUP BY ALL) WHERE rate > 0 AND latency IS NOT NULL) WHERE "
        "latency > 5 * usual AND rate * latency >= 0.5", (window,),
    )  # fmt: skip
    return {int(each["at_s"]) - back for each in rows for back in (0, 1, 2)}


def row(files: Files, row: Row) -> dict[str, Any]:
    """A row of the table of stalls."""
    length, found = of_level(files, row["candidate"], row["users"])
    mine = [each for each in found if each[1] == row["cause"]]
    return {
        "users": row["users"], "windows": len({name for name, _, _ in mine}),
        "seconds": len(mine), "measured_s": length,
        "share": sum(share for _, _, share in mine) / length,
    }  # fmt: skip


def said(files: Files, name: str) -> list[Any]:
    """The numbers of a candidate's sentence, in their order; then the share of each cause."""
    length, found = of_level(files, name, files.told_level)
    return [len(found), length, sum(share for _, _, share in found) / length]


def shares(files: Files) -> list[float]:
    """The shares of all causes at the level of the answer."""
    known = []
    for name in files.candidates:
        length, found = of_level(files, name, files.told_level)
        for words, _ in ORDER:
            known.append(sum(lost for _, cause, lost in found if cause == words) / (length or 1))
    return known
