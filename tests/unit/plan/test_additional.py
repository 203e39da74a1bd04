"""What a run adds to its plan: a block that is measured once more, and the levels of a search."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from stithy.errors import UserError
from stithy.plan.additional import (
    Additional,
    blocks_over,
    repeated,
    steps_of,
    trial,
    tried,
    windows_most,
)
from stithy.plan.expand import around, expand
from stithy.plan.steps import Plan, WindowPlan, window_id
from stithy.study.load import read_study
from stithy.study.model import Study
from support.running import write_study
from support.studies import study as study_of


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """Two candidates at two levels."""
    path = write_study(tmp_path / "study.yaml", {"a": tmp_path / "a", "b": tmp_path / "b"})
    return read_study(path).study


def more(plan: Plan, number: int, *names: str) -> tuple[WindowPlan, ...]:
    """Windows with these ids, otherwise like the plan's window with this number."""
    windows = [step.window for step in plan.steps if step.kind == "window" and step.window]
    return tuple(replace(windows[number], id=name) for name in names)


def ids(study: Study, plan: Plan, further: Sequence[Additional]) -> list[str]:
    """The steps in their order."""
    return [step.id for step in steps_of(study, plan, further)]


def test_they_come_behind_their_step_with_what_windows_need(study: Study) -> None:
    """A restore each, and a canary before the first of a block; nothing else moves."""
    plan = expand(study)
    planned = [step.id for step in plan.steps]
    first = next(step.id for step in plan.steps if step.kind == "window")
    windows = (*more(plan, 0, "w-x"), *more(plan, 1, "w-y"))
    found = ids(study, plan, [Additional(first, windows, "why")])
    at = planned.index(first) + 1
    new = ["baseline-check-w-x", "restore-w-x", "w-x", "restore-w-y", "w-y"]
    assert found == [*planned[:at], *new, *planned[at:]]
    assert ids(study, plan, []) == planned


def test_further_ones_may_come_behind_further_ones(study: Study) -> None:
    """Of those behind one step, the first that was decided comes first."""
    plan = expand(study)
    found = ids(
        study,
        plan,
        [
            Additional("snapshot", more(plan, 0, "w-1"), "why"),
            Additional("w-1", more(plan, 0, "w-2"), "why"),
            Additional("snapshot", more(plan, 0, "w-3"), "why"),
        ],
    )
    at = found.index("snapshot")
    assert [each for each in found[at:] if each in ("w-1", "w-2", "w-3")] == ["w-1", "w-2", "w-3"]


@pytest.mark.parametrize("null", [False, True])
def test_they_cost_what_planned_ones_cost(study: Study, null: bool) -> None:
    """Those of a null study, too."""
    plan = expand(study, null=null)
    planned = [step for step in plan.steps if step.window]
    windows = tuple(step.window for step in planned if step.kind == "window" and step.window)
    further = [Additional("snapshot", windows, "why")]
    without = replace(plan, steps=tuple(step for step in plan.steps if not step.window))
    assert [step for step in steps_of(study, without, further) if step.window] == planned


def test_what_has_no_place_is_refused(study: Study) -> None:
    """It would be lost; and an id that is there already would overwrite its results."""
    plan = expand(study)
    with pytest.raises(ValueError, match="w-none"):
        steps_of(study, plan, [Additional("w-none", more(plan, 0, "w-x"), "why")])
    [window] = more(plan, 0, "w-x")
    twice = Additional("snapshot", (window, window), "why")
    with pytest.raises(ValueError, match="the id of another"):
        steps_of(study, plan, [twice])


@pytest.fixture
def leveled(tmp_path: Path) -> Study:
    """Two candidates at two levels; the question goes on for blocks at the second."""
    places = {"a": tmp_path / "a", "b": tmp_path / "b"}
    return read_study(write_study(tmp_path / "leveled.yaml", places, load={"repeat": ""})).study


def of(plan: Plan, users: int, block: int) -> list[str]:
    """The ids of a block's windows."""
    windows = [step.window for step in plan.steps if step.kind == "window" and step.window]
    return [each.id for each in windows if (each.users, each.block) == (users, block)]


def test_a_block_is_over_with_its_last_window(leveled: Study) -> None:
    """Not before, and each block by itself."""
    plan = expand(leveled)
    first, second = of(plan, 1, 0)
    assert list(blocks_over(plan.steps, {first})) == []
    [block] = blocks_over(plan.steps, {first, second, of(plan, 2, 0)[0]})
    assert [window.id for window in block] == [first, second]


def test_it_has_the_same_order_and_seed(leveled: Study) -> None:
    """Another name and attempt, and nothing else."""
    plan = expand(leveled)
    done = of(plan, 2, 7)
    [block] = blocks_over(plan.steps, done)
    anew = repeated(block)
    assert [window.id for window in anew] == [f"{name}-again" for name in done]
    assert [replace(w, id=i, attempt=0) for w, i in zip(anew, done, strict=True)] == list(block)
    assert window_id("nvme", 4, 2, attempt=1) == "w-nvme-u4-b2-again"


def test_it_is_not_measured_a_third_time(leveled: Study) -> None:
    """However often it fails; what is under way counts as well."""
    plan = expand(leveled)
    done = {*of(plan, 1, 0)}
    [block] = blocks_over(plan.steps, done)
    steps = steps_of(leveled, plan, [Additional(block[-1].id, repeated(block), "why")])
    assert list(blocks_over(steps, done)) == []
    assert list(blocks_over(steps, {*done, *(f"{name}-again" for name in done)})) == []


def test_it_is_done_even_where_the_block_was_optional(leveled: Study) -> None:
    """It stands for one that was needed, and cannot be spared any more."""
    plan = expand(leveled)
    [block] = blocks_over(plan.steps, of(plan, 2, 7))
    steps = steps_of(leveled, plan, [Additional(block[-1].id, repeated(block), "why")])
    optional = {step.id: step.if_undecided for step in steps if step.window}
    assert optional[block[0].id]
    assert not optional[f"{block[0].id}-again"]
    assert not optional[f"restore-{block[0].id}-again"]


SEARCH = ("  users: [1, 4]\n", "  find: max users with p95 of new-order ≤ 1 s\n")


BESIDE = ("  users: [1, 4]\n", f"  users: [1, 4]\n{SEARCH[1]}")


@pytest.fixture
def alone() -> Study:
    """A study that only searches."""
    return study_of(SEARCH)


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
    both = study_of(BESIDE)
    plan = expand(both)
    [window] = tried(both, plan, plan.steps, 4, ("disk",))
    assert window.block == 1 + max(
        step.window.block for step in plan.steps if step.window and step.window.users == 4
    )
    [lower] = tried(both, plan, plan.steps, 1, ("disk",))
    assert lower.block == 1


def test_a_tried_window_is_never_spared() -> None:
    """The primary question does not decide what a search needs."""
    both = study_of(BESIDE)
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
    assert trial(study_of(), expand(study_of())) == ()


def test_a_null_study_does_not_search(alone: Study) -> None:
    """It has no interval that could hold a difference; without a level there is nothing to do."""
    assert expand(study_of(BESIDE), null=True).search is None
    with pytest.raises(UserError, match="no level"):
        expand(alone, null=True)
