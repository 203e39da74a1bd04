"""Quantities that stand in no row of a window: means of collectors, percentiles of drives.

What only the table `values` has is what activities declare. Of the others, those that a study asks
about are worked out. Reading logs is left to `report.latencies`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from stithy.analysis.values.series import Sampled
from stithy.metrics import ALL, Quantity, find, role_of, values_needed
from stithy.point import Point
from stithy.results.hlog import Histogram, merge


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


def declared(values: pl.DataFrame) -> tuple[Quantity, ...]:
    """What activities measured that only the table `values` has, in its order.

    `of` is None for what is of everything.
    """
    rows = values.select("metric", "of").unique(maintain_order=True).iter_rows()
    return tuple(
        Quantity(metric, of if of != ALL else None)
        for metric, of in rows
        if (known := find(metric)) is not None and known.source == "values"
    )


def of_series(samples: Sampled, quantity: Quantity) -> Measure:
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
        if not instance and (value := _one(subjects, quantity)) is not None
    }
    return Measure(_of_tenant(each, quantity) | of_all)


def _of_tenant(
    each: Mapping[tuple[str, str], Mapping[str, float]], quantity: Quantity
) -> dict[str, Value]:
    """By window what the server of the tenant has that is asked about."""
    if quantity.of is None:
        return dict.fromkeys((window_id for window_id, _ in each), Value(None, name_one(quantity)))
    tenant, _, subject = quantity.of.partition(":")
    asked = replace(quantity, of=subject or None)
    return {
        window_id: Value(value)
        for (window_id, name), subjects in each.items()
        if name == tenant and (value := _one(subjects, asked)) is not None
    }


def name_one(quantity: Quantity) -> str:
    """Why several tenants have no value of it together."""
    return f"each tenant's server has a value of its own: name one, as `{quantity} of tenant-1`"


def _one(subjects: Mapping[str, float], quantity: Quantity) -> float | None:
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


Times = Mapping[str, Histogram]
"""The times of a drive's operation in a window, by the drive's name: its role, or `data-2`."""


def of_drives(
    windows: Mapping[str, Times], cells: Mapping[Cell, Sequence[str]], quantity: Quantity
) -> Measure:
    """A percentile of emulated drives, of each window and of windows merged.

    `windows`: the times of the quantity's operation by the window's id. `cells`: the valid windows
    of each candidate and level. Of several drives, or those of a named role, it is the slowest's.
    Edge cases: a window with too few values for the percentile gives a reason; a cell of which a
    window has none at all is not merged.
    Own: histograms are merged, never averaged; see `values_needed`.
    """
    percent = quantity.known.percent or 100.0
    asked = {
        name: {
            drive: each for drive, each in times.items() if quantity.of in (None, role_of(drive))
        }
        for name, times in windows.items()
    }
    return Measure(
        {name: _slowest(times.values(), percent, quantity) for name, times in asked.items()},
        {
            cell: value
            for cell, names in cells.items()
            if names and all(asked.get(name) for name in names)
            if (value := _merged([asked[name] for name in names], percent)) is not None
        },
    )


def _slowest(times: Iterable[Histogram], percent: float, quantity: Quantity) -> Value:
    known = [each for each in times if each.count]
    if not known:
        return Value(None, f"no {quantity.known.column} was answered by an emulated drive")
    fewest, needed = min(each.count for each in known), values_needed(percent)
    if fewest < needed:
        return Value(None, too_few(quantity, needed, fewest))
    return Value(max(each.percentile_s(percent) or 0.0 for each in known))


def too_few(quantity: Quantity, needed: int, there: int) -> str:
    """Why a percentile of a window supports nothing: what it needs, and what there is."""
    return f"{quantity.label} needs {needed:,} values in each window, and one window has {there:,}"


def _merged(windows: Sequence[Times], percent: float) -> float | None:
    roles = dict.fromkeys(role for times in windows for role in times)
    whole = [merge(times[role] for times in windows if role in times) for role in roles]
    values = [each.percentile_s(percent) for each in whole if each is not None]
    return max((each for each in values if each is not None), default=None)
