"""What a fault costs in each phase, against the same seconds of the window without it, by block."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from stithy.analysis.analyze import Analysis
from stithy.analysis.comparisons import compare_with_alone, pair_windows
from stithy.analysis.effect import (
    Paired,
    estimate_paired_difference,
    estimate_paired_ratio,
    estimate_pooled_ratio,
    make_unknown_effect,
)
from stithy.analysis.evidence import Window
from stithy.analysis.instruments import Delayed, bound_pair
from stithy.analysis.measures import Value, explain_too_few
from stithy.analysis.statistics import Bound
from stithy.metrics import ALL, P95, P99, TPM, Quantity, count_values_needed
from stithy.point import Point
from stithy.results.convert import read_latencies
from stithy.results.hlog import LoggedInterval
from stithy.results.phases import Phase, PhaseResult, is_whole, join_results, sum_phases
from stithy.scenarios.failure.phases import list_phases

BY_PHASE = {"throughput": TPM, "p50": Quantity("p50"), "p95": P95, "p99": P99}
"""What is compared in each phase, by the first part of its metric's name."""

NO_SECOND = "no block has a whole second of this phase, with the fault and without"


def find_phases(window: Window) -> list[Phase]:
    """Find the phases of a window under a fault by its spans; none where it was not healed."""
    spans, row = {span["name"]: span for span in window.spans}, window.row
    fault, repair = spans.get("fault"), spans.get("repair")
    begin_s, end_s = row["measure_from_s"], row["measure_to_s"]
    if fault is None or repair is None or None in (begin_s, end_s, repair["to_s"]):
        return []
    healed_s = repair["to_s"]
    whole_s = spans.get("rebuild", repair)["to_s"] or end_s
    gap = None if row["gap_s"] is None else (row["gap_from_s"], row["gap_s"])
    return list_phases((begin_s, fault["from_s"], healed_s, whole_s, end_s), gap)


def read_log(analysis: Analysis, window: Window) -> Sequence[LoggedInterval]:
    """Read the response times of a window; empty where its log is missing, damaged or not whole."""
    try:
        log = read_latencies(analysis.run.directory.window(window.id).hlog_stem).response
    except (OSError, ValueError):
        return ()
    within = window.row["measure_from_s"], window.row["measure_to_s"]
    return log if None not in within and is_whole(log, *within, window.completed(ALL)) else ()


def sum_window(analysis: Analysis, window: Window, like: Window) -> dict[str, PhaseResult]:
    """Sum up what a window gave in the seconds in which `like` had its phases, by phase.

    Nothing without its log: that nobody logged anything is no rate of 0.
    """
    phases, log = find_phases(like), read_log(analysis, window)
    if not phases or not log:
        return {}
    started_s = window.row["started_at_s"]
    shift_s = started_s - like.row["started_at_s"]
    shifted = [Phase(of.name, of.from_s + shift_s, of.to_s + shift_s) for of in phases]
    return sum_phases(log, shifted, started_s)


@dataclass(frozen=True)
class PhasePair:
    """A phase of a block: what it gave without the fault, and with it.

    `share`: of the measurement.
    """

    windows: tuple[Window, Window]
    results: tuple[PhaseResult, PhaseResult]
    share: float

    def bound(self, quantity: Quantity) -> Bound:
        """Bound what disturbances can have changed, had all of them been in this phase."""
        one, other = (
            Delayed(of.delay_share / self.share, of.response_share / self.share, of.value)
            for of in (window.delayed() for window in self.windows)
        )
        return bound_pair(quantity, one, other)

    def read(self, quantity: Quantity) -> list[float | None]:
        """Read what both gave: transactions per minute, or a percentile."""
        percent = quantity.known.percent
        if percent is None:
            return [result.per_minute for result in self.results]
        return [of.times.percentile_s(percent) if of.times else None for of in self.results]

    def divide(self, quantity: Quantity, needed: int) -> Value:
        """Compute the ratio to the window without; `needed`: values that either must have."""
        fewest = min(result.count for result in self.results)
        if fewest < needed:
            return Value(None, explain_too_few(quantity, needed, fewest))
        one, other = self.read(quantity)
        if one is None or other is None:
            return Value(None, NO_SECOND)
        none = Value(None, "it is 0 in a window, so there is no ratio")
        return Value(other / one) if one else none


def pair_phases(
    analysis: Analysis, candidate: str, point: Point, alone: Point
) -> dict[str, list[PhasePair]]:
    """Pair the phases of each block that has a valid window of both."""
    found: dict[str, list[PhasePair]] = {}
    for first, second in pair_windows(analysis.evidence, candidate, point, alone):
        with_it = sum_window(analysis, second, second)
        without = sum_window(analysis, first, second)
        for name, result in with_it.items():
            share = min(1.0, result.seconds / (second.measured_s or 1.0))
            if name in without and share:
                pair = PhasePair((first, second), (without[name], result), share)
                found.setdefault(name, []).append(pair)
    return found


def compare_phase(pairs: Sequence[PhasePair], quantity: Quantity) -> Paired:
    """Compare a phase with the same seconds without the fault, over the blocks that have both.

    A percentile for which a block has too few values is that of all blocks together, if these have
    enough.
    """
    percent = quantity.known.percent
    needed = 0 if percent is None else count_values_needed(percent)
    values = {pair.windows[1].id: pair.divide(quantity, needed) for pair in pairs}
    blocks = tuple(pair.windows[1].block for pair in pairs)
    bounds = [pair.bound(quantity) for pair in pairs]
    if percent is None or all(value.number is not None for value in values.values()):
        both = [pair.read(quantity) for pair in pairs]
        known = [(one, other) for one, other in both if one is not None and other is not None]
        if not known or len(known) < len(both):
            return Paired(make_unknown_effect(NO_SECOND), (), values)
        effect = estimate_paired_ratio([a for a, _ in known], [b for _, b in known], bounds)
        return Paired(effect, blocks if effect.pairs else (), values)
    times = [(pair.results[0].times, pair.results[1].times) for pair in pairs]
    pooled = [(one, other) for one, other in times if one is not None and other is not None]
    whole = len(pooled) == len(pairs)
    ratio = estimate_pooled_ratio(pooled, percent, needed, bounds) if whole else None
    if ratio is not None:
        return Paired(ratio, blocks, values, pooled=True)
    why = next(value.missing_because for value in values.values() if value.number is None)
    return Paired(make_unknown_effect(why or NO_SECOND), (), values)


def count_lost_work(analysis: Analysis, candidate: str, point: Point, alone: Point) -> Paired:
    """Count what users got less done in a measurement with the fault than without, by block."""
    evidence, known, values = analysis.evidence, [], {}
    period_s = evidence.throughput.known.period_s
    for pair in pair_windows(evidence, candidate, point, alone):
        rates = [evidence.value_of(of, evidence.throughput).number for of in pair]
        lasted = [of.measured_s for of in pair]
        first, second = (None if None in (rate, s) else (rate or 0.0) * (s or 0.0) / period_s
                         for rate, s in zip(rates, lasted, strict=True))  # fmt: skip
        if first is None or second is None:
            values[pair[1].id] = Value(None, "a window has no throughput")
            continue
        more, less = (abs(of.delayed().delay_share) for of in pair)
        known.append((pair[1].block, second, first, (less * second, more * first)))
        values[pair[1].id] = Value(first - second)
    blocks, with_it, without, bounds = zip(*known, strict=True) if known else ((),) * 4
    return Paired(estimate_paired_difference(with_it, without, bounds), blocks, values)


def list_impacts(
    analysis: Analysis, candidate: str, point: Point, alone: Point
) -> Iterator[tuple[Quantity, Paired]]:
    """List what a fault costs, by the metrics that are declared: of all, and of each phase."""
    by_phase = pair_phases(analysis, candidate, point, alone)
    for name, quantity in BY_PHASE.items():
        whole = compare_with_alone(
            analysis.evidence, candidate, point, alone, quantity, analysis.times
        )
        yield Quantity(f"fault.{name}_ratio"), whole
        for phase, pairs in by_phase.items():
            yield Quantity(f"fault.{name}_ratio", phase), compare_phase(pairs, quantity)
    yield Quantity("fault.lost_work"), count_lost_work(analysis, candidate, point, alone)


def total_phases(analysis: Analysis, candidate: str, point: Point) -> Mapping[str, PhaseResult]:
    """Sum up each phase over the valid windows at a point."""
    found: dict[str, list[PhaseResult]] = {}
    for window in analysis.evidence.valid_at(candidate, point):
        for name, result in sum_window(analysis, window, window).items():
            found.setdefault(name, []).append(result)
    return {name: join_results(results) for name, results in found.items()}


def find_percentile(result: PhaseResult, percent: float) -> float | None:
    """Find a percentile, seconds; None where too few values bear it."""
    enough = result.times is not None and result.times.count >= count_values_needed(percent)
    return result.times.percentile_s(percent) if result.times and enough else None
