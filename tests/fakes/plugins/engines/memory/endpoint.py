"""A database by its URL, in this process: it counts what is committed."""

from collections.abc import Mapping

from stithy.clock import Clock
from stithy.collectors.collector import LiveCollector, Unavailable
from stithy.engines.instance import (
    CheckpointRule,
    CommitCounters,
    Loaded,
    MaintenanceCounters,
    ServerFacts,
)
from stithy.errors import InfrastructureError
from stithy.secrets import Secret


class Store:
    """The rows of one running server: how often each type of transaction was committed."""

    def __init__(self, rows: dict[str, int], settings: Mapping[str, str]) -> None:
        """`rows` as they were when the server last stopped."""
        self.rows, self.settings = rows, settings
        self.committed, self.checkpoints = 0, 0
        self.version = "1.memory"

    def commit(self, name: str, times: int) -> None:
        """So many transactions more."""
        self.rows[name] = self.rows.get(name, 0) + times
        self.committed += times


RUNNING: dict[str, Store] = {}
"""By URL, the servers that run."""


class Endpoint:
    """What can be asked of a server that runs."""

    def __init__(self, url: Secret) -> None:
        """Nothing is asked yet."""
        self.url = url

    @property
    def place(self) -> str:
        """It has no password."""
        return self.url.reveal()

    @property
    def store(self) -> Store:
        """Raises InfrastructureError where the server does not run."""
        if self.place not in RUNNING:
            raise InfrastructureError("it does not answer", where=self.place, remedy="start it")
        return RUNNING[self.place]

    def commits(self, _: Clock) -> CommitCounters:
        """Those since the start."""
        return CommitCounters(self.store.committed, 0, settled=True)

    def maintenance(self) -> MaintenanceCounters:
        """It has checkpoints only where they are asked for."""
        return MaintenanceCounters(0, self.store.checkpoints, 0.0, 0, 0)

    def checkpoint_rule(self) -> CheckpointRule | None:
        """None begins by itself."""
        return None

    def facts(self) -> ServerFacts:
        """As it was started."""
        return ServerFacts(self.store.version, {"keep": "on", **self.store.settings})

    def checksums(self) -> Mapping[str, str]:
        """The rows are their own checksum."""
        return {name: str(count) for name, count in self.store.rows.items()}

    def activity(self, _: Clock) -> LiveCollector:
        """It has no statistics of its work."""
        raise Unavailable("the engine has no statistics")

    def loaded(self) -> Loaded | None:
        """It does not know what its rows mean."""
        return None
