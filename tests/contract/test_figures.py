"""Every figure family keeps the interface, and draws only what its data support."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from recompute.figures import source_of
from stithy.activity import TAKEN
from stithy.collectors.collector import Collector
from stithy.registry import plugins
from stithy.report import metrics
from stithy.report.blocks import Absent, Figure, FigureKind
from stithy.report.context import Context
from stithy.report.page import Page
from stithy.results.manifest import LimitFacts
from support.drawn import context_built
from support.priced import PRICING, make_pricing
from support.sample_run import Shape, window_id

FAMILIES = plugins(FigureKind)
LIMIT = LimitFacts(percentile="p95", transaction="new-order", limit_s=0.1)

UNASKED = {
    "backup-durations", "backup-frontier", "backup-seconds", "durability-recovery",
    "failure-seconds", "migration-seconds",
    "neighbour-durations", "neighbour-latency", "neighbour-operations", "neighbour-throughput",
    "throughput-by-tenant",
}  # fmt: skip
"""What only a study that varies more than users, has backups, faults or tenants, asks for. They are
drawn by `unmeasured/test_faked.py`, `unit/report/test_backups.py`,
`unit/report/test_neighbours.py`, `e2e/test_failure.py` and `e2e/test_migration.py`."""


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Context:
    """A run with everything: limit, costs, enough blocks for a verdict, a changed machine."""
    odd = {window_id(name, 4, 0): {"one_rounds_per_s": 90_000.0} for name in ("disk", "memory")}
    usual = Shape(repeat=4, logs=True, drives={"disk": 0.0}, limit=LIMIT, pricing=PRICING)
    return context_built(tmp_path_factory.mktemp("full"), replace(usual, baselines=odd))


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Context:
    """A run without windows."""
    gone = frozenset(window_id(name, 1, 0) for name in ("disk", "memory"))
    shape = Shape(users=(1,), left_out=gone, limit=LIMIT, pricing=PRICING)
    return context_built(tmp_path_factory.mktemp("empty"), shape)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_a_full_run_gives_figures_with_all_their_texts(family: FigureKind, full: Context) -> None:
    """In their place; the common footer, data, and a specification in plain JSON."""
    drawn = family.draw(full)
    assert drawn or family.name in UNASKED
    for figure in drawn:
        assert isinstance(figure, Figure), figure
        assert "Closed loop" in figure.footer
        assert "5 s ramp-up, 20 s measured" in figure.footer
        assert "memory limit 1 GiB" in figure.footer
        assert figure.table.frame.height > 0
        assert json.loads(json.dumps(figure.spec)) == figure.spec


def test_every_figure_of_a_full_run_stands_in_a_section(full: Context) -> None:
    """Of a family whose section does not show it a reader would never know."""
    page = Page(full)
    assert {each.name for _, each in page.drawn} == {each.name for each in page.figures}


def test_no_factor_may_be_called_as_another_column_beside_it(full: Context) -> None:
    """One of the two would stand for the other, in a table or in the rows of a drawing."""
    page = Page(full)
    figures = [each for each in page.figures if each.name != "set-up"]
    tables = [each.frame.columns for each in (*page.tables.values(), *(f.table for f in figures))]
    rows = [row for each in figures for rows in each.spec["datasets"].values() for row in rows]
    found = {name for names in (*tables, *rows) if "users" in names for name in names}
    assert {name for name in found if ":" not in name} - {"users"} <= TAKEN


MS = 1000.0
DRAWN: Mapping[str, float] = {
    "throughput-by-users": 1.0, "response-by-users": MS,
    "log-by-users": 1.0, "log-syncs-by-users": 1.0, "blocks-read-by-users": 1.0,
    "device-latency": MS, "device-rate": 1.0,
}  # fmt: skip
"""Figures whose points are their table's values, each with the scale from table to drawing."""


def test_each_value_of_a_table_is_a_point_of_its_drawing(full: Context) -> None:
    """To six digits; that tables follow from the files is for `test_recomputed`. No name twice."""
    drawn = [each for family in FAMILIES.values() for each in family.draw(full)]
    assert len({each.name for each in drawn}) == len(drawn)
    figures = {each.name: each for each in drawn if isinstance(each, Figure)}
    assert {name for name in figures if source_of(name) is None} == {"set-up"}
    for name, scale in DRAWN.items():
        rows = [row for data in figures[name].spec["datasets"].values() for row in data]
        values = [row["value"] for row in rows if isinstance(row.get("value"), int | float)]
        shown = figures[name].table.frame["value"].to_list()
        assert {float(f"{each * scale:.6g}") for each in shown} <= {
            float(f"{each:.6g}") for each in values
        }, name


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_a_run_without_windows_gives_reasons(family: FigureKind, empty: Context) -> None:
    """Never an empty chart."""
    drawn = family.draw(empty)
    assert drawn or family.name in UNASKED
    assert all(isinstance(each, Absent) and each.because for each in drawn)


def test_names_of_candidates_never_stand_in_an_expression(tmp_path: Path) -> None:
    """Vega evaluates expressions; a name there would be code."""
    name = "datum.evil"
    shape = Shape(
        candidates=("disk", name), users=(1, 4), repeat=4, logs=True, drives={"disk": 0.0},
        limit=LIMIT, pricing=make_pricing("disk", [name]),
    )  # fmt: skip
    context = context_built(tmp_path, shape)
    drawn = [figure for family in FAMILIES.values() for figure in family.draw(context)]
    found = [expression for figure in drawn if isinstance(figure, Figure)
             for expression in _expressions(figure.spec)]  # fmt: skip
    assert found
    assert [each for each in found if name in each] == []


def _expressions(value: object, key: str = "") -> list[str]:
    if isinstance(value, dict):
        return [found for k, v in value.items() for found in _expressions(v, k)]
    if isinstance(value, list):
        return [found for each in value for found in _expressions(each, key)]
    is_expression = key in ("expr", "filter", "calculate", "test", "labelExpr", "update")
    return [str(value)] if is_expression else []


def test_collectors_deliver_what_figures_draw() -> None:
    """A renamed metric would silently empty a figure."""
    declared = {
        name: {metric.name for metric in module.metrics}
        for name, module in plugins(Collector).items()
    }
    states = {state for parts in metrics.CPU_STATES.values() for state in parts}
    assert states == declared[metrics.CPU]
    operations = {name for names in metrics.OPERATIONS.values() for name in names if name}
    assert operations | {metrics.QUEUE} <= declared[metrics.BLOCK]
    assert {metrics.PRESSURE_SOME} <= declared[metrics.PRESSURE]
    assert {metrics.CGROUP_USED, metrics.CGROUP_CACHE} <= declared[metrics.CGROUP]
    database = {
        metrics.LOG_BYTES, metrics.LOG_SYNCS, metrics.BLOCKS_READ, metrics.WAITING,
        metrics.LAST_CHECKPOINT,
    }  # fmt: skip
    assert database <= declared[metrics.DATABASE]
