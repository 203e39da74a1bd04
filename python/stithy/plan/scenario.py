"""The interface of a scenario: what a study does, as steps.

A scenario is one module in `scenarios/` with `NAME`, `NEEDS` (what it needs of the machine,
`stithy.needs`), optionally `Spec` (its keys in a study, below its name; `FIXED` names those that
`vary` cannot list, `POINTS` those of them that say which points are measured and how often: runs
that differ in these are comparable; `io_profiles` are the I/O profiles that fio runs, which are
facts of the run, as fio's version then is; `stithy.study` asks it for `first_points`, `impossible`,
`spared_points`, `misfits`, `at_shares` and `without_users`, where it has them; of several kinds of
keys `specs()` instead, by the word that names each at the key `CHOICE`, the usual kind first),
`needs_of(study)` (what its keys need of the machine besides, checked before a run), `facts(study)`
(what its keys come to, by name, as the manifest keeps it for the report) and `SECTIONS` (those of
`database`, `workload` and `load` that it needs; without it all), and

- `factors(spec, load)`, what it varies by itself: at least one factor with its values;
- `steps(study, scene)`, which gives the steps in their order;
- `windows_of(study, block, tried)`, the windows of a block; and
- `around(study, scene, window)`, the steps of a window and what belongs to it.

Without a database it says itself `needed_bytes(study)`, what each role of a candidate may come to
hold (0 for roles that it does not name), and `METRIC`, by which candidates are compared; optionally
`LESS_ROOM`, with what a study would need less of it, as a remedy names it, and `as_found(study)`,
whether devices without a file system keep what they hold. With one it may have a `METRIC`, too,
instead of throughput or response time, and say
`added_bytes(study, held)`, what roles hold beside the database of so many bytes,
`backups(study)`, the methods of backup that it uses, with their options, `CHECKS_AT_END`, whether
all consistency conditions are checked after its windows (the report says where that lacks), and
`restore_problem(study, method)`, why it cannot have a restore method (`plan.restore`), else None.
One that measures as `load` does may take all from it.
It decides; it neither asks the machine nor changes it. Each step names its kind, a module in
`stithy.run.steps`; each window its activity, a module in `stithy.run.activities`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stithy.plan.cost import Sizes
from stithy.plan.steps import Dataset, Question
from stithy.point import Point
from stithy.storage.provider import Role
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
