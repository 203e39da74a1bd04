"""Migration: what each way cost, whether anything was lost, and which paused users the least."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

from stithy.analysis.analyze import Analysis
from stithy.analysis.effect import Effect
from stithy.analysis.evidence import Window
from stithy.metrics import PAUSE_NEGLIGIBLE_S, Quantity
from stithy.registry import plugins
from stithy.report.blocks import (
    Block,
    FigureKind,
    SectionKind,
    set_bullets,
)
from stithy.report.context import Context
from stithy.report.drawing import palette
from stithy.report.drawing.points import drop_factor
from stithy.report.findings import FindingKind
from stithy.report.page import Page
from stithy.report.tables import PageTable, Show, make_table
from stithy.report.timelines import Timeline, TimelineWords, draw_each_point
from stithy.results.phases import Phase
from stithy.scenarios.migration.declared import (
    AFTER,
    BEFORE,
    COMPARED,
    DAMAGED,
    MOVED,
    MOVING,
    SWITCHING,
    TIMES,
)
from stithy.scenarios.migration.judge import Relocated
from stithy.scenarios.migration.way import NAME, SETTINGS, SWITCH, WAY, WayKind
from stithy.statements import Statement, join_parts
from stithy.units import format_measured_duration
from stithy.validity import make_clause

TITLE = "Migration"
NOTE = (
    "Migration: from its begin until users work with the target alone. Switch: the part of it in "
    "which no server answered, or its storage was exchanged. Pause: the longest time of the "
    "measurement in which no user's transaction was committed, and "
    "without: the same of windows without a migration; of users: the 99th percentile of each "
    "user's own longest. Moving and after: "
    "throughput of that phase relative to the seconds before the migration, in the same window. "
    "Change: throughput of the whole measurement against the window without a migration, of the "
    "same block; the interval holds 95 % and is conservative from four blocks on. Recovery: from "
    "the end of the migration until throughput was within 10 % of that before, for five seconds; a "
    "dash: not in every valid window. "
    "After each window the commit ledger and the consistency conditions were compared with the "
    "database at the target: lost counts windows in which something was missing or changed. "
    "Tables: where a server can follow on the source's files, it got the target's log once users "
    "were done; then the rows of every table were compared by checksums. That log may hold whole "
    "pages: what was copied wrong and changed by users later may be wrong, and equal, on both "
    "sides. Differing: over all windows. Blocks damaged: where btrfs moved them it has their "
    "checksums from the source, and read all of them once users were done. Where QEMU mirrored "
    "them, both drives were read then: they must be equal but for blocks that were written since."
)

PAUSE = Quantity("migration.pause_s")
DURATION, PHASE_P99 = Quantity(TIMES[0]), "migration.p99_s"


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
    for a, b in combinations(Relocated.list_in(analysis.evidence), 2):
        if a.candidate == b.candidate and a.alone == b.alone:
            effect = b.compare(PAUSE, a.point)
            if effect.value is not None and effect.value < 0:
                a, b, effect = b, a, a.compare(PAUSE, b.point)
            if effect.value is not None:
                yield PauseVerdict(b, a, effect)


def _make_tables(page: Page) -> Iterator[PageTable]:
    context = page.context
    shows = (
        *context.factor_shows, Show("candidate", "Candidate"), Show("blocks", "Windows", "count"),
        Show("duration_s", "Migration", "duration"), Show("size_bytes", "Moved", "size"),
        Show("switch_s", "Switch", "duration"), Show("pause_s", "Pause", "duration"),
        Show("pause_without_s", "without", "duration"),
        Show("user_pause_s", "Pause of users", "duration"), Show("kept", "Moving", "share"),
        Show("kept_after", "After", "share"),
        *(Show(f"p99_{phase}_s", f"p99 {phase}", "duration") for phase in (BEFORE, MOVING, AFTER)),
        Show("change", "Change", "signed share"), Show("low", "from", "signed share"),
        Show("high", "to", "signed share"), Show("recovery_s", "Recovery", "duration"),
        Show("tables", "Tables compared", "count"), Show("differing", "differing", "count"),
        Show("damaged", "Blocks damaged", "count"), Show("lost", "Lost", "count"),
    )  # fmt: skip
    yield make_table(
        NAME, TITLE, shows, [_make_row(context, of) for of in Relocated.list_in(context.evidence)]
    )


def _make_row(context: Context, of: Relocated) -> dict[str, Any]:
    times = ("duration_s", "switch_s", "pause_s", "user_pause_s")
    return {
        **context.list_factor_values(of.point), "candidate": of.candidate,
        "blocks": len(of.list_counted()), "size_bytes": of.average(Quantity(MOVED)),
        **{name: of.average(Quantity(f"migration.{name}")) for name in times},
        "recovery_s": of.average_if_complete(Quantity(TIMES[2])),
        "pause_without_s": of.find_usual(PAUSE),
        "kept": of.compute_kept_share(MOVING), "kept_after": of.compute_kept_share(AFTER),
        **{f"p99_{phase}_s": of.average(Quantity(PHASE_P99, phase))
           for phase in (BEFORE, MOVING, AFTER)},
        **of.estimate_change(), "tables": of.average(Quantity(COMPARED)),
        "differing": of.count_differing(), "damaged": of.average_if_complete(Quantity(DAMAGED)),
        "lost": len(of.list_lost()),
    }  # fmt: skip


def _set_migration(page: Page) -> Iterator[Block]:
    context = page.context
    verdicts = set_bullets((f"{_judge(context, of)}." for of in list_verdicts(context)), "")
    settings = context.manifest.scenario_facts.get(SETTINGS) if context.manifest else None
    return page.set_usual(NAME, NOTE, str(settings or ""), context.footer + ".", above=verdicts)


def _name_load(of: Relocated, unit: str) -> str:
    """The load, where the run has several."""
    loads = {drop_factor(point, WAY) for point in of.evidence.points}
    return f" {drop_factor(of.point, WAY).at(unit)}" if len(loads) > 1 else ""


def _judge(context: Context, of: PauseVerdict) -> str:
    """In one sentence, which of two ways paused users longer, or that it is not known."""
    where = f"On {of.longer.candidate}{_name_load(of.longer, context.level_unit)}"
    effect, names = of.effect, f"{of.longer.happened} and {of.shorter.happened}"
    if effect.low is None or effect.high is None:
        return f"{where} too few blocks tell the pauses of {names} apart"
    low, high = (format_measured_duration(abs(bound)) for bound in (effect.low, effect.high))
    if not effect.distinguishable or effect.plain:
        return f"{where} the pauses of {names} are not shown to differ"
    return (
        f"{where} users paused longer by {of.longer.happened} than by {of.shorter.happened}: by "
        f"{format_measured_duration(effect.value or 0.0)} ({low} to {high})"
    )


KEY = "migration-seconds"
SHADES = TimelineWords(
    "migration", "with a migration by {name}",
    {SWITCHING: (palette.AXIS[0], 0.75), MOVING: (palette.GRID[0], 0.9)},
    "the time in which data move, darker the switch",
)  # fmt: skip


def _make_line(window: Window, alone: Window) -> Timeline:
    """Each part of the migration is an event where it begins, and the last one where it ends."""
    spans = [span for span in window.spans if span["to_s"] is not None]
    phases = [
        Phase(SWITCHING if span["name"] == SWITCH else MOVING, span["from_s"], span["to_s"])
        for span in spans
    ]
    events = {f"{span['name']} began": span["from_s"] for span in spans}
    if spans:
        events["users work with the target alone"] = spans[-1]["to_s"]
    return Timeline(window, alone, phases, events)


@dataclass(frozen=True)
class MigrationFinding:
    """What came of the candidates' databases, those that lost something first.

    Of each all ways, those with the shortest pause first.
    """

    kind: ClassVar[str] = NAME
    of: tuple[tuple[Relocated, ...], ...]


def _find_leading(analysis: Analysis) -> Iterator[MigrationFinding]:
    """Find what came of each candidate; a loss stands first, and then the shortest pause."""

    def rank(of: Relocated) -> tuple[bool, float]:
        pause_s = of.average(PAUSE)
        return not of.list_lost(), math.inf if pause_s is None else pause_s

    moved = Relocated.list_in(analysis.evidence)
    mine = [tuple(sorted((of for of in moved if of.candidate == name), key=rank))
            for name in dict.fromkeys(of.candidate for of in moved)]  # fmt: skip
    if mine:
        yield MigrationFinding(tuple(sorted(mine, key=lambda ways: not ways[0].list_lost())))


def _describe_finding(finding: MigrationFinding, unit: str) -> Statement:
    sentences = []
    for ways in finding.of:
        proven = not any(of.list_lost() or of.list_unproven() or not of.list_counted()
                         for of in ways)  # fmt: skip
        kept = " Nothing acknowledged was lost." if proven else ""
        parts = join_parts([_describe_way(of, unit) for of in ways], "; ")
        template = f"{{candidate}} moved to its target {{ways}}.{kept}"
        sentences.append(Statement(template, candidate=ways[0].candidate, ways=parts))
    return join_parts(sentences, " ")


def _describe_way(of: Relocated, unit: str) -> Statement:
    where = _name_load(of, unit)
    if lost := of.list_lost():
        destroyed = of.list_destroyed()
        reason = str(destroyed[0].row["ledger_unverified_because"]) if destroyed else ""
        whole = "the database in {destroyed:+window}: it could not be read any more: {because}"
        parts = [whole] if destroyed else []
        if len(lost) > len(destroyed):
            parts.insert(0, "or changed data in {others:+window}")
        return Statement(
            f"by {{method}}{where}, and LOST {', and '.join(parts)}", method=of.happened,
            destroyed=len(destroyed), others=len(lost) - len(destroyed),
            because=make_clause(reason), point=str(of.point),
        )  # fmt: skip
    if not of.list_counted():
        return Statement(f"by {{method}}{where} in no valid window", method=of.happened)
    pause_s, usual_s, lasted_s = of.average(PAUSE), of.find_usual(PAUSE), of.average(DURATION)
    timed = "" if lasted_s is None else " in {lasted:measured}"
    paused = "" if pause_s is None else " with a pause of {pause:measured}"
    if pause_s is not None and usual_s is not None:
        paused += " ({usual:measured} without a migration)"
        if of.compare(PAUSE).may_exceed(PAUSE_NEGLIGIBLE_S) is False:
            paused = (
                " without a noticeably longer pause: {pause:measured}, and {usual:measured} without"
            )
    unproven, uncompared = len(of.list_unproven()), len(of.list_uncompared())
    tables = of.average(Quantity(COMPARED))
    same = ", all {tables:,.0f} tables equal by checksums" if tables is not None else ""
    if of.average_if_complete(Quantity(DAMAGED)) == 0:
        same += f", {plugins(WayKind).get(of.happened, WayKind).undamaged_text}"
    because = of.explain_uncompared()
    if uncompared:
        same += ", tables not compared in {uncompared:+window}"
        same += " ({because})" if because else ""
    doubt = ", the whole ledger of {unproven:+window} not compared" if unproven else ""
    return Statement(
        f"by {{method}}{where}{timed}{paused}{same}{doubt}", method=of.happened, lasted=lasted_s,
        pause=pause_s, usual=usual_s, unproven=unproven, tables=tables, uncompared=uncompared,
        because=make_clause(because or ""), point=str(of.point),
    )  # fmt: skip


PLUGINS = (
    FindingKind(NAME, _describe_finding, lead=_find_leading),
    SectionKind(NAME, 23, TITLE, _set_migration, make_tables=_make_tables),
    FigureKind(KEY, 18, NAME, needs_tables=("values",), plot=lambda context: draw_each_point(
        context, KEY, Relocated.list_in(context.evidence), SHADES, _make_line,
    )),
)  # fmt: skip
