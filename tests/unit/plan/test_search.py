"""What a plan knows of a search, and the windows of a level that it tries."""

import pytest

from stithy.errors import UserError
from stithy.plan.expand import around, expand
from stithy.plan.search import trial, tried, windows_most
from stithy.study.model import Study
from support.studies import study

SEARCH = ("  users: [1, 4]\n", "  find: max users with p95 of new-order ≤ 1 s\n")
BESIDE = ("  users: [1, 4]\n", f"  users: [1, 4]\n{SEARCH[1]}")


@pytest.fixture
def alone() -> Study:
    """A study that only searches."""
    return study(SEARCH)


def test_a_plan_without_levels_has_no_window_and_no_question(alone: Study) -> None:
    """Which windows a search needs only its windows can say."""
    plan = expand(alone)
    assert [step.kind for step in plan.steps].count("window") == 0
    assert plan.question is None
    assert plan.search == alone.load.search(2)
    assert {"snapshot", "check"} <= {step.kind for step in plan.steps}


def test_the_windows_of_a_level_are_a_block_of_those_that_want_it(alone: Study) -> None:
    """With the same draws; the order is drawn from the seed."""
    plan = expand(alone)
    both = tried(alone, plan, plan.steps, 8, ("memory", "disk"))
    assert sorted(window.candidate for window in both) == ["disk", "memory"]
    assert [window.position for window in both] == [0, 1]
    assert len({window.seed for window in both}) == 1
    assert all(window.tried and window.users == 8 and window.block == 0 for window in both)
    [one] = tried(alone, plan, plan.steps, 8, ("disk",))
    assert (one.id, one.position) == ("w-disk-u8-b0", 0)
    assert one.seed == both[0].seed


def test_a_level_that_was_measured_before_gets_its_next_block() -> None:
    """Whoever was measured in the former one, and also where that block was left out."""
    both = study(BESIDE)
    plan = expand(both)
    [window] = tried(both, plan, plan.steps, 4, ("disk",))
    assert window.block == 1 + max(
        step.window.block for step in plan.steps if step.window and step.window.users == 4
    )
    [lower] = tried(both, plan, plan.steps, 1, ("disk",))
    assert lower.block == 1


def test_a_tried_window_is_never_spared() -> None:
    """The primary question does not decide what a search needs."""
    both = study(BESIDE)
    plan = expand(both)
    assert any(step.if_undecided for step in plan.steps)
    steps = around(both, tried(both, plan, plan.steps, 4, ("disk", "memory")))
    assert not any(step.if_undecided for step in steps)


def test_what_a_search_costs_is_known_before_it_begins(alone: Study) -> None:
    """A level of every candidate, as often as there may be levels and second windows."""
    plan = expand(alone)
    assert plan.search is not None
    kinds = [step.kind for step in trial(alone, plan)]
    assert kinds.count("window") == 2
    assert windows_most(plan.search) == plan.search.levels_most + 2
    assert trial(study(), expand(study())) == ()


def test_a_null_study_does_not_search(alone: Study) -> None:
    """It has no interval that could hold a difference; without a level there is nothing to do."""
    assert expand(study(BESIDE), null=True).search is None
    with pytest.raises(UserError, match="no level"):
        expand(alone, null=True)
