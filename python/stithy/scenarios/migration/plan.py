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
from stithy.errors import UserError
from stithy.needs import Need
from stithy.plan.cost import bound_log_bytes, estimate_checksums
from stithy.plan.scenario import DatabaseScene, Scene
from stithy.plan.steps import Step, WindowPlan
from stithy.point import Point, Value
from stithy.registry import plugins
from stithy.restores.method import RestoreMethod
from stithy.scenarios.load.plan import LoadScenario
from stithy.scenarios.migration.declared import name_activity
from stithy.scenarios.migration.way import NAME, NONE, SETTINGS, WAY, MigrationSpec, WayKind
from stithy.storage.provider import Role
from stithy.study.load_keys import Load
from stithy.study.model import Study


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
    alike = frozenset({WAY})
    metric = "migration.pause_s"

    def list_factors(self, spec: BaseModel | None, load: Load) -> Mapping[str, Sequence[Value]]:
        """The levels of the load, without a migration and with each way."""
        ways = (spec if isinstance(spec, MigrationSpec) else MigrationSpec()).ways
        return {USERS.name: load.levels, WAY: (NONE, *ways)}

    def explain_needs(self, study: Study) -> tuple[Need, ...]:
        """What its ways need."""
        ways = (plugins(WayKind)[name] for name in find_spec(study).ways)
        return tuple(need for way in ways for need in way.needs)

    def list_backups(self, study: Study) -> list[tuple[str, BackupOptions]]:
        """By what a second server begins: its programs are looked for before a run."""
        copy = get_engine(study.database.engine).replica_copy
        return [(copy.name, BackupOptions())] if copy and find_spec(study).has_followers else []

    def list_server_settings(self, study: Study) -> Mapping[str, str]:
        """What lets a second server follow, without a migration, too: all windows are alike."""
        engine = get_engine(study.database.engine)
        return engine.replica_settings if find_spec(study).has_followers else {}

    def describe_settings(self, study: Study) -> Iterator[str]:
        """Say what they cost the users of each engine."""
        for engine in map(get_engine, study.engines if find_spec(study).has_followers else ()):
            if engine.replica_settings:
                given = ", ".join(map("=".join, engine.replica_settings.items()))
                yield (
                    f"So that another server can follow, {engine.name} has {given} in all windows: "
                    f"{engine.replica_cost}."
                )

    def list_facts(self, study: Study) -> Mapping[str, float | str]:
        """The same for the report, with what ways cost in all windows, which the plan says."""
        costs = (plugins(WayKind)[name].standing_cost for name in find_spec(study).ways)
        return {SETTINGS: " ".join(filter(None, (*self.describe_settings(study), *costs)))}

    def count_added_bytes(self, study: Study, held: int) -> Mapping[Role, int]:
        """Count the log kept for a server that follows, and what ways need, on either side."""
        ways = (plugins(WayKind)[name] for name in find_spec(study).ways)
        added = int(max(way.room_share for way in ways) * held)
        if find_spec(study).has_followers:
            added += max(bound_log_bytes(study, engine) for engine in study.engines)
        return {"data": added, "target": added} if added else {}

    def explain_refusal(self, study: Study, method: RestoreMethod) -> str | None:
        """What the server keeps within itself would move, too."""
        return "the kept database would move, too" if method.keeps_inside else None

    def find_refusals(self, study: Study) -> Iterator[UserError]:
        """Find each candidate whose database cannot be moved in one of the ways."""
        for name in find_spec(study).ways:
            for candidate in study.candidates:
                if because := plugins(WayKind)[name].explain_refusal(study, candidate):
                    yield UserError(
                        f"{name} cannot be tried on {candidate}: {because}",
                        where=f"scenario.{NAME}.ways",
                        remedy="leave this way or this candidate out",
                    )

    def list_activities(self, point: Point) -> tuple[str, ...]:
        """The users, and their database's way."""
        return ("hammer", name_activity(str(point.values[WAY])))

    def plan_around(self, study: Study, scene: Scene, window: WindowPlan) -> Iterator[Step]:
        """As around each window of a load; another server may run beside, and tables be read."""
        assert isinstance(scene, DatabaseScene)  # as in `plan_steps`
        method = plugins(WayKind).get(str(window.point.values[WAY]))
        compares = method is not None and method.explain_uncompared(study.at(window.point)) is None
        beside = max(method.servers_beside if method else 0, int(compares))
        more = beside * scene.memory_bytes[window.candidate]
        read = estimate_checksums(scene.find_size(window.point), 0)
        for step in super().plan_around(study, scene, window):
            cost = replace(step.cost, memory_bytes=step.cost.memory_bytes + more)
            if compares:  # at the source and at the target
                cost = cost.add_time(2 * read.time_s, 2 * read.time_s_max)
            yield replace(step, cost=cost if step.kind == "window" else step.cost)


PLUGINS = (MigrationScenario(),)
