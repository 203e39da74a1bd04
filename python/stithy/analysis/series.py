"""What the collectors saw during the measurement: means, and latencies weighted by their rate."""

from collections.abc import Mapping

import polars as pl

Frames = Mapping[str, pl.DataFrame]

HALF_SAMPLE_S = 0.5
"""Own: a sample covers the second before its time stamp; it counts where its middle lies."""


def measured(frames: Frames) -> pl.DataFrame:
    """The samples whose second lies in their window's measurement, with candidate and users.

    Shapes: columns of `series` plus `candidate`, `users`, `block`. Empty without windows or series.
    Own: see `HALF_SAMPLE_S`.
    """
    series, windows = frames.get("series"), frames.get("window")
    if series is None or windows is None or series.is_empty() or windows.is_empty():
        return pl.DataFrame(schema=_MEASURED)
    bounds = windows.select(
        "window_id", "candidate", "users", "block", "measure_from_s", "measure_to_s"
    )
    middle = pl.col("at_s") - HALF_SAMPLE_S
    return (
        series.join(bounds, on="window_id", how="inner", maintain_order="left")
        .filter((middle >= pl.col("measure_from_s")) & (middle < pl.col("measure_to_s")))
        .select(list(_MEASURED))
    )


_MEASURED: dict[str, pl.DataType | type[pl.DataType]] = {
    "window_id": pl.String,
    "candidate": pl.String,
    "users": pl.Int64,
    "block": pl.Int64,
    "at_s": pl.Float64,
    "second": pl.Float64,
    "collector": pl.String,
    "subject": pl.String,
    "metric": pl.String,
    "unit": pl.String,
    "value": pl.Float64,
}


def means(samples: pl.DataFrame) -> pl.DataFrame:
    """Mean of every metric over each window's measurement; missing samples are left out.

    Shapes: `window_id`, `candidate`, `users`, `block`, `collector`, `subject`, `metric`, `unit`,
    `mean`, `maximum`, `samples`. A metric without any sample has no row.
    Own: the arithmetic mean; right for rates and shares, not for latencies (see `weighted_means`).
    """
    keys = ["window_id", "candidate", "users", "block", "collector", "subject", "metric", "unit"]
    return (
        samples.filter(pl.col("value").is_not_null())
        .group_by(keys, maintain_order=True)
        .agg(
            pl.col("value").mean().alias("mean"),
            pl.col("value").max().alias("maximum"),
            pl.len().alias("samples"),
        )
        .sort(keys)
    )


def weighted_means(
    samples: pl.DataFrame, collector: str, value_metric: str, weight_metric: str
) -> pl.DataFrame:
    """Mean of a latency over each window, every second weighted by its number of operations.

    Shapes: `window_id`, `candidate`, `users`, `block`, `subject`, `mean`. Seconds without
    operations have no latency and no weight.
    Own: total time over total operations.
    """
    keys = ["window_id", "candidate", "users", "block", "subject", "at_s"]
    chosen = samples.filter(pl.col("collector") == collector)
    value = chosen.filter(pl.col("metric") == value_metric).select(*keys, "value")
    weight = chosen.filter(pl.col("metric") == weight_metric).select(
        *keys, pl.col("value").alias("weight")
    )
    joined = value.join(weight, on=keys, how="inner").drop_nulls().filter(pl.col("weight") > 0)
    mean = (pl.col("value") * pl.col("weight")).sum() / pl.col("weight").sum()
    return joined.group_by(keys[:-1]).agg(mean.alias("mean")).sort(keys[:-1])
