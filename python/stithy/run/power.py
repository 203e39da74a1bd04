"""What meters say: of the idle machine before the first window, and of each window's measurement.

A mean is that of the samples whose time lies within; the middle of what a sample covers decides.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import fmean

from stithy.collectors.collector import Collector, Scope, TimedSample
from stithy.collectors.collector import Sample as OneSample
from stithy.meters.meter import GivenMeter, Unreadable
from stithy.metrics import ALL
from stithy.plan.steps import Step
from stithy.power import (
    ABOVE_IDLE_W,
    JOULES,
    MARGINAL,
    MEAN_W,
    METERS,
    NAME,
    SAMPLED,
    SAMPLED_LEAST,
)
from stithy.registry import plugins
from stithy.results.tables import Row
from stithy.run.activity import WindowValue
from stithy.run.context import Context
from stithy.run.sampler import Sampler
from stithy.study.power import Power
from stithy.units import format_list, format_measured_duration

COLLECTOR = plugins(Collector)[NAME]
DRAW = COLLECTOR.metrics[0]
LATE_ROWS_S = 2.0
"""Own: what a writer of a file may lag behind, besides the time between two rows."""


@dataclass(frozen=True)
class MeanPower:
    """The mean power of a time, watts: from so many samples, a share of those that were due."""

    watts: float | None
    samples: int
    share: float
    missing_because: str | None = None


def make_scope(context: Context, candidate: str) -> Scope:
    """What collectors look at of a candidate, without its servers."""
    volume, power = context.volumes.of(candidate), context.file.study.power
    return Scope(
        volumes=tuple(part.path for part in volume.parts),
        drives={drive.name: drive.control for drive in volume.drives},
        clusters=volume.clusters,
        clock=context.session.clock,
        meters=power.list_meters(candidate) if power else {},
        exporters={
            name: seen
            for name, seen in context.state.known.exporters.items()
            if seen.keys.applies_to(candidate)
        },
    )


def average_draw(
    name: str, meter: GivenMeter, readings: Iterable[TimedSample], from_s: float, to_s: float
) -> MeanPower:
    """Average a meter's samples from a moment of Unix time to another, each by what it covers.

    It covers the time since the sample before it: that of a counter after a skipped second has the
    energy of both. The first one covers the usual time.
    """
    every_s = meter.keys.every_s
    before_s: float | None = None
    own: list[tuple[float, TimedSample]] = []
    for reading in readings:
        if (reading.collector, reading.sample.subject) == (NAME, name):
            gap_s = 0.0 if before_s is None else reading.at_s - before_s
            covered_s = gap_s if gap_s > 0 else every_s
            if from_s <= reading.at_s - covered_s / 2 < to_s:
                own.append((covered_s, reading))
            before_s = reading.at_s
    known = [(reading.sample.value, covered_s) for covered_s, reading in own
             if reading.sample.value is not None]  # fmt: skip
    # A window of 19 s holds one or two samples of 10 s: of two that were due, one is half.
    due = (to_s - from_s) / every_s
    share = min(1.0, len(known) / max(1, int(due), min(len(own), ceil(due))))
    if share >= SAMPLED_LEAST:
        values, weights = zip(*known, strict=True)
        return MeanPower(fmean(values, weights), len(known), share)
    reasons = (reading.sample.missing_because for _, reading in own)
    why = next(filter(None, reasons), None)
    problem = f"{name} has {share:.0%} of its samples, {SAMPLED_LEAST:.0%} are needed"
    return MeanPower(None, len(known), share, f"{problem}: {why}" if why else problem)


def sum_draws(draws: Sequence[MeanPower]) -> MeanPower:
    """Add up meters; missing where one is."""
    missing = next((draw.missing_because for draw in draws if draw.watts is None), None)
    watts = None if missing else sum(draw.watts or 0.0 for draw in draws)
    samples, share = min(draw.samples for draw in draws), min(draw.share for draw in draws)
    return MeanPower(watts, samples, share, missing)


def list_draws(
    power: Power, candidate: str, readings: Sequence[TimedSample], from_s: float, to_s: float
) -> dict[str, MeanPower]:
    """List the mean of each meter of a candidate, and as `all` that of those that count."""
    found = {
        name: average_draw(name, meter, readings, from_s, to_s)
        for name, meter in power.list_meters(candidate).items()
    }
    return {**found, ALL: sum_draws([found[name] for name in power.list_counted(candidate)])}


def read_records(
    context: Context, candidate: str, from_s: float, to_s: float
) -> Iterator[TimedSample]:
    """Read what meters have recorded by themselves, once its last row can be there."""
    power, clock = context.file.study.power, context.session.clock
    meters = power.list_meters(candidate) if power else {}
    for name, meter in ((n, m) for n, m in meters.items() if m.plugin.is_record):
        every_s = meter.keys.every_s
        until_s = clock.now_s() + 2 * every_s + LATE_ROWS_S
        try:
            rows = meter.plugin.read_record(meter.keys, from_s, to_s + every_s)
            while not (rows and rows[-1][0] >= to_s) and clock.now_s() < until_s:
                context.session.stop.asked.wait(min(every_s, 1.0))
                rows = meter.plugin.read_record(meter.keys, from_s, to_s + every_s)
            samples = [(at_s, OneSample(name, DRAW.name, watts)) for at_s, watts in rows]
        except Unreadable as reason:
            samples = [(to_s, OneSample(name, DRAW.name, None, str(reason)))]
        yield from (TimedSample(at_s, NAME, DRAW.unit, sample) for at_s, sample in samples)


def measure_idle(context: Context, step: Step) -> str:
    """Measure the idle machine for the time of the study, all candidates at once."""
    power, clock = context.file.study.power, context.session.clock
    assert power is not None  # without it the plan has no such step
    samplers = {
        name: Sampler(make_scope(context, name), {NAME: COLLECTOR})
        for name in context.file.study.candidates
    }
    for sampler in samplers.values():
        sampler.start()
    # The first second only begins counters.
    from_s = clock.now_s() + 1.0
    to_s = from_s + power.idle_s
    try:
        context.session.wait_until(to_s + 0.5)
    finally:
        readings = {name: sampler.stop() for name, sampler in samplers.items()}
    rows: list[Row] = []
    for name, live in readings.items():
        every = [*live, *read_records(context, name, from_s, to_s)]
        draws = list_draws(power, name, every, from_s, to_s)
        rows += [_make_row(power, name, meter, draw, from_s) for meter, draw in draws.items()]
    context.add_rows(METERS, rows)
    said = "; ".join(
        f"{row['candidate']} {row['missing_because'] or format(row['idle_w'], ',.1f') + ' W'}"
        for row in rows
        if row["meter"] == ALL
    )
    return f"{said}, idle for {format_measured_duration(power.idle_s)}"


def _make_row(power: Power, candidate: str, meter: str, draw: MeanPower, from_s: float) -> Row:
    counted = power.list_counted(candidate)
    of = counted if meter == ALL else {meter: power.meters[meter]}
    kinds = [given.plugin for given in of.values()]
    return {
        "candidate": candidate, "meter": meter,
        "kind": format_list([*dict.fromkeys(kind.name for kind in kinds)]),
        "sees": "; ".join(dict.fromkeys(given.sees for given in of.values())),
        "misses": "; ".join(dict.fromkeys(kind.misses for kind in kinds)),
        "resolution": "; ".join(dict.fromkeys(kind.resolution for kind in kinds)),
        "every_s": max(given.keys.every_s for given in of.values()),
        "stated": any(kind.is_stated for kind in kinds),
        "counted": meter == ALL or meter in counted,
        "idle_from_s": from_s, "idle_s": power.idle_s, "idle_w": draw.watts,
        "samples": draw.samples, "missing_because": draw.missing_because,
    }  # fmt: skip


def list_values(
    context: Context,
    candidate: str,
    within: tuple[float, float],
    readings: Sequence[TimedSample],
    measured: Iterable[Row],
) -> Iterator[WindowValue]:
    """List the values of a measurement; nothing in a study without meters.

    `within`: its ends, Unix time. `measured`: its rows of `values`, the throughput among them.
    """
    power = context.file.study.power
    if power is None:
        return
    draws = list_draws(power, candidate, readings, *within)
    for of, draw in draws.items():
        yield WindowValue(MEAN_W, draw.watts, of, draw.samples, draw.missing_because)
        yield WindowValue(SAMPLED, draw.share, of, draw.samples)
    total = draws[ALL]
    idle = find_idle(context, candidate)
    above = _subtract(total, idle)
    yield above
    per_s = _find_orders_per_s(context, measured)
    if per_s is not None:
        yield _divide(JOULES, total.watts, total.missing_because, per_s)
        yield _divide(MARGINAL, above.value, above.missing_because, per_s)


def find_idle(context: Context, candidate: str) -> Row | None:
    """Find what the idle machine drew in this session by the meters of a candidate, if known."""
    rows = context.state.rows.get(METERS.name, ())
    own = [row for row in rows if (row["candidate"], row["meter"]) == (candidate, ALL)]
    return own[-1] if own else None


def _subtract(total: MeanPower, idle: Row | None) -> WindowValue:
    idle_w = idle["idle_w"] if idle else None
    if total.watts is None or idle_w is None:
        why = idle["missing_because"] if idle else "not measured"
        return WindowValue(
            ABOVE_IDLE_W, None, missing_because=total.missing_because or f"idle: {why}"
        )
    return WindowValue(ABOVE_IDLE_W, total.watts - idle_w)


def _find_orders_per_s(context: Context, measured: Iterable[Row]) -> float | None:
    """Find the throughput by the workload's own metric; None without a workload or a value."""
    if context.file.study.given_workload is None:
        return None
    quantity = context.workload.throughput
    values = (row["value"] for row in measured
              if (row["metric"], row["of"]) == (quantity.metric, ALL))  # fmt: skip
    value = next(values, None)
    if value is None:
        return None
    return float(value) / 60 if quantity.known.unit == "1/min" else float(value)


def _divide(metric: str, watts: float | None, why: str | None, per_s: float) -> WindowValue:
    missing = why or (None if per_s else "nothing was ordered")
    joules = None if missing or watts is None else watts / per_s
    return WindowValue(metric, joules, missing_because=missing)
