"""A block that is measured once more is the same block in all but its name."""

from dataclasses import replace
from pathlib import Path

import pytest

from stithy.plan.again import again, blocks_over
from stithy.plan.expand import expand
from stithy.plan.further import Further, steps_of
from stithy.plan.ids import window_id
from stithy.plan.steps import Plan
from stithy.study.load import read_study
from stithy.study.model import Study
from support.running import write_study


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """Two candidates at two levels; the question goes on for blocks at the second."""
    places = {"a": tmp_path / "a", "b": tmp_path / "b"}
    return read_study(write_study(tmp_path / "study.yaml", places, load={"repeat": ""})).study


def of(plan: Plan, users: int, block: int) -> list[str]:
    """The ids of a block's windows."""
    windows = [step.window for step in plan.steps if step.kind == "window" and step.window]
    return [each.id for each in windows if (each.users, each.block) == (users, block)]


def test_a_block_is_over_with_its_last_window(study: Study) -> None:
    """Not before, and each block by itself."""
    plan = expand(study)
    first, second = of(plan, 1, 0)
    assert list(blocks_over(plan.steps, {first})) == []
    [block] = blocks_over(plan.steps, {first, second, of(plan, 2, 0)[0]})
    assert [window.id for window in block] == [first, second]


def test_it_has_the_same_order_and_seed(study: Study) -> None:
    """Another name and attempt, and nothing else."""
    plan = expand(study)
    done = of(plan, 2, 7)
    [block] = blocks_over(plan.steps, done)
    anew = again(block)
    assert [window.id for window in anew] == [f"{name}-again" for name in done]
    assert [replace(w, id=i, attempt=0) for w, i in zip(anew, done, strict=True)] == list(block)
    assert window_id("nvme", 4, 2, attempt=1) == "w-nvme-u4-b2-again"


def test_it_is_not_measured_a_third_time(study: Study) -> None:
    """However often it fails; what is under way counts as well."""
    plan = expand(study)
    done = {*of(plan, 1, 0)}
    [block] = blocks_over(plan.steps, done)
    steps = steps_of(study, plan, [Further(block[-1].id, again(block), "why")])
    assert list(blocks_over(steps, done)) == []
    assert list(blocks_over(steps, {*done, *(f"{name}-again" for name in done)})) == []


def test_it_is_done_even_where_the_block_was_optional(study: Study) -> None:
    """It stands for one that was needed, and cannot be spared any more."""
    plan = expand(study)
    [block] = blocks_over(plan.steps, of(plan, 2, 7))
    steps = steps_of(study, plan, [Further(block[-1].id, again(block), "why")])
    optional = {step.id: step.if_undecided for step in steps if step.window}
    assert optional[block[0].id]
    assert not optional[f"{block[0].id}-again"]
    assert not optional[f"restore-{block[0].id}-again"]
