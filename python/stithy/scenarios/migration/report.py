"""Migration: what each way cost, whether anything was lost, and which paused users the least."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

from stithy.analysis.analyze import Analysis
from stithy.analysis.effect import Effect
from stithy.analysis.evidence import Evidence, Window
from stithy.metrics import ALL, TPM, Quantity
from stithy.point import Point
from stithy.report.blocks import (
    Block,
    SectionKind,
    set_bullets,
    set_figures,
    set_grid,
    set_paragraph,
)
from stithy.report.context import Context
from stithy.report.drawing.points import drop_factor
from stithy.report.page import Page
from stithy.report.tables import PageTable, Show, make_table
from stithy.report.words.wording import format_plural, format_signed_share
from stithy.scenarios.migration.declared import AFTER, BEFORE, MOVED, MOVING
from stithy.scenarios.migration.way import NAME, NONE, WAY
from stithy.units import format_measured_duration, format_share, format_size

TITLE = "Migration"
NOTE = (
    "Migration: from its begin until users work with the target alone. Switch: the part of it in "
    "which no server answered. Pause: the longest time in which no user's transaction was "
    "committed; of users: the 99th percentile of each user's own longest. Moving and after: "
    "throughput of that phase relative to the seconds before the migration, in the same window. "
    "Change: throughput of the whole measurement against the window without a migration, of the "
    "same block; the interval holds 95 % and is conservative from four blocks on. Recovery: from "
    "the end of the migration until throughput was within 10 % of that before, for five seconds. "
    "After each window the commit ledger and the consistency conditions were compared with the "
    "database at the target: lost counts windows in which something was missing or changed."
)

PAUSE = Quantity("migration.pause_s")
PHASE_TPM, PHASE_P99 = "migration.tpm", "migration.p99_s"
LOST = frozenset({"acknowledged work is gone", "acknowledged work disagrees", "consistency broken"})
"""Flags of windows whose database lost or changed something."""


@dataclass(frozen=True)
class Relocated:
    """A candidate whose database moved in one way, against its windows without, block by block."""

    evidence: Evidence
    candidate: str
    point: Point

    @property
    def method(self) -> str:
        """The name of the way."""
        return str(self.point.values[WAY])

    def list_counted(self) -> tuple[Window, ...]:
        """Its valid windows."""
        return self.evidence.valid_at(self.candidate, self.point)

    def list_lost(self) -> tuple[Window, ...]:
        """The windows in which something acknowledged was lost or changed, valid or not."""
        every = self.evidence.at(self.candidate, self.point)
        return tuple(window for window in every if LOST & {flag.value for flag in window.failures})

    def list_unproven(self) -> tuple[Window, ...]:
        """The valid windows whose ledger was not compared with the database that moved."""
        return tuple(window for window in self.list_counted()
                     if not window.row["ledger_acknowledged"]
                     or window.row["ledger_unverified_because"])  # fmt: skip

    @cached_property
    def alone(self) -> Point:
        """The point without a migration."""
        return self.point.replaced(WAY, NONE)

    def compare(self, quantity: Quantity) -> Effect:
        """Compare with the windows without a migration, of the same blocks."""
        return self.compare_from(self.alone, quantity)

    def compare_from(self, point: Point, quantity: Quantity) -> Effect:
        """Compare with the windows at another point, of the same blocks."""
        name = self.candidate
        return self.evidence.effect(name, name, self.point, quantity, point)

    def average(self, metric: str, of: str | None = None) -> float | None:
        """Average a value of its valid windows; of a phase by its name."""
        quantity = Quantity(metric, of or (ALL if "pause" not in metric else None))
        return self.evidence.level_of(self.candidate, self.point, quantity)

    def compute_kept_share(self, phase: str) -> float | None:
        """Throughput of a phase relative to before the migration; None where one is not known."""
        before, during = (self.average(PHASE_TPM, name) for name in (BEFORE, phase))
        return during / before if before and during is not None else None

    def estimate_change(self) -> dict[str, float | None]:
        """Throughput of the whole measurement, relative to that without a migration."""
        effect = self.compare(TPM)
        numbers = {"change": effect.ratio, "low": effect.low, "high": effect.high}
        return {name: None if each is None else each - 1 for name, each in numbers.items()}


def list_moved(analysis: Analysis) -> tuple[Relocated, ...]:
    """Each candidate at each point with a migration."""
    evidence = analysis.evidence
    return tuple(
        Relocated(evidence, name, point)
        for point in evidence.points
        if point.values.get(WAY) not in (None, NONE)
        for name in evidence.candidates
        if evidence.at(name, point)
    )


@dataclass(frozen=True)
class PauseVerdict:
    """How much longer users pause in one way than in another, of the same candidate and load."""

    longer: Relocated
    shorter: Relocated
    effect: Effect


def list_verdicts(analysis: Analysis) -> Iterator[PauseVerdict]:
    """Compare the ways with each other by pause, from block to block.

    Where the interval holds 0, or too few blocks have none, neither is called longer: the order is
    then that of the study, and the effect is not `distinguishable`.
    """
    for a, b in combinations(list_moved(analysis), 2):
        if a.candidate == b.candidate and a.alone == b.alone:
            effect = b.compare_from(a.point, PAUSE)
            if effect.value is not None and effect.value < 0:
                a, b, effect = b, a, a.compare_from(b.point, PAUSE)
            if effect.value is not None:
                yield PauseVerdict(b, a, effect)


def _make_tables(page: Page) -> Iterator[PageTable]:
    context = page.context
    shows = (
        *context.factor_shows, Show("candidate", "Candidate"), Show("blocks", "Windows", "count"),
        Show("duration_s", "Migration", "duration"), Show("size_bytes", "Moved", "size"),
        Show("switch_s", "Switch", "duration"), Show("pause_s", "Pause", "duration"),
        Show("user_pause_s", "Pause of users", "duration"), Show("kept", "Moving", "share"),
        Show("kept_after", "After", "share"),
        *(Show(f"p99_{phase}_s", f"p99 {phase}", "duration") for phase in (BEFORE, MOVING, AFTER)),
        Show("change", "Change", "signed share"), Show("low", "from", "signed share"),
        Show("high", "to", "signed share"), Show("recovery_s", "Recovery", "duration"),
        Show("lost", "Lost", "count"),
    )  # fmt: skip
    yield make_table(NAME, TITLE, shows, [_make_row(context, of) for of in list_moved(context)])


def _make_row(context: Context, of: Relocated) -> dict[str, Any]:
    times = ("duration_s", "switch_s", "pause_s", "user_pause_s", "recovery_s")
    return {
        **context.list_factor_values(of.point), "candidate": of.candidate,
        "blocks": len(of.list_counted()), "size_bytes": of.average(MOVED),
        **{name: of.average(f"migration.{name}") for name in times},
        "kept": of.compute_kept_share(MOVING), "kept_after": of.compute_kept_share(AFTER),
        **{f"p99_{phase}_s": of.average(PHASE_P99, phase) for phase in (BEFORE, MOVING, AFTER)},
        **of.estimate_change(), "lost": len(of.list_lost()),
    }  # fmt: skip


def _set_migration(page: Page) -> Iterator[Block]:
    context = page.context
    if not (moved := list_moved(context)):
        return
    yield from set_bullets((f"{_describe(context, of)}." for of in moved), "")
    yield from set_bullets((f"{_judge(context, of)}." for of in list_verdicts(context)), "")
    yield from set_figures(page.find_drawn(NAME))
    yield from set_grid(page.tables[NAME])
    yield from set_paragraph(NOTE, context.footer + ".", style="note")


def _name_load(context: Context, of: Relocated) -> str:
    """The load, where the run has several."""
    loads = {drop_factor(each.point, WAY) for each in list_moved(context)}
    return f" {drop_factor(of.point, WAY).at(context.level_unit)}" if len(loads) > 1 else ""


def _describe(context: Context, of: Relocated) -> str:
    who = f"{of.candidate} moved by {of.method}{_name_load(context, of)}"
    if of.list_lost():
        windows = format_plural(len(of.list_lost()), "window")
        return f"{who} LOST or changed acknowledged work in {windows}"
    if not of.list_counted():
        return f"{who}: no window is valid"
    if of.list_unproven():
        windows = format_plural(len(of.list_unproven()), "window")
        return f"{who}: the ledger of {windows} was not compared, {_describe_cost(of)}"
    return f"{who} kept every acknowledged commit, {_describe_cost(of)}"


def _describe_cost(of: Relocated) -> str:
    words = []
    if (pause_s := of.average("migration.pause_s")) is not None:
        words.append(f"with a pause of {format_measured_duration(pause_s)}")
    if (lasted_s := of.average("migration.duration_s")) is not None:
        size = of.average(MOVED)
        moved = "" if size is None else f"{format_size(size)} "
        words.append(f"{moved}in {format_measured_duration(lasted_s)}")
    if (kept := of.compute_kept_share(MOVING)) is not None:
        words.append(f"{format_share(kept)} of the throughput meanwhile")
    if (kept := of.compute_kept_share(AFTER)) is not None:
        words.append(f"{format_share(kept)} afterwards")
    change = of.estimate_change()
    if change["change"] is not None:
        low, high = change["low"], change["high"]
        within = (
            ""
            if low is None or high is None
            else f" ({format_signed_share(low)} to {format_signed_share(high)})"
        )
        words.append(f"{format_signed_share(change['change'])}{within} over the measurement")
    return ", ".join(words) or "and no time is known of it"


def _judge(context: Context, of: PauseVerdict) -> str:
    """In one sentence, which of two ways paused users longer, or that it is not known."""
    where = f"On {of.longer.candidate}{_name_load(context, of.longer)}"
    effect, names = of.effect, f"{of.longer.method} and {of.shorter.method}"
    if effect.low is None or effect.high is None:
        return f"{where} too few blocks tell the pauses of {names} apart"
    low, high = (format_measured_duration(abs(bound)) for bound in (effect.low, effect.high))
    if not effect.distinguishable or effect.plain:
        return f"{where} the pauses of {names} are not shown to differ"
    return (
        f"{where} users paused longer by {of.longer.method} than by {of.shorter.method}: by "
        f"{format_measured_duration(effect.value or 0.0)} ({low} to {high})"
    )


PLUGINS = (SectionKind(NAME, 23, TITLE, _set_migration, make_tables=_make_tables),)
