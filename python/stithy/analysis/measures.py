"""Quantities that stand in no row of a window: means of collectors, percentiles of drives.

What only the table `values` has is what activities declare. Of the others, those that a study asks
about are worked out. Reading logs is left to `analysis.latencies`.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from stithy.analysis.series import Sampled
from stithy.metrics import ALL, Quantity, count_values_needed, find, find_role, list_in_columns
from stithy.point import Point
from stithy.results.hlog import LoggedHistogram, merge
from stithy.statements import Statement


@dataclass(frozen=True)
class Value:
    """A number of a window; `missing_because` is set where there is none."""

    number: float | None
    missing_because: str | None = None


Cell = tuple[str, Point]
"""A candidate and a point."""


@dataclass(frozen=True)
class Measure:
    """A quantity of each window by its id, and of the cells whose windows could be merged."""

    windows: Mapping[str, Value]
    levels: Mapping[Cell, float] = field(default_factory=dict)


def list_declared(values: pl.DataFrame) -> tuple[Quantity, ...]:
    """What activities measured that only the table `values` has, in its order.

    `of` is None for what is of everything.
    """
    rows = values.select("metric", "of").unique(maintain_order=True).iter_rows()
    return tuple(
        Quantity(metric, of if of != ALL else None)
        for metric, of in rows
        if (known := find(metric)) is not None and known.source == "values"
    )


def measure_series(samples: Sampled, quantity: Quantity) -> Measure:
    """The mean of a collector's metric over the measurement of each window.

    Seconds of a latency weigh by their requests.
    Several subjects make one value as the collector declares; one for the whole is taken alone.
    Servers of several tenants make none: `of` names one, as `tenant-1` or `tenant-1:subject`.
    Edge cases: a window without any sample has no entry.
    """
    metric = quantity.known
    means = samples.every_mean if metric.weight is None else samples.every_weighted
    found = means.filter(
        (pl.col("collector") == metric.collector) & (pl.col("metric") == metric.column)
    )
    columns = ("window_id", "instance", "subject", "mean")
    by_server: dict[tuple[str, str], dict[str, float]] = {}
    for window_id, instance, subject, mean in found.select(columns).iter_rows():
        by_server.setdefault((window_id, instance), {})[subject] = float(mean)
    each = {key: subjects for key, subjects in by_server.items() if key[1]}
    of_all = {
        window_id: Value(value)
        for (window_id, instance), subjects in by_server.items()
        if not instance and (value := _reduce_subjects(subjects, quantity)) is not None
    }
    return Measure(_select_tenant(each, quantity) | of_all)


def _select_tenant(
    each: Mapping[tuple[str, str], Mapping[str, float]], quantity: Quantity
) -> dict[str, Value]:
    if quantity.of is None:
        return dict.fromkeys((window_id for window_id, _ in each), Value(None, name_one(quantity)))
    tenant, _, subject = quantity.of.partition(":")
    asked = replace(quantity, of=subject or None)
    return {
        window_id: Value(value)
        for (window_id, name), subjects in each.items()
        if name == tenant and (value := _reduce_subjects(subjects, asked)) is not None
    }


def name_one(quantity: Quantity) -> str:
    """Why several tenants have no value of it together."""
    return f"each tenant's server has a value of its own: name one, as `{quantity} of tenant-1`"


def _reduce_subjects(subjects: Mapping[str, float], quantity: Quantity) -> float | None:
    """One value of several subjects; None where none of them is asked about."""
    if quantity.of is not None:
        # A subject is meant by itself, or by a part of it (`read` of `sata.data:read`).
        asked = [
            value
            for name, value in subjects.items()
            if quantity.of in (name, *re.split("[.:]", name))
        ]
    else:
        asked = [subjects[""]] if "" in subjects else list(subjects.values())
    if not asked:
        return None
    return sum(asked) if quantity.known.of_several == "sum" else max(asked)


Times = Mapping[str, LoggedHistogram]
"""The times of a drive's operation in a window, by the drive's name: its role, or `data-2`."""


def measure_percentile_of_drives(
    windows: Mapping[str, Times], cells: Mapping[Cell, Sequence[str]], quantity: Quantity
) -> Measure:
    """A percentile of emulated drives, of each window and of windows merged.

    `windows`: the times of the quantity's operation by the window's id. `cells`: the valid windows
    of each candidate and level. Of several drives, or those of a named role, it is the slowest's.
    Edge cases: a window with too few values for the percentile gives a reason; a cell of which a
    window has none at all is not merged.
    Own: histograms are merged, never averaged; see `count_values_needed`.
    """
    percent = quantity.known.percent or 100.0
    asked = {
        name: {
            drive: each for drive, each in times.items() if quantity.of in (None, find_role(drive))
        }
        for name, times in windows.items()
    }
    return Measure(
        {name: _find_slowest(times.values(), percent, quantity) for name, times in asked.items()},
        {
            cell: value
            for cell, names in cells.items()
            if names and all(asked.get(name) for name in names)
            if (value := _merge_times([asked[name] for name in names], percent)) is not None
        },
    )


def _find_slowest(times: Iterable[LoggedHistogram], percent: float, quantity: Quantity) -> Value:
    known = [time for time in times if time.count]
    if not known:
        return Value(None, f"no {quantity.known.column} was answered by an emulated drive")
    fewest, needed = min(each.count for each in known), count_values_needed(percent)
    if fewest < needed:
        return Value(None, explain_too_few(quantity, needed, fewest))
    return Value(max(each.percentile_s(percent) or 0.0 for each in known))


def explain_too_few(quantity: Quantity, needed: int, there: int) -> str:
    """Why a percentile of a window supports nothing: what it needs, and what there is."""
    return Statement(
        "{label} needs {needed:,} values in each window, and one window has {answers:,}",
        label=quantity.label, needed=needed, answers=there,
    )  # fmt: skip


def _merge_times(windows: Sequence[Times], percent: float) -> float | None:
    roles = dict.fromkeys(role for times in windows for role in times)
    whole = [merge(times[role] for times in windows if role in times) for role in roles]
    values = [each.percentile_s(percent) for each in whole if each is not None]
    return max((value for value in values if value is not None), default=None)


BEYOND_DRAWN = 10
"""Own: a curve ends where fewer values lie beyond it; by chance alone ten vary by a third."""

POINTS_A_DECADE = 12
"""Own: of 1 / (1 - share), enough for a smooth curve."""


@dataclass(frozen=True)
class CurvePoint:
    """A share of the values (0 up to below 1), the highest of these, seconds; how many lie beyond.

    `reach`: 1 / (1 - share), along which a tail is drawn: 10 for 90 %, 1,000 for 99.9 %.
    """

    share: float
    value_s: float
    beyond: int

    @property
    def reach(self) -> float:
        """How many values there are for each one beyond this point."""
        return 1 / (1 - self.share)


def draw_percentile_curve(histogram: LoggedHistogram) -> tuple[CurvePoint, ...]:
    """Points from the lowest value to the last one that has BEYOND_DRAWN others beyond it.

    Shapes: in ascending order of share; the median and each power of ten of `reach` are among them.
    Edge cases: with fewer than twice as many values there is no curve.
    Source: HdrHistogram's percentile plot; its value at a percentile is the highest equivalent one.
    """
    count = histogram.count
    if count < 2 * BEYOND_DRAWN:
        return ()
    end = 1 - BEYOND_DRAWN / count
    # Shares in equal steps of log reach, as far as `count` values go, with the median.
    steps = math.ceil(math.log10(count) * POINTS_A_DECADE)
    tail = (10 ** (-step / POINTS_A_DECADE) for step in range(steps + 1))
    every = sorted({0.5, *(1 - each for each in tail)})
    shares = [*(share for share in every if share < end), end]
    # How many values a share is, rounded up; without the noise of a product's last digits.
    ranks = [max(1, math.ceil(round(share * count, 6))) for share in shares]
    return tuple(
        CurvePoint(share, value_s, count - rank)
        for share, value_s, rank in zip(shares, histogram.at_ranks_s(ranks), ranks, strict=True)
    )


@dataclass(frozen=True)
class Cells:
    """How many values fell into each cell of a grid of time and value.

    `counts`: by column and row, only where there is any. Column c covers `column_s` seconds from
    c * column_s; row r the values from `edges_s[r]` up to `edges_s[r + 1]`.
    """

    counts: dict[tuple[int, int], int]
    column_s: int
    edges_s: tuple[float, ...]


def log_edges(low_s: float, high_s: float, rows: int) -> tuple[float, ...]:
    """Edges of rows that are equally high on a logarithmic axis, a whole number of them a decade.

    Shapes: at most `rows` + 1, ascending; the first is at most `low_s`, the last above `high_s`;
    both greater than 0.
    Own: powers of ten are edges, so that similar studies have the same rows.
    """
    for per_decade in (20, 16, 12, 10, 8, 6, 5, 4, 3, 2, 1):
        first = math.floor(math.log10(low_s) * per_decade)
        last = math.floor(math.log10(high_s) * per_decade) + 1
        if last - first <= rows:
            break
    return tuple(10 ** (step / per_decade) for step in range(first, last + 1))


def count_cells(
    seconds: Iterable[tuple[int, LoggedHistogram]], column_s: int, edges_s: Sequence[float]
) -> Cells:
    """The values of histograms, each of one second, counted by column and row.

    A value counts where the middle of its bucket lies; what lies outside counts in the outermost
    row, so that the cells hold exactly as many values as the histograms.
    """
    counts: dict[tuple[int, int], int] = {}
    # Rows are equally high in logarithms.
    height = math.log(edges_s[-1] / edges_s[0]) / (len(edges_s) - 1)
    for second, histogram in seconds:
        for bucket in histogram.buckets():
            value_s = (bucket.lowest_s + bucket.highest_s) / 2
            row = math.floor(math.log(max(value_s, edges_s[0]) / edges_s[0]) / height + 1e-9)
            key = (second // column_s, min(row, len(edges_s) - 2))
            counts[key] = counts.get(key, 0) + bucket.count
    return Cells(counts, column_s, tuple(edges_s))


Merged = Mapping[str, Mapping[str, float]]
"""By transaction type (`all` included), then by column of `transactions`, seconds."""


def merge_percentiles(by_type: Mapping[str, Sequence[LoggedHistogram]]) -> Merged:
    """Percentiles of each transaction type over all its histograms, and of `all` over all types.

    Edge cases: a type without values has no entry; without any value the result is empty.
    Raises ValueError for histograms of different precision.
    Source: docs/explanation/method.md, "Four times of a transaction" and "Intervals".
    """
    whole = [histogram for histograms in by_type.values() for histogram in histograms]
    found = {kind: merge(histograms) for kind, histograms in {**by_type, ALL: whole}.items()}
    return {kind: _list_percentiles(each) for kind, each in found.items() if each and each.count}


def _list_percentiles(histogram: LoggedHistogram) -> dict[str, float]:
    values = {
        metric.column: histogram.percentile_s(metric.percent)
        for metric in list_in_columns()
        if metric.percent is not None
    }
    return {name: value for name, value in values.items() if value is not None}
