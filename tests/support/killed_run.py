"""Kills a run before every single line that it writes to its books, and cleans after each kill.

A program of its own: it forks, and so must have no threads when it does. The books are read by a
clock, because each line of them is stamped. Prints what a kill left, as JSON: one entry a kill.

Usage: killed_run.py DIRECTORY STEP: 1 for every line, 3 for every third
"""

import json
import os
import signal
import sys
from pathlib import Path

from fakes.clock import FakeClock
from stithy.run.cleanup.handlers import clean
from support.faked_run import FakedRun, load_plugins
from support.running import left_by

EVERYTHING = {"calibrate": "true", "ledger": "true"}


class DeadlyClock(FakeClock):
    """Kills the process at the given reading of the wall clock, counted from 1."""

    def __init__(self, fatal: int) -> None:
        super().__init__()
        self._left = fatal

    def now_s(self) -> float:
        """Unix time, or death."""
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().now_s()


def killed_at(root: Path, fatal: int) -> bool:
    """Run a study in a child that dies at that reading; False when it came to its end before."""
    child = os.fork()
    if child == 0:
        FakedRun(root, clock=DeadlyClock(fatal), users=(1,), load=EVERYTHING).run()
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def main(directory: Path, step: int) -> None:
    """Kill earlier and later until a run comes to its end."""
    load_plugins()
    found = []
    for fatal in range(1, 1000, step):
        root = directory / str(fatal)
        root.mkdir()
        os.environ["STITHY_STATE"] = str(root / "state")
        if not killed_at(root, fatal):
            break
        cleaned = clean()
        journal = root / "out/journal.jsonl"
        left = left_by(root / "out") if journal.exists() and journal.stat().st_size else []
        others = sorted(path.name for path in root.iterdir())
        registered = [path.name for path in root.glob("state/runs/*")]
        problems = [each.reason for run in cleaned for each in run.left]
        found.append([fatal, left, others, registered, problems])
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
