"""Failure: what each fault cost, whether anything was lost, and each fault over time."""

from collections.abc import Iterator
from typing import Any

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
from stithy.scenarios.failure.judge import PHASE_P99, Suffered, list_suffered
from stithy.scenarios.failure.keys import FAULT, NAME
from stithy.scenarios.failure.report import seconds
from stithy.units import format_measured_duration, format_share

TITLE = "Failure"
NOTE = (
    "Pause: the longest time in which no user's transaction was committed; of users: the 99th "
    "percentile of each user's own longest. Change: throughput of the whole measurement against "
    "the window without the fault, of the same block; the interval holds 95 % and is conservative "
    "from four blocks on. During: throughput from the fault to its repair relative to the seconds "
    "before it, in the same window. Recovery: from the repair until throughput was within 10 % of "
    "that before, for five seconds. After each window the commit ledger was compared with the "
    "database: lost counts windows in which something acknowledged was missing or changed."
)


def _make_tables(page: Page) -> Iterator[PageTable]:
    context = page.context
    shows = (
        *context.factor_shows, Show("candidate", "Candidate"), Show("blocks", "Windows", "count"),
        Show("pause_s", "Pause", "duration"), Show("user_pause_s", "Pause of users", "duration"),
        Show("kept", "During", "share"), Show("p99_before_s", "p99 before", "duration"),
        Show("p99_fault_s", "p99 during", "duration"),
        Show("change", "Change", "signed share"), Show("low", "from", "signed share"),
        Show("high", "to", "signed share"), Show("heal_s", "Repair", "duration"),
        Show("rebuild_s", "Rebuild", "duration"), Show("recovery_s", "Recovery", "duration"),
        Show("lost", "Lost", "count"),
    )  # fmt: skip
    rows = [_make_row(context, each) for each in list_suffered(context.evidence)]
    yield make_table(NAME, TITLE, shows, rows)


def _make_row(context: Context, of: Suffered) -> dict[str, Any]:
    return {
        **context.list_factor_values(of.point), "candidate": of.candidate,
        "blocks": len(of.list_counted()), "pause_s": of.average("fault.pause_s"),
        "user_pause_s": of.average("fault.user_pause_s"), "kept": of.compute_kept_share(),
        "p99_before_s": of.average(PHASE_P99, "baseline"),
        "p99_fault_s": of.average(PHASE_P99, "degraded"), **of.describe_change(),
        **{name: of.average(f"fault.{name}") for name in ("heal_s", "rebuild_s", "recovery_s")},
        "lost": len(of.list_lost()),
    }  # fmt: skip


def _set_failure(page: Page) -> Iterator[Block]:
    suffered = list_suffered(page.context.evidence)
    if not suffered:
        return
    yield from set_bullets((f"{_describe(page.context, each)}." for each in suffered), "")
    yield from set_figures(page.find_drawn(NAME))
    yield from set_grid(page.tables[NAME])
    yield from set_paragraph(NOTE, page.context.footer + ".", style="note")


def _describe(context: Context, of: Suffered) -> str:
    loads = {drop_factor(each.point, FAULT) for each in list_suffered(context.evidence)}
    load = drop_factor(of.point, FAULT)
    at = f" {load.at(context.level_unit)}" if len(loads) > 1 else ""
    who = f"{of.candidate} with {of.fault}{at}"
    if of.list_lost():
        windows = format_plural(len(of.list_lost()), "window")
        return f"{who} LOST or changed acknowledged work in {windows}"
    if not of.list_counted():
        return f"{who}: no window is valid"
    if of.list_unproven():
        windows = format_plural(len(of.list_unproven()), "window")
        return f"{who}: the ledger of {windows} was not compared, {_describe_pause(of)}"
    return f"{who} kept every acknowledged commit, {_describe_pause(of)}"


def _describe_pause(of: Suffered) -> str:
    pause_s, change = of.average("fault.pause_s"), of.describe_change()
    kept = of.compute_kept_share()
    words = [] if pause_s is None else [f"with a pause of {format_measured_duration(pause_s)}"]
    if kept is not None:
        words.append(f"{format_share(kept)} of the throughput while it lasted")
    if change["change"] is not None:
        low, high = change["low"], change["high"]
        within = (
            ""
            if low is None or high is None
            else f" ({format_signed_share(low)} to {format_signed_share(high)})"
        )
        words.append(f"{format_signed_share(change['change'])}{within} over the measurement")
    return ", ".join(words) or "and no time is known of it"


PLUGINS = (
    SectionKind(NAME, 22, TITLE, _set_failure, make_tables=_make_tables),
    *seconds.PLUGINS,
)
