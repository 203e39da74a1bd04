"""Questions that no run of a study could answer, found before it runs.

A percentile supports a verdict where enough values of a window lie beyond it. Some metrics are
measured by some activities, or reported by some kinds of storage, alone. How many transactions a
candidate does is bounded by the users' pace, and known from earlier runs on the machine; the
machine itself is not asked.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from stithy.activity import DeclaredActivity, list_tables
from stithy.errors import InvalidMeasurement, StithyError, UserError
from stithy.metrics import (
    ALL,
    COST_METRICS,
    COST_PER_MILLION,
    IN_COLUMNS,
    Metric,
    Quantity,
    count_values_needed,
    find,
    find_role,
    parse_quantity,
)
from stithy.plan.cost import UNEVEN, bound_paced_per_s
from stithy.plan.expand import find_likely_memory_backed
from stithy.plan.scenario import find_scenario
from stithy.plan.steps import Question, WindowPlan, block, name_instance
from stithy.point import Point
from stithy.power import NAME as POWER
from stithy.registry import plugins
from stithy.study.candidates import name_drives
from stithy.study.model import Study
from stithy.study.sections import get_workload
from stithy.study.vary import select_combination
from stithy.thresholds import MeasuredSide
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
"""Transactions a second of earlier windows on this machine, by `make_rate_key`."""

Planned = Mapping[Point, frozenset[str]]
"""The activities of the windows at each point that is measured."""


@dataclass(frozen=True)
class Requested:
    """A quantity of candidates at a level, and where the study asks for it.

    `value`: as a threshold names it, None for the primary question. Each window must have a value
    of its own for a verdict; a threshold is judged by all windows of a level merged, however few
    values they have.
    """

    quantity: Quantity
    candidates: Sequence[str]
    point: Point
    value: MeasuredSide | None = None

    @property
    def where(self) -> str:
        """The key of the study."""
        return "thresholds" if self.value else "primary.metric"

    def refuse(self, problem: str, remedy: str) -> UserError:
        """Say that it cannot be answered, and what to ask instead."""
        return UserError(problem, where=self.where, remedy=remedy)

    def written(self, of: str | None, metric: str | None = None) -> str:
        """As the study would ask for it, or for another metric, of this owner."""
        metric = metric or self.quantity.metric
        if self.value is None:
            return str(Quantity(metric, of))
        return replace(self.value, metric=metric, of=of).name


def make_rate_key(study: Study, candidate: str, point: Point) -> str:
    """Equal where the same candidate, database, workload and pace of users meet again."""
    study = study.at(point)
    load = study.load
    pace = (load.pace, load.rate_per_s, load.connections, load.touch_percent)
    parts = (study.candidates[candidate].spec, study.database, study.workload, pace, point.level)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def find_unanswerable(
    study: Study, question: Question | None, rates: Rates
) -> Iterator[StithyError]:
    """An error for each thing that is asked and cannot be answered, with what would do.

    Of the primary question only what the study itself declares.
    """
    every = [*_list_of_thresholds(study)]
    if question is not None and "metric" not in question.derived:
        every.insert(0, _read_question(study, question))
    planned = _list_planned(study) if every else {}
    for asked in every:
        error = (
            _check_prices(study, asked)
            or _find_unplanned(study, asked, planned)
            or _check_servers(study, asked)
            or _check_drives(study, asked)
            or _check_devices(study, asked)
        )
        if error is None and asked.value is None:
            error = _check_count(study, asked, rates)
        if error is not None:
            yield error


def find_doubtful(study: Study, question: Question | None, rates: Rates) -> Iterator[str]:
    """What is asked of fewer values than a percentile needs, and prevents nothing.

    The derived primary question was not asked for, and thresholds are judged all the same.
    """
    if question is not None and "metric" in question.derived:
        asked = _read_question(study, question)
        if (error := _check_count(study, asked, rates)) is not None:
            yield f"the primary question cannot be answered: {error.problem}: {error.remedy}"
    blocks = study.repeat or (question.blocks_least if question else 1)
    every = tuple(dict.fromkeys(_list_of_thresholds(study)))
    planned = _list_planned(study) if every else {}
    for asked in every:
        refused = _find_unplanned(study, asked, planned)
        error = None if refused else _check_count(study, asked, rates, blocks)
        if error is not None:
            yield f"`{asked.written(asked.quantity.of)}` is judged by few values: {error.problem}"


def find_unlikely(study: Study, question: Question | None, rates: Rates) -> Iterator[UserError]:
    """Find whether windows may well lack values that the primary question needs.

    They could all have them, so that nothing is refused: by chance, or if no answer took time.
    """
    if question is None:
        return
    asked = _read_question(study, question)
    if _check_count(study, asked, rates) is None:
        error = _check_count(study, asked, rates, on_average=True)
        yield from () if error is None else (error,)


def infer_lack(study: Study, question: Question, window: WindowPlan, count: int) -> str | None:
    """Foresee from a window with fewer users that those of the question will lack values.

    In a closed loop more users do no more each: they wait for each other.
    """
    asked, here = question.point, window.point
    if here.counted is None or here.others != asked.others or here.level >= asked.level:
        return None
    quantity, most = parse_quantity(question.metric), count * asked.level / here.level
    needed, duration_s = count_values_needed(quantity.known.percent or 0.0), study.load.duration_s
    if study.at(here).load.rate_per_s is not None or most >= STOP_SHARE * needed:
        return None
    remedy = _suggest_length(quantity, duration_s, most / duration_s, is_certain=False)
    return (
        f"{quantity.noun} needs {needed:,} values in each window, and by what users do in "
        f"{window.id} one {asked.at()} has at most {most:,.0f}: {remedy}"
    )


def check_counted(study: Study, question: Question, window_id: str, count: int) -> None:
    """Raise InvalidMeasurement where a window had far fewer values than its question needs."""
    quantity = parse_quantity(question.metric)
    needed = count_values_needed(quantity.known.percent or 0.0)
    if count < STOP_SHARE * needed and "metric" not in question.derived:
        duration_s = study.load.duration_s
        raise InvalidMeasurement(
            f"{quantity.noun} needs {needed:,} values in each window, and this window of "
            f"{format_duration(duration_s)} has {count:,}",
            where=f"window {window_id}",
            remedy=_suggest_length(quantity, duration_s, count / duration_s, is_certain=True),
        )


def _read_question(study: Study, question: Question) -> Requested:
    names = [name for name in question.candidates or study.candidates if name in study.candidates]
    return Requested(parse_quantity(question.metric), names, question.point)


def _list_of_thresholds(study: Study) -> Iterator[Requested]:
    for threshold in study.thresholds:
        for side in (threshold.left, threshold.right):
            if isinstance(side, MeasuredSide):
                value = replace(side, factor=1.0)
                yield Requested(value.quantity, (value.candidate,), value.point, value)


def _list_planned(study: Study) -> Planned:
    scenario, names = find_scenario(study), tuple(study.candidates)
    # Meters measure every window, whatever happens in it.
    metered = {POWER} if study.power else set()
    return {
        point: frozenset(
            name
            for window in scenario.plan_windows(study, block(names, point, 0, study.seed))
            for name in window.activities
        ).union(metered)
        for point in study.points
    }


def _find_unplanned(study: Study, asked: Requested, planned: Planned) -> UserError | None:
    known, name = asked.quantity.known, asked.written(asked.quantity.of)
    if asked.point not in planned:
        why = study.impossible.get(
            select_combination(study, asked.point), "another one stands for it"
        )
        problem = f"`{name}` is at a combination of `vary` that is not measured ({why})"
        return asked.refuse(problem, "ask at another combination")
    if _is_measured(planned[asked.point], known):
        return None
    elsewhere = next((each for each, names in planned.items() if _is_measured(names, known)), None)
    remedy = f"name a metric of the scenario {study.scenario.name}"
    if elsewhere is not None:
        remedy = f"ask it {elsewhere.at()}"
    return asked.refuse(f"no window {asked.point.at()} measures `{known.name}`", remedy)


def _is_measured(activities: frozenset[str], known: Metric) -> bool:
    """Whether windows with these activities have a metric; collectors and drives are in all.

    What is paired needs something beside the users.
    """
    if known.source in IN_COLUMNS or known in COST_METRICS:
        needed = "transactions" if known.source == "transactions" else "load"
        return needed in list_tables(", ".join(activities))
    if known.source != "values":
        return True
    declared = (known in plugins(DeclaredActivity)[name].metrics for name in activities)
    beside = len(activities - {POWER}) > 1
    return (known.combined != "paired" or beside) and any(declared)


def _check_prices(study: Study, asked: Requested) -> UserError | None:
    if asked.quantity.known not in COST_METRICS:
        return None
    needs_duty = asked.quantity == COST_PER_MILLION
    if study.cost is None or (needs_duty and study.cost.duty is None):
        remedy = "add the section `cost`" + " with its `duty`" * needs_duty
        return asked.refuse(f"`{asked.quantity}` without prices", remedy)
    load = study.given_load
    if not needs_duty and not (load and (load.limit or load.find)):
        remedy = "add `load.limit`, such as `limit: p95 of all <= 1 s`"
        return asked.refuse(f"`{asked.quantity}` without a response-time target", remedy)
    if not needs_duty and load and load.is_open:
        remedy = "use a `pace`: at a rate there are connections, and no users"
        return asked.refuse(f"`{asked.quantity}` without users", remedy)
    return None


def _check_servers(study: Study, asked: Requested) -> UserError | None:
    known, of = asked.quantity.known, asked.quantity.of
    if known.of_instance and study.given_database is None:
        return asked.refuse(
            f"`{known.name}` is of a database server, and the scenario {study.scenario.name} has "
            "none",
            "name a metric of the scenario or of the storage",
        )
    instances = study.at(asked.point).scenario.keys.count_instances()
    if known.of_instance and instances > 1:
        names = [name_instance(number + 1) for number in range(instances)]
        if of is None or of.partition(":")[0] not in names:
            return asked.refuse(
                f"`{asked.quantity}` is of one server, and each of {instances} tenants has its own",
                f"name a tenant: `{asked.written(names[0])}`",
            )
    return None


def _check_drives(study: Study, asked: Requested) -> UserError | None:
    known, of = asked.quantity.known, asked.quantity.of
    if known.source != "drives" and known.collector != "drive":
        return None
    by_name = {name: name_drives(study.candidates[name]) for name in asked.candidates}
    if lacking := [name for name, drives in by_name.items() if not drives]:
        column = f"{known.column}{'_latency_s' if known.source == 'drives' else ''}"
        nearest = f"`{asked.written(None, f'block.{column}')}`"
        nearest = nearest if find(f"block.{column}") else "a metric of `block`"
        return asked.refuse(
            f"only an emulated drive reports `{asked.quantity}`, and {_join_names(lacking)} none",
            f"compare emulated drives, or ask {nearest}, which the kernel counts for every block "
            "device",
        )
    if known.source != "drives" or of is None:
        return None
    if lacking := [name for name, drives in by_name.items() if of not in map(find_role, drives)]:
        keys = "drive: …" if of == "data" else f"roles: {{{of}: {{drive: …}}}}"
        return asked.refuse(
            f"`{asked.quantity}` needs a drive for the {of}, and {_join_names(lacking)} none",
            f"give it one with `{keys}`, or ask `{asked.written(None)}`",
        )
    return None


def _check_devices(study: Study, asked: Requested) -> UserError | None:
    memory = find_likely_memory_backed(study)
    lacking = [name for name in asked.candidates if name in memory]
    if asked.quantity.known.collector == "block" and lacking:
        return asked.refuse(
            f"`{asked.quantity}` is of a block device, and {_join_names(lacking)} none: "
            "it is memory",
            "name a directory on a disk, or ask `tpm` or a percentile such as `p95`",
        )
    return None


def _join_names(names: Sequence[str]) -> str:
    of = " and ".join(names)
    return f"candidate {of} has" if len(names) == 1 else f"candidates {of} have"


def _estimate_rate(study: Study, asked: Requested, rates: Rates) -> tuple[float, float, bool]:
    """Transactions a second on average and at most, and whether earlier runs did them.

    Else what users ask for, if no answer takes time.
    """
    earlier = [rates.get(make_rate_key(study, name, asked.point)) for name in asked.candidates]
    measured = [rate for rate in earlier if rate is not None]
    if len(measured) == len(earlier):
        return min(measured), min(measured), True
    here, workload = study.at(asked.point), get_workload(study.workload.name)
    most = bound_paced_per_s(here.load, workload, asked.point.level)
    most *= here.scenario.keys.count_instances()
    return most / UNEVEN, most, False


def _check_count(
    study: Study, asked: Requested, rates: Rates, windows: int = 1, *, on_average: bool = False
) -> UserError | None:
    """Check whether windows have the values at all, or `on_average` with the usual reserve."""
    quantity, known = asked.quantity, asked.quantity.known
    if known.source != "transactions" or known.percent is None:
        return None
    per_s, most_per_s, is_known = _estimate_rate(study, asked, rates)
    share = 1.0
    if quantity.of not in (None, ALL):
        share = get_workload(study.workload.name).shares[quantity.of]
    duration_s, needed = study.load.duration_s, count_values_needed(known.percent)
    count = (per_s if on_average else most_per_s) * share * duration_s
    reserve = SPARE if on_average else STOP_SHARE if is_known else 1.0
    if windows * count >= needed * reserve:
        return None
    each = "in each window, and one" if asked.value is None else "to be printed, and a window"
    there = f"{each} of {format_duration(duration_s)} {asked.point.at()}"
    is_paced = study.at(asked.point).load.rate_per_s is not None
    has = f"has about {count:,.0f}{'' if is_paced else ' if no answer takes time'}"
    if not on_average:
        has = f"has at most {count:,.0f}"
    if is_known:
        has = f"had about {count:,.0f} in earlier runs here"
    problem = f"{quantity.noun} needs {needed:,} values {there} {has}"
    certain = is_known or is_paced
    remedy = _suggest_length(quantity, duration_s, per_s * share, is_certain=certain)
    return asked.refuse(problem, remedy)


def _suggest_length(
    quantity: Quantity, duration_s: float, per_s: float, *, is_certain: bool
) -> str:
    """Suggest what would do; not `is_certain`: windows may have fewer transactions a second."""
    needed, there = count_values_needed(quantity.known.percent or 0.0), per_s * duration_s
    parts = []
    if per_s > 0:
        length_s = math.ceil(SPARE * needed / per_s / STEP_S) * STEP_S
        verb = "is enough" if is_certain else "is the least"
        parts.append(f"`duration: {format_duration(length_s)}` {verb}")
    for name in reversed(LADDER):
        other = Quantity(name, quantity.of)
        if count_values_needed(other.known.percent or 0.0) * SPARE <= there:
            return ", or ask ".join([*parts, f"`{other}`"])
    return " or ".join([*parts, "more users"])
