"""The interface of a database's servers: from nothing to a running one on a volume, and back.

What it calls a data directory is whatever files make up the database; they can be copied as they
are while no server runs on them. What an `Instance` counts is in words that hold for every engine.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn, Protocol

from stithy.clock import Clock
from stithy.collectors.collector import LiveCollector
from stithy.engines.backup import BackupOptions
from stithy.errors import PreconditionError
from stithy.hosts.host import Host
from stithy.hosts.runner import Command, Runner
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

    None: the engine does not count it.
    `log_position_bytes` is the insert position of the write-ahead log; `last_checkpoint_at_s` the
    Unix time at which the last complete checkpoint began, in whole seconds; `pages_written` how
    many pages of its tables it wrote back.
    """

    checkpoints_timed: int | None = None
    checkpoints_requested: int | None = None
    last_checkpoint_at_s: float | None = None
    maintenance_runs: int | None = None
    log_position_bytes: int | None = None
    pages_written: int | None = None


@dataclass(frozen=True)
class CheckpointRule:
    """When a checkpoint begins by itself: after so long or so much log, whichever is first.

    `after_s` None: no time makes one begin.
    """

    after_s: float | None
    after_bytes: int


@dataclass(frozen=True)
class ServerFacts:
    """The server's version and its settings in force, as SHOW writes them."""

    version: str
    settings: dict[str, str]


@dataclass(frozen=True)
class Loaded:
    """What was loaded into a database: the name of a workload, and its size as `--size` has it."""

    workload: str
    size: str


class Endpoint(Protocol):
    """A seam: a database by URL, whoever runs its server."""

    @property
    def url(self) -> Secret:
        """How to reach it, password included."""

    @property
    def place(self) -> str:
        """For messages: where it is, without the password."""

    def commits(self, clock: Clock) -> CommitCounters | None:
        """Count commits and rollbacks once they stand still; None where the engine counts none."""

    def maintenance(self) -> MaintenanceCounters:
        """What the server did besides the users' work."""

    def checkpoint_rule(self) -> CheckpointRule | None:
        """When it begins a checkpoint by itself; None where no rule says it."""

    def facts(self) -> ServerFacts:
        """Version and settings in force."""

    def checksums(self) -> Mapping[str, str]:
        """By table the number of its rows and a checksum of them, in whatever order they lie."""

    def activity(self, clock: Clock) -> LiveCollector:
        """A collector of the metrics of `collectors.database`, and of the engine's own."""

    def loaded(self) -> Loaded | None:
        """What the hammer has loaded, by its table `stithy_meta`; None where it has nothing."""


class Instance(Endpoint, Protocol):
    """A seam: one running server that Stithy started, or that stands for it (`database.remote`)."""

    @property
    def pid(self) -> int | None:
        """Process id of the server; None where the database runs in the driver's process."""

    def shared_memory(self) -> Mapping[str, str]:
        """What stays in the machine's memory if the server is killed, for the engine's `forget`."""

    def last_words(self) -> str:
        """The end of its log, as one line, for messages."""

    def ended_by(self) -> str | None:
        """How the server ended by itself, in words; None while it runs."""

    def checkpoint(self) -> None:
        """Write all that is dirty to the volume now."""

    def finish_loading(self, log_bytes: int) -> None:
        """Leave the database as a long-running one would be, before its master copy is made.

        `log_bytes` of log files are left to be overwritten, so that no window has to create one.
        """

    def kept_url(self) -> str:
        """Its URL for a person, with a file that its owner alone may read for the password."""

    def stop(self, *, at_once: bool = False) -> None:
        """End the server; `at_once` leaves files that need recovery. Idempotent."""


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
    `window_s`: how long users work in a window, ramp-up included.
    """

    host: Host
    configuration: Configuration
    connections_max: int
    password: Secret
    own: Sequence[tuple[str, Configuration]] = ()
    backups: Sequence[tuple[str, BackupOptions]] = ()
    programs: str | None = None
    window_s: float = 0.0


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
        return f"{self.version} in {self.programs}"


@dataclass(frozen=True)
class Start:
    """One start of a server.

    `sockets` is a directory for its socket, `log` the file that gets what it writes. `loading`: it
    only loads, so nothing need survive a crash. `memory_cgroup` as in `hosts.runner.Command`.
    `temp`: a directory of the server's user for temporary files, None for a place in `data`.
    `own`: the candidate's configuration, None where it is the study's. `more`: settings of this
    start alone, which win over all others. `cpus` are the CPUs to which it is bound, None for any.
    `address`: where it listens beside its socket, only with `Engine.listens`; None: nowhere.
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
    address: str | None = None


class ConfiguredEngine(Protocol):
    """A seam: one database product, as a study asks for it."""

    @property
    def program(self) -> str:
        """File name of the server's program, by which its processes are found."""

    @property
    def log_folder(self) -> str | None:
        """Name of the directory in a data directory that holds the write-ahead log.

        While no server runs it may be moved elsewhere and leave a link. None: its log lies among
        its data, and cannot be moved.
        """

    def check(self) -> Installation:
        """Find the programs and try all settings, without a database; changes nothing.

        Raises PreconditionError for what the machine lacks, UserError for refused settings.
        """

    def initialise(self, data: Path, scratch: Path) -> None:
        """Make an empty database in `data`, an empty directory of the server's user.

        It is the same for all candidates: what is a candidate's own is given at each start.
        `scratch` is a directory of that user's alone, for files that are removed at once.
        """

    def start(self, start: Start) -> Instance:
        """Start a server; returns when it answers. Raises InfrastructureError if it does not."""


class StartsNothing:
    """An engine of which Stithy starts no server."""

    program = ""
    log_folder = None

    def __init__(self, request: Request, engine: str, because: str) -> None:
        """`because`: as `Engine.no_server` has it."""
        self._engine, self._because = engine, because

    def check(self) -> NoReturn:
        """Refuse."""
        raise PreconditionError(
            f"{self._engine} is measured by URL only: {self._because}",
            where="database.engine",
            remedy="give each candidate a `url`",
        )

    def initialise(self, data: Path, scratch: Path) -> None:
        """Refuse."""
        self.check()

    def start(self, start: Start) -> Instance:
        """Refuse."""
        self.check()


class Chores(Protocol):
    """A seam: the module of an engine."""

    def empty(self, url: Secret) -> None:
        """Make the database anew."""

    def scans(self, url: Secret) -> Iterator[int]:
        """One large table after the other, for ever."""


class Replication(Protocol):
    """A seam: the module of an engine by which a second server follows a first one."""

    def make_copy(self, url: Secret, programs: Path, place: Path) -> Command:
        """Give what copies all files of the running server at a URL to an empty directory."""

    def set_up_follower(self, url: Secret, place: Path) -> Mapping[str, str]:
        """Let a server on such a copy follow the one at the URL; give the settings of its start."""

    def set_up_source(self, url: Secret, place: Path) -> Mapping[str, str]:
        """The same for files of which the server at the URL has all that they had at their end."""

    def count_lag_bytes(self, url: Secret, follower: Secret) -> int | None:
        """Count the log of the server at a URL that its follower lacks; None where it has none."""

    def stop_commits(self, url: Secret, socket: Path) -> AbstractContextManager[str]:
        """Let nobody commit inside, and give where the log ends. The server is to be killed inside.

        `socket`: that of the server, which is removed.
        """

    def read_end(self, runner: Runner, programs: Path, data: Path) -> str:
        """Read where its log ends from the files of a server that was stopped.

        Only with `Engine.tells_log_end`.
        """

    def has_all(self, url: Secret, end: str) -> bool:
        """Whether the follower at a URL has what was logged up to this end."""

    def promote(self, url: Secret) -> None:
        """Let the follower at a URL be a server that writes."""


class NativeRestore(Protocol):
    """A seam: the module of an engine."""

    def empty(self, url: Secret) -> None:
        """Make the database anew."""

    def keep(self, url: Secret, name: str) -> None:
        """Keep what was loaded; `name` has lower-case letters and digits only."""

    def restore(self, url: Secret, name: str, log_bytes: int) -> None:
        """Make the database what was kept."""


UNSEEN = "the database is reached by URL: its server is not one that Stithy started"
"""Why nothing is known of the server's processor, memory, devices and log."""


@dataclass(frozen=True)
class Mark:
    """Whose a database is: the run, and the process that was at it last (`hosts.processes`).

    `candidate` is how the run names it. `settings`: what the study asks of it, where its engine has
    `is_set_by_url`. `keeps_inside`: its own restore will be used.
    """

    run_id: str
    owner: Mapping[str, str]
    candidate: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    keeps_inside: bool = False


@dataclass(frozen=True)
class Demand:
    """What a run asks of a database of somebody's server.

    `keeps_inside`: `database.native` is to be used. `sessions`: the most that users will have at
    once. `settings`: as those of the `Mark`. `backs_up`: it makes and restores backups of itself.
    """

    keeps_inside: bool = False
    sessions: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)
    backs_up: bool = False


class Remote(Instance, Protocol):
    """A seam: a database of somebody's server. Each one remembers when that was started."""

    def check(self, demand: Demand) -> None:
        """Raise PreconditionError for a server or user of no use, and if it holds anything.

        What it holds under a mark is no matter.
        """

    def mark(self) -> Mark | None:
        """Whose it is."""

    def claim(self, mark: Mark) -> None:
        """Mark it, in place of an older mark, and remove what that stood for."""

    def empty(self) -> None:
        """Remove all that was made under the mark, but the mark. Raises if anything else is left.

        It is called for a database with a mark only.
        """

    def keep(self, name: str) -> None:
        """Keep what was loaded under a name that begins with `kept_of` the run."""

    def restore(self, name: str) -> None:
        """Make it what was kept under this name, as far as the rights of its user allow."""

    def give_back(self, run_id: str) -> None:
        """Leave the database empty and without the mark of this run. Idempotent."""

    def size_bytes(self) -> int:
        """How much storage it takes by the server's own books."""

    def round_trip_s(self) -> float:
        """The median time of a question that needs no work, seconds."""

    def describe_server(self) -> str:
        """Version of the server, and whether connections are encrypted."""


def kept_of(run_id: str) -> str:
    """How the names begin under which a run keeps databases on a server that others use, too."""
    return f"stithy{run_id}"


class NotStarted:
    """What an `Instance` has of its process and files; nobody may ask for those of another's."""

    @property
    def pid(self) -> int:
        """Of another machine."""
        raise NotImplementedError

    def kept_url(self) -> str:
        """Nothing of it is kept."""
        raise NotImplementedError

    def shared_memory(self) -> Mapping[str, str]:
        """None that Stithy would have to remove."""
        return {}

    def round_trip_s(self) -> float:
        """As `Remote`."""
        raise NotImplementedError

    def last_words(self) -> str:
        """Its log is elsewhere."""
        return "its log is not here to be read"

    def stop(self, *, at_once: bool = False) -> None:
        """It is not Stithy's to be stopped."""
