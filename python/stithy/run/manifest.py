"""The manifest of a run, from what its context knows by now."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pydantic import BaseModel

import stithy
from stithy.engines.instance import UNSEEN
from stithy.hosts.processes import read_boot_id
from stithy.point import Point
from stithy.results.comparability import METERS, check_comparable, make_comparability_key
from stithy.results.files import write_json
from stithy.results.manifest import (
    ArrayFacts,
    CalibrationFacts,
    CandidateFacts,
    DatabaseFacts,
    DriveFacts,
    End,
    EngineFacts,
    ExporterFacts,
    Fact,
    LimitFacts,
    LoadFacts,
    Manifest,
    MemoryFacts,
    OwnServerFacts,
    PlanFacts,
    QuestionFacts,
    RoleFacts,
    SearchFacts,
    SessionFacts,
    WorkloadFacts,
)
from stithy.run.context import Context, make_pace
from stithy.storage.volume import list_volume_facts
from stithy.study.candidates import find_url
from stithy.study.database import select_settings
from stithy.study.model import Study
from stithy.workloads.workload import Driving, WorkloadKeys

NOT_SEEN = {
    name: Fact(value=None, missing_because=UNSEEN)
    for name in ("server_cpus", "server_memory_bytes", "devices", "server_log")
}
"""What a candidate by URL does not tell of itself."""


class ManifestFile:
    """`manifest.json`, written again whenever more is known."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._began_at_s = context.session.clock.now_s()
        self._storage: dict[str, dict[str, Fact]] = {}

    def write(self, end: End = "running", because: str | None = None) -> None:
        """Write all that is known now."""
        context = self._context
        # While the volumes are there; they are gone when the last manifest is written.
        for name, volume in self._context.volumes.made.items():
            if name not in self._storage:
                self._storage[name] = (
                    list_volume_facts(volume) if volume.database is None else dict(NOT_SEEN)
                )
        ended = None if end == "running" else context.session.clock.now_s()
        write_json(context.session.directory.manifest, self._make_manifest(end, because, ended))

    def _make_manifest(self, end: End, because: str | None, ended_at_s: float | None) -> Manifest:
        context = self._context
        study = context.file.study
        own = study.database.engine if study.engines else ""
        more = [engine for engine in study.engines if engine != own]
        workload, load = self._describe_workload(), self._load()
        database = self._describe_database(own) if study.engines else None
        memory, others = self._describe_memory(), tuple(map(self._describe_engine, more))
        sessions = self._list_sessions(end, because, ended_at_s)
        candidates = tuple(
            self._make_candidate(name).model_copy(update=self._describe_own(name, own))
            for name in study.candidates
        )
        meters = {METERS: str(study.power)} if study.power else {}
        parts = check_comparable(
            study.scenario.comparable, workload, load, database, memory, stithy.__version__,
            candidates, context.state.known.io_facts | meters, others,
        )  # fmt: skip
        return Manifest(
            stithy_version=stithy.__version__,
            hammer_version=context.state.known.hammer_version,
            question=study.study,
            study_file=context.file.path.name,
            study_sha256=context.file.sha256,
            seed=context.plan.seed,
            comparability_key=make_comparability_key(parts),
            comparability=parts,
            scenario=str(study.scenario),
            scenario_facts=dict(study.scenario.plugin.list_facts(study)),
            profile_words=context.state.known.profile_words,
            workload=workload,
            load=load,
            plan=self._plan(),
            thresholds=study.thresholds,
            cost=study.cost,
            candidates=candidates,
            database=database,
            other_engines=others,
            memory=memory,
            calibration=self._describe_calibration(own),
            agent_hosts=context.agents.hosts if context.agents else {},
            environment=dict(context.host.facts),
            exporters={
                name: ExporterFacts(
                    url=seen.keys.url,
                    map=seen.map_name,
                    version=seen.version,
                    role=seen.role,
                    every_s=seen.every_s,
                    devices=seen.keys.devices,
                    candidates=seen.keys.candidates,
                )
                for name, seen in context.state.known.exporters.items()
            },
            sessions=sessions,
            started_at_s=sessions[0].started_at_s,
            ended_at_s=ended_at_s,
            end=end,
            end_because=because,
        )

    def _list_sessions(
        self, end: End, because: str | None, ended_at_s: float | None
    ) -> tuple[SessionFacts, ...]:
        before = self._context.state.progress.before
        now = SessionFacts(
            started_at_s=self._began_at_s,
            ended_at_s=ended_at_s,
            boot_id=read_boot_id(),
            changed=before.changed if before else (),
            master_kept=before.master_kept if before else False,
            end=end,
            end_because=because,
        )
        return (*before.sessions, now) if before else (now,)

    def _plan(self) -> PlanFacts:
        plan, study = self._context.plan, self._context.file.study
        search = None if plan.search is None else SearchFacts(
            **asdict(plan.search.limit), **_copy_fields(SearchFacts, plan.search),
            alone=not study.load.levels,
        )  # fmt: skip
        windows = tuple(step.id for step in plan.steps if step.kind == "window")
        skipped = tuple(self._context.state.progress.skipped)
        return PlanFacts(
            windows=windows,
            points=study.points,
            skipped=skipped,
            further=tuple(
                window.id
                for added in self._context.state.progress.additional
                for window in added.windows
            ),
            master_candidate=plan.master_candidate,
            question=None if plan.question is None else QuestionFacts(**vars(plan.question)),
            search=search,
            limit=None if plan.limit is None else LimitFacts(**asdict(plan.limit)),
            null=plan.null,
        )

    def _describe_workload(self) -> WorkloadFacts | None:
        study = self._context.file.study
        if study.given_workload is None:
            return None
        every = [_make_workload(variant.workload, variant.driving) for variant in study.variants]
        varied = _list_differing(
            [facts.model_dump() | facts.size | facts.options for facts in every]
        )
        own = tuple(name for name in varied if name not in ("size", "options"))
        facts = _make_workload(study.workload, study.driving)
        points = (study.derive_point(Point(()), number + 1) for number in range(study.instances))
        sizes = tuple(study.at(point).workload.size for point in points)
        differ = sizes if len(set(map(str, sizes))) > 1 else ()
        return facts.model_copy(update={"varied": own, "sizes": differ})

    def _load(self) -> LoadFacts | None:
        study = self._context.file.study
        if study.given_load is None:
            return None
        every = [_load(variant) for variant in study.variants]
        varied = _list_differing([facts.model_dump() for facts in every])
        return _load(study).model_copy(update={"varied": varied})

    def _describe_database(self, engine: str) -> DatabaseFacts:
        study = self._context.file.study
        database = study.select_engine(engine).database
        facts = self._context.state.known.server_facts.get(engine)
        installation = self._context.servers.engines[engine].installation
        version = self._find_shared_version(engine) if facts else installation.version
        every = [variant.database for variant in study.variants]
        settings = [
            {name.lower(): value for name, value in of.settings.items()}
            for of in every
            if of.engine == engine
        ]
        return DatabaseFacts(
            engine=database.engine,
            settings=dict(database.settings),
            server_version=version or None,
            effective_settings=self._find_shared_settings(engine),
            missing_because=None if facts else "no window was started",
            cpus=self._context.servers.cpus[database.cpus],
            cpus_varied=len({of.cpus for of in every}) > 1,
            varied=_list_differing(settings),
            backups=dict(installation.backups),
            restore=database.restore,
            by_url=study.by_url,
        )

    def _describe_engine(self, engine: str) -> EngineFacts:
        candidates = self._context.file.study.candidates
        return EngineFacts(
            database=self._describe_database(engine),
            calibration=self._describe_calibration(engine),
            servers={
                name: OwnServerFacts(**self._describe_own(name, engine)) for name in candidates
            },
        )

    def _find_shared_version(self, engine: str) -> str | None:
        """The version of the servers of all candidates that have had a window; None if it is not
        the same, or before the first one.
        """
        facts = self._context.state.known.server_facts.get(engine, {})
        known = {server_fact.version for server_fact in facts.values()}
        return known.pop() if len(known) == 1 else None

    def _find_shared_settings(self, engine: str) -> dict[str, str] | None:
        """The settings in force in the engine's servers of all candidates that have had a window;
        None before the first one.
        """
        known = self._context.state.known.server_facts.get(engine, {}).values()
        if not known:
            return None
        first, *others = known
        return {
            name: value
            for name, value in first.settings.items()
            if all(other.settings.get(name) == value for other in others)
        }

    def _describe_memory(self) -> MemoryFacts | None:
        study = self._context.file.study
        if study.given_database is None or study.by_url:
            return None
        every = [{"limit_bytes": of.database.memory_bytes} for _, of in study.own_settings]
        limits = self._context.state.known.limits
        notes = [f"{name}: {note}" for name, (_, note) in limits.items() if note]
        return MemoryFacts(
            limit_bytes=study.database.memory_bytes,
            enforced=all(held for held, _ in limits.values()) if limits else None,
            note="; ".join(notes) or None,
            varied=_list_differing(every),
        )

    def _describe_calibration(self, engine: str) -> CalibrationFacts | None:
        if self._context.file.study.given_load is None:
            return None
        if self._context.file.study.load.agents:
            return CalibrationFacts(
                missing_because="agents drove the users; each says how late it was"
            )
        if not self._context.file.study.load.calibrate:
            return CalibrationFacts(missing_because="the study did not ask for it")
        known = self._context.state.known.calibrations.get(engine)
        return known or CalibrationFacts(missing_because="the run did not come to it")

    def _describe_own(self, name: str, engine: str) -> dict[str, Any]:
        """In what a candidate's server differs: it changes with what others have."""
        known = self._context.state.known.server_facts.get(engine, {}).get(name)
        shared = self._find_shared_settings(engine)
        others: dict[str, str] | None = None
        if known is not None and shared is not None:
            others = {name: value for name, value in known.settings.items() if name not in shared}
        is_own = known is not None and self._find_shared_version(engine) is None
        settings = self._context.file.study.candidates[name].settings
        return {
            "settings": dict(select_settings(settings, engine)),
            "effective_settings": others,
            "server_version": known.version if known and is_own else None,
        }

    def _make_candidate(self, name: str) -> CandidateFacts:
        candidate = self._context.file.study.candidates[name]
        volume = self._context.volumes.made.get(name)
        before = self._context.state.progress.before
        if volume is None and before and before.manifest:
            for known in before.manifest.candidates:
                if known.name == name:
                    return known
        base = CandidateFacts(
            name=name,
            provider=candidate.provider,
            path=find_url(candidate) or str(self._context.volumes.providers[name].place()),
            master=name == self._context.plan.master_candidate,
            memory_limit_bytes=candidate.memory_bytes,
            cpus=self._context.servers.cpus[candidate.cpus] if candidate.cpus else None,
            environment=self._storage.get(name, {}),
        )
        if volume is None or volume.database is not None:
            return base
        found = _copy_fields(CandidateFacts, volume) | {
            "path": base.path,
            "mount_point": str(volume.mount_point),
            "drives": tuple(
                DriveFacts(**_copy_fields(DriveFacts, drive), **_copy_fields(DriveFacts, part))
                for part in volume.parts
                for drive in part.emulated
            ),
            "arrays": tuple(
                ArrayFacts(role=role, layer=of.layer, keys=dict(of.facts), members=of.members)
                for role, part in volume.by_role.items()
                if (of := part.array or part.system) is not None
            ),
            # The volumes of other roles that lie on no emulated drive.
            "roles": tuple(
                RoleFacts(role=role, **_copy_fields(RoleFacts, part) | {"path": str(part.path)})
                for role, part in volume.by_role.items()
                if role != "data" and not part.emulated
            ),
        }
        return base.model_copy(update=found)


def _make_workload(asked: WorkloadKeys, driving: Driving) -> WorkloadFacts:
    shape = asked.shape()
    return WorkloadFacts(
        name=asked.name,
        size=dict(asked.size),
        data_compressible_percent=shape.compressible_percent,
        data_duplicate_percent=shape.duplicate_percent,
        options=dict(asked.options(driving)),
    )


def _load(study: Study) -> LoadFacts:
    load = study.load
    pace = make_pace(load)
    # What the section and the manifest call alike is kept as written.
    same = load.model_dump(include=set(LoadFacts.model_fields) - {"pace", "precondition"})
    other = {
        "pace": "rate" if load.is_open else pace.kind,
        "think_s": load.pace.think_s,
        "arrivals": load.arrivals if load.is_open else None,
        "precondition": str(load.precondition) if load.precondition else None,
    }
    return LoadFacts(**same | other)


def _list_differing(every: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    names = dict.fromkeys(name for facts in every for name in facts)
    return tuple(
        name for name in names if any(facts.get(name) != every[0].get(name) for facts in every)
    )


def _copy_fields(kind: type[BaseModel], of: object) -> dict[str, Any]:
    return {name: getattr(of, name) for name in kind.model_fields if hasattr(of, name)}
