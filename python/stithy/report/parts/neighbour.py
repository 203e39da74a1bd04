"""What of a neighbour the section and the figure need: its words, its moments, its cycles."""

from collections.abc import Callable, Iterator, Mapping
from statistics import fmean
from typing import Any

import polars as pl

from stithy.activity import names_in
from stithy.analysis.comparisons import pair_windows
from stithy.analysis.evidence import Window
from stithy.point import Point
from stithy.report.context import Context
from stithy.report.drawing.titles import named
from stithy.report.tables import PageTable, Show, table_of
from stithy.scenarios.noisy_neighbour.aggressor import known_aggressors
from stithy.scenarios.noisy_neighbour.plan import ALONE, NEIGHBOUR, OF_NEIGHBOURS
from stithy.scenarios.noisy_neighbour.spans import cycles, part_of, parts

DURATIONS = "neighbour-cycles"


def drawn_point(context: Context) -> Point | None:
    """Where figures show the neighbour; None where a study has none."""
    beside = [each for each in context.evidence.points if each.values.get(NEIGHBOUR, ALONE)]
    return context.asked_of(beside)


def paired(context: Context, candidate: str, point: Point) -> list[tuple[Window, Window]]:
    """The windows alone and with the neighbour of each block that has a valid one of both."""
    alone = point.replaced(NEIGHBOUR, ALONE)
    return list(pair_windows(context.evidence, candidate, point, alone))


def first_pair(context: Context, candidate: str, point: Point) -> tuple[Window, ...]:
    """Those of the first such block; none without any."""
    return next(iter(paired(context, candidate, point)), ())


def medians_said(
    context: Context, frame: pl.DataFrame, value: pl.Expr, by: Callable[[float, float], float],
    shown: Callable[[float, float], str],
) -> str:  # fmt: skip
    """The median of each candidate over the seconds of a frame, alone and with the neighbour."""
    medians = frame.group_by("candidate", "neighbour").agg(value.median().alias("median"))
    known = {(name, word): float(number) for name, word, number in medians.iter_rows()}
    both = {
        name: (known[name, "alone"], known[name, "with"])
        for name in context.evidence.candidates
        if {(name, "alone"), (name, "with")} <= known.keys()
    }
    return named(
        [*both], lambda name: by(*both[name]), lambda name: f"{shown(*both[name])} on {name}"
    )


def neighbour_said(context: Context, point: Point) -> str:
    """What the neighbour at a point is: `700 requests per second`."""
    level = int(point.values.get(NEIGHBOUR, ALONE))
    for window in context.evidence.windows:
        if window.point == point and (name := _aggressor(window)):
            return known_aggressors()[name].describe(level)
    return str(level)


def _aggressor(window: Window) -> str | None:
    """By the activity that was the neighbour's."""
    names = names_in(window.row["activity"])
    found = (each.removeprefix(OF_NEIGHBOURS) for each in names if each.startswith(OF_NEIGHBOURS))
    return next(found, None)


def durations(context: Context) -> PageTable:
    """How long the neighbour's cycles and their parts took, by candidate and point.

    As the figure of the same durations has them: of valid windows.
    """
    evidence = context.evidence
    rows = [
        row
        for point in evidence.points
        if point.values.get(NEIGHBOUR, ALONE) != ALONE
        for name in evidence.candidates
        for row in _rows(context, name, point)
    ]
    others = [each for each in context.factors if each != NEIGHBOUR]
    shows = (
        *(Show(each, each) for each in others), Show("candidate", "Candidate"),
        Show("neighbour", "Neighbour"), Show("what", "What"), Show("done", "Done", "count"),
        Show("failed", "Failed", "count"), Show("cut", "Cut by the end", "count"),
        Show("mean_s", "Mean", "duration"), Show("least_s", "Shortest", "duration"),
        Show("most_s", "Longest", "duration"),
    )  # fmt: skip
    return table_of(DURATIONS, "Cycles of the neighbour", shows, rows)


def _rows(context: Context, name: str, point: Point) -> Iterator[dict[str, Any]]:
    windows = context.evidence.valid_at(name, point)
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for window in windows:
        kinds.setdefault("cycle", []).extend(cycles(window.spans))
        for each in parts(window.spans):
            kinds.setdefault(str(part_of(each["name"])), []).append(each)
    values = context.factor_values(point)
    factors = {key: str(value) for key, value in values.items() if key != NEIGHBOUR}
    for what, spans in kinds.items():
        if spans:
            own = {"candidate": name, "neighbour": neighbour_said(context, point), "what": what}
            yield {**factors, **own, **_counted(spans)}


def _counted(spans: list[Mapping[str, Any]]) -> dict[str, Any]:
    outcomes = [each["outcome"] for each in spans]
    took = [each["to_s"] - each["from_s"] for each in spans if each["outcome"] == "done"]
    return {
        **{word: outcomes.count(word) for word in ("done", "failed", "cut")},
        "mean_s": fmean(took) if took else None,
        "least_s": min(took, default=None),
        "most_s": max(took, default=None),
    }
