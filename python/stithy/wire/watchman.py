"""Sees to it that a native program ends: when a person stops it, when it is stuck, when it is held.

A thread beside the reader, which itself waits for the next line for as long as there is one.
"""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from stithy.hosts.processes import is_held
from stithy.hosts.runner import Running

STOP_PATIENCE_S = 30.0
"""How long a program may take to answer SIGINT before it is killed: a drain waits for the answers
under way, and a stalled drive may hold those for many seconds."""

HELD_PATIENCE_S = 20.0
"""How long a program may be held by SIGSTOP or a debugger; what it measures is spoilt anyway."""

LOOK_S = 0.1


class Watchman(threading.Thread):
    """Watches one program until told that it ended; `killed_because` says why it had to be killed,
    as the verb of a sentence.
    """

    def __init__(
        self, program: Running, stop: threading.Event | None, silence_s: float | None
    ) -> None:
        """`stop` is handed on as SIGINT; `silence_s` None: it may be silent for ever."""
        super().__init__(name="watchman", daemon=True)
        self.killed_because: str | None = None
        self._program = program
        self._stop_asked = stop or threading.Event()
        self._silence_s = silence_s
        self._ended = threading.Event()
        self._since_s: dict[str, float] = {}
        self._heard_s = time.monotonic()

    def heard(self) -> None:
        """The program said something."""
        self._heard_s = time.monotonic()

    def run(self) -> None:
        """Look at it until it ended."""
        while not self._ended.wait(LOOK_S) and self._program.poll() is None:
            if self._stop_asked.is_set() and "stop" not in self._since_s:
                self._program.send_signal(signal.SIGINT)
            reason = self._reason(time.monotonic())
            if reason is not None:
                self.killed_because = f"{reason} and was killed"
                self._program.send_signal(signal.SIGKILL)
                return

    def end(self) -> None:
        """Watch no longer."""
        self._ended.set()
        self.join()

    def _reason(self, now_s: float) -> str | None:
        """Why it must be killed now; None: it need not."""
        if self._lasts("stop", self._stop_asked.is_set(), now_s) > STOP_PATIENCE_S:
            return f"did not end within {STOP_PATIENCE_S:g} s"
        if self._lasts("held", is_held(self._program.pid), now_s) > HELD_PATIENCE_S:
            return f"was held by a signal for {HELD_PATIENCE_S:g} s"
        if self._silence_s is not None and now_s - self._heard_s > self._silence_s:
            return f"said nothing for {self._silence_s:g} s"
        return None

    def _lasts(self, what: str, is_so: bool, now_s: float) -> float:
        """For how long something has been so, seconds."""
        if not is_so:
            self._since_s.pop(what, None)
            return 0.0
        return now_s - self._since_s.setdefault(what, now_s)


@contextmanager
def watched(
    program: Running, stop: threading.Event | None, silence_s: float | None
) -> Iterator[Watchman]:
    """Inside, the program is watched."""
    watchman = Watchman(program, stop, silence_s)
    watchman.start()
    try:
        yield watchman
    finally:
        watchman.end()
