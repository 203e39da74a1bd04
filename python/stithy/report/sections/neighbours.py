"""What tenants lose to a neighbour on the same storage, and which candidate absorbs it better."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import polars as pl

from stithy.analysis.answers.neighbours import (
    GROWTH_MOST,
    ISOLATED_SHARE,
    KEPT_SHARE,
    Disturbance,
    absorbed,
    disturbance,
)
from stithy.analysis.evidence import Evidence
from stithy.metrics import Quantity
from stithy.plan.scenarios.noisy_neighbour import ALONE, NEIGHBOUR
from stithy.report.blocks import Block, Section, bullets, figures, grid, paragraph
from stithy.report.context import Context
from stithy.report.page import Page
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import count, in_table, percent

NAME = "neighbours"
NEEDS = ("tenant_seconds",)
TITLE = "What the neighbour costs the tenants"
P99, P95, TPM = Quantity("p99"), Quantity("p95"), Quantity("tpm")
NOTE = (
    "Each ratio compares the tenants with the neighbour to the same tenants alone, paired by "
    "block, with its interval. Isolation is the share of seconds in which all tenants together "
    f"got at least {percent(KEPT_SHARE)} of their mean throughput alone; “alone” is the same share "
    "in the windows without a neighbour, which is what chance leaves. Fairness is Jain's index "
    "over the tenants' slowdowns. Work adds the tenants' throughput ratio and the neighbour's "
    "achieved share of what it asked for: 2 means that neither lost anything. A saturated "
    "neighbour achieved less than 95% of its rate; a limited one was held back by `limit`."
)


Found = tuple[Disturbance, ...]


def _seconds(context: Context) -> dict[str, dict[str, list[int]]]:
    """By window and tenant, its transactions in each second of the measurement."""
    found: dict[str, dict[str, list[int]]] = {}
    for name in context.run.window["window_id"]:
        for row in context.run.detail("tenant_seconds", name).to_dicts():
            if row["phase"] == "measure":
                mine = found.setdefault(name, {}).setdefault(row["tenant"], [])
                mine.append(row["completed"])
    return found


def _found(context: Context) -> Found:
    """Each candidate at each rate of the neighbour."""
    evidence, seconds = context.evidence, _seconds(context)
    return tuple(
        disturbance(evidence, seconds, name, point, point.replaced(NEIGHBOUR, ALONE),
                    (P99, P95, TPM))
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
        "asked": pl.Float64, "achieved": pl.Float64, "state": pl.String,
        **{f"{key}{end}": pl.Float64 for key in ("p99", "p95", "goodput") for end in _ENDS},
        **dict.fromkeys(("isolation", "alone", "first", "fairness", "work"), pl.Float64),
    }  # fmt: skip
    types: dict[str, Any] = dict.fromkeys((*others, "candidate"), pl.String) | numbers
    frame = pl.DataFrame(rows, schema=types)
    yield PageTable(
        NAME, TITLE, tuple(each for each in _shows(others) if frame[each.column].count()), frame
    )


_ENDS = ("", "_low", "_high")


def _shows(others: list[str]) -> Iterator[Show]:
    yield from (Show(each, each) for each in others)
    yield Show("candidate", "Candidate")
    yield Show("asked", "Asked (1/s)", "count")
    yield Show("achieved", "Achieved (1/s)", "count")
    yield Show("state", "State")
    for key, name in (("p99", "p99"), ("p95", "p95"), ("goodput", "Throughput")):
        yield Show(key, f"{name} ratio", "ratio")
        yield Show(f"{key}_low", "from", "ratio")
        yield Show(f"{key}_high", "to", "ratio")
    yield Show("isolation", "Isolation", "share")
    yield Show("alone", "alone", "share")
    yield Show("first", "1st percentile", "share")
    yield Show("fairness", "Fairness", "ratio")
    yield Show("work", "Work", "ratio")


def _row(context: Context, each: Disturbance) -> dict[str, Any]:
    state = "saturated" if each.saturated else "limited" if each.limited else None
    values = context.factor_values(each.point)
    row: dict[str, Any] = {
        **{key: value for key, value in values.items() if key != NEIGHBOUR},
        "candidate": each.candidate, "asked": each.asked, "achieved": each.achieved,
        "state": state, "isolation": each.isolation, "alone": each.alone_isolation,
        "first": each.first_percentile, "fairness": each.fairness, "work": each.work,
    }  # fmt: skip
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
    evidence = page.context.evidence
    yield from bullets((*_headlines(found), *_verdicts(evidence, found)), "findings", "Findings")
    yield from figures(page.drawn_in(NAME))
    yield from grid(page.tables[NAME])
    missing = _missing(found)
    yield from paragraph(NOTE, missing, style="note")


def _tail(found: Found) -> Quantity:
    """The 99th percentile where it is known anywhere, else the 95th."""
    return P99 if any(each.growth[P99].ratio is not None for each in found) else P95


def _missing(found: Found) -> str | None:
    effects = [each.growth[P99] for each in found]
    because = next((each.missing_because for each in effects if each.ratio is None), None)
    return f"The 99th percentile is missing in part: {because}." if because else None


def _headlines(found: Found) -> Iterator[str]:
    """The largest neighbour that each candidate bears."""
    tail = _tail(found)
    rule = (
        f"isolation at least {percent(ISOLATED_SHARE)} and {tail} at most "
        f"{GROWTH_MOST:g} times as long, by the upper end of its interval"
    )
    for name in dict.fromkeys(each.candidate for each in found):
        mine = [each for each in found if each.candidate == name]
        judged = [(each, each.bearable(tail)) for each in mine]
        borne = [each.asked or 0.0 for each, bears in judged if bears]
        if borne:
            yield f"{name} bears a neighbour of {count(max(borne))} requests per second ({rule})."
        elif all(bears is False for _, bears in judged):
            least = min((each.asked or 0.0 for each in mine), default=0.0)
            yield (
                f"{name} bears none of the measured neighbours, not even {count(least)} requests "
                f"per second ({rule})."
            )
        else:
            yield f"Which neighbour {name} bears is not decided: an interval is missing ({rule})."


def _verdicts(evidence: Evidence, found: Found) -> Iterator[str]:
    """Which candidate absorbs the neighbour better, at each point."""
    tail = _tail(found)
    for point in dict.fromkeys(each.point for each in found):
        alone = point.replaced(NEIGHBOUR, ALONE)
        for a, b in combinations(evidence.candidates, 2):
            effect = absorbed(evidence, a, b, point, alone, tail)
            at = f"With a neighbour of {count(float(point.values[NEIGHBOUR]))} requests per second"
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
