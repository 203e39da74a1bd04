"""The first and the second Ctrl-C: finish cleanly, or end at once.

SIGTERM counts the same, so that a service manager or a job scheduler can stop a run cleanly.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from stithy.errors import Interrupted

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """Whether a person asked to stop; `asked` is handed to whatever waits."""

    def __init__(self, tell: Callable[[str], None] = lambda text: None) -> None:
        """`tell` hears what a signal leads to, in words for the person."""
        self.asked = threading.Event()
        self._tell = tell
        self._shielded = False

    def check(self) -> None:
        """Raise Interrupted if a person asked to stop."""
        if self.asked.is_set():
            raise interrupted()

    def signal(self) -> None:
        """One more signal came. Raises Interrupted for the second, unless shielded."""
        if self._shielded:
            self._tell("already cleaning up: wait a moment")
        elif self.asked.is_set():
            raise interrupted()
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
    def installed(self) -> Iterator[None]:
        """Inside, this hears the process's signals. Main thread only."""

        def handle(_: int, __: FrameType | None) -> None:
            self.signal()

        before = {number: signal.signal(number, handle) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def interrupted() -> Interrupted:
    """The error of a run that a person stopped."""
    return Interrupted(
        "stopped by a signal", where="the run", remedy="run the study again for the rest of it"
    )
