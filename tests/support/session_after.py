"""Kills a run at a step, changes what it left, resumes it, and tells what the next session did.

A program of its own: it forks, and so must have no threads when it does. Every session but the last
is killed at the beginning of a step. Each line of standard input is a JSON list of words, and for
each comes a line of JSON with what the last session did, as `told` has it.

Words: DIRECTORY USERS STEP [CHANGE STEP]... CHANGE
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from stithy.run.events import Event, Note, StepStarted
from support.faked_run import FakedRun, load_plugins
from support.resumed_run import in_child


def none(root: Path) -> None:
    """Nothing is changed."""


def flip(root: Path) -> None:
    """A byte of the master copy is another one."""
    with (root / "out/master-copy/master/base/rows").open("r+b") as file:
        file.write(b"\x07")


def touch(root: Path) -> None:
    """The master copy has a file more, as a server that ran on it would leave."""
    (root / "out/master-copy/master/postmaster.pid").touch()


def remove(root: Path) -> None:
    """The master copy is gone."""
    for path in sorted((root / "out/master-copy/master").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (root / "out/master-copy/master").rmdir()


def link(root: Path) -> None:
    """The master copy is a link to something of a person's with the same contents."""
    (root / "out/master-copy/master").rename(root / "state/master")
    (root / "out/master-copy/master").symlink_to(root / "state/master")


def forget(root: Path) -> None:
    """The password is not known any more."""
    [path] = (root / "state/runs").glob("*.password")
    path.unlink()


def lose(root: Path) -> None:
    """The register knows nothing of the run any more."""
    for path in (root / "state/runs").iterdir():
        path.unlink()


def reboot(root: Path) -> None:
    """All that lived belongs to another boot."""
    book = root / "out/journal.jsonl"
    [boot_id] = {each.split('"')[1] for each in book.read_text().split('"boot_id"')[1:]}
    for path in (book, *(root / "state/runs").glob("*.jsonl"), *root.glob("[ab]/.stithy.json")):
        path.write_text(path.read_text().replace(boot_id, "0" * 36))


CHANGES: Mapping[str, Callable[[Path], None]] = {
    each.__name__: each for each in (none, flip, touch, remove, link, forget, lose, reboot)
}


def dying_at(step: str | None) -> Callable[[Event], None]:
    """Hears of the steps, and dies at the beginning of one."""

    def hear(event: Event) -> None:
        if isinstance(event, StepStarted) and event.step.id == step:
            os.kill(os.getpid(), signal.SIGKILL)

    return hear


def told(root: Path, run: FakedRun) -> dict[str, Any]:
    """Resume to the end: steps by kind and id, notes, what is there at its end."""
    from stithy.results.read import read_run
    from support.running import left_by, manifest, window_row

    outcome = run.resume()
    ids = sorted(path.parent.name for path in run.out.glob("windows/*/window.parquet"))
    assert ids == sorted(manifest(run.out)["plan"]["windows"])
    conditions = read_run(run.out).conditions
    return {
        "steps": [each.step.id for each in run.events if isinstance(each, StepStarted)],
        "notes": [each.text for each in run.events if isinstance(each, Note)],
        "end": outcome.end,
        "kept": manifest(run.out)["sessions"][-1]["master_kept"],
        "incomplete": [each for each in ids if not window_row(run.out, each)["complete"]],
        "ends": sorted(set(conditions.filter(moment="end")["candidate"])),
        "broken": conditions.filter(~conditions["holds"]).height,
        "left": left_by(run.out),
        "others": sorted(path.name for path in root.iterdir()),
        "registered": [path.name for path in root.glob("state/runs/*")],
    }


def tell(root: Path, words: list[str]) -> int:
    """Kill at each step in turn, then resume, and print what came of it."""
    (root / "state").mkdir()
    os.environ["STITHY_STATE"] = str(root / "state")
    users, first, *rest = int(words[0]), *words[1:]

    def faked(dies_at: str | None = None) -> FakedRun:
        return FakedRun(root, users=(users,), on_event=dying_at(dies_at))

    assert in_child(partial(_ended, faked(first).run)) is None
    for change, step in zip(rest[:-1:2], rest[1::2], strict=True):
        CHANGES[change](root)
        assert in_child(partial(_ended, faked(step).resume)) is None
    CHANGES[rest[-1]](root)
    sys.stdout.write(json.dumps(told(root, faked())) + "\n")
    sys.stdout.flush()
    return 0


def _ended(work: Callable[[], object]) -> int:
    work()
    return 0


def main() -> None:
    """Each line in a child, whose surroundings and threads are its own."""
    load_plugins()
    for line in sys.stdin:
        directory, *words = json.loads(line)
        in_child(partial(tell, Path(directory), words))


if __name__ == "__main__":
    main()
