"""The long proofs that an emulated drive is a disk; killed and started again, it goes on.

An hour of checking under load, two hundred power cuts under that load, and twenty power cuts of
PostgreSQL on each file system; and the same with flushes that lie, where something must be lost.
Every part is written down as soon as it is done, below `target/prove/`, by its name and seed and
for these very programs: with other programs everything begins anew. What was found wrong stays so.

`--quick` does a few of each, to see whether it works, and keeps nothing; `--only=NAME` leaves out
the proofs whose names do not begin so.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import power_cut
import power_trials
from book import Book, Done, Part, plain, sole
from kept import NOT_VALID, keep
from power_cut import CutRule
from power_trials import Plan
from stithy.errors import StithyError
from stithy.wire.program import DRIVE, HAMMER, find_program

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "target" / "prove"
FOLDER = Path("/var/tmp/stithy-prove")
"""For images, databases and mounts; what a killed proof left there is removed by the next."""

PROVER = ("--release", "--locked", "--quiet", "--package=stithy-drive", "--example=prove")
ROUND_S = 60
UNSOUND = 5
"""The prover's exit code where something was wrong."""

PRECONDITION = 3
LYING, OWN_LOG = "lying", "log"
"""What the names of proofs say more: flushes lie; the server's log lies on a drive of its own."""

LOSE_ALL = CutRule(seed=1, lost_share=1.0, torn_share=0.0)
UNBOUNDED_BYTES = 2**40


@dataclass(frozen=True)
class Effort:
    """How much of everything is done; rounds of checking take `round_s` each."""

    rounds: int
    round_s: int
    cuts: int
    lies: int
    postgresql_cuts: int
    postgresql_own_log_cuts: int
    postgresql_lies: int


FULL = Effort(
    rounds=60,
    round_s=ROUND_S,
    cuts=200,
    lies=10,
    postgresql_cuts=20,
    postgresql_own_log_cuts=5,
    postgresql_lies=1,
)
QUICK = Effort(
    rounds=2,
    round_s=3,
    cuts=4,
    lies=2,
    postgresql_cuts=1,
    postgresql_own_log_cuts=1,
    postgresql_lies=1,
)


def main(words: list[str]) -> int:
    """Prove, tell, and keep the raw numbers; 5 where anything is wrong."""
    if os.geteuid() != 0:
        print("emulated drives need root, for FUSE, loop devices and mounting")
        return PRECONDITION
    only = next((word.partition("=")[2] for word in words if word.startswith("--only=")), "")
    with alone() as is_alone:
        if not is_alone:
            print(f"another proof goes on in {FOLDER}: wait for its end")
            return PRECONDITION
        return proven(built_prover(), "--quick" in words, only)


@contextmanager
def alone() -> Iterator[bool]:
    """The folder of the proofs, swept before and after; False while another has it."""
    with sole(FOLDER) as is_alone:
        if is_alone:
            power_trials.sweep(FOLDER)
        try:
            yield is_alone
        finally:
            if is_alone:
                power_trials.sweep(FOLDER)


def proven(prover: Path, is_quick: bool, only: str) -> int:
    """Do what is missing, and tell all."""
    effort = wanted(QUICK if is_quick else FULL, only)
    book = Book(FOLDER / "book.jsonl" if is_quick else PLACE / f"{fingerprint(prover)}.jsonl")
    prove(book, prover, effort)
    if not is_quick and not only:
        keep("prove", {"effort": asdict(FULL)}, {"parts": list(book.done.values())})
    return shown(book)


def built_prover() -> Path:
    """The program of the proofs that need no database; cargo says where it lies."""
    command = ["cargo", "build", *PROVER, "--message-format=json"]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    [path] = [found for each in messages if (found := each.get("executable"))]
    return Path(path)


def fingerprint(prover: Path) -> str:
    """What all is proven by and of: the programs, and the order of a power cut."""
    sources = sorted((ROOT / "python/stithy/drives").glob("*.py"))
    parts = [prover, find_program(DRIVE), find_program(HAMMER), *sources]
    digest = hashlib.sha256()
    for path in [*parts, Path(power_trials.__file__), Path(power_cut.__file__)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def wanted(effort: Effort, only: str) -> Effort:
    """The effort without the proofs whose names do not begin with `only`."""
    names = {
        "checker": ("rounds",),
        "cut": ("cuts", "lies"),
        "postgresql": ("postgresql_cuts", "postgresql_own_log_cuts", "postgresql_lies"),
    }
    out = [each for name, fields in names.items() if not name.startswith(only) for each in fields]
    return replace(effort, **dict.fromkeys(out, 0))


def prove(book: Book, prover: Path, effort: Effort) -> None:
    """Do everything that is not done."""
    for seed in book.missing("checker", effort.rounds):
        book.add(run(prover, Part("checker", seed), "checker", FOLDER, seed, effort.round_s))
    for seed in book.missing("cut", effort.cuts):
        book.add(run(prover, Part("cut", seed), "cut", FOLDER, seed, "honest"))
    for seed in book.missing("cut-lying", effort.lies):
        book.add(must_lose(run(prover, Part("cut-lying", seed), "cut", FOLDER, seed, "lying")))
    missing = [
        Part(proof, seed)
        for kind in power_trials.KINDS
        for proof, count in (
            (f"postgresql-{kind}", effort.postgresql_cuts),
            (f"postgresql-{kind}-{OWN_LOG}", effort.postgresql_own_log_cuts),
            (f"postgresql-{kind}-{LYING}", effort.postgresql_lies),
        )
        for seed in book.missing(proof, count)
    ]
    if missing:
        with power_trials.loaded_master(FOLDER) as master:
            prove_postgresql(book, master, missing)


def run(prover: Path, part: Part, *words: object) -> Done:
    """One part of the program that needs no database."""
    command = [str(prover), *(str(word) for word in words)]
    ended = subprocess.run(command, capture_output=True, text=True)
    if ended.returncode not in (0, UNSOUND):
        return Done(part, False, {"failed": ended.stderr[-2000:], "code": ended.returncode})
    return Done(part, ended.returncode == 0, json.loads(ended.stdout))


def must_lose(done: Done) -> Done:
    """The same where flushes lie: units must be lost, and nothing else may be wrong."""
    wrong = done.seen.get("wrong", {})
    others = sum(count for name, count in wrong.items() if name != "lost")
    return Done(done.part, wrong.get("lost", 0) > 0 and not others, done.seen)


def prove_postgresql(book: Book, master: power_trials.Master, missing: Sequence[Part]) -> None:
    """The parts of a proof follow each other on one drive, until one fails."""
    for part in missing:
        rest = [each for each in missing if each.proof == part.proof and each not in book.done]
        if part in rest:
            with noted(book, part):
                on_one_machine(book, master, rest)


@contextmanager
def noted(book: Book, part: Part) -> Iterator[None]:
    """A part that fails is wrong; so is the first of several that could not even begin."""
    try:
        yield
    except StithyError as error:
        if part not in book.done:
            book.add(Done(part, False, {"failed": str(error)}))


def on_one_machine(book: Book, master: power_trials.Master, parts: Sequence[Part]) -> None:
    """Cut after cut; what comes after a failure needs another machine."""
    _, kind, *more = parts[0].proof.split("-")
    lying = LYING in more
    plan = Plan(kind, parts[0].seed, own_log=OWN_LOG in more, parent=FOLDER)
    if lying:
        plan = replace(plan, cache_bytes=UNBOUNDED_BYTES)
    with power_trials.machine(master, plan) as there:
        for part in parts:
            with noted(book, part):
                rule = LOSE_ALL if lying else power_trials.rule_of(part.seed)
                seen = there.cut_under_load(part.seed, rule, is_lying=lying)
                sound = seen.sound if not lying else not seen.holds and seen.orders.lost > 0
                book.add(Done(part, sound, asdict(seen)))
            if "failed" in book.done[part].seen:
                return  # nobody knows in which state the machine is


def shown(book: Book) -> int:
    """Say what came of it; the exit code."""
    sound = Counter(done.part.proof for done in book.done.values() if done.sound)
    proofs = Counter(done.part.proof for done in book.done.values())
    for proof, count in proofs.items():
        print(f"{proof}: {sound[proof]} of {count} as they must be{_amounts(book, proof)}")
    return 0 if sound == proofs else NOT_VALID


def _amounts(book: Book, proof: str) -> str:
    """How much there was that could have been wrong."""
    of_proof = [done.seen for done in book.done.values() if done.part.proof == proof]
    whole = [each for each in of_proof if "failed" not in each]
    # Read back, a part is plain JSON; just done, it has types of the wire in it.
    seen = json.loads(json.dumps(whole, default=plain))
    if proof.startswith("postgresql"):
        count = sum(each["orders"]["acknowledged"] for each in seen)
        lost = sum(each["orders"]["lost"] for each in seen)
        return f"; {count:,} orders acknowledged, {lost:,} lost"
    work = [each["work"] for each in seen]
    written, read = (sum(each[f"{name}_bytes"] for each in work) for name in ("written", "read"))
    units = sum(sum(each["wrong"].values()) for each in seen)
    return f"; {written / 1e9:,.1f} GB written, {read / 1e9:,.1f} GB read, {units:,} units wrong"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
