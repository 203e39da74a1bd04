"""The long proof that a run can be killed at any moment: a hundred kills, each resumed.

A small study with a real PostgreSQL on a directory is killed (SIGKILL) at an instant drawn from a
seed, between its first breath and its expected end, and resumed; every third resume is killed as
well. Each run must end with the windows of its plan, whole, with all conditions true, and leave
nothing: no process, socket, memory group or file of its own, nor an entry in the register.
Prints one line a kill, and exits with 5 where one was not as it must be.

Usage: resumes.py [KILLS] [SEED]
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from stithy.results.files import read_run  # noqa: E402 as above
from stithy.results.layout import RunDirectory  # noqa: E402 the tests' helpers must be found first
from support.running import Stithy, left_by, manifest, write_study  # noqa: E402 as above

KILLS, SEED = 100, 1
UNSOUND = 5
REFUSED_AS_NOT_BEGUN = 2


def whole_s(place: Path) -> float:
    """How long a run takes that nobody kills."""
    began_s = time.monotonic()
    ended = stithy(place).run("run", study(place), "--out", place / "out")
    if ended.returncode != 0:
        raise SystemExit(ended.stderr)
    return time.monotonic() - began_s


def stithy(place: Path) -> Stithy:
    """The program, with a state directory of its own."""
    return Stithy(place / "state")


def study(place: Path) -> Path:
    """Two levels of one candidate."""
    load = {"ledger": "true", "ramp_up": "1 s", "pace": ""}
    return write_study(place / "study.yaml", {"a": place / "a"}, users=(1, 2), load=load)


def killed(program: Stithy, after_s: float, *words: str | Path) -> bool:
    """Start a command and kill it after that time; False where it ended before."""
    process = program.start(*words)
    try:
        process.communicate(timeout=after_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return True
    return False


def trial(place: Path, draw: random.Random, longest_s: float, *, twice: bool) -> str:
    """One run killed and resumed; what is wrong with it, empty where nothing is."""
    program, out = stithy(place), place / "out"
    if not killed(program, draw.uniform(0.0, longest_s), "run", study(place), "--out", out):
        return found(place)
    if twice:
        killed(program, draw.uniform(0.0, longest_s), "resume", out)
    ended = program.run("resume", out)
    if ended.returncode == REFUSED_AS_NOT_BEGUN and not RunDirectory(out).manifest.exists():
        return "" if program.run("clean").returncode == 0 else "what had not begun was not cleaned"
    if ended.returncode not in (0, 3) or (
        ended.returncode == 3 and "ended well" not in ended.stderr
    ):
        return f"resume ended with {ended.returncode}: {ended.stderr.strip()[-300:]}"
    return found(place)


def found(place: Path) -> str:
    """What is wrong with a run that should be whole, and gone from the machine."""
    out = place / "out"
    run, plan = read_run(out), manifest(out)["plan"]
    wrong = [f"{each.path.name}: {each.text}" for each in run.problems]
    if sorted(run.window["window_id"]) != sorted([*plan["windows"], *plan["further"]]):
        wrong.append(f"windows {sorted(run.window['window_id'])}")
    if not run.window["complete"].all() or not run.conditions["holds"].all():
        wrong.append("an incomplete window or a broken condition")
    if run.ledger.is_empty() or run.ledger["lost"].sum():
        wrong.append("the ledgers were not compared, or miss something")
    others = {each.name for each in place.iterdir()} - {"out", "state", "study.yaml"}
    registered = [each.name for each in (place / "state/runs").glob("*")]
    return "; ".join([*wrong, *left_by(out), *sorted(others), *registered])


def main(kills: int, seed: int, longest_s: float | None = None) -> int:
    """All trials; the exit code. No kill comes later than `longest_s`; None: a whole run's time."""
    draw, wrong = random.Random(seed), 0
    top = Path(tempfile.mkdtemp(prefix="stithy-resumes-", dir="/var/tmp"))
    top.chmod(0o755)
    try:
        if longest_s is None:
            longest_s = whole_s(folder(top, "whole"))
            print(f"a whole run takes {longest_s:.1f} s", flush=True)
        for number in range(kills):
            place = folder(top, str(number))
            problem = trial(place, draw, longest_s, twice=number % 3 == 2)
            wrong += bool(problem)
            print(f"kill {number}: {problem or 'as it must be'}", flush=True)
            stithy(place).run("clean")
            shutil.rmtree(place)
    finally:
        shutil.rmtree(top, ignore_errors=True)
    print(f"{kills} kills, {wrong} not as it must be")
    return UNSOUND if wrong else os.EX_OK


def folder(top: Path, name: str) -> Path:
    """A fresh directory that the server's user can reach."""
    place = top / name
    place.mkdir(mode=0o755)
    return place


if __name__ == "__main__":
    given = [int(each) for each in sys.argv[1:]]
    sys.exit(main(*(given + [KILLS, SEED][len(given) :])))
