"""Sweeps of block I/O: which figures a study has, what they hold, and what is left out."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from stithy.analysis.evidence import Evidence
from stithy.analysis.measures import Measure
from stithy.metrics import Quantity
from stithy.point import Point, Value
from stithy.registry import plugins
from stithy.report.blocks import Figure, SectionKind
from stithy.report.context import Context
from stithy.report.page import Page
from support.drawn import context_built, rows_in
from support.sample_run import Shape

SECTION = plugins(SectionKind)["sweeps"]

SIZE, DEPTH = "scenario.block-io.block_size", "scenario.block-io.queue_depth"
KIB, MIB = 2**10, 2**20
SIZES = {"4 KiB": 4 * KIB, "64 KiB": 64 * KIB, "1 MiB": MIB}
NAMES = ("gp3", "io2")


@pytest.fixture(scope="module")
def some(tmp_path_factory: pytest.TempPathFactory) -> Context:
    """Any run: what the sweep was is put in its place."""
    shape = Shape(candidates=NAMES, users=(4,), duration_s=2, series=False)
    return context_built(tmp_path_factory.mktemp("some"), shape)


def page(some: Context, key: str, values: Sequence[Value], profiles: Sequence[str]) -> Page:
    """Two candidates, one twice as fast; p99 is known of the first value alone."""
    points = tuple(
        Point((("profile", profile), (key, value))) for profile in profiles for value in values
    )
    cells = [(name, point) for name in NAMES for point in points]
    iops = {
        cell: (1 + NAMES.index(cell[0])) * 1000.0 / (1 + points.index(cell[1])) for cell in cells
    }
    size = {cell: SIZES.get(str(cell[1].values[key]), 8 * KIB) for cell in cells}
    measures = {
        "iops": iops, "bytes_per_s": {cell: iops[cell] * size[cell] for cell in cells},
        "p99": {cell: 0.002 for cell in cells if cell[1].values[key] == values[0]},
    }  # fmt: skip
    evidence = Evidence(
        NAMES, points, (),
        measures={Quantity(f"fio.{each}"): Measure({}, of) for each, of in measures.items()},
    )  # fmt: skip
    return Page(replace(some, evidence=evidence))


def drawn(page: Page) -> list[Figure]:
    """Its sweeps."""
    return [figure for figure in SECTION.draw_figures(page) if isinstance(figure, Figure)]


def test_a_sweep_of_block_sizes_has_requests_bandwidth_and_latency(some: Context) -> None:
    """In rising order whatever the study's; what is not known has no mark and no 0."""
    [figure] = drawn(page(some, SIZE, ["4 KiB", "1 MiB", "64 KiB"], ["sql"]))
    assert figure.title == (
        "sql: by block size, the most requests were 1,000/s on gp3 (at 4 KiB) "
        "and 2,000/s on io2 (at 4 KiB)"
    )
    rows = figure.table.frame.filter(candidate="gp3")
    assert rows["value"].to_list() == ["4 KiB", "64 KiB", "1 MiB"]
    assert rows["p99"].to_list() == [0.002, None, None]
    marks = {(row["candidate"], row["setting"], round(row["value"], 3)) for row in rows_in(figure)}
    assert ("io2", "1 MiB", 1000.0) in marks  # requests a second, and as many MiB
    assert {mark for mark in marks if mark[2] == 0} == set()
    assert {each[1] for each in marks if each[2] == 2.0} == {"4 KiB"}  # p99 in ms


def test_each_pattern_is_a_sweep_of_its_own(some: Context) -> None:
    """And all are in one table."""
    found = page(some, DEPTH, [1, 8], ["sql", "oltp-8k"])
    assert [each.title.split(":")[0] for each in drawn(found)] == ["sql", "oltp-8k"]
    assert len({each.name for each in drawn(found)}) == 2
    [table] = SECTION.make_tables(found)
    assert set(table.frame["sweep"]) == {"queue depth"}
    assert table.frame.height == 2 * 2 * len(NAMES)


@pytest.mark.parametrize(("key", "values", "scale"), [
    (SIZE, ["4 KiB", "64 KiB"], "log"),
    ("scenario.block-io.read_share", ["0%", "70%", "100%"], "linear"),
])  # fmt: skip
def test_shares_of_reads_begin_at_none(
    key: str, values: list[Value], scale: str, some: Context
) -> None:
    """Of which there is no logarithm."""
    [figure] = drawn(page(some, key, values, ["sql"]))
    axis = figure.spec["hconcat"][0]["layer"][0]["encoding"]["x"]
    assert axis["scale"]["type"] == scale
    assert len(axis["axis"]["values"]) == len(values)


def test_one_value_is_no_sweep(some: Context) -> None:
    """Nor is what is no key of the shape of requests."""
    assert drawn(page(some, SIZE, ["4 KiB"], ["sql"])) == []
    assert drawn(page(some, "scenario.block-io.size", ["1 GiB", "2 GiB"], ["sql"])) == []


@pytest.mark.parametrize(("values", "figures"), [([1, 4], 1), ([1, "data+log"], 0)])
def test_numbers_of_volumes_are_a_sweep_and_roles_are_none(
    some: Context, values: list[Value], figures: int
) -> None:
    """Words have no place along an axis; the table of all values has them."""
    assert len(drawn(page(some, "scenario.block-io.volumes", values, ["sql"]))) == figures
