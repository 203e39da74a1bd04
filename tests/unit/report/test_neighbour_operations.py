"""What the device does beside a neighbour, drawn from the samples of a pair of windows."""

from dataclasses import replace
from pathlib import Path
from statistics import median

import polars as pl

from stithy.plan.scenarios.noisy_neighbour import ALONE
from stithy.point import Point
from stithy.report.figure import Absent, Figure
from stithy.report.figures import neighbour_operations
from support.drawn import context_built
from support.sample_run import Shape

LEVELS = {1: ALONE, 4: 700}
"""The neighbour that stands for a level of the made-up run."""


def test_each_second_is_that_of_the_busiest_device_alone_and_with_the_neighbour(
    tmp_path: Path,
) -> None:
    """Of the median second the title tells; without samples the reason is there."""
    context = context_built(tmp_path, Shape(users=(1, 4)))
    points = {users: Point.of(users=8, neighbour=asked) for users, asked in LEVELS.items()}
    windows = tuple(
        replace(each, row={**each.row, "point": str(points[each.point.level])})
        for each in context.evidence.windows
    )
    evidence = replace(context.evidence, windows=windows, points=tuple(points.values()))
    [figure] = neighbour_operations.draw(replace(context, evidence=evidence))
    assert isinstance(figure, Figure)
    frame = figure.table.frame
    sides = frame.select("candidate", "neighbour").unique().sort("candidate", "neighbour").rows()
    assert sides == [(name, word) for name in ("disk",) for word in ("alone", "with")]
    with_it = frame.filter(neighbour="with")
    done = (with_it["reads_per_s"] + with_it["writes_per_s"]).to_list()
    assert f" and {median(done):,.0f} on disk" in figure.title
    window = next(each for each in windows if each.candidate == "disk" and each.point == points[4])
    samples = context.run.samples.of("block", ["writes_per_s"], {window.id})
    measured = samples.filter(pl.col("second") >= 0.5)["value"].to_list()
    assert with_it["writes_per_s"].to_list() == measured
    none = replace(evidence, windows=())
    [absent] = neighbour_operations.draw(replace(context, evidence=none))
    assert isinstance(absent, Absent)
    assert neighbour_operations.draw(context) == []
