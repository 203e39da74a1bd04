"""Block I/O: sweeps, reads beside writes, rates, seconds; what each holds, and what is left out."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import polars as pl
import pytest

from stithy.analysis.evidence import Evidence
from stithy.analysis.measures import Measure
from stithy.metrics import Quantity
from stithy.point import Point, Value
from stithy.registry import plugins
from stithy.report.blocks import Figure, SectionKind
from stithy.report.context import Context
from stithy.report.page import Page
from stithy.scenarios.block_io.report import _describe_finding, _RatePlace, reads_writes
from stithy.scenarios.block_io.report.seconds import find_worst, sum_io_seconds
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


def drawn(page: Page, section: SectionKind = SECTION) -> list[Figure]:
    """Its sweeps, or the figures of another section."""
    return [figure for figure in section.draw_figures(page) if isinstance(figure, Figure)]


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


MATRIX = plugins(SectionKind)["reads-beside-writes"]

READS, WRITES = ["1000/s", "200/s"], ["0 MB", "100 MB", "20 MB"]


def make_matrix_page(
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
    [figure] = drawn(make_matrix_page(some, p99_everywhere=True), MATRIX)
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
    [figure] = drawn(make_matrix_page(some, p99_everywhere=False), MATRIX)
    assert "p95" in figure.title
    assert figure.caption.startswith("p95 of read latency")


def test_each_setting_of_what_else_varies_is_a_figure_of_its_own(some: Context) -> None:
    """Else cells of two would lie on each other; one table has all, and says which is which."""
    of_two = make_matrix_page(some, p99_everywhere=True, profiles=("first", "second"))
    figures = drawn(of_two, MATRIX)
    assert [each.title.partition(":")[0] for each in figures] == ["first", "second"]
    assert len({each.name for each in figures}) == 2
    assert {each.table.frame.height for each in figures} == {len(NAMES) * 6}
    [table] = MATRIX.make_tables(of_two)
    places = table.frame.select("profile", "candidate", "reads", "writes")
    assert (places.height, places.unique().height) == (2 * len(NAMES) * 6,) * 2


CLOSED = "closed loop"


def _places(candidate: str, states: Mapping[str, str]) -> list[_RatePlace]:
    """A place for each rate, with a state; each achieves 100/s more than the one before."""
    return [
        _RatePlace(candidate, Point((("rate", rate),)), None, 1000.0 + 100 * number,
               {"p50": 0.001, "p99": 0.002}, state)
        for number, (rate, state) in enumerate(states.items())
    ]  # fmt: skip


KEPT = {"10%": "", "50%": "requests late", "90%": "saturated", "max": CLOSED}
NEVER = {"10%": "saturated", "50%": "saturated", "max": CLOSED}


@pytest.mark.parametrize(("places", "said"), [
    (_places("a", KEPT), "highest rate without saturation 1,100/s on a (p99 2.00 ms)"),
    (_places("a", KEPT) + _places("b", NEVER),
     "highest rate without saturation 1,100/s on a (p99 2.00 ms), none on b"),
    (_places("a", NEVER),
     "every rate was saturated; as fast as it goes 1,200/s on a (p99 2.00 ms)"),
    (_places("a", {"10%": "saturated"}), "every rate was saturated"),
])  # fmt: skip
def test_a_rate_that_was_not_kept_is_never_the_highest_without_saturation(
    places: list[_RatePlace], said: str
) -> None:
    """Nor is the closed loop, which had no rate."""
    assert _describe_finding(places) == said


def _row(second: int, direction: str, requests: int, mean_s: float | None) -> dict[str, object]:
    return {
        "second": second,
        "direction": direction,
        "requests": requests,
        "latency_mean_s": mean_s,
    }


def test_the_latency_of_a_second_weighs_reads_and_writes_by_their_number() -> None:
    """90 reads of 1 ms and 10 writes of 11 ms take 2 ms on average."""
    (only,) = sum_io_seconds([_row(0, "read", 90, 0.001), _row(0, "write", 10, 0.011)])
    assert only.requests == 100
    assert only.mean_s == pytest.approx(0.002)


def test_a_second_without_an_answer_has_no_requests_and_no_latency() -> None:
    """It stands between those that have some: a pause is a gap of the line, never 0 ms."""
    found = sum_io_seconds([_row(2, "read", 5, 0.001), _row(0, "read", 7, 0.001)])
    assert [(each.second, each.requests) for each in found] == [(0, 7), (1, 0), (2, 5)]
    assert found[1].mean_s is None


def test_a_latency_that_is_missing_is_not_guessed_from_the_other_direction() -> None:
    """Half of a second's requests say nothing about the other half."""
    (only,) = sum_io_seconds([_row(0, "read", 5, 0.001), _row(0, "write", 5, None)])
    assert (only.requests, only.mean_s) == (10, None)
    assert sum_io_seconds([]) == []


def test_the_dot_of_a_candidate_stands_at_its_longest_latency() -> None:
    """The first of equal ones."""
    frame = pl.DataFrame(
        {"candidate": ["a", "b", "a", "a"], "second": [0, 0, 1, 2], "value": [1.0, 9.0, 4.0, 4.0]}
    )
    assert sorted(find_worst(frame).select("candidate", "second").rows()) == [("a", 1), ("b", 0)]
