"""The long proofs that an emulated drive is a disk; killed and started again, it goes on.

An hour of checking under load, two hundred power cuts under that load, and twenty power cuts of
each engine on each of its file systems; and the same with flushes that lie and with settings that
give durability up, where something must be lost.
Every part is written down as soon as it is done, below `target/prove/`, by its name and seed and
for these very programs: with other programs everything begins anew. What was found wrong stays so.

`--quick` does a few of each, to see whether it works, and keeps nothing; `--only=NAME` leaves out
the proofs whose names do not begin so, such as `--only=mariadb-xfs`.
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

import power_engines
import power_trials
from book import Book, Done, Part, plain, sole
from kept import NOT_VALID, keep
from power_engines import BASE, SUBJECTS, Subject
from power_trials import Plan
from stithy.drives.power_cut import CutRule
from stithy.errors import StithyError
from stithy.scenarios.durability.trial import make_rule
from stithy.wire.program import DRIVE, HAMMER, find_program

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "target" / "prove"
FOLDER = Path("/var/tmp/stithy-prove")
"""For images, databases and mounts; what a killed proof left there is removed by the next."""

PROVER = ("--release", "--locked", "--quiet", "--package=stithy-drive", "--example=prove")
ROUND_S = 60
OF_PROVER = ("checker", "cut", "cut-lying")
"""The proofs that it does; it is built where any of them is wanted."""

UNSOUND = 5
"""The prover's exit code where something was wrong."""

PRECONDITION = 3
LYING, OWN_LOG = "lying", "log"
"""What the names of proofs say more: flushes lie; the server's log lies on a drive of its own."""

LOSE_ALL = CutRule(seed=1, lost_share=1.0, torn_share=0.0)
UNBOUNDED_BYTES = 2**40


@dataclass(frozen=True)
class Effort:
    """How much of everything is done; rounds of checking take `round_s` each.

    Those of engines are on each of its file systems.
    """

    rounds: int
    round_s: int
    cuts: int
    lies: int
    engine_cuts: int
    engine_own_log_cuts: int
    engine_variant_cuts: int
    engine_lies: int


FULL = Effort(
    rounds=60,
    round_s=ROUND_S,
    cuts=200,
    lies=10,
    engine_cuts=20,
    engine_own_log_cuts=5,
    engine_variant_cuts=5,
    engine_lies=1,
)
QUICK = Effort(
    rounds=2,
    round_s=3,
    cuts=4,
    lies=2,
    engine_cuts=1,
    engine_own_log_cuts=1,
    engine_variant_cuts=1,
    engine_lies=1,
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
        return proven("--quick" in words, only)


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


def proven(is_quick: bool, only: str) -> int:
    """Do what is missing, and tell all."""
    effort = QUICK if is_quick else FULL
    is_needed = any(proof.startswith(only) for proof in OF_PROVER)
    prover = built_prover() if is_needed else None
    book = Book(FOLDER / "book.jsonl" if is_quick else PLACE / f"{fingerprint(prover)}.jsonl")
    prove(book, prover, effort, only)
    parts = [done for done in book.done.values() if done.part.proof.startswith(only)]
    if not is_quick:
        name = f"prove-{only}" if only else "prove"
        keep(name, {"effort": asdict(FULL)}, {"parts": parts})
    return shown(parts)


def built_prover() -> Path:
    """The program of the proofs that need no database; cargo says where it lies."""
    command = ["cargo", "build", *PROVER, "--message-format=json"]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    [path] = [found for each in messages if (found := each.get("executable"))]
    return Path(path)


def fingerprint(prover: Path | None) -> str:
    """What all is proven by and of: the programs, and the order of a power cut."""
    house = ROOT / "python/stithy"
    sources = sorted([*house.glob("drives/*.py"), *house.glob("engines/**/*.py")])
    programs = [*([prover] if prover else []), find_program(DRIVE), find_program(HAMMER)]
    modules = (power_trials, power_engines)
    digest = hashlib.sha256()
    for path in [*programs, *sources, *(Path(str(module.__file__)) for module in modules)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def prove(book: Book, prover: Path | None, effort: Effort, only: str) -> None:
    """Do everything that is not done."""

    def missing(proof: str, count: int) -> list[Part]:
        seeds = book.missing(proof, count) if proof.startswith(only) else ()
        return [Part(proof, seed) for seed in seeds]

    for part in missing("checker", effort.rounds):
        book.add(run(prover, part, "checker", FOLDER, part.seed, effort.round_s))
    for part in missing("cut", effort.cuts):
        book.add(run(prover, part, "cut", FOLDER, part.seed, "honest"))
    for part in missing("cut-lying", effort.lies):
        book.add(must_lose(run(prover, part, "cut", FOLDER, part.seed, "lying")))
    for subject in SUBJECTS.values():
        proofs = list_proofs(subject, effort)
        parts = [part for proof, count in proofs for part in missing(proof, count)]
        if parts:
            with power_trials.loaded_master(FOLDER, subject) as master:
                prove_engine(book, master, parts)


def list_proofs(subject: Subject, effort: Effort) -> Iterator[tuple[str, int]]:
    """Which proofs of an engine there are, and how many cuts each has."""
    for kind in subject.kinds:
        proof = f"{subject.name}-{kind}"
        yield proof, effort.engine_cuts
        if "log" in subject.engine.separate_roles:
            yield f"{proof}-{OWN_LOG}", effort.engine_own_log_cuts
        for variant in subject.variants:
            yield f"{proof}-{variant}", effort.engine_variant_cuts
        yield f"{proof}-{LYING}", effort.engine_lies


def run(prover: Path | None, part: Part, *words: object) -> Done:
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


def prove_engine(book: Book, master: power_trials.Master, missing: Sequence[Part]) -> None:
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
    """Cut after cut; what comes after a failure or damage needs another machine."""
    _, kind, *more = parts[0].proof.split("-")
    lying = LYING in more
    [variant] = [word for word in more if word in master.subject.variants] or [BASE]
    plan = Plan(kind, parts[0].seed, own_log=OWN_LOG in more, variant=variant, parent=FOLDER)
    if lying:
        plan = replace(plan, cache_bytes=UNBOUNDED_BYTES)
    must_hold = not is_losing(parts[0].proof)
    with power_trials.machine(master, plan) as there:
        for part in parts:
            with noted(book, part):
                rule = LOSE_ALL if lying else make_rule(part.seed, part.seed)
                seen = there.cut_under_load(part.seed, rule, is_lying=lying)
                right = seen.sound or (seen.is_caught and not must_hold)
                book.add(Done(part, right, {**asdict(seen), "is_caught": seen.is_caught}))
            if "failed" in book.done[part].seen or book.done[part].seen["damage"]:
                return  # nobody knows in which state the machine is


def is_losing(proof: str) -> bool:
    """Whether some of its cuts must lose what an engine acknowledged, which must be noticed.

    Of a proof whose flushes lie, or of settings of which Stithy says what they give up.
    """
    name, *more = proof.split("-")
    subject = SUBJECTS.get(name)
    if subject is None:
        return False
    unsafe = [variant for variant in subject.variants if not subject.is_durable(variant)]
    return any(word in more for word in (LYING, *unsafe))


def shown(parts: Sequence[Done]) -> int:
    """Say what came of it; the exit code."""
    sound = Counter(done.part.proof for done in parts if done.sound)
    proofs = Counter(done.part.proof for done in parts)
    caught = Counter(done.part.proof for done in parts if done.seen.get("is_caught"))
    for proof, count in proofs.items():
        print(f"{proof}: {sound[proof]} of {count} as they must be{_amounts(parts, proof)}")
    blind = [proof for proof in proofs if is_losing(proof) and not caught[proof]]
    for proof in blind:
        print(f"{proof}: no cut lost anything: it proves nothing")
    return 0 if sound == proofs and not blind else NOT_VALID


def _amounts(parts: Sequence[Done], proof: str) -> str:
    """How much there was that could have been wrong."""
    of_proof = [done.seen for done in parts if done.part.proof == proof]
    whole = [each for each in of_proof if "failed" not in each]
    # Read back, a part is plain JSON; just done, it has types of the wire in it.
    seen = json.loads(json.dumps(whole, default=plain))
    if proof.partition("-")[0] in SUBJECTS:
        orders = [each["orders"] for each in seen if each["orders"] is not None]
        count, lost = (sum(each[name] for each in orders) for name in ("acknowledged", "lost"))
        damaged, caught = (
            sum(bool(each[name]) for each in seen) for name in ("damage", "is_caught")
        )
        harm = f", by {caught} cuts; {damaged} times damaged" if caught or damaged else ""
        repairs = sum(bool(each["repairs"]) for each in seen)
        first = f"; {repairs} times ext4 had to be repaired first" if repairs else ""
        return f"; {count:,} orders acknowledged, {lost:,} lost{harm}{first}"
    work = [each["work"] for each in seen]
    written, read = (sum(each[f"{name}_bytes"] for each in work) for name in ("written", "read"))
    units = sum(sum(each["wrong"].values()) for each in seen)
    return f"; {written / 1e9:,.1f} GB written, {read / 1e9:,.1f} GB read, {units:,} units wrong"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
