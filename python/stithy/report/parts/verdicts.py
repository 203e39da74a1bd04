"""The tables of verdicts: every comparison with its interval, and how sure it is otherwise."""

from typing import Any

import polars as pl

from stithy.analysis.answers.comparisons import Compared, comparisons
from stithy.analysis.answers.findings import question
from stithy.analysis.verdict.boundaries import CAUTION, LOOKS
from stithy.analysis.verdict.certainty import certainty
from stithy.analysis.verdict.decide import Call
from stithy.report.context import Context
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import CONSERVATIVE, T_INTERVAL, exactly, listing

ONE_SIDED = {Call.BETTER, Call.WORSE, Call.HIGHER, Call.LOWER}
"""The calls that are said of one candidate."""


def tables(context: Context) -> tuple[PageTable, PageTable]:
    """The verdicts, and what else their blocks tell.

    Both are empty with a single candidate, and where a search alone chose the levels.
    """
    if context.evidence.asked.by_search:
        return _verdicts(context, ()), _certainty(context, ())
    found = comparisons(context.evidence, question(context.evidence))
    return _verdicts(context, found), _certainty(context, found)


def rule(context: Context) -> dict[str, str]:
    """The numbers of the rule as the page says them."""
    return {
        "margin": exactly(context.evidence.asked.margin_share),
        "looks": listing([str(blocks) for blocks in _looks(context)]),
        "caution": f"{CAUTION:g}",
    }


def _looks(context: Context) -> tuple[int, ...]:
    """Those that the study may come to, and its limit; of a study without a question all."""
    most = context.evidence.asked.blocks_most
    return (*(blocks for blocks in LOOKS if blocks < most), max(most, LOOKS[0]))


def _verdicts(context: Context, found: tuple[Compared, ...]) -> PageTable:
    rows = [
        {
            **_named(each), "value": each.effect.ratio, "low": each.effect.low,
            "high": each.effect.high, **_plain(each), "blocks": each.effect.pairs,
            "interval": _interval(each), "verdict": _call(each),
            "because": each.effect.missing_because or each.verdict.because,
        }
        for each in found
    ]  # fmt: skip
    shows = (
        *_shows(context), Show("value", "Ratio", "fine ratio"), Show("low", "from", "fine ratio"),
        Show("high", "to", "fine ratio"), Show("blocks", "Blocks", "count"),
        Show("interval", "Interval"), Show("verdict", "Verdict"), Show("because", "Why undecided"),
    )  # fmt: skip
    schema: dict[str, Any] = {
        **_NAMED, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64,
        "plain_low": pl.Float64, "plain_high": pl.Float64, "blocks": pl.Int64,
        "interval": pl.String, "verdict": pl.String, "because": pl.String,
    }  # fmt: skip
    return PageTable("verdicts", "Verdicts", shows, pl.DataFrame(rows, schema=schema))


def _certainty(context: Context, found: tuple[Compared, ...]) -> PageTable:
    """The cross-checks of the comparisons that have more than one block."""
    seed = context.manifest.seed if context.manifest else 0
    rows = []
    for each in found:
        if each.effect.pairs > 1:
            checks = certainty(
                each.effect.logs, seed, each.verdict.margin_share, decided=each.verdict.decided
            )
            rows.append({
                **_named(each), "lag_1": checks.lag_1, "widened": checks.widened,
                "sign_flip_share": checks.sign_flip_share, "chance_share": each.chance_share,
                "bootstrap_low": checks.low, "bootstrap_high": checks.high,
                "blocks_needed": checks.blocks_needed,
            })  # fmt: skip
    shows = (
        *_shows(context), Show("lag_1", "Lag-1 correlation", "correlation"),
        Show("widened", "Interval widened by", "ratio"),
        Show("chance_share", "As much by chance", "chance"),
        Show("sign_flip_share", "by random signs", "chance"),
        Show("bootstrap_low", "Bootstrap from", "fine ratio"),
        Show("bootstrap_high", "to", "fine ratio"),
        Show("blocks_needed", "Blocks that may decide", "count"),
    )  # fmt: skip
    schema: dict[str, Any] = {
        **_NAMED, "lag_1": pl.Float64, "widened": pl.Float64, "sign_flip_share": pl.Float64,
        "chance_share": pl.Float64, "bootstrap_low": pl.Float64, "bootstrap_high": pl.Float64,
        "blocks_needed": pl.Int64,
    }  # fmt: skip
    return PageTable(
        "certainty", "Cross-checks of the verdicts", shows, pl.DataFrame(rows, schema=schema)
    )


_NAMED: dict[str, Any] = {
    "users": pl.Int64, "a": pl.String, "b": pl.String, "pair": pl.String, "metric": pl.String,
}  # fmt: skip


def _named(each: Compared) -> dict[str, Any]:
    return {
        "users": each.users, "a": each.a, "b": each.b, "pair": f"{each.b} ÷ {each.a}",
        "metric": each.metric.label,
    }  # fmt: skip


def _shows(context: Context) -> tuple[Show, ...]:
    levels = f"{context.level_unit.capitalize()}s"
    return Show("pair", "Compared"), Show("metric", "By"), Show("users", levels, "count")


def _interval(each: Compared) -> str:
    if each.effect.low is None:
        return "none"
    return f"plain {T_INTERVAL}" if each.effect.plain else CONSERVATIVE


def _plain(each: Compared) -> dict[str, float | None]:
    """The plain interval, for who wants it; the one that decides is wider."""
    low, high = each.effect.plain_bounds or (None, None)
    return {"plain_low": low, "plain_high": high}


def _call(each: Compared) -> str:
    """The verdict in words: whose it is, and whether it answers the question."""
    call = each.verdict.call.value
    text = f"{each.b} {call}" if each.verdict.call in ONE_SIDED else call
    return f"{text} (the question)" if each.primary else text
