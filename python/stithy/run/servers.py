"""The servers of a run: one at a time, on a candidate's database, within its memory."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from stithy.collectors.collector import InstanceScope
from stithy.engines.engine import find_engine_of, get_engine
from stithy.engines.instance import (
    UNSEEN,
    Configuration,
    ConfiguredEngine,
    Installation,
    Instance,
    Remote,
    Start,
)
from stithy.engines.served import ServerProcess
from stithy.hosts.links import DriverLink
from stithy.hosts.resources import GroupMemoryLimit, Throttle, make_cap, make_group, make_throttle
from stithy.hosts.runner import Command
from stithy.plan.expand import sum_needed_bytes
from stithy.plan.scenario import find_scenario
from stithy.plan.steps import Plan, WindowPlan, name_instance
from stithy.point import Point
from stithy.run.activity import Subject
from stithy.run.books import Resource
from stithy.run.session import Session
from stithy.run.volumes import Volumes, get_parts, own
from stithy.study.database import Database
from stithy.study.model import Study
from stithy.units import format_size

ServerCpus = Mapping[int | None, tuple[int, ...] | None]
"""By how many CPUs a study asks for, None for the default, their numbers; None for any of all."""


def make_configuration(database: Database) -> Configuration:
    """What a server of this database is given."""
    return Configuration(database.settings, database.memory_bytes)


@dataclass(frozen=True)
class FoundDatabase:
    """A database engine of a study, and its programs as they were found."""

    engine: ConfiguredEngine
    installation: Installation


@dataclass
class Servers:
    """What starts servers: the engines, where they may run, and what they may use.

    `engines`: those of the study, by name.

    `cpus`: which a server has by the number that it is asked to have. `scratch`: the run's own
    directory outside all volumes. `limited_starts`: how many groups were made for servers. `live`:
    the servers that run, by their data directory. `groups`: the memory limits of those that have
    one, `caps`: the groups of those whose CPU time is limited, `throttles`: of those whose reads
    and writes are, and `more`: settings of those that are to be backed up, all by data directory.
    `embedded`: by URL, the limits of the driver in whose process the database runs. `again`: what
    servers hold that were started once more, by data directory.
    """

    study: Study
    plan: Plan
    session: Session
    volumes: Volumes
    engines: Mapping[str, FoundDatabase]
    cpus: ServerCpus
    scratch: Path
    limited_starts: int = 0
    live: dict[Path, Instance] = field(default_factory=dict)
    groups: dict[Path, Path] = field(default_factory=dict)
    caps: dict[Path, Throttle] = field(default_factory=dict)
    throttles: dict[Path, Throttle] = field(default_factory=dict)
    more: dict[Path, Mapping[str, str]] = field(default_factory=dict)
    embedded: dict[str, Command] = field(default_factory=dict)
    again: dict[Path, list[Resource]] = field(default_factory=dict)

    @contextmanager
    def running(
        self,
        candidate: str,
        log: Path,
        *,
        point: Point | None = None,
        memory_cgroup: Path | None = None,
        loading: bool = False,
        number: int | None = None,
        link: DriverLink | None = None,
    ) -> Iterator[Instance]:
        """A server on the candidate's database that runs inside only, as it is at a point.

        Without a point it is that of the dataset that the candidate has. `number`: on the copy of
        one of several instances. `link`: the way from a driver elsewhere, at which it listens, too.
        """
        if (there := self.by_url(candidate)) is not None:
            yield there
            return
        log.parent.mkdir(parents=True, exist_ok=True)
        start = self._start(
            candidate, log, memory_cgroup, loading=loading, point=point, number=number
        )
        start = start if link is None else replace(start, address=link.address)
        engine = self.find_study(candidate, point).database.engine
        with (
            self._cap_server(candidate, start, point),
            self._started(candidate, start, engine) as instance,
        ):
            self.live[start.data] = instance
            if memory_cgroup is not None:
                self.groups[start.data] = memory_cgroup
            try:
                yield instance
            finally:
                del self.live[start.data]
                self.groups.pop(start.data, None)

    def find_study(self, candidate: str, point: Point | None = None) -> Study:
        """The study at a point; without one as it is with the dataset that the candidate has."""
        held = self.volumes.held.get(candidate)
        if point is None and held is None:
            return self.study
        return self.study.at(point or self.plan.dataset(str(held)).factors)

    def get_found(self, study: Study) -> FoundDatabase:
        """The engine that the study has at one of its points."""
        return self.engines[study.database.engine]

    def find_held(self, candidate: str) -> FoundDatabase:
        """The engine of the database that a candidate has."""
        return self.get_found(self.find_study(candidate))

    def by_url(self, candidate: str) -> Remote | None:
        """The candidate's database, where that is one by URL; it is asked when it was started."""
        url = self.volumes.of(candidate).database
        return None if url is None else find_engine_of(url).connect_remote(url)

    def get_live(self, candidate: str) -> Instance:
        """The server that users of a candidate have now."""
        return self.by_url(candidate) or self.live[get_parts(self.volumes.of(candidate)).data]

    @contextmanager
    def second(
        self,
        candidate: str,
        data: Path,
        log: Path,
        more: Mapping[str, str],
        *,
        name: str = "r",
        memory_cgroup: Path | None = None,
        point: Point | None = None,
        beside: Path | None = None,
    ) -> Iterator[Instance]:
        """Another server, on files of its own such as a restored backup's.

        It knows nothing of the first. Its temporary files and, but at a `point`, its
        configuration are those of its files, with `more` settings. `name`: by which its sockets
        differ from those of others on the candidate. `beside`: files of a server whose groups of
        CPU time, reads and writes it shares, where it has none of its own.
        """
        log.parent.mkdir(parents=True, exist_ok=True)
        sockets = self._sockets(f"{self._number(candidate)}{name}")
        own = None if point is None else self._own(candidate, point)
        start = Start(
            data, sockets, log, memory_cgroup=memory_cgroup, own=own, more=more,
            cpus=self.cpus_of(candidate, point),
        )  # fmt: skip
        engine = self.find_study(candidate, point).database.engine
        with (
            self._cap_server(candidate, start, point),
            self._started(candidate, start, engine) as instance,
        ):
            for held in (self.caps, self.throttles):
                if beside in held and instance.pid is not None:
                    held[beside].hold(instance.pid)
            yield instance

    @contextmanager
    def _cap_server(self, candidate: str, start: Start, point: Point | None) -> Iterator[None]:
        """Inside, what `_started` starts on these files gets no more CPU time than it may."""
        percent = None if point is None else self.study.at(point).cpu_percent
        if percent is None:
            yield
            return
        with self._own_group(candidate) as (name, record):
            cpus = len(start.cpus or self.session.host.cpus) * percent / 100
            self.caps[start.data] = make_cap(name, cpus, start.memory_cgroup, record)
            try:
                yield
            finally:
                del self.caps[start.data]

    @contextmanager
    def _own_group(self, candidate: str) -> Iterator[tuple[str, Callable[[Path], None]]]:
        """A name for a group, and what records those that are made; they are removed at the end."""
        self.limited_starts += 1
        books, made = self.session.books, list[Resource]()

        def record(path: Path) -> None:
            made.append(books.record("cgroup", {"path": str(path), "candidate": candidate}))

        try:
            yield f"stithy-{self.session.run_id}-{self.limited_starts}", record
        finally:
            for resource in made:
                books.remove(resource)

    @contextmanager
    def _started(self, candidate: str, start: Start, name: str) -> Iterator[Instance]:
        books, found = self.session.books, self.engines[name]
        facts = _make_server_facts(candidate, start, found)
        with books.resource("server", facts):
            instance = found.engine.start(start)
            if (engine := get_engine(name)).declaration.is_embedded:
                cap = self.caps.get(start.data)
                self.embedded[instance.url.reveal()] = Command(
                    (), memory_cgroup=start.memory_cgroup, environment=engine.set_driver(start),
                    cpus=start.cpus, cgroups=(cap.path,) if cap else (),
                )  # fmt: skip
            if start.data in self.caps and instance.pid is not None:
                self.caps[start.data].hold(instance.pid)
            with books.resource("shared-memory", _make_memory_facts(candidate, instance, name)):
                failed = True
                try:
                    yield instance
                    failed = False
                finally:
                    self.embedded.pop(instance.url.reveal(), None)
                    # A server in trouble may never end the ordinary way (asked while it recovers
                    # from a crash it waits for ever), and every window begins with a fresh copy.
                    instance.stop(at_once=failed or self.session.stop.asked.is_set())
                    for resource in self.again.pop(start.data, ()):
                        books.remove(resource)

    def watched(
        self,
        window: WindowPlan,
        instance: Instance,
        memory_cgroup: Path | None,
        number: int | None = None,
    ) -> Subject:
        """What of a running server is watched; of one of several by its own name."""
        if self.volumes.of(window.candidate).database is not None:
            return Subject((InstanceScope("", instance),))
        parts = get_parts(self.volumes.of(window.candidate), number)
        cap = self.caps.get(parts.data)
        one = InstanceScope(
            "" if number is None else name_instance(number),
            instance,
            parts.data,
            memory_cgroup,
            cap.path if cap else None,
        )
        folder = self.find_held(window.candidate).engine.log_folder
        log = parts.log or (parts.data / folder if folder else None)
        cpus = self.cpus_of(window.candidate, window.point)
        pids = frozenset() if instance.pid is None else frozenset({instance.pid})
        return Subject((one,), cpus, pids, log)

    def cpus_of(self, candidate: str, point: Point | None) -> tuple[int, ...] | None:
        """The CPUs of a server on the candidate at a point, None for any; without one its own."""
        return self.cpus[self.find_study(candidate, point).give_database(candidate).cpus]

    def continue_as(self, candidate: str, other: ServerProcess, memory_cgroup: Path | None) -> None:
        """Let the candidate's server be another one, with the memory limit that this one has."""
        data = get_parts(self.volumes.of(candidate)).data
        instance = self.live[data]
        assert isinstance(instance, ServerProcess)  # nobody else can be another
        instance.continue_as(other)
        if memory_cgroup is not None:
            self.groups[data] = memory_cgroup

    def start_again(self, candidate: str, moved_to: Path | None = None) -> None:
        """Start the candidate's server once more, after its end; returns when it answers.

        `moved_to`: where its files lie now, with a link to them where they were.
        """
        data = get_parts(self.volumes.of(candidate)).data
        instance = self.live[data]
        assert isinstance(instance, ServerProcess)  # nobody else ends one
        engine, books = self.find_study(candidate).database.engine, self.session.books
        more = self.again.setdefault(data, [])
        if moved_to is not None:
            start, found = Start(moved_to, instance.sockets, instance.log), self.engines[engine]
            more.append(books.record("server", _make_server_facts(candidate, start, found)))
            instance.data = moved_to
        instance.start_again()
        more.append(books.record("shared-memory", _make_memory_facts(candidate, instance, engine)))

    def start_to_keep(self, candidate: str, log: Path) -> Instance:
        """A server on the candidate's database that outlives the run; it is in the books."""
        log.parent.mkdir(exist_ok=True)
        start, name = self._start(candidate, log), self.find_study(candidate).database.engine
        found, books = self.engines[name], self.session.books
        books.record("server", _make_server_facts(candidate, start, found))
        instance = found.engine.start(start)
        books.record("shared-memory", _make_memory_facts(candidate, instance, name))
        return instance

    def sockets(self, candidate: str, instance: int | None = None) -> Path:
        """The directory for sockets of a candidate's server, made where it is missing."""
        number = self._number(candidate)
        return self._sockets(number if instance is None else f"{number}-{instance}")

    def _number(self, candidate: str) -> str:
        return str(list(self.study.candidates).index(candidate))

    def _sockets(self, name: str) -> Path:
        path = self.scratch / name
        if not path.exists():
            path.mkdir(mode=0o700)
            own(path, self.session.host.user)
        return path

    @contextmanager
    def throttle_server(
        self, data: Path, bytes_per_s: int | None, memory_cgroup: Path | None, candidate: str
    ) -> Iterator[Throttle | None]:
        """A guard of a server's reads and writes on the devices under its files; None: no limit.

        Raises PreconditionError where it cannot be had.
        """
        if bytes_per_s is None:
            yield None
            return
        with self._own_group(candidate) as (name, record):
            made = make_throttle(name, data, bytes_per_s, memory_cgroup, record)
            self.throttles[data] = made
            try:
                yield made
            finally:
                del self.throttles[data]

    @contextmanager
    def link_driver(self, candidate: str, point: Point) -> Iterator[DriverLink | None]:
        """The network between users and servers at a point, inside only; None: they are here."""
        bits_per_s = self.study.at(point).load.link_bits_per_s
        if bits_per_s is None:
            yield None
            return
        link = DriverLink.of_run(self.session.run_id, bits_per_s)
        with self.session.books.resource("link", {"tag": link.tag, "candidate": candidate}):
            yield link.make()

    @contextmanager
    def limited(self, candidate: str, point: Point) -> Iterator[GroupMemoryLimit]:
        """The memory limit of a server on this candidate at a point, as far as it can be had."""
        if self.volumes.of(candidate).database is not None:
            yield GroupMemoryLimit(None, UNSEEN)
            return
        wanted, widened = self.limit_of(candidate, point)
        with self._own_group(candidate) as (name, record):
            limit = make_group(name, wanted, runner=self.session.host.runner, record=record)
            yield limit if limit.group is None else GroupMemoryLimit(limit.group, widened)

    def limit_of(self, candidate: str, point: Point) -> tuple[int, str | None]:
        """The limit in bytes, and how it was widened.

        Pages of a volume in memory are charged to whoever writes them, so the limit grows by what
        the server's files may come to: else the server would be killed for its own files. The
        master copy is not among them, the server never writes it.
        """
        memory_bytes = self.study.at(point).give_database(candidate).memory_bytes
        volume = self.volumes.of(candidate)
        backup, held = volume.get_part("backup"), 0
        if volume.memory_backed:
            dataset = self.plan.dataset_at(point)
            held = dataset.database_bytes + dataset.growth_bytes
        if backup.memory_backed and get_parts(volume).data in self.more:
            # It archives its log there, and its backups are made within its memory.
            held += sum_needed_bytes(self.study)["backup"]
        if held == 0:
            return memory_bytes, None
        kind = (volume if volume.memory_backed else backup).filesystem
        return memory_bytes + held, (
            f"the limit of {format_size(memory_bytes)} was widened by {format_size(held)}, the "
            f"maximum size of its files, because the pages of {kind} are memory"
        )

    def _start(
        self,
        candidate: str,
        log: Path,
        memory_cgroup: Path | None = None,
        *,
        loading: bool = False,
        point: Point | None = None,
        number: int | None = None,
    ) -> Start:
        parts = get_parts(self.volumes.of(candidate), number)
        sockets = self.sockets(candidate, number)
        start = Start(
            parts.data, sockets, log, memory_cgroup=memory_cgroup, loading=loading,
            cpus=None if loading else self.cpus_of(candidate, point),
        )  # fmt: skip
        if loading or self.volumes.held.get(candidate) not in self.volumes.masters:
            # What is loaded is nobody's own, and what becomes the master copy lies in one place.
            return start
        study = self.find_study(candidate, point)
        needed = find_scenario(study).list_server_settings(study)
        more = {**needed, **self.more.get(parts.data, {})}
        return replace(start, temp=parts.temp, own=self._own(candidate, point), more=more)

    def _own(self, candidate: str, point: Point | None) -> Configuration | None:
        study = self.find_study(candidate, point)
        own = make_configuration(study.give_database(candidate))
        shared = self.study.select_engine(study.database.engine).database
        return None if own == make_configuration(shared) else own


def _make_server_facts(candidate: str, start: Start, found: FoundDatabase) -> dict[str, str]:
    program = found.engine.program
    return {"data": str(start.data), "program": program, "candidate": candidate}


def _make_memory_facts(candidate: str, instance: Instance, engine: str) -> dict[str, str]:
    """What a killed server would leave in memory, and which engine can remove it."""
    return {**instance.shared_memory(), "engine": engine, "candidate": candidate}
