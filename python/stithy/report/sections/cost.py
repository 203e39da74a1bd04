"""What the candidates cost: a year, a user within the target, a million transactions."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import altair as alt
import polars as pl

from stithy.analysis.cost import (
    NO_POWER,
    SHARE_VARIED,
    BreakEven,
    CandidateCost,
    Swing,
    YearlyCost,
    compare_prices,
    find_break_even,
    price_candidate,
    rank_inputs,
)
from stithy.power import METERS
from stithy.power import STATED as PROFILED
from stithy.pricing.keys import Pricing
from stithy.report.blocks import (
    Absent,
    Block,
    Drawn,
    SectionKind,
    set_figures,
    set_grid,
    set_paragraph,
)
from stithy.report.context import Context
from stithy.report.drawing import palette
from stithy.report.drawing.chart import NUMBERS, WIDTH, make_x_axis
from stithy.report.drawing.compose import Drawing, Rows, Spec, merge_layers
from stithy.report.page import Page
from stithy.report.tables import PageTable, Show, make_table
from stithy.report.words.wording import (
    explain_missing,
    format_exactly,
    format_factor,
    format_money,
    format_number,
    format_plural,
)
from stithy.statements import Statement, Styled, join_parts
from stithy.units import format_list, format_share

TERMS_MOST = 5


def describe_years(pricing: Pricing, candidates: Iterable[str]) -> Iterator[str]:
    """Say what each candidate costs in a year, with its largest terms, as far as it is stated."""
    for name in candidates:
        yearly = price_candidate(pricing, name)
        if yearly.total is not None:
            yield _describe_year(yearly, pricing.currency)
        elif yearly.missing_because == NO_POWER:
            yield f"{name} has a yearly cost once its power is measured, as its energy has a price."


def _describe_year(yearly: YearlyCost, currency: str) -> str:
    total, terms = yearly.total or 0.0, [term for term in yearly.terms if term.amount]
    parts = [
        Statement(
            "{term} {term_amount} ({term_share:share})", term=term.name,
            term_amount=Styled(term.amount, format_money(term.amount)),
            term_share=term.amount / total,
        )
        for term in terms[:TERMS_MOST]
    ]  # fmt: skip
    if more := terms[TERMS_MOST:]:
        amount = sum(term.amount for term in more)
        parts.append(Statement(
            "{small_terms:+smaller term} {small_amount}", small_terms=len(more),
            small_amount=Styled(amount, format_money(amount)),
        ))  # fmt: skip
    return Statement(
        "{candidate} costs {yearly} {currency} a year{terms}.", candidate=yearly.candidate,
        yearly=Styled(total, format_money(total)), currency=currency,
        terms=Statement(": {parts}", parts=join_parts(parts)) if parts else "",
    )  # fmt: skip


NAME = "cost"
STATED = "Energy is that of stated watts, not measured; that of a transaction is without PUE."
WITHIN = "More users may be within the target, up to the next measured level: a user may cost less."
METERED = (
    "Energy is that of the meters of this run, and of what they see, at the mean of the level. "
    "Idle is the machine before the first window, without a server that Stithy starts: idle hours "
    "with a running database take more. A meter that sees the storage of several candidates counts "
    "all of it in each."
)
UNITS = {"vm": "VM", "tb": "TB"}
OLD_YEARS = 2
"""Prices that are older when a run begins are said to be."""


def _set_cost(page: Page) -> Iterator[Block]:
    context = page.context
    if context.pricing is None:
        return
    for text in describe_costs(context):
        yield from set_paragraph(text)
    yield from set_figures(page.find_drawn(NAME))
    for name in ("costs", "cost-terms", "prices"):
        yield from set_grid(page.tables[name])
    yield from set_paragraph(*list_missing(context), *list_notes(context), style="note")


def list_missing(context: Context) -> Iterator[str]:
    """Say which numbers there are not, and why."""
    lacking = (
        (cost.candidate, format_list([f"{name} ({why})" for name, why in cost.missing.items()]))
        for cost in context.costs
        if cost.missing
    )
    yield from explain_missing((name, f"{text}.") for name, text in lacking)


def describe_costs(context: Context) -> Iterator[str]:
    """Say what each candidate costs, what that makes of a user, and which price would be equal."""
    pricing = context.pricing
    assert pricing is not None  # who asks for sentences has prices
    known = [cost.candidate for cost in context.costs if cost.yearly.total is not None]
    yield from describe_years(pricing, known)
    yield from describe_ratio(context)
    if context.cost_pair is None:
        return
    for cost in context.costs[1:]:
        yield from _describe_even(find_break_even(pricing, context.costs[0], cost),
                                  pricing.currency)  # fmt: skip


def describe_ratio(context: Context) -> Iterator[str]:
    """Say what a user, or else a transaction, costs on one candidate against another."""
    pricing, costs = context.pricing, {cost.candidate: cost for cost in context.costs}
    if pricing is None or context.cost_pair is None:
        return
    first, other = (costs[name] for name in context.cost_pair)
    by, ratio = compare_prices(pricing, first, other)
    if ratio is not None:
        what = "user within the target" if by == "user" else "transaction"
        yield Statement(
            "A {what} costs {cost_ratio} times as much on {other} as on {first}.",
            what=what, cost_ratio=Styled(ratio, format_factor(ratio)), other=other.candidate,
            first=first.candidate,
        )  # fmt: skip


def _describe_even(even: BreakEven, currency: str) -> Iterator[str]:
    if even.factor is None:
        return
    bought = ""
    if even.purchase is not None:
        bought = Statement("; those that are bought then cost {even_purchase} {currency} new",
                           even_purchase=Styled(even.purchase, format_money(even.purchase)),
                           currency=currency)  # fmt: skip
    yield Statement(
        "A {by} would cost the same on {candidate} as on {against} with {even_factor} times the "
        "prices of the items that {candidate} has and {against} has not{bought}.",
        by=even.by, candidate=even.candidate, against=even.against,
        even_factor=Styled(even.factor, format_factor(even.factor)), bought=bought,
    )  # fmt: skip


def list_notes(context: Context) -> Iterator[str]:
    """Say what the sums do not contain, how they were made, and how old the prices are."""
    pricing, manifest = context.pricing, context.manifest
    assert pricing is not None  # as above
    assert manifest is not None  # prices are in one
    for cost in context.costs:
        if cost.yearly.not_stated:
            yield (
                f"Not stated for {cost.candidate}, and in no number: "
                f"{format_list(cost.yearly.not_stated)}."
            )
    way = "straight-line depreciation" if not pricing.interest else (
        f"annuities at {pricing.interest:g} % interest"
    )  # fmt: skip
    yield f"Prices of {pricing.date} in {pricing.currency}: {pricing.source}; {way}."
    for name, item in pricing.items.items():
        if (priced := item.price_list) is not None:
            yield f"Prices of {name}: {priced.title}, {priced.date} ({priced.source})."
    for name, licence in pricing.licences.items():
        yield f"Licence {name}: by the {UNITS.get(licence.per, licence.per)}."
    if any(cost.per_user is not None for cost in context.costs):
        yield WITHIN
    if any(cost.yearly.watts is not None for cost in context.costs):
        yield STATED if pricing.states_watts else METERED
        meters = context.run.detail(METERS.name)
        if not pricing.states_watts and (meters["stated"] & meters["counted"]).any():
            yield PROFILED
    begun = datetime.fromtimestamp(manifest.started_at_s, UTC).date()
    years = (begun - pricing.stated_at).days / 365.25
    if years > OLD_YEARS:
        yield f"Some prices were older than {format_plural(OLD_YEARS, 'year')} when the run began."


def make_cost_tables(page: Page) -> Iterator[PageTable]:
    """Make what each candidate costs, of which terms, and all inputs; empty without prices."""
    context, pricing = page.context, page.context.pricing
    unit = pricing.currency if pricing else "-"
    per = context.evidence.throughput.label
    evens = {
        cost.candidate: find_break_even(pricing, context.costs[0], cost)
        for cost in context.costs[1:]
        if pricing
    }
    shows = (
        Show("candidate", "Candidate"), Show("yearly", f"{unit} a year", "money"),
        Show("within_users", "Users within target", "count"),
        Show("per_user", f"{unit} per user", "money"),
        Show("per_million", f"{unit} per million (by {per})", "money"),
        Show("kwh", "kWh a year", "rate"),
        Show("energy_j", "J per transaction by stated watts", "rate"),
        Show("even_factor", "Equal at prices ×", "ratio"),
        Show("even_purchase", "Equal at a purchase of", "money"),
    )  # fmt: skip
    rows = [_make_row(cost, evens.get(cost.candidate)) for cost in context.costs]
    table = make_table("costs", "What the candidates cost", shows, rows, per_s=pl.Float64,
                       missing_because=pl.String)  # fmt: skip
    yield table.told("candidate")
    yield _make_terms(context.costs, unit)
    inputs = pricing.list_numbers() if pricing else []
    named = [{"input": ".".join(path), "value": value} for path, value in inputs]
    columns = (Show("input", "Input"), Show("value", f"Value ({unit}, %, or as named)", "rate"))
    yield make_table("prices", "All inputs of the cost", columns, named)


def _make_row(cost: CandidateCost, even: BreakEven | None) -> dict[str, Any]:
    missing = dict(cost.missing)
    if even and even.because:
        missing["equal price"] = even.because
    return {
        "candidate": cost.candidate, "yearly": cost.yearly.total, "within_users": cost.users,
        "per_user": cost.per_user, "per_million": cost.per_million, "kwh": cost.yearly.kwh,
        "energy_j": cost.energy_j, "even_factor": even.factor if even else None,
        "even_purchase": even.purchase if even else None, "per_s": cost.per_s,
        "missing_because": "; ".join(f"{key}: {why}" for key, why in missing.items()) or None,
    }  # fmt: skip


def _make_terms(costs: Sequence[CandidateCost], unit: str) -> PageTable:
    rows = [
        {"candidate": cost.candidate, "term": term.name, "amount": term.amount,
         "share": term.amount / cost.yearly.total if cost.yearly.total else None}
        for cost in costs
        for term in cost.yearly.terms
    ]  # fmt: skip
    shows = (
        Show("candidate", "Candidate"), Show("term", "Term"),
        Show("amount", f"{unit} a year", "money"), Show("share", "Share", "share"),
    )  # fmt: skip
    return make_table("cost-terms", "What a yearly cost consists of", shows, rows)


INPUTS_MOST = 12
"""Own: so many inputs are drawn; the table has all."""

BAR, STEP = 12, 24
"""Pixels of a bar, and of its row."""


def _draw_figures(context: Context) -> list[Drawn]:
    """The inputs of the ratio of two candidates, or of one candidate's yearly cost."""
    pricing = context.pricing
    if pricing is None:
        return []
    costs = {cost.candidate: cost for cost in context.costs}
    pair = context.cost_pair
    if pair is not None:
        first, other = (costs[name] for name in pair)
        by, found = compare_prices(pricing, first, other)
        what = f"Yearly cost per {by}, {pair[1]} ÷ {pair[0]}"
        swings = rank_inputs(pricing, lambda varied: compare_prices(varied, first, other)[1])
    else:
        name = context.evidence.candidates[0]
        found, what = price_candidate(pricing, name).total, f"Yearly cost of {name}"
        what += f" ({pricing.currency})"
        swings = rank_inputs(pricing, lambda varied: price_candidate(varied, name).total)
    if found is None or not swings:
        because = "no cost of the candidates can be compared"
        return [Absent("cost-inputs", "which inputs of the cost matter most", because)]
    drawing, drawn, share = Drawing(), swings[:INPUTS_MOST], format_exactly(SHARE_VARIED)
    most = swings[0]
    shown = format_number if pair else format_money
    return [
        drawing.figure(
            context, "cost-inputs",
            f"{what} is {shown(found)}; {most.name} matters most: {shown(most.low)} with "
            f"{format_share(1 - most.low_input / most.value)} less of it, {shown(most.high)} with "
            f"{format_share(most.high_input / most.value - 1)} more",
            _draw_inputs(drawing, drawn, found, what), _make_inputs_table(swings, found, what),
            caption=f"{what} with each input by itself {share} lower (−) and higher (+), the most "
            "important first. The line is the value with all inputs as stated. A PUE stays at 1 at "
            "least, a share at 100 % and a year at its hours at most; left out are more than a "
            "price list sells, a rest above its price, and the load where idle power is not stated."
            + " All inputs are in the data file." * (len(swings) > len(drawn)),
            description="Tornado chart: one bar for each input of the cost, from the answer with "
            "less of it to that with more of it.",
        )
    ]  # fmt: skip


def _draw_inputs(drawing: Drawing, swings: Sequence[Swing], found: float, what: str) -> Spec:
    rows: Rows = [
        {"input": swing.name, "row": row, "base": found, "value": value, "sign": sign,
         "side": "left" if value < found else "right"}
        for row, swing in enumerate(swings)
        for sign, value in (("−", swing.low), ("+", swing.high))
    ]  # fmt: skip
    low = min(min(swing.low, swing.high) for swing in swings)
    high = max(max(swing.low, swing.high) for swing in swings)
    room = 0.08 * (high - low)
    left = round(7 * max(len(swing.name) for swing in swings)) + 16
    x = make_x_axis("value", what, (low - room, high + room), format=NUMBERS, tickCount=6)
    y = alt.Y("row:O", axis=None, scale=alt.Scale(domain=list(range(len(swings)))))
    tips = [
        alt.Tooltip("input:N"), alt.Tooltip("sign:N"),
        alt.Tooltip("value:Q", title=what, format=",.4~g"),
    ]  # fmt: skip
    layers = [
        drawing.mark("bar", [row for row in rows if row["sign"] == sign],
                     {"x": x, "x2": alt.X2("base:Q"), "y": y, "tooltip": tips},
                     color=colour, height=BAR)
        for sign, colour in (("−", palette.MUTED[0]), ("+", palette.MARK[0]))
    ]  # fmt: skip
    for side, align, shift in (("left", "right", -4), ("right", "left", 4)):
        some = [row for row in rows if row["side"] == side and row["value"] != found]
        look: dict[str, Any] = {"align": align, "dx": shift, "baseline": "middle", "fontSize": 12}
        layers += [drawing.mark("text", some, {"x": x, "y": y, "text": alt.Text("sign:N")}, **look,
                                color=palette.INK[0])] if some else []  # fmt: skip
    names = [{"input": swing.name, "row": row} for row, swing in enumerate(swings)]
    look = {"x": -10, "align": "right", "baseline": "middle", "fontSize": 12}
    layers.append(drawing.mark("text", names, {"y": y, "text": alt.Text("input:N")}, **look,
                               color=palette.INK[0]))  # fmt: skip
    layers.append(drawing.mark("rule", [{"value": found}], {"x": x}, color=palette.AXIS[0]))
    return merge_layers(layers, width=WIDTH - left, height=STEP * len(swings))


def _make_inputs_table(swings: Sequence[Swing], found: float, what: str) -> PageTable:
    rows = [
        {"input": swing.name, "value": swing.value, "low_input": swing.low_input,
         "high_input": swing.high_input, "low": swing.low, "stated": found, "high": swing.high}
        for swing in swings
    ]  # fmt: skip
    shows = (
        Show("input", "input"), Show("value", "stated", "rate"),
        Show("low_input", "less", "rate"), Show("high_input", "more", "rate"),
        Show("low", "answer with less", "rate"), Show("stated", "answer", "rate"),
        Show("high", "answer with more", "rate"),
    )  # fmt: skip
    return make_table("cost-inputs", what, shows, rows)


PLUGINS = (
    SectionKind(
        NAME, 28, "What it costs", _set_cost, make_tables=make_cost_tables,
        draw_figures=lambda page: _draw_figures(page.context),
    ),
)  # fmt: skip
