"""Windows that are decided while a study runs have the steps, the costs and the place they need."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from stithy.plan.expand import expand
from stithy.plan.further import Further, steps_of
from stithy.plan.steps import Plan, WindowPlan
from stithy.study.load import read_study
from stithy.study.model import Study
from support.running import write_study


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """Two candidates at two levels."""
    path = write_study(tmp_path / "study.yaml", {"a": tmp_path / "a", "b": tmp_path / "b"})
    return read_study(path).study


def more(plan: Plan, number: int, *names: str) -> tuple[WindowPlan, ...]:
    """Windows with these ids, otherwise like the plan's window with this number."""
    windows = [step.window for step in plan.steps if step.kind == "window" and step.window]
    return tuple(replace(windows[number], id=name) for name in names)


def ids(study: Study, plan: Plan, further: Sequence[Further]) -> list[str]:
    """The steps in their order."""
    return [step.id for step in steps_of(study, plan, further)]


def test_they_come_behind_their_step_with_what_windows_need(study: Study) -> None:
    """A restore each, and a canary before the first of a block; nothing else moves."""
    plan = expand(study)
    planned = [step.id for step in plan.steps]
    first = next(step.id for step in plan.steps if step.kind == "window")
    windows = (*more(plan, 0, "w-x"), *more(plan, 1, "w-y"))
    found = ids(study, plan, [Further(first, windows, "why")])
    at = planned.index(first) + 1
    new = ["canary-w-x", "restore-w-x", "w-x", "restore-w-y", "w-y"]
    assert found == [*planned[:at], *new, *planned[at:]]
    assert ids(study, plan, []) == planned


def test_further_ones_may_come_behind_further_ones(study: Study) -> None:
    """Of those behind one step, the first that was decided comes first."""
    plan = expand(study)
    found = ids(
        study,
        plan,
        [
            Further("snapshot", more(plan, 0, "w-1"), "why"),
            Further("w-1", more(plan, 0, "w-2"), "why"),
            Further("snapshot", more(plan, 0, "w-3"), "why"),
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
    further = [Further("snapshot", windows, "why")]
    without = replace(plan, steps=tuple(step for step in plan.steps if not step.window))
    assert [step for step in steps_of(study, without, further) if step.window] == planned


def test_what_has_no_place_is_refused(study: Study) -> None:
    """It would be lost; and an id that is there already would overwrite its results."""
    plan = expand(study)
    with pytest.raises(ValueError, match="w-none"):
        steps_of(study, plan, [Further("w-none", more(plan, 0, "w-x"), "why")])
    [window] = more(plan, 0, "w-x")
    twice = Further("snapshot", (window, window), "why")
    with pytest.raises(ValueError, match="the id of another"):
        steps_of(study, plan, [twice])
