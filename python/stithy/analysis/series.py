"""What the collectors saw during the measurement: means, and latencies weighted by their rate.

Samples of one of several servers are apart from those of the machine and of a window's only server,
so that nobody takes one tenant's for all, or all of them for one's.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import polars as pl

from stithy.results.tables import SERIES, STOPPED, UNANSWERED, make_empty_frame

OF_ALL = pl.col("instance") == ""
"""The samples that are of no tenant alone."""

EACH_ITS_OWN = "each tenant's server has samples of its own"
"""Why a collector of servers says nothing of several tenants together."""

HALF_SAMPLE_S = 0.5
"""Own: a sample covers the second before its time stamp; it counts where its middle lies."""


@dataclass(frozen=True)
class Sampled:
    """What is kept of the samples of all windows, which of a large study are too many to keep.

    `every_mean`: `window_id`, `candidate`, `point`, `block`, `collector`, `instance`, `subject`,
    `metric`, `unit`, `mean`, `maximum`, `samples`; missing samples are left out, and a metric
    without any has no row. The mean is arithmetic: right for rates and shares, not for latencies.
    `every_weighted`: `collector`, `metric`, `window_id`, `candidate`, `point`, `block`, `instance`,
    `subject`, `mean` of every metric that has a weight: each second counts by its operations, one
    without any has no latency. `means` and `weighted` are what of both is of no tenant alone, and
    `of_instances` what of the means is. `seen`: by `window_id` in how many `seconds`
    there is any sample, and `steal_share`. `ended`: `window_id`, `collector`, `instance`,
    `missing_because` of collectors that died or had no answer. `checkpoints`: `window_id`,
    `metric`, `value`, `at_s` of what a window's only database tells of them, each value when it was
    reported first. `any_rows`: whether anybody looked.
    """

    every_mean: pl.DataFrame
    every_weighted: pl.DataFrame
    seen: pl.DataFrame
    ended: pl.DataFrame
    checkpoints: pl.DataFrame
    any_rows: bool

    @cached_property
    def means(self) -> pl.DataFrame:
        """Of the machine, of the candidate, and of the server of windows that have only one."""
        return self.every_mean.filter(OF_ALL).drop("instance")

    @cached_property
    def of_instances(self) -> pl.DataFrame:
        """Of each of several servers by itself."""
        return self.every_mean.filter(~OF_ALL)

    def why_none(self, collector: str, otherwise: str) -> str:
        """Why no sample of a collector is of all: each tenant has its own, it ended, or else."""
        if collector in self.of_instances["collector"]:
            return EACH_ITS_OWN
        ended = self.ended.filter(pl.col("collector") == collector)
        return otherwise if ended.is_empty() else str(ended["missing_because"][0])

    @cached_property
    def weighted(self) -> pl.DataFrame:
        """As `means` is, of metrics that have a weight."""
        return self.every_weighted.filter(OF_ALL).drop("instance")


Weights = Mapping[tuple[str, str], str]
"""By a collector and its metric, the metric by which seconds of it are weighted."""


def sample_run(parts: Iterable[pl.DataFrame], windows: pl.DataFrame, weights: Weights) -> Sampled:
    """What is kept of samples that come some windows at a time.

    Shapes: each of `parts` has the columns of `series`, and all rows of its windows; `windows` has
    those of `window`.
    """
    nothing = make_empty_frame(SERIES)
    # One part after the other: all at once would be what is to be avoided.
    kept = [_keep_part(part, windows, weights) for part in chain([nothing], parts)]
    return Sampled(
        pl.concat([each.every_mean for each in kept]).sort(_OF_MEANS),
        pl.concat([each.every_weighted for each in kept]).sort(
            "collector", "metric", *_OF_WEIGHTED
        ),
        pl.concat([each.seen for each in kept]).sort("window_id"),
        pl.concat([each.ended for each in kept]).sort(_OF_ENDED),
        pl.concat([each.checkpoints for each in kept]).sort("window_id", "metric", "at_s"),
        any(each.any_rows for each in kept),
    )


def _keep_part(part: pl.DataFrame, windows: pl.DataFrame, weights: Weights) -> Sampled:
    """What is kept of some windows. Rows of a window follow each other, so none need be looked up:
    that would take longer than all the rest.
    """
    runs = _list_runs(part, windows)
    known = _select_known(part, runs)
    plain = known.group_by("run", "collector", "instance", "subject", "metric", "unit").agg(
        pl.col("value").mean().alias("mean"),
        pl.col("value").max().alias("maximum"),
        pl.len().alias("samples"),
    )
    of_machine = (pl.col("collector") == "cpu") & (pl.col("subject") == "")
    stolen = of_machine & (pl.col("metric") == "steal_share")
    seen_in = known.group_by("run").agg(
        pl.col("at_s").floor().n_unique().alias("seconds"),
        pl.col("value").filter(stolen).mean().alias("steal_share"),
    )
    of_run = runs.select("run", "window_id", "candidate", "point", "block")
    because = pl.col("missing_because")
    missing = part.filter(pl.col("value").is_null())
    ends = missing.filter(because.str.starts_with(STOPPED) | because.str.starts_with(UNANSWERED))
    # A copy of its own: texts of a frame that was made of a larger one keep all of that alive.
    of_means, weighted, seen, ended, checkpoints = (
        pl.DataFrame(each.to_dict(as_series=False), schema=each.schema)
        for each in (
            _add_names(plain, of_run).select(_MEANS),
            _add_names(_average_weighted(known, weights), of_run).select(_WEIGHTED),
            _add_names(seen_in, of_run).select("window_id", "seconds", "steal_share"),
            ends.select(_OF_ENDED).unique(),
            _select_checkpoints(part),
        )
    )
    return Sampled(of_means, weighted, seen, ended, checkpoints, any_rows=not part.is_empty())


def _list_runs(part: pl.DataFrame, windows: pl.DataFrame) -> pl.DataFrame:
    """The windows of a part in their order: `run`, `rows`, and what is known of each."""
    runs = part.select(pl.col("window_id").rle()).unnest("window_id")
    named = runs.rename({"len": "rows", "value": "window_id"}).with_row_index("run")
    bounds = windows.select(
        "window_id", "candidate", "point", "block", "measure_from_s", "measure_to_s"
    )
    return named.join(bounds, on="window_id", how="left", maintain_order="left")


def _select_known(part: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    """The samples that have a value and whose second lies in the measurement, with their `run`."""
    spread = runs.select(
        pl.col(name).repeat_by("rows").explode()
        for name in ("run", "measure_from_s", "measure_to_s")
    )
    middle = pl.col("at_s") - HALF_SAMPLE_S
    within = (middle >= pl.col("measure_from_s")) & (middle < pl.col("measure_to_s"))
    wide = part.drop("window_id", "missing_because").hstack(spread)
    return wide.filter(within & pl.col("value").is_not_null())


def _add_names(frame: pl.DataFrame, of_run: pl.DataFrame) -> pl.DataFrame:
    return frame.join(of_run, on="run", how="inner", maintain_order="left")


CHECKPOINT_BEGAN, CHECKPOINT_WROTE = "last_checkpoint_at_s", "checkpoint_buffers_per_s"
"""What the collector `database` tells of checkpoints."""


def _select_checkpoints(part: pl.DataFrame) -> pl.DataFrame:
    """Beginnings by when they were reported first, and the seconds in which a checkpoint wrote."""
    began = pl.col("metric") == CHECKPOINT_BEGAN
    wrote = (pl.col("metric") == CHECKPOINT_WROTE) & (pl.col("value") > 0)
    of_database = OF_ALL & (pl.col("collector") == "database")
    shown = part.filter(of_database & pl.col("value").is_not_null())
    kept = ["window_id", "metric", "value"]
    return pl.concat([
        shown.filter(began).group_by(kept).agg(pl.col("at_s").min()),
        shown.filter(wrote).select(*kept, "at_s"),
    ])  # fmt: skip


def _average_weighted(known: pl.DataFrame, weights: Weights) -> pl.DataFrame:
    rows = [(collector, metric, weight) for (collector, metric), weight in weights.items()]
    names = dict.fromkeys(("collector", "metric", "weight"), pl.String)
    pairs = pl.DataFrame(rows, schema=names, orient="row")
    keys = ["run", "at_s", "collector", "instance", "subject", "weight"]
    values = known.join(pairs, on=["collector", "metric"], how="inner")
    weighing = pairs.select("collector", pl.col("weight").alias("metric")).unique()
    operations = known.join(weighing, on=["collector", "metric"], how="semi").rename(
        {"metric": "weight", "value": "operations"}
    )
    mean = (pl.col("value") * pl.col("operations")).sum() / pl.col("operations").sum()
    return (
        values.join(
            operations.select(*keys, "operations"), on=keys, how="inner", maintain_order="left"
        )
        .filter(pl.col("operations") > 0)
        .group_by("run", "collector", "metric", "instance", "subject", maintain_order=True)
        .agg(mean.alias("mean"))
    )


_WINDOW = ["window_id", "candidate", "point", "block"]
_OF_MEANS = [*_WINDOW, "collector", "instance", "subject", "metric", "unit"]
_MEANS = [*_OF_MEANS, "mean", "maximum", "samples"]
_OF_WEIGHTED = [*_WINDOW, "instance", "subject"]
_WEIGHTED = ["collector", "metric", *_OF_WEIGHTED, "mean"]
_OF_ENDED = ["window_id", "collector", "instance", "missing_because"]
