"""What the report tells of a search: each level with its windows, and what makes it doubtful."""

import pytest

from stithy.analysis.validity.reasons import Flag
from stithy.report.context import Context, context_of
from stithy.report.parts import searches
from stithy.results.manifest import SearchFacts
from stithy.results.read import read_run
from stithy.search import ResponseTarget, Search
from support.sample_run import Shape, build_run, window_id
from support.searched import SEARCH, evidence, window

FACTS = SearchFacts(
    percentile="p95",
    transaction="new-order",
    limit_s=0.072,
    users_least=1,
    users_most=3,
    alone=True,
)
LEVELS, BLOCKS = (1, 2, 3), (0, 1)
TRIED = {window_id("disk", users, block): {"tried": True} for users in LEVELS for block in BLOCKS}
SHAPE = Shape(
    candidates=("disk",), users=LEVELS, repeat=len(BLOCKS), duration_s=2, series=False,
    search=FACTS, changes=TRIED,
)  # fmt: skip


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Context:
    """A run whose limit lies between what two and what three users get."""
    root = tmp_path_factory.mktemp("searched") / "run"
    return context_of(read_run(build_run(root, SHAPE).root))


def told(context: Context, *windows: object, search: Search = SEARCH) -> list[str]:
    """What is said against a search with these windows."""
    from dataclasses import replace

    return list(searches.flaws(replace(context, evidence=evidence(windows, search))))  # type: ignore[arg-type]  # windows they are


def test_a_response_that_is_not_monotone_is_told(context: Context) -> None:
    """With the levels, and which of them counts."""
    windows = [
        *window("sata", 1, [0.1]), *window("sata", 2, [1.2, 1.2]), *window("sata", 4, [0.8]),
    ]  # fmt: skip
    [flaw] = told(context, *windows)
    assert "sata does not grow with the users everywhere" in flaw
    assert "obeyed at 4 and not always at 2" in flaw


def test_windows_that_disagree_are_told(context: Context) -> None:
    """As the reason of a wider bracket."""
    [flaw] = told(context, *window("sata", 1, [0.1]), *window("sata", 2, [0.9, 1.1]))
    assert flaw.startswith("Windows of sata at 2 disagree")


def test_windows_with_too_few_answers_for_their_percentile_are_told(context: Context) -> None:
    """Of 2,020 answers two lie beyond p99.9, whatever the next window has."""
    search = Search(ResponseTarget("p99.9", "all", 1.0), 1, 8)
    windows = window("sata", 1, [0.1, 0.1])
    for each in windows:
        each.transactions["all"]["response_p999_s"] = 0.2  # type: ignore[index]  # a plain dictionary
    [flaw] = told(context, *windows, search=search)
    assert flaw == (
        "2 of 2 windows of the search completed fewer than 100,000 transactions: of so few their "
        "p99.9 is not printed, though held against the limit; longer windows would tell it."
    )
    silent = window("sata", 1, [0.1], flags=[Flag.ERRORS])
    assert told(context, *silent, search=search) == []
