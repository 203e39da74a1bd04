"""The windows of a run, each joined with what belongs to it and judged.

Everything later (findings, figures, tables) asks this and not the frames: which candidates and
levels there are, which windows are valid, and what a candidate did at a level.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean, median
from typing import ClassVar, Self

from stithy.activity import list_tables
from stithy.analysis.effect import (
    Effect,
    Paired,
    compare_losses,
    estimate_paired_difference,
    estimate_paired_ratio,
    make_unknown_effect,
)
from stithy.analysis.instruments import QUEUE_FACTOR, Delayed, bound_pair
from stithy.analysis.invariants import Identity
from stithy.analysis.measures import Measure, Merged, Value, explain_too_few
from stithy.analysis.steadiness import Steadiness
from stithy.analysis.surroundings import Baseline
from stithy.analysis.verdict import PrimaryComparison
from stithy.metrics import ALL, P95, TPM, Quantity, count_values_needed, has_enough, is_mean
from stithy.point import NOTHING, Point, list_telling
from stithy.search import Search
from stithy.validity import Flag, Reason, Row, is_valid


@dataclass(frozen=True)
class Window:
    """One window: its row, its transactions by type (`all` included), the reasons beside it.

    `laws` are the identities that were tried on it; `steady` is None where it has no numbers.
    `taken_share`: what others took of CPUs or disks meanwhile; None where nobody counted. `values`:
    its rows of the table of that name, by metric and of what. `spans`: its named times, of which
    each may be invalid by itself.
    """

    row: Row
    transactions: Mapping[str, Row]
    reasons: tuple[Reason, ...]
    laws: tuple[Identity, ...] = ()
    steady: Steadiness | None = None
    taken_share: float | None = None
    values: Mapping[tuple[str, str], Row] = field(default_factory=dict)
    spans: tuple[Row, ...] = ()

    @property
    def id(self) -> str:
        return str(self.row["window_id"])

    @cached_property
    def point(self) -> Point:
        """The setting of all factors."""
        return Point.parse(self.row["point"])

    @cached_property
    def tables(self) -> frozenset[str]:
        """The tables that its activities fill."""
        return list_tables(self.row["activity"])

    @property
    def candidate(self) -> str:
        return str(self.row["candidate"])

    @property
    def block(self) -> int:
        """Block within the level, from 0."""
        return int(self.row["block"])

    @property
    def position(self) -> int:
        """Place in the block, from 0."""
        return int(self.row["position"])

    @property
    def tried(self) -> bool:
        """Whether a search chose its level; its block need not have every candidate."""
        return bool(self.row["tried"])

    @property
    def attempt(self) -> int:
        """0, or 1 where its block was measured once more and this is that."""
        return int(self.row.get("attempt") or 0)

    @property
    def valid(self) -> bool:
        """Whether it supports a claim."""
        return is_valid(self.reasons)

    def delayed(self, value: float = 1.0) -> Delayed:
        """By how much its disturbances delayed those who waited in it at most."""
        delays = [(reason.delay_share or 0.0, reason.is_outside) for reason in self.reasons]
        waits, response = self.value("pool_wait_mean_s"), self.value("response_mean_s")
        queue = 1 + QUEUE_FACTOR * min(1.0, waits / response) if waits and response else 1.0
        of_response = sum(delay if is_outside else delay * queue for delay, is_outside in delays)
        return Delayed(sum(delay for delay, _ in delays), of_response, value)

    @property
    def failures(self) -> tuple[Flag, ...]:
        """What makes it invalid by itself, whatever became of its block."""
        return tuple(reason.flag for reason in self.reasons if reason.flag.is_failure)

    def name_failure(self) -> str:
        """Name what makes it invalid first: a fault of its own, before one of its block."""
        flags = (*self.failures, *(reason.flag for reason in self.reasons if reason.invalidates))
        return str(self.row["missing_because"] or flags[0].value)

    def is_flagged(self, *flags: str) -> bool:
        """Whether a reason has one of these flags, invalidating or not."""
        return any(reason.flag.value in flags for reason in self.reasons)

    @property
    def measured(self) -> bool:
        """Whether it has numbers at all."""
        if self.row["missing_because"] is not None:
            return False
        if "load" in self.tables:
            return self.row["tpm"] is not None
        return self.row["measure_to_s"] is not None

    @property
    def measured_s(self) -> float | None:
        """Length of the measurement by real time stamps, seconds."""
        begin, end = self.row["measure_from_s"], self.row["measure_to_s"]
        return None if begin is None or end is None else float(end - begin)

    @property
    def measure_after_s(self) -> float:
        """From the users' start to that of the measurement, seconds; 0 where it never began."""
        begin, start = self.row["measure_from_s"], self.row["started_at_s"]
        return 0.0 if begin is None or start is None else float(begin - start)

    def completed(self, transaction: str) -> int:
        """Transactions of a type that were answered in the measurement."""
        row = self.transactions.get(transaction, {})
        return sum(int(row.get(name) or 0) for name in ("committed", "rolled_back"))

    def value(self, name: str, transaction: str = ALL) -> float | None:
        """A number of the window's row, or of a transaction type (`response_p95_s`, …)."""
        if not self.measured:
            return None
        source = self.row if name in self.row else self.transactions.get(transaction, {})
        number = source.get(name)
        return None if number is None else float(number)

    def printable(self, name: str, transaction: str = ALL) -> float | None:
        """The same as it may be printed: no percentile with too few values beyond it."""
        few = name not in self.row and not has_enough(name, self.completed(transaction))
        return None if few else self.value(name, transaction)


@dataclass(frozen=True)
class Evidence:
    """All windows of a run; `candidates` in the order of the study, `points` from least to most.

    `merged`: percentiles over several windows of a candidate and level, where they are known.
    `primary`: what is asked. `baselines`: those before the blocks, in the order of their time.
    `search`: for how many users within which limit was searched.
    `measures`: what is asked about and stands in no window's row. `factor`: along which levels lie,
    where it is chosen. `throughput`: by which metric the users' work is counted. `paired`: what is
    lost to what is beside users, by quantity, then by candidate and point.
    `floors`: the times that this machine delivers instead of shorter ones of drives, by operation.
    `also_compared`: what candidates are compared by besides throughput and p95.
    """

    candidates: tuple[str, ...]
    points: tuple[Point, ...]
    windows: tuple[Window, ...]
    merged: Mapping[tuple[str, Point], Merged] = field(default_factory=dict)
    primary: PrimaryComparison = PrimaryComparison()
    baselines: tuple[Baseline, ...] = ()
    search: Search | None = None
    measures: Mapping[Quantity, Measure] = field(default_factory=dict)
    factor: str | None = None
    throughput: Quantity = TPM
    paired: Mapping[Quantity, Mapping[tuple[str, Point], Paired]] = field(default_factory=dict)
    floors: Mapping[str, float] = field(default_factory=dict)
    also_compared: tuple[Quantity, ...] = ()

    @property
    def described(self) -> tuple[Quantity, ...]:
        """What a report compares whatever the question is."""
        return self.throughput, P95, *self.also_compared

    @cached_property
    def axis(self) -> str:
        """The factor along which levels lie: as chosen, else the first that varies."""
        return self.factor if self.factor is not None else list_telling(self.points)[0]

    @cached_property
    def levels(self) -> tuple[Point, ...]:
        """The points along the axis, where the question is asked as to all other factors.

        Without another factor these are all points.
        """
        return self.along(self.axis)

    def along(self, axis: str) -> tuple[Point, ...]:
        """The points that differ in one factor from where the question is asked."""
        if not self.points:
            return ()
        at = _drop_factor(self.primary.point or self.points[-1], axis)
        return tuple(point for point in self.points if _drop_factor(point, axis) == at)

    def choose_asked(self, points: Sequence[Point]) -> Point | None:
        """Choose of these the point where the question is asked, else the last; None of none."""
        asked = self.primary.point
        return asked if asked in points else points[-1] if points else None

    @cached_property
    def settings(self) -> tuple[Point, ...]:
        """The settings of all factors but the level, in their order."""
        return tuple(dict.fromkeys(Point(point.others) for point in self.points))

    def at_setting(self, setting: Point) -> "Evidence":
        """The same, asked about at a setting of all factors but the level."""
        return replace(self, primary=replace(self.primary, point=setting.at_level(1)))

    @cached_property
    def _cells(self) -> dict[tuple[str, Point], tuple[Window, ...]]:
        cells: dict[tuple[str, Point], list[Window]] = {}
        for window in self.windows:
            cells.setdefault((window.candidate, window.point), []).append(window)
        return {key: tuple(sorted(each, key=_turn)) for key, each in cells.items()}

    @property
    def listed(self) -> tuple[Point, ...]:
        """The points that the study lists: those that a search alone has tried are not among them.

        Own: of a level without any window it is not known that it was tried.
        """
        tried = {window.point for window in self.windows if window.tried}
        planned = {window.point for window in self.windows if not window.tried}
        return tuple(point for point in self.points if point in planned or point not in tried)

    def at(self, candidate: str, point: Point) -> tuple[Window, ...]:
        """All windows of a candidate at a level, by block."""
        return self._cells.get((candidate, point), ())

    def valid_at(self, candidate: str, point: Point) -> tuple[Window, ...]:
        """The valid windows of a candidate at a level, by block."""
        return tuple(window for window in self.at(candidate, point) if window.valid)

    def level_value(
        self, candidate: str, point: Point, name: str, transaction: str = ALL
    ) -> float | None:
        """What a candidate did at a level: mean of rates, percentile of the merged windows.

        Valid windows only; None where there is none. Percentiles are never averaged: where the
        windows could not be merged it is the value of the median window.
        Source: docs/explanation/method.md, "Intervals".
        """
        windows = self.valid_at(candidate, point)
        merged = self.merged.get((candidate, point), {}).get(transaction, {})
        if len(windows) > 1 and name in merged:
            return merged[name]
        values = [window.value(name, transaction) for window in windows]
        known = [value for value in values if value is not None]
        if not known:
            return None
        return fmean(known) if is_mean(name) else float(median(known))

    def printable_level(
        self, candidate: str, point: Point, name: str, transaction: str = ALL
    ) -> float | None:
        """The same as it may be printed: no percentile with too few values beyond it.

        Source: docs/explanation/verdicts.md, "The metric".
        """
        there = sum(each.completed(transaction) for each in self.valid_at(candidate, point))
        value = self.level_value(candidate, point, name, transaction)
        return value if has_enough(name, there) else None

    def level_of(self, candidate: str, point: Point, quantity: Quantity) -> float | None:
        """A quantity of a candidate at a level: a mean, or a percentile of the merged windows.

        Edge cases: as `level_value` has them. A sum is over all blocks of the level. What is paired
        is its effect over the blocks.
        Source: docs/explanation/method.md, "Intervals".
        """
        known = quantity.known
        if known.combined == "paired":
            paired = self.paired_of(candidate, point, quantity)
            return None if paired is None else paired.effect.value
        if known.source in ("window", "transactions"):
            return self.level_value(candidate, point, known.column, quantity.of or ALL)
        measure = self.measures.get(quantity, Measure({}))
        if (candidate, point) in measure.levels:
            return measure.levels[candidate, point]
        found = [self.value_of(window, quantity) for window in self.valid_at(candidate, point)]
        numbers = [each.number for each in found if each.number is not None]
        if not numbers:
            return None
        if known.combined == "largest":
            return max(numbers)
        if known.combined == "sum":
            # A block without a valid window counts as the others: losing it makes nothing better.
            return fmean(numbers) * len(
                {each.block for each in self.windows if each.point == point}
            )
        return fmean(numbers) if known.percent is None else float(median(numbers))

    def paired_of(self, candidate: str, point: Point, quantity: Quantity) -> Paired | None:
        """What a candidate lost at a point to what was beside its users; None where nothing was."""
        return self.paired.get(quantity, {}).get((candidate, point))

    def value_of(self, window: Window, quantity: Quantity) -> Value:
        """A quantity of a single window, as a verdict may rest on it, or why there is none.

        Edge cases: a percentile of too few values is missing; see `metrics.count_values_needed`.
        Source: docs/explanation/verdicts.md, "The metric".
        """
        known = quantity.known
        if known.source == "values":
            # What the window's activity measured, or why it did not.
            row = window.values.get((quantity.metric, quantity.of or ALL))
            if row is None or not window.measured:
                return Value(None, f"{quantity} was not measured in a window")
            for span in window.spans:
                if span["name"] == quantity.of and span["invalid_because"] is not None:
                    return Value(None, f"{span['name']} does not count: {span['invalid_because']}")
            needed, there = count_values_needed(quantity.known.percent or 0), row["count"]
            if row["value"] is not None and quantity.known.percent and (there or 0) < needed:
                return Value(None, explain_too_few(quantity, needed, there or 0))
            return Value(row["value"], row["missing_because"])
        if known.source == "series" and any(reason.flag.unsampled for reason in window.reasons):
            return Value(None, "samples are missing in a window")
        if known.source in ("drives", "series"):
            none = Value(None, f"{quantity} was not measured in a window")
            return self.measures.get(quantity, Measure({})).windows.get(window.id, none)
        kind = quantity.of or ALL
        number = window.value(known.column, kind)
        there, needed = window.completed(kind), count_values_needed(known.percent or 0)
        if number is None and there:
            return Value(None, "a window has no complete latency log")
        if number is None:
            return Value(None, f"a window completed no {'transaction' if kind == ALL else kind}")
        if known.percent is not None and there < needed:
            return Value(None, explain_too_few(quantity, needed, there))
        return Value(number)

    def effect(
        self, a: str, b: str, point: Point, quantity: Quantity, against: Point | None = None
    ) -> Effect:
        """Effect of candidate B against A at a point, over blocks in which both have a value.

        `against`: where A is measured, if not at the same point; windows of one round are paired.
        A ratio, or a difference where the metric is declared as one.
        Only valid windows have a value. Edge cases: without such a block an effect with its reason;
        a block that was measured once more is two, and windows of one are never paired with those
        of the other. At two points a round has two blocks, of which either may have been measured
        once more, right after the first time: the one that counts is paired.
        Source: docs/explanation/verdicts.md, "The interval".
        """
        if quantity.known.combined == "paired" and against is None:
            lost = [self.paired_of(name, point, quantity) for name in (a, b)]
            if lost[0] is not None and lost[1] is not None:
                return compare_losses(lost[0], lost[1])
        ends = ((a, against or point), (b, point))
        # A round has one valid window of each candidate at each point, in whichever attempt.
        turn = _turn if against is None else lambda window: (window.block, 0)
        of_a, of_b = ({turn(window): (self.value_of(window, quantity), window)
                       for window in self.valid_at(*end)} for end in ends)  # fmt: skip
        both = [(x, of_b[each]) for each, x in of_a.items() if each in of_b]
        pairs = [
            (x.number, y.number, y_of.position - x_of.position,
             bound_pair(quantity, x_of.delayed(x.number), y_of.delayed(y.number)))
            for (x, x_of), (y, y_of) in both
            if x.number is not None and y.number is not None
        ]  # fmt: skip
        if not pairs:
            missing = (each.missing_because for pair in both for each, _ in pair)
            why = next((each for each in missing if each is not None), None)
            return make_unknown_effect(why or self.explain_unpaired(*ends))
        paired = (
            estimate_paired_ratio
            if quantity.known.negligible is None
            else estimate_paired_difference
        )
        found = paired([x for x, *_ in pairs], [y for _, y, *_ in pairs],
                       [bound for *_, bound in pairs])  # fmt: skip
        # Two windows in one place of a block: nobody recorded their order. Nor do windows of two
        # blocks have one.
        known = against is None and all(places for _, _, places, _ in pairs)
        return replace(found, b_later=tuple(places > 0 for _, _, places, _ in pairs if known))

    def explain_unpaired(self, *ends: tuple[str, Point]) -> str:
        """Say why no block has a valid window of each of these candidates at a level."""
        for candidate, point in ends:
            windows = self.at(candidate, point)
            if not windows:
                return f"{candidate} has no window"
            if not any(window.valid for window in windows):
                failed = [window for window in windows if window.failures] or windows
                reasons = Counter(window.name_failure() for window in failed)
                counts = (
                    f"{count} of {len(windows)}: {why}" for why, count in reasons.most_common(2)
                )
                return f"no window of {candidate} is valid ({'; '.join(counts)})"
        return "no block has a valid window of both"


@dataclass(frozen=True)
class Contrast:
    """A candidate at a point where something happens, against its windows without, by block.

    `factor`: says what happens, or `NOTHING`. `losses`: flags of windows whose database lost or
    changed something.
    """

    factor: ClassVar[str]
    losses: ClassVar[frozenset[str]]
    evidence: Evidence
    candidate: str
    point: Point

    @classmethod
    def list_in(cls, evidence: Evidence) -> tuple[Self, ...]:
        """List each candidate at each point where something happens."""
        return tuple(
            cls(evidence, name, point)
            for point in evidence.points
            if point.values.get(cls.factor) not in (None, NOTHING)
            for name in evidence.candidates
            if evidence.at(name, point)
        )

    @property
    def happened(self) -> str:
        return str(self.point.values[self.factor])

    @cached_property
    def alone(self) -> Point:
        """The point at which nothing does."""
        return self.point.replaced(self.factor, NOTHING)

    def list_counted(self) -> tuple[Window, ...]:
        """Its valid windows."""
        return self.evidence.valid_at(self.candidate, self.point)

    def list_all(self) -> tuple[Window, ...]:
        return self.evidence.at(self.candidate, self.point)

    def list_lost(self) -> tuple[Window, ...]:
        """The windows in which something acknowledged was lost or changed, valid or not."""
        return tuple(window for window in self.list_all() if window.is_flagged(*self.losses))

    @staticmethod
    def is_compared(window: Window) -> bool:
        """Whether the ledger of a window was compared, and had not ended before its users."""
        missing = window.row["ledger_unverified_because"] or window.row["ledger_problem"]
        return bool(window.row["ledger_acknowledged"]) and not missing

    def average(self, quantity: Quantity) -> float | None:
        """A quantity of its valid windows."""
        return self.evidence.level_of(self.candidate, self.point, quantity)

    def average_if_complete(self, quantity: Quantity) -> float | None:
        """The same; None where one of them has none, for which others would stand."""
        known = (self.evidence.value_of(window, quantity).number for window in self.list_counted())
        return None if None in known else self.average(quantity)

    def find_usual(self, quantity: Quantity) -> float | None:
        """A quantity of the valid windows in which nothing happens."""
        return self.evidence.level_of(self.candidate, self.alone, quantity)

    def compare(self, quantity: Quantity, point: Point | None = None) -> Effect:
        """Compare with the windows of the same blocks at another point, by default `alone`."""
        name = self.candidate
        return self.evidence.effect(name, name, self.point, quantity, point or self.alone)

    def find_effect(self, quantity: Quantity) -> Effect:
        """Find what happens to a paired quantity, over all blocks that have both."""
        paired = self.evidence.paired_of(self.candidate, self.point, quantity)
        return make_unknown_effect("it was not measured") if paired is None else paired.effect

    def find_pair(self) -> tuple[Window, Window] | None:
        """Find the first block with numbers at each point, those that count first."""
        for choose in (self.evidence.valid_at, self.evidence.at):
            without = {window.block: window for window in choose(self.candidate, self.alone)
                       if window.measured}  # fmt: skip
            for window in choose(self.candidate, self.point):
                if window.measured and window.block in without:
                    return window, without[window.block]
        return None


def _drop_factor(point: Point, axis: str) -> Point:
    return Point(tuple(factor for factor in point.factors if factor[0] != axis))


def _turn(window: Window) -> tuple[int, int]:
    return window.block, window.attempt
