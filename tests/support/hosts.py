"""A made-up run whose storage is on another host, of which an exporter tells."""

from pathlib import Path

import polars as pl

from stithy.results import tables
from stithy.results.files import read_run, write_json, write_table
from stithy.results.layout import RunDirectory
from stithy.results.manifest import ExporterFacts

VALUES = {
    ("", "idle_share"): 0.03, ("", "iowait_share"): 0.01, ("", "user_share"): 0.96,
    ("", "cpus"): 4.0, ("", "available_bytes"): 2.0**33, ("", "clock_offset_s"): 2.5,
    ("", "scrape_s"): 0.04, (":sda", "reads_per_s"): 120.0, (":sda", "read_latency_s"): 0.004,
    (":sda", "writes_per_s"): 40.0, (":sda", "utilisation_share"): 0.6,
}  # fmt: skip
"""What of the host `nas` is told each second, by what follows its name; its CPUs are full."""


def with_hosts(root: Path, role: str = "storage", devices: tuple[str, ...] = ()) -> None:
    """Samples of the exporter beside those that the run has; each second a little other ones."""
    for path in sorted(root.glob("windows/*/series.parquet")):
        known = pl.read_parquet(path)
        seconds = known.filter(collector="cpu", subject="", metric="idle_share")
        told = [
            seconds.with_columns(
                pl.lit("exporters").alias("collector"), pl.lit(f"nas{part}").alias("subject"),
                pl.lit(metric).alias("metric"), pl.lit("").alias("unit"),
                (value * (1 + pl.col("second") / 1000)).alias("value"),
            )
            for (part, metric), value in VALUES.items()
        ]  # fmt: skip
        own = known.filter(pl.col("collector") != "exporters")
        write_table(path, tables.SERIES, pl.concat([own, *told]).to_dicts())
    manifest = read_run(root).manifest
    assert manifest is not None
    nas = ExporterFacts(url="http://nas.example:9100/metrics", map="node_exporter",
                        version="1.5.0", role=role, every_s=1.0, devices=devices)  # fmt: skip
    changed = manifest.model_copy(update={"exporters": {"nas": nas}})
    write_json(RunDirectory(root).manifest, changed)
