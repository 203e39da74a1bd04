"""What the machine and the load driver were able to do beside the windows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from stithy.analysis.instruments import Headroom, measure_headroom
from stithy.analysis.surroundings import GAUGES, LEAST, Baseline, find_trends
from stithy.point import Point
from stithy.report.context import Context
from stithy.report.tables import PageTable, Show, make_table
from stithy.report.words.loads import find_workload
from stithy.report.words.wording import format_at_most
from stithy.results.manifest import CalibrationFacts
from stithy.statements import Statement, Styled, join_parts
from stithy.units import format_list, format_share


def make_baseline_table(context: Context) -> PageTable:
    """One row a baseline check; figures that are off are marked in words."""
    rows = [_make_row(context, baseline) for baseline in context.evidence.baselines]
    shows = (
        *context.factor_shows, Show("block", "Block", "count"),
        Show("one_rounds_per_s", "One CPU, rounds per second", "count"),
        Show("one_share", "from the median", "signed share"),
        Show("all_rounds_per_s", "All CPUs", "count"),
        Show("all_share", "from the median", "signed share"),
        Show("read_p50_s", "Read, median", "duration"),
        Show("read_share", "from the median", "signed share"),
        Show("changed", "Result"),
    )  # fmt: skip
    real = ("at_s", "one_rounds_per_s", "all_rounds_per_s", "read_p99_s")
    types = dict.fromkeys(("window_id", "missing_because"), pl.String)
    return make_table(
        "baseline", "Baseline checks of the machine before each block", shows, rows,
        **types, **dict.fromkeys(real, pl.Float64),
    )  # fmt: skip


def _make_row(context: Context, baseline: Baseline) -> dict[str, Any]:
    row, shares = baseline.row, baseline.shares
    changed = "as usual" if shares else "not known"
    if baseline.off:
        changed = f"changed: {format_list([off.gauge.what for off in baseline.off])}"
    return {
        **context.list_factor_values(Point.parse(row["point"])), "window_id": row["window_id"],
        "block": row["block"], "at_s": row["at_s"],
        "one_rounds_per_s": row["one_rounds_per_s"], "one_share": shares.get("one_rounds_per_s"),
        "all_rounds_per_s": row["all_rounds_per_s"], "all_share": shares.get("all_rounds_per_s"),
        "read_p50_s": row["read_p50_s"], "read_share": shares.get("read_p50_s"),
        "read_p99_s": row["read_p99_s"], "changed": changed,
        "missing_because": row["missing_because"],
    }  # fmt: skip


def describe_machine(context: Context) -> str | None:
    """Whether the machine stayed what it was; None where there were no baseline checks."""
    baselines = context.evidence.baselines
    if not baselines:
        return None
    known = [baseline for baseline in baselines if baseline.shares]
    if len(known) < LEAST and not any(baseline.off for baseline in known):
        return Statement(
            "{checks:+baseline check} cannot show whether the machine stayed the same.",
            checks=len(known),
        )  # fmt: skip
    parts = [_list_odd(baselines), _describe_trend(baselines)]
    why = dict.fromkeys(baseline.row["missing_because"] for baseline in baselines)
    if reported := [str(each) for each in why if each]:
        parts.append(f"A part of the checks failed: {'; '.join(reported)}.")
    return join_parts(parts, " ")


def describe_floors() -> str:
    """By how much a figure must be off at least, in words."""
    return format_list([f"{format_share(gauge.floor_share)} for {gauge.what}" for gauge in GAUGES])


def describe_machine_flaw(context: Context) -> str | None:
    """What of it weakens the answer, for the top of the page."""
    odd = [baseline for baseline in context.evidence.baselines if baseline.off]
    if not odd:
        return None
    return Statement(
        "{odd} of {checks:+block} {odd:was|were} measured on a machine that had changed (details: "
        "Whether the machine stayed the same).",
        odd=len(odd), checks=len(context.evidence.baselines),
    )  # fmt: skip


def _list_odd(baselines: Sequence[Baseline]) -> str:
    odd = [baseline for baseline in baselines if baseline.off]
    if not odd:
        return Statement(
            "The baseline check was as usual before each of {checks:+block}: {spread}.",
            checks=len(baselines), spread=_describe_spread(baselines),
        )  # fmt: skip
    return Statement(
        "The baseline check deviated before {odd} of {checks:+block}, {odd:which is|which are} "
        "marked.", odd=len(odd), checks=len(baselines),
    )  # fmt: skip


def _describe_spread(baselines: Sequence[Baseline]) -> str:
    """`one CPU within 1.2 % of its median, all CPUs within 0.9 %, reads within 4 %`."""
    parts: list[Statement] = []
    for gauge in GAUGES:
        shares = (each.shares.get(gauge.column) for each in baselines)
        if known := [abs(share) for share in shares if share is not None]:
            of = " of the median" if not parts else ""
            most = Styled(max(known), format_at_most(max(known)))
            parts.append(Statement(f"{{gauge}} within {{off_most}}{of}", gauge=gauge.what,
                                   off_most=most))  # fmt: skip
    return join_parts(parts)


def _describe_trend(baselines: Sequence[Baseline]) -> str:
    clear = [
        trend for trend in find_trends([baseline.row for baseline in baselines]) if trend.clear
    ]
    if not clear:
        return "There was no clear trend over the run."
    reported = format_list([
        f"{each.gauge.what} became {format_share(abs(each.share))} "
        f"{'slower' if (each.share < 0) == each.gauge.is_rate else 'faster'}"
        for each in clear
    ])  # fmt: skip
    return f"Over the run {reported}. The balanced order within blocks cancels such a drift."


@dataclass(frozen=True)
class Sentence:
    """The driver headroom of a run in one sentence; `weakens`: it is little, or unknown."""

    text: str
    weakens: bool


def make_headroom_frame(context: Context) -> pl.DataFrame:
    """For each window what it asked, as shares of 1 of what the driver can do."""
    rows = [{"window_id": name, **vars(found)} for name, found in _list_headrooms(context)]
    schema = {
        "window_id": pl.String, "rate_per_s": pl.Float64, "rate_share": pl.Float64,
        "users_share": pl.Float64,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema)


def list_headroom_shows(context: Context) -> tuple[Show, ...]:
    """The columns of `frame` that have anything to show."""
    found = [each for _, each in _list_headrooms(context)]
    known = [Show("rate_per_s", "Transactions per second", "rate")]
    if any(each.rate_share is not None for each in found):
        known.append(Show("rate_share", "Share of the calibrated rate", "share"))
    if any(each.users_share is not None for each in found):
        known.append(Show("users_share", "Share of the calibrated users", "share"))
    return tuple(known)


def describe_headroom(context: Context) -> Sentence | None:
    """How much of the driver the windows used; None where nothing was measured."""
    if len(context.engines) < 2:
        return _describe_headroom(context)
    every = {name: _describe_headroom(context.select_engine(name)) for name in context.engines}
    if len(set(every.values())) == 1:
        return next(iter(every.values()))
    told = {name: sentence for name, sentence in every.items() if sentence}
    text = " ".join(f"With {name}: {sentence.text}" for name, sentence in told.items())
    return Sentence(text, any(sentence.weakens for sentence in told.values()))


def _describe_headroom(context: Context) -> Sentence | None:
    if context.manifest is None or not any(each.rate_per_s for _, each in _list_headrooms(context)):
        return None
    facts = context.manifest.calibration
    if (because := _describe_contradiction(context)) is not None:
        return Sentence(f"The driver headroom is not proven: {because}.", True)
    if facts is None or facts.rate_per_s_max is None:
        because = (facts.missing_because if facts else None) or "the reason is not known"
        return Sentence(f"The driver headroom is not proven: {because}.", True)
    little = [(name, each) for name, each in _list_headrooms(context) if each.is_little]
    return _explain_little(context, little, facts) if little else _explain_enough(context, facts)


def _describe_contradiction(context: Context) -> str | None:
    """What a window showed of the driver that its calibration did not foretell."""
    windows = context.evidence.windows
    refuted = (each.row.get("driver_refuted") for each in windows)
    if (reported := next(filter(None, refuted), None)) is not None:
        return str(reported)
    for window in (each for each in windows if each.valid):
        limited = context.limited.get(window.id)
        by = limited.by if limited is not None else None
        if by is not None and by.rule == "driver" and not measure_headroom(window.row).is_little:
            return f"{by.says} in {window.id}"
    return None


def _explain_little(
    context: Context, little: list[tuple[str, Headroom]], facts: CalibrationFacts
) -> Sentence:
    name, worst = max(little, key=lambda each: each[1].share or 0.0)
    few = len(little) == 1
    return Sentence(Statement(
        "Window {window} needed {needed} that the driver sustained in its calibration on this host "
        "({limits}). " + ("The driver may limit this window." if few else "The driver needed more "
        "than half of it in {little} of {windows} windows, and may limit them."),
        window=name, needed=_format(worst), limits=_format_limits(facts), little=len(little),
        windows=len(context.evidence.windows),
    ), True)  # fmt: skip


def _explain_enough(context: Context, facts: CalibrationFacts) -> Sentence:
    found = [each for _, each in _list_headrooms(context)]
    rates = [each.rate_share for each in found if each.rate_share is not None]
    users = [each.users_share for each in found if each.users_share is not None]
    most = Headroom(None, max(rates, default=None), max(users, default=None))
    asked = context.workload
    known = find_workload(asked)
    plain = asked is not None and known is not None and known.has_several_answers(asked.options)
    more = " A transaction waits for several answers, so the true share is larger."
    return Sentence(Statement(
        "The driver used at most {needed} that it sustained in its calibration on this host "
        "({limits})." + (more if plain else ""),
        needed=_format(most, format_at_most), limits=_format_limits(facts),
    ), plain)  # fmt: skip


def _format(found: Headroom, shown: Callable[[float], str] = format_share) -> str:
    of = {"rate": found.rate_share, "users": found.users_share}
    return join_parts([
        Statement("{needed_share} of the {what}", what=what,
                  needed_share=Styled(known, shown(known)))
        for what, known in of.items() if known is not None
    ], " and ")  # fmt: skip


def _format_limits(facts: CalibrationFacts) -> str:
    at_least = "at least " if facts.users_limit_reached else ""
    users = "" if facts.users_max is None else f", {at_least}{{users_max:,}} users who pause"
    return Statement(
        "{rate_max:,.0f} transactions per second over {connections:+connection}" + users,
        rate_max=facts.rate_per_s_max or 0, connections=facts.connections or 0,
        users_max=facts.users_max,
    )  # fmt: skip


def _list_headrooms(context: Context) -> list[tuple[str, Headroom]]:
    return [(window.id, measure_headroom(window.row)) for window in context.evidence.windows]
