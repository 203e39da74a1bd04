"""What every figure may know of a run."""

from pathlib import Path

from stithy.report.context import Context, context_of
from stithy.results.manifest import LimitFacts, SearchFacts
from stithy.results.read import read_run
from stithy.search import Limit
from support.sample_run import Shape, build_run

LIMIT = LimitFacts(percentile="p99", transaction="payment", limit_s=0.5)
SEARCH = SearchFacts(
    percentile="p95", transaction="new-order", limit_s=1.0, users_least=1, users_most=8
)


def context(folder: Path, shape: Shape) -> Context:
    """The context of a run of this shape."""
    build_run(folder, shape)
    return context_of(read_run(folder))


def test_the_limit_is_the_studys_or_that_of_an_older_runs_search(tmp_path: Path) -> None:
    """Without either there is none: no limit is ever made up."""
    assert context(tmp_path / "none", Shape()).limit is None
    of_study = context(tmp_path / "limit", Shape(limit=LIMIT)).limit
    assert of_study == Limit("p99", "payment", 0.5)
    of_search = context(tmp_path / "search", Shape(search=SEARCH)).limit
    assert of_search == Limit("p95", "new-order", 1.0)
