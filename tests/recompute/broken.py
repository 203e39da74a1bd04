"""What faults, power cuts and migrations did, by the values of sentences that name their point.

Counts of windows, losses, pauses and what is degraded follow from the tables of each window and
from latency logs, second by second.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from statistics import fmean
from typing import Any

from recompute import statistics
from recompute.files import Files, Row

UNASKED = (None, "stopped by a person", "the window wrote no ledger")
UNDONE = ("nothing is moved in the window", "the migration did not begin")
UNCHECKED = "the engine did not check its files"


def is_of(said: Row) -> bool:
    """Whether a sentence is about a candidate at a point that it names."""
    return any("point" in values for values in said["values"])


def _at(files: Files, row: Row, *, valid: bool = False) -> list[Row]:
    where = "candidate = ? AND point = ?" + (" AND valid" if valid else "")
    return files.rows(f"SELECT * FROM win WHERE {where} ORDER BY block, attempt",
                      (row["candidate"], row["point"]))  # fmt: skip


def _read(files: Files, window: Row, metric: str, of: str = "all") -> Row:
    """What an activity wrote of a window: its value, and why there is none."""
    path = f"'{files.root}/windows/*/values.parquet'"
    found = files.rows(
        f"SELECT value, missing_because FROM read_parquet({path}) WHERE window_id = ? AND metric "
        "= ? AND \"of\" = ?", (window["window_id"], metric, of),
    )  # fmt: skip
    return found[0] if found else {"value": None, "missing_because": None}


def _spans(files: Files, window: Row) -> dict[str, Row]:
    path = f"'{files.root}/windows/*/spans.parquet'"
    rows = files.rows(f"SELECT * FROM read_parquet({path}) WHERE window_id = ?",
                      (window["window_id"],))  # fmt: skip
    return {each["name"]: each for each in rows}


def _is_unchecked(files: Files, window: Row) -> bool:
    because = _read(files, window, "fault.damaged")["missing_because"]
    return because is not None and not because.startswith(UNCHECKED)


def _is_unreadable(files: Files, window: Row) -> bool:
    moved = _read(files, window, "migration.duration_s")
    began = _read(files, window, "fault.promised")["value"] is not None or (
        moved != {"value": None, "missing_because": None} and moved["missing_because"] not in UNDONE
    )
    was_read = window["proof_after"] is not None and not _is_unchecked(files, window)
    return began and window["ledger_unverified_because"] not in UNASKED and not was_read


def _has_lost(files: Files, window: Row) -> bool:
    """Whether rows of the ledger are gone, a count disagrees, or anything is damaged or broken."""
    mine = window["window_id"]
    gone = files.one(
        "SELECT sum(lost + differing + returned) FROM ledger WHERE window_id = ?", mine
    )
    broken = files.one("SELECT count(*) FROM window_conditions WHERE NOT holds AND window_id = ?",
                       mine)  # fmt: skip
    counts = [window[name] for name in ("proof_after", "proof_before", "headline_acknowledged")]
    after, before, acknowledged = counts
    disagrees = None not in counts and after - before != acknowledged + (
        window["headline_in_doubt_found"] or 0
    )
    damaged = _read(files, window, "fault.damaged")["value"] == 1 or any(
        each["source"] != each["target"] for each in (_list_tables(files, window) or {}).values()
    )
    return bool(gone or broken or disagrees or damaged or _is_unreadable(files, window))


def _count_lost(files: Files, row: Row) -> int:
    if "cuts" in row:
        return sum(_read(files, each, "cut.lost")["value"] == 1 for each in _at(files, row))
    return sum(_has_lost(files, each) for each in _at(files, row))


def _count_destroyed(files: Files, row: Row) -> int:
    return sum(_is_unreadable(files, each) for each in _at(files, row))


def _count_gone(files: Files, row: Row) -> int:
    ids = [each["window_id"] for each in _at(files, row) if _has_lost(files, each)]
    return int(files.one(
        f"SELECT sum({row['how']}) FROM ledger WHERE deal = ? AND list_contains(?, window_id)",
        row["deal"], ids,
    ))  # fmt: skip


def _is_compared(files: Files, window: Row) -> bool:
    missing = window["ledger_unverified_because"] or window["ledger_problem"]
    return bool(window["ledger_acknowledged"]) and not missing


def _count_compared(files: Files, row: Row) -> int:
    return sum(
        _is_compared(files, each) and not _is_unchecked(files, each)
        and ("fault=none" in row["point"] or "fault" in _spans(files, each))
        for each in _at(files, row)
    )  # fmt: skip


def _average(metric: str, of: str = "all") -> Callable[[Files, Row], float | None]:
    def average(files: Files, row: Row) -> float | None:
        every = (_read(files, each, metric, of)["value"] for each in _at(files, row, valid=True))
        known = [value for value in every if value is not None]
        return fmean(known) if known else None

    return average


def _list_pauses(files: Files, row: Row) -> list[float]:
    return [each["gap_s"] for each in _at(files, row, valid=True) if each["gap_s"] is not None]


def _bounded(end: int) -> Callable[[Files, Row], Any]:
    """A pause, or by what share throughput is less while degraded, or an end of its interval."""

    def read(files: Files, row: Row) -> Any:
        if "lasted" not in row:
            pauses = _list_pauses(files, row)
            return (fmean(pauses), *(statistics.around(pauses) or ()))[end]
        logs = _list_degraded(files, row)
        ends = sorted(abs(1 - each) for each in statistics.interval(logs) or ())
        return (abs(1 - math.exp(fmean(logs))), *ends)[end]

    return read


def _list_degraded(files: Files, row: Row) -> list[float]:
    """Of each block the log ratio of throughput in the same seconds, with the fault and without."""
    alone = {**row, "point": re.sub(r"fault=[^,]+", "fault=none", row["point"])}
    first = {each["block"]: each for each in _at(files, alone, valid=True)}
    logs = []
    for window in _at(files, row, valid=True):
        if window["block"] in first:
            seconds = _list_seconds(files, window)
            counts = [files.one(
                "SELECT sum(count) FROM lat WHERE kind = 'response' AND window_id = ? AND "
                "list_contains(?, second)", each["window_id"], seconds,
            ) for each in (first[window["block"]], window)]  # fmt: skip
            logs.append(math.log(counts[1] / counts[0]))
    return logs


def _list_seconds(files: Files, window: Row) -> list[int]:
    """The whole seconds from the fault to its repair, without those of its pause."""
    spans, began_s = _spans(files, window), window["started_at_s"]
    struck_s, healed_s = spans["fault"]["from_s"], spans["repair"]["to_s"]
    whole_s = spans.get("rebuild", spans["repair"])["to_s"]
    parts = [(struck_s, healed_s)]
    gap_s = window["gap_from_s"], window["gap_from_s"] + window["gap_s"]
    if window["gap_s"] >= 1 and struck_s < gap_s[1] and gap_s[0] < whole_s:
        parts = [(struck_s, min(gap_s[0], healed_s)), (max(gap_s[1], struck_s), healed_s)]
    return [second for a_s, b_s in parts
            for second in range(math.ceil(a_s - began_s), math.floor(b_s - began_s))]  # fmt: skip


def _list_cuts(files: Files, row: Row) -> list[Row]:
    return [each for each in _at(files, row)
            if _read(files, each, "cut.lost")["value"] is not None]  # fmt: skip


def _bound(files: Files, row: Row) -> float:
    """The chance of a loss by which so few have one in a twentieth of cases, by halving."""
    cuts, lost = len(_list_cuts(files, row)), _count_lost(files, row)
    low, high = 0.0, 1.0
    for _ in range(60):
        chance = (low + high) / 2
        few = sum(math.comb(cuts, k) * chance**k * (1 - chance) ** (cuts - k)
                  for k in range(lost + 1))  # fmt: skip
        low, high = (chance, high) if few > 0.05 else (low, chance)
    return 1.0 if lost == cuts else high


def _sum_gone(files: Files, row: Row) -> float:
    return sum(_read(files, each, "cut.transactions_lost")["value"] or 0
               for each in _list_cuts(files, row))  # fmt: skip


def _lasted(files: Files, row: Row) -> float | None:
    metric = ("migration.duration_s",) if "method" in row else ("fault.phase_s", "degraded")
    return _average(*metric)(files, row)


def _list_tables(files: Files, window: Row) -> Row | None:
    """The checksums at source and target, of a window in which they were compared."""
    path = files.root / "windows" / window["window_id"] / "moved-tables.json"
    tables: Row | None = json.loads(path.read_text())["tables"] if path.exists() else None
    return tables


def _count_tables(files: Files, row: Row) -> float | None:
    """How many each comparison had, all of which were equal: else the window is invalid."""
    every = (_list_tables(files, each) for each in _at(files, row, valid=True))
    known = [tables for tables in every if tables is not None]
    if any(each["source"] != each["target"] for tables in known for each in tables.values()):
        return None
    return fmean(map(len, known)) if known else None


NUMBERS: Mapping[str, Callable[[Files, Row], Any]] = {
    "windows": lambda files, row: len(_at(files, row)), "lost": _count_lost, "count": _count_gone,
    "destroyed": _count_destroyed,
    "others": lambda files, row: _count_lost(files, row) - _count_destroyed(files, row),
    "compared": _count_compared, "value": _bounded(0), "low": _bounded(1), "high": _bounded(2),
    "lasted": _lasted, "usual": lambda files, row: fmean(_list_pauses(
        files, {**row, "point": re.sub(r"way=[^,]+", "way=none", row["point"])})),
    "pause": lambda files, row: fmean(_list_pauses(files, row)),
    "tables": _count_tables, "uncompared": lambda files, row: sum(
        _list_tables(files, each) is None for each in _at(files, row, valid=True)),
    "unproven": lambda files, row: sum(
        not _is_compared(files, each) for each in _at(files, row)),
    "cuts": lambda files, row: len(_list_cuts(files, row)), "bound": _bound, "gone": _sum_gone,
    "unknown": lambda files, row: len(_at(files, row)) - len(_list_cuts(files, row)),
}  # fmt: skip
"""By the name of a value, what it must be."""
