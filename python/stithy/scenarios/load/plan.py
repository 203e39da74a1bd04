"""Load: the virtual users work at each point, on each candidate, from the same state every time.

Each dataset is loaded once, on the volume of the master candidate, and the driver is calibrated on
the server of the first one. What the study's restore method needs of it is then kept. Each window
starts from the dataset of its point as it was loaded, on the volume of its own candidate, and each
block with a baseline check. After all windows the consistency conditions are checked on what the
last window of each candidate left.
"""

from collections.abc import Iterator, Mapping, Sequence

from pydantic import BaseModel

from stithy.activities.hammer.declared import USERS
from stithy.errors import Refused, UserError
from stithy.needs import MemoryLimitNeed, OwnProgram
from stithy.plan import cost, scenario
from stithy.plan.scenario import DatabaseScene, PlannedScenario, Scene
from stithy.plan.steps import Block, Step, WindowPlan, make_step_id
from stithy.point import Point, Value
from stithy.restores.method import get_restore
from stithy.study.load_keys import Load
from stithy.study.model import Study


def load_database(study: Study, scene: DatabaseScene) -> Iterator[Step]:
    """Each dataset is loaded, verified and kept, by the study's restore method.

    The driver is calibrated with the first dataset of each engine.
    """
    master, memory = scene.master_candidate, scene.loading_memory
    method = get_restore(study.database.restore)
    several, engines = len(scene.datasets) > 1, set[str]()
    for dataset, size in scene.datasets:
        subject, name = dataset.name if several else None, dataset.name
        loaded = cost.prepare(size, scene.workload, memory)
        yield Step(make_step_id("prepare", subject), "prepare", master, loaded, dataset=name)
        # Before it is kept, and removed here: afterwards both would need a restore of their own.
        if scene.workload.conditions:
            checked = cost.check(size, scene.workload, size.database_bytes, memory)
            yield Step(make_step_id("check-load", subject), "check", master, checked, dataset=name)
        engine = study.at(dataset.factors).database.engine
        if study.load.calibrate and engine not in engines:
            engines.add(engine)
            tried, other = cost.calibrate(study, size, memory), engine != study.database.engine
            step_id = make_step_id("calibrate", engine if other else None)
            yield Step(step_id, "calibrate", master, tried, dataset=name)
        if study.load.precondition is not None:
            worked = cost.estimate_preconditioning(study, size, memory)
            step_id = make_step_id("precondition-database", subject)
            yield Step(step_id, "precondition-database", master, worked, dataset=name)
        snapshot_id, kept = make_step_id("snapshot", subject), scenario.keep(method, scene, size)
        yield Step(snapshot_id, "snapshot", master, kept, dataset=name, method=method.name)


def check_at_end(study: Study, scene: DatabaseScene) -> Iterator[Step]:
    """After all windows, because how many blocks there will be is not known before."""
    if scene.workload.conditions:
        for name in study.candidates:
            checked = cost.check(scene.largest, scene.workload, scene.held, scene.memory(name))
            yield Step(make_step_id("check-end", name), "check", name, checked, at_end=True)


class LoadScenario(PlannedScenario):
    """Virtual users work at each point, on each candidate; also what happens to them meanwhile."""

    name = "load"
    needs = (
        OwnProgram(name="stithy-hammer", why="it is the users"),
        MemoryLimitNeed(why="a limit of the database's memory, page cache included", optional=True),
    )
    is_by_url = True
    checks_at_end = True
    alike: frozenset[str] = frozenset()
    """Factors of the scenario whose levels are compared with each other, in the same blocks."""

    def get_rank(self, point: Point) -> float:
        """Rank a point: those with the least of it come first in a round."""
        return 0.0

    def find_refusals(self, study: Study) -> Iterator[UserError]:
        """Find what candidates cannot have."""
        return iter(())

    def list_activities(self, point: Point) -> tuple[str, ...]:
        """List what happens in a window of a point."""
        return ("hammer",)

    def list_factors(self, _: BaseModel | None, load: Load) -> Mapping[str, Sequence[Value]]:
        return {USERS.name: load.levels}

    def plan_steps(self, study: Study, scene: Scene) -> Iterator[Step]:
        """The steps in their order. Raises Refused for what candidates cannot have."""
        assert isinstance(scene, DatabaseScene)  # its studies have a database
        if problems := tuple(self.find_refusals(study)):
            raise Refused(problems, where=f"scenario.{self.name}")
        yield from scenario.plan_provisions(study, scene)
        yield from load_database(study, scene)
        # A single ladder of users stays in its order; other factors are compared with each other.
        yield from scenario.plan_windows(
            study, scene, self.plan_windows, self.plan_around,
            in_rounds=bool(study.vary or self.alike),
            first=self.get_rank if self.alike else None, alike=self.alike,
        )  # fmt: skip
        yield from check_at_end(study, scene)
        yield from scenario.tear_downs(study, scene)

    def plan_windows(
        self, study: Study, block: Block, *, tried: bool = False
    ) -> Iterator[WindowPlan]:
        load = study.load
        return scenario.list_windows(
            block,
            load.ramp_up_s,
            load.duration_s,
            self.list_activities(block.point),
            checkpoint=load.checkpoint,
            tried=tried,
        )

    def plan_around(self, study: Study, scene: Scene, window: WindowPlan) -> Iterator[Step]:
        """The steps of one window: a block's baseline check, the restore before it, and itself."""
        assert isinstance(scene, DatabaseScene)  # as in `steps`
        name, size = window.candidate, scene.find_size(window.point)
        optional = scenario.may_be_spared(scene, window, self.alike)
        held, memory = scene.held, scene.memory(name)
        measured = cost.estimate_window(study, size, scene.workload, held, memory)
        yield from scenario.plan_baseline_check(scene, window, self.alike)
        yield scenario.make_restore_step(study, scene, window, if_undecided=optional)
        yield Step(window.id, "window", name, measured, window, if_undecided=optional)


PLUGINS = (LoadScenario(),)
