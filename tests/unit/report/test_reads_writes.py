"""The matrix of reads beside writes: its order, its percentile, its saturated cells."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import pytest

from stithy.analysis.evidence import Evidence
from stithy.analysis.measures import Measure
from stithy.metrics import Quantity
from stithy.point import Point
from stithy.registry import plugins
from stithy.report.blocks import Figure, SectionKind
from stithy.report.context import Context
from stithy.report.page import Page
from stithy.scenarios.block_io.report import reads_writes
from support.drawn import context_built, rows_in
from support.sample_run import Shape

SECTION = plugins(SectionKind)["reads-beside-writes"]

READS, WRITES = ["1000/s", "200/s"], ["0 MB", "100 MB", "20 MB"]
NAMES = ("gp3", "io2")


@pytest.fixture(scope="module")
def some(tmp_path_factory: pytest.TempPathFactory) -> Context:
    """Any run: what was measured is put in its place."""
    shape = Shape(candidates=NAMES, users=(4,), duration_s=2, series=False)
    return context_built(tmp_path_factory.mktemp("some"), shape)


def page(
    some: Context, *, p99_everywhere: bool, profiles: Sequence[str] = ("reads-beside-writes",)
) -> Page:
    """io2 reads in 1 ms, gp3 in one more for each 10 MB written."""
    points = [
        Point((("profile", profile), (reads_writes.READS, r), (reads_writes.WRITES, w)))
        for profile in profiles
        for r, w in product(READS, WRITES)
    ]
    slow = {"0 MB": 0.001, "20 MB": 0.003, "100 MB": 0.011}
    cells = {
        (name, point): 0.001 if name == "io2" else slow[str(point.values[reads_writes.WRITES])]
        for name in NAMES
        for point in points
    }
    known = cells if p99_everywhere else dict(list(cells.items())[1:])
    found = {"p99": known, "p95": cells, "p50": cells, "iops": dict.fromkeys(cells, 200.0)}
    measures = {Quantity(f"fio.{each}", "read"): Measure({}, of) for each, of in found.items()}
    evidence = Evidence(NAMES, tuple(points), (), measures=measures)
    return Page(replace(some, evidence=evidence))


def test_rates_and_bandwidths_rise_whatever_the_order_of_the_study(some: Context) -> None:
    """The title tells from the fewest to the most writes."""
    [figure] = [
        figure
        for figure in SECTION.draw_figures(page(some, p99_everywhere=True))
        if isinstance(figure, Figure)
    ]
    assert figure.title == (
        "From 0 MB to 100 MB written per second, the p99 of 200/s reads went from 1.00 ms to "
        "11.0 ms on gp3 and from 1.00 ms to 1.00 ms on io2"
    )
    frame = figure.table.frame.filter(candidate="gp3")
    assert frame["reads"].unique(maintain_order=True).to_list() == ["200/s", "1000/s"]
    assert frame["writes"].to_list()[:3] == ["0 MB", "20 MB", "100 MB"]
    assert {row["class"] for row in rows_in(figure) if row["text"] == "1.00 ms"} == {0}


def test_the_percentile_is_one_that_all_cells_have_enough_reads_for(some: Context) -> None:
    """Else colours of cells would not be of the same thing."""
    [figure] = [
        figure
        for figure in SECTION.draw_figures(page(some, p99_everywhere=False))
        if isinstance(figure, Figure)
    ]
    assert "p95" in figure.title
    assert figure.caption.startswith("p95 of read latency")


def test_each_setting_of_what_else_varies_is_a_figure_of_its_own(some: Context) -> None:
    """Else cells of two would lie on each other; one table has all, and says which is which."""
    of_two = page(some, p99_everywhere=True, profiles=("first", "second"))
    drawn = [figure for figure in SECTION.draw_figures(of_two) if isinstance(figure, Figure)]
    assert [each.title.partition(":")[0] for each in drawn] == ["first", "second"]
    assert len({each.name for each in drawn}) == 2
    assert {each.table.frame.height for each in drawn} == {len(NAMES) * 6}
    [table] = SECTION.make_tables(of_two)
    places = table.frame.select("profile", "candidate", "reads", "writes")
    assert (places.height, places.unique().height) == (2 * len(NAMES) * 6,) * 2
