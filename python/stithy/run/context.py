"""What the steps of a run may use, and what one step leaves for the next."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stithy.agents.coordinator import Agents
from stithy.engines.instance import ServerFacts
from stithy.exporters.seen import SeenExporter
from stithy.hosts.host import Host
from stithy.metrics import ALL
from stithy.plan.additional import Additional, list_steps
from stithy.plan.steps import Plan, Step, make_window_id
from stithy.point import Point
from stithy.restores.method import RestoreMethod, get_restore
from stithy.results.files import read_rows, write_table
from stithy.results.manifest import CalibrationFacts, Manifest, SessionFacts
from stithy.results.tables import VALUES, WINDOW, Row, Table
from stithy.run.servers import Servers
from stithy.run.session import Session
from stithy.run.volumes import Volumes
from stithy.secrets import Secret
from stithy.study.load import StudyFile
from stithy.study.load_keys import Load
from stithy.study.model import Study
from stithy.study.sections import get_workload
from stithy.wire.hammer import Checked, Hammer, ProgressWatch
from stithy.wire.jobs import BackToBack, DataShape, Keyed, Pace, WireRate, WireThink, WorkloadChoice
from stithy.workloads.workload import Workload


@dataclass(frozen=True)
class Before:
    """Earlier sessions of a resumed run; `changed` is what they met otherwise than this one.

    `manifest` is what they wrote last, None where it could not be read. `master_kept`: a master
    copy of theirs is used on.
    """

    sessions: tuple[SessionFacts, ...]
    manifest: Manifest | None
    changed: tuple[str, ...]
    master_kept: bool = False


@dataclass
class Discovered:
    """What was found out, for the manifest; None or empty before.

    `server_facts`: by engine and candidate, with the settings in force in all its windows.
    `calibrations`: what the driver keeps up with, by engine. `limits`: by candidate, whether its
    memory limit held, and the note.
    `io_facts`: fio's version and the user's I/O profiles, by fact (`preparation.io`), and
    `profile_words` what became of their words, by file. `exporters`: those of other hosts, by name.
    """

    server_facts: dict[str, dict[str, ServerFacts]] = field(default_factory=dict)
    hammer_version: str | None = None
    calibrations: dict[str, CalibrationFacts] = field(default_factory=dict)
    limits: dict[str, tuple[bool, str | None]] = field(default_factory=dict)
    io_facts: dict[str, str] = field(default_factory=dict)
    profile_words: dict[str, tuple[str, ...]] = field(default_factory=dict)
    exporters: Mapping[str, SeenExporter] = field(default_factory=dict)


@dataclass
class StudyProgress:
    """How far the run is.

    `done`: ids of steps that earlier sessions of the run have done for good. `before`: what those
    have left for this one, None in the first session. `skipped`: ids of windows that were not
    needed, with the reason. `additional`: windows that were decided while the run went on.
    `outwaited`: the last wait for a quiet machine was in vain.
    """

    done: frozenset[str] = frozenset()
    before: Before | None = None
    skipped: dict[str, str] = field(default_factory=dict)
    additional: tuple[Additional, ...] = ()
    outwaited: bool = False


@dataclass
class State:
    """What steps leave for later ones; filled in as the run goes on.

    `rows`: of the tables of the whole run, by table.
    """

    rows: dict[str, list[Row]] = field(default_factory=dict)
    known: Discovered = field(default_factory=Discovered)
    progress: StudyProgress = field(default_factory=StudyProgress)


@dataclass(frozen=True)
class Context:
    """What a step may use: what was asked, the session with its host, and what is on it.

    `given_servers` None: the study has no database. `scratch`: the run's own directory outside all
    volumes. `agents`: all that the study names, None where this host does all.
    """

    file: StudyFile
    plan: Plan
    session: Session
    volumes: Volumes
    given_servers: Servers | None
    find_hammer: Callable[[Secret], Hammer]
    scratch: Path
    state: State
    agents: Agents | None = None

    @property
    def host(self) -> Host:
        return self.session.host

    @property
    def drivers(self) -> Agents | None:
        """The agents that drive its users; None where this host does."""
        load = self.file.study.given_load
        return self.agents.select(load.agents) if self.agents and load and load.agents else None

    def hammer(self, url: Secret) -> Hammer:
        """Give the driver of a database, within its limits where it runs in the driver."""
        program = self.find_hammer(url)
        limits = self.given_servers and self.given_servers.embedded.get(url.reveal())
        if limits:
            program.limit_process(limits)
        return program

    @property
    def servers(self) -> Servers:
        """What starts servers, in a scenario that has a database."""
        assert self.given_servers is not None, "this scenario has no database"
        return self.given_servers

    @property
    def master_candidate(self) -> str:
        """The candidate on whose volume the database is loaded."""
        assert self.plan.master_candidate is not None, "this scenario has no database"
        return self.plan.master_candidate

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of this session: of the plan, and additional ones as far as they are decided.

        Without those that earlier sessions have done.
        """
        steps = list_steps(self.file.study, self.plan, self.state.progress.additional)
        return tuple(step for step in steps if step.id not in self.state.progress.done)

    def add_rows(self, table: Table, rows: Iterable[Row]) -> None:
        """Write a table of the whole run again, with these rows more."""
        kept = self.state.rows.setdefault(table.name, [])
        kept += rows
        write_table(self.session.directory.table(table.name), table, kept)

    @property
    def restore_method(self) -> RestoreMethod:
        """How windows get the loaded database."""
        return get_restore(self.file.study.database.restore)

    @property
    def workload(self) -> Workload:
        return get_workload(self.file.study.workload.name)

    def study_of(self, dataset: str) -> Study:
        """The study where its points have a dataset, as to all else as it is."""
        return self.file.study.at(self.plan.dataset(dataset).factors)

    def choice_at(self, point: Point) -> WorkloadChoice:
        """The workload at a point as the hammer is told it."""
        return make_choice(self.file.study.at(point))

    def verify_conditions(
        self, hammer: Hammer, choice: WorkloadChoice, output: Path,
        *, quick: bool = True,
    ) -> Checked | None:  # fmt: skip
        """Verify the consistency conditions; None for a workload that has none."""
        if self.workload.conditions is None:
            return None
        watch = ProgressWatch(raw_output=output)
        return hammer.check(choice, quick=quick, after_load=False, watch=watch)

    def data_of(self, dataset: str) -> DataShape:
        """What the generated text is to be like, as the hammer is told it."""
        return self.study_of(dataset).workload.shape()


def make_choice(study: Study) -> WorkloadChoice:
    """A study's workload in the words of the hammer."""
    return study.workload.choice(study.driving)


def make_pace(load: Load) -> Pace:
    """When users act; a rate takes the place of a pace."""
    if load.rate_per_s is not None:
        return WireRate(per_s=load.rate_per_s, arrivals=load.arrivals)
    if load.pace.kind == "keyed":
        return Keyed()
    if load.pace.think_s is not None:
        return WireThink(mean_s=load.pace.think_s)
    return BackToBack()


def find_pause_s(study: Study) -> float | None:
    """The mean time between two transactions of a user; None for users who do not pause."""
    match make_pace(study.load):
        case WireThink(mean_s=mean_s):
            return mean_s
        case Keyed():
            return get_workload(study.workload.name).pause_s
    return None


def read_value(context: Context, candidate: str, point: Point, metric: str) -> float | None:
    """A value of the candidate's first block at a point, of its second attempt where it has one."""
    for attempt in (1, 0):
        name = make_window_id(candidate, point, 0, attempt=attempt)
        directory = context.session.directory.window(name)
        complete = [row["complete"] for row in read_rows(directory.table("window"), WINDOW)]
        if complete != [True]:
            continue
        for row in read_rows(directory.table("values"), VALUES):
            if (row["metric"], row["of"]) == (metric, ALL):
                value: float | None = row["value"]
                return value
    return None
