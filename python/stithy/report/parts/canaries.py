"""What the canaries tell of the machine: a table of all, and whether it stayed what it was."""

from collections.abc import Sequence

import polars as pl

from stithy.analysis.validity.canary import GAUGES, LEAST, Canary, Gauge, Trend, trends
from stithy.report.context import Context
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import at_most, listing, percent, plural


def table(context: Context) -> PageTable:
    """One row a canary; figures that are off are marked in words."""
    rows = [_row(canary) for canary in context.evidence.canaries]
    levels = f"{context.level_unit.capitalize()}s"
    return PageTable(
        "canary",
        "What the machine was like before each block",
        (
            Show("users", levels, "count"), Show("block", "Block", "count"),
            Show("one_rounds_per_s", "One CPU, rounds a second", "count"),
            Show("one_share", "off the median", "signed share"),
            Show("all_rounds_per_s", "All CPUs", "count"),
            Show("all_share", "off", "signed share"),
            Show("read_p50_s", "A read, median", "duration"),
            Show("read_share", "off", "signed share"),
            Show("changed", "The machine"),
        ),
        pl.DataFrame(rows, schema=_SCHEMA),
    )  # fmt: skip


_SCHEMA = {
    "window_id": pl.String, "users": pl.Int64, "block": pl.Int64, "at_s": pl.Float64,
    "one_rounds_per_s": pl.Float64, "one_share": pl.Float64,
    "all_rounds_per_s": pl.Float64, "all_share": pl.Float64,
    "read_p50_s": pl.Float64, "read_share": pl.Float64, "read_p99_s": pl.Float64,
    "changed": pl.String, "missing_because": pl.String,
}  # fmt: skip


def _row(canary: Canary) -> dict[str, object]:
    row = canary.row
    shares = {gauge.column: canary.shares.get(gauge.column) for gauge in GAUGES}
    return {
        "window_id": row["window_id"], "users": row["users"], "block": row["block"],
        "at_s": row["at_s"],
        "one_rounds_per_s": row["one_rounds_per_s"], "one_share": shares["one_rounds_per_s"],
        "all_rounds_per_s": row["all_rounds_per_s"], "all_share": shares["all_rounds_per_s"],
        "read_p50_s": row["read_p50_s"], "read_share": shares["read_p50_s"],
        "read_p99_s": row["read_p99_s"], "missing_because": row["missing_because"],
        "changed": _changed(canary),
    }  # fmt: skip


def _changed(canary: Canary) -> str:
    if canary.off:
        return f"changed: {listing([off.gauge.what for off in canary.off])}"
    return "as usual" if canary.shares else "not known"


def sentence(context: Context) -> str | None:
    """Whether the machine stayed what it was; None where there were no canaries."""
    canaries = context.evidence.canaries
    if not canaries:
        return None
    known = [canary for canary in canaries if canary.shares]
    if len(known) < LEAST:
        return (
            f"Whether the machine stayed what it was cannot be told from "
            f"{plural(len(known), 'canary', 'canaries')}."
        )
    return " ".join([_odd_ones(canaries), _over_the_run(canaries), *_unread(canaries)])


def floors() -> str:
    """By how much a figure must be off at least, in words."""
    return listing([f"{percent(gauge.floor_share)} for {gauge.what}" for gauge in GAUGES])


def flaw(context: Context) -> str | None:
    """What of it weakens the answer, for the top of the page."""
    odd = [canary for canary in context.evidence.canaries if canary.off]
    if not odd:
        return None
    verb = "was" if len(odd) == 1 else "were"
    return (
        f"{len(odd)} of {plural(len(context.evidence.canaries), 'block')} {verb} measured on a "
        "machine that was not as it usually was; by how much is told under “Whether the machine "
        "stayed the same”."
    )


def _odd_ones(canaries: Sequence[Canary]) -> str:
    odd = [canary for canary in canaries if canary.off]
    if not odd:
        return (
            f"Before each of {plural(len(canaries), 'block')} the machine did its canary's work as "
            f"usual: {_spread(canaries)}."
        )
    one, marked = ("one block", "it is") if len(odd) == 1 else (f"{len(odd)} blocks", "these are")
    return (
        f"Before {one} of {len(canaries)} the machine did its canary's work otherwise than usual; "
        f"{marked} marked."
    )


def _spread(canaries: Sequence[Canary]) -> str:
    """`one CPU within 1.2 % of its median, all CPUs within 0.9 %, reads within 4 %`."""
    parts: list[str] = []
    for gauge in GAUGES:
        known = [each.shares[gauge.column] for each in canaries if gauge.column in each.shares]
        if known:
            of = " of the median" if not parts else ""
            parts.append(f"{gauge.what} within {at_most(max(map(abs, known)))}{of}")
    return ", ".join(parts)


def _over_the_run(canaries: Sequence[Canary]) -> str:
    clear = [trend for trend in trends([canary.row for canary in canaries]) if trend.clear]
    if not clear:
        return "There was no clear trend over the run."
    told = listing([_trend(trend) for trend in clear])
    return f"Over the run {told}: a drift; the balanced order within blocks cancels it."


def _trend(trend: Trend) -> str:
    return (
        f"{trend.gauge.what} became {percent(abs(trend.share))} {_slower(trend.gauge, trend.share)}"
    )


def _slower(gauge: Gauge, share: float) -> str:
    return "slower" if (share < 0) == gauge.is_rate else "faster"


def _unread(canaries: Sequence[Canary]) -> list[str]:
    why = dict.fromkeys(each.row["missing_because"] for each in canaries)
    told = [str(each) for each in why if each]
    return [f"Not all of it could be done: {'; '.join(told)}."] if told else []
