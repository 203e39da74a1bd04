"""The part of a report that holds its run against others: words, tables, a figure for each.

Made only where a person names other runs. The report's run is the later one: a change of +10 % is
that it did a tenth more than the other one.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import altair as alt
import polars as pl

from stithy.analysis.answers.between_runs import Row
from stithy.report.between import Pair, changed, flaws, interval, level, machine, rates, shown
from stithy.report.drawing.chart import WIDTH, candidate_channels
from stithy.report.drawing.compose import Drawing, Rows, Spec, above, layer, unit
from stithy.report.drawing.palette import AXIS
from stithy.report.figure import Absent, Drawn, Figure
from stithy.report.parts import differences
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import listing

CAUTION = (
    "The runs were made one after the other. Every difference here therefore includes what changed "
    "on the machine between them. Intervals are wider by the part of that change that baseline "
    "checks and windows show. This is weaker evidence than a comparison of candidates within one "
    "study, whose windows take turns in blocks."
)


def drawn(pairs: Sequence[Pair]) -> tuple[Drawn, ...]:
    """A figure of changes for each other run, or why it is not there."""
    return tuple(_figure(pair, number) for number, pair in enumerate(pairs, start=1))


def words(pairs: Sequence[Pair]) -> tuple[str, ...]:
    """What must be known before the numbers: who is compared, what differs, what was left out."""
    reported = [CAUTION]
    if pairs:
        reported += [f"{text}." for text in flaws(pairs[0].other, pairs[0].names[1])]
    for pair in pairs:
        base, other = pair.names
        reported.append(f"{_headline(pair)} A change is {other} relative to {base}.")
        reported += [f"{text[0].upper()}{text[1:]}." for text in (*rates(pair), *machine(pair))]
        for text, found in (
            ("These facts differ, and were ignored on request", pair.ignored),
            ("These facts differ, and do not prevent the comparison", pair.reported),
        ):
            if found:
                reported.append(f"{text}: {'; '.join(map(str, found))}.")
        reported += [f"{text}." for text in flaws(pair.base, base)]
    return (*reported, RULE)


RULE = (
    "A change is distinguishable if chance and the machine alone would give one in at most 5 of "
    "100 such comparisons, all rows of a run together (Welch's test, adjusted by Holm). Not "
    "distinguishable does not mean equal. Each interval is that of its row alone, from valid "
    "windows only. A ratio is that of geometric means over the windows. Percentiles beside it are "
    "those of the merged windows, so their ratio may differ."
)


def _headline(pair: Pair, *, whole: bool = True) -> str:
    """How many of the changes are distinguished from chance, and the largest of them."""
    base, other = pair.names
    known = [row for row in pair.rows if row.change.is_known]
    if not known:
        return f"{base} and {other} have no value in common."
    both = f"that {base} and {other} both have"
    if len(known) == 1:
        return f"The only value {both} {_alone(known[0])}."
    open_ones = sum(row.change.chance_share is None for row in known)
    if open_ones == len(known):
        return f"Of {len(known)} values {both}, none is distinguishable: {NO_SCATTER}."
    reported = f"Of {len(known)} values {both}, {_apart(known)}."
    if open_ones and whole:
        reported += f" {open_ones} of them could not be tested: {NO_SCATTER}."
    return reported


NO_SCATTER = "a test needs two valid windows of each run with different values"


def _alone(row: Row) -> str:
    """What is known of a single change."""
    if row.change.chance_share is None:
        return f"is not distinguishable: {NO_SCATTER}"
    if not row.change.distinguishable:
        return "is not distinguishable"
    return f"differs by more than chance explains: {_told(row)}"


def _apart(known: Sequence[Row]) -> str:
    """How many differ by more than chance explains, and which of them by most."""
    apart = [row for row in known if row.change.distinguishable]
    if not apart:
        return "none is distinguishable"
    largest = _told(max(apart, key=_size))
    if len(apart) == 1:
        return f"1 differs by more than chance explains: {largest}"
    return f"{len(apart)} differ by more than chance explains, most in {largest}"


def _told(row: Row) -> str:
    """A change with what it is of, and its interval."""
    change = f"{changed(row)} (95 % interval {interval(row)})"
    at = level(row.point)
    where = f"level {at}" if at == row.point.brief else at
    return f"{row.quantity.noun} of {row.candidate} at {where}, {change}"


def _size(row: Row) -> float:
    """How far from 1 a ratio is, up or down; a difference as far as its values differ."""
    if row.change.difference is not None:
        base, other = (abs(each or 0.0) for each in (row.value_base, row.value_other))
        return abs(base - other) / max(base, other, 1e-300)
    return abs(math.log(row.change.ratio or 1))


def tables(pairs: Sequence[Pair]) -> tuple[PageTable, ...]:
    """The rows of each pair, with all digits in the files."""
    return tuple(_table(f"runs-{number}", pair) for number, pair in enumerate(pairs, start=1))


def _table(name: str, pair: Pair) -> PageTable:
    base, other = pair.names
    rows = [_row(each) for each in pair.rows]
    shows: tuple[Show, ...] = (
        Show("metric", "Metric"), Show("candidate", "Candidate"), Show("level", "Level"),
        Show("told_base", base), Show("told_other", other), Show("ratio", "Ratio", "fine ratio"),
        Show("low", "from", "fine ratio"), Show("high", "to (95 %)", "fine ratio"),
        *differences.shows(rows),
        Show("windows_base", "Windows before", "count"),
        Show("windows_other", "Windows", "count"),
        Show("drift_share", "Drift of the machine, at least", "share"),
        Show("chance_share", "p-value, adjusted", "chance"),
        Show("distinguishable", "Distinguishable", "truth"),
    )  # fmt: skip
    if any(row["because"] for row in rows):
        shows += (Show("because", "Why not known"),)
    return PageTable(name, f"{other} against {base}", shows, pl.DataFrame(rows, schema=_SCHEMA))


_SCHEMA: dict[str, Any] = {
    "metric": pl.String, "candidate": pl.String, "level": pl.String, "base": pl.Float64,
    "other": pl.Float64, "told_base": pl.String, "told_other": pl.String, "ratio": pl.Float64,
    "low": pl.Float64, "high": pl.Float64, "windows_base": pl.Int64, "windows_other": pl.Int64,
    "drift_share": pl.Float64, "chance_share": pl.Float64, "distinguishable": pl.Boolean,
    "because": pl.String, **differences.TYPES,
}  # fmt: skip


def _row(row: Row) -> dict[str, Any]:
    found = row.change
    return {
        "metric": row.quantity.label, "candidate": row.candidate, "level": level(row.point),
        "base": row.value_base, "other": row.value_other,
        "told_base": shown(row.quantity, row.value_base),
        "told_other": shown(row.quantity, row.value_other),
        **differences.cells(
            row.quantity, ("ratio", "low", "high"),
            (found.ratio if found.difference is None else found.difference, found.low, found.high),
            is_difference=found.difference is not None,
        ),
        "windows_base": found.base,
        "windows_other": found.other, "drift_share": found.drift_share,
        "chance_share": found.chance_share,
        "distinguishable": None if found.chance_share is None else found.distinguishable,
        "because": found.missing_because,
    }  # fmt: skip


def _figure(pair: Pair, number: int) -> Drawn:
    name, (base, other) = f"runs-{number}", pair.names
    rows: Rows = [
        {
            "metric": row.quantity.label, "candidate": row.candidate, "level": level(row.point),
            "place": f"{row.candidate}, {level(row.point)}", "ratio": row.change.ratio,
            "low": row.change.low, "high": row.change.high,
            "apart": _verdict(row),
        }
        for row in pair.rows
        if row.change.ratio is not None
    ]  # fmt: skip
    if not rows:
        return Absent(name, f"changes of {other} to {base}", "the runs have no value in common")
    drawing = Drawing()
    metrics = list(dict.fromkeys(row.quantity.label for row in pair.rows))
    charts = [
        _forest(pair, drawing, metric, [row for row in rows if row["metric"] == metric])
        for metric in metrics
        if any(row["metric"] == metric for row in rows)
    ]
    # The first sentence; what is not known stands beside it on the page, and in the data.
    title = _headline(pair, whole=False).removesuffix(".")
    return Figure(
        name=name,
        title=title,
        caption=f"Ratio of {other} to {base} on a logarithmic axis, one row per candidate and "
        "level. Bars are 95 % intervals of each row alone. Marks are filled if the change is "
        f"distinguishable, all rows together. At the line of 1 nothing changed. {CAUTION}",
        description=f"{title}. Ratios with intervals: {listing(metrics)}.",
        footer=pair.other.footer,
        spec=drawing.spec(above(charts)),
        table=_table(name, pair),
    )


def _verdict(row: Row) -> str:
    if row.change.chance_share is None:
        return "not distinguishable"
    return "distinguishable" if row.change.distinguishable else "not distinguishable"


def _forest(pair: Pair, drawing: Drawing, metric: str, rows: Rows) -> Spec:
    values = [v for row in rows for v in (row["ratio"], row["low"], row["high"]) if v is not None]
    domain = [min(1.0, *values) / 1.03, max(1.0, *values) * 1.03]
    x = alt.X(
        "ratio:Q", title=f"{metric}: {pair.names[1]} ÷ {pair.names[0]}",
        scale=alt.Scale(type="log", domain=domain, nice=False),
        axis=alt.Axis(format=",.3~g", tickCount=6),
    )  # fmt: skip
    places = list(dict.fromkeys(row["place"] for row in rows))
    y = alt.Y("place:N", sort=places, title=None, axis=alt.Axis(labelLimit=260, ticks=False))
    channels = candidate_channels(pair.other)
    colour, shape = channels["color"], channels["shape"]
    tips = [
        alt.Tooltip("place:N", title="candidate, level"), alt.Tooltip("apart:N", title="verdict"),
        *(alt.Tooltip(f"{key}:Q", format=".4f") for key in ("ratio", "low", "high")),
    ]  # fmt: skip
    layers = [
        unit(
            alt.Chart(drawing.add([{"ratio": 1.0}]))
            .mark_rule(color=AXIS[0], strokeWidth=1.5)
            .encode(x=x)
        )
    ]
    spans = [row for row in rows if row["low"] is not None]
    if spans:
        bar = alt.Chart(drawing.add(spans)).mark_rule(strokeWidth=2)
        layers.append(unit(bar.encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"), y=y, color=colour)))
    for filled in (True, False):
        chosen = [row for row in rows if (row["apart"] == "distinguishable") is filled]
        # The legend takes its marks from the filled ones, even where there are none.
        if chosen or filled:
            point = alt.Chart(drawing.add(chosen)).mark_point(filled=filled, size=70, opacity=1)
            layers.append(unit(point.encode(x=x, y=y, color=colour, shape=shape, tooltip=tips)))
    return layer(layers, width=WIDTH - 200, height=max(60, 22 * len(places)))


def as_values(pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """The same for programs: facts that differ, and all rows."""
    return [
        {
            "base": pair.names[0], "other": pair.names[1],
            "ignored": [asdict(each) for each in pair.ignored],
            "reported": [asdict(each) for each in pair.reported],
            "rows": [_row(each) for each in pair.rows],
        }
        for pair in pairs
    ]  # fmt: skip
