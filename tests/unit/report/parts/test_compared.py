"""What was compared, at a glance."""

from pathlib import Path

from stithy.report.context import context_of
from stithy.report.page import FACTS_MOST, build
from stithy.report.parts.compared import GLANCE, table
from stithy.report.parts.facts import tables
from stithy.results.layout import RunDirectory
from stithy.results.manifest import LimitFacts
from stithy.results.read import read_run
from support.sample_run import Shape, build_run, window_id


def facts(folder: Path, shape: Shape) -> dict[str, str]:
    """The facts of a run of this shape."""
    build_run(folder, shape)
    return dict(table(context_of(read_run(folder))).frame.iter_rows())


def test_candidates_database_work_and_windows_are_told(tmp_path: Path) -> None:
    """In words, with what the study set and how often each level was measured."""
    told = facts(
        tmp_path,
        Shape(
            repeat=2,
            left_out=frozenset({window_id("disk", 1, 1), window_id("memory", 1, 1)}),
            changes={window_id("disk", 4, 0): {"errors": 3}},
            limit=LimitFacts(percentile="p95", transaction="all", limit_s=0.5),
            duration_s=4,
        ),
    )
    assert told["candidates"] == "disk and memory"
    assert told["database"] == "postgresql 15.13"
    assert told["its settings in the study"] == "shared_buffers = 384MB"
    assert told["its memory"] == "memory limit 1 GiB, page cache included"
    assert told["workload"] == "order-entry, 10 warehouses"
    assert told["levels"] == "1, 4 and 13 users"
    assert told["blocks"] == "2 at 4 and 13 users; 1 at 1 user"
    assert told["windows"] == "10, of them 9 valid; each 5 s of ramp-up, then 4 s measured"
    assert told["limit of response time"] == "p95 of all ≤ 500 ms"


def test_without_a_limit_none_is_told(tmp_path: Path) -> None:
    """The row is not there."""
    assert "limit of response time" not in facts(tmp_path, Shape(users=(1,), duration_s=4))


def test_without_a_manifest_nothing_is_told(tmp_path: Path) -> None:
    """The page says that it could not be read."""
    build_run(tmp_path, Shape(users=(1,), duration_s=4))
    RunDirectory(tmp_path).manifest.unlink()
    assert table(context_of(read_run(tmp_path))).frame.is_empty()


def test_the_tables_on_what_was_compared_are_among_the_facts(tmp_path: Path) -> None:
    """A renamed one would move to the end of the page without a word."""
    build_run(tmp_path, Shape(drives={"disk": 0.0}, duration_s=4))
    made = read_run(tmp_path).manifest
    assert made is not None
    assert set(GLANCE) <= {each.name for each in tables(made)}


def test_long_tables_of_facts_stand_after_the_results_and_the_page_says_so(tmp_path: Path) -> None:
    """Nobody leafs through settings of the kernel to a result; short tables stay."""
    build_run(tmp_path, Shape(users=(1,), duration_s=4, series=False, drives={"disk": 0.0}))
    made = build(context_of(read_run(tmp_path)))
    early, late = made.facts_early, made.facts_late
    assert all(each.frame.height <= FACTS_MOST for each in early)
    assert {each.name for each in (*early, *late)} == {each.name for each in made.facts}
    moved = [each for each in late if each.name in GLANCE]
    assert moved
    assert all(f"“{each.caption}”" in made.facts_moved for each in moved)
