"""The first Ctrl-C asks for a clean end, the second ends at once."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from stithy.cli.talk.render import say


@contextmanager
def until_interrupted() -> Iterator[threading.Event]:
    """An event that SIGINT or SIGTERM sets; a second signal raises KeyboardInterrupt."""
    stop = threading.Event()

    def ask(_signal: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        say("stopping; press Ctrl-C again to stop at once")

    before = {each: signal.signal(each, ask) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
