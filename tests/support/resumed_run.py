"""Kills a run at moments drawn from a seed, resumes it, and tells what came of each.

A program of its own: it forks, and so must have no threads when it does; all that starts threads
happens in the children. A moment is a reading of the wall clock: before each line of the books, and
now and then between two. There is one before a line of each kind that a whole run writes to its
journal, whatever kinds there are, and KILLS more anywhere. Each third resume is killed as well and
resumed again. Prints one JSON list: what became of each moment, as `told` writes it down.

Usage: resumed_run.py DIRECTORY SEED KILLS
"""

import json
import os
import random
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fakes.clock import FakeClock
from stithy.results.layout import RunDirectory
from stithy.run.deciding import Status
from stithy.run.journal import Entry, read_journal
from support.faked_run import FakedRun, load_plugins
from support.killed_run import DeadlyClock
from support.more_windows import two_more

LOAD = {"calibrate": "true", "ledger": "true", "repeat": ""}
PRIMARY = "{blocks: 5}"
FIRST = 3
"""Before that reading a run has not begun: there is nothing to go on from."""


def faked(root: Path, clock: FakeClock) -> FakedRun:
    """The run in `root`: two candidates at two levels, decided early, and two windows more."""
    return FakedRun(root, clock=clock, users=(1, 2), load=LOAD, primary=PRIMARY,
                    judge=decided_after_a_block, schedulers=(two_more,))  # fmt: skip


def decided_after_a_block(directory: RunDirectory) -> Status:
    """The question is decided by what there is: the other blocks are left out."""
    blocks = len(list(directory.windows.glob("w-*-u2-b*/window.parquet"))) // 2
    return Status(decided=blocks > 0, blocks=blocks, text="a judge of tests has decided")


class CountingClock(FakeClock):
    """A millisecond passes whenever someone looks, so that every reading is known by its value."""

    readings = 0

    def now_s(self) -> float:
        """Unix time."""
        self.readings += 1
        return super().now_s() + self.readings / 1000

    def number(self, at_s: float) -> int:
        """Which reading that was."""
        return round((at_s - super().now_s()) * 1000)


def in_child(work: Callable[[], int]) -> int | None:
    """Work in a child; its exit code, None where it was killed."""
    child = os.fork()
    if child == 0:
        os._exit(work())
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code not in (0, -signal.SIGKILL):
        raise RuntimeError(f"a child ended with {code}")
    return None if code else 0


@dataclass(frozen=True)
class Moment:
    """A reading of the clock to be killed at, before a line of that kind, or anywhere.

    `expected`: as many lines of the journal as a whole run has written there.
    """

    fatal: int
    kind: str | None = None
    expected: int | None = None


def whole(root: Path) -> tuple[int, list[Moment]]:
    """How often a whole run reads the clock, and the moments before each line of its journal."""

    def work() -> int:
        clock = CountingClock()
        faked(root, clock).run()
        lines = [
            asdict(Moment(clock.number(entry.at_s), kind, number))
            for number, (entry, kind) in enumerate(kinds(root / "out/journal.jsonl"))
        ]
        (root / "whole.json").write_text(json.dumps([clock.readings, lines]))
        return 0

    in_child(work)
    readings, lines = json.loads((root / "whole.json").read_text())
    return readings, [Moment(**each) for each in lines]


def kinds(journal: Path) -> list[tuple[Entry, str]]:
    """The lines of a journal with the kind of each: its event, and what it is about."""
    found: list[tuple[Entry, str]] = []
    steps: dict[str, str] = {}
    for entry in read_journal(journal):
        about = str(entry.facts.get("kind") or steps.get(str(entry.facts.get("id")), ""))
        if entry.event == "step-started":
            steps[entry.facts["id"]] = about
        found.append((entry, f"{entry.event} {about}".strip()))
    return found


def drawn(draw: random.Random, readings: int, lines: Sequence[Moment], kills: int) -> list[Moment]:
    """One moment of each kind of line after the first, and others anywhere."""
    by_kind: dict[str | None, list[Moment]] = {}
    for line in lines[1:]:
        by_kind.setdefault(line.kind, []).append(line)
    anywhere = draw.sample(range(FIRST, readings), min(kills, readings - FIRST))
    return [draw.choice(each) for each in by_kind.values()] + [Moment(each) for each in anywhere]


def resumed(root: Path, moment: Moment, again: int | None) -> None:
    """Kill, resume (killed before reading `again` where that is given), and write what came."""

    def begin() -> int:
        faked(root, DeadlyClock(moment.fatal)).run()
        return 0

    def resume(clock: FakeClock) -> Callable[[], int]:
        def work() -> int:
            told(root, moment, written, faked(root, clock))
            return 0

        return work

    in_child(begin)
    written = len(read_journal(root / "out/journal.jsonl"))
    if again is not None and in_child(resume(DeadlyClock(again))) is not None:
        return
    in_child(resume(FakeClock()))


def told(root: Path, moment: Moment, written: int, run: FakedRun) -> None:
    """Resume and write down what became of it; `written`: lines of the journal before that."""
    from support.running import entries, left_by, manifest, window_row

    done = {entry.facts["id"] for entry in entries(run.out, "step-finished")}
    rows = [run.out / "windows" / each / "window.parquet" for each in done]
    kept = {path: path.read_bytes() for path in rows if path.exists()}
    outcome = run.resume()
    ids = sorted(path.parent.name for path in run.out.glob("windows/*/window.parquet"))
    about = manifest(run.out)
    found = asdict(moment) | {
        "written": written,
        "events": sorted({kind for _, kind in kinds(run.out / "journal.jsonl")}),
        "end": outcome.end,
        "planned": planned(about["plan"]),
        "measured": ids,
        "incomplete": [each for each in ids if not window_row(run.out, each)["complete"]],
        "broken": broken(run.out),
        "sessions": [each["end"] for each in about["sessions"]],
        "left": left_by(run.out),
        "others": sorted(path.name for path in root.iterdir()),
        "registered": [path.name for path in root.glob("state/runs/*")],
        "kept_unchanged": kept == {path: path.read_bytes() for path in kept},
    }
    (root / "state/resumed.json").write_text(json.dumps(found))


def planned(plan: Mapping[str, Any]) -> list[str]:
    """The windows of a plan that are needed, and those that were decided later."""
    return sorted({*plan["windows"], *plan["further"]} - {*plan["skipped"]})


def broken(out: Path) -> int:
    """How many of the verified conditions did not hold; all tables are read."""
    from stithy.results.read import read_run

    run = read_run(out)
    if run.problems:
        raise RuntimeError(str(run.problems))
    return run.conditions.filter(~run.conditions["holds"]).height


def main(directory: Path, seed: int, kills: int) -> None:
    """Draw the moments, kill and resume at each."""
    load_plugins()
    os.environ["STITHY_STATE"] = str(directory / "whole-state")
    (directory / "whole").mkdir()
    readings, lines = whole(directory / "whole")
    draw = random.Random(seed)
    found = []
    for number, moment in enumerate(drawn(draw, readings, lines, kills)):
        root = directory / str(number)
        (root / "state").mkdir(parents=True)
        os.environ["STITHY_STATE"] = str(root / "state")
        resumed(root, moment, draw.randrange(2, readings) if number % 3 == 2 else None)
        found.append(json.loads((root / "state/resumed.json").read_text()))
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
