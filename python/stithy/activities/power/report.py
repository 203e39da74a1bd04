"""Power: what each candidate drew, how much energy an order took, and what the meters saw."""

from collections.abc import Iterator, Sequence
from typing import Any

from stithy.activities.power.declared import METRICS
from stithy.analysis.evidence import Evidence
from stithy.metrics import ALL, Quantity
from stithy.point import Point
from stithy.power import ABOVE_IDLE_W, JOULES, MARGINAL, MEAN_W, METERS, NAME, SAMPLED, STATED
from stithy.report.blocks import (
    Block,
    Drawn,
    SectionKind,
    set_bullets,
    set_figures,
    set_grid,
    set_paragraph,
)
from stithy.report.context import Context
from stithy.report.page import Page
from stithy.report.sections.measured import draw_metric
from stithy.report.tables import KINDS, PageTable, Show, make_table
from stithy.report.words.wording import format_measured
from stithy.results.tables import Row
from stithy.statements import Statement, Styled, join_list

TITLE = "Power"
SHOWN = (MEAN_W, ABOVE_IDLE_W, JOULES, MARGINAL)
EQUAL_SHARE = 0.02
"""Own: throughputs that differ by less are an equal load, as the usual margin has it."""

NOTE = (
    "Mean power: of the samples within the measurement, of all valid windows; a meter that sees "
    "the storage of several candidates counts all of it in each. Above idle: without what the "
    "machine drew before the first window, with all volumes and without a server that Stithy "
    "starts; so it has what that server draws by running, and the load driver where the meter sees "
    "it. It is more than an additional order takes. Energy per order: mean power for each order a "
    "second, by the workload's own metric."
)


def list_meters(context: Context) -> list[Row]:
    """List the meters of a run, a row for each candidate; none where nothing was measured."""
    return list(context.run.detail(METERS.name).to_dicts())


def find_equal_load(evidence: Evidence) -> Point | None:
    """Find the last point at which all candidates have the same throughput, and a power."""
    equal = [point for point in evidence.points if _is_equal(evidence, point)]
    return equal[-1] if equal else None


def _is_equal(evidence: Evidence, point: Point) -> bool:
    done, drawn = (
        [evidence.level_of(name, point, quantity) for name in evidence.candidates]
        for quantity in (evidence.throughput, Quantity(MEAN_W))
    )
    known = [value for value in done if value]
    if None in drawn or len(known) < len(done):
        return False
    return max(known) <= (1 + EQUAL_SHARE) * min(known)


def describe_equal_load(context: Context, meters: Sequence[Row]) -> Iterator[str]:
    """Say what candidates draw under the same load, or that there is none."""
    evidence = context.evidence
    if len(evidence.candidates) < 2 or "load" not in context.tables:
        return
    point = find_equal_load(evidence)
    if point is None:
        yield (
            "At no point do all candidates have the same throughput (within 2 %) and a power, so "
            "power is not compared at equal load."
        )
        return
    counted = [meter["stated"] for meter in meters if meter["counted"] and meter["meter"] != ALL]
    part = "" if all(counted) else ", in part"
    values = {name: evidence.level_of(name, point, Quantity(MEAN_W)) or 0.0
              for name in evidence.candidates}  # fmt: skip
    parts = [Statement("{candidate} draws {mean_w}", candidate=name,
                       mean_w=Styled(watts, format_measured(watts, "W")))
             for name, watts in values.items()]  # fmt: skip
    yield Statement(
        "At equal load ({where}), {parts}{how}.",
        where=point.at(context.level_unit), parts=join_list(parts),
        how=f"{part} by the watts that drive profiles state" if any(counted) else "",
    )  # fmt: skip


def describe_meters(meters: Sequence[Row]) -> Iterator[str]:
    """Say of each meter what it sees, and what it does not."""
    said = dict.fromkeys(
        f"{row['meter']} ({row['kind']}) measures {row['sees']}. It does not see {row['misses']}."
        for row in meters
        if row["meter"] != ALL
    )
    yield from said
    if any(row["stated"] for row in meters):
        yield STATED


def _make_tables(page: Page) -> Iterator[PageTable]:
    context = page.context
    evidence, meters = context.evidence, list_meters(context)
    rows: list[dict[str, Any]] = []
    for point in evidence.points if meters else ():
        for name in evidence.candidates:
            cells = {each: evidence.level_of(name, point, Quantity(each))
                     for each in (*SHOWN, SAMPLED)}  # fmt: skip
            if set(cells.values()) != {None}:
                rows.append({**context.list_factor_values(point), "candidate": name, **cells})
    known = {metric.name: metric for metric in METRICS}
    shows = (
        *context.factor_shows, Show("candidate", "Candidate"),
        *(Show(name, known[name].label, KINDS[known[name].unit]) for name in SHOWN),
        Show(SAMPLED, known[SAMPLED].label, "share"),
    )  # fmt: skip
    yield make_table(NAME, TITLE, shows, rows, **context.factor_types).told("candidate")
    asked = evidence.choose_asked(evidence.points)
    shows = (
        Show("candidate", "Candidate"), Show("meter", "Meter"), Show("counted", "Counted", "truth"),
        Show("resolution", "Step"), Show("every_s", "New value each", "duration"),
        Show("mean_w", f"Mean {asked.at(context.level_unit)}" if asked else "Mean", "watts"),
        Show("idle_w", "Idle", "watts"), Show("idle_s", "Idle for", "duration"),
        Show("missing_because", "Idle is missing because"),
    )  # fmt: skip
    # What several meters come to stands above; of a single one that would be said twice.
    rows = [
        {**meter, "mean_w": asked and evidence.level_of(
            meter["candidate"], asked, Quantity(MEAN_W, meter["meter"]))}
        for meter in meters if meter["meter"] != ALL
    ]  # fmt: skip
    yield make_table(METERS.name, "Meters, and the idle machine", shows, rows).told("candidate")


def _draw_figures(page: Page) -> Iterator[Drawn]:
    if list_meters(page.context):
        for metric in METRICS:
            if metric.name in (MEAN_W, JOULES):
                yield from draw_metric(page.context, metric)


def set_power(page: Page) -> Iterator[Block]:
    """Set the section of a run with meters."""
    meters = list_meters(page.context)
    if not meters:
        return
    equal = describe_equal_load(page.context, meters)
    yield from set_bullets([*equal, *describe_meters(meters)], "")
    yield from set_figures(page.find_drawn(NAME))
    yield from set_grid(page.tables[NAME])
    yield from set_grid(page.tables[METERS.name])
    yield from set_paragraph(NOTE, f"{page.context.footer}.", style="note")


PLUGINS = (
    SectionKind(
        NAME, 24, TITLE, set_power, make_tables=_make_tables, draw_figures=_draw_figures,
        list_covered=lambda page: [metric.name for metric in METRICS] if list_meters(page.context)
        else [],
        covers_points=True,
    ),
)  # fmt: skip
