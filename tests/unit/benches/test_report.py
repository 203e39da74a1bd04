"""The bench of the report makes up whole runs, and judges what their reports cost."""

from pathlib import Path

import report
from fabricated import Size, fabricate
from stithy.report.context import context_of
from stithy.results.read import read_run

SMALL = Size(2, 2, 2, ramp_up_s=1, duration_s=3)


def test_a_made_up_run_is_read_without_a_problem(tmp_path: Path) -> None:
    """Every file is there, every window is valid, and latencies come from their sums."""
    fabricate(tmp_path / "run", SMALL)
    run = read_run(tmp_path / "run")
    assert run.problems == ()
    context = context_of(run)
    assert len(context.evidence.windows) == SMALL.windows
    assert len(context.evidence.merged) == 4
    assert run.series["second"].n_unique() == 4
    assert set(run.series["collector"]) >= {"cpu", "block", "database", "drive", "sampler"}


def test_targets_that_are_missed_are_named() -> None:
    """Of the page in proportion to its figures."""
    case = report.Case("x", SMALL, 15.0, 1_000)
    assert report.too_much(case, report.Cost(15.0, 1.0, 1_000, 3_600_000, 30)) == []
    missed = report.too_much(case, report.Cost(16.0, 1.0, 2_000, 3_600_001, 30))
    assert [each.split(" ", 1)[1] for each in missed] == [
        "seconds, 15 at most", "bytes of memory, 1,000 at most",
        "bytes of the page, 3,600,000 at most",
    ]  # fmt: skip
