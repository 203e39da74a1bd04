"""A made-up run whose server is bound to a CPU, and tells of the blocks that it had."""

from pathlib import Path

import polars as pl

from stithy.activities.hammer.declared import LOAD
from stithy.results import tables
from stithy.results.files import read_run, write_json, write_table
from stithy.results.layout import RunDirectory

STATES = {"user": 0.4, "system": 0.15, "irq": 0.05, "nice": 0.0, "idle": 0.3, "steal": 0.1}
"""Shares of the server's CPU: six tenths are work."""


def with_server_work(root: Path) -> None:
    """Samples of the server's CPU and of buffer hits beside those that the run has."""
    for path in sorted(root.glob("windows/*/series.parquet")):
        known = pl.read_parquet(path)
        reads = known.filter(metric="blocks_read_per_s")
        hits = reads.with_columns(pl.lit("blocks_hit_per_s").alias("metric"), pl.col("value") * 19)
        shares = [
            reads.with_columns(
                pl.lit("cpu").alias("collector"), pl.lit("server").alias("subject"),
                pl.lit(f"{name}_share").alias("metric"), pl.lit("").alias("unit"),
                pl.lit(share).alias("value"),
            )
            for name, share in STATES.items()
        ]  # fmt: skip
        write_table(path, tables.SERIES, pl.concat([known, hits, *shares]).to_dicts())
    for path in sorted(root.glob("windows/*/load.parquet")):
        bound = pl.read_parquet(path).with_columns(server_cpus=pl.lit(1))
        write_table(path, LOAD, bound.to_dicts())
    run = RunDirectory(root)
    manifest = read_run(root).manifest
    assert manifest is not None
    database = manifest.database.model_copy(update={"cpus": (0,)})
    write_json(run.manifest, manifest.model_copy(update={"given_database": database}))
