"""Noisy neighbours: what tenants of a candidate lose while an aggressor works on the same storage.

Each of several tenants has its own copy of the dataset, its own server and its own users, all of
which begin together. The aggressor works beside them with an intensity that is a factor of the
point; at 0 the tenants are alone. Both are measured in rounds, so that each block pairs them: the
tenants and their load are the same in both, and only the neighbour is switched. What the neighbour
does is a plug-in (`aggressor.py`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from stithy.activities.hammer.declared import USERS
from stithy.engines.backup import BackupOptions
from stithy.engines.engine import get_engine
from stithy.needs import CpuShare, IoLimit, Need
from stithy.plan import cost, scenario
from stithy.plan.scenario import DatabaseScene, PlannedScenario, Scene
from stithy.plan.steps import Block, Cost, Step, WindowPlan, make_step_id
from stithy.point import Point, Value
from stithy.restores.method import RestoreMethod
from stithy.scenarios.load.plan import LoadScenario, load_database
from stithy.scenarios.noisy_neighbour.aggressor import (
    Common,
    OwnDatabase,
    find_aggressor,
    list_aggressors,
)
from stithy.storage.provider import Role
from stithy.study.load_keys import Load
from stithy.study.model import Study

NAME = "noisy-neighbour"
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


def find_spec(study: Study) -> Common:
    """The keys of a study."""
    assert isinstance(study.scenario.spec, Common)  # read by one of them
    return study.scenario.spec


def find_level(point: Point) -> int:
    """How much is asked of the aggressor at a point, in what it counts."""
    return int(point.values.get(NEIGHBOUR, ALONE))


def name_activity(spec: Common) -> str:
    """What the aggressor does in a window."""
    return f"{OF_NEIGHBOURS}{spec.aggressor}"


OF_NEIGHBOURS = "neighbour-"
"""How the names of the activities of aggressors begin."""


class NoisyNeighbourScenario(PlannedScenario):
    """Tenants work alone, and beside an aggressor on the same storage."""

    name = NAME
    needs = (
        *LoadScenario.needs,
        *(need for aggressor in list_aggressors().values() for need in aggressor.needs),
        IoLimit(why="a `limit` of neighbours with databases of their own", optional=True),
        CpuShare(why="a `cpu_share` of tenants", optional=True),
    )
    choice = "aggressor"

    def list_keys(self) -> dict[str, type[Common]]:
        return {name: aggressor.keys for name, aggressor in list_aggressors().items()}

    def explain_needs(self, study: Study) -> tuple[Need, ...]:
        """List the control groups that a guard or a share of the CPUs needs."""
        every = [find_spec(variant) for variant in study.variants]
        guarded = any(isinstance(each, OwnDatabase) and each.limit is not None for each in every)
        needs: list[Need] = [IoLimit(why="the neighbour's `limit`")] if guarded else []
        if any(each.cpu_percent is not None for each in every):
            needs.append(CpuShare(why="the tenants' `cpu_share`"))
        return tuple(needs)

    def list_facts(self, study: Study) -> dict[str, str]:
        """Where the aggressor works, where that is the same at all points."""
        volumes = {find_spec(variant).volume for variant in study.variants}
        return {"volume": volumes.pop()} if len(volumes) == 1 else {}

    def list_backups(self, study: Study) -> list[tuple[str, BackupOptions]]:
        every = map(find_spec, study.variants)
        found = (of for keys in every for of in find_aggressor(keys).list_backups(keys))
        return list(dict.fromkeys(found))

    def list_factors(self, spec: Common, load: Load) -> Mapping[str, Sequence[Value]]:
        levels = find_aggressor(spec).list_levels(spec)
        own = {NEIGHBOUR: (ALONE, *levels)} if levels else {}
        return {USERS.name: load.levels, **own}

    def count_added_bytes(self, study: Study, held: int) -> dict[Role, int]:
        one, most = held // study.instances, dict[Role, int]()
        for variant in study.variants:
            spec = find_spec(variant)
            for role, size in find_aggressor(spec).count_added_bytes(spec, one, variant).items():
                most[role] = max(most.get(role, 0), size)
        return most

    def explain_refusal(self, study: Study, method: RestoreMethod) -> str | None:
        """A neighbour's databases are copies of the files that the tenants' are copies of."""
        aggressor = find_aggressor(find_spec(study))
        if method.keeps_files:
            return None
        if find_spec(study).list_differing():
            return "tenants that differ are copies of the files of several databases"
        if not aggressor.has_dataset:
            return None
        return f"the databases of the neighbour {aggressor.name} are copies of files"

    def explain_one_engine(self, study: Study) -> str | None:
        """A neighbour with databases would be another one beside each engine."""
        aggressor = find_aggressor(find_spec(study))
        if not aggressor.has_dataset:
            return None
        whose = f"the neighbour {aggressor.name} has databases of the tenants' engine"
        return f"{whose}, and would differ with it"

    def plan_steps(self, study: Study, scene: Scene) -> Iterator[Step]:
        assert isinstance(scene, DatabaseScene)  # its studies have a database
        engine = get_engine(study.database.engine)
        for name, options in self.list_backups(study):
            engine.get_backup(name).check_options(options, f"scenario.{NAME}")
        has_dataset = find_aggressor(find_spec(study)).has_dataset
        yield from scenario.plan_provisions(study, scene)
        if not has_dataset:
            yield from self._lay_outs(study, scene)
        yield from load_database(study, scene)
        if has_dataset:
            yield from self._lay_outs(study, scene)
        yield from scenario.plan_windows(
            study, scene, self.plan_windows, self.plan_around, in_rounds=True, alike=ALIKE
        )
        yield from scenario.tear_downs(study, scene)

    def plan_windows(
        self, study: Study, block: Block, *, tried: bool = False
    ) -> Iterator[WindowPlan]:
        load, spec = study.load, find_spec(study.at(block.point))
        beside = (name_activity(spec),) if find_level(block.point) else ()
        return scenario.list_windows(
            block, load.ramp_up_s, load.duration_s, ("tenants", *beside),
            checkpoint=load.checkpoint, tried=tried, instances=spec.tenants,
        )  # fmt: skip

    def plan_around(self, study: Study, scene: Scene, window: WindowPlan) -> Iterator[Step]:
        assert isinstance(scene, DatabaseScene)  # as in `steps`
        name, tenants = window.candidate, window.instances
        optional = scenario.may_be_spared(scene, window, ALIKE)
        points = [study.derive_point(window.point, number + 1) for number in range(tenants)]
        size = max(map(scene.find_size, points), key=lambda size: size.database_bytes)
        windows = [replace(window, point=point) for point in points]
        restored, *others = (scenario.make_restore_step(study, scene, of, if_undecided=optional)
                             for of in windows)  # fmt: skip
        each = [step.cost for step in (restored, *others)]
        held = sum(one.space_bytes for one in each)
        restores = replace(cost.add_costs(each), space_bytes=held)
        measured = cost.estimate_window(study, size, scene.workload, scene.held, scene.memory(name))
        yield from scenario.plan_baseline_check(scene, window, ALIKE)
        yield replace(restored, cost=restores, window=window)
        around_s = measured.time_s - window.ramp_up_s - window.duration_s
        more_s = (tenants - 1) * around_s
        measured = Cost(measured.time_s + more_s, measured.time_s_max + cost.SLOWER * more_s,
                        measured.space_bytes, measured.memory_bytes)  # fmt: skip
        yield Step(window.id, "window", name, measured, window, if_undecided=optional)

    def _lay_outs(self, study: Study, scene: DatabaseScene) -> Iterator[Step]:
        if not find_aggressor(find_spec(study)).list_levels(find_spec(study)):
            return
        held = study.instances * cost.sum_held_bytes(scene.largest)
        size = max(self.count_added_bytes(study, held).values())
        for name in study.candidates:
            taken = cost.estimate_writing(size, scene.held, scene.count_pages(name))
            yield Step(make_step_id("lay-out-neighbour", name), "lay-out-neighbour", name, taken)


PLUGINS = (NoisyNeighbourScenario(),)
