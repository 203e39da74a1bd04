"""Kills runs with fakes, cleans or resumes what they left, and tells what came of each.

A program of its own: it forks, and so must have no threads when it does; all that starts threads
happens in children. Each line of standard input is a JSON list: a job, a directory to work in, and
words. The answer to each is a line of JSON.

The books are read by a clock, because each line of them is stamped: a reading of the clock is a
moment before a line, and now and then between two.
"""

import json
import os
import random
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fakes.clock import FakeClock
from stithy.results.files import read_run
from stithy.results.layout import RunDirectory
from stithy.run.books import JournalEntry, read_journal
from stithy.run.cleaning import clean
from stithy.run.deciding import QuestionStatus
from stithy.run.equip import describe_leftovers
from stithy.run.events import Event, Note, StepStarted
from stithy.storage.providers.path import DirectoryStorage
from support.faked_run import FakedRun, two_more
from support.forked import load_plugins
from support.running import entries, left_by, manifest, window_row

FIRST = 3
"""Before that reading a run has not begun: there is nothing to go on from."""


def in_child(work: Callable[[], Any]) -> Any:
    """What `work` gives in a child of its own, as JSON; None where the child was killed."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        with os.fdopen(writer, "w") as answer:
            json.dump(work(), answer)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        given = answer.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code not in (0, -signal.SIGKILL):
        raise RuntimeError(f"a child ended with {code}")
    return None if code else json.loads(given)


def ended(work: Callable[[], object]) -> bool:
    """Whether work in a child came to its end, and was not killed."""
    return in_child(lambda: work() is not work) is not None


def new_root(directory: Path, number: int) -> Path:
    """A folder for a run, with a state of its own."""
    root = directory / str(number)
    root.mkdir()
    os.environ["STITHY_STATE"] = str(root / "state")
    return root


def remains(root: Path) -> dict[str, Any]:
    """What is there of a run that nobody is at any more."""
    journal = root / "out/journal.jsonl"
    return {
        "left": left_by(root / "out") if journal.exists() and journal.stat().st_size else [],
        "others": sorted(path.name for path in root.iterdir()),
        "registered": [path.name for path in root.glob("state/runs/*")],
    }


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


def cleaned(directory: Path, step: int) -> Iterator[dict[str, Any]]:
    """Kill a run earlier and later until one comes to its end; clean after each."""
    load = {"calibrate": "true", "ledger": "true"}
    for fatal in range(1, 1000, step):
        root = new_root(directory, fatal)
        if ended(FakedRun(root, clock=DeadlyClock(fatal), users=(1,), load=load).run):
            return
        problems = [each.reason for run in clean() for each in run.left]
        yield {"fatal": fatal, "problems": problems, **remains(root)}


def faked(root: Path, clock: FakeClock) -> FakedRun:
    """Two candidates, decided early, and two windows more."""

    def decided_after_a_block(directory: RunDirectory) -> QuestionStatus:
        blocks = len(list(directory.windows.glob("w-*-u2-b*/window.parquet"))) // 2
        return QuestionStatus(
            decided=blocks > 0, blocks=blocks, text="a judge of tests has decided"
        )

    load = {
        "calibrate": "true", "ledger": "true", "repeat": "",
        "precondition": "{users: 1, for: 3 s}",
    }  # fmt: skip
    return FakedRun(root, clock=clock, users=(2,), load=load, primary="{blocks: 5}",
                    judge=decided_after_a_block, schedulers=(two_more,))  # fmt: skip


class CountingClock(FakeClock):
    """A millisecond passes whenever someone looks, so that every reading is known by its value."""

    readings = 0

    def now_s(self) -> float:
        """Unix time."""
        self.readings += 1
        return super().now_s() + self.readings / 1000


@dataclass(frozen=True)
class Moment:
    """A reading of the clock to be killed at, before a line of that kind, or anywhere.

    `expected`: as many lines of the journal as a whole run has written there.
    """

    fatal: int
    kind: str | None = None
    expected: int | None = None


def kinds(journal: Path) -> list[tuple[JournalEntry, str]]:
    """The lines of a journal with the kind of each: its event, and what it is about."""
    found: list[tuple[JournalEntry, str]] = []
    steps: dict[str, str] = {}
    for entry in read_journal(journal):
        about = str(entry.facts.get("kind") or steps.get(str(entry.facts.get("id")), ""))
        if entry.event == "step-started":
            steps[entry.facts["id"]] = about
        found.append((entry, f"{entry.event} {about}".strip()))
    return found


def moments(root: Path, draw: random.Random, kills: int) -> tuple[int, Sequence[Moment]]:
    """How often a whole run reads the clock; a moment before a line of each kind that it writes
    after its first, and others anywhere.
    """

    def whole() -> tuple[int, list[tuple[int, str]]]:
        clock = CountingClock()
        faked(root, clock).run()
        lines, zero_s = kinds(root / "out/journal.jsonl"), FakeClock().now_s()
        return clock.readings, [(round((each.at_s - zero_s) * 1000), kind) for each, kind in lines]

    readings, lines = in_child(whole)
    by_kind: dict[str, list[Moment]] = {}
    for number, (fatal, kind) in enumerate(lines[1:], start=1):
        by_kind.setdefault(kind, []).append(Moment(fatal, kind, number))
    anywhere = [Moment(each) for each in draw.sample(range(FIRST, readings), kills)]
    return readings, [*(draw.choice(each) for each in by_kind.values()), *anywhere]


def resumed(directory: Path, seed: int, kills: int) -> Iterator[dict[str, Any]]:
    """Kill a run at each moment and resume it; each third resume is killed and resumed as well."""
    draw = random.Random(seed)
    readings, drawn = moments(new_root(directory, -1), draw, kills)
    for number, moment in enumerate(drawn):
        root = new_root(directory, number)
        ended(faked(root, DeadlyClock(moment.fatal)).run)
        known = asdict(moment) | {"written": len(read_journal(root / "out/journal.jsonl"))}
        clock = DeadlyClock(draw.randrange(2, readings) if number % 3 == 2 else 0)
        shown = in_child(partial(outcome, faked(root, clock)))
        yield known | (shown or in_child(partial(outcome, faked(root, FakeClock()))))


def outcome(run: FakedRun) -> dict[str, Any]:
    """Resume to the end; what that session did, and what is there of the run."""
    done = {entry.facts["id"] for entry in entries(run.out, "step-finished")}
    rows = [run.out / "windows" / each / "window.parquet" for each in done]
    kept = {path: path.read_bytes() for path in rows if path.exists()}
    end = run.resume().end
    about, results = manifest(run.out), read_run(run.out)
    if results.problems:
        raise RuntimeError(str(results.problems))
    plan, conditions = about["plan"], results.conditions
    measured = sorted(path.parent.name for path in run.out.glob("windows/*/window.parquet"))
    return {
        "end": end,
        "sessions": [each["end"] for each in about["sessions"]],
        "kept": about["sessions"][-1]["master_kept"],
        "steps": [each.step.id for each in run.events if isinstance(each, StepStarted)],
        "notes": [each.text for each in run.events if isinstance(each, Note)],
        "events": sorted({kind for _, kind in kinds(run.out / "journal.jsonl")}),
        "planned": sorted({*plan["windows"], *plan["further"]} - {*plan["skipped"]}),
        "measured": measured,
        "incomplete": [each for each in measured if not window_row(run.out, each)["complete"]],
        "kept_unchanged": kept == {path: path.read_bytes() for path in kept},
        "ends": sorted(set(conditions.filter(moment="end")["candidate"])),
        "broken": conditions.filter(~conditions["holds"]).height,
        **remains(run.root),
    }


def _master(root: Path) -> Path:
    return root / "out/master-copy/master"


def flip(root: Path) -> None:
    """A byte of the master copy is another one."""
    with (_master(root) / "base/rows").open("r+b") as file:
        file.write(b"\x07")


def remove(root: Path) -> None:
    """The master copy is gone."""
    for path in sorted(_master(root).rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    _master(root).rmdir()


def link(root: Path) -> None:
    """The master copy is a link to something of a person's with the same contents."""
    _master(root).rename(root / "state/master")
    _master(root).symlink_to(root / "state/master")


def lose(root: Path, pattern: str = "*") -> None:
    """The register knows nothing of the run any more, or not its password."""
    for path in (root / "state/runs").glob(pattern):
        path.unlink()


def reboot(root: Path) -> None:
    """All that lived belongs to another boot."""
    book = root / "out/journal.jsonl"
    [boot_id] = {each.split('"')[1] for each in book.read_text().split('"boot_id"')[1:]}
    for path in (book, *(root / "state/runs").glob("*.jsonl"), *root.glob("[ab]/.stithy.json")):
        path.write_text(path.read_text().replace(boot_id, "0" * 36))


def clear(root: Path) -> None:
    """Another run takes the candidates' directories."""
    providers = {name: DirectoryStorage(root / name, name) for name in "ab"}
    sentences = list(describe_leftovers(providers, clean=True))
    assert all(f"stithy resume {root / 'out'}" in sentence for sentence in sentences), sentences


CHANGES: Mapping[str, Callable[[Path], None]] = {
    "none": lambda root: None,
    "flip": flip,
    "remove": remove,
    "link": link,
    "forget": lambda root: lose(root, "*.password"),
    "lose": lose,
    "reboot": reboot,
    "clear": clear,
}


def after(directory: Path, users: int, *words: str) -> dict[str, Any]:
    """Kill a session at each step, change what it left, and resume to the end at last.

    Words: STEP CHANGE, for each session that is killed.
    """

    def session(step: str | None = None) -> FakedRun:
        def die(event: Event) -> None:
            if isinstance(event, StepStarted) and event.step.id == step:
                os.kill(os.getpid(), signal.SIGKILL)

        return FakedRun(directory, users=(users,), on_event=die)

    os.environ["STITHY_STATE"] = str(directory / "state")
    for step, change in zip(words[::2], words[1::2], strict=True):
        run = session(step)
        assert not ended(run.resume if run.out.exists() else run.run)
        CHANGES[change](directory)
    shown: dict[str, Any] = in_child(partial(outcome, session()))
    return shown


JOBS: Mapping[str, Callable[..., Any]] = {"clean": cleaned, "resume": resumed, "after": after}


def main() -> None:
    """Do the job of each line."""
    load_plugins()
    for line in sys.stdin:
        job, directory, *words = json.loads(line)
        found = JOBS[job](Path(directory), *words)
        sys.stdout.write(json.dumps(list(found) if isinstance(found, Iterator) else found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
