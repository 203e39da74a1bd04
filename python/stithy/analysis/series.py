"""What the collectors saw during the measurement: means, and latencies weighted by their rate."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from stithy.results.tables import STOPPED, UNANSWERED

Frames = Mapping[str, pl.DataFrame]

HALF_SAMPLE_S = 0.5
"""Own: a sample covers the second before its time stamp; it counts where its middle lies."""


@dataclass(frozen=True)
class Sampled:
    """What is kept of the samples of all windows, which of a large study are too many to keep.

    `means`: as `means` gives them. `weighted`: as `weighted_means`, of every metric that has a
    weight, with `collector` and `metric`. `seen`: by `window_id` in how many `seconds` there is any
    sample, and `steal_share`. `ended`: `window_id`, `collector`, `missing_because` of collectors
    that died or had no answer. `checkpoints`: `window_id`, `metric`, `value`, `at_s` of what the
    database tells of them, each value when it was told first. `any_rows`: whether anybody looked.
    """

    means: pl.DataFrame
    weighted: pl.DataFrame
    seen: pl.DataFrame
    ended: pl.DataFrame
    checkpoints: pl.DataFrame
    any_rows: bool


Weights = Mapping[tuple[str, str], str]
"""By a collector and its metric, the metric by which seconds of it are weighted."""


def sampled(parts: Iterable[pl.DataFrame], windows: pl.DataFrame, weights: Weights) -> Sampled:
    """What is kept of samples that come some windows at a time.

    Shapes: each of `parts` has the columns of `series`, and all rows of its windows; `windows` has
    those of `window`.
    Own: the same as of all parts at once.
    """
    nothing = pl.DataFrame(schema=_SERIES)
    kept = [_kept(part, windows, weights) for part in (nothing, *parts)]
    return Sampled(
        pl.concat([each.means for each in kept]).sort(_OF_MEANS),
        pl.concat([each.weighted for each in kept]).sort("collector", "metric", *_OF_WEIGHTED),
        pl.concat([each.seen for each in kept]).sort("window_id"),
        pl.concat([each.ended for each in kept]).sort("window_id", "collector", "missing_because"),
        pl.concat([each.checkpoints for each in kept]).sort("window_id", "metric", "at_s"),
        any(each.any_rows for each in kept),
    )


def _kept(part: pl.DataFrame, windows: pl.DataFrame, weights: Weights) -> Sampled:
    known = measured({"series": part, "window": windows}).filter(pl.col("value").is_not_null())
    because = pl.col("missing_because")
    ends = part.filter(because.str.starts_with(STOPPED) | because.str.starts_with(UNANSWERED))
    stolen = (pl.col("metric") == "steal_share") & (pl.col("subject") == "")
    return Sampled(
        means(known),
        _all_weighted(known, weights),
        known.group_by("window_id").agg(
            pl.col("at_s").floor().n_unique().alias("seconds"),
            pl.col("value").filter(stolen).mean().alias("steal_share"),
        ),
        ends.select("window_id", "collector", "missing_because").unique(),
        _of_checkpoints(part),
        not part.is_empty(),
    )


CHECKPOINT_BEGAN, CHECKPOINT_WROTE = "last_checkpoint_at_s", "checkpoint_buffers_per_s"
"""What the collector `database` tells of checkpoints."""


def _of_checkpoints(part: pl.DataFrame) -> pl.DataFrame:
    """Beginnings by when they were told first, and the seconds in which a checkpoint wrote."""
    began = pl.col("metric") == CHECKPOINT_BEGAN
    wrote = (pl.col("metric") == CHECKPOINT_WROTE) & (pl.col("value") > 0)
    told = part.filter((pl.col("collector") == "database") & pl.col("value").is_not_null())
    kept = ["window_id", "metric", "value"]
    return pl.concat([
        told.filter(began).group_by(kept).agg(pl.col("at_s").min()),
        told.filter(wrote).select(*kept, "at_s"),
    ])  # fmt: skip


def _all_weighted(known: pl.DataFrame, weights: Weights) -> pl.DataFrame:
    """`weighted_means` of every metric that has a weight."""
    found = [
        weighted_means(known, collector, metric, weight).select(
            pl.lit(collector).alias("collector"), pl.lit(metric).alias("metric"), pl.all()
        )
        for (collector, metric), weight in weights.items()
    ]
    return pl.concat([pl.DataFrame(schema=_WEIGHTED), *found])


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


_SERIES: dict[str, pl.DataType | type[pl.DataType]] = {
    **{name: _MEASURED[name] for name in ("window_id", "at_s", "second", "collector", "subject")},
    **{name: _MEASURED[name] for name in ("metric", "unit", "value")},
    "missing_because": pl.String,
}
_OF_MEANS = ["window_id", "candidate", "users", "block", "collector", "subject", "metric", "unit"]
_OF_WEIGHTED = ["window_id", "candidate", "users", "block", "subject"]
_WEIGHTED: dict[str, pl.DataType | type[pl.DataType]] = {
    "collector": pl.String,
    "metric": pl.String,
    **{name: _MEASURED[name] for name in _OF_WEIGHTED},
    "mean": pl.Float64,
}


def means(samples: pl.DataFrame) -> pl.DataFrame:
    """Mean of every metric over each window's measurement; missing samples are left out.

    Shapes: `window_id`, `candidate`, `users`, `block`, `collector`, `subject`, `metric`, `unit`,
    `mean`, `maximum`, `samples`. A metric without any sample has no row.
    Own: the arithmetic mean; right for rates and shares, not for latencies (see `weighted_means`).
    """
    return (
        samples.filter(pl.col("value").is_not_null())
        .group_by(_OF_MEANS, maintain_order=True)
        .agg(
            pl.col("value").mean().alias("mean"),
            pl.col("value").max().alias("maximum"),
            pl.len().alias("samples"),
        )
        .sort(_OF_MEANS)
    )


def weighted_means(
    samples: pl.DataFrame, collector: str, value_metric: str, weight_metric: str
) -> pl.DataFrame:
    """Mean of a latency over each window, every second weighted by its number of operations.

    Shapes: `window_id`, `candidate`, `users`, `block`, `subject`, `mean`. Seconds without
    operations have no latency and no weight.
    Own: total time over total operations.
    """
    keys = [*_OF_WEIGHTED, "at_s"]
    chosen = samples.filter(pl.col("collector") == collector)
    value = chosen.filter(pl.col("metric") == value_metric).select(*keys, "value")
    weight = chosen.filter(pl.col("metric") == weight_metric).select(
        *keys, pl.col("value").alias("weight")
    )
    joined = value.join(weight, on=keys, how="inner").drop_nulls().filter(pl.col("weight") > 0)
    mean = (pl.col("value") * pl.col("weight")).sum() / pl.col("weight").sum()
    return joined.group_by(_OF_WEIGHTED).agg(mean.alias("mean")).sort(_OF_WEIGHTED)
