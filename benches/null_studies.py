"""Real studies in which nothing differs: how often is a difference claimed?

Twenty times a candidate with a real PostgreSQL is measured against its like, each on a volume of
its own (`stithy run --null`), each time with another seed, on emulated drives and on directories of
this machine's disk in turn. Windows are short and there are at most six blocks, so that what
disturbs a window has all its weight. A study takes about two minutes.

A verdict is **wrong** if it claims a difference: better, worse, or different but negligible.
"Equivalent" and "undecided" are right; undecided is also what has fewer than four valid blocks. A
study that does not come to its end is no verdict, and fails the proof.

Usage: `null_studies.py [STUDIES] [--minutes M] [--beside N]`; after so many minutes no further
study begins. `--beside`: so many processes each keep a CPU busy, no block waits for a quiet
machine, and no verdict may be wrong.

Every study is written down as soon as it is done, below `target/prove/`, for these very programs:
killed and started again, the proof does what is missing. The runs themselves stay there. Exits with
5 where a study failed, with 99 where more than one verdict is wrong: by the simulations of
`verdicts.py` that happens to 4 of 100 such proofs if 1.5 % of verdicts are wrong.
"""

import argparse
import math
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import Process
from pathlib import Path
from typing import Any

from book import Book, Done, Part, sole
from kept import NOT_VALID, TARGET_MISSED, keep
from stithy.analysis.decision import judge_question
from stithy.analysis.evidence import Window
from stithy.analysis.verdict import DIFFERENT, Call
from stithy.errors import Exit
from stithy.report.context import make_context
from stithy.results.files import read_run
from studies import PLACE, fingerprint, stithy

FOLDER = Path("/var/tmp/stithy-null-studies")
"""For databases; what a killed proof left there is removed by the next."""

PROOF = "null-study"
STUDIES = 20
WRONG_MOST = 1
DRIVES = ("gp3", "generic-sata", "io2")
DIRECTORY = "directory"
USERS = 4

STUDY = """\
study: Is it like itself?
seed: {seed}
candidates:
  same: {candidate}
database:
  engine: postgresql
  memory: 256 MiB
  settings: {{shared_buffers: 64MB, max_wal_size: 256MB}}
workload: {{name: order-entry, warehouses: 2}}
load:
  users: [{users}]
  ramp_up: 1 s
  duration: 4 s
  calibrate: false
primary: {{users: {users}, metric: nopm, blocks: 6}}
"""

Seen = dict[str, Any]


def main(words: Sequence[str]) -> int:
    """Do the studies that are missing, tell all, and keep the raw numbers; the exit code."""
    asked = _asked(words)
    studies, until_s = asked.studies, time.monotonic() + 60 * asked.minutes
    if os.geteuid() != 0:
        print("emulated drives need root, for FUSE, loop devices and mounting")
        return Exit.PRECONDITION
    with sole(FOLDER) as is_alone:
        if not is_alone:
            print(f"another proof goes on in {FOLDER}: wait for its end")
            return Exit.PRECONDITION
        clean()
        beside = f"-beside-{asked.beside}" if asked.beside else ""
        name = f"null-studies{beside}-{fingerprint(__file__)}"
        book = Book(PLACE / f"{name}.jsonl")
        for seed in book.missing(PROOF, studies):
            if time.monotonic() > until_s:
                break
            with busy(asked.beside):
                done = measured(seed, PLACE / name / str(seed), asked.beside > 0)
            book.add(done)
            print(f"  {line(done)}", flush=True)
            clean()
        shutil.rmtree(FOLDER)
    parts = [done for done in book.done.values() if done.part.seed < studies]
    if len(parts) >= (STUDIES if not asked.beside else STUDIES // 2):
        about = {"study": STUDY, "drives": DRIVES, "beside": asked.beside}
        keep("null-studies", about, {"parts": parts})
    return shown(parts, wrong_most=0 if asked.beside else WRONG_MOST)


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """So many processes that each keep a CPU busy, as a compiler would."""
    started = [Process(target=_turn, daemon=True) for _ in range(processes)]
    for process in started:
        process.start()
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.join()


def _turn() -> None:
    while True:
        pass


def _asked(words: Sequence[str]) -> argparse.Namespace:
    """How many studies, and for how long."""
    parser = argparse.ArgumentParser(prog="null_studies.py")
    parser.add_argument("studies", nargs="?", type=int, default=STUDIES)
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--beside", type=int, default=0)
    return parser.parse_args(words)


def storage(seed: int) -> str:
    """What the study with this seed is measured on."""
    return DIRECTORY if seed % 2 else DRIVES[seed // 2 % len(DRIVES)]


def study_text(seed: int) -> str:
    """The study with this seed."""
    name = storage(seed)
    on = f"{{path: {FOLDER / 'same'}}}" if name == DIRECTORY else f"{{drive: {name}}}"
    return STUDY.format(seed=seed, candidate=on, users=USERS)


def clean() -> None:
    """Remove what a study left; nothing where it came to its end."""
    stithy(FOLDER, "clean")


def measured(seed: int, out: Path, is_disturbed: bool) -> Done:
    """One study, from nothing to its verdict; what a killed one left is done anew."""
    shutil.rmtree(out, ignore_errors=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    study = FOLDER / "study.yaml"
    study.write_text(study_text(seed))
    about: Seen = {"storage": storage(seed), "load_before": os.getloadavg()[0]}
    began_s = time.monotonic()
    at_once = ["--no-wait"] if is_disturbed else []
    ended = stithy(FOLDER, "run", "--null", *at_once, study, "--out", out)
    about |= {"took_s": time.monotonic() - began_s, "load_after": os.getloadavg()[0]}
    if ended.returncode not in (Exit.OK, Exit.INVALID):
        failed = {"failed": ended.stderr[-2000:], "code": ended.returncode}
        return Done(Part(PROOF, seed), False, about | failed)
    seen = about | judged(out)
    return Done(Part(PROOF, seed), Call(seen["call"]) not in DIFFERENT, seen)


def judged(out: Path) -> Seen:
    """What the report says of a run, with every window behind it."""
    evidence = make_context(read_run(out)).evidence
    stands = judge_question(evidence)
    effect = stands.compared.effect if stands.compared else None
    verdict = stands.progress.verdict
    return {
        "call": verdict.call.value,
        "because": verdict.because,
        "blocks": verdict.blocks,
        "ratio_of": f"{stands.compared.b} to {stands.compared.a}" if stands.compared else None,
        "ratio": effect and effect.ratio,
        "low": effect and effect.low,
        "high": effect and effect.high,
        "logs": list(effect.apart) if effect else [],
        "windows": [window_seen(each) for each in evidence.windows],
    }


def window_seen(window: Window) -> Seen:
    """One window: what it gave, whether it counts, and everything that was flagged."""
    return {
        "id": window.id,
        "block": window.block,
        "position": window.row["position"],
        "started_at_s": window.row["started_at_s"],
        "nopm": window.row["headline_per_min"],
        "valid": window.valid,
        "flags": [each.flag.value for each in window.reasons],
        "invalid_because": [each.sentence for each in window.reasons if each.invalidates],
    }


def line(done: Done) -> str:
    """One study in a line."""
    seen = done.seen
    if "failed" in seen:
        return f"{seen['storage']}: failed with {seen['code']}"
    return (
        f"{seen['storage']}: {seen['call']}, {interval(seen)}, blocks that count: {seen['blocks']}"
    )


def interval(seen: Seen | Any) -> str:
    """Ratio and interval of a study in words."""
    if seen["ratio"] is None:
        return "no ratio"
    if seen["low"] is None:
        return f"ratio {seen['ratio']:.3f}"
    return f"ratio {seen['ratio']:.3f} ({seen['low']:.3f} to {seen['high']:.3f})"


def shown(parts: Sequence[Done], wrong_most: int = WRONG_MOST) -> int:
    """Say what came of all studies; the exit code."""
    for text in summary(parts):
        print(text)
    if any("failed" in done.seen for done in parts):
        return NOT_VALID
    return TARGET_MISSED if sum(not done.sound for done in parts) > wrong_most else os.EX_OK


def summary(parts: Sequence[Done]) -> Iterator[str]:
    """Verdicts by kind, wrong ones, the worst ratio, and windows that did not count."""
    ended = [done for done in parts if "failed" not in done.seen]
    calls = Counter(done.seen["call"] for done in ended)
    yield f"{len(parts)} studies, {len(parts) - len(ended)} failed"
    for call in Call:
        wrong = " (wrong)" if call in DIFFERENT else ""
        yield f"  {call.value}: {calls[call.value]}{wrong}"
    enough = [done for done in ended if done.seen["low"] is not None and done.seen["blocks"] >= 4]
    if enough:
        worst = max(enough, key=lambda done: max(done.seen["ratio"], 1 / done.seen["ratio"]))
        yield f"farthest from 1: {line(worst)}, seed {worst.part.seed}"
    windows = [window for done in ended for window in done.seen["windows"]]
    yield f"windows: {len(windows)}, {sum(not each['valid'] for each in windows)} invalid"
    yield f"studies with fewer than four valid blocks: {sum(d.seen['blocks'] < 4 for d in ended)}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
