"""A running database server: what can be asked of it, and how it is ended.

What it counts is here in words that hold for every engine.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from stithy.clock import Clock
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

    `wal_position_bytes` is the insert position of the write-ahead log; `last_checkpoint_at_s` the
    Unix time at which the last complete checkpoint began, in whole seconds.
    """

    checkpoints_timed: int
    checkpoints_requested: int
    last_checkpoint_at_s: float
    autovacuum_runs: int
    wal_position_bytes: int


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


class Instance(Protocol):
    """A seam: one running server."""

    @property
    def url(self) -> Secret:
        """How to reach its database, password included."""
        ...

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

    def commits(self, clock: Clock) -> CommitCounters:
        """Commits and rollbacks of the database under test, once they stand still."""
        ...

    def maintenance(self) -> MaintenanceCounters:
        """What the server did besides the users' work."""
        ...

    def checkpoint_rule(self) -> CheckpointRule:
        """When it begins a checkpoint by itself."""
        ...

    def facts(self) -> ServerFacts:
        """Version and settings in force."""
        ...

    def stop(self, *, at_once: bool = False) -> None:
        """End the server; `at_once` leaves files that need recovery. Idempotent."""
        ...
