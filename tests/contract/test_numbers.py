"""Each figure draws the values of its table, and those have a second way in `tests/recompute/`.

That the values follow from the run's files is for `test_recomputed`; what figures and sentences say
is in `test_numbers_said`.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

from recompute.figures import source_of
from stithy.registry import plugins
from stithy.report.context import context_of
from stithy.report.figure import Figure
from stithy.results.manifest import CostFacts, LimitFacts
from stithy.results.read import read_run
from support.sample_run import Shape, build_run, window_id

SHAPE = Shape(
    repeat=4, logs=True, drives={"disk": 0.0},
    limit=LimitFacts(percentile="p95", transaction="new-order", limit_s=0.1),
    costs={name: CostFacts(amount=100.0, currency="EUR") for name in ("disk", "memory")},
    canaries=dict.fromkeys(
        (window_id(name, 4, 0) for name in ("disk", "memory")), {"one_rounds_per_s": 90_000.0}
    ),
)  # fmt: skip

MS = 1000.0
DRAWN: Mapping[str, float] = {
    "nopm-by-users": 1.0, "tpm-by-users": 1.0, "tpm-per-user": 1.0, "response-by-users": MS,
    "wal-by-users": 1.0, "wal-syncs-by-users": 1.0, "blocks-read-by-users": 1.0,
    "device-latency": MS, "device-rate": 1.0,
}  # fmt: skip
"""Figures whose points are their table's values, each with the scale from table to drawing."""


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Figure]:
    """All that a run with everything draws, by name."""
    root: Path = build_run(tmp_path_factory.mktemp("numbers") / "run", SHAPE).root
    context = context_of(read_run(root))
    drawn = [each for family in plugins("figure").values() for each in family.draw(context)]
    return {each.name: each for each in drawn if isinstance(each, Figure)}


def test_every_figure_has_a_second_way_to_its_numbers(figures: Mapping[str, Figure]) -> None:
    """A new one without fails; the set-up has words alone."""
    assert len(figures) > 20
    assert {name for name in figures if source_of(name) is None} == {"set-up"}


@pytest.mark.parametrize("name", DRAWN)
def test_each_value_of_the_table_is_a_point_of_the_drawing(
    name: str, figures: Mapping[str, Figure]
) -> None:
    """To six digits."""
    figure = figures[name]
    points = {
        float(f"{row['value']:.6g}")
        for data in figure.spec["datasets"].values()
        for row in data
        if isinstance(row.get("value"), int | float)
    }
    told = figure.table.frame["value"].to_list()
    assert {float(f"{value * DRAWN[name]:.6g}") for value in told} <= points
