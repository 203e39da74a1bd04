"""A run, gathered and judged: all that its results say, before anybody puts it into words.

It alone decides whether the question is answered and whether another block is needed; `report` adds
words and drawings. What users lose to what is beside them, such as backups, only a scenario knows:
it has a `Losses` in its `judge.py`, and its values then stand where those of windows do.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import polars as pl

from stithy.activity import DeclaredActivity, list_tables
from stithy.analysis.bottlenecks.judge import Limited, judge
from stithy.analysis.bottlenecks.observe import ObservedTables, observe_windows, read_ability
from stithy.analysis.comparisons import UNPAIRED
from stithy.analysis.cost import add_measured_power, list_cost_rows, measure_costs
from stithy.analysis.effect import Paired
from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.gathering import gather
from stithy.analysis.latencies import (
    measure_drives,
    measure_histograms,
    merge_levels,
    read_distribution,
)
from stithy.analysis.measures import Measure, list_declared, measure_series
from stithy.analysis.series import Sampled, sample_run
from stithy.analysis.verdict import PrimaryComparison
from stithy.engines.declaration import Declaration, join_declarations
from stithy.engines.engine import declaration
from stithy.metrics import ALL, Quantity, map_weights, parse_quantity
from stithy.point import Point
from stithy.power import METERS
from stithy.pricing.keys import Pricing
from stithy.registry import Family, Plugin, plugins
from stithy.results.files import Run
from stithy.results.hlog import LoggedHistogram
from stithy.results.manifest import LimitFacts, LoadFacts, Manifest, QuestionFacts
from stithy.search import ResponseTarget, Search
from stithy.thresholds import MeasuredSide
from stithy.workloads.workload import Workload

Row = dict[str, Any]


@dataclass(frozen=True)
class Analysis:
    """A run with its evidence; `sampled`: what was kept of its samples."""

    run: Run
    evidence: Evidence
    sampled: Sampled
    _times: dict[str, LoggedHistogram | None] = field(
        default_factory=dict, compare=False, repr=False
    )

    def times(self, window: Window) -> LoggedHistogram | None:
        """Read all response times of a window, once; None where its logs are not whole."""
        if window.id not in self._times:
            self._times[window.id] = read_distribution(self.run.directory, [window])
        return self._times[window.id]

    @property
    def manifest(self) -> Manifest | None:
        return self.run.manifest

    @cached_property
    def tables(self) -> frozenset[str]:
        """The tables that any of its windows has; all where nothing says what was done."""
        windows = self.evidence.windows
        if windows:
            return frozenset().union(*(window.tables for window in windows))
        alone = self.manifest is not None and self.manifest.given_load is None
        return list_tables("" if alone else "hammer")

    @cached_property
    def declared(self) -> tuple[Quantity, ...]:
        """What activities measured that only the table `values` has."""
        return list_declared(self.run.values)

    @cached_property
    def limited(self) -> dict[str, Limited]:
        """What limited each window that has numbers, by its id; empty if nothing was watched."""
        manifest = self.manifest
        # What it would be that limits another activity nobody has said yet.
        if self.sampled.means.is_empty() or (manifest and manifest.given_load is None):
            return {}
        candidates = manifest.candidates if manifest else ()
        fact = manifest.environment.get("cpus") if manifest else None
        abilities = {
            (candidate.name, drive.known_as): able
            for candidate in candidates
            for drive in candidate.drives
            if (able := read_ability(drive.profile, drive.scale)) is not None
        }
        tables = ObservedTables(
            self.sampled, self.run.seconds, self.run.surroundings,
            fact.value if fact is not None and isinstance(fact.value, int) else None,
            frozenset(candidate.name for candidate in candidates if candidate.drives),
            abilities, manifest.exporters if manifest else {}, partial(_find_engine, manifest),
        )  # fmt: skip
        return {
            observation.window_id: judge(observation)
            for observation in observe_windows(self.evidence, tables)
        }

    @property
    def engines(self) -> Mapping[str, Declaration]:
        """What the engines of its servers declare, by name, the study's own first."""
        return (
            {name: declaration(name) for name in self.manifest.by_engine} if self.manifest else {}
        )

    @property
    def engine(self) -> Declaration:
        """The same of all of them together."""
        return join_declarations(self.engines)

    @property
    def is_null(self) -> bool:
        """Whether one candidate was measured against itself."""
        return self.manifest is not None and self.manifest.plan.null

    def find_prices(self, point: Point | None) -> Pricing | None:
        """Find what the study states of costs, with the power measured at a point; None: nothing.

        Of several meters those that count together.
        """
        pricing = self.manifest.pricing if self.manifest else None
        rows = self.run.detail(METERS.name).filter(pl.col("meter") == ALL)
        idle_w = dict(rows.select("candidate", "idle_w").iter_rows())
        return pricing and add_measured_power(pricing, self.evidence, point, idle_w)

    @property
    def limit(self) -> ResponseTarget | None:
        """The response-time target of the study, searched for or not; None without one."""
        plan = self.manifest.plan if self.manifest else None
        facts = (plan.limit or plan.search) if plan else None
        return _make_target(facts) if facts else None


@dataclass(frozen=True)
class Loss:
    """What a candidate lost at a point to what was beside its users, by a metric of an activity."""

    activity: str
    quantity: Quantity
    candidate: str
    point: Point
    paired: Paired


class Losses(Plugin):
    """What users lose in a scenario to what is beside them: it knows which windows are without."""

    family = Family(stage="judge")

    tables: frozenset[str] = frozenset()
    """Without these a run has no losses of it."""

    compared: tuple[Quantity, ...] = ()
    """What candidates are compared by, too, in a run that has some."""

    def find_losses(self, analysis: Analysis) -> Iterator[Loss]:
        """Find each loss, by a metric that an activity declares as paired."""
        raise NotImplementedError


def list_ratios(activity: str) -> Mapping[Quantity, Quantity]:
    """List the ratios that an activity declares as paired, by the metric that each is of."""
    metrics = plugins(DeclaredActivity)[activity].metrics
    return {Quantity(metric.column): Quantity(metric.name) for metric in metrics
            if metric.combined == "paired" and metric.column}  # fmt: skip


def judge_run(run: Run) -> Analysis:
    """Gather and judge all of a run as read, with its question, its search and its losses."""
    samples = sample_run(run.samples.parts(), run.window, map_weights())
    evidence = judge_windows(run, samples)
    merged, problems = merge_levels(run.directory, evidence)
    run = replace(run, other_problems=(*run.other_problems, *problems))
    declared_there = list_declared(run.values)
    asked = _choose_primary(run.manifest, evidence, declared_there)
    thresholds = run.manifest.thresholds if run.manifest else ()
    sides = (side for threshold in thresholds for side in (threshold.left, threshold.right))
    wanted = {
        asked.metric,
        *(side.quantity for side in sides if isinstance(side, MeasuredSide)),
        *(quantity for quantity in declared_there if quantity.known.combined == "histogram"),
    }
    facts = run.manifest.plan.search if run.manifest else None
    search = None
    if facts is not None:
        least, most = facts.users_least, facts.users_most
        search = Search(_make_target(facts), least, most, facts.listed, facts.width_percent)
    whole = replace(
        evidence, merged=merged, primary=asked, search=search,
        measures=measure(run, evidence, samples, wanted),
    )  # fmt: skip
    return _add_costs(_add_losses(Analysis(run, whole, samples)))


def judge_windows(run: Run, samples: Sampled | None = None) -> Evidence:
    """Judge the windows of a run; without what is merged of several, and without a question.

    `samples`: what was kept of the samples, where they were read already.
    """
    samples = samples or sample_run(run.samples.parts(), run.window, {})
    manifest = run.manifest
    names = [candidate.name for candidate in manifest.candidates] if manifest else []
    points = manifest.plan.points if manifest else ()
    asked = manifest.given_workload if manifest else None
    workload = plugins(Workload).get(asked.name) if asked else None
    tables = {name: frame for name, frame in vars(run).items() if isinstance(frame, pl.DataFrame)}
    find_engine = partial(_find_engine, manifest)
    return gather(tables, samples, names, points, workload, run.damaged, find_engine)


def measure(
    run: Run, evidence: Evidence, samples: Sampled, quantities: Iterable[Quantity]
) -> dict[Quantity, Measure]:
    """Work out from series and logs those of the quantities that stand in no window's row."""
    quantities = tuple(quantities)
    merged = [quantity for quantity in quantities if quantity.known.combined == "histogram"]
    measures = measure_histograms(run.directory, evidence, merged) if merged else {}
    for quantity in quantities:
        if quantity.known.source == "series":
            measures[quantity] = measure_series(samples, quantity)
        elif quantity.known.source == "drives":
            measures[quantity] = measure_drives(run.directory, evidence, run.drives, quantity)
    return measures


def _find_engine(manifest: Manifest | None, point: Point) -> Declaration:
    return declaration(manifest.find_engine(point) if manifest else None)


def _make_target(facts: LimitFacts) -> ResponseTarget:
    return ResponseTarget(facts.percentile, facts.transaction, facts.limit_s)


def _choose_primary(
    manifest: Manifest | None, evidence: Evidence, declared_there: Sequence[Quantity]
) -> PrimaryComparison:
    """The primary question; of a run that had none, by what is usual or what it declares first."""
    plan = manifest.plan if manifest else None
    asked = _read_question(plan.question if plan else None, evidence.throughput)
    # The first that is compared as good or bad, and has a value of the whole; none of a load.
    compared = (each for each in declared_there if each.known.better and each.known.compared)
    own = next((Quantity(each.metric) for each in compared if each.known.of_several), None)
    if plan and plan.question is None and own is not None:
        asked = replace(asked, metric=own)
    if plan and plan.search and plan.search.alone:
        points = evidence.points
        most = max((p for p in points if p.others == points[0].others), default=None)
        asked = replace(asked, by_search=True, point=most)
    return asked


def _read_question(question: QuestionFacts | None, usual: Quantity) -> PrimaryComparison:
    if question is None:
        return PrimaryComparison(usual)
    return PrimaryComparison(
        metric=parse_quantity(question.metric),
        point=question.point,
        pair=question.candidates,
        margin_share=question.margin_share,
        blocks_most=question.blocks_most,
    )


def _add_losses(analysis: Analysis) -> Analysis:
    """Add what users lost as values of windows and points, as if an activity had measured it."""
    judges = [judge for judge in plugins(Losses).values() if judge.tables <= analysis.tables]
    by_judge = [(judge, [*judge.find_losses(analysis)]) for judge in judges]
    losses = [loss for _, found in by_judge for loss in found]
    if not losses:
        return analysis
    also = tuple(each for judge, found in by_judge if found for each in judge.compared)
    evidence = analysis.evidence
    levels: dict[Quantity, dict[tuple[str, Point], Paired]] = {}
    rows: list[Row] = []
    for loss in losses:
        levels.setdefault(loss.quantity, {})[loss.candidate, loss.point] = loss.paired
        for window in evidence.at(loss.candidate, loss.point):
            value = loss.paired.windows.get(window.id, UNPAIRED)
            rows.append({
                "window_id": window.id, "activity": loss.activity, "metric": loss.quantity.metric,
                "of": loss.quantity.of or ALL, "count": None, "value": value.number,
                "missing_because": value.missing_because,
            })  # fmt: skip
    found = _add_values(analysis, rows)
    whole = replace(found.evidence, paired=levels, also_compared=also)
    return replace(found, evidence=whole)


def _add_costs(analysis: Analysis) -> Analysis:
    """Add what work and users cost by the study's prices, likewise."""
    if analysis.manifest is None or analysis.manifest.pricing is None:
        return analysis
    evidence = analysis.evidence
    every = {*evidence.points, *(window.point for window in evidence.windows)}
    at = {point: analysis.find_prices(point) for point in every}
    prices = {point: pricing for point, pricing in at.items() if pricing is not None}.__getitem__
    found = _add_values(analysis, [*list_cost_rows(prices, evidence)])
    measures = {**evidence.measures, **measure_costs(prices, evidence, analysis.limit)}
    return replace(found, evidence=replace(found.evidence, measures=measures))


def _add_values(analysis: Analysis, rows: Sequence[Row]) -> Analysis:
    run, evidence = analysis.run, analysis.evidence
    by_window: dict[str, list[Row]] = {}
    for row in rows:
        by_window.setdefault(row["window_id"], []).append(row)
    windows = []
    for window in evidence.windows:
        added = {(row["metric"], row["of"]): row for row in by_window.get(window.id, ())}
        windows.append(replace(window, values={**window.values, **added}) if added else window)
    frame = pl.DataFrame(rows, schema=run.values.schema)
    return replace(
        analysis,
        run=replace(run, values=pl.concat([run.values, frame])),
        evidence=replace(evidence, windows=tuple(windows)),
    )


def list_isolations(load: LoadFacts, engines: Iterable[str]) -> list[str]:
    """The levels at which transactions ran; that of an engine which has only one is its own."""
    levels = [declaration(engine).isolation or load.isolation for engine in engines]
    return [level.replace("-", " ") for level in dict.fromkeys(levels or [load.isolation])]
