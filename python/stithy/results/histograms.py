"""A window's times as merged histograms: a table beside the logs, for whoever needs no seconds.

The logs hold a histogram for each second and type, which takes long to decode; reports of many
windows need their sums alone. What is read from either is the same.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stithy.results import seal
from stithy.results.convert import Latencies, measured_intervals
from stithy.results.hlog import Histogram, Interval, merge

if TYPE_CHECKING:
    from stithy.wire.messages import RunSummary

Row = dict[str, Any]

SHAPE = (10, 0)
"""Of all histograms of the hammer, which have 3 digits from 1 µs up: log2 of half their sub-buckets
and of their unit."""


def histogram_rows(window_id: str, summary: "RunSummary", latencies: Latencies) -> list[Row]:
    """Rows of HISTOGRAMS: the measurement by kind, transaction type and time."""
    kinds = {
        "response": latencies.response,
        "service": latencies.service,
        "pool-wait": latencies.pool_wait,
    }
    return [
        row
        for kind, intervals in kinds.items()
        for row in bucket_rows(window_id, kind, measured_intervals(intervals, summary))
    ]


def bucket_rows(window_id: str, kind: str, measured: Iterable[Interval]) -> Iterator[Row]:
    """Rows of a kind, of the lines of a log that belong to the measurement."""
    for transaction, whole in _by_type(measured).items():
        for each in whole.buckets():
            yield {
                "window_id": window_id, "kind": kind, "transaction": transaction,
                "bucket": each.index, "lowest_s": each.lowest_s, "highest_s": each.highest_s,
                "count": each.count,
            }  # fmt: skip


def _by_type(intervals: Iterable[Interval]) -> dict[str, Histogram]:
    parts: dict[str, list[Histogram]] = {}
    for each in intervals:
        parts.setdefault(each.tag, []).append(each.histogram)
    merged = {name: merge(each) for name, each in parts.items()}
    return {name: each for name, each in merged.items() if each is not None}


def read_histograms(paths: Sequence[Path], kind: str) -> dict[str, Histogram]:
    """The histograms of a kind by transaction type, those of all these tables added up.

    Raises OSError where one is missing, ValueError where one is damaged.
    """
    import polars as pl

    for path in paths:
        if seal.is_whole(path.read_bytes()) is False:
            raise ValueError(f"not a table of histograms: {path} is not what was written")
    try:
        rows = (
            pl.scan_parquet(list(paths), glob=False)
            .filter(pl.col("kind") == kind)
            .group_by("transaction", "bucket")
            .agg(pl.col("count").sum())
            .sort("transaction", "bucket")
            .collect()
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise ValueError(f"not a table of histograms: {error}") from error
    found: dict[str, Histogram] = {}
    for (name,), part in rows.partition_by("transaction", as_dict=True).items():
        counts = dict(zip(part["bucket"].to_list(), part["count"].to_list(), strict=True))
        found[str(name)] = Histogram(counts, *SHAPE)
    return found
