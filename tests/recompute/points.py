"""What activities measured, point by point: the tables `measured`, `factors` and `factor-steps`.

From the tables of the windows alone, all of which must be valid.
"""

import math
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import duckdb

from recompute import statistics

Row = dict[str, Any]
Point = tuple[tuple[str, str], ...]


def values(root: Path) -> Iterator[tuple[str, Point, int, str, float]]:
    """Candidate, point, block, metric and value of each window, of everything together."""
    own = f"read_parquet('{root}/windows/*/values.parquet')"
    windows = f"read_parquet('{root}/windows/*/window.parquet')"
    found = duckdb.execute(
        f"SELECT candidate, point, block, metric, value FROM {own} JOIN {windows} "
        "USING (window_id) WHERE of = 'all' ORDER BY block"
    )
    for candidate, point, block, metric, value in found.fetchall():
        factors = tuple(tuple(part.split("=", 1)) for part in re.split(r", (?=[^ ]+=)", point))
        yield candidate, factors, block, metric, value


def measured(root: Path, summed: tuple[str, ...]) -> dict[tuple[str, Point], dict[str, float]]:
    """By candidate and point the mean of each metric over its windows, or their sum."""
    every: dict[tuple[str, Point], dict[str, list[float]]] = {}
    for candidate, point, _, metric, value in values(root):
        every.setdefault((candidate, point), {}).setdefault(metric, []).append(value)
    return {
        cell: {name: (sum if name in summed else fmean)(each) for name, each in of.items()}
        for cell, of in every.items()
    }


def factors(root: Path, factor: str, metric: str, beside: Mapping[str, str]) -> Iterator[Row]:
    """What each value of a factor gave, with all others where the question is asked."""
    for (candidate, point), blocks in _cells(root, metric, beside).items():
        shown = {"factor": factor, "value": dict(point)[factor], "candidate": candidate}
        yield shown | {"asked": fmean(blocks.values()), "windows": len(blocks)}


def steps(root: Path, factor: str, metric: str, beside: Mapping[str, str]) -> Iterator[Row]:
    """What the next value changed on each candidate, by the ratios within rounds."""
    cells = _cells(root, metric, beside)
    for name in sorted({candidate for candidate, _ in cells}):
        mine = [point for candidate, point in cells if candidate == name]
        for start, end in pairwise(sorted(mine, key=lambda point: float(dict(point)[factor]))):
            a, b = cells[name, start], cells[name, end]
            logs = [math.log(b[block] / a[block]) for block in a if block in b]
            low, high = statistics.interval(logs) or (None, None)
            yield {
                "factor": factor, "candidate": name, "from": dict(start)[factor],
                "to": dict(end)[factor], "ratio": math.exp(fmean(logs)), "low": low, "high": high,
                "blocks": len(logs),
            }  # fmt: skip


def _cells(
    root: Path, metric: str, beside: Mapping[str, str]
) -> dict[tuple[str, Point], dict[int, float]]:
    cells: dict[tuple[str, Point], dict[int, float]] = {}
    for candidate, point, block, name, value in values(root):
        if name == metric and beside.items() <= dict(point).items():
            cells.setdefault((candidate, point), {})[block] = value
    return cells
