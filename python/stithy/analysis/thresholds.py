"""Whether the thresholds of a study were met, by the valid windows of its run.

A threshold compares what was measured, and nothing more: it is no verdict and has no interval.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import median

import polars as pl

from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.series import weighted_means
from stithy.thresholds import METRICS, Constant, Measured, Side, Threshold

BLOCK = "block"
COUNTED = {"read": "reads_per_s", "write": "writes_per_s", "flush": "flushes_per_s"}
"""The collector of devices, and its rates by which latencies are weighted."""


class Outcome(Enum):
    """What became of a threshold."""

    MET = "met"
    NOT_MET = "not met"
    NOT_JUDGED = "cannot be judged"


@dataclass(frozen=True)
class Judgement:
    """A threshold with the values of its sides, factors included; one per minute or seconds.

    `because` is set where it could not be judged; then at least one value is None.
    """

    threshold: Threshold
    left: float | None
    right: float | None
    because: str | None = None

    @property
    def outcome(self) -> Outcome:
        """Whether it was met.

        Own: without a valid window nothing is met, and nothing has failed.
        """
        if self.left is None or self.right is None:
            return Outcome.NOT_JUDGED
        met = self.threshold.holds(self.left, self.right)
        return Outcome.MET if met else Outcome.NOT_MET


@dataclass(frozen=True)
class Measurements:
    """What thresholds are held against.

    `samples`: as `series.measured` gives them; `drives`: the table; `headline`: the transaction
    type whose response time is meant where none is named.
    """

    evidence: Evidence
    samples: pl.DataFrame
    drives: pl.DataFrame
    headline: str


def judge_thresholds(
    thresholds: Sequence[Threshold], measurements: Measurements
) -> tuple[Judgement, ...]:
    """Each threshold judged, in their order.

    Own: rates are means and percentiles are of the merged windows, as in the report.
    """
    return tuple(_judged(each, measurements) for each in thresholds)


def windows_of(threshold: Threshold, evidence: Evidence) -> tuple[Window, ...]:
    """All windows on which a threshold rests, invalid ones too, each once.

    Own: a look-up.
    """
    sides = (each for each in (threshold.left, threshold.right) if isinstance(each, Measured))
    found = (window for side in sides for window in evidence.at(side.candidate, side.users))
    return tuple({window.id: window for window in found}.values())


def _judged(threshold: Threshold, measurements: Measurements) -> Judgement:
    left, right = _value(threshold.left, measurements), _value(threshold.right, measurements)
    reasons = dict.fromkeys(each for each in (left, right) if isinstance(each, str))
    return Judgement(
        threshold,
        left if isinstance(left, float) else None,
        right if isinstance(right, float) else None,
        "; ".join(reasons) or None,
    )


def _value(side: Side, measurements: Measurements) -> float | str:
    """The value of a side, or why there is none."""
    if isinstance(side, Constant):
        return side.value
    evidence = measurements.evidence
    if not evidence.valid_at(side.candidate, side.users):
        place = f"of {side.candidate} at level {side.users}"
        there = evidence.at(side.candidate, side.users)
        return f"no window {place} is valid" if there else f"there is no window {place}"
    value = _measured(side, measurements)
    return _without(side, measurements.headline) if value is None else side.factor * value


def _measured(side: Measured, measurements: Measurements) -> float | None:
    metric, evidence = METRICS[side.metric], measurements.evidence
    if metric.source == "device":
        return _on_device(side, metric.column, measurements)
    if metric.source == "drive":
        return _in_drive(side, metric.column, measurements)
    transaction = side.transaction or measurements.headline
    return evidence.level_value(side.candidate, side.users, metric.column, transaction)


def _on_device(side: Measured, operation: str, measurements: Measurements) -> float | None:
    """The mean over the valid windows on the slowest of the devices, which may be stacked."""
    frame = weighted_means(
        measurements.samples, BLOCK, f"{operation}_latency_s", COUNTED[operation]
    ).filter(pl.col("window_id").is_in(_valid(side, measurements)))
    by_device = frame.group_by("subject").agg(pl.col("mean").mean())
    return max(_numbers(by_device["mean"]), default=None)


def _in_drive(side: Measured, operation: str, measurements: Measurements) -> float | None:
    """That of the median window, as percentiles have no mean; of several drives the slowest."""
    frame = measurements.drives.filter(
        pl.col("window_id").is_in(_valid(side, measurements)) & (pl.col("operation") == operation)
    ).drop_nulls("latency_p99_s")
    by_window = frame.group_by("window_id").agg(pl.col("latency_p99_s").max())
    values = list(_numbers(by_window["latency_p99_s"]))
    return median(values) if values else None


def _valid(side: Measured, measurements: Measurements) -> list[str]:
    valid = measurements.evidence.valid_at(side.candidate, side.users)
    return [window.id for window in valid]


def _numbers(column: pl.Series) -> Iterator[float]:
    return (float(each) for each in column.to_list() if each is not None)


def _without(side: Measured, headline: str) -> str:
    """Why valid windows do not give a value."""
    metric, place = METRICS[side.metric], f"{side.candidate} at level {side.users}"
    if metric.source == "device":
        return f"no {metric.column} was seen on a block device under {place}"
    if metric.source == "drive":
        return f"no {metric.column} was answered by an emulated drive of {place}"
    if metric.source == "transactions":
        return f"no {side.transaction or headline} was completed by {place}"
    return f"{place} has no {side.metric}"
