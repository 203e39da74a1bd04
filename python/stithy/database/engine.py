"""The interface of a database engine: from nothing to a running server on a volume, and back.

An engine is one package in `engines/` whose `__init__` defines `NAME`, `OWNED_SETTINGS` and
`durability_given_up(settings)`, which of the settings give durability up and what may be lost. It
imports nothing heavy, and has a module `engine` that offers `create(request)`, which gives an
`Engine`, and `forget(facts)`, which removes from memory what a killed server left there. What the
interface calls a data directory is whatever files make up the database; they can be copied as they
are while no server runs on them. What an `Instance` counts is in words that hold for every engine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from stithy.clock import Clock
from stithy.collect.collector import Collector
from stithy.database.backup import Options
from stithy.hosts.host import Host
from stithy.secrets import Secret


@dataclass(frozen=True)
class CommitCounters:
    """Transactions of the database under test since its statistics were reset.

    `settled`: all of the hammer's connections had ended and the counters no longer moved.
    """

    commits: int
    rollbacks: int
    settled: bool


@dataclass(frozen=True)
class MaintenanceCounters:
    """What the server did besides the users' work, since its statistics were reset.

    `log_position_bytes` is the insert position of the write-ahead log; `last_checkpoint_at_s` the
    Unix time at which the last complete checkpoint began, in whole seconds.
    """

    checkpoints_timed: int
    checkpoints_requested: int
    last_checkpoint_at_s: float
    maintenance_runs: int
    log_position_bytes: int


@dataclass(frozen=True)
class CheckpointRule:
    """When a checkpoint begins by itself: after so long or so much log, whichever is first."""

    after_s: float
    after_bytes: int


@dataclass(frozen=True)
class ServerFacts:
    """The server's version and its settings in force, as SHOW writes them."""

    version: str
    settings: dict[str, str]


@dataclass(frozen=True)
class Loaded:
    """What was loaded into a database: the name of a workload, and its size in its units."""

    workload: str
    units: int


class Endpoint(Protocol):
    """A seam: a database by URL, whoever runs its server."""

    @property
    def url(self) -> Secret:
        """How to reach it, password included."""
        ...

    @property
    def place(self) -> str:
        """For messages: where it is, without the password."""
        ...

    def commits(self, clock: Clock) -> CommitCounters:
        """Commits and rollbacks of the database under test, once they stand still."""
        ...

    def maintenance(self) -> MaintenanceCounters:
        """What the server did besides the users' work."""
        ...

    def checkpoint_rule(self) -> CheckpointRule | None:
        """When it begins a checkpoint by itself; None where no rule says it."""
        ...

    def facts(self) -> ServerFacts:
        """Version and settings in force."""
        ...

    def checksums(self) -> Mapping[str, str]:
        """By table the number of its rows and a checksum of them, in whatever order they lie."""
        ...

    def activity(self, clock: Clock) -> Collector:
        """A collector of the metrics of `collect.collectors.database`, and of the engine's own."""
        ...

    def loaded(self) -> Loaded | None:
        """What the hammer has loaded, by its table `stithy_meta`; None where it has nothing."""
        ...


class Instance(Endpoint, Protocol):
    """A seam: one running server that Stithy started, or that stands for it (`database.remote`)."""

    @property
    def pid(self) -> int:
        """Process id of the server."""
        ...

    def shared_memory(self) -> Mapping[str, str]:
        """What stays in the machine's memory if the server is killed, for the engine's `forget`."""
        ...

    def last_words(self) -> str:
        """The end of its log, as one line, for messages."""
        ...

    def ended_by(self) -> str | None:
        """How the server ended by itself, in words; None while it runs."""
        ...

    def checkpoint(self) -> None:
        """Write all that is dirty to the volume now."""
        ...

    def finish_loading(self, log_bytes: int) -> None:
        """Leave the database as a long-running one would be, before its master copy is made.

        `log_bytes` of log files are left to be overwritten, so that no window has to create one.
        """
        ...

    def kept_url(self) -> str:
        """Its URL for a person, with a file that its owner alone may read for the password."""
        ...

    def stop(self, *, at_once: bool = False) -> None:
        """End the server; `at_once` leaves files that need recovery. Idempotent."""
        ...


@dataclass(frozen=True)
class Configuration:
    """What a server is given; `memory_bytes` is all that it and its page cache may use."""

    settings: Mapping[str, str]
    memory_bytes: int


@dataclass(frozen=True)
class Request:
    """What a study asks of its engine, and the host on which its servers run.

    `connections_max` is the most that the users of any level have. `own`: each other configuration
    that a server may get, and which section of the study gives it. `backups`: the methods by which
    it is backed up, with their options. `programs`: the version or the directory of the server.
    """

    host: Host
    configuration: Configuration
    connections_max: int
    password: Secret
    own: Sequence[tuple[str, Configuration]] = ()
    backups: Sequence[tuple[str, Options]] = ()
    programs: str | None = None


@dataclass(frozen=True)
class Installation:
    """The server programs that are used.

    `backups`: what makes them, and its version, by method. `others`: what else is installed.
    """

    programs: Path
    version: str
    backups: Mapping[str, str] = field(default_factory=dict)
    others: Sequence["Installation"] = ()

    def __str__(self) -> str:
        """Version and directory."""
        return f"{self.version} in {self.programs}"


@dataclass(frozen=True)
class Start:
    """One start of a server.

    `sockets` is a directory for its socket, `log` the file that gets what it writes. `loading`: it
    only loads, so nothing need survive a crash. `memory_cgroup` as in `hosts.runner.Command`.
    `temp`: a directory of the server's user for temporary files, None for a place in `data`.
    `own`: the candidate's configuration, None where it is the study's. `more`: settings of this
    start alone, which win over all others. `cpus` are the CPUs to which it is bound, None for any.
    """

    data: Path
    sockets: Path
    log: Path
    memory_cgroup: Path | None = None
    loading: bool = False
    temp: Path | None = None
    own: Configuration | None = None
    more: Mapping[str, str] = field(default_factory=dict)
    cpus: tuple[int, ...] | None = None


class Engine(Protocol):
    """A seam: one database product, as a study asks for it."""

    @property
    def program(self) -> str:
        """File name of the server's program, by which its processes are found."""
        ...

    @property
    def log_folder(self) -> str:
        """Name of the directory in a data directory that holds the write-ahead log.

        While no server runs it may be moved elsewhere and leave a link.
        """
        ...

    def check(self) -> Installation:
        """Find the programs and try all settings, without a database; changes nothing.

        Raises PreconditionError for what the machine lacks, UserError for refused settings.
        """
        ...

    def initialise(self, data: Path, scratch: Path) -> None:
        """Make an empty database in `data`, an empty directory of the server's user.

        It is the same for all candidates: what is a candidate's own is given at each start.
        `scratch` is a directory of that user's alone, for files that are removed at once.
        """
        ...

    def start(self, start: Start) -> Instance:
        """Start a server; returns when it answers. Raises InfrastructureError if it does not."""
        ...
