"""A session of a run: what it works with, when its users start, and how it is stopped.

The first Ctrl-C finishes cleanly, the second ends at once.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from stithy.clock import Clock
from stithy.errors import Interrupted
from stithy.hosts.host import Host
from stithy.results.layout import RunDirectory
from stithy.run.books import Journal
from stithy.run.cleaning import Books
from stithy.run.events import Observer

POLL_S = 0.05
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Asked(threading.Event):
    """An event with `followers`, which are set together with it."""

    def __init__(self) -> None:
        super().__init__()
        self.followers: list[threading.Event] = []

    def set(self) -> None:
        """Set it, and all that follow it."""
        super().set()
        for follower in self.followers:
            follower.set()


class Stop:
    """Whether a person asked to stop; `asked` is handed to whatever waits."""

    def __init__(self, tell: Callable[[str], None] = lambda text: None) -> None:
        """`tell` hears what a signal leads to, in words for the person."""
        self._asked = Asked()
        self.asked: threading.Event = self._asked
        self._tell = tell
        self._shielded = False
        self._ending = False

    def check(self) -> None:
        """Raise Interrupted if a person asked to stop."""
        if self.asked.is_set():
            raise make_interrupted()

    def pause(self, for_s: float) -> None:
        """Wait, at most until a person asks to stop. Raises Interrupted if one has before."""
        self.check()
        self.asked.wait(for_s)

    @contextmanager
    def part(self) -> Iterator["Stop"]:
        """Inside, a stop of a part of the run: set with this one, or alone."""
        part = Stop()
        self._asked.followers.append(part.asked)
        try:
            self.pass_on(part)
            yield part
        finally:
            self._asked.followers.remove(part.asked)

    def pass_on(self, part: "Stop") -> None:
        """From now on a part is to stop only where this one is."""
        part.asked.clear()
        if self.asked.is_set():
            part.asked.set()

    def signal(self) -> None:
        """One more signal came. Raises Interrupted for the second, unless shielded."""
        if self._shielded or self._ending:
            self._tell("already cleaning up: wait a moment")
        elif self.asked.is_set():
            # Once only: a third signal must not cut the way from here to the shield short.
            self._ending = True
            raise make_interrupted()
        else:
            self.asked.set()
            self._tell("finishing: cleaning up and writing the report; Ctrl-C again ends at once")

    @contextmanager
    def shield(self) -> Iterator[None]:
        """Inside, signals are noted but end nothing: cleaning up must not be cut short."""
        before, self._shielded = self._shielded, True
        try:
            yield
        finally:
            self._shielded = before

    @contextmanager
    def install_signals(self) -> Iterator[None]:
        """Inside, this hears the process's signals. Main thread only."""

        def handle(_: int, __: FrameType | None) -> None:
            self.signal()

        survives = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        heard = [number for number in SIGNALS if not (survives and number is signal.SIGHUP)]
        before = {number: signal.signal(number, handle) for number in heard}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def make_interrupted(remedy: str = "start it again") -> Interrupted:
    """The error of what a person stopped."""
    return Interrupted("stopped by a signal", where="the run", remedy=remedy)


class UsersStart:
    """The moment from which all activities of a window count: when its users began.

    They begin once all are connected, which only their own activity sees.
    """

    def __init__(self) -> None:
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
    start: UsersStart = field(default_factory=UsersStart)

    @property
    def journal(self) -> Journal:
        return self.books.journal

    @property
    def run_id(self) -> str:
        """The run's id; all sessions of a run have the same."""
        return self.books.run_id

    def wait_until(self, until_s: float, watch: Callable[[], None] = lambda: None) -> None:
        """Wait for a time, and `watch` again and again. Raises Interrupted for a stop."""
        while (left_s := until_s - self.clock.now_s()) > 0:
            watch()
            self.stop.pause(min(left_s, POLL_S))
