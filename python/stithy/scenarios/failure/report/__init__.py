"""Failure: who survived what, what each fault cost, by phase, and each fault over time."""

from collections.abc import Iterator

from stithy.activity import DeclaredActivity
from stithy.registry import plugins
from stithy.report.blocks import Block, SectionKind, set_grid, set_open, set_paragraph
from stithy.report.page import Page
from stithy.scenarios.failure.declared import ACTIVITY
from stithy.scenarios.failure.judge import Suffered
from stithy.scenarios.failure.keys import NAME
from stithy.scenarios.failure.report import findings, seconds, tables

TITLE = "Failure"
SURVIVAL_NOTE = (
    "Kept: the commit ledger of each window was compared with the database after the repair, and "
    "nothing acknowledged was missing or changed; where the fault may change files and the engine "
    "has a check of its own, that found no damage. Where this holds for a part of the windows, the "
    "part is said. Lost: something was, or the database could not be read any more. "
    "Promised: by the candidate's policy and this fault; a promise that was "
    "broken makes the window invalid, and a loss that nothing promised to prevent does not."
)
LOSS_NOTE = (
    "Pause: the longest time in which no user's transaction was committed, mean of the valid "
    "windows; longer by: than in the window without the fault, of the same block; of users: the "
    "99th percentile of each user's own longest. Lost work: {what} that users got less done in the "
    "whole measurement than in the window without the fault. Detection: until the storage found it "
    "out by itself. Recovery: from the repair until throughput was within 10 % of that before, for "
    "five seconds. Times are means of the valid windows; a dash: one of them has none. Intervals "
    "hold 95 % and are conservative from four blocks on."
)
PHASE_NOTE = (
    "Baseline: until the fault. Pause: its longest time without a commit, from a second on, if the "
    "fault began it, or half of it at least came after that. Degraded: the rest until the repair. "
    "Rebuilding: until redundancy is restored. Changes are those to the same seconds of the window "
    "without the fault, of the same block. Rates are of whole seconds; a transaction counts in the "
    "second in which it ended. Percentiles are of all valid windows together; one of too few "
    "answers is not shown."
)


def _set_failure(page: Page) -> Iterator[Block]:
    context = page.context
    if not Suffered.list_in(context.evidence):
        return
    yield from set_open(page.tables[tables.SURVIVAL])
    yield from set_paragraph(SURVIVAL_NOTE, style="note")
    what = context.evidence.throughput.noun.partition(" per ")[0]
    yield from page.set_usual(NAME, LOSS_NOTE.format(what=what))
    yield from set_grid(page.tables[tables.PHASE_TABLE])
    yield from set_paragraph(PHASE_NOTE, context.footer + ".", style="note")


PLUGINS = (
    SectionKind(
        NAME, 22, TITLE, _set_failure, covers_points=True,
        make_tables=lambda page: [make(page.context) for make in tables.MAKERS],
        # All metrics of the activity: what has no column here is a value of single windows.
        list_covered=lambda _: [each.name for each in plugins(DeclaredActivity)[ACTIVITY].metrics],
    ),
    *findings.PLUGINS, *seconds.PLUGINS,
)  # fmt: skip
