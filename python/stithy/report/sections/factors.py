"""What a study varies by `vary`, and what each step of it changed."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from stithy.analysis.comparisons import ComparedPair, compare_values
from stithy.analysis.verdict import Call
from stithy.names import name_text
from stithy.point import Point, are_amounts, format_value, list_varied
from stithy.report import metrics, tables
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
from stithy.report.drawing.chart import PERCENT, WIDTH, Axis, Panel, draw_by_level
from stithy.report.drawing.compose import Drawing, Rows, Spec, explain_bars, place_beside
from stithy.report.drawing.points import (
    drop_factor,
    make_axis,
    read_quantity_rows,
    read_window_rows,
)
from stithy.report.page import Page
from stithy.report.tables import KINDS, PageTable, Show, make_table
from stithy.report.words.wording import begin_sentence, format_exactly, format_factor, format_finely
from stithy.units import format_list

NAME = "factors"


def _set_factors(page: Page) -> Iterator[Block]:
    if not list_factors(page.context):
        return
    for text in describe_steps(page.context):
        yield from set_paragraph(text)
    yield from set_figures(page.find_drawn(NAME))
    yield from set_grid(page.tables["factors"])
    yield from set_grid(page.tables["factor-steps"])
    yield from set_paragraph(*write_notes(page.tables["factors"]), style="note")


NOTE = (
    "Each ratio is that of two values on the same candidate, paired by round: every round has one "
    "block at each value, in random order. The ratios are adjusted for their number."
)
NOTES = {
    "hit_share": "The share of hits is that of the server's own buffers; the page cache of the "
    "operating system comes after them.",
    "reads_per_s": "Reads are those of the busiest block device.",
}
"""What must be known of a column."""

Cells = dict[tuple[str, str], float]
"""A number by candidate and point."""

KEYS = frozenset({"factor", "value", "candidate", "windows"})

VERBS = {
    Call.BETTER: "improved", Call.WORSE: "got worse", Call.HIGHER: "rose", Call.LOWER: "fell",
}  # fmt: skip
PAYS = frozenset({Call.BETTER, Call.HIGHER})
LOSES = frozenset({Call.WORSE, Call.LOWER})
STOPS = frozenset({Call.EQUIVALENT, Call.NEGLIGIBLE})


def list_factors(context: Context) -> tuple[str, ...]:
    """What `vary` lists: keys of the study, by their path; a scenario's own factors have names."""
    return tuple(name for name in list_varied(context.evidence.points) if "." in name)


def write_notes(table: PageTable) -> tuple[str]:
    """How to read the tables of this section."""
    shown = {column.column for column in table.columns}
    return (" ".join([NOTE, *(text for name, text in NOTES.items() if name in shown)]),)


def make_values_table(context: Context) -> PageTable:
    """What every candidate did at each value, where the question is asked as to all else."""
    asked, throughput = context.evidence.primary.metric, context.evidence.throughput
    of_both = average_hit_shares(context), average_reads(context)
    rows = [
        _make_value_row(context, name, point, candidate, *of_both)
        for name in list_factors(context)
        for point in context.evidence.along(name)
        for candidate in context.evidence.candidates
    ]
    own = () if asked == throughput else (Show("asked", asked.label, KINDS[asked.known.unit]),)
    shows = (
        Show("factor", "Factor"), Show("value", "Value"), Show("candidate", "Candidate"), *own,
        Show("throughput", throughput.label, "count"), Show("p95_s", "p95", "duration"),
        Show("hit_share", "Hits in the database's buffers", "share"),
        Show("reads_per_s", "Device reads per second", "rate"),
        Show("windows", "Valid windows", "count"),
    )  # fmt: skip
    real = dict.fromkeys(("asked", "throughput"), pl.Float64)
    # Of a scenario without users and servers some columns say nothing.
    return make_table("factors", "What each value gave", shows, rows, **real).told(*KEYS)


def make_steps_table(context: Context) -> PageTable:
    """What each further value changed on each candidate, with its verdict."""
    rows = [
        _make_step_row(name, compared)
        for name in list_factors(context)
        for compared in compare_values(context.evidence, name)
    ]
    metric = context.evidence.primary.metric
    shows = (
        Show("factor", "Factor"), Show("candidate", "Candidate"), Show("from", "From"),
        Show("to", "To"), Show("ratio", f"Ratio of {metric.label}", "fine ratio"),
        Show("low", "from", "fine ratio"), Show("high", "to (95 %)", "fine ratio"),
        *tables.list_difference_columns(rows),
        Show("blocks", "Rounds", "count"), Show("verdict", "Verdict"),
        Show("because", "Why open"),
    )  # fmt: skip
    caption = "What each further value changed"
    return tables.make_effect_table("factor-steps", caption, shows, rows)


def describe_steps(context: Context) -> Iterator[str]:
    """What the steps of each factor changed on each candidate; what another one is worth."""
    for name in list_factors(context):
        found = compare_values(context.evidence, name)
        for candidate in context.evidence.candidates:
            mine = [each for each in found if each.b == candidate]
            if mine:
                yield _describe_last_gain(context, name, candidate, mine)
        yield from _compare_storage(context, name, found)


def _describe_last_gain(
    context: Context, name: str, candidate: str, mine: list[ComparedPair]
) -> str:
    """`On gp3, throughput improved with database.memory up to 512 MiB, and …: from … the ratio is`.

    More of a factor may be a burden, such as more data: where no step improved anything, what
    the steps did is said instead. Words have no more and less, so that nothing goes up to one.
    """
    noun = context.evidence.primary.metric.noun
    every = "; ".join(_describe_step(name, each) for each in mine)
    if not are_amounts(each.point.values[name] for each in mine):
        return f"On {candidate}, {noun} at other values of {name}: {every}."
    if all(each.effect.low is None for each in mine):
        return f"What {name} changes on {candidate} is not known: {every}."
    calls = [each.verdict.call for each in mine]
    paying = [place for place, call in enumerate(calls) if call in PAYS]
    if not paying:
        return f"On {candidate}, {_describe_no_gain(name, noun, mine)}: {every}."
    last = paying[-1]
    verb = VERBS[calls[last]]
    end = format_value(mine[last].point.values[name])
    if last == len(mine) - 1:
        head = f"{noun} still {verb} with the last step of {name}, to {end}"
    else:
        head = f"{noun} {verb} with {name} up to {end}; {_describe_next(calls[last + 1])}"
    parts = [_describe_step(name, each) for each in mine[last : last + 2]]
    return f"On {candidate}, {head}: {'; '.join(parts)}."


def _describe_next(call: Call) -> str:
    if call in STOPS:
        return "the next step made no difference larger than the margin"
    if call in LOSES:
        return f"the next step made it {'worse' if call is Call.WORSE else 'lower'}"
    return "whether the next step made a difference is not decided"


def _describe_no_gain(name: str, noun: str, mine: list[ComparedPair]) -> str:
    """What steps did of which none improved anything: make it worse, nothing, or it is open."""
    calls = [each.verdict.call for each in mine]
    losing = [each for each in mine if each.verdict.call in LOSES]
    if losing:
        ends = format_list([format_value(each.point.values[name]) for each in losing])
        steps = f"step{'s' if len(losing) > 1 else ''} of {name} to {ends}"
        return f"{noun} {VERBS[losing[0].verdict.call]} with the {steps}"
    if STOPS.issuperset(calls):
        return f"no step of {name} changed {noun} by more than the margin"
    return f"no step of {name} is known to have changed {noun} by more than the margin"


def _describe_step(name: str, each: ComparedPair) -> str:
    """`from 256 MiB to 512 MiB the ratio is 1.42 (1.30 to 1.55)`, or why there is none."""
    assert each.against is not None  # a step has two ends
    ends = [format_value(point.values[name]) for point in (each.against, each.point)]
    where = f"from {ends[0]} to {ends[1]}"
    effect = each.effect
    if effect.is_difference:
        told = tables.format_difference(each.metric, effect.value, effect.low, effect.high)
        return f"{where} the difference is {told}"
    if effect.ratio is None:
        return f"{where} it cannot be compared, because {effect.missing_because}"
    if effect.low is None or effect.high is None:
        return (
            f"{where} the ratio is {format_factor(effect.ratio)} in one round, without an interval"
        )
    span = f"{format_finely(effect.low)} to {format_finely(effect.high)}"
    calls = {
        Call.EQUIVALENT: f", within the margin of {format_exactly(each.verdict.margin_share)}",
        Call.UNDECIDED: ", undecided",
    }
    return (
        f"{where} the ratio is {format_finely(effect.ratio)} "
        f"({span}){calls.get(each.verdict.call, '')}"
    )


def _compare_storage(context: Context, name: str, found: tuple[ComparedPair, ...]) -> Iterator[str]:
    """What the last value of a factor and another candidate are worth, from the same start."""
    evidence = context.evidence
    if len(evidence.candidates) != 2 or not found:
        return
    first, second = evidence.candidates
    start, *_, point = evidence.along(name)
    metric = evidence.primary.metric
    storage = evidence.effect(first, second, start, metric)
    most = evidence.effect(first, first, point, metric, start)
    if not storage.low or not most.low or storage.is_difference:
        return
    at, value = format_value(start.values[name]), format_value(point.values[name])
    yield (
        f"From {first} with {name} {at}, {metric.noun}: {second} instead of {first} gives "
        f"{_format_times(storage)}; {name} {value} instead of {at} on {first} gives "
        f"{_format_times(most)}."
    )


def _format_times(effect: Any) -> str:
    return (
        f"{format_finely(effect.ratio)} times ({format_finely(effect.low)} to "
        f"{format_finely(effect.high)})"
    )


def _make_value_row(
    context: Context, name: str, point: Point, candidate: str, hits: Cells, reads: Cells
) -> dict[str, Any]:
    evidence = context.evidence
    return {
        "factor": name, "value": format_value(point.values[name]), "candidate": candidate,
        "asked": evidence.level_of(candidate, point, evidence.primary.metric),
        "throughput": evidence.level_of(candidate, point, evidence.throughput),
        "p95_s": evidence.printable_level(candidate, point, "response_p95_s"),
        "hit_share": hits.get((candidate, str(point))),
        "reads_per_s": reads.get((candidate, str(point))),
        "windows": len(evidence.valid_at(candidate, point)),
    }  # fmt: skip


def average_hit_shares(context: Context) -> Cells:
    """The share of blocks that the server found in its buffers, by candidate and point.

    The mean over the valid windows.
    """
    rates = _sum_rates(context, metrics.DATABASE, (metrics.BLOCKS_HIT, metrics.BLOCKS_READ), "sum")
    both = rates.pivot(on="metric", index=["window_id", "candidate", "point"], values="rate")
    if not {metrics.BLOCKS_HIT, metrics.BLOCKS_READ} <= {*both.columns}:
        return {}
    total = pl.col(metrics.BLOCKS_HIT) + pl.col(metrics.BLOCKS_READ)
    share = both.filter(total > 0).with_columns((pl.col(metrics.BLOCKS_HIT) / total).alias("rate"))
    return _average_cells(share)


def average_reads(context: Context) -> Cells:
    """Reads a second of the busiest block device, by candidate and point: mean of valid windows."""
    return _average_cells(
        _sum_rates(context, metrics.BLOCK, (metrics.OPERATIONS["read"][0],), "max")
    )


def _sum_rates(
    context: Context, collector: str, wanted: tuple[str, ...], of_several: str
) -> pl.DataFrame:
    mine = (pl.col("collector") == collector) & pl.col("metric").is_in(wanted)
    value = pl.col("mean").sum() if of_several == "sum" else pl.col("mean").max()
    keys = ("window_id", "candidate", "point", "metric")
    windows = context.valid_means.filter(mine).group_by(*keys, maintain_order=True)
    return windows.agg(value.alias("rate"))


def _average_cells(frame: pl.DataFrame) -> Cells:
    cells = frame.group_by("candidate", "point").agg(pl.col("rate").mean())
    return {(name, point): rate for name, point, rate in cells.iter_rows()}


def _make_step_row(name: str, each: ComparedPair) -> dict[str, Any]:
    assert each.against is not None  # a step has two ends
    effect = each.effect
    return {
        "factor": name, "candidate": each.b, "from": format_value(each.against.values[name]),
        "to": format_value(each.point.values[name]),
        **tables.make_effect_cells(each.metric, effect, "ratio"), "blocks": effect.pairs,
        "verdict": each.verdict.call.value if effect.low is not None else "not tested",
        "because": effect.missing_because or each.verdict.because,
    }  # fmt: skip


HITS_AXIS = Axis("Hits in the database's buffers", format=PERCENT)
READS_AXIS = Axis("Device reads per second")
BESIDE = {
    HITS_AXIS: ("hits", "the share of blocks found in the database's buffers"),
    READS_AXIS: ("device reads", "reads per second of the busiest block device"),
}
"""What is drawn beside throughput where it was sampled: in a title, and in a caption."""


def _draw_figures(context: Context) -> list[Drawn]:
    """One figure for each factor; nothing where only what the scenario lists varies."""
    draw_one = _draw_factor if "load" in context.tables else _draw_question
    evidence, names = context.evidence, list_factors(context)
    return [draw_one(replace(context, evidence=replace(evidence, factor=name)), name)
            for name in names]  # fmt: skip


def _draw_question(context: Context, name: str) -> Drawn:
    metric, stem = context.evidence.primary.metric, f"by-{name_text(name)}"
    lines, points = read_quantity_rows(context, metric)
    if not points:
        return Absent(stem, f"{metric.noun} against {name}", "no window has numbers")
    drawing, axis = Drawing(), make_axis(context, metric)
    return drawing.figure(
        context, stem, f"{begin_sentence(metric.noun)} against {name}",
        _draw_chart(context, drawing, axis, lines, points, width=WIDTH),
        _make_means_table(context, {axis: (lines, points)}),
        caption=f"{axis.title} against {name}, {_describe_rest(context)}. Small marks are windows, "
        "large ones the values of all valid windows"
        f"{', joined by lines' if context.is_joined else ''}."
        f"{explain_bars(points)}",
        description=f"Chart against {name}, for each candidate: "
        f"{', '.join(context.evidence.candidates)}.",
    )  # fmt: skip


def _draw_factor(context: Context, name: str) -> Drawn:
    throughput = context.evidence.throughput
    lines, points = read_window_rows(context, throughput.known.column)
    stem = f"by-{name_text(name)}"
    if not lines:
        because = "no valid window has numbers" if points else "no window has numbers"
        return Absent(stem, f"throughput against {name}", because)
    drawing = Drawing()
    panels = {
        Axis(throughput.title): (lines, points),
        HITS_AXIS: (_list_levels(context, average_hit_shares(context)), []),
        READS_AXIS: (_list_levels(context, average_reads(context)), []),
    }
    known = {axis: rows for axis, rows in panels.items() if rows[0]}
    joined = "lines join the means of valid windows"
    means = joined if context.is_joined else "large ones are the means of valid windows"
    charts = [_draw_chart(context, drawing, axis, *rows) for axis, rows in known.items()]
    beside_it = [BESIDE[axis] for axis in known if axis in BESIDE]
    of = ["throughput", *(brief for brief, _ in beside_it)]
    shown = [throughput.title, *(words for _, words in beside_it)]
    last = f", and {shown.pop()}," if beside_it else ""
    return drawing.figure(
        context, stem, f"{begin_sentence(format_list(of))} against {name}", place_beside(charts),
        _make_means_table(context, known),
        caption=f"{', '.join(shown)}{last} against {name}, {_describe_rest(context)}. Small marks "
        f"are windows; {means}.{explain_bars(points)}",
        description=f"Charts against {name}, for each candidate: "
        f"{', '.join(context.evidence.candidates)}.",
    )  # fmt: skip


def _describe_rest(context: Context) -> str:
    return context.at(drop_factor(context.evidence.levels[0], context.axis.name))


def _list_levels(context: Context, cells: Mapping[tuple[str, str], float]) -> Rows:
    return [
        {**context.place(point), "candidate": name, "value": cells[name, str(point)]}
        for name in context.evidence.candidates
        for point in context.evidence.levels
        if (name, str(point)) in cells
    ]


def _draw_chart(
    context: Context,
    drawing: Drawing,
    axis: Axis,
    lines: Rows,
    points: Rows,
    width: int = (WIDTH + 20) // 3 - 30,
) -> Spec:
    drawn = points or [
        {**row, "block": 0, "valid": True, "note": "all valid windows"} for row in lines
    ]
    panel = Panel(
        lines, drawn, (0.0, 1.0) if axis is HITS_AXIS else None, axis.title, width, 230,
        first=False, joined=context.is_joined,
    )  # fmt: skip
    return draw_by_level(context, drawing, axis, panel)


def _make_means_table(context: Context, panels: Mapping[Axis, tuple[Rows, Rows]]) -> PageTable:
    rows = [{"what": axis.title, **row} for axis, (lines, _) in panels.items() for row in lines]
    shows = (
        Show("what", "what"), context.axis_show, Show("candidate", "candidate"),
        Show("value", "mean", "rate"),
    )  # fmt: skip
    name = f"by-{name_text(context.axis.name)}"
    return PageTable(
        name, f"Means against {context.axis.name}", shows, pl.DataFrame(rows).drop("level")
    )


PLUGINS = (
    SectionKind(
        NAME, 15, lambda page: f"What {' and '.join(list_factors(page.context))} changed",
        _set_factors,
        draw_figures=lambda page: _draw_figures(page.context),
        make_tables=lambda page: [make_values_table(page.context), make_steps_table(page.context)],
    ),
)  # fmt: skip
