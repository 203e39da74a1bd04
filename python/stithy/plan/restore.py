"""The interface of a restore method: how a database gets back to its loaded state before a window.

A method is one module in `restores/`, which says what it is, and one in `stithy.run.restores`,
which does it. The first has

- `NAME`, the value of the key `database.restore`, and `WHAT`, what it does, for the reference page;
- `KEEP` and `RESTORE`, what its steps do, for a plan;
- `STATE`, what every window starts from, and `PROVEN`, what each restore has shown, for the report;
- `NOTED`, what a resumed run has found, with a place for `{of}` which dataset, and `RESUMED`, what
  the database of a resumed run was, for its report;
- `KEEPS_FILES`, whether it has a master copy of the database's files beside the results, and
  `KEEPS_INSIDE`, whether it keeps the loaded database within the server under test, on the
  candidate's storage;
- `KEPT_BY`, `RESTORED_BY` and, where a candidate has not had the dataset before, `FIRST_BY`, the
  work of its steps: what takes their time;
- `problem(engine)`, why the engine cannot have it, None where it can.

It imports nothing of the plan: a study is read by it.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, cast

from stithy.plan import cost
from stithy.plan.cost import Sizes
from stithy.plan.scenario import DatabaseScene
from stithy.plan.steps import Cost, Step, WindowPlan, step_id
from stithy.registry import plugins
from stithy.study.model import Study

Work = Literal["copy", "load", "read"]
"""All files or pages are copied, the database is loaded, or all of its rows are read."""


class Method(Protocol):
    """A seam: the module of a restore method."""

    NAME: str
    WHAT: str
    KEEP: str
    RESTORE: str
    STATE: str
    PROVEN: str
    NOTED: str
    RESUMED: str
    KEEPS_FILES: bool
    KEEPS_INSIDE: bool

    KEPT_BY: Sequence[Work]
    RESTORED_BY: Sequence[Work]
    FIRST_BY: Sequence[Work]

    def problem(self, engine: str) -> str | None:
        """Why the engine cannot have it."""


def method_named(name: str) -> Method:
    """The method of this name."""
    return cast(Method, plugins("restore")[name])


def method_known(name: str | None) -> Method | None:
    """The method that results name, if it is there."""
    return cast(Method | None, plugins("restore").get(name or ""))


def inside_bytes(method: Method, sizes: Sequence[Sizes]) -> int:
    """What the method keeps of all datasets within a server, bytes."""
    return sum(each.data_bytes for each in sizes) if method.KEEPS_INSIDE else 0


def keep(method: Method, scene: DatabaseScene, size: Sizes) -> Cost:
    """Of keeping what was loaded."""
    return _cost(method.KEPT_BY, scene, size, scene.master_candidate)


def step(study: Study, scene: DatabaseScene, window: WindowPlan, *, if_undecided: bool) -> Step:
    """The restore before a window, on its candidate, for a single instance."""
    method = method_named(study.database.restore)
    work = method.FIRST_BY if _is_first(study, scene, window) else method.RESTORED_BY
    taken = _cost(work, scene, scene.size_at(window.point), window.candidate)
    return Step(
        step_id("restore", window.id), "restore", window.candidate, taken, window,
        if_undecided=if_undecided, method=method.NAME,
    )  # fmt: skip


def _cost(work: Sequence[Work], scene: DatabaseScene, size: Sizes, candidate: str) -> Cost:
    """Of all of this work, one after the other."""
    pages = scene.pages(candidate)
    served = scene.loading_memory_bytes + pages
    costs: Mapping[Work, Cost] = {
        "copy": cost.copying(size, pages),
        "load": cost.prepare_alone(size, scene.workload, served),
        "read": cost.checksums(size, served),
    }
    return cost.one_after_the_other([costs[each] for each in work])


def _is_first(study: Study, scene: DatabaseScene, window: WindowPlan) -> bool:
    """Whether it is the planned window in which its candidate has the dataset for the first time.

    Where the order of points is drawn, it is one that costs as much.
    """
    if window.block or window.attempt or window.tried:
        return False
    dataset = scene.dataset_at(window.point)
    return window.point == next((each for each in study.points if dataset.has(each)), None)
