"""A PostgreSQL database by its URL, whoever runs its server."""

from collections.abc import Mapping

from stithy.clock import Clock
from stithy.collect.collector import Collector
from stithy.database.engine import (
    CheckpointRule,
    CommitCounters,
    Loaded,
    MaintenanceCounters,
    ServerFacts,
)
from stithy.database.engines.postgresql.activity import Activity, ActivityReader
from stithy.database.engines.postgresql.connection import parse_url, with_absolute_root
from stithy.database.engines.postgresql.counters import (
    loaded,
    read_checkpoint_rule,
    read_checksums,
    read_commit_counters,
    read_maintenance_counters,
    read_server_facts,
)
from stithy.database.engines.postgresql.passfile import with_password
from stithy.secrets import Secret


def endpoint(url: Secret) -> "Endpoint":
    """The endpoint of a URL as a person gives it; its password may come from a file.

    Raises UserError for what is no such URL, or a file that cannot be used.
    """
    return Endpoint(with_absolute_root(with_password(url)))


class Endpoint:
    """What can be asked of a database by URL. Errors as in `connection.connect`."""

    def __init__(self, url: Secret) -> None:
        """Nothing is connected before it is asked."""
        self._url = url

    @property
    def url(self) -> Secret:
        """A connection URL that libpq, tokio-postgres and pg8000 understand."""
        return self._url

    @property
    def place(self) -> str:
        """For messages: where it is, without the password."""
        return parse_url(self.url).place

    def commits(self, clock: Clock) -> CommitCounters:
        """Commits and rollbacks, once they stand still."""
        return read_commit_counters(self.url, clock)

    def maintenance(self) -> MaintenanceCounters:
        """Checkpoints, autovacuum and the log's position."""
        return read_maintenance_counters(self.url)

    def checkpoint_rule(self) -> CheckpointRule:
        """By its settings."""
        return read_checkpoint_rule(self.url)

    def facts(self) -> ServerFacts:
        """Version and settings in force."""
        return read_server_facts(self.url)

    def checksums(self) -> Mapping[str, str]:
        """By table the number of its rows and the sum of their hashes."""
        return read_checksums(self.url)

    def activity(self, clock: Clock) -> Collector:
        """Its metrics of the collector `database`; connected at once."""
        return Activity(ActivityReader(self.url), clock)

    def loaded(self) -> Loaded | None:
        """Workload and size; None where nothing was loaded."""
        return loaded(self.url)
