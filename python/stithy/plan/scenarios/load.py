"""Load: the virtual users work at each point, on each candidate, from the same state every time.

The database is loaded once, on the volume of the master candidate, and the driver is calibrated on
its server. Its master copy is then kept beside the results. Each window starts from a fresh copy of
that on the volume of its own candidate, and each block with a baseline check. After all windows the
consistency conditions are checked on what the last window of each candidate left.
"""

from collections.abc import Iterator

from stithy.needs import MemoryLimit, OwnProgram
from stithy.plan import cost
from stithy.plan.order import Block, blocks, rounds
from stithy.plan.scenario import Scene
from stithy.plan.steps import Step, WindowPlan, step_id, window_id
from stithy.point import Point
from stithy.study.model import Study

NAME = "load"

NEEDS = (
    OwnProgram(name="stithy-hammer", why="it is the users"),
    MemoryLimit(why="a limit of the database's memory, page cache included", optional=True),
)


def steps(study: Study, scene: Scene) -> Iterator[Step]:
    """The steps in their order."""
    names = list(study.candidates)
    yield from (_provision(name, scene) for name in names)
    yield from _database(study, scene)
    yield from _windows(study, scene)
    yield from (_tear_down(name, scene) for name in names)


def _provision(name: str, scene: Scene) -> Step:
    return Step(step_id("provision", name), "provision", name, cost.provision(scene.held))


def _tear_down(name: str, scene: Scene) -> Step:
    return Step(step_id("tear-down", name), "tear-down", name, cost.tear_down(scene.held))


def _database(study: Study, scene: Scene) -> Iterator[Step]:
    master, size = scene.master_candidate, scene.size
    memory = scene.loading_memory
    yield Step("prepare", "prepare", master, cost.prepare(size, scene.workload, memory))
    # Before the master copy is made of it: afterwards both would need a copy of their own.
    yield Step("check-load", "check", master, cost.check(size, size.database_bytes, memory))
    if study.load.calibrate:
        yield Step("calibrate", "calibrate", master, cost.calibrate(study, size, memory))
    yield Step("snapshot", "snapshot", master, cost.snapshot(size))


def _windows(study: Study, scene: Scene) -> Iterator[Step]:
    names = list(study.candidates)
    # A single ladder of users stays in its order; other factors are compared with each other.
    ordered = rounds if study.vary else blocks
    for block in ordered(names, _counts(study, scene), study.seed):
        for window in windows_of(study, block):
            yield from around(study, scene, window)
    # After all of them, because how many blocks there will be is not known before.
    yield from (_check_end(name, scene) for name in names)


def _counts(study: Study, scene: Scene) -> list[tuple[Point, int]]:
    """The points with their blocks; last the one that goes on until the question is decided."""
    asked, repeat = scene.question, study.load.repeat
    if asked is None or repeat is not None:
        return [(point, repeat or 1) for point in study.points]
    others = [(point, 1) for point in study.points if point != asked.point]
    return [*others, (asked.point, asked.blocks_most)]


def _check_end(name: str, scene: Scene) -> Step:
    cost_of_it = cost.check(scene.size, scene.held, scene.memory(name))
    return Step(step_id("check-end", name), "check", name, cost_of_it, at_end=True)


def windows_of(study: Study, block: Block, *, tried: bool = False) -> Iterator[WindowPlan]:
    """The windows of a block; `tried` where a search chose its point."""
    for position, candidate in enumerate(block.candidates):
        yield WindowPlan(
            id=window_id(candidate, block.point, block.index),
            candidate=candidate,
            point=block.point,
            block=block.index,
            position=position,
            ramp_up_s=study.load.ramp_up_s,
            duration_s=study.load.duration_s,
            seed=block.seed,
            checkpoint=study.load.checkpoint,
            tried=tried,
        )


def around(study: Study, scene: Scene, window: WindowPlan) -> Iterator[Step]:
    """The steps of one window: a block's baseline check, the restore before it, and itself."""
    name, size = window.candidate, scene.size
    asked = scene.question
    optional = asked is not None and asked.may_spare(window.point, window.block)
    # What stands in for a block that was needed is needed, too.
    optional = optional and not window.tried and not window.attempt
    held, memory = scene.held, scene.memory(name)
    restored = cost.restore(size, scene.size.database_bytes, scene.pages(name))
    measured = cost.window(study, size, held, memory)
    if window.position == 0:
        check_id = step_id("baseline-check", window.id)
        cost_of_it = cost.baseline_check()
        yield Step(check_id, "baseline-check", None, cost_of_it, window, if_undecided=optional)
    restore_id = step_id("restore", window.id)
    yield Step(restore_id, "restore", name, restored, window, if_undecided=optional)
    yield Step(window.id, "window", name, measured, window, if_undecided=optional)
