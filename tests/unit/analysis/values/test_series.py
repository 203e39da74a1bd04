"""Means of the collectors' samples over the measurement."""

import polars as pl

from stithy.analysis.values.series import Sampled, sampled
from stithy.results.tables import STOPPED

WINDOWS = pl.DataFrame(
    {
        "window_id": ["w"], "candidate": ["disk"], "users": [4], "block": [0],
        "measure_from_s": [100.0], "measure_to_s": [103.0],
    }
)  # fmt: skip


def _series(*rows: tuple[float, str, float | None]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "window_id": "w", "at_s": at_s, "second": at_s - 95, "collector": "block",
                "subject": "vda", "metric": metric, "unit": "", "value": value,
                "missing_because": None if value is not None else f"{STOPPED}it fell",
            }
            for at_s, metric, value in rows
        ],
        schema_overrides={"value": pl.Float64, "missing_because": pl.String},
    )  # fmt: skip


WEIGHTS = {("block", "latency"): "rate"}


def _kept(*rows: tuple[float, str, float | None]) -> Sampled:
    return sampled([_series(*rows)], WINDOWS, WEIGHTS)


def test_missing_samples_are_left_out_and_never_zero() -> None:
    """The mean is over the samples there are, and says how many."""
    row = _kept((101.0, "q", 4.0), (102.0, "q", None), (103.0, "q", 8.0)).means.to_dicts()[0]
    assert (row["mean"], row["maximum"], row["samples"]) == (6.0, 8.0, 2)


def test_without_series_or_windows_there_is_an_empty_frame() -> None:
    """Partial runs give empty frames with the usual columns."""
    none, some = WINDOWS.clear(), _series((101.0, "q", 1.0))
    for parts, windows in (([], none), ([], WINDOWS), ([some.clear()], WINDOWS), ([some], none)):
        kept = sampled(parts, windows, WEIGHTS)
        assert kept.means.is_empty()
        assert kept.weighted.is_empty()


def test_what_is_kept_of_parts_is_that_of_the_whole() -> None:
    """Read some windows at a time or all at once."""
    rows = [(101.0, "rate", 9.0), (101.0, "latency", 0.01), (102.0, "rate", None)]
    one = _series(*rows, (102.0, "latency", 0.2))
    other = one.with_columns(pl.lit("v").alias("window_id"), (pl.col("value") * 2).alias("value"))
    windows = pl.concat([WINDOWS, WINDOWS.with_columns(pl.lit("v").alias("window_id"))])
    parts = sampled([other, one], windows, WEIGHTS)
    whole = sampled([pl.concat([one, other])], windows, WEIGHTS)
    for name in ("means", "weighted", "seen", "ended"):
        assert getattr(parts, name).equals(getattr(whole, name)), name
    kept = parts.weighted.row(0, named=True)
    assert (kept["metric"], kept["window_id"], kept["mean"]) == ("latency", "v", 0.02)
    assert parts.seen.to_dicts()[1] == {"window_id": "w", "seconds": 2, "steal_share": None}
    assert parts.ended["window_id"].to_list() == ["v", "w"]
    assert parts.any_rows


def test_of_checkpoints_each_beginning_is_kept_when_it_was_told_first() -> None:
    """And the seconds in which one wrote; nothing of other collectors."""
    told = [
        (100.5, "last_checkpoint_at_s", 50.0), (101.5, "last_checkpoint_at_s", 50.0),
        (104.0, "last_checkpoint_at_s", 102.0), (103.0, "checkpoint_buffers_per_s", 7.0),
        (104.0, "checkpoint_buffers_per_s", 0.0), (105.0, "commits_per_s", 9.0),
    ]  # fmt: skip
    rows = _series(*told).with_columns(pl.lit("database").alias("collector"))
    other = _series((101.0, "last_checkpoint_at_s", 1.0))
    kept = sampled([pl.concat([rows, other])], WINDOWS, {}).checkpoints
    assert kept.select("metric", "value", "at_s").rows() == [
        ("checkpoint_buffers_per_s", 7.0, 103.0), ("last_checkpoint_at_s", 50.0, 100.5),
        ("last_checkpoint_at_s", 102.0, 104.0),
    ]  # fmt: skip
