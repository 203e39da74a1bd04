"""SQLite for the suites."""

import sqlite3

from conformance.samples import Sample
from stithy.engines.sqlite.database import read_file
from stithy.secrets import Secret


def _run(url: Secret, statement: str) -> None:
    with sqlite3.connect(read_file(url), timeout=60) as session:
        session.execute(statement)


SAMPLE = Sample(
    setting=("cache_kib", "3000"),
    refused=("nonsense", "1"),
    errors={
        ("SQLITE_BUSY", "database is locked"): "retryable",
        ("SQLITE_BUSY_SNAPSHOT", "database is locked"): "retryable",
        ("SQLITE_LOCKED", "database table is locked"): "retryable",
        ("SQLITE_FULL", "database or disk is full"): "full",
        ("SQLITE_IOERR_SHMSIZE", "disk I/O error"): "full",
        (None, "database or disk is full"): "full",
        ("SQLITE_IOERR (266)", "disk I/O error"): "storage",
        ("SQLITE_CORRUPT", "database disk image is malformed"): "storage",
        ("SQLITE_CONSTRAINT", "UNIQUE constraint failed"): "other",
    },
    run=_run,
    left=lambda facts: False,
)
