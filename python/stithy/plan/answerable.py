"""Questions that no run of a study could answer, found before it runs.

A percentile supports a verdict where enough values of a window lie beyond it, and some metrics are
reported by some kinds of storage alone. How many transactions a candidate does is bounded by the
users' pace, and known from earlier runs on the machine; the machine itself is not asked.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from stithy.errors import InvalidMeasurement, StithyError, UserError
from stithy.metrics import ALL, Quantity, parse_quantity, values_needed
from stithy.plan.cost import paced_per_s_max
from stithy.plan.expand import likely_memory_backed
from stithy.plan.steps import Question
from stithy.point import Point
from stithy.study.model import Study
from stithy.study.sections import drive_names, workload_named
from stithy.thresholds import MeasuredValue
from stithy.units import format_duration

LADDER = ("p50", "p90", "p95", "p99")
"""Percentiles that are recommended instead of one that is too high."""

STEP_S = 5.0
"""Window lengths are recommended in multiples of it."""

SPARE = 1.1
"""Windows of a level differ in how much they do; a recommended one has a tenth more."""

STOP_SHARE = 0.9
"""Own: with fewer of the values that are needed no window of the level is likely to have all."""

Rates = Mapping[str, float]
"""Transactions a second of earlier windows on this machine, by `rate_key`."""


@dataclass(frozen=True)
class Requested:
    """A quantity of candidates at a level, and where the study asks for it.

    `of_each_window`: each window must have a value of its own, as a verdict needs it; a threshold
    is judged by all windows of a level merged, however few values they have.
    """

    quantity: Quantity
    candidates: Sequence[str]
    point: Point
    where: str
    of_each_window: bool = True


def rate_key(study: Study, candidate: str, point: Point) -> str:
    """Equal where the same candidate, database, workload and pace of users meet again."""
    study = study.at(point)
    load = study.load
    pace = (load.pace, load.rate_per_s, load.connections, load.touch_percent)
    parts = (study.candidates[candidate].spec, study.database, study.workload, pace, point.level)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def unanswerable(study: Study, question: Question | None, rates: Rates) -> Iterator[StithyError]:
    """An error for each thing that is asked and cannot be answered, with what would do.

    Of the primary question only what the study itself declares.
    """
    for asked in _asked(study, question):
        error = _unreported(study, asked)
        if error is None and asked.of_each_window:
            error = _too_few(study, asked, rates)
        if error is not None:
            yield error


def doubtful(study: Study, question: Question | None, rates: Rates) -> Iterator[str]:
    """What the derived primary question lacks: it was not asked for, so it prevents nothing."""
    if question is not None and "metric" in question.derived:
        asked = _of_question(study, question)
        if (error := _too_few(study, asked, rates)) is not None:
            yield f"the primary question cannot be answered: {error.problem}: {error.remedy}"


def check_counted(study: Study, question: Question, window_id: str, count: int) -> None:
    """Raise InvalidMeasurement where a window had far fewer values than its question needs."""
    quantity = parse_quantity(question.metric)
    needed = values_needed(quantity.known.percent or 0.0)
    if count < STOP_SHARE * needed and "metric" not in question.derived:
        duration_s = study.load.duration_s
        raise InvalidMeasurement(
            f"{quantity.noun} needs {needed:,} values in each window, and this window of "
            f"{format_duration(duration_s)} has {count:,}",
            where=f"window {window_id}",
            remedy=_remedy(quantity, duration_s, count / duration_s),
        )


def _asked(study: Study, question: Question | None) -> Iterator[Requested]:
    if question is not None and "metric" not in question.derived:
        yield _of_question(study, question)
    for threshold in study.thresholds:
        for side in (threshold.left, threshold.right):
            if isinstance(side, MeasuredValue):
                yield Requested(side.quantity, (side.candidate,), side.point, "thresholds", False)


def _of_question(study: Study, question: Question) -> Requested:
    names = [name for name in question.candidates or study.candidates if name in study.candidates]
    return Requested(parse_quantity(question.metric), names, question.point, "primary.metric")


def _unreported(study: Study, asked: Requested) -> UserError | None:
    """A metric that the storage of a candidate does not report, or its tenants not together."""
    known, of = asked.quantity.known, asked.quantity.of
    tenants = int(getattr(study.at(asked.point).scenario.spec, "tenants", 1))
    if known.of_instance and tenants > 1:
        names = [f"tenant-{number + 1}" for number in range(tenants)]
        if of is None or of.partition(":")[0] not in names:
            return UserError(
                f"`{asked.quantity}` is of one server, and each of {tenants} tenants has its own",
                where=asked.where,
                remedy=f"name a tenant: `{known.name} of {names[0]}`",
            )
    if known.source == "drives" or known.collector == "drive":
        by_name = {name: drive_names(study.candidates[name]) for name in asked.candidates}
        lacking = [name for name, roles in by_name.items() if not roles]
        if lacking:
            return UserError(
                f"only an emulated drive reports `{asked.quantity}`, and {_are(lacking)} none",
                where=asked.where,
                remedy=f"compare emulated drives, or ask {_by_kernel(asked.quantity)}",
            )
        lacking = [name for name, roles in by_name.items() if known.source == "drives"
                   and of is not None and of not in roles]  # fmt: skip
        if lacking:
            return UserError(
                f"`{asked.quantity}` needs a drive for the {of}, and {_are(lacking)} none",
                where=asked.where,
                remedy=f"give it one with `drives: {{{of}: …}}`, or leave out `of {of}`",
            )
    memory = likely_memory_backed(study)
    lacking = [name for name in asked.candidates if name in memory]
    if known.collector == "block" and lacking:
        return UserError(
            f"`{asked.quantity}` is of a block device, and {_are(lacking)} none: it is memory",
            where=asked.where,
            remedy="name a directory on a disk, or ask `tpm` or a percentile such as `p95`",
        )
    return None


def _are(names: Sequence[str]) -> str:
    of = " and ".join(names)
    return f"candidate {of} has" if len(names) == 1 else f"candidates {of} have"


def _by_kernel(quantity: Quantity) -> str:
    operation = quantity.metric.removeprefix("drive.").partition("_")[0]
    return f"`block.{operation}_latency_s`, which the kernel counts for every block device"


def _too_few(study: Study, asked: Requested, rates: Rates) -> UserError | None:
    """A percentile of response time for which a window has too few transactions."""
    quantity, known = asked.quantity, asked.quantity.known
    if known.source != "transactions" or known.percent is None:
        return None
    share, workload = _share(study, quantity.of), workload_named(study.workload.name)
    earlier = [rates.get(rate_key(study, name, asked.point)) for name in asked.candidates]
    measured = [rate for rate in earlier if rate is not None]
    is_known = len(measured) == len(earlier)
    per_s = (
        min(measured)
        if is_known
        else paced_per_s_max(study.at(asked.point).load, workload, asked.point.level)
    )
    duration_s, needed = study.load.duration_s, values_needed(known.percent)
    count = per_s * share * duration_s
    if count >= needed * (STOP_SHARE if is_known else 1.0):
        return None
    source = "gave about" if is_known else "give at most"
    when = " in earlier runs here" if is_known else ""
    return UserError(
        f"{quantity.noun} needs {needed:,} values in each window, and {asked.point.level:,} users "
        f"{source} {count:,.0f} in {format_duration(duration_s)}{when}",
        where=asked.where,
        remedy=_remedy(quantity, duration_s, per_s * share),
    )


def _share(study: Study, of: str | None) -> float:
    return 1.0 if of in (None, ALL) else workload_named(study.workload.name).shares[of]


def _remedy(quantity: Quantity, duration_s: float, per_s: float) -> str:
    """The window length that would do, and the highest percentile that this one can give."""
    needed, there = values_needed(quantity.known.percent or 0.0), per_s * duration_s
    parts = []
    if per_s > 0:
        length_s = math.ceil(SPARE * needed / per_s / STEP_S) * STEP_S
        parts.append(f"`duration: {format_duration(length_s)}` is enough")
    for name in reversed(LADDER):
        other = Quantity(name, quantity.of)
        if values_needed(other.known.percent or 0.0) * SPARE <= there:
            return ", or ask ".join([*parts, f"`{other}`"])
    return " or ".join([*parts, "more users"])
