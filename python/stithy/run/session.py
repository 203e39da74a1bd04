"""One session of a run: on which host, where it writes, whom it tells, how it is asked to end."""

from dataclasses import dataclass

from stithy.clock import Clock
from stithy.hosts.host import Host
from stithy.results.layout import RunDirectory
from stithy.run.cleanup.books import Books
from stithy.run.events import Observer
from stithy.run.journal import Journal
from stithy.run.stop import Stop


@dataclass(frozen=True)
class Session:
    """What every step needs, whatever it does."""

    host: Host
    directory: RunDirectory
    books: Books
    clock: Clock
    stop: Stop
    tell: Observer

    @property
    def journal(self) -> Journal:
        """The run's journal."""
        return self.books.journal

    @property
    def run_id(self) -> str:
        """The run's id; all sessions of a run have the same."""
        return self.books.run_id
