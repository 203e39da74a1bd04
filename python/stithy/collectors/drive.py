"""What each emulated drive of the candidate does, from its own counters.

A latency is the time of profile and faults plus the drive's lateness. It is the mean of the
requests answered in the second; without any it is null. Subjects are the drives' names, with the
operation after a colon. Late answers are errors of the emulation: see the table `drives`.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stithy.collectors.collector import Collector, Rates, Sample, Scope, Unavailable
from stithy.metrics import CollectedMetric

if TYPE_CHECKING:
    from stithy.wire.drive.messages import DriveCounters, OperationCounters


METRICS = (
    CollectedMetric("answers_per_s", "1/s", "requests answered", of_several="sum"),
    CollectedMetric("moved_bytes_per_s", "B/s", "bytes that they moved", of_several="sum"),
    CollectedMetric("errors_per_s", "1/s", "requests answered with an error", "lower",
                    of_several="sum", negligible=0.01),  # own: one in 100 s
    CollectedMetric("latency_s", "s",
                    "mean latency of the drive: the time of profile and faults plus its lateness",
                    "lower", weight="answers_per_s"),
    CollectedMetric("queue_length", "", "requests in progress at the end of the second"),
    CollectedMetric("cache_fill_bytes", "B",
                    "bytes in the drive's cache that have not reached its medium",
                    of_several="sum"),
    CollectedMetric("volatile_bytes", "B", "bytes that a power cut could lose", of_several="sum"),
    CollectedMetric("late_answers_per_s", "1/s", "answers late by more than 5 % and 50 µs",
                    "lower", of_several="sum", negligible=1.0),  # own
    CollectedMetric("late_s", "s", "mean lateness of all answers", "lower",
                    noun="lateness of the emulated drives"),
    CollectedMetric("cpu_share", "", "CPU time of the drive's threads, as a share of one CPU",
                    of_several="sum"),
    CollectedMetric("cpu_wait_share", "", "share of time in which that thread waited for a CPU",
                    "lower", negligible=0.01),  # own: a percentage point
)  # fmt: skip


def make_samples(
    name: str, last: "DriveCounters", now: "DriveCounters", elapsed_s: float
) -> Iterator[Sample]:
    """All metrics of one drive between two readings `elapsed_s` apart."""
    for before, after in zip(last.operations, now.operations, strict=True):
        yield from _sample_operation(name, before, after, elapsed_s)
    yield Sample(name, "queue_length", now.depth)
    none = None if now.cache_fill_bytes is not None else "it has no cache"
    yield Sample(name, "cache_fill_bytes", now.cache_fill_bytes, none)
    yield Sample(name, "volatile_bytes", now.volatile_bytes)
    late = (now.late_answers - last.late_answers) / elapsed_s
    yield Sample(name, "late_answers_per_s", late)
    grown = _divide_grown(last.late.mean_s, last.late.count, now.late.mean_s, now.late.count)
    why = None if grown is not None else "nothing was answered in this second"
    yield Sample(name, "late_s", grown, why)
    for metric, then, after_s in (
        ("cpu_share", last.cpu_s, now.cpu_s),
        ("cpu_wait_share", last.cpu_wait_s, now.cpu_wait_s),
    ):
        if then is None or after_s is None:
            yield Sample(name, metric, None, "this kernel does not report it")
        else:
            yield Sample(name, metric, (after_s - then) / elapsed_s)


def _sample_operation(
    name: str, last: "OperationCounters", now: "OperationCounters", elapsed_s: float
) -> Iterator[Sample]:
    subject = f"{name}:{now.name}"
    yield Sample(subject, "answers_per_s", (now.answered - last.answered) / elapsed_s)
    yield Sample(subject, "moved_bytes_per_s", (now.moved_bytes - last.moved_bytes) / elapsed_s)
    yield Sample(subject, "errors_per_s", (now.errors - last.errors) / elapsed_s)
    before, after = last.latency, now.latency
    mean_s = _divide_grown(before.mean_s, before.count, after.mean_s, after.count)
    why = None if mean_s is not None else f"no {now.name} was answered in this second"
    yield Sample(subject, "latency_s", mean_s, why)


def _divide_grown(
    mean_before: float | None, count_before: int, mean_after: float | None, count_after: int
) -> float | None:
    added = count_after - count_before
    if added <= 0:
        return None
    total = (mean_after or 0.0) * count_after - (mean_before or 0.0) * count_before
    return max(0.0, total / added)


def create(scope: Scope) -> "Rates[DriveCounters]":
    """The collector; Unavailable where no drive is emulated."""
    if not scope.drives:
        raise Unavailable("no drive of this candidate is emulated")
    from stithy.drives.control import Control

    controls = {name: Control(path) for name, path in scope.drives.items()}
    # Nothing is held: each question is a connection of its own.
    return Rates(
        lambda: {name: control.read_counters(name) for name, control in controls.items()},
        make_samples,
        scope.clock,
    )


PLUGINS = (
    Collector(
        name="drive", subject="the emulated drives", metrics=METRICS, create=create, blocks=True
    ),
)
