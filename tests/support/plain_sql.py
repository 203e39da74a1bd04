"""Numbers worked out of a run's Parquet files by plain SQL, without anything of Stithy."""

from pathlib import Path
from typing import Any

import polars as pl

Row = tuple[Any, ...]

MEASURED = (
    "SELECT w.window_id, w.candidate, w.users, w.block, s.collector, s.subject, s.metric, s.at_s, "
    "s.value FROM series s JOIN win w ON s.window_id = w.window_id WHERE s.value IS NOT NULL "
    "AND s.at_s - 0.5 >= w.measure_from_s AND s.at_s - 0.5 < w.measure_to_s"
)
"""The samples of the measurements; each covers the second before its time."""


def rows(root: Path, query: str) -> list[Row]:
    """The answer over the tables `win` (of windows), `transactions`, `seconds`, `series`, and
    `measured`, the samples of the measurements.
    """
    context = pl.SQLContext(eager=True)
    names = {"win": "window", "transactions": "transactions", "seconds": "seconds"}
    for name, file in {**names, "series": "series"}.items():
        context.register(name, pl.read_parquet(root / "windows" / "*" / f"{file}.parquet"))
    context.register("measured", context.execute(MEASURED))
    return list(context.execute(query).iter_rows())
