"""Real studies that are built to be limited by one thing: does the report say that thing?

Each case of `limit_cases` is one study with a real PostgreSQL: one block of short windows. What the
report says limited each window is **right** if it is what was built in, **wrong** if it is anything
else. "Several" and "not determined" are neither: the report says that it does not know. Two kinds
of windows prove nothing and are counted apart: one whose instrument failed (a late driver, a drive
slower than its profile) and which says so, and one that is limited by CPUs or by the driver while
other programs wanted the CPUs ("interference"), which may be true then. Where a case has a
candidate without what was built in, that one must do more: otherwise the study is not what it is
meant to be, which is a failure too.

What is done is written down at once, below `target/prove/`, for these very programs: killed and
started again, the proof does what is missing. Exits with 99 where a window tells a wrong limit, or
a case is not built as it says; with 5 where a study failed, or no window shows what a case is for.

Usage: limits.py [--quick] [--only=CASE,…]; `--quick` takes windows of seconds,
leaves `lifted` out, and keeps no numbers.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import limit_cases
from book import Book, Done, Part, Raw, sole
from kept import NOT_VALID, TARGET_MISSED, keep
from limit_cases import CASES, DIRECTORY, IN_MEMORY, LIFTED, Case, Drive, Storage
from stithy.analysis.bottlenecks.judge import SEVERAL, UNKNOWN, Limited
from stithy.analysis.checks.instruments import INTERFERENCE
from stithy.analysis.evidence import Window
from stithy.errors import Exit
from stithy.hosts.host import LocalHost
from stithy.hosts.resources import choose_server_cpus, list_other_cpus
from stithy.report.context import make_context
from stithy.results.files import read_run
from studies import PLACE, fingerprint, stithy

FOLDER = Path("/var/tmp/stithy-limits")
"""For databases on the disk, profiles and the state; a killed proof's rest goes with the next."""

MEMORY = Path("/dev/shm/stithy-limits")
PROOF = "limits"
LONG, QUICK = ("10 s", "20 s"), ("2 s", "8 s")
"""Ramp-up and measurement."""

LIFTED_LEAST = 1.2
"""How much more the candidate `lifted` must do at least."""

HOGS_A_CPU = 8
RIGHT, WRONG, UNTOLD = "right", "wrong", "not told"
FAILED, DISTURBED = "instrument failed", "disturbed"
INSTRUMENTS = ("driver", "emulation")
CPUS = ("host-cpu", "server-cpu")

Seen = dict[str, Any]


def main(words: Sequence[str]) -> int:
    """Do the cases that are missing, tell all, and keep the raw numbers; the exit code."""
    if os.geteuid() != 0:
        print("emulated drives need root, for FUSE, loop devices and mounting")
        return Exit.PRECONDITION
    is_quick = "--quick" in words
    only = [word.partition("=")[2].split(",") for word in words if word.startswith("--only=")]
    cases = [case for case in CASES if not only or case.name in only[0]]
    # So that what is under way is ended, and other programs' work with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with sole(FOLDER) as is_alone:
        if not is_alone:
            print(f"another proof goes on in {FOLDER}: wait for its end")
            return Exit.PRECONDITION
        clean()
        MEMORY.mkdir(mode=0o755, exist_ok=True)
        try:
            parts = proven(cases, is_quick=is_quick)
        finally:
            clean()
        shutil.rmtree(FOLDER)
        shutil.rmtree(MEMORY, ignore_errors=True)
    if not is_quick and len(cases) == len(CASES):
        keep("limits", {"cases": CASES, "times": LONG}, {"parts": parts})
    return shown(parts)


def proven(cases: Sequence[Case], *, is_quick: bool) -> list[Done]:
    """Do every case that is not done; what came of all of them."""
    name = f"limits-{'quick-' if is_quick else ''}{fingerprint(__file__, limit_cases.__file__)}"
    book = Book((FOLDER if is_quick else PLACE) / f"{name}.jsonl")
    for case in map(without_lifted, cases) if is_quick else cases:
        if book.missing(f"{PROOF}-{case.name}", 1):
            done = measured(case, PLACE / name / case.name, QUICK if is_quick else LONG)
            book.add(done)
            for text in lines(done):
                print(f"  {text}", flush=True)
            clean()
    names = {f"{PROOF}-{case.name}" for case in cases}
    return [done for part, done in book.done.items() if part.proof in names]


def without_lifted(case: Case) -> Case:
    """The case without the candidate that only shows what it is built of."""
    return replace(case, storage={n: each for n, each in case.storage.items() if n != LIFTED})


def clean() -> None:
    """Remove what a study left; nothing where it came to its end."""
    stithy(FOLDER, "clean")


def measured(case: Case, out: Path, times: tuple[str, str]) -> Done:
    """One study, from nothing to what limited its windows; what a killed one left is done anew."""
    shutil.rmtree(out, ignore_errors=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    study = FOLDER / "study.yaml"
    # JSON is YAML.
    study.write_text(json.dumps(study_of(case, times), indent=1))
    for name, storage in case.storage.items():
        if isinstance(storage, Drive):
            profile_path(name).write_text(storage.profile(name))
    part = Part(f"{PROOF}-{case.name}", 0)
    about: Seen = {"built": case.built, "load_before": os.getloadavg()[0]}
    began_s = time.monotonic()
    with hogged(case):
        ended = stithy(FOLDER, "run", study, "--out", out)
    about |= {"took_s": time.monotonic() - began_s, "load_after": os.getloadavg()[0]}
    if ended.returncode not in (Exit.OK, Exit.INVALID):
        return Done(part, False, about | {"failed": ended.stderr[-2000:], "code": ended.returncode})
    seen = about | judged(case, out)
    return Done(part, not faults(seen), seen)


def study_of(case: Case, times: tuple[str, str]) -> Seen:
    """The study of a case."""
    database: Seen = {
        "engine": "postgresql",
        "memory": case.memory,
        "settings": dict(case.settings),
    }
    if case.cpus is not None:
        database["cpus"] = case.cpus
    once = {"ramp_up": times[0], "duration": times[1], "repeat": 1, "calibrate": False}
    return {
        "study": f"What limits {case.built}?",
        "candidates": {name: candidate(name, each) for name, each in case.storage.items()},
        "database": database,
        "workload": {"name": "order-entry", "warehouses": case.warehouses},
        "load": {**case.load, **once},
    }


def candidate(name: str, storage: Storage) -> Seen:
    """One candidate as a study has it."""
    if isinstance(storage, Drive):
        return {"drive": str(profile_path(name))}
    places = {DIRECTORY: FOLDER, IN_MEMORY: MEMORY}
    if storage in places:
        return {"path": str(places[storage] / name)}
    return {"drive": storage}


def profile_path(name: str) -> Path:
    """Where the profile of a candidate's drive lies."""
    return FOLDER / f"{name}.toml"


@contextmanager
def hogged(case: Case) -> Iterator[None]:
    """Other programs on the CPUs that are not the server's, where the case has it so."""
    emulated = any(isinstance(each, Drive) for each in case.storage.values())
    here = LocalHost().cpus
    bound = choose_server_cpus(case.cpus, here, emulated=emulated)
    cpus = list_other_cpus(bound, here) if case.hogged else None
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
            for _ in range(HOGS_A_CPU * len(cpus or ()))]  # fmt: skip
    try:
        for hog in hogs:
            os.sched_setaffinity(hog.pid, cpus or ())
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def judged(case: Case, out: Path) -> Seen:
    """What the report says of a run, window by window, and what `lifted` did more."""
    context = make_context(read_run(out))
    windows = [
        window_seen(each, context.limited[each.id])
        for each in context.evidence.windows
        if each.id in context.limited
    ]
    for seen in windows:
        seen["outcome"] = outcome(case.limits.get(seen["candidate"]), seen)
    return {"windows": windows, "lifted": lifted(windows)}


def window_seen(window: Window, limited: Limited) -> Seen:
    """One window: what it gave, whether it counts, what limited it by every rule."""
    return {
        "candidate": window.candidate,
        "users": window.point.level,
        "nopm": window.row["headline_per_min"],
        "valid": window.valid,
        "flags": [each.flag.value for each in window.reasons],
        "notes": [each.sentence for each in window.reasons],
        "limit": limited.kind,
        "says": limited.by and limited.by.says,
        "also": [each.rule for each in limited.also],
        "storage_share": limited.storage_share,
        "judged": [asdict(each) for each in limited.judged],
    }


def outcome(right: tuple[str, ...] | None, seen: Seen) -> str | None:
    """What a window proves; None where it may say anything.

    Such as the limits that are right of it.
    """
    if right is None:
        return None
    limit = seen["limit"]
    if limit in right:
        return RIGHT
    if limit in INSTRUMENTS and not seen["valid"]:
        return FAILED
    if limit in (*INSTRUMENTS, *CPUS) and INTERFERENCE.value in seen["flags"]:
        return DISTURBED
    return UNTOLD if limit in (SEVERAL, UNKNOWN) else WRONG


def lifted(windows: Sequence[Seen]) -> dict[str, float]:
    """How much more `lifted` did than each other candidate at the same level."""
    best = {each["users"]: each["nopm"] for each in windows if each["candidate"] == LIFTED}
    return {
        each["candidate"]: best[each["users"]] / each["nopm"]
        for each in windows
        if each["candidate"] != LIFTED and each["users"] in best and each["nopm"]
    }


def faults(seen: Raw) -> list[str]:
    """What is wrong with a case that was measured."""
    wrong = [
        f"{each['candidate']} at {each['users']} users: {each['limit']} ({each['says']})"
        for each in seen["windows"]
        if each["outcome"] == WRONG
    ]
    return wrong + [
        f"{name}: without what was built in only {ratio:.2f} times as much"
        for name, ratio in seen["lifted"].items()
        if ratio < LIFTED_LEAST
    ]


def is_shown(seen: Raw) -> bool:
    """Whether a window that counts tells what was built in; a failed instrument never counts."""
    right = [each for each in seen["windows"] if each["outcome"] == RIGHT]
    return any(each["valid"] or each["limit"] in INSTRUMENTS for each in right)


def lines(done: Done) -> Iterator[str]:
    """A case: each window in a line."""
    seen = done.seen
    if "failed" in seen:
        yield f"failed with {seen['code']}"
        return
    for each in seen["windows"]:
        valid = "" if each["valid"] else ", invalid"
        said = f": {each['says']}" if each["says"] else ""
        said += f"; also {', '.join(each['also'])}" if each["also"] else ""
        yield (
            f"{each['candidate']} at {each['users']} users{valid}: {each['outcome'] or 'lifted'}, "
            f"{each['limit']}{said}"
        )
    for name, ratio in seen["lifted"].items():
        yield f"{name} without what was built in: {ratio:.2f} times as much"


def shown(parts: Sequence[Done]) -> int:
    """Say what came of all cases; the exit code."""
    ended = [done for done in parts if "failed" not in done.seen]
    windows = [each for done in ended for each in done.seen["windows"]]
    counts = Counter(each["outcome"] for each in windows)
    print(f"{len(parts)} cases, {len(parts) - len(ended)} failed")
    for name in (RIGHT, UNTOLD, FAILED, DISTURBED, WRONG):
        print(f"  windows, {name}: {counts[name]}")
    hidden = [done.part.proof for done in ended if not is_shown(done.seen)]
    print(f"  cases that a window which counts shows: {len(ended) - len(hidden)}")
    for done in ended:
        for fault in faults(done.seen):
            print(f"{done.part.proof}: {fault}")
    for name in hidden:
        print(f"{name}: no window that counts shows it")
    if not all(done.sound for done in ended):
        return TARGET_MISSED
    return NOT_VALID if hidden or len(ended) < len(parts) else os.EX_OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
