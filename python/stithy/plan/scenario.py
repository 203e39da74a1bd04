"""The seam of scenarios as a plan sees them: what a study does, as steps.

Each step names its kind, a `StepKind`, and each window its activities (`stithy.run.activity`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from stithy.engines.backup import BackupOptions
from stithy.plan import cost
from stithy.plan.cost import DatabaseSizes
from stithy.plan.steps import (
    Block,
    Cost,
    Dataset,
    Question,
    Step,
    WindowPlan,
    list_blocks,
    list_rounds,
    make_step_id,
    make_window_id,
)
from stithy.point import Point
from stithy.registry import plugins
from stithy.restores.method import RestoreMethod, Work, get_restore
from stithy.storage.provider import Role
from stithy.study.model import Study
from stithy.study.scenario import Scenario
from stithy.workloads.workload import Workload


@dataclass(frozen=True)
class Scene:
    """What all scenarios are given besides the study.

    `needed_bytes`: what each role of a candidate may come to hold. `memory_backed`: the candidates
    whose volumes are likely memory. `images_bytes`: the memory that the emulated drives of all
    candidates take, and what serves them. `question`: as in the plan. `wait_s`: how long a block
    waits for a quiet machine at most.
    """

    needed_bytes: Mapping[Role, int]
    memory_backed: frozenset[str] = frozenset()
    images_bytes: int = 0
    question: Question | None = None
    wait_s: float = 0.0

    @property
    def held(self) -> int:
        """What each candidate's volume holds at most, bytes: all are alike in it."""
        return self.needed_bytes["data"]

    def count_pages(self, candidate: str) -> int:
        """The memory that the candidate's volume and all emulated drives are likely to take."""
        own = self.held if candidate in self.memory_backed else 0
        return own + self.images_bytes


@dataclass(frozen=True, kw_only=True)
class DatabaseScene(Scene):
    """And of a database: where it is loaded, with which data, with which memory.

    `datasets` have their sizes. `memory_bytes`: by candidate what its server may use;
    `loading_memory_bytes` is that of the server that loads the database.
    """

    master_candidate: str
    workload: Workload
    datasets: Sequence[tuple[Dataset, DatabaseSizes]]
    memory_bytes: Mapping[str, int]
    loading_memory_bytes: int

    def dataset_at(self, point: Point) -> Dataset:
        """The dataset with which the windows at a point begin."""
        return next(dataset for dataset, _ in self.datasets if dataset.has(point))

    def find_size(self, point: Point) -> DatabaseSizes:
        return next(size for dataset, size in self.datasets if dataset.has(point))

    @property
    def largest(self) -> DatabaseSizes:
        return max((size for _, size in self.datasets), key=lambda size: size.database_bytes)

    def memory(self, candidate: str) -> int:
        """The memory that a server on this candidate may use, and all storage in memory with it."""
        return self.memory_bytes[candidate] + self.count_pages(candidate)

    @property
    def loading_memory(self) -> int:
        """The same of the server that loads the database."""
        return self.loading_memory_bytes + self.count_pages(self.master_candidate)


class PlannedScenario(Scenario):
    """What a study does: steps, windows, and what they take. Every scenario is one."""

    less_room: str = ""
    """With what a study without a database would need less room, as a remedy names it."""

    def plan_steps(self, study: Study, scene: Scene) -> Iterator[Step]:
        """Plan all steps in their order."""
        raise NotImplementedError

    def plan_windows(
        self, study: Study, block: Block, *, tried: bool = False
    ) -> Iterator[WindowPlan]:
        """Plan the windows of a block; `tried` where a search chose its point."""
        raise NotImplementedError

    def plan_around(self, study: Study, scene: Scene, window: WindowPlan) -> Iterator[Step]:
        """Plan a window and the steps that belong to it."""
        raise NotImplementedError

    def count_needed_bytes(self, study: Study) -> Mapping[Role, int]:
        """Count what roles of a candidate may come to hold in a study without a database."""
        raise NotImplementedError

    def count_added_bytes(self, study: Study, held: int) -> Mapping[Role, int]:
        """Count what roles hold beside a database of `held` bytes."""
        return {}

    def leaves_devices(self, study: Study) -> bool:
        """Whether devices without a file system keep what they hold until the first window."""
        return False

    def list_server_settings(self, study: Study) -> Mapping[str, str]:
        """List settings that servers have in all windows, beside those of the study."""
        return {}

    def describe_settings(self, study: Study) -> Iterator[str]:
        """Say what these are and what they cost, a sentence each."""
        return iter(())

    def list_backups(self, study: Study) -> list[tuple[str, BackupOptions]]:
        """List the methods of backup that a study uses, with their options."""
        return []


def find_scenario(study: Study) -> PlannedScenario:
    """Find the scenario of a study."""
    return plugins(PlannedScenario)[study.scenario.name]


Around = Callable[[Study, Scene, WindowPlan], Iterator[Step]]
WindowsOf = Callable[[Study, Block], Iterator[WindowPlan]]


def plan_provisions(study: Study, scene: Scene) -> Iterator[Step]:
    """The volume of each candidate is made, and the idle machine measured if there are meters."""
    for name in study.candidates:
        yield Step(make_step_id("provision", name), "provision", name, cost.provision(scene.held))
    if study.power is not None:
        yield Step("measure-idle", "measure-idle", None, cost.estimate_idle(study.power.idle_s))


def tear_downs(study: Study, scene: Scene) -> Iterator[Step]:
    """And what was made for it is removed."""
    for name in study.candidates:
        yield Step(make_step_id("tear-down", name), "tear-down", name, cost.tear_down(scene.held))


def plan_windows(
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
    ordered = list_rounds if in_rounds else list_blocks
    drawn = ordered(list(study.candidates), _list_counts(study, scene, alike), study.seed)
    if first is not None:
        drawn = tuple(sorted(drawn, key=lambda each: (each.index, first(each.point))))
    for block in drawn:
        for window in windows_of(study, block):
            yield from around(study, scene, window)


def _list_counts(study: Study, scene: Scene, alike: frozenset[str]) -> list[tuple[Point, int]]:
    """The points with their blocks; last those that go on until the question is decided."""
    asked, repeat = scene.question, study.repeat
    if asked is None or repeat is not None:
        return [(point, repeat or 1) for point in study.points]
    lasting = [
        each
        for each in study.points
        if _drop_compared(each, alike) == _drop_compared(asked.point, alike)
    ]
    others = [(point, 1) for point in study.points if point not in lasting]
    return [*others, *((point, asked.blocks_most) for point in lasting)]


def _drop_compared(point: Point, names: frozenset[str]) -> Point:
    """What is left of a point apart from what is compared; keys of `vary` alone have a dot."""
    return Point(
        tuple(factor for factor in point.factors if not ("." in factor[0] or factor[0] in names))
    )


def list_windows(
    block: Block,
    ramp_up_s: float,
    duration_s: float,
    activities: tuple[str, ...],
    *,
    checkpoint: bool = False,
    tried: bool = False,
    instances: int = 1,
) -> Iterator[WindowPlan]:
    """The windows of a block; `tried` where a search chose its point."""
    for position, candidate in enumerate(block.candidates):
        yield WindowPlan(
            make_window_id(candidate, block.point, block.index), candidate, block.point,
            block.index, position, ramp_up_s, duration_s, block.seed, activities,
            checkpoint=checkpoint, tried=tried, instances=instances,
        )  # fmt: skip


def may_be_spared(scene: Scene, window: WindowPlan, alike: frozenset[str] = frozenset()) -> bool:
    """Whether a window is left out once the primary question is decided; `alike` as above."""
    asked, point = scene.question, window.point
    if asked is not None and _drop_compared(point, alike) == _drop_compared(asked.point, alike):
        point = asked.point
    optional = asked is not None and asked.may_spare(point, window.block)
    # What stands in for a block that was needed is needed, too.
    return optional and not window.tried and not window.attempt


def plan_baseline_check(
    scene: Scene, window: WindowPlan, alike: frozenset[str] = frozenset()
) -> Iterator[Step]:
    """The baseline check before the first window of a block; `alike` as above."""
    if window.position == 0:
        check_id = make_step_id("baseline-check", window.id)
        optional = may_be_spared(scene, window, alike)
        cost_of_it = cost.estimate_baseline_check(scene.wait_s)
        yield Step(check_id, "baseline-check", None, cost_of_it, window, if_undecided=optional)


def sum_inside_bytes(method: RestoreMethod, sizes: Sequence[DatabaseSizes]) -> int:
    """What the method keeps of all datasets within a server, bytes."""
    return sum(size.data_bytes for size in sizes) if method.keeps_inside else 0


def keep(method: RestoreMethod, scene: DatabaseScene, size: DatabaseSizes) -> Cost:
    """Of keeping what was loaded."""
    return _estimate_work(method.keep_work, scene, size, scene.master_candidate)


def make_restore_step(
    study: Study, scene: DatabaseScene, window: WindowPlan, *, if_undecided: bool
) -> Step:
    """The restore before a window, on its candidate, for a single instance."""
    method = get_restore(study.database.restore)
    work = method.first_work if _is_first(study, scene, window) else method.restore_work
    taken = _estimate_work(work, scene, scene.find_size(window.point), window.candidate)
    return Step(
        make_step_id("restore", window.id), "restore", window.candidate, taken, window,
        if_undecided=if_undecided, method=method.name,
    )  # fmt: skip


def _estimate_work(
    work: Sequence[Work], scene: DatabaseScene, size: DatabaseSizes, candidate: str
) -> Cost:
    pages = scene.count_pages(candidate)
    served = scene.loading_memory_bytes + pages
    costs: Mapping[Work, Cost] = {
        "copy": cost.estimate_copying(size, pages),
        "load": cost.prepare_alone(size, scene.workload, served),
        "read": cost.estimate_checksums(size, served),
    }
    return cost.add_costs([costs[each] for each in work])


def _is_first(study: Study, scene: DatabaseScene, window: WindowPlan) -> bool:
    """Whether it is the planned window in which its candidate has the dataset for the first time.

    Where the order of points is drawn, it is one that costs as much.
    """
    if window.block or window.attempt or window.tried:
        return False
    dataset = scene.dataset_at(window.point)
    return window.point == next((point for point in study.points if dataset.has(point)), None)
