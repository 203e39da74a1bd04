"""A null study has one candidate, under two names."""

from stithy.plan.null import nulled, twins
from stithy.search import Limit
from support.studies import study


def test_the_first_candidate_stays_and_gets_a_second_name() -> None:
    """The question names no pair any more: it would name a candidate that is gone."""
    read = study(("study:", "primary: {candidates: [memory, disk], users: 1}\nstudy:"))
    alone = nulled(read)
    assert list(alone.candidates) == ["disk"]
    assert alone.primary.candidates is None
    assert alone.primary.users == 1
    assert twins(alone) == {"disk-again": "disk"}


def test_a_null_study_has_no_thresholds() -> None:
    """They name candidates that it does not measure, and would be told as not judged."""
    threshold = "thresholds: [memory.nopm_at_4 > 2 * disk.nopm_at_4]\nworkload:"
    asked = study(("workload:", threshold))
    assert asked.thresholds
    assert nulled(asked).thresholds == ()


def test_the_limit_of_a_search_stays_as_one_that_is_drawn() -> None:
    """Nothing is searched for, and what was measured is held against it all the same."""
    find = "  users: [1, 4]\n  find: max users with p95 of new-order ≤ 1 s\n"
    alone = nulled(study(("  users: [1, 4]\n", find)))
    assert alone.load.find is None
    assert alone.load.limit == Limit("p95", "new-order", 1.0)
