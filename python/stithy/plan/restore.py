"""The steps of a restore method: what keeping the loaded database and restoring it cost."""

from collections.abc import Mapping, Sequence

from stithy.plan import cost
from stithy.plan.cost import Sizes
from stithy.plan.scenario import DatabaseScene
from stithy.plan.steps import Cost, Step, WindowPlan, step_id
from stithy.restores.method import RestoreMethod, Work, get_restore
from stithy.study.model import Study


def inside_bytes(method: RestoreMethod, sizes: Sequence[Sizes]) -> int:
    """What the method keeps of all datasets within a server, bytes."""
    return sum(each.data_bytes for each in sizes) if method.keeps_inside else 0


def keep(method: RestoreMethod, scene: DatabaseScene, size: Sizes) -> Cost:
    """Of keeping what was loaded."""
    return _cost(method.keep_work, scene, size, scene.master_candidate)


def step(study: Study, scene: DatabaseScene, window: WindowPlan, *, if_undecided: bool) -> Step:
    """The restore before a window, on its candidate, for a single instance."""
    method = get_restore(study.database.restore)
    work = method.first_work if _is_first(study, scene, window) else method.restore_work
    taken = _cost(work, scene, scene.size_at(window.point), window.candidate)
    return Step(
        step_id("restore", window.id), "restore", window.candidate, taken, window,
        if_undecided=if_undecided, method=method.name,
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
