"""What the device does beside a neighbour, drawn from the samples of a pair of windows."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from stithy.point import Point
from stithy.report.blocks import Absent
from stithy.report.context import Context
from stithy.report.words.wording import format_count
from stithy.scenarios.noisy_neighbour.declared import WHOLE, name_cycle
from stithy.scenarios.noisy_neighbour.plan import ALONE
from stithy.units import format_measured_duration
from support.drawn import context_built, draw_all, draw_one, rows_in
from support.sample_run import Shape

LEVELS = {1: ALONE, 4: 700}
"""The neighbour that stands for a level of the made-up run."""


def test_each_second_is_that_of_the_busiest_device_alone_and_with_the_neighbour(
    tmp_path: Path,
) -> None:
    """Without samples the reason is there."""
    context = _context(tmp_path)
    evidence, points = context.evidence, dict(zip(LEVELS, context.evidence.points, strict=True))
    windows = evidence.windows
    figure = draw_one("neighbour-operations", context)
    frame = figure.table.frame
    sides = frame.select("candidate", "neighbour").unique().sort("candidate", "neighbour").rows()
    assert sides == [(name, word) for name in ("disk",) for word in ("alone", "with")]
    with_it = frame.filter(neighbour="with")
    window = next(each for each in windows if each.candidate == "disk" and each.point == points[4])
    samples = context.run.samples.of("block", ["writes_per_s"], {window.id})
    measured = samples.filter(pl.col("second") >= 0.5)["value"].to_list()
    assert with_it["writes_per_s"].to_list() == measured
    none = replace(evidence, windows=())
    [absent] = draw_all("neighbour-operations", replace(context, evidence=none))
    assert isinstance(absent, Absent)
    levels = replace(evidence, points=(points[1],))
    assert draw_all("neighbour-operations", replace(context, evidence=levels)) == []


@pytest.mark.parametrize(("spans", "worked"), [
    ([], range(5, 25)),
    ([(WHOLE, -1.0, 1e6)], range(5, 25)),
    ([(WHOLE, -1.0, 1e6), (name_cycle(1), 2.0, 9.0)], range(5, 9)),
    ([(WHOLE, -1.0, 1e6), (name_cycle(1), 2.0, 4.5)], []),
])  # fmt: skip
def test_titles_have_medians_of_measured_seconds_in_which_the_neighbour_worked(
    tmp_path: Path, spans: list[Any], worked: Sequence[int]
) -> None:
    """Alone of all 20 after 5 of ramp-up; one that did not work in them has no number."""
    context = _with_work(_context(tmp_path), *spans)
    operations = draw_one("neighbour-operations", context)
    latency = draw_one("neighbour-latency", context)
    assert latency.table.frame["second"].unique().sort().to_list() == list(range(25))
    measured = {"alone": list(range(5, 25)), "with": list(worked)}
    done = pl.col("reads_per_s") + pl.col("writes_per_s")
    for figure, value in ((operations, done), (latency, pl.col("latency_s"))):
        medians = [
            figure.table.frame.filter(pl.col("second").is_in(seconds), neighbour=word)
            .select(value.median()).item()
            for word, seconds in measured.items()
        ]  # fmt: skip
        assert (" on disk" in figure.title) == bool(worked)
        said = format_measured_duration if figure is latency else format_count
        assert not worked or all(said(each) in figure.title for each in medians)


def _context(folder: Path) -> Context:
    """One candidate, alone and beside a neighbour of 700."""
    context = context_built(folder, Shape(users=(1, 4)))
    points = {users: Point.of(users=8, neighbour=asked) for users, asked in LEVELS.items()}
    windows = tuple(
        replace(each, row={**each.row, "point": str(points[each.point.level])})
        for each in context.evidence.windows
    )
    evidence = replace(context.evidence, windows=windows, points=tuple(points.values()))
    return replace(context, evidence=evidence)


def _with_work(context: Context, *spans: tuple[str, float, float]) -> Context:
    """As if the neighbour's spans lay so many seconds after the users' start."""
    evidence = context.evidence
    windows = tuple(
        replace(each, spans=tuple(
            {"name": name, "outcome": "done", "from_s": each.row["started_at_s"] + begin,
             "to_s": each.row["started_at_s"] + end}
            for name, begin, end in spans if each.point.values["neighbour"]
        ))
        for each in evidence.windows
    )  # fmt: skip
    return replace(context, evidence=replace(evidence, windows=windows))


@pytest.mark.parametrize(("spans", "shown", "said"), [
    ([(WHOLE, -1.0, 1e6)], [], "(right) at work from the first second to the last. Both"),
    ([(WHOLE, 2.0, 3.0)], [(2.0, 3.0)], "(right); bars at the bottom show when it worked"),
    ([(WHOLE, -1.0, 1e6), (name_cycle(1), 1.0, 2.0)], [(1.0, 2.0)],
     "(right); bars at the bottom show when it worked"),
    ([], [], "(right). Both windows"),
])  # fmt: skip
def test_when_the_neighbour_worked_is_marked_unless_it_worked_throughout(
    tmp_path: Path, spans: list[Any], shown: list[Any], said: str
) -> None:
    """By its cycles, or by its work between two rests; in all strips, below the lines."""
    context = _with_work(_context(tmp_path), *spans)
    figure = draw_one("neighbour-operations", context)
    assert said in figure.caption
    found = [(round(row["from"], 3), round(row["to"], 3))
             for row in rows_in(figure) if "from" in row]  # fmt: skip
    assert sorted(set(found)) == shown
