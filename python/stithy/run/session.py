"""One session of a run: on which host, where it writes, whom it tells, how it is asked to end."""

import threading
from dataclasses import dataclass, field

from stithy.clock import Clock
from stithy.hosts.host import Host
from stithy.results.layout import RunDirectory
from stithy.run.cleanup.books import Books
from stithy.run.events import Observer
from stithy.run.journal import Journal
from stithy.run.stop import Stop


class Start:
    """The moment from which all activities of a window count: when its users began.

    They begin once all are connected, which only their own activity sees.
    """

    def __init__(self) -> None:
        """Nobody has begun."""
        self._given = threading.Event()
        self.at_s = 0.0

    def give(self, at_s: float) -> None:
        """Unix time; the first one counts."""
        if not self._given.is_set():
            self.at_s = at_s
            self._given.set()

    def wait(self, stop: Stop) -> float:
        """The moment, once it is known. Raises Interrupted if nothing is to begin any more."""
        while not self._given.wait(0.05):
            stop.check()
        return self.at_s


@dataclass(frozen=True)
class Session:
    """What every step needs, whatever it does; a window has a stop and a start of its own."""

    host: Host
    directory: RunDirectory
    books: Books
    clock: Clock
    stop: Stop
    tell: Observer
    start: Start = field(default_factory=Start)

    @property
    def journal(self) -> Journal:
        """The run's journal."""
        return self.books.journal

    @property
    def run_id(self) -> str:
        """The run's id; all sessions of a run have the same."""
        return self.books.run_id
