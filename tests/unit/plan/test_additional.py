"""What a run adds to its plan: a block that is measured once more, and the levels of a search."""

from dataclasses import replace

import pytest

from stithy.plan import additional
from stithy.plan.additional import (
    Additional,
    list_finished_blocks,
    list_steps,
    list_tried,
    repeat_block,
)
from stithy.plan.expand import expand, surround_groups
from stithy.plan.steps import Plan, Step, WindowPlan
from stithy.point import Point
from support.studies import study

USERS = "  users: [1, 4]\n"
FIND = "  find: max users with p95 of new-order ≤ 1 s\n"
PLAIN = study()
"""Two candidates at two levels; the question goes on for blocks at the second."""


def _windows(steps: tuple[Step, ...]) -> list[WindowPlan]:
    return [step.window for step in steps if step.kind == "window" and step.window]


def _named(plan: Plan, number: int, name: str) -> WindowPlan:
    return replace(_windows(plan.steps)[number], id=name)


def _after(step: str, *more: WindowPlan) -> Additional:
    return Additional(step, more, "why")


def test_windows_come_behind_their_step_with_what_windows_need() -> None:
    """In the order in which they were decided, behind further ones, too; nothing else moves."""
    plan = expand(PLAIN)
    planned = [step.id for step in plan.steps]
    first = _windows(plan.steps)[0].id
    more = [_after(first, _named(plan, 0, "w-x"), _named(plan, 1, "w-y"))]
    at = planned.index(first) + 1
    new = ["baseline-check-w-x", "restore-w-x", "w-x", "restore-w-y", "w-y"]
    assert [s.id for s in list_steps(PLAIN, plan, more)] == [*planned[:at], *new, *planned[at:]]
    assert list_steps(PLAIN, plan, []) == plan.steps
    behind = ("snapshot", "w-1"), ("w-1", "w-2"), ("snapshot", "w-3")
    found = list_steps(PLAIN, plan, [_after(step, _named(plan, 0, name)) for step, name in behind])
    assert [each.id for each in _windows(found)][:3] == ["w-1", "w-2", "w-3"]
    window = _named(plan, 0, "w-x")
    for lost, problem in ((_after("w-none", window), "w-none"),
                          (_after("snapshot", window, window), "the id of another")):  # fmt: skip
        with pytest.raises(ValueError, match=problem):
            list_steps(PLAIN, plan, [lost])


def test_they_cost_what_planned_ones_cost() -> None:
    """Those of a null study, too."""
    for plan in (expand(PLAIN), expand(PLAIN, null=True)):
        planned = [step for step in plan.steps if step.window and step.window.block < 4]
        without = replace(plan, steps=tuple(step for step in plan.steps if not step.window))
        further = [_after("snapshot", *(each for each in _windows(plan.steps) if each.block < 4))]
        assert [step for step in list_steps(PLAIN, without, further) if step.window] == planned


def test_a_block_is_repeated_once_when_all_its_windows_are_over() -> None:
    """In the same order from the same seed, as its second attempt; it cannot be spared any more."""
    plan = expand(PLAIN)
    done = [each.id for each in _windows(plan.steps) if (each.point.level, each.block) == (4, 7)]
    first, second = done
    assert list(list_finished_blocks(plan.steps, {first, _windows(plan.steps)[0].id})) == []
    [block] = list_finished_blocks(plan.steps, done)
    again = repeat_block(block)
    assert [window.id for window in again] == [f"{name}-again" for name in (first, second)]
    assert [replace(w, id=i, attempt=0) for w, i in zip(again, done, strict=True)] == list(block)
    assert {window.attempt for window in again} == {1}
    steps = list_steps(PLAIN, plan, [_after(second, *again)])
    optional = {step.id for step in steps if step.if_undecided}
    assert optional & {first, f"{first}-again", f"restore-{first}-again"} == {first}
    assert list(list_finished_blocks(steps, done)) == []
    assert list(list_finished_blocks(steps, {*done, *(window.id for window in again)})) == []


ALONE = study((USERS, FIND))
"""A study that only searches."""


def test_a_plan_without_levels_has_no_window_and_what_its_search_may_cost_is_known() -> None:
    """A level of every candidate, as often as there may be levels and second windows."""
    plan, search = expand(ALONE), ALONE.search
    kinds = {step.kind for step in plan.steps}
    assert "window" not in kinds
    assert {"snapshot", "check"} <= kinds
    assert search is not None
    assert (plan.question, plan.search) == (None, search)
    assert [step.kind for step in additional.plan_trial(ALONE, plan)].count("window") == 2
    assert additional.count_windows_most(search) == search.levels_most + 2
    assert additional.plan_trial(PLAIN, expand(PLAIN)) == ()


def test_the_windows_of_a_tried_level_are_a_block_of_those_that_want_it() -> None:
    """With the same draws; a level that was measured before gets its next block."""
    plan = expand(ALONE)
    both = list_tried(ALONE, plan.steps, Point.of(users=8), ("memory", "disk"))
    assert sorted(window.candidate for window in both) == ["disk", "memory"]
    assert [window.position for window in both] == [0, 1]
    assert len({window.seed for window in both}) == 1
    assert all(window.tried and (window.point.level, window.block) == (8, 0) for window in both)
    for name in ("disk", "memory"):
        [one] = list_tried(ALONE, plan.steps, Point.of(users=8), (name,))
        assert (one.id, one.position, one.seed) == (f"w-{name}-u8-b0", 0, both[0].seed)
    beside = study((USERS, USERS + FIND))
    plan = expand(beside)
    [window] = list_tried(beside, plan.steps, Point.of(users=4), ("disk",))
    assert window.block == len({each.block for each in _windows(plan.steps)})
    assert list_tried(beside, plan.steps, Point.of(users=1), ("disk",))[0].block == 1
    tried = list_tried(beside, plan.steps, Point.of(users=4), ("disk", "memory"))
    [steps] = surround_groups(beside, [tried])
    assert not any(step.if_undecided for step in steps), "no verdict decides what a search needs"
    assert list(list_finished_blocks(steps, {step.id for step in steps})) == []
