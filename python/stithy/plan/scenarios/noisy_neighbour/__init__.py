"""Noisy neighbours: what tenants of a candidate lose while an aggressor works on the same storage.

Each of several tenants has its own copy of the dataset, its own server and its own users, all of
which begin together. The aggressor works beside them with an intensity that is a factor of the
point; at 0 the tenants are alone. Both are measured in rounds, so that each block pairs them: the
tenants and their load are the same in both, and only the neighbour is switched. What the neighbour
does is a plug-in (`aggressor.py`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from stithy.activities.hammer import USERS
from stithy.engines.backup import Options, check_options, method_of
from stithy.needs import CpuShare, IoLimit, Need
from stithy.plan import cost, loop, restore
from stithy.plan.order import Block
from stithy.plan.scenario import DatabaseScene, Scene
from stithy.plan.scenarios import load as usual
from stithy.plan.scenarios.noisy_neighbour.aggressor import (
    Common,
    OwnDatabase,
    aggressor_of,
    known_aggressors,
)
from stithy.plan.steps import Cost, Step, WindowPlan, step_id
from stithy.point import Point, Value
from stithy.storage.provider import Role
from stithy.study.load_keys import Load
from stithy.study.model import Study

NAME = "noisy-neighbour"
NEEDS = (
    *usual.NEEDS,
    *(need for each in known_aggressors().values() for need in getattr(each, "NEEDS", ())),
    IoLimit(why="a `limit` of neighbours with databases of their own", optional=True),
    CpuShare(why="a `cpu_share` of tenants", optional=True),
)
CHOICE = "aggressor"
NEIGHBOUR = "neighbour"
"""The factor: how much is asked of the aggressor, in what it counts."""

ALIKE = frozenset({NEIGHBOUR})
"""What is compared with each other, and so has the same blocks."""

LIMIT = f"scenario.{NAME}.limit"
"""The key of the guard, as a study varies it."""

VOLUME = f"scenario.{NAME}.volume"
"""The key that says where the aggressor works, as a study varies it."""

ALONE = 0
"""Its value where there is none."""


def specs() -> dict[str, type[Common]]:
    """The keys of the scenario, by aggressor."""
    return {name: module.Spec for name, module in known_aggressors().items()}


def spec_of(study: Study) -> Common:
    """The keys of a study."""
    assert isinstance(study.scenario.spec, Common)  # read by one of them
    return study.scenario.spec


def facts(study: Study) -> dict[str, str]:
    """Where the aggressor works, where that is the same at all points."""
    volumes = {spec_of(each).volume for each in study.variants}
    return {"volume": volumes.pop()} if len(volumes) == 1 else {}


def level_of(point: Point) -> int:
    """How much is asked of the aggressor at a point, in what it counts."""
    return int(point.values.get(NEIGHBOUR, ALONE))


def factors(spec: Common, load: Load) -> Mapping[str, Sequence[Value]]:
    """The levels of the load, alone and beside each intensity of the aggressor."""
    return {USERS.name: load.levels, NEIGHBOUR: (ALONE, *aggressor_of(spec).levels(spec))}


def added_bytes(study: Study, held: int) -> dict[Role, int]:
    """What the aggressor holds, by the role whose volume it lies on."""
    one, most = held // study.tenants, dict[Role, int]()
    for each in study.variants:
        spec = spec_of(each)
        for role, size in aggressor_of(spec).added_bytes(spec, one, each).items():
            most[role] = max(most.get(role, 0), size)
    return most


def backups(study: Study) -> list[tuple[str, Options]]:
    """The methods of backup that the aggressor uses at any point, with their options."""
    found: list[tuple[str, Options]] = []
    for spec in map(spec_of, study.variants):
        asked = getattr(aggressor_of(spec), "backups", None)
        found += asked(spec) if asked else []
    return list(dict.fromkeys(found))


def restore_problem(study: Study, method: restore.Method) -> str | None:
    """A neighbour's databases are copies of the files that the tenants' are copies of."""
    aggressor = aggressor_of(spec_of(study))
    if method.KEEPS_FILES or not aggressor.HAS_DATASET:
        return None
    return f"the databases of the neighbour {aggressor.NAME} are copies of files"


def needs_of(study: Study) -> tuple[Need, ...]:
    """What these keys need of the machine: a guard by control groups, where one is asked for."""
    every = [spec_of(each) for each in study.variants]
    guarded = any(isinstance(each, OwnDatabase) and each.limit is not None for each in every)
    needs: list[Need] = [IoLimit(why="the neighbour's `limit`")] if guarded else []
    if any(each.cpu_percent is not None for each in every):
        needs.append(CpuShare(why="the tenants' `cpu_share`"))
    return tuple(needs)


def steps(study: Study, scene: Scene) -> Iterator[Step]:
    """Volumes, the dataset, what the aggressor needs, windows in rounds, and nothing is left."""
    assert isinstance(scene, DatabaseScene)  # its studies have a database
    for name, options in backups(study):
        check_options(method_of(study.database.engine, name), options, f"scenario.{NAME}")
    has_dataset = aggressor_of(spec_of(study)).HAS_DATASET
    yield from loop.provisions(study, scene)
    if not has_dataset:
        yield from _lay_outs(study, scene)
    yield from usual.database(study, scene)
    if has_dataset:
        yield from _lay_outs(study, scene)
    yield from loop.windows(study, scene, windows_of, around, in_rounds=True, alike=ALIKE)
    yield from loop.tear_downs(study, scene)


def _lay_outs(study: Study, scene: DatabaseScene) -> Iterator[Step]:
    size = max(added_bytes(study, study.tenants * cost.held_bytes(scene.largest)).values())
    for name in study.candidates:
        taken = cost.writing(size, scene.held, scene.pages(name))
        yield Step(step_id("lay-out-neighbour", name), "lay-out-neighbour", name, taken)


def windows_of(study: Study, block: Block, *, tried: bool = False) -> Iterator[WindowPlan]:
    """The windows of a block, with the aggressor where its point asks for one."""
    load, spec = study.load, spec_of(study.at(block.point))
    beside = (activity_of(spec),) if level_of(block.point) else ()
    return loop.windows_of(
        block, load.ramp_up_s, load.duration_s, ("tenants", *beside),
        checkpoint=load.checkpoint, tried=tried, tenants=spec.tenants,
    )  # fmt: skip


def activity_of(spec: Common) -> str:
    """What the aggressor does in a window."""
    return f"{OF_NEIGHBOURS}{spec.aggressor}"


OF_NEIGHBOURS = "neighbour-"
"""How the names of the activities of aggressors begin."""


def around(study: Study, scene: Scene, window: WindowPlan) -> Iterator[Step]:
    """The steps of one window: a block's baseline check, a copy for each tenant, and itself."""
    assert isinstance(scene, DatabaseScene)  # as in `steps`
    name, size = window.candidate, scene.size_at(window.point)
    optional = loop.may_be_spared(scene, window, ALIKE)
    tenants, restored = window.tenants, restore.step(study, scene, window, if_undecided=optional)
    measured = cost.window(study, size, scene.workload, scene.held, scene.memory(name))
    yield from loop.baseline_check(scene, window, ALIKE)
    yield replace(restored, cost=_times(restored.cost, tenants))
    around_s = measured.time_s - window.ramp_up_s - window.duration_s
    more_s = (tenants - 1) * around_s
    measured = Cost(measured.time_s + more_s, measured.time_s_max + cost.SLOWER * more_s,
                    measured.space_bytes, measured.memory_bytes)  # fmt: skip
    yield Step(window.id, "window", name, measured, window, if_undecided=optional)


def _times(one: Cost, count: int) -> Cost:
    held, memory = max(one.space_bytes * count, one.space_bytes), one.memory_bytes
    return Cost(one.time_s * count, one.time_s_max * count, held, memory)
