"""What a study varies by `vary`, and what each step of it changed."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from stithy.analysis.comparisons import ComparedPair, compare_values
from stithy.analysis.verdict import Call
from stithy.point import Point, are_amounts, format_value, list_varied
from stithy.report import metrics, tables
from stithy.report.blocks import Block, Section, figures, grid, paragraph
from stithy.report.context import Context
from stithy.report.page import Page
from stithy.report.section import SectionKind
from stithy.report.tables import KINDS, PageTable, Show, table_of
from stithy.report.words.wording import exactly, factor, finely, listing

NAME = "factors"


class FactorsSection(SectionKind):
    """What a study varies by `vary`, and what each step of it changed."""

    name = NAME

    def make_tables(self, page: Page) -> Iterator[PageTable]:
        """The values, and the steps between them."""
        yield values(page.context)
        yield steps(page.context)

    def make_sections(self, page: Page) -> Iterator[Section]:
        """Where something varied that the scenario does not list itself."""
        names = factors(page.context)
        if names:
            heading = f"What {' and '.join(names)} changed"
            yield Section(self.name, 15, heading, tuple(_set_factors(page)))


def _set_factors(page: Page) -> Iterator[Block]:
    for text in sentences(page.context):
        yield from paragraph(text)
    yield from figures(page.drawn_in(NAME))
    yield from grid(page.tables["factors"])
    yield from grid(page.tables["factor-steps"])
    yield from paragraph(*notes(page.tables["factors"]), style="note")


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


def factors(context: Context) -> tuple[str, ...]:
    """What `vary` lists: keys of the study, by their path; a scenario's own factors have names."""
    return tuple(name for name in list_varied(context.evidence.points) if "." in name)


def notes(table: PageTable) -> tuple[str]:
    """How to read the tables of this section."""
    shown = {each.column for each in table.columns}
    return (" ".join([NOTE, *(text for name, text in NOTES.items() if name in shown)]),)


def values(context: Context) -> PageTable:
    """What every candidate did at each value, where the question is asked as to all else."""
    asked, throughput = context.evidence.primary.metric, context.evidence.throughput
    of_both = hit_shares(context), reads(context)
    rows = [
        _value(context, name, point, candidate, *of_both)
        for name in factors(context)
        for point in context.evidence.along(name)
        for candidate in context.evidence.candidates
    ]
    own = () if asked == throughput else (Show("asked", asked.label, KINDS[asked.known.unit]),)
    shows = (
        Show("factor", "Factor"), Show("value", "Value"), Show("candidate", "Candidate"), *own,
        Show("throughput", throughput.label, "count"), Show("p95_s", "p95", "duration"),
        Show("hit_share", "Hits in the server's buffers", "share"),
        Show("reads_per_s", "Device reads per second", "rate"),
        Show("windows", "Valid windows", "count"),
    )  # fmt: skip
    real = dict.fromkeys(("asked", "throughput"), pl.Float64)
    # Of a scenario without users and servers some columns say nothing.
    return table_of("factors", "What each value gave", shows, rows, **real).told(*KEYS)


def steps(context: Context) -> PageTable:
    """What each further value changed on each candidate, with its verdict."""
    rows = [
        _step(name, each)
        for name in factors(context)
        for each in compare_values(context.evidence, name)
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
    return tables.table_with("factor-steps", caption, shows, rows)


def sentences(context: Context) -> Iterator[str]:
    """What the steps of each factor changed on each candidate; what another one is worth."""
    for name in factors(context):
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
        ends = listing([format_value(each.point.values[name]) for each in losing])
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
        return f"{where} the ratio is {factor(effect.ratio)} in one round, without an interval"
    span = f"{finely(effect.low)} to {finely(effect.high)}"
    calls = {
        Call.EQUIVALENT: f", within the margin of {exactly(each.verdict.margin_share)}",
        Call.UNDECIDED: ", undecided",
    }
    return f"{where} the ratio is {finely(effect.ratio)} ({span}){calls.get(each.verdict.call, '')}"


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
        f"{_times(storage)}; {name} {value} instead of {at} on {first} gives "
        f"{_times(most)}."
    )


def _times(effect: Any) -> str:
    return f"{finely(effect.ratio)} times ({finely(effect.low)} to {finely(effect.high)})"


def _value(
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


def hit_shares(context: Context) -> Cells:
    """The share of blocks that the server found in its buffers, by candidate and point.

    The mean over the valid windows.
    """
    rates = _sum_rates(context, metrics.DATABASE, (metrics.BLOCKS_HIT, metrics.BLOCKS_READ), "sum")
    both = rates.pivot(on="metric", index=["window_id", "candidate", "point"], values="rate")
    if not {metrics.BLOCKS_HIT, metrics.BLOCKS_READ} <= {*both.columns}:
        return {}
    total = pl.col(metrics.BLOCKS_HIT) + pl.col(metrics.BLOCKS_READ)
    share = both.filter(total > 0).with_columns((pl.col(metrics.BLOCKS_HIT) / total).alias("rate"))
    return _means(share)


def reads(context: Context) -> Cells:
    """Reads a second of the busiest block device, by candidate and point: mean of valid windows."""
    return _means(_sum_rates(context, metrics.BLOCK, (metrics.OPERATIONS["read"][0],), "max"))


def _sum_rates(
    context: Context, collector: str, wanted: tuple[str, ...], of_several: str
) -> pl.DataFrame:
    mine = (pl.col("collector") == collector) & pl.col("metric").is_in(wanted)
    value = pl.col("mean").sum() if of_several == "sum" else pl.col("mean").max()
    keys = ("window_id", "candidate", "point", "metric")
    windows = context.valid_means.filter(mine).group_by(*keys, maintain_order=True)
    return windows.agg(value.alias("rate"))


def _means(frame: pl.DataFrame) -> Cells:
    cells = frame.group_by("candidate", "point").agg(pl.col("rate").mean())
    return {(name, point): rate for name, point, rate in cells.iter_rows()}


def _step(name: str, each: ComparedPair) -> dict[str, Any]:
    assert each.against is not None  # a step has two ends
    effect = each.effect
    return {
        "factor": name, "candidate": each.b, "from": format_value(each.against.values[name]),
        "to": format_value(each.point.values[name]),
        **tables.make_effect_cells(each.metric, effect, "ratio"), "blocks": effect.pairs,
        "verdict": each.verdict.call.value if effect.low is not None else "not tested",
        "because": effect.missing_because or each.verdict.because,
    }  # fmt: skip


PLUGINS = (FactorsSection(),)
