"""Numbers worked out of a run's Parquet files by DuckDB, without anything of Stithy."""

from pathlib import Path
from typing import Any

import duckdb

Row = tuple[Any, ...]

OF_WINDOWS = {
    "win": "window", "transactions": "transactions", "seconds": "seconds", "series": "series",
    "ledger": "ledger", "drives": "drives", "window_conditions": "conditions",
}  # fmt: skip
OF_RUN = {"restores": "restores", "canaries": "canary", "run_conditions": "conditions"}

MEASURED = (
    "SELECT w.window_id, w.candidate, w.users, w.block, s.collector, s.subject, s.metric, s.at_s, "
    "s.value FROM series s JOIN win w ON s.window_id = w.window_id WHERE s.value IS NOT NULL "
    "AND s.at_s - 0.5 >= w.measure_from_s AND s.at_s - 0.5 < w.measure_to_s"
)
"""The samples of the measurements; each covers the second before its time."""

ANSWERED = (
    "SELECT w.candidate, w.users, w.block, w.errors AS failed, t.* EXCLUDE (errors) "
    "FROM transactions t JOIN win w ON t.window_id = w.window_id"
)
"""The response times of each window by transaction type."""


def rows(root: Path, query: str) -> list[Row]:
    """The answer over the tables `win` (of windows), `transactions`, `seconds`, `series`, `drives`,
    `ledger`, `window_conditions`, those of the run `restores`, `canaries` and `run_conditions`;
    `measured`, the samples of the measurements, and `answered`, transactions with their window.
    """
    with duckdb.connect(config={"threads": 1}) as connection:
        for names, folder in ((OF_WINDOWS, "windows/*"), (OF_RUN, "tables")):
            for name, file in names.items():
                files = f"read_parquet('{root}/{folder}/{file}.parquet')"
                connection.execute(f"CREATE VIEW {name} AS SELECT * FROM {files}")
        for name, view in (("measured", MEASURED), ("answered", ANSWERED)):
            connection.execute(f"CREATE VIEW {name} AS {view}")
        return connection.execute(query).fetchall()
