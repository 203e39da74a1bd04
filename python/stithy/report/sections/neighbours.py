"""What tenants lose to a neighbour on the same storage, and which candidate absorbs it better."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import polars as pl

from stithy.analysis.answers.neighbours import (
    GROWTH_MOST,
    ISOLATED_SHARE,
    Disturbance,
    absorbed,
    disturbance,
)
from stithy.analysis.answers.reactions import IN_A_ROW, KEPT_SHARE
from stithy.metrics import Quantity
from stithy.plan.scenarios.noisy_neighbour import ALONE, LIMIT, NEIGHBOUR
from stithy.point import Point
from stithy.report.blocks import Block, Section, bullets, figures, grid, paragraph
from stithy.report.context import Context
from stithy.report.page import Page
from stithy.report.parts.neighbour import (
    DURATIONS,
    counts,
    durations,
    moments,
    neighbour_said,
    seconds_of_tenants,
)
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import in_table, percent, rate

NAME = "neighbours"
NEEDS = ("tenant_seconds",)
TITLE = "What the neighbour costs the tenants"
P99, P95, TPM = Quantity("p99"), Quantity("p95"), Quantity("tpm")
NOTE = (
    "Each ratio compares the tenants with the neighbour to the same tenants alone, paired by "
    "block, with its interval. Isolation is the share of seconds in which all tenants together "
    f"got at least {percent(KEPT_SHARE)} of their mean throughput alone; “alone” is the same share "
    "in the windows without a neighbour, which is what chance leaves. Of a neighbour that works in "
    "cycles, or rests, only seconds in which it worked count for isolation. Fairness is Jain's "
    "index over the tenants' slowdowns. Work adds the tenants' throughput ratio and the "
    "neighbour's achieved share of what it asked for: 2 means that neither lost anything; it is "
    "not known of a neighbour that works as fast as it can. A saturated neighbour achieved less "
    "than 95% of its rate; a limited one was held back by `limit`."
)
FELT = (
    "Onset is the time from the begin of a cycle, or of the work after a rest, to the first of "
    f"{IN_A_ROW} seconds in a row in which the tenants got less than {percent(KEPT_SHARE)} of what "
    "they have alone; settling is that from its end to the first of as many in which they got it "
    "again. Both are medians of the cycles that were felt, in whole seconds; 0 is within the "
    "first. A cycle that is cut by the end of a window counts neither as done nor as failed."
)


Found = tuple[Disturbance, ...]


def _found(context: Context) -> Found:
    """Each candidate at each rate of the neighbour."""
    evidence, tenants = context.evidence, seconds_of_tenants(context)
    seconds, when = counts(tenants), moments(context, tenants)
    return tuple(
        disturbance(evidence, seconds, name, point, point.replaced(NEIGHBOUR, ALONE),
                    (P99, P95, TPM), when)
        for point in evidence.points
        if point.values.get(NEIGHBOUR, ALONE) != ALONE
        for name in evidence.candidates
    )  # fmt: skip


def tables(page: Page) -> Iterator[PageTable]:
    """A row for each candidate at each point with a neighbour."""
    context = page.context
    rows = [_row(context, each) for each in _found(context)]
    others = [each for each in context.factors if each != NEIGHBOUR]
    numbers = {
        "neighbour": pl.String, "asked": pl.Float64, "achieved": pl.Float64, "state": pl.String,
        **{f"{key}{end}": pl.Float64 for key in ("p99", "p95", "goodput") for end in _ENDS},
        **dict.fromkeys(("worked", "isolation", "alone", "first", "fairness", "work"), pl.Float64),
        "cycles": pl.Int64, "felt": pl.Int64, "onset": pl.Float64, "settling": pl.Float64,
    }  # fmt: skip
    types: dict[str, Any] = dict.fromkeys((*others, "candidate"), pl.String) | numbers
    frame = pl.DataFrame(rows, schema=types)
    yield PageTable(
        NAME, TITLE, tuple(each for each in _shows(others) if frame[each.column].count()), frame
    )
    yield durations(context)


_ENDS = ("", "_low", "_high")


def _shows(others: list[str]) -> Iterator[Show]:
    yield from (Show(each, each) for each in others)
    yield Show("candidate", "Candidate")
    yield Show("neighbour", "Neighbour")
    yield Show("asked", "Asked (1/s)", "rate")
    yield Show("achieved", "Achieved (1/s)", "rate")
    yield Show("state", "State")
    for key, name in (("p99", "p99"), ("p95", "p95"), ("goodput", "Throughput")):
        yield Show(key, f"{name} ratio", "ratio")
        yield Show(f"{key}_low", "from", "ratio")
        yield Show(f"{key}_high", "to", "ratio")
    yield Show("worked", "Under neighbour", "share")
    yield Show("isolation", "Isolation", "share")
    yield Show("alone", "alone", "share")
    yield Show("first", "1st percentile", "share")
    yield Show("fairness", "Fairness", "ratio")
    yield Show("work", "Work", "ratio")
    yield Show("cycles", "Cycles", "count")
    yield Show("felt", "felt", "count")
    yield Show("onset", "Onset", "duration")
    yield Show("settling", "Settling", "duration")


def _row(context: Context, each: Disturbance) -> dict[str, Any]:
    state = "saturated" if each.saturated else "limited" if each.limited else None
    values = context.factor_values(each.point)
    row: dict[str, Any] = {
        **{key: value for key, value in values.items() if key != NEIGHBOUR},
        "candidate": each.candidate, "neighbour": neighbour_said(context, each.point),
        "asked": each.asked, "achieved": each.achieved, "state": state, "worked": each.worked,
        "isolation": each.isolation, "alone": each.alone_isolation,
        "first": each.first_percentile, "fairness": each.fairness, "work": each.work,
    }  # fmt: skip
    if (felt := each.felt) is not None:
        row |= {"cycles": felt.cycles, "felt": felt.felt, "onset": felt.onset_s,
                "settling": felt.settling_s}  # fmt: skip
    for key, quantity in (("p99", P99), ("p95", P95), ("goodput", TPM)):
        effect = each.growth[quantity]
        row |= {key: effect.ratio, f"{key}_low": effect.low, f"{key}_high": effect.high}
    return row


def sections(page: Page) -> Iterator[Section]:
    """Where tenants were measured with a neighbour."""
    found = _found(page.context)
    if found:
        yield Section(NAME, 12, TITLE, tuple(_blocks(page, found)))


def _blocks(page: Page, found: Found) -> Iterator[Block]:
    context = page.context
    said = (
        *_headlines(context, found), *_verdicts(context, found), *_held_back(context, found),
        *_bought(context, found),
    )  # fmt: skip
    yield from bullets(said, "findings", "Findings")
    yield from figures(page.drawn_in(NAME))
    yield from grid(page.tables[NAME])
    if not page.tables[DURATIONS].frame.is_empty():
        yield from grid(page.tables[DURATIONS])
    missing = _missing(found)
    cycles = FELT if any(each.felt for each in found) else None
    yield from paragraph(NOTE, cycles, missing, style="note")


def _tail(found: Found) -> Quantity:
    """The 99th percentile where it is known anywhere, else the 95th."""
    return P99 if any(each.growth[P99].ratio is not None for each in found) else P95


def _missing(found: Found) -> str | None:
    effects = [each.growth[P99] for each in found]
    because = next((each.missing_because for each in effects if each.ratio is None), None)
    return f"The 99th percentile is missing in part: {because}." if because else None


def _headlines(context: Context, found: Found) -> Iterator[str]:
    """The largest neighbour that each candidate bears, at each setting of what else varies."""
    tail = _tail(found)
    rule = (
        f"isolation at least {percent(ISOLATED_SHARE)} and {tail} at most "
        f"{GROWTH_MOST:g} times as long, by the upper end of its interval"
    )
    for others, name in dict.fromkeys((_others(each.point), each.candidate) for each in found):
        mine = [each for each in found if (_others(each.point), each.candidate) == (others, name)]
        judged = [(each, each.bearable(tail)) for each in mine]
        borne = [each for each, bears in judged if bears]
        who = f"{name} ({_settings(context, mine[0].point)})" if _several(context) else name
        if borne:
            most = neighbour_said(context, max(borne, key=_load).point)
            yield f"{who} bears a neighbour of {most} ({rule})."
        elif all(bears is False for _, bears in judged):
            least = neighbour_said(context, min(mine, key=_load).point)
            yield f"{who} bears none of the measured neighbours, not even {least} ({rule})."
        else:
            yield f"Which neighbour {who} bears is not decided: an interval is missing ({rule})."


def _held_back(context: Context, found: Found) -> Iterator[str]:
    """Neighbours that did less than they were asked to, by the storage or by their guard."""
    for each in found:
        why = "was saturated" if each.saturated else "was held back by `limit`"
        if not (each.saturated or each.limited) or each.achieved is None:
            continue
        others = f" ({_settings(context, each.point)})" if _several(context) else ""
        of = "" if each.asked is None else f" of {rate(each.asked)}"
        yield (
            f"On {each.candidate}{others} the neighbour of {neighbour_said(context, each.point)} "
            f"{why}: it achieved {rate(each.achieved)}{of} per second."
        )


def _bought(context: Context, found: Found) -> Iterator[str]:
    """What each of several limits buys the tenants, and costs the neighbour."""
    if LIMIT not in context.factors:
        return
    tail, groups = _tail(found), dict[tuple[str, Point], list[Disturbance]]()
    for each in found:
        groups.setdefault((each.candidate, each.point.replaced(LIMIT, 0)), []).append(each)
    for (name, _), several in groups.items():
        parts = [
            f"with a limit of {each.point.values[LIMIT]} {tail} is {in_table(ratio)} times as long"
            + (
                ""
                if each.achieved is None
                else f" and it achieves {rate(each.achieved)} per second"
            )
            for each in several
            if (ratio := each.growth[tail].ratio) is not None
        ]
        if len(parts) > 1:
            neighbour = neighbour_said(context, several[0].point)
            yield f"Beside a neighbour of {neighbour} on {name}, {'; '.join(parts)}."


def _load(each: Disturbance) -> float:
    return float(each.point.values[NEIGHBOUR])


def _others(point: Point) -> Point:
    return point.replaced(NEIGHBOUR, ALONE)


def _several(context: Context) -> bool:
    """Whether more than the neighbour tells points apart."""
    return any(each != NEIGHBOUR for each in context.factors)


def _settings(context: Context, point: Point) -> str:
    values = context.factor_values(point)
    return ", ".join(f"{name} {value}" for name, value in values.items() if name != NEIGHBOUR)


def _verdicts(context: Context, found: Found) -> Iterator[str]:
    """Which candidate absorbs the neighbour better, at each point."""
    evidence, tail = context.evidence, _tail(found)
    for point in dict.fromkeys(each.point for each in found):
        alone = point.replaced(NEIGHBOUR, ALONE)
        for a, b in combinations(evidence.candidates, 2):
            effect = absorbed(evidence, a, b, point, alone, tail)
            at = f"With a neighbour of {neighbour_said(context, point)}"
            at += f" ({_settings(context, point)})" if _several(context) else ""
            if effect.ratio is None:
                yield f"{at}, {a} and {b} are not compared: {effect.missing_because}."
                continue
            better, worse = (b, a) if effect.ratio < 1 else (a, b)
            ends = (effect.ratio, effect.low, effect.high)
            turned = [each if effect.ratio >= 1 or each is None else 1 / each for each in ends]
            size, *bounds = turned
            known = sorted(each for each in bounds if each is not None)
            shown = f" ({in_table(known[0])} to {in_table(known[1])})" if known else ""
            if effect.distinguishable:
                yield (
                    f"{at}, {better} absorbs the neighbour better than {worse} by a factor of "
                    f"{in_table(size or 1)}{shown}, in the growth of {tail}."
                )
            else:
                yield (
                    f"{at}, it is undecided whether {a} or {b} absorbs it better: {tail} grows "
                    f"{in_table(size or 1)} times as much on {worse}{shown}."
                )
