"""Kills a run at moments drawn from a seed, resumes it, and tells what came of each.

A program of its own: it forks, and so must have no threads when it does; all that starts threads
happens in the children. A moment is a reading of the wall clock: before each line of the books, and
now and then between two. Each third resume is killed as well and resumed again. Prints one JSON
list: what `Resumed` holds, for each moment.

Usage: resumed_run.py DIRECTORY SEED KILLS
"""

import json
import os
import random
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from fakes.clock import FakeClock
from support.faked_run import FakedRun
from support.killed_run import DeadlyClock
from support.more_windows import two_more

LOAD = {"calibrate": "true", "ledger": "true"}
FIRST = 3
"""Before that reading a run has not begun: there is nothing to go on from."""


@dataclass(frozen=True)
class Resumed:
    """What became of a run that was killed before reading `fatal` and resumed."""

    fatal: int
    end: str
    planned: list[str]
    measured: list[str]
    incomplete: list[str]
    broken: int
    sessions: list[str]
    left: list[str]
    others: list[str]
    registered: list[str]
    kept_unchanged: bool


def faked(root: Path, clock: FakeClock) -> FakedRun:
    """The run in `root`: two candidates at two levels, and two windows more."""
    return FakedRun(root, clock=clock, users=(1, 2), load=LOAD, advisers=(two_more,))


class CountingClock(FakeClock):
    """Counts how often it was read."""

    readings = 0

    def now_s(self) -> float:
        """Unix time."""
        self.readings += 1
        return super().now_s()


def in_child(work: Callable[[], int]) -> int | None:
    """Work in a child; its exit code, None where it was killed."""
    child = os.fork()
    if child == 0:
        os._exit(work())
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code not in (0, -signal.SIGKILL):
        raise RuntimeError(f"a child ended with {code}")
    return None if code else 0


def readings_of(root: Path) -> int:
    """How often a whole run reads the clock."""

    def work() -> int:
        clock = CountingClock()
        faked(root, clock).run()
        (root / "readings").write_text(str(clock.readings))
        return 0

    in_child(work)
    return int((root / "readings").read_text())


def resumed(root: Path, fatal: int, again: int | None) -> None:
    """Kill, resume (killed before reading `again` where that is given), and write what came."""

    def begin() -> int:
        faked(root, DeadlyClock(fatal)).run()
        return 0

    def resume(clock: FakeClock) -> Callable[[], int]:
        def work() -> int:
            told(root, fatal, faked(root, clock))
            return 0

        return work

    in_child(begin)
    if again is not None and in_child(resume(DeadlyClock(again))) is not None:
        return
    in_child(resume(FakeClock()))


def told(root: Path, fatal: int, run: FakedRun) -> None:
    """Resume and write down what came of it."""
    from support.running import entries, left_by, manifest, window_row

    done = {entry.facts["id"] for entry in entries(run.out, "step-finished")}
    rows = [run.out / "windows" / each / "window.parquet" for each in done]
    kept = {path: path.read_bytes() for path in rows if path.exists()}
    outcome = run.resume()
    ids = sorted(path.parent.name for path in run.out.glob("windows/*/window.parquet"))
    about = manifest(run.out)
    found = Resumed(
        fatal=fatal,
        end=outcome.end,
        planned=sorted((*about["plan"]["windows"], *about["plan"]["further"])),
        measured=ids,
        incomplete=[each for each in ids if not window_row(run.out, each)["complete"]],
        broken=broken(run.out),
        sessions=[each["end"] for each in about["sessions"]],
        left=left_by(run.out),
        others=sorted(path.name for path in root.iterdir()),
        registered=[path.name for path in root.glob("state/runs/*")],
        kept_unchanged=kept == {path: path.read_bytes() for path in kept},
    )
    (root / "state/resumed.json").write_text(json.dumps(asdict(found)))


def broken(out: Path) -> int:
    """How many of the verified conditions did not hold; all tables are read."""
    from stithy.results.read import read_run

    run = read_run(out)
    if run.problems:
        raise RuntimeError(str(run.problems))
    return run.conditions.filter(~run.conditions["holds"]).height


def main(directory: Path, seed: int, kills: int) -> None:
    """Draw the moments, kill and resume at each."""
    os.environ["STITHY_STATE"] = str(directory / "whole-state")
    (directory / "whole").mkdir()
    readings = readings_of(directory / "whole")
    draw = random.Random(seed)
    moments = draw.sample(range(FIRST, readings), min(kills, readings - FIRST))
    found = []
    for number, fatal in enumerate(moments):
        root = directory / str(fatal)
        (root / "state").mkdir(parents=True)
        os.environ["STITHY_STATE"] = str(root / "state")
        resumed(root, fatal, draw.randrange(2, readings) if number % 3 == 2 else None)
        found.append(json.loads((root / "state/resumed.json").read_text()))
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
