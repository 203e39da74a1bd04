"""How sure the answer is: the verdicts, the order of the candidates, reasons against windows."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import polars as pl

from stithy.analysis.analyze import Analysis
from stithy.analysis.comparisons import ComparedPair, count_pairs, list_comparisons
from stithy.analysis.decision import DecisionStatus
from stithy.analysis.effect import EACH_ORDER_LEAST, Position, estimate_position_effect
from stithy.analysis.findings import answer_question
from stithy.analysis.statistics import CAUTION, INTERIM_BLOCKS
from stithy.analysis.verdict import Call, Next, cross_check
from stithy.metrics import Quantity, parse_quantity
from stithy.report import tables, validity
from stithy.report.blocks import (
    APPENDIX,
    Block,
    Grid,
    SectionKind,
    set_figures,
    set_grid,
    set_paragraph,
)
from stithy.report.context import Context, add_words
from stithy.report.findings import describe_all
from stithy.report.page import Page
from stithy.report.tables import Bounded, PageTable, Show, make_effect_table
from stithy.report.words import loads
from stithy.report.words.wording import (
    CONSERVATIVE,
    T_INTERVAL,
    format_exactly,
    format_finely,
    format_plural,
    format_quantity,
    format_signed,
)
from stithy.results.manifest import QuestionFacts
from stithy.statements import Statement, Styled, join_list, join_parts
from stithy.units import MINUS

VERDICTS_OPEN_MAX = 12
"""More verdicts are folded on the page."""


def _make_certainty_tables(page: Page) -> Iterator[PageTable]:
    yield from make_verdict_tables(page.context)
    yield make_order_table(page.context)
    yield validity.make_reasons_table(page.context)
    yield validity.make_reason_values_table(page.context)
    yield validity.make_gathered_table(page.context)


def _set_certainty(page: Page) -> Iterator[Block]:
    context = page.context
    if not page.tables["verdicts"].frame.is_empty():
        yield from _set_verdicts(page)
    yield from set_figures(page.find_drawn("certainty"))
    yield from set_paragraph(validity.describe_lost(context))
    yield from set_paragraph(order_sentence(context))
    yield from set_paragraph(*loads.describe_short_windows(context.load))
    if page.tables["reasons"].frame.is_empty():
        yield from set_paragraph("All windows are valid, and none has a note.")
    else:
        yield Grid(page.tables["reasons-gathered"], "reasons")


def _set_verdicts(page: Page) -> Iterator[Block]:
    rule = write_verdict_rule(page.context)
    yield from set_paragraph(
        describe_question(page.context),
        Statement(
            "The verdict follows from the conservative 95 % interval of the {effect}. It is better "
            "or worse if the interval excludes {none}, and equivalent if the interval lies within "
            "{margin} of {none}. Otherwise it is undecided. The appendix describes the method and "
            "its cross-checks.", **rule,
        ),
    )  # fmt: skip
    yield from set_grid(page.tables["verdicts"], rows_open=VERDICTS_OPEN_MAX)


def _set_statistics(page: Page) -> Iterator[Block]:
    if page.tables["verdicts"].frame.is_empty():
        return
    rule = write_verdict_rule(page.context)
    yield from set_paragraph(
        Statement(
            "The verdict follows from the interval of the mean {of} over the blocks. It is better "
            "or worse if the interval excludes {none}, and equivalent if the interval lies within "
            "a margin of {margin} around {none}. If both hold, the difference is negligible. If "
            "neither holds, the verdict is undecided.", **rule,
        ),
        Statement(
            "Interim analyses take place at {interim_blocks} blocks. Their conservative 95 % "
            "intervals are wide enough for all analyses together. In simulations of equal "
            "candidates, at most 5 of 100 studies claim a difference, and 7 if neighbouring blocks "
            "are slightly correlated. With a candidate that has rare long stalls, wrong claims are "
            "more frequent.", **rule,
        ),
        Statement(
            "A single interval contains the true {effect} in 99.4 of 100 studies with normal "
            "noise, and in more from six blocks on. The narrower plain interval is in the data. "
            "Before the first interim analysis there is no verdict, only a plain t interval, which "
            "is valid for a single analysis.", **rule,
        ),
    )  # fmt: skip
    pairs, choice = count_pairs(page.context.evidence), ""
    if pairs > 1:
        choice = (
            f": that of the two candidates farthest apart. They were chosen from {pairs} pairs "
            "after the measurement, so the test is adjusted for the number of pairs (Bonferroni)"
        )
    yield from set_paragraph(
        f"One comparison answers the question{choice}.",
        "All other comparisons are exploratory. They are adjusted for the number of levels of a "
        "pair and metric (Holm), but not for the number of pairs and metrics. A difference that "
        "the adjusted test does not support is not claimed: the verdict is undecided, or "
        "equivalent if the interval lies within the margin.",
    )
    yield from set_grid(page.tables["orders"])
    if not page.tables["certainty"].frame.is_empty():
        yield from _set_cross_checks(page, rule["caution"])


def _set_cross_checks(page: Page, caution: str) -> Iterator[Block]:
    yield from set_paragraph(
        "The lag-1 correlation is that of neighbouring blocks. Every interval is widened by a "
        f"factor of {caution}, and by more if this correlation is large.",
        '"p-value, at most" is an upper bound: how often the same analyses show at least this '
        "difference if the candidates are equal, adjusted as above. Above 5 %, no difference is "
        "claimed.",
        "The other columns decide nothing. The random-sign test assumes noise that is equally "
        "likely with either sign. Its p-value is at least 2/2ⁿ with n blocks. The bootstrap "
        "resamples the blocks; with few blocks it is too narrow. The last column assumes that mean "
        "and spread stay as they are.",
    )
    yield from set_grid(page.tables["certainty"])


ONE_SIDED = {Call.BETTER, Call.WORSE, Call.HIGHER, Call.LOWER}
"""The calls that are said of one candidate."""

PLAIN = ("plain_low", "plain_high")
"""The ends of the plain interval, for who wants it; the one that decides is wider."""


def make_verdict_tables(context: Context) -> tuple[PageTable, PageTable]:
    """The verdicts, and what else their blocks tell.

    Both are empty with a single candidate, and where a search alone chose the levels.
    """
    found = _list_compared(context)
    return _make_verdicts(context, found), _list_checks(context, found)


def _list_compared(context: Context) -> tuple[ComparedPair, ...]:
    by_search, evidence = context.evidence.primary.by_search, context.evidence
    return () if by_search else list_comparisons(evidence, answer_question(evidence))


def write_verdict_rule(context: Context) -> dict[str, Any]:
    """The values of the rule as the page says them."""
    asked = context.evidence.primary
    least, most = asked.metric.known.negligible, asked.blocks_most
    # Those that the study may come to, and its limit; of a study without a question all.
    interims = [
        *(blocks for blocks in INTERIM_BLOCKS if blocks < most),
        max(most, INTERIM_BLOCKS[0]),
    ]
    return {
        "effect": "ratio" if least is None else "difference",
        "of": "log ratio" if least is None else "difference",
        "none": "1" if least is None else "0",
        "margin": _format_margin(asked.metric, asked.margin_share),
        "interim_blocks": join_list(
            [Statement("{interim}", interim=blocks) for blocks in interims]
        ),
        "caution": f"{CAUTION:g}",
    }


def _make_verdicts(context: Context, found: tuple[ComparedPair, ...]) -> PageTable:
    rows = [
        {
            **_name_pair(context, each), **tables.make_effect_cells(each.metric, each.effect),
            **dict(zip(PLAIN, each.effect.plain_bounds or (None, None), strict=True)),
            "blocks": each.effect.pairs,
            "interval": "none" if each.effect.low is None
            else f"plain {T_INTERVAL}" if each.effect.plain else CONSERVATIVE,
            "verdict": _describe_verdict(each),
            "because": each.effect.missing_because or each.verdict.because,
        }
        for each in found
    ]  # fmt: skip
    shows = (
        *_list_shows(context), Show("value", "Ratio", "fine ratio"),
        Show("low", "from", "fine ratio"),
        Show("high", "to", "fine ratio"), *tables.list_difference_columns(rows),
        Show("blocks", "Blocks", "count"), Show("interval", "Interval"), Show("verdict", "Verdict"),
        Show("because", "Why open"),
    )  # fmt: skip
    types = {**_NAMED, **dict.fromkeys(PLAIN, pl.Float64)}
    return make_effect_table("verdicts", "Verdicts", shows, rows, **types)


def _list_checks(context: Context, found: tuple[ComparedPair, ...]) -> PageTable:
    seed = context.manifest.seed if context.manifest else 0
    rows = []
    for each in found:
        if each.effect.pairs > 1:
            checks = cross_check(
                each.effect.apart, seed, each.verdict.margin_share, decided=each.verdict.decided,
                negligible=each.verdict.negligible,
            )  # fmt: skip
            of = Bounded(each.effect.value, checks.low, checks.high, each.effect.is_difference)
            bootstrap = tables.make_effect_cells(each.metric, of)
            del bootstrap["value"]
            rows.append({
                **_name_pair(context, each), "lag_1": checks.lag_1, "widened": checks.widened,
                "sign_flip_share": checks.sign_flip_share, "chance_share": each.chance_share,
                "bootstrap_low": bootstrap.pop("low"), "bootstrap_high": bootstrap.pop("high"),
                **bootstrap, "blocks_needed": checks.blocks_needed,
            })  # fmt: skip
    shows = (
        *_list_shows(context), Show("lag_1", "Lag-1 correlation", "correlation"),
        Show("widened", "Interval widened by", "ratio"),
        Show("chance_share", "p-value, at most", "chance"),
        Show("sign_flip_share", "p-value, random signs", "chance"),
        Show("bootstrap_low", "Bootstrap from", "fine ratio"),
        Show("bootstrap_high", "to", "fine ratio"),
        *tables.list_difference_columns(rows, "Difference, bootstrap"),
        Show("blocks_needed", "Blocks to decide", "count"),
    )  # fmt: skip
    return make_effect_table("certainty", "Cross-checks of the verdicts", shows, rows, **_NAMED)


_NAMED: dict[str, Any] = dict.fromkeys(("a", "b"), pl.String)


def _name_pair(context: Context, each: ComparedPair) -> dict[str, Any]:
    return {
        **context.list_factor_values(each.point), "a": each.a, "b": each.b,
        "pair": f"{each.b} {MINUS if each.effect.is_difference else '÷'} {each.a}",
        "metric": each.metric.label,
    }  # fmt: skip


def _list_shows(context: Context) -> tuple[Show, ...]:
    return Show("pair", "Compared"), Show("metric", "By"), *context.factor_shows


def _describe_verdict(each: ComparedPair) -> str:
    call = each.verdict.call.value if each.effect.low is not None else "not tested"
    text = f"{each.b} {call}" if each.verdict.call in ONE_SIDED else call
    return f"{text} (the question)" if each.primary else text


NAMED_MOST = 8
"""Own: so many blocks are listed in the sentence; of more the table has the orders."""


def make_order_table(context: Context) -> PageTable:
    """A row for each comparison that has more than one block; empty where nothing is compared."""
    rows = [_make_row(context, each) for each in _list_compared(context) if each.effect.pairs > 1]
    shows = (
        Show("pair", "Compared"), Show("metric", "By"),
        *context.factor_shows,
        Show("first", "Blocks in which each came first"),
        Show("value", "Later ÷ earlier window", "fine ratio"),
        Show("low", "from", "fine ratio"), Show("high", "to (95 %)", "fine ratio"),
        *tables.list_difference_columns(rows, f"Later {MINUS} earlier window"),
        Show("visible", "Effect visible", "truth"),
    )  # fmt: skip
    caption = "Order of the candidates, and effect of position within blocks"
    return make_effect_table("orders", caption, shows, rows, **_NAMED, order=pl.String)


def _make_row(context: Context, each: ComparedPair) -> dict[str, Any]:
    known = _estimate_position(each)
    first = Statement(
        "{a} {a_ahead}, {b} {b_ahead}", a=each.a, b=each.b, a_ahead=known.a_first,
        b_ahead=len(known.b_later) - known.a_first,
    )  # fmt: skip
    return {
        **_name_pair(context, each), "first": first, "order": _list_orders(each),
        **tables.make_effect_cells(each.metric, known), "visible": known.visible,
    }  # fmt: skip


def _estimate_position(each: ComparedPair) -> Position:
    effect = each.effect
    return estimate_position_effect(
        effect.apart, effect.b_later, is_difference=effect.is_difference
    )


def _list_orders(each: ComparedPair) -> str:
    return ", ".join(each.a if later else each.b for later in each.effect.b_later)


def order_sentence(context: Context) -> str | None:
    """The order of the comparison that answers the question, and whether the position mattered."""
    answer = None if context.evidence.primary.by_search else answer_question(context.evidence)
    if answer is None or answer.effect.pairs < 2:
        return None
    known = _estimate_position(answer)
    blocks = len(known.b_later)
    orders = f" ({_list_orders(answer)})" if blocks <= NAMED_MOST else ""
    first = Statement(
        "{a} came first in {a_first} of {blocks_valid} valid blocks{orders}.",
        a=answer.a, a_first=known.a_first, blocks_valid=blocks, orders=orders,
    )  # fmt: skip
    return join_parts([first, _describe_position(answer, known)], " ")


def _describe_position(answer: ComparedPair, known: Position) -> str:
    if known.value is None or known.low is None or known.high is None:
        return Statement(
            "The effect of position in a block is not tested: the test needs {each_order} blocks "
            "of each order.", each_order=EACH_ORDER_LEAST,
        )  # fmt: skip
    shown = partial(format_signed, answer.metric) if known.is_difference else format_finely
    how = "different from" if known.is_difference else "times"
    found = "The position in a block matters. "
    if not known.visible:
        found = "No effect of position was found."
    elif known.balanced:
        found += (
            "It favours neither candidate, because each came first equally often. But it widens "
            "the interval of the verdict."
        )
    else:
        found += (
            "The candidates did not come first equally often, so a part of their difference comes "
            "from the position."
        )
    return Statement(
        "In {noun} the later window of a block was {later} {how} the earlier one (95 % interval "
        "{later_low} to {later_high}). {found}",
        noun=answer.metric.noun, how=how, found=found,
        later=Styled(known.value, shown(known.value)),
        later_low=Styled(known.low, shown(known.low)),
        later_high=Styled(known.high, shown(known.high)),
    )  # fmt: skip


def describe_status(analysis: Analysis, status: DecisionStatus) -> str:
    """Say where the question of a run that was analyzed stands."""
    return state_sentence(add_words(analysis), status)


def state_sentence(context: Context, stands: DecisionStatus) -> str:
    """Where the question stands, in a sentence or two; with a forecast while it is undecided."""
    if stands.compared is None:
        return f"No block answers the question yet{_explain_undecided(context)}."
    said = describe_all(context.answers[:1], context.level_unit)[0]
    if stands.progress.step is not Next.ANOTHER_BLOCK or stands.blocks < 2:
        return said
    ahead = f"{stands.blocks_needed} may decide it"
    if stands.blocks_needed is None:
        most = format_plural(context.evidence.primary.blocks_most, "block")
        ahead = f"{most} will not decide it"
    return f"{said} If blocks continue to vary like this, {ahead}."


def _explain_undecided(context: Context) -> str:
    """What is most often wrong at the level of the question: with its windows, else its values."""
    asked = context.evidence.primary.point
    there = [window for window in context.evidence.windows if window.point == asked]
    invalid = [window for window in there if window.failures]
    flags = Counter(flag.value for each in invalid for flag in {*each.failures})
    if not flags:
        evidence = context.evidence
        values = [
            evidence.value_of(window, evidence.primary.metric) for window in there if window.valid
        ]
        because = next(filter(None, (value.missing_because for value in values)), None)
        return f": {because}" if because else ""
    flag, count = flags.most_common(1)[0]
    return Statement(
        ': {invalid} of {there:+window} there {invalid:is|are} invalid, {count} of them with '
        '"{flag}"', invalid=len(invalid), there=len(there), count=count, flag=flag,
    )  # fmt: skip


def describe_question(context: Context) -> str | None:
    """The primary question, and how many blocks it took; None where nothing was compared."""
    facts = context.manifest.plan.question if context.manifest else None
    if facts is None:
        return None
    derived = " (derived: the study names no metric)" if "metric" in facts.derived else ""
    metric, pair = parse_quantity(facts.metric), "the two candidates farthest apart"
    if facts.candidates is not None:
        pair = f"{facts.candidates[1]} with {facts.candidates[0]}"
    return Statement(
        f"The primary question{derived} compares {{pair}} by {{noun}} {{at}}, with a margin of "
        "{margin}. {counted}",
        pair=pair, noun=metric.noun, at=context.at(facts.point),
        counted=_count_blocks(context, facts), margin=_format_margin(metric, facts.margin_share),
    )  # fmt: skip


def _format_margin(metric: Quantity, margin_share: float) -> Styled:
    least = metric.known.negligible
    if least is None:
        return Styled(margin_share, format_exactly(margin_share))
    return Styled(least, format_quantity(metric, least))


def _count_blocks(context: Context, facts: QuestionFacts) -> str:
    at_level = [window for window in context.evidence.windows if window.point == facts.point]
    blocks = len({window.block for window in at_level})
    again = len({window.block for window in at_level if window.attempt})
    plan = (
        "The study fixes the number of blocks at this level"
        if facts.blocks_least == facts.blocks_most
        else "At least {blocks_least} and at most {blocks_most} blocks are measured at this level, "
        "until the question is decided"
    )
    return Statement(
        plan + "; {measured:+block} {measured:was|were} measured"
        + (", {twice} of them twice." if again else "."),
        blocks_least=facts.blocks_least, blocks_most=facts.blocks_most, measured=blocks,
        twice=again,
    )  # fmt: skip


PLUGINS = (
    SectionKind(
        "certainty", 40, "How sure this is", _set_certainty, data=("verdicts", "reasons"),
        make_tables=_make_certainty_tables,
    ),
    SectionKind("statistics", APPENDIX + 120, "How verdicts are made", _set_statistics),
)  # fmt: skip
