"""Load: the virtual users work at each point, on each candidate, from the same state every time.

Each dataset is loaded once, on the volume of the master candidate, and the driver is calibrated on
the server of the first one. Its master copy is then kept beside the results. Each window starts
from a fresh copy of the dataset of its point, on the volume of its own candidate, and each block
with a baseline check. After all windows the consistency conditions are checked on what the last
window of each candidate left.
"""

from collections.abc import Iterator, Mapping, Sequence

from pydantic import BaseModel

from stithy.activities.hammer import USERS
from stithy.needs import MemoryLimit, OwnProgram
from stithy.plan import cost, loop
from stithy.plan.order import Block
from stithy.plan.scenario import DatabaseScene, Scene
from stithy.plan.steps import Step, WindowPlan, step_id
from stithy.point import Value
from stithy.study.load_keys import Load
from stithy.study.model import Study

NAME = "load"

NEEDS = (
    OwnProgram(name="stithy-hammer", why="it is the users"),
    MemoryLimit(why="a limit of the database's memory, page cache included", optional=True),
)


def factors(_: BaseModel | None, load: Load) -> Mapping[str, Sequence[Value]]:
    """The levels of the load."""
    return {USERS.name: load.levels}


def steps(study: Study, scene: Scene) -> Iterator[Step]:
    """The steps in their order."""
    assert isinstance(scene, DatabaseScene)  # its studies have a database
    yield from loop.provisions(study, scene)
    yield from database(study, scene)
    yield from _windows(study, scene)
    yield from loop.tear_downs(study, scene)


def database(study: Study, scene: DatabaseScene) -> Iterator[Step]:
    """Each dataset is loaded, verified and kept as a master copy."""
    master, memory = scene.master_candidate, scene.loading_memory
    several = len(scene.datasets) > 1
    for dataset, size in scene.datasets:
        subject, name = dataset.name if several else None, dataset.name
        loaded = cost.prepare(size, scene.workload, memory)
        yield Step(step_id("prepare", subject), "prepare", master, loaded, dataset=name)
        # Before the master copy is made of it: afterwards both would need a copy of their own.
        checked = cost.check(size, scene.workload, size.database_bytes, memory)
        yield Step(step_id("check-load", subject), "check", master, checked, dataset=name)
        if study.load.calibrate and dataset is scene.datasets[0][0]:
            tried = cost.calibrate(study, size, memory)
            yield Step("calibrate", "calibrate", master, tried, dataset=name)
        kept = cost.snapshot(size)
        yield Step(step_id("snapshot", subject), "snapshot", master, kept, dataset=name)


def _windows(study: Study, scene: DatabaseScene) -> Iterator[Step]:
    # A single ladder of users stays in its order; other factors are compared with each other.
    yield from loop.windows(
        study, scene, windows_of, around, in_rounds=bool(study.vary), alike=frozenset(study.vary)
    )
    yield from checks_at_end(study, scene)


def checks_at_end(study: Study, scene: DatabaseScene) -> Iterator[Step]:
    """After all windows, because how many blocks there will be is not known before."""
    yield from (_check_end(name, scene) for name in study.candidates)


def _check_end(name: str, scene: DatabaseScene) -> Step:
    cost_of_it = cost.check(scene.largest, scene.workload, scene.held, scene.memory(name))
    return Step(step_id("check-end", name), "check", name, cost_of_it, at_end=True)


def windows_of(study: Study, block: Block, *, tried: bool = False) -> Iterator[WindowPlan]:
    """The windows of a block; `tried` where a search chose its point."""
    load = study.load
    return loop.windows_of(
        block, load.ramp_up_s, load.duration_s, ("hammer",), checkpoint=load.checkpoint, tried=tried
    )


def around(study: Study, scene: Scene, window: WindowPlan) -> Iterator[Step]:
    """The steps of one window: a block's baseline check, the restore before it, and itself."""
    assert isinstance(scene, DatabaseScene)  # as in `steps`
    name, size = window.candidate, scene.size_at(window.point)
    alike = frozenset(study.vary)
    optional = loop.may_be_spared(scene, window, alike)
    held, memory = scene.held, scene.memory(name)
    restored = cost.restore(size, size.database_bytes, scene.pages(name))
    measured = cost.window(study, size, scene.workload, held, memory)
    yield from loop.baseline_check(scene, window, alike)
    restore_id = step_id("restore", window.id)
    yield Step(restore_id, "restore", name, restored, window, if_undecided=optional)
    yield Step(window.id, "window", name, measured, window, if_undecided=optional)
