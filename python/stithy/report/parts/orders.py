"""In which order the candidates of a comparison had their windows, and what the position did."""

from typing import Any

import polars as pl

from stithy.analysis.answers.comparisons import Compared, comparisons
from stithy.analysis.answers.findings import question
from stithy.analysis.verdict.position import EACH_ORDER_LEAST, Position, position_effect
from stithy.report.context import Context
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import finely

NAMED_MOST = 8
"""Own: so many blocks are listed in the sentence; of more the table has the orders."""


def table(context: Context) -> PageTable:
    """A row for each comparison that has more than one block; empty where nothing is compared."""
    found: tuple[Compared, ...] = ()
    if not context.evidence.asked.by_search:
        found = comparisons(context.evidence, question(context.evidence))
    shows = (
        Show("pair", "Compared"), Show("metric", "By"),
        Show("users", f"{context.level_unit.capitalize()}s", "count"),
        Show("first", "Blocks in which each came first"),
        Show("value", "Later ÷ earlier window", "fine ratio"),
        Show("low", "from", "fine ratio"), Show("high", "to (95 %)", "fine ratio"),
        Show("visible", "Effect visible", "truth"),
    )  # fmt: skip
    schema: dict[str, Any] = {
        "users": pl.Int64, "a": pl.String, "b": pl.String, "pair": pl.String, "metric": pl.String,
        "first": pl.String, "order": pl.String, "value": pl.Float64, "low": pl.Float64,
        "high": pl.Float64, "visible": pl.Boolean,
    }  # fmt: skip
    rows = [_row(each) for each in found if each.effect.pairs > 1]
    caption = "Order of the candidates, and effect of position within blocks"
    return PageTable("orders", caption, shows, pl.DataFrame(rows, schema=schema))


def _row(each: Compared) -> dict[str, Any]:
    known = _position(each)
    return {
        "users": each.users, "a": each.a, "b": each.b, "pair": f"{each.b} ÷ {each.a}",
        "metric": each.metric.label, "first": _counts(each, known), "order": _order(each),
        "value": known.ratio, "low": known.low, "high": known.high, "visible": known.visible,
    }  # fmt: skip


def _position(each: Compared) -> Position:
    return position_effect(each.effect.logs, each.effect.b_later)


def _counts(each: Compared, known: Position) -> str:
    return f"{each.a} {known.a_first}, {each.b} {len(known.b_later) - known.a_first}"


def _order(each: Compared) -> str:
    """Who came first, block by block."""
    return ", ".join(each.a if later else each.b for later in each.effect.b_later)


def sentence(context: Context) -> str | None:
    """The order of the comparison that answers the question, and whether the position mattered."""
    answer = None if context.evidence.asked.by_search else question(context.evidence)
    if answer is None or answer.effect.pairs < 2:
        return None
    known = _position(answer)
    return f"{_came_first(answer, known)} {_told(answer, known)}"


def _came_first(answer: Compared, known: Position) -> str:
    blocks = len(known.b_later)
    text = f"{answer.a} came first in {known.a_first} of {blocks} valid blocks"
    return f"{text} ({_order(answer)})." if blocks <= NAMED_MOST else f"{text}."


def _told(answer: Compared, known: Position) -> str:
    if known.ratio is None or known.low is None or known.high is None:
        return (
            "Whether the position in a block matters is not tested: that takes "
            f"{EACH_ORDER_LEAST} blocks of each order."
        )
    measured = (
        f"By {answer.metric.noun} the later window of a block was {finely(known.ratio)} times the "
        f"earlier one (95 % interval {finely(known.low)} to {finely(known.high)})"
    )
    if not known.visible:
        return f"{measured}: no effect of position is visible."
    if known.balanced:
        return (
            f"{measured}: the position in a block matters. It favours neither candidate, because "
            "each came first equally often, but it widens the interval of the verdict."
        )
    return (
        f"{measured}: the position in a block matters. The candidates did not come first equally "
        "often, so a part of their difference is due to it."
    )
