"""What limited each window, in tables."""

from dataclasses import replace
from pathlib import Path

from stithy.analysis.limits.judge import judge
from stithy.analysis.limits.sight import Cpus
from stithy.report.context import Context, context_of
from stithy.report.parts import limit_tables
from stithy.results.read import read_run
from support.sample_run import Shape, build_run
from support.sample_sight import disk, sessions, sight


def _context(root: Path, shape: Shape) -> Context:
    build_run(root, shape)
    return context_of(read_run(root))


def test_each_window_has_a_row_with_what_was_seen(tmp_path: Path) -> None:
    """What limited, what else held, and how much storage had of it at most."""
    context = _context(tmp_path, Shape(users=(4,)))
    full = sight(server=Cpus(1, 0.95), sessions=sessions(log=2.4, cpu=1.0), devices=disk(0.8))
    first = context.evidence.windows[0].id
    context.__dict__["limited"] = {first: replace(judge(full), window_id=first)}
    table = limit_tables.windows(context)
    assert [show.heading for show in table.columns] == [
        "Window", "Limited by", "What was seen", "What else holds", "Storage, at most",
    ]  # fmt: skip
    assert [cell.text for cell in table.cells()[0]] == [
        first, "the CPUs of the server", "the server's CPU was busy 95 % of the time",
        "waits for the commit log took 60 % of the users' time", "60 %",
    ]  # fmt: skip


def test_what_could_not_be_told_has_its_reason(tmp_path: Path) -> None:
    """What is so in all windows is told once, above them."""
    context = _context(tmp_path, Shape(users=(13,), candidates=("disk",)))
    table = limit_tables.windows(context)
    (row,) = table.frame.to_dicts()
    assert row["by"] == "not determined"
    assert row["silent"] == (
        "the IOPS or bandwidth of the storage: vda was in use 95 % of the time, and what it can do "
        "at most is not known"
    )
    assert "silent" not in {show.column for show in table.columns}
    assert table.caption == f"What limited each window; in none could be told: {row['silent']}"


def test_levels_tell_what_limited_most_windows_of_each_candidate(tmp_path: Path) -> None:
    """With the share of the bound, and the number of windows where it was not all of them."""
    context = _context(tmp_path, Shape(users=(4,), repeat=2, candidates=("disk",)))
    full, other = judge(sight(server=Cpus(1, 0.95))), judge(sight())
    one, two = (window.id for window in context.evidence.windows)
    context.__dict__["limited"] = {one: full, two: other}
    (row,) = limit_tables.levels(context).cells()
    assert [cell.text for cell in row] == [
        "4", "the CPUs of the server (95 %), in 1 of 2 windows",
    ]  # fmt: skip


def test_a_run_that_nobody_watched_has_empty_tables(tmp_path: Path) -> None:
    """They are not printed then."""
    context = _context(tmp_path, Shape(series=False))
    assert limit_tables.windows(context).frame.is_empty()
    assert limit_tables.levels(context).frame.is_empty()
