"""The seam of scenarios as a plan sees them: what a study does, as steps.

Each step names its kind, a `StepKind`, and each window its activities (`stithy.run.activity`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from stithy.engines.backup import Options
from stithy.plan.cost import Sizes
from stithy.plan.order import Block
from stithy.plan.steps import Dataset, Question, Step, WindowPlan
from stithy.point import Point
from stithy.registry import plugins
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

    def pages(self, candidate: str) -> int:
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
    datasets: Sequence[tuple[Dataset, Sizes]]
    memory_bytes: Mapping[str, int]
    loading_memory_bytes: int

    def dataset_at(self, point: Point) -> Dataset:
        """The dataset with which the windows at a point begin."""
        return next(dataset for dataset, _ in self.datasets if dataset.has(point))

    def size_at(self, point: Point) -> Sizes:
        """The sizes of the database at a point."""
        return next(size for dataset, size in self.datasets if dataset.has(point))

    @property
    def largest(self) -> Sizes:
        """The sizes of the largest database."""
        return max((size for _, size in self.datasets), key=lambda size: size.database_bytes)

    def memory(self, candidate: str) -> int:
        """The memory that a server on this candidate may use, and all storage in memory with it."""
        return self.memory_bytes[candidate] + self.pages(candidate)

    @property
    def loading_memory(self) -> int:
        """The same of the server that loads the database."""
        return self.loading_memory_bytes + self.pages(self.master_candidate)


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
        del study, held
        return {}

    def leaves_devices(self, study: Study) -> bool:
        """Whether devices without a file system keep what they hold until the first window."""
        del study
        return False

    def list_backups(self, study: Study) -> list[tuple[str, Options]]:
        """List the methods of backup that a study uses, with their options."""
        del study
        return []


def scenario_of(study: Study) -> PlannedScenario:
    """Find the scenario of a study."""
    return plugins(PlannedScenario)[study.scenario.name]
