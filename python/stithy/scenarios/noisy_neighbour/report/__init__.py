"""What a report says of tenants beside a neighbour."""

from collections.abc import Iterator
from typing import Any

from stithy.metrics import P95, P99, TPM
from stithy.report.blocks import (
    Block,
    SectionKind,
    set_bullets,
    set_figures,
    set_grid,
    set_paragraph,
)
from stithy.report.context import Context
from stithy.report.page import Page
from stithy.report.tables import PageTable, Show, make_table
from stithy.report.words.wording import explain_pooled
from stithy.scenarios.noisy_neighbour.disturbance import (
    ACHIEVED_SHARE,
    ALONE_SHARE_LEAST,
    Disturbance,
)
from stithy.scenarios.noisy_neighbour.judge import find_disturbances
from stithy.scenarios.noisy_neighbour.plan import NEIGHBOUR
from stithy.scenarios.noisy_neighbour.reactions import IN_A_ROW, KEPT_SHARE
from stithy.scenarios.noisy_neighbour.report import figures, seconds, shares
from stithy.scenarios.noisy_neighbour.report.findings import state, write_findings
from stithy.scenarios.noisy_neighbour.report.neighbours import (
    DURATIONS,
    SERVERS,
    describe_neighbour,
    make_durations_table,
    make_servers_table,
)
from stithy.scenarios.noisy_neighbour.report.neighbours import note as of_servers
from stithy.units import format_share

NAME = "neighbours"
TITLE = "What the neighbour costs the tenants"
NOTE = (
    "Each ratio compares the tenants with the neighbour to the same tenants alone, paired by "
    "block, with its interval. Percentiles and throughput are of the whole measurement, with the "
    "neighbour's pauses. Isolation is the share of seconds in which all tenants together got at "
    f"least {format_share(KEPT_SHARE)} of their mean throughput alone, as a mean over blocks; "
    "“alone” is the same share in the windows without a neighbour, which is what chance leaves, "
    "and the difference is that between the two, by block. A neighbour is judged by isolation as "
    f"a share of that alone; where that is less than {format_share(ALONE_SHARE_LEAST)}, nobody is "
    "said to bear it. The intervals shown decide what is borne and what is not: from four blocks "
    "on they are conservative; with fewer they decide nothing. Of a neighbour that works in "
    "cycles, or rests, only seconds in which it worked count for isolation. Fairness is Jain's "
    "index over the tenants' slowdowns; the least tenant is the share of its throughput that the "
    "tenant keeps which keeps least. Work adds the tenants' throughput ratio and the neighbour's "
    "achieved share of what it asked for: 2 means that neither lost anything. What it asked for "
    "stands for what it does alone, which is not measured; work is not known of a neighbour that "
    "works as fast as it can. A saturated neighbour achieved less than "
    f"{format_share(ACHIEVED_SHARE)} of its rate; a limited one did, too, and has a `limit`; of a "
    "failed one a cycle failed."
)
FELT = (
    "Onset is the time from the begin of a cycle, or of the work after a rest, to the first of "
    f"{IN_A_ROW} seconds in a row in which the tenants got less than {format_share(KEPT_SHARE)} of "
    "what they have alone; settling is that from its end to the first of as many in which they "
    "got it again. Both are medians of the cycles that were felt, in whole seconds; 0 is within "
    f"the first. Cycles less than {IN_A_ROW} s apart count as one here; what goes on from the "
    "first second to the last has neither, and counts as none. “By chance” counts what would be "
    "felt at the same moments of the windows alone; where that is half as many or more, there is "
    "no onset. A cycle that is cut by the end of a window counts neither as done nor as failed."
)


def _make_tables(page: Page) -> Iterator[PageTable]:
    context = page.context
    rows = [_make_row(context, disturbance) for disturbance in find_disturbances(context)]
    others = (Show(factor, factor) for factor in context.factors if factor != NEIGHBOUR)
    growths = []
    for key, name in (("p99", "p99"), ("p95", "p95"), ("goodput", "Throughput")):
        growths += [Show(key, f"{name} ratio", "ratio"), Show(f"{key}_low", "from", "ratio"),
                    Show(f"{key}_high", "to", "ratio")]  # fmt: skip
    shows = (
        *others, Show("candidate", "Candidate"), Show("neighbour", "Neighbour"),
        Show("asked", "Asked (1/s)", "rate"), Show("achieved", "Achieved (1/s)", "rate"),
        Show("state", "State"), *growths, Show("worked", "Under neighbour", "share"),
        Show("isolation", "Isolation", "share"), Show("alone", "alone", "share"),
        Show("lost_low", "difference from", "signed share"),
        Show("lost_high", "to", "signed share"), Show("first", "1st percentile", "share"),
        Show("worst", "Worst second", "share"), Show("least", "Least tenant", "share"),
        Show("fairness", "Fairness", "ratio"),
        Show("work", "Work (of asked)", "ratio"), Show("cycles", "Cycles", "count"),
        Show("felt", "felt", "count"), Show("chance", "by chance", "count"),
        Show("onset", "Onset", "duration"), Show("settling", "Settling", "duration"),
    )  # fmt: skip
    yield make_table(NAME, TITLE, shows, rows).told()
    yield make_durations_table(context)
    yield make_servers_table(context)


def _make_row(context: Context, each: Disturbance) -> dict[str, Any]:
    values, lost = context.list_factor_values(each.point), each.lost
    growths: dict[str, float | None] = {}
    for key, quantity in (("p99", P99), ("p95", P95), ("goodput", TPM)):
        effect = each.growth[quantity].effect
        growths |= {key: effect.ratio, f"{key}_low": effect.low, f"{key}_high": effect.high}
    row: dict[str, Any] = {
        **{key: value for key, value in values.items() if key != NEIGHBOUR},
        "candidate": each.candidate, "neighbour": describe_neighbour(context, each.point),
        "asked": each.asked, "achieved": each.achieved, "state": state(each),
        **growths,
        "worked": each.worked, "isolation": each.isolation, "alone": each.alone_isolation,
        "lost_low": lost.low, "lost_high": lost.high, "first": each.first_percentile,
        "worst": each.worst_second, "least": each.least_kept, "fairness": each.fairness,
        "work": each.work,
    }  # fmt: skip
    if (felt := each.felt) is not None:
        told = each.reacted
        row |= {"cycles": felt.cycles, "felt": felt.felt,
                "chance": each.by_chance.felt if each.by_chance else None,
                "onset": told.onset_s if told else None,
                "settling": told.settling_s if told else None}  # fmt: skip
    return row


def _set_neighbours(page: Page) -> Iterator[Block]:
    context = page.context
    found = find_disturbances(context)
    if not found:
        return
    yield from set_bullets(tuple(write_findings(context, found)), "findings", "Findings")
    yield from set_figures(page.find_drawn(NAME))
    yield from set_grid(page.tables[NAME])
    if not page.tables[DURATIONS].frame.is_empty():
        yield from set_grid(page.tables[DURATIONS])
    servers = page.tables[SERVERS]
    if not servers.frame.is_empty():
        yield from set_grid(servers)
        yield from set_paragraph(of_servers(servers), style="note")
    effects = [each.growth[P99].effect for each in found]
    because = next((effect.missing_because for effect in effects if effect.ratio is None), None)
    missing = f"The 99th percentile is missing in part: {because}." if because else None
    cycles = FELT if any(each.felt for each in found) else None
    pooled = explain_pooled(each.growth for each in found)
    yield from set_paragraph(NOTE, cycles, pooled, missing, style="note")


PLUGINS = (
    SectionKind(
        NAME, 12, TITLE, _set_neighbours, make_tables=_make_tables,
        needs_tables=("tenant_seconds",),
    ),
    *figures.PLUGINS, *seconds.PLUGINS, *shares.PLUGINS,
)  # fmt: skip
