"""Migration: the same users while their database moves to other storage, and while it stays.

Each block has a window without a migration and one for each way, so that the difference is what it
costs. It begins at a set time of the measurement; afterwards users work on at the target. The next
window begins where the database was before. Every window keeps a ledger, which is compared with the
database that moved: nothing that was acknowledged may be missing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pydantic import BaseModel

from stithy.activities.hammer.declared import USERS
from stithy.engines.backup import BackupOptions
from stithy.engines.engine import get_engine
from stithy.errors import Refused, UserError
from stithy.needs import Need
from stithy.plan import scenario
from stithy.plan.scenario import DatabaseScene, Scene
from stithy.plan.steps import Block, Step, WindowPlan
from stithy.point import Value
from stithy.registry import plugins
from stithy.restores.method import RestoreMethod
from stithy.scenarios.load.plan import LoadScenario, check_at_end, load_database
from stithy.scenarios.migration.declared import name_activity
from stithy.scenarios.migration.way import NAME, NONE, WAY, MigrationSpec, WayKind
from stithy.study.load_keys import Load
from stithy.study.model import Study

ALIKE = frozenset({WAY})
"""What is compared with each other, and so has the same blocks."""


def find_spec(study: Study) -> MigrationSpec:
    """The keys of a study."""
    spec = study.scenario.spec
    return spec if isinstance(spec, MigrationSpec) else MigrationSpec()


class MigrationScenario(LoadScenario):
    """Users work while their database moves, and nothing acknowledged may be lost."""

    name = NAME
    keys = MigrationSpec
    is_by_url = False
    moves = True
    metric = "migration.pause_s"

    def list_factors(self, spec: BaseModel | None, load: Load) -> Mapping[str, Sequence[Value]]:
        """The levels of the load, without a migration and with each way."""
        ways = (spec if isinstance(spec, MigrationSpec) else MigrationSpec()).ways
        return {USERS.name: load.levels, WAY: (NONE, *ways)}

    def explain_needs(self, study: Study) -> tuple[Need, ...]:
        """What its ways need."""
        return tuple(
            need for name in find_spec(study).ways for need in plugins(WayKind)[name].needs
        )

    def list_backups(self, study: Study) -> list[tuple[str, BackupOptions]]:
        """By what a second server begins: its programs are looked for before a run."""
        copy = get_engine(study.database.engine).replica_copy
        beside = any(plugins(WayKind)[name].servers_beside for name in find_spec(study).ways)
        return [(copy.name, BackupOptions())] if copy and beside else []

    def explain_refusal(self, study: Study, method: RestoreMethod) -> str | None:
        """What the server keeps within itself would move, too."""
        return "the kept database would move, too" if method.keeps_inside else None

    def plan_steps(self, study: Study, scene: Scene) -> Iterator[Step]:
        """As for a load, in rounds. Raises Refused for candidates that cannot be moved."""
        assert isinstance(scene, DatabaseScene)  # its studies have a database
        require_movable(study)
        yield from scenario.plan_provisions(study, scene)
        yield from load_database(study, scene)
        yield from scenario.plan_windows(
            study, scene, self.plan_windows, self.plan_around, in_rounds=True, alike=ALIKE
        )
        yield from check_at_end(study, scene)
        yield from scenario.tear_downs(study, scene)

    def plan_windows(
        self, study: Study, block: Block, *, tried: bool = False
    ) -> Iterator[WindowPlan]:
        """The windows of a block, all with the way of its point."""
        activities = ("hammer", name_activity(str(block.point.values[WAY])))
        for window in super().plan_windows(study, block, tried=tried):
            yield replace(window, activities=activities)

    def plan_around(self, study: Study, scene: Scene, window: WindowPlan) -> Iterator[Step]:
        """As around each window of a load; a way may need the memory of another server."""
        assert isinstance(scene, DatabaseScene)  # as in `plan_steps`
        optional = scenario.may_be_spared(scene, window, ALIKE)
        method = plugins(WayKind).get(str(window.point.values[WAY]))
        more = method.servers_beside * scene.memory_bytes[window.candidate] if method else 0
        for step in super().plan_around(study, scene, window):
            cost = replace(step.cost, memory_bytes=step.cost.memory_bytes + more)
            is_window = step.kind == "window"
            yield replace(step, if_undecided=optional, cost=cost if is_window else step.cost)


def require_movable(study: Study) -> None:
    """Raise Refused for each candidate whose database cannot be moved in one of the ways."""
    problems = [
        UserError(
            f"{name} cannot be tried on {candidate}: {because}",
            where=f"scenario.{NAME}.ways",
            remedy="leave this way or this candidate out",
        )
        for name in find_spec(study).ways
        for candidate in study.candidates
        if (because := plugins(WayKind)[name].explain_refusal(study, candidate))
    ]
    if problems:
        raise Refused(tuple(problems), where=f"scenario.{NAME}")


PLUGINS = (MigrationScenario(),)
