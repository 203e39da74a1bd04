"""What every figure may know: the evidence, the series, the styles and the footer's words."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from stithy.activity import Factor, get_factor, get_level_factor
from stithy.analysis.analyze import Analysis, judge_run
from stithy.analysis.cost import CandidateCost, price_work
from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.findings import Finding, answer_question, choose_answer_level, list_findings
from stithy.point import Point, are_amounts, format_value, list_telling, measure_magnitude
from stithy.pricing.keys import Pricing
from stithy.registry import plugins
from stithy.report.blocks import SectionKind
from stithy.report.drawing.palette import Style, choose_styles
from stithy.report.findings import find_leading, find_others
from stithy.report.tables import Show
from stithy.report.words import loads
from stithy.report.words.wording import format_plural
from stithy.results.files import Run, read_manifest, read_run
from stithy.results.manifest import CandidateFacts, LoadFacts, WorkloadFacts
from stithy.study import database as durability
from stithy.study.database import GivenUp
from stithy.units import format_duration, format_size
from stithy.workloads.words import NULL


@dataclass(frozen=True)
class Context(Analysis):
    """A run, gathered and judged; what figures, tables and sentences are made from."""

    @property
    def restored(self) -> bool:
        """Whether windows start from a restored database; without users by the rows alone."""
        return "restores" in self.tables or not self.run.restores.is_empty()

    @property
    def load(self) -> LoadFacts | None:
        """How the database was driven, None where it is not known."""
        return self.run.manifest.given_load if self.run.manifest else None

    @property
    def workload(self) -> WorkloadFacts | None:
        """What the users did, None where it is not known."""
        return self.run.manifest.given_workload if self.run.manifest else None

    @cached_property
    def styles(self) -> dict[str, Style]:
        """Colour, marker and dash of each candidate."""
        return choose_styles(self.evidence.candidates)

    @cached_property
    def corners(self) -> "dict[str, Context | None]":
        """The runs of `--sensitivity` by the candidate that they are against; None: not ended."""
        found: dict[str, Context | None] = {}
        for name, directory in self.run.directory.corners().items():
            manifest = read_manifest(directory.manifest)
            ended = manifest is not None and manifest.end == "finished"
            found[name] = make_context(read_run(directory.root)) if ended else None
        return found

    def latencies(self, collector: str, metric: str) -> pl.DataFrame:
        """Mean of a metric over each window's measurement, each second by its operations."""
        of_it = (pl.col("collector") == collector) & (pl.col("metric") == metric)
        return self.sampled.weighted.filter(of_it)

    @cached_property
    def valid_means(self) -> pl.DataFrame:
        """The same of valid windows alone: what a bar or a title may rest on."""
        return self.select_valid(self.sampled.means)

    def select_valid(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows of valid windows."""
        valid = [window.id for window in self.evidence.windows if window.valid]
        return frame.filter(pl.col("window_id").is_in(valid))

    @cached_property
    def footer(self) -> str:
        """What every figure says in its last line: drives, loop, window, the server's limits."""
        load, window = self.load, ""
        if "load" in self.tables:
            window = "window not recorded" if load is None else (
                f"{format_duration(load.ramp_up_s)} ramp-up, "
                f"{format_duration(load.duration_s)} measured"
            )  # fmt: skip
        parts = [self.done, window, _describe_repeats(self.evidence)]
        parts.insert(0, loads.write_footer(self.manifest))
        return " · ".join(part for part in [*parts, self.memory_brief, self.cpus_note] if part)

    @property
    def done(self) -> str:
        """What was done in each window, in one clause."""
        if self.manifest is not None and self.manifest.given_load is None:
            return f"Scenario {self.manifest.scenario}"
        engines = self.manifest.by_engine if self.manifest else ()
        return loads.describe_load(self.load, self.workload, engines)

    @property
    def label(self) -> str | None:
        """What must stand beside every number of this run; None where nothing must."""
        labels = [
            loads.label(self.workload),
            NULL if self.is_null else None,
            durability.label(self.given_up),
        ]
        return "; ".join(each for each in labels if each) or None

    @cached_property
    def given_up(self) -> tuple[GivenUp, ...]:
        """The settings in force that let the database lose what it acknowledged."""
        manifest = self.manifest
        if manifest is None or manifest.given_database is None:
            return ()
        return durability.list_all_given_up(
            {
                engine: {
                    candidate.name: {
                        **of.settings_of(candidate),
                        **(of.effective_settings_of(candidate) or {}),
                    }
                    for candidate in of.candidates
                }
                for engine, of in manifest.by_engine.items()
            }
        )

    def select_engine(self, name: str) -> "Context":
        """What is of one engine alone: its windows, and what the manifest has of it."""
        manifest = self.manifest
        if manifest is None or not manifest.other_engines:
            return self
        windows = tuple(window for window in self.evidence.windows
                        if manifest.find_engine(window.point) == name)  # fmt: skip
        run = replace(self.run, manifest=manifest.by_engine[name])
        return replace(self, run=run, evidence=replace(self.evidence, windows=windows))

    def find_facts(self, candidate: str) -> CandidateFacts | None:
        """What the manifest knows of a candidate; None without one."""
        known = self.manifest.candidates if self.manifest else ()
        return next((each for each in known if each.name == candidate), None)

    @cached_property
    def names_drawn(self) -> dict[str, str]:
        """What each candidate is called in figures: by its name, and what it gave up."""
        return {name: f"{name}{self.suffix(name)}" for name in self.evidence.candidates}

    def suffix(self, candidate: str) -> str:
        """What a candidate's name in a figure ends with."""
        return durability.write_suffix(durability.of_candidate(self.given_up, candidate))

    @property
    def not_run(self) -> list[str]:
        """The windows that are missing; those that were not needed are not among them."""
        if self.manifest is None:
            return []
        plan = self.manifest.plan
        have = {window.id for window in self.evidence.windows} | {*plan.skipped, *self.run.unread}
        return [each for each in (*plan.windows, *plan.further) if each not in have]

    @property
    def is_finished(self) -> bool:
        """Whether the run came to its end, so that what is missing was lost afterwards."""
        return self.manifest is not None and self.manifest.end == "finished"

    @property
    def is_open(self) -> bool:
        """Whether the load was an open loop, in which nobody waits for an answer."""
        return self.load is not None and self.load.is_open

    @cached_property
    def axis(self) -> Factor:
        """The factor along which levels lie."""
        return self.factor(self.evidence.axis)

    def factor(self, name: str) -> Factor:
        """A factor as it is called in this run."""
        return get_factor(name).driven(is_open=self.is_open)

    @property
    def factors(self) -> tuple[str, ...]:
        """What tells points apart: each factor of which there are several values, or the first."""
        return list_telling(self.evidence.points)

    @property
    def factor_shows(self) -> tuple[Show, ...]:
        """A column of a table for each factor."""
        known = map(self.factor, self.factors)
        return tuple(
            Show(each.name, each.plural.capitalize(), "count") if each.counts
            else Show(each.name, each.name)
            for each in known
        )  # fmt: skip

    @property
    def factor_types(self) -> dict[str, Any]:
        return {name: _choose_type(get_factor(name)) for name in self.factors}

    def list_factor_values(self, point: Point) -> dict[str, Any]:
        """What stands in these columns at a point."""
        return {name: _show_value(name, point) for name in self.factors}

    @property
    def is_joined(self) -> bool:
        """Whether lines go through levels: from word to word nothing would be between them."""
        return are_amounts(point.values[self.axis.name] for point in self.evidence.levels)

    @cached_property
    def positions(self) -> dict[Point, float]:
        """Where each level lies on a horizontal axis: by how much it is, words one by one."""
        levels = self.evidence.levels
        if self.axis.counts:
            return {point: point.level for point in levels}
        known = [measure_magnitude(point.values[self.axis.name]) for point in levels]
        if all(each is not None and each > 0 for each in known):
            return {point: each or 0.0 for point, each in zip(levels, known, strict=True)}
        return {point: 2**index for index, point in enumerate(levels)}

    def place(self, point: Point) -> dict[str, Any]:
        """A level in a row of a figure: its position as `level`, and its value by its factor."""
        return {"level": self.positions[point], self.axis.name: _show_value(self.axis.name, point)}

    def find_level(self, position: float) -> Point:
        return next(point for point, known in self.positions.items() if known == position)

    def placed(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows of levels, with `level` and the value of the axis instead of `point`."""
        known = [{"point": str(point), **self.place(point)} for point in self.positions]
        position = pl.Int64 if self.axis.counts else pl.Float64
        types = {"point": pl.String, "level": position, self.axis.name: _choose_type(self.axis)}
        return frame.join(pl.DataFrame(known, schema=types), on="point", how="inner").drop("point")

    @property
    def axis_show(self) -> Show:
        """The column of the axis in the data of a figure."""
        return Show(self.axis.name, self.axis.plural, "count" if self.axis.counts else "text")

    @cached_property
    def drawn(self) -> tuple[Window, ...]:
        """The windows at the levels, which figures draw; those of all points are in tables."""
        return tuple(window for window in self.evidence.windows if window.point in self.positions)

    @property
    def level_unit(self) -> str:
        """One of what a level counts: `user`, or in an open loop `connection`."""
        counted = next((point.counted for point in self.evidence.points), None)
        return self.factor(counted or get_level_factor().name).unit

    def read_by_second(
        self, collector: str, metrics: Collection[str], windows: Collection[str]
    ) -> pl.DataFrame:
        """Samples of whole seconds of windows; `second` is the one that each ended, from 0."""
        found = self.run.samples.of(collector, metrics, windows).filter(pl.col("second") >= 0.5)
        return found.with_columns((pl.col("second").round() - 1).cast(pl.Int64))

    def level(self, point: Point) -> str:
        """A level as people say it: `1 user`, `32 connections`."""
        return point.in_words(self.level_unit)

    def at(self, point: Point) -> str:
        """Where a value was measured: `at 32 connections`, `with backups`."""
        return point.at(self.level_unit)

    @cached_property
    def findings(self) -> tuple[Any, ...]:
        """What the run says, the most important first: each has a `kind` among the findings."""
        return (*find_leading(self), *self.answers, *find_others(self.evidence))

    @cached_property
    def answers(self) -> tuple[Finding, ...]:
        """Those on which verdicts rest; the first answers the question."""
        limited = self.limited if "load" in self.tables else None
        return list_findings(self.evidence, limited, self.limit)

    @cached_property
    def answer_level(self) -> Point | None:
        """The level at which candidates are reported side by side: that of the question, mostly."""
        return choose_answer_level(self.evidence)

    @cached_property
    def pricing(self) -> Pricing | None:
        """What the study states of costs, with the power measured where candidates are reported."""
        return self.find_prices(self.answer_level)

    @cached_property
    def costs(self) -> tuple[CandidateCost, ...]:
        """What each candidate costs, and its work and users; empty without prices."""
        if self.pricing is None:
            return ()
        return price_work(self.pricing, self.evidence, self.answer_level, self.limit)

    @property
    def cost_pair(self) -> tuple[str, str] | None:
        """The candidates whose costs are compared: the first, and the answer's other or next."""
        first, *others = self.evidence.candidates
        answered = answer_question(self.evidence) if others else None
        asked = [name for name in others if answered and name in (answered.a, answered.b)]
        return (first, (asked or others)[0]) if others else None

    @cached_property
    def memory_brief(self) -> str:
        """The memory limit as every figure must say it, however far it is copied."""
        if "load" not in self.tables:
            return ""
        rows = self.measured_rows
        enforced = [row for row in rows if row["memory_limit_enforced"]]
        if not rows:
            return "memory limit not recorded"
        if all(row["memory_limit_enforced"] is None for row in rows):
            return "databases by URL, the network included"
        if not enforced:
            return "MEMORY LIMIT NOT ENFORCED"
        sizes = sorted({row["memory_limit_bytes"] for row in enforced} - {None})
        ends = " to ".join(map(format_size, dict.fromkeys((*sizes[:1], *sizes[-1:]))))
        text = f"memory limit {ends or 'that differs by tenant'}"
        if len(enforced) < len(rows):
            lacking = len(rows) - len(enforced)
            text += f", NOT ENFORCED in {lacking} of {format_plural(len(rows), 'window')}"
        return text

    @property
    def measured_rows(self) -> list[Mapping[str, Any]]:
        return [window.row for window in self.evidence.windows if window.measured]

    @property
    def cpus_note(self) -> str:
        """How many CPUs servers were bound to; empty where any could use all."""
        manifest = self.manifest
        if manifest is None or manifest.given_database is None:
            return ""
        windows = (window for window in self.evidence.windows if "load" in window.tables)
        counts = [each.row["server_cpus"] for each in windows]
        counts = counts or [
            len(manifest.cpus_of(candidate) or ()) for candidate in manifest.candidates
        ]
        if not all(counts):
            return ""
        there = manifest.environment.get("cpus")
        said = " to ".join(map(str, dict.fromkeys((min(counts), max(counts)))))
        return f"{self.engine.server} on {said} of {there.value if there else '?'} CPUs"


def make_context(run: Run) -> Context:
    """Analyze a run as read, for its report."""
    return add_words(judge_run(run))


def add_words(analysis: Analysis) -> Context:
    """Make a context of a run that was analyzed."""
    return Context(analysis.run, analysis.evidence, analysis.sampled, analysis._times)


def list_sections(tables: frozenset[str]) -> list[SectionKind]:
    """List the sections of a run with these tables."""
    return [kind for kind in plugins(SectionKind).values() if tables.issuperset(kind.needs_tables)]


def _describe_repeats(evidence: Evidence) -> str:
    blocks: dict[Point, int] = {}
    for window in evidence.windows:
        blocks[window.point] = max(blocks.get(window.point, 0), window.block + 1)
    least, most = min(blocks.values(), default=1), max(blocks.values(), default=1)
    if most == 1:
        return "one window per point, no interval"
    # A level with fewer must not borrow the certainty of that with most.
    shown = format_plural(most, "block")
    return shown if least == most else f"{least} to {shown} per level"


def _show_value(factor: str, point: Point) -> int | str:
    return point.level if get_factor(factor).counts else format_value(point.values[factor])


def _choose_type(factor: Factor) -> Any:
    return pl.Int64 if factor.counts else pl.String
