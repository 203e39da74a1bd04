"""From the tables of a run to its evidence: each window joined with what is of it, and judged.

And back: which windows a run lost, and which of those that it has are typical.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, log
from statistics import fmean
from types import MappingProxyType
from typing import ClassVar

import polars as pl

from stithy.activity import collect_explained_flags, list_every_table, list_tables, split_names
from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.instruments import drop_refuted, find_machine_floors
from stithy.analysis.invariants import Identity, check_invariants
from stithy.analysis.series import Sampled
from stithy.analysis.steadiness import Steadiness, judge_steadiness_of_windows
from stithy.analysis.surroundings import (
    Baseline,
    WatchedWindow,
    find_taken_share,
    judge_baselines,
    read_watched,
)
from stithy.engines.declaration import UNKNOWN, Declaration
from stithy.metrics import ALL, ERROR_SHARE, TPM, Quantity, find_error_share
from stithy.point import Point
from stithy.registry import Family, Plugin, plugins
from stithy.validity import Check, Flag, Reason, Row
from stithy.workloads.workload import Workload

Frames = Mapping[str, pl.DataFrame]
Damaged = Mapping[str, Sequence[str]]
FindEngine = Callable[[Point], Declaration]


def gather(
    frames: Frames,
    samples: Sampled,
    candidates: Sequence[str] = (),
    points: Sequence[Point] = (),
    workload: Workload | None = None,
    damaged: Damaged = MappingProxyType({}),
    find_engine: FindEngine = lambda point: UNKNOWN,
) -> Evidence:
    """All windows with their transactions, conditions, restores and gaps, judged.

    `frames`: the tables of `results.tables` by name; any but `window` may be missing or empty.
    `samples`: what was kept of the table `series`.
    `candidates`, `points`: the planned ones, in order; those only found in windows come after.
    `workload`: what the users did, as far as it is known. `damaged`: by the id of a window, what of
    its tables cannot be read, without which nobody knows whether it is valid. `find_engine` gives
    what the engine of the servers at a point declares.
    """
    tables = _Tables(frames, samples, find_engine)
    rows = sorted(
        tables.windows,
        key=lambda row: (Point.parse(row["point"]), row["block"], row["attempt"], row["position"]),
    )
    windows = tuple(_judge_row(row, tables, workload, damaged) for row in rows)
    names = dict.fromkeys([*candidates, *(window.candidate for window in windows)])
    known = {*points, *(window.point for window in windows)}
    return Evidence(
        tuple(names), tuple(sorted(known)), windows, baselines=tables.baselines,
        throughput=workload.throughput if workload else TPM, floors=tables.floors,
    )  # fmt: skip


class _Tables:
    def __init__(self, frames: Frames, samples: Sampled, find_engine: FindEngine) -> None:
        self.find_engine = find_engine
        self.windows = drop_refuted(_list_rows(frames, "window"))
        self.transactions = _group_by_window(frames, "transactions")
        self.values = _group_by_window(frames, "values")
        self.spans = _group_by_window(frames, "spans")
        self.conditions = _group_by_window(frames, "conditions")
        self.restores = _group_by_window(frames, "restores")
        self.ledgers = _group_by_window(frames, "ledger")
        self.findings = _group_by_window(frames, "ledger_findings")
        self.drives = _group_by_window(frames, "drives")
        self.floors = find_machine_floors(_list_rows(frames, "drives"))
        self.around = {row["window_id"]: row for row in _list_rows(frames, "surroundings")}
        self.watched = read_watched(samples, frames["window"])
        self.steady = judge_steadiness_of_windows(frames)
        self.baselines = judge_baselines(_list_rows(frames, "baseline"))
        self.before = {_identify_block(baseline.row): baseline for baseline in self.baselines}
        self.again = {(row["point"], row["block"]) for row in self.windows if row["attempt"]}


def _judge_row(row: Row, tables: _Tables, workload: Workload | None, damaged: Damaged) -> Window:
    name = row["window_id"]
    by_type = {each["transaction"]: {**each, ERROR_SHARE: find_error_share(each)}
               for each in tables.transactions.get(name, ())}  # fmt: skip
    laws = check_invariants(row, {k: v for k, v in by_type.items() if k != ALL}, workload)
    steady = tables.steady.get(name)
    around, watched = tables.around.get(name), tables.watched.get(name, WatchedWindow())
    values = {(each["metric"], each["of"]): each for each in tables.values.get(name, ())}
    record = WindowRecord(
        window=row, conditions=tables.conditions.get(name, ()),
        restore=next(iter(tables.restores.get(name, ())), None),
        watched=watched if name not in damaged else WatchedWindow(),
        values=values, ledger=tables.ledgers.get(name, ()),
        ledger_findings=tables.findings.get(name, ()), drives=tables.drives.get(name, ()),
        floors=tables.floors, transactions=by_type, laws=laws, steady=steady,
        baseline=tables.before.get(_identify_block(row)), around=around,
        measured_again=not row["attempt"] and (row["point"], row["block"]) in tables.again,
        damaged=damaged.get(name, ()), engine=tables.find_engine(Point.parse(row["point"])),
        workload=workload, tables=list_tables(row["activity"]),
    )  # fmt: skip
    taken = find_taken_share(around, watched)
    spans = tuple(tables.spans.get(name, ()))
    return Window(row, by_type, judge(record), laws, steady, taken, values, spans)


def _identify_block(row: Row) -> tuple[str, int, int]:
    return row["point"], row["block"], row["attempt"]


def _list_rows(frames: Frames, name: str) -> list[Row]:
    frame = frames.get(name)
    return [] if frame is None else list(frame.to_dicts())


def _group_by_window(frames: Frames, name: str) -> dict[str, list[Row]]:
    grouped: dict[str, list[Row]] = {}
    for row in _list_rows(frames, name):
        if row["window_id"] is not None:
            grouped.setdefault(row["window_id"], []).append(row)
    return grouped


@dataclass(frozen=True)
class WindowRecord:
    """What there is of a window; each part is empty or None where there is nothing.

    `window`, `conditions`, `restore`, `ledger`, `ledger_findings`, `drives` are its rows of the
    tables of those names, `around` that of `surroundings`; `watched` is what the collectors gave;
    `values`
    its rows of the table of that name, by metric and of what;
    `transactions` are its rows of that table by type; `floors`: as `find_machine_floors` has them;
    `laws` are the invariants that were checked; `steady` is None where nobody looked; `baseline` is
    the baseline check before the window's block; `measured_again`: whether the block was measured
    once more; `damaged` are its files that cannot be read; `engine` is what the server's engine
    declares; `tables` are those that the run has; `workload` is None where nobody knows it.
    """

    window: Row
    conditions: Sequence[Row] = ()
    restore: Row | None = None
    watched: WatchedWindow = WatchedWindow()
    values: Mapping[tuple[str, str], Row] = field(default_factory=dict)
    ledger: Sequence[Row] = ()
    ledger_findings: Sequence[Row] = ()
    drives: Sequence[Row] = ()
    floors: Mapping[str, float] = field(default_factory=dict)
    transactions: Mapping[str, Row] = field(default_factory=dict)
    laws: Sequence[Identity] = ()
    steady: Steadiness | None = None
    baseline: Baseline | None = None
    around: Row | None = None
    measured_again: bool = False
    damaged: Sequence[str] = ()
    engine: Declaration = UNKNOWN
    workload: Workload | None = None
    tables: frozenset[str] = field(
        default_factory=lambda: frozenset(each.name for each in list_every_table())
    )


@dataclass(frozen=True)
class WindowChecks(Plugin):
    """What can be wrong with a window in one respect, or must be known of it.

    Flags are constants of its module, as those that are raised anywhere must differ in name.
    """

    family: ClassVar = Family("analysis.checks", stage="judge")

    name: str
    order: int
    """In which a person reads them, from the least."""

    checks: tuple[Check[WindowRecord], ...]

    weigh: Callable[[WindowRecord, Reason], Reason] | None = None
    """What a reason of any check weighs in a window: less, where nobody promised to prevent it."""


def judge(of: WindowRecord) -> tuple[Reason, ...]:
    """All reasons that hold for one window, those that invalidate first.

    Source: docs/explanation/method.md, "Proof that the work was done" and "Four instants".
    """
    has_numbers = of.window["missing_because"] is None
    every = sorted(plugins(WindowChecks).values(), key=lambda plugin: plugin.order)
    own = (check for plugin in every for check in plugin.checks)
    checks: tuple[Check[WindowRecord], ...] = (*own, *of.engine.checks)
    asked = (check for check in checks if has_numbers or check.always)
    found = (each.find(of) for each in asked if of.tables.issuperset(each.needs))
    explained = collect_explained_flags(split_names(of.window["activity"]))
    reasons = [reason for reason in found if reason and reason.flag.value not in explained]
    for plugin in plugins(WindowChecks).values():
        if plugin.weigh is not None:
            reasons = [plugin.weigh(of, reason) for reason in reasons]
    return tuple(sorted(reasons, key=lambda reason: not reason.invalidates))


@dataclass(frozen=True)
class Lost:
    """How many of a candidate's `windows` were `invalid`, and how many of these by which flag.

    `flags`: the most frequent first; a window may have several. Windows that were dropped with
    their block alone, for another one's failure, are not among the invalid ones.
    """

    candidate: str
    windows: int
    invalid: int
    flags: tuple[tuple[Flag, int], ...]


@dataclass(frozen=True)
class MeasuredAgain:
    """A block that was measured once more; `valid`: whether all windows of that are valid."""

    point: Point
    block: int
    valid: bool


def list_lost(evidence: Evidence) -> tuple[Lost, ...]:
    """Each candidate with what it lost, in the order of the study.

    Own: a count over all windows, of first and second measurements alike.
    """
    lost = []
    for candidate in evidence.candidates:
        own = [window for window in evidence.windows if window.candidate == candidate]
        failed = [window for window in own if window.failures]
        flags = Counter(flag for window in failed for flag in dict.fromkeys(window.failures))
        lost.append(Lost(candidate, len(own), len(failed), tuple(flags.most_common())))
    return tuple(lost)


def list_measured_again(evidence: Evidence) -> tuple[MeasuredAgain, ...]:
    """The blocks that were measured once more, by level and block."""
    valid: dict[tuple[Point, int], bool] = {}
    for window in evidence.windows:
        if window.attempt:
            key = (window.point, window.block)
            valid[key] = valid.get(key, True) and window.valid
    return tuple(MeasuredAgain(*key, valid=valid[key]) for key in sorted(valid))


@dataclass(frozen=True)
class MedianBlock:
    """A block of a level: its windows by candidate.

    `value`: geometric mean over these by `metric`, None where one of them has none. `among`: how
    many blocks it was chosen from.
    """

    point: Point
    number: int
    attempt: int
    windows: Mapping[str, Window]
    metric: Quantity = TPM
    value: float | None = None
    among: int = 1


def find_median_block(evidence: Evidence, point: Point) -> MedianBlock | None:
    """The block in the middle by the metric asked, of those with most valid candidates.

    Of an even number it is the lower one. Where not every window has a value of the metric asked
    (a percentile of too few values), throughput decides. Edge cases: a level without any valid
    window gives the first block that has numbers at all; None where there is none.
    Own: a block is typical by what the study asks about, over all its candidates alike.
    """
    # Those with most valid candidates, in their order; without any valid one, with numbers.
    there = [window for name in evidence.candidates for window in evidence.at(name, point)]
    shown = [each for each in there if each.valid] or [each for each in there if each.measured]
    found: dict[tuple[int, int], dict[str, Window]] = {}
    for window in shown:
        found.setdefault((window.block, window.attempt), {})[window.candidate] = window
    most = max(map(len, found.values()), default=0)
    blocks = [
        MedianBlock(point, *key, each) for key, each in sorted(found.items()) if len(each) == most
    ]
    if not blocks:
        return None
    for metric in (evidence.primary.metric, evidence.throughput):
        values = [_find_value(evidence, block, metric) for block in blocks]
        known = [(each, block) for each, block in zip(values, blocks, strict=True) if each]
        if len(known) == len(blocks):
            known.sort(key=lambda pair: (pair[0], pair[1].number, pair[1].attempt))
            value, block = known[(len(known) - 1) // 2]
            chosen = (block.point, block.number, block.attempt, block.windows)
            return MedianBlock(*chosen, metric=metric, value=value, among=len(known))
    return blocks[0]


def _find_value(evidence: Evidence, block: MedianBlock, metric: Quantity) -> float | None:
    values = [evidence.value_of(window, metric).number for window in block.windows.values()]
    known = [value for value in values if value is not None and value > 0]
    return exp(fmean(map(log, known))) if len(known) == len(values) else None
