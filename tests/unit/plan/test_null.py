"""A null study has two candidates that are alike."""

from pathlib import Path

from stithy.plan.expand import expand
from stithy.plan.null import nulled
from stithy.search import Limit
from support.studies import study


def test_the_first_candidate_stays_and_gets_its_like() -> None:
    """The question names no pair any more: it would name a candidate that is gone."""
    read = study(("study:", "primary: {candidates: [memory, disk], users: 1}\nstudy:"))
    alone = nulled(read)
    assert list(alone.candidates) == ["disk", "disk-again"]
    first, second = (candidate.spec for candidate in alone.candidates.values())
    assert second == first.model_copy(update={"path": Path("/var/tmp/stithy-again")})
    assert nulled(alone) == alone
    assert alone.primary.candidates is None
    assert alone.primary.users == 1


def test_an_emulated_drive_gets_another_of_the_same_profile() -> None:
    """Whatever the lines say holds for both; a run seeds each by its name."""
    alone = nulled(study(("{path: /var/tmp/stithy}", "{drive: generic-nvme, size: 4 GiB}")))
    first, second = alone.candidates.values()
    assert first == second
    plan = expand(alone, null=True)
    assert len(set(plan.image_bytes.values())) == 1 == len(plan.image_bytes) - 1


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
