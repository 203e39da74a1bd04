"""Noisy neighbours: what tenants of a candidate lose while an aggressor works on the same storage.

Each of several tenants has its own copy of the dataset, its own server and its own users, all of
which begin together. The aggressor works beside them at a rate that is a factor of the point; at 0
the tenants are alone. Both are measured in rounds, so that each block pairs them: the tenants and
their load are the same in both, and only the neighbour is switched.
"""

from collections.abc import Iterator, Mapping, Sequence

from stithy.fio import FIO
from stithy.plan import cost, loop
from stithy.plan.order import Block
from stithy.plan.scenario import DatabaseScene, Scene
from stithy.plan.scenarios import load as usual
from stithy.plan.scenarios.noisy_neighbour.keys import Spec
from stithy.plan.steps import Cost, Step, WindowPlan, step_id
from stithy.point import USERS, Point, Value
from stithy.storage.provider import Role
from stithy.study.load_keys import Load
from stithy.study.model import Study

NAME = "noisy-neighbour"
NEEDS = (*usual.NEEDS, FIO)
NEIGHBOUR = "neighbour"
"""The factor: what is asked of the aggressor, requests a second."""

ALONE = 0
"""Its value where there is none."""

SLACK_BYTES = 64 * 2**20
"""What a file system takes for itself beside the aggressor's file."""

WRITTEN_BYTES_PER_S = 100 * 2**20
WRITTEN_BYTES_PER_S_MIN = 5 * 2**20
"""How fast that file is written: likely, and at least."""


def spec_of(study: Study) -> Spec:
    """The keys of the scenario."""
    assert isinstance(study.scenario.spec, Spec)  # read by it
    return study.scenario.spec


def asked_of(point: Point) -> int:
    """What is asked of the aggressor at a point, requests a second."""
    return int(point.values.get(NEIGHBOUR, ALONE))


def factors(spec: Spec, load: Load) -> Mapping[str, Sequence[Value]]:
    """The levels of the load, alone and beside each rate of the aggressor."""
    return {USERS: load.users, NEIGHBOUR: (ALONE, *spec.rate)}


def added_bytes(study: Study, _: int = 0) -> dict[Role, int]:
    """What the aggressor's file takes, by the role whose volume it lies on."""
    every = [spec_of(each) for each in study.variants]
    return {each.volume: max(other.size_bytes for other in every) + SLACK_BYTES for each in every}


def steps(study: Study, scene: Scene) -> Iterator[Step]:
    """Volumes, the aggressor's file, the dataset, windows in rounds, and nothing is left."""
    assert isinstance(scene, DatabaseScene)  # its studies have a database
    yield from loop.provisions(study, scene)
    size = max(added_bytes(study).values())
    for name in study.candidates:
        likely_s, most_s = size / WRITTEN_BYTES_PER_S, size / WRITTEN_BYTES_PER_S_MIN
        taken = Cost(1 + likely_s, 10 + most_s, scene.held, scene.pages(name))
        yield Step(step_id("lay-out-neighbour", name), "lay-out-neighbour", name, taken)
    yield from usual.database(study, scene)
    yield from loop.windows(study, scene, windows_of, around, in_rounds=True)
    yield from loop.tear_downs(study, scene)


def windows_of(study: Study, block: Block, *, tried: bool = False) -> Iterator[WindowPlan]:
    """The windows of a block, with the aggressor where its point asks for one."""
    load, spec = study.load, spec_of(study.at(block.point))
    beside = (f"neighbour-{spec.aggressor}",) if asked_of(block.point) else ()
    return loop.windows_of(
        block, load.ramp_up_s, load.duration_s, ("tenants", *beside),
        checkpoint=load.checkpoint, tried=tried, tenants=spec.tenants,
    )  # fmt: skip


def around(study: Study, scene: Scene, window: WindowPlan) -> Iterator[Step]:
    """The steps of one window: a block's baseline check, a copy for each tenant, and itself."""
    assert isinstance(scene, DatabaseScene)  # as in `steps`
    name, size = window.candidate, scene.size_at(window.point)
    optional, tenants = loop.may_be_spared(scene, window), window.tenants
    restored = cost.restore(size, size.database_bytes, scene.pages(name))
    measured = cost.window(study, size, scene.workload, scene.held, scene.memory(name))
    yield from loop.baseline_check(scene, window)
    restore_id = step_id("restore", window.id)
    yield Step(
        restore_id, "restore", name, _times(restored, tenants), window, if_undecided=optional
    )
    around_s = measured.time_s - window.ramp_up_s - window.duration_s
    more_s = (tenants - 1) * around_s
    measured = Cost(measured.time_s + more_s, measured.time_s_max + cost.SLOWER * more_s,
                    measured.space_bytes, measured.memory_bytes)  # fmt: skip
    yield Step(window.id, "window", name, measured, window, if_undecided=optional)


def _times(one: Cost, count: int) -> Cost:
    held, memory = max(one.space_bytes * count, one.space_bytes), one.memory_bytes
    return Cost(one.time_s * count, one.time_s_max * count, held, memory)
