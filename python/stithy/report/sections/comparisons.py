"""This run compared with other runs, where such were named."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import altair as alt
import polars as pl

from stithy.analysis.between_runs import Row
from stithy.report import tables as differences
from stithy.report.between import (
    Pair,
    describe_machine,
    describe_rates,
    format_change,
    format_interval,
    format_level,
    format_value_or_dash,
    list_flaws,
)
from stithy.report.blocks import (
    Absent,
    Block,
    Drawn,
    SectionKind,
    set_figures,
    set_grid,
    set_paragraph,
)
from stithy.report.drawing import ratios
from stithy.report.drawing.chart import WIDTH, draw_intervals, make_candidate_channels, make_x_axis
from stithy.report.drawing.compose import Drawing, Rows, Spec, merge_layers, place_above
from stithy.report.drawing.palette import AXIS
from stithy.report.page import Page
from stithy.report.tables import Bounded, PageTable, Show, make_effect_table
from stithy.report.words.wording import begin_sentence
from stithy.statements import Statement, join_parts
from stithy.units import format_list


def _set_pairs(page: Page) -> Iterator[Block]:
    if not page.pairs:
        return
    for text in write_words(page.pairs):
        yield from set_paragraph(text)
    for table in make_pair_tables(page.pairs):
        yield from set_grid(table)
    yield from set_figures(page.find_drawn("runs"))


CAUTION = (
    "The runs were made one after the other. Every difference here therefore includes what changed "
    "on the machine between them. Intervals are wider by the part of that change that baseline "
    "checks and windows show. This is weaker evidence than a comparison of candidates within one "
    "study, whose windows take turns in blocks."
)


def draw_pairs(pairs: Sequence[Pair]) -> tuple[Drawn, ...]:
    """A figure of changes for each other run, or why it is not there."""
    return tuple(_draw_pair(pair, number) for number, pair in enumerate(pairs, start=1))


def write_words(pairs: Sequence[Pair]) -> tuple[str, ...]:
    """What must be known before the numbers: who is compared, what differs, what was left out."""
    reported = [CAUTION]
    if pairs:
        reported += [f"{text}." for text in list_flaws(pairs[0].other, pairs[0].names[1])]
    for pair in pairs:
        base, other = pair.names
        who = f"A change is {other} relative to {base}."
        reported.append(join_parts([_describe_changes(pair), who], " "))
        reported += [
            f"{begin_sentence(text)}." for text in (*describe_rates(pair), *describe_machine(pair))
        ]
        for text, found in (
            ("These facts differ, and were ignored on request", pair.ignored),
            ("These facts differ, and do not prevent the comparison", pair.reported),
        ):
            if found:
                reported.append(f"{text}: {'; '.join(map(str, found))}.")
        reported += [f"{text}." for text in list_flaws(pair.base, base)]
    return (*reported, RULE)


RULE = (
    "A change is distinguishable if chance and the machine alone would give one in at most 5 of "
    "100 such comparisons, all rows of a run together (Welch's test, adjusted by Holm). Not "
    "distinguishable does not mean equal. Each interval is that of its row alone, from valid "
    "windows only. A ratio is that of geometric means over the windows. Percentiles beside it are "
    "those of the merged windows, so their ratio may differ."
)


def _describe_changes(pair: Pair, *, whole: bool = True) -> str:
    base, other = pair.names
    known = [row for row in pair.rows if row.change.is_known]
    if not known:
        return f"{base} and {other} have no value in common."
    both = f"that {base} and {other} both have"
    if len(known) == 1:
        change, single = known[0].change, "is not distinguishable"
        if change.chance_share is None:
            single += f": {NO_SCATTER}"
        elif change.distinguishable:
            single = Statement("differs by more than chance explains: {change}",
                               change=_describe_change(known[0]))  # fmt: skip
        return Statement("The only value {both} {single}.", both=both, single=single)
    untested = sum(row.change.chance_share is None for row in known)
    if untested == len(known):
        none = f"Of {{compared}} values {{both}}, none is distinguishable: {NO_SCATTER}."
        return Statement(none, compared=len(known), both=both)
    found = _count_distinguished(known)
    parts = [Statement("Of {compared} values {both}, {found}.", compared=len(known), both=both,
                       found=found)]  # fmt: skip
    if untested and whole:
        more = f"{{untested}} of them could not be tested: {NO_SCATTER}."
        parts.append(Statement(more, untested=untested))
    return join_parts(parts, " ")


NO_SCATTER = "a test needs two valid windows of each run with different values"


def _count_distinguished(known: Sequence[Row]) -> str:
    apart = [row for row in known if row.change.distinguishable]
    if not apart:
        return "none is distinguishable"
    return Statement(
        "{apart} {apart:differs by more than chance explains:|differ by more than chance explains, "
        "most in} {largest}",
        apart=len(apart), largest=_describe_change(max(apart, key=_measure_size)),
    )  # fmt: skip


def _describe_change(row: Row) -> str:
    at, found = format_level(row.point), row.change
    return Statement(
        "{noun} of {candidate} at {where}, {change} (95 % interval {interval})",
        noun=row.quantity.noun, candidate=row.candidate, change=format_change(row),
        where=f"level {at}" if at == row.point.brief else at, interval=format_interval(row),
        change_ratio=found.ratio, change_low=found.low, change_high=found.high,
    )  # fmt: skip


def _measure_size(row: Row) -> float:
    """How far from 1 a ratio is, up or down; a difference as far as its values differ."""
    if row.change.difference is not None:
        base, other = (abs(each or 0.0) for each in (row.value_base, row.value_other))
        return abs(base - other) / max(base, other, 1e-300)
    return abs(math.log(row.change.ratio or 1))


def make_pair_tables(pairs: Sequence[Pair]) -> tuple[PageTable, ...]:
    """The rows of each pair, with all digits in the files."""
    return tuple(_make_table(f"runs-{number}", pair) for number, pair in enumerate(pairs, start=1))


def _make_table(name: str, pair: Pair) -> PageTable:
    base, other = pair.names
    rows = [_make_row(each) for each in pair.rows]
    shows: tuple[Show, ...] = (
        Show("metric", "Metric"), Show("candidate", "Candidate"), Show("level", "Level"),
        Show("told_base", base), Show("told_other", other), Show("ratio", "Ratio", "fine ratio"),
        Show("low", "from", "fine ratio"), Show("high", "to (95 %)", "fine ratio"),
        *differences.list_difference_columns(rows),
        Show("windows_base", "Windows before", "count"),
        Show("windows_other", "Windows", "count"),
        Show("drift_share", "Drift of the machine, at least", "share"),
        Show("chance_share", "p-value, adjusted", "chance"),
        Show("distinguishable", "Distinguishable", "truth"),
    )  # fmt: skip
    if any(row["because"] for row in rows):
        shows += (Show("because", "Why not known"),)
    types = {"base": pl.Float64, "other": pl.Float64, "because": pl.String}
    return make_effect_table(name, f"{other} against {base}", shows, rows, **types)


def _make_row(row: Row) -> dict[str, Any]:
    found = row.change
    is_difference = found.difference is not None
    value = found.difference if is_difference else found.ratio
    return {
        "metric": row.quantity.label, "candidate": row.candidate, "level": format_level(row.point),
        "base": row.value_base, "other": row.value_other,
        "told_base": format_value_or_dash(row.quantity, row.value_base),
        "told_other": format_value_or_dash(row.quantity, row.value_other),
        **differences.make_effect_cells(
            row.quantity, Bounded(value, found.low, found.high, is_difference), "ratio"
        ),
        "windows_base": found.base,
        "windows_other": found.other, "drift_share": found.drift_share,
        "chance_share": found.chance_share,
        "distinguishable": None if found.chance_share is None else found.distinguishable,
        "because": found.missing_because,
    }  # fmt: skip


def _draw_pair(pair: Pair, number: int) -> Drawn:
    name, (base, other) = f"runs-{number}", pair.names
    rows: Rows = [
        {
            "metric": row.quantity.label, "candidate": row.candidate,
            "level": format_level(row.point),
            "place": f"{row.candidate}, {format_level(row.point)}", "ratio": row.change.ratio,
            "low": row.change.low, "high": row.change.high,
            "apart": APART[row.change.chance_share is not None and row.change.distinguishable],
        }
        for row in pair.rows
        if row.change.ratio is not None
    ]  # fmt: skip
    if not rows:
        return Absent(name, f"changes of {other} to {base}", "the runs have no value in common")
    drawing = Drawing()
    metrics = list(dict.fromkeys(row.quantity.label for row in pair.rows))
    charts = [
        _draw_forest(pair, drawing, metric, [row for row in rows if row["metric"] == metric])
        for metric in metrics
        if any(row["metric"] == metric for row in rows)
    ]
    # The first sentence; what is not known stands beside it on the page, and in the data.
    title = _describe_changes(pair, whole=False).removesuffix(".")
    return drawing.figure(
        pair.other, name, title, place_above(charts), _make_table(name, pair),
        caption=f"Ratio of {other} to {base} on a logarithmic axis, one row per candidate and "
        "level. Bars are 95 % intervals of each row alone. Marks are filled if the change is "
        f"distinguishable, all rows together. At the line of 1 nothing changed. {CAUTION}",
        description=f"Ratios with intervals: {format_list(metrics)}.",
    )  # fmt: skip


APART = {True: "distinguishable", False: "not distinguishable"}
"""What is said of a change that chance explains, or does not."""


def _draw_forest(pair: Pair, drawing: Drawing, metric: str, rows: Rows) -> Spec:
    domain = ratios.find_ratio_domain(
        (row[end] for row in rows for end in ("ratio", "low", "high")), 1.03
    )
    title = f"{metric}: {pair.names[1]} ÷ {pair.names[0]}"
    x = make_x_axis("ratio", title, domain, log=True, format=",.3~g", tickCount=6)
    places = list(dict.fromkeys(row["place"] for row in rows))
    y = alt.Y("place:N", sort=places, title=None, axis=alt.Axis(labelLimit=260, ticks=False))
    channels = make_candidate_channels(pair.other)
    tips = [
        alt.Tooltip("place:N", title="candidate, level"), alt.Tooltip("apart:N", title="verdict"),
        *(alt.Tooltip(f"{key}:Q", format=".4f") for key in ("ratio", "low", "high")),
    ]  # fmt: skip
    one, look = [{"ratio": 1.0}], {"color": AXIS[0], "strokeWidth": 1.5}
    layers = [drawing.mark("rule", one, {"x": x}, **look)]
    along = {"y": y, "color": channels["color"]}
    layers += draw_intervals(drawing, rows, along, across=True, strokeWidth=2)
    for filled in (True, False):
        chosen = [row for row in rows if row["apart"] == APART[filled]]
        # The legend takes its marks from the filled ones, even where there are none.
        if chosen or filled:
            at = {"x": x, "y": y, **channels, "tooltip": tips}
            layers.append(drawing.mark("point", chosen, at, filled=filled, size=70, opacity=1))
    return merge_layers(layers, width=WIDTH - 200, height=max(60, 22 * len(places)))


def list_values(pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """The same for programs: facts that differ, and all rows."""
    return [
        {
            "base": pair.names[0], "other": pair.names[1],
            "ignored": [asdict(each) for each in pair.ignored],
            "reported": [asdict(each) for each in pair.reported],
            "rows": [_make_row(row) for row in pair.rows],
        }
        for pair in pairs
    ]  # fmt: skip


PLUGINS = (
    SectionKind(
        "runs", 30, "Compared with other runs", _set_pairs,
        make_facts=lambda page: {"pairs": list_values(page.pairs)},
        make_tables=lambda page: make_pair_tables(page.pairs),
        draw_figures=lambda page: draw_pairs(page.pairs),
    ),
)  # fmt: skip
