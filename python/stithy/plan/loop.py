"""What all scenarios have in common: candidates made and removed, blocks of windows in their order.

A scenario adds what comes before, around and after.
"""

from collections.abc import Callable, Iterator

from stithy.plan import cost
from stithy.plan.order import Block, blocks, rounds
from stithy.plan.scenario import Scene
from stithy.plan.steps import Step, WindowPlan, step_id, window_id
from stithy.point import Point
from stithy.study.model import Study

Around = Callable[[Study, Scene, WindowPlan], Iterator[Step]]
WindowsOf = Callable[[Study, Block], Iterator[WindowPlan]]


def provisions(study: Study, scene: Scene) -> Iterator[Step]:
    """The volume of each candidate is made."""
    for name in study.candidates:
        yield Step(step_id("provision", name), "provision", name, cost.provision(scene.held))


def tear_downs(study: Study, scene: Scene) -> Iterator[Step]:
    """And what was made for it is removed."""
    for name in study.candidates:
        yield Step(step_id("tear-down", name), "tear-down", name, cost.tear_down(scene.held))


def windows(
    study: Study,
    scene: Scene,
    windows_of: WindowsOf,
    around: Around,
    *,
    in_rounds: bool,
    first: Callable[[Point], float] | None = None,
    alike: frozenset[str] = frozenset(),
) -> Iterator[Step]:
    """All windows of all blocks, each with the steps around it.

    `in_rounds`: a block of each point, and again; else all blocks of a point follow each other.
    `first`: within a round the points with the least of it come first. `alike`: factors of the
    scenario whose values are compared with each other, as those of `vary` always are, so that all
    of them have the blocks of the question.
    """
    ordered = rounds if in_rounds else blocks
    drawn = ordered(list(study.candidates), _counts(study, scene, alike), study.seed)
    if first is not None:
        drawn = tuple(sorted(drawn, key=lambda each: (each.index, first(each.point))))
    for block in drawn:
        for window in windows_of(study, block):
            yield from around(study, scene, window)


def _counts(study: Study, scene: Scene, alike: frozenset[str]) -> list[tuple[Point, int]]:
    """The points with their blocks; last those that go on until the question is decided."""
    asked, repeat = scene.question, study.repeat
    if asked is None or repeat is not None:
        return [(point, repeat or 1) for point in study.points]
    lasting = [
        each for each in study.points if _without(each, alike) == _without(asked.point, alike)
    ]
    others = [(point, 1) for point in study.points if point not in lasting]
    return [*others, *((point, asked.blocks_most) for point in lasting)]


def _without(point: Point, names: frozenset[str]) -> Point:
    """What is left of a point apart from what is compared; keys of `vary` alone have a dot."""
    return Point(tuple(each for each in point.factors if not ("." in each[0] or each[0] in names)))


def windows_of(
    block: Block,
    ramp_up_s: float,
    duration_s: float,
    activities: tuple[str, ...],
    *,
    checkpoint: bool = False,
    tried: bool = False,
    tenants: int = 1,
) -> Iterator[WindowPlan]:
    """The windows of a block; `tried` where a search chose its point."""
    for position, candidate in enumerate(block.candidates):
        yield WindowPlan(
            id=window_id(candidate, block.point, block.index),
            candidate=candidate,
            point=block.point,
            block=block.index,
            position=position,
            ramp_up_s=ramp_up_s,
            duration_s=duration_s,
            seed=block.seed,
            checkpoint=checkpoint,
            tried=tried,
            activities=activities,
            tenants=tenants,
        )


def may_be_spared(scene: Scene, window: WindowPlan, alike: frozenset[str] = frozenset()) -> bool:
    """Whether a window is left out once the primary question is decided; `alike` as above."""
    asked, point = scene.question, window.point
    if asked is not None and _without(point, alike) == _without(asked.point, alike):
        point = asked.point
    optional = asked is not None and asked.may_spare(point, window.block)
    # What stands in for a block that was needed is needed, too.
    return optional and not window.tried and not window.attempt


def baseline_check(
    scene: Scene, window: WindowPlan, alike: frozenset[str] = frozenset()
) -> Iterator[Step]:
    """The baseline check before the first window of a block; `alike` as above."""
    if window.position == 0:
        check_id = step_id("baseline-check", window.id)
        optional = may_be_spared(scene, window, alike)
        cost_of_it = cost.baseline_check(scene.wait_s)
        yield Step(check_id, "baseline-check", None, cost_of_it, window, if_undecided=optional)
