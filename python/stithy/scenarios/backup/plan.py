"""Backup: what users lose while their database is backed up, and how long backup and restore take.

Each block measures the same users on the same data with and without backups, in interleaved
rounds, so that the difference is that of the backups alone. They arrive at shares of a maximum,
which is measured once before, without backups. An idle database is backed up and restored, cycle
by cycle. Backups lie on the candidate's volume
of the role `backup`, without one on that of its data. Each restore goes into a directory of its
own, and a second server on it shows that all conditions hold. At the end each candidate's database
is backed up once more while it is quiet, and what is restored must be equal, row by row.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pydantic import BaseModel

from stithy.activities.hammer.declared import USERS
from stithy.engines.backup import BackupOptions, ServerMethod
from stithy.engines.engine import Engine, get_engine
from stithy.errors import UserError
from stithy.plan import cost, scenario
from stithy.plan.scenario import DatabaseScene, Scene
from stithy.plan.steps import Block, Cost, Step, WindowPlan, make_step_id
from stithy.point import OFF, ON, Point, Value
from stithy.registry import plugins
from stithy.restores.method import RestoreMethod
from stithy.scenarios.backup.keys import (
    BACKUP,
    MAXIMUM,
    NAME,
    RATE,
    SETTINGS,
    BackupSpec,
    drop_settings,
    during_of,
    find_maximum,
    find_share,
)
from stithy.scenarios.load.plan import LoadScenario, check_at_end, load_database
from stithy.storage.provider import Role
from stithy.study.candidates import find_url
from stithy.study.load_keys import Load
from stithy.study.model import Study
from stithy.study.sections import get_workload

ALIKE = frozenset({BACKUP, RATE})
"""What is compared with each other, and so has the same blocks; as what `vary` lists has."""

LIMIT_SHARE, SHARES_OF = "limit_share", "shares_of"
"""Names of its facts."""

BYTES_PER_S, BYTES_PER_S_MIN = 100 * 2**20, 10 * 2**20
"""How fast a backup is made or restored: likely, and at least."""

PREPARE_S, PREPARE_S_MAX = 4.0, 30.0
"""An empty repository, and the start and stop of a server."""

TRY_S, TRY_S_MAX = 0.5, 30.0
"""A few questions to each agent."""

WORK = 2
"""A backup and a restore, each as large as the database."""


def has_no_backup(point: Point, points: Sequence[Point]) -> Point:
    """Of the points that are measured, the one without backups that belongs to one with them.

    Its own, or that of another setting of the same method, which stands for it.
    """
    own, method = point.replaced(BACKUP, OFF), f"{SETTINGS}method"
    like = (
        each
        for each in points
        if each.values.get(BACKUP) == OFF
        and drop_settings(each) == drop_settings(point)
        and each.values.get(method) == point.values.get(method)
    )
    return own if own in points else next(like, own)


def find_spec(study: Study) -> BackupSpec:
    """The keys of the scenario; the defaults where it stands by its name alone."""
    spec = study.scenario.spec
    return spec if isinstance(spec, BackupSpec) else BackupSpec()


def list_proven(study: Study) -> list[tuple[str, BackupOptions]]:
    """Those that are proved at the end: each method in each kind and compression, once."""
    found: dict[tuple[str, ...], tuple[str, BackupOptions]] = {}
    for name, options in PLUGINS[0].list_backups(study):
        found.setdefault((name, options.kind, options.compression), (name, options))
    return list(found.values())


def _is_by_url(study: Study) -> bool:
    return any(find_url(candidate) for candidate in study.candidates.values())


def _plan_proof(name: str, study: Study, scene: DatabaseScene, engines: int = 1) -> Step:
    checked = cost.check(scene.largest, scene.workload, scene.held, scene.memory(name))
    one, times = _lengthen(checked, scene), engines * len(list_proven(study))
    cost_of_it = replace(one, time_s=times * one.time_s, time_s_max=times * one.time_s_max)
    return Step(make_step_id("prove-backup", name), "prove-backup", name, cost_of_it, at_end=True)


def _lengthen(usually: Cost, scene: DatabaseScene, times: int = 1) -> Cost:
    size = times * WORK * scene.largest.data_bytes
    return Cost(
        usually.time_s + size / BYTES_PER_S, usually.time_s_max + size / BYTES_PER_S_MIN,
        usually.space_bytes, usually.memory_bytes + max(scene.memory_bytes.values()),
    )  # fmt: skip


class BackupScenario(LoadScenario):
    """The same users work with and without backups, and each backup restores to what there was."""

    name = NAME
    keys = BackupSpec
    is_by_url = False

    def has_urls(self, engine: str) -> bool:
        plugin = plugins(Engine).get(engine)
        return plugin is not None and any(isinstance(way, ServerMethod) for way in plugin.backups)

    def list_facts(self, study: Study) -> dict[str, float | str]:
        """What a backup may add to p99, and where rates are shares of a maximum, whose it is."""
        spec = find_spec(study)
        found: dict[str, float | str] = {LIMIT_SHARE: spec.limit_percent / 100}
        during = during_of(spec.during, study.load)
        if during is not None and during.kind == RATE:
            found[SHARES_OF] = during.of
        return found

    def list_backups(self, study: Study) -> list[tuple[str, BackupOptions]]:
        engine = study.database.engine
        every = (find_spec(of) for of in study.variants if of.database.engine == engine)
        return list(dict.fromkeys((spec.method, spec.options) for spec in every))

    def list_factors(self, spec: BaseModel | None, load: Load) -> Mapping[str, Sequence[Value]]:
        """The levels of the load without and with backups; an idle database always has them."""
        during = during_of(spec.during if isinstance(spec, BackupSpec) else None, load)
        if during is None:
            return {USERS.name: load.levels, BACKUP: (OFF, ON)}
        if during.kind == "idle":
            return {BACKUP: (ON,)}
        rates = {RATE: during.shares} if during.shares else {}
        return {USERS.name: during.users or load.levels, **rates, BACKUP: (OFF, ON)}

    def count_added_bytes(self, study: Study, held: int) -> Mapping[Role, int]:
        """Room beside the database: for the backups, and for what is restored of one.

        Without a source of their own the backups lie with the data.
        """
        rooms = []
        for variant in study.variants:
            spec = find_spec(variant)
            method = get_engine(variant.database.engine).get_backup(spec.method)
            log = cost.estimate_logged_bytes(variant, get_workload(variant.workload.name))
            rooms.append(method.count_room_bytes(held, log, spec.options, spec.cycles_most))
        restored = held if find_spec(study).verify else 0
        return {"data": max(rooms) + restored, "backup": max(rooms) - held}

    def explain_refusal(self, study: Study, method: RestoreMethod) -> str | None:
        """A backup of all files would hold what the server keeps, too."""
        if not method.keeps_inside or _is_by_url(study):
            return None
        return "backups would hold the kept database, too"

    def plan_steps(self, study: Study, scene: Scene) -> Iterator[Step]:
        """As for a load, and at the end a proof that a backup holds the whole database."""
        assert isinstance(scene, DatabaseScene)  # its studies have a database
        agents: set[str] = set()
        for engine in study.engines:
            for name, options in self.list_backups(study.select_engine(engine)):
                method = get_engine(engine).get_backup(name)
                method.check_options(options)
                agents |= {options.agent} - {""}
                if isinstance(method, ServerMethod) != _is_by_url(study):
                    others = "are" if _is_by_url(study) else "are not"
                    raise UserError(
                        f"{name} backs no such database up: candidates {others} databases by URL",
                        where="scenario.backup.method", remedy="choose another method",
                    )  # fmt: skip
        yield from scenario.plan_provisions(study, scene)
        if agents:
            taken = Cost(TRY_S, TRY_S_MAX, scene.held, 0)
            for name in study.candidates:
                yield Step(make_step_id("try-agents", name), "try-agents", name, taken)
        yield from load_database(study, scene)
        yield from scenario.plan_windows(
            study, scene, self.plan_windows, self.plan_around, in_rounds=True, alike=ALIKE,
            # Shares are of the maximum, so that is known before any of them.
            first=lambda point: float(point.values.get(RATE) != MAXIMUM),
        )  # fmt: skip
        if find_spec(study).verify:
            yield from (_plan_proof(name, study, scene) for name in study.candidates)
        yield from check_at_end(study, scene)
        if find_spec(study).verify and len(study.engines) > 1:
            for name in study.candidates:
                proof = _plan_proof(name, study, scene, len(study.engines) - 1)
                step_id = make_step_id("prove-other-engines", name)
                yield replace(proof, id=step_id, kind="prove-other-engines")
        yield from scenario.tear_downs(study, scene)

    def plan_windows(
        self, study: Study, block: Block, *, tried: bool = False
    ) -> Iterator[WindowPlan]:
        rate, spec = block.point.values.get(RATE), find_spec(study)
        if rate == MAXIMUM and block.index:
            return  # once is enough: all rates are shares of one number
        activities = ("backup",) if spec.is_idle else ("hammer", "backup")
        if block.point.values[BACKUP] == OFF:
            activities = ("hammer",)
        during = during_of(spec.during, study.load)
        for window in super().plan_windows(study, block, tried=tried):
            if rate not in (None, MAXIMUM):
                assert during is not None  # the factor is there because of it
                own = (window.candidate,) if during.of == "own" else tuple(study.candidates)
                at = str(find_maximum(window.point, study.combinations[0]))
                share = find_share(str(rate))
                window = replace(window, rate_share=share, maximum_of=own, maximum_at=at)
            ramp_up_s = 0.0 if spec.is_idle else window.ramp_up_s
            yield replace(window, activities=activities, ramp_up_s=ramp_up_s)

    def plan_around(self, study: Study, scene: Scene, window: WindowPlan) -> Iterator[Step]:
        """As around each window of a load; backups may last longer than the users work."""
        assert isinstance(scene, DatabaseScene)  # as in `steps`
        optional, spec = scenario.may_be_spared(scene, window, ALIKE), find_spec(study)
        name, size = window.candidate, scene.largest.data_bytes
        here = study.at(window.point)
        engine = get_engine(here.database.engine)
        methods = here.vary.get(f"{SETTINGS}method", (find_spec(here).method,))
        is_kept = any(engine.get_backup(str(method)).keeps_repository for method in methods)
        for step in super().plan_around(study, scene, window):
            if step.kind == "window" and is_kept:
                taken = Cost(
                    PREPARE_S + size / BYTES_PER_S, PREPARE_S_MAX + size / BYTES_PER_S_MIN,
                    scene.held, scene.memory(name),
                )  # fmt: skip
                step_id = make_step_id("prepare-backup", window.id)
                yield Step(step_id, "prepare-backup", name, taken, window, if_undecided=optional)
            whole = step.cost
            if step.kind == "window" and window.point.values[BACKUP] == ON:
                if spec.is_idle:  # nobody works, for any time
                    users_s = study.load.ramp_up_s + study.load.duration_s
                    time_s, time_s_max = whole.time_s - users_s, whole.time_s_max - users_s
                    whole = replace(whole, time_s=time_s, time_s_max=time_s_max)
                whole = _lengthen(whole, scene, spec.cycles_most if spec.is_idle else 1)
            yield replace(step, if_undecided=optional, cost=whole)


PLUGINS = (BackupScenario(),)
