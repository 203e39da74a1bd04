"""Would the tests notice? Plants the faults of `planted.toml`, one at a time, until a test fails.

Each fault goes into a copy of the last commit below `target/planted/`, which has a `.venv` of its
own. Tests run from the likeliest to the longest: those that the list names, all that import the
faulty module, the other quick ones, whole programs, real servers. A fault of Rust is looked for by
the tests of its crate first, then by the others with programs that have it. A test that fails
without the fault, too, does not count, and the search goes on without it.

Usage: `planted.py [--only WORDS] [--tests REV] [--near]`; WORDS are a part of a fault's name, REV
is a commit of which the folder `tests/` is taken, and `--near` runs none of the long ones. What is
tried is written down at once, for these tests and this product: killed and started again, the rest
is tried. Exits with 5 where a text is not found or does not build, with 99 where fewer faults are
caught than the list asks for.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

from book import Book, Done, Part, sole
from kept import NOT_VALID, TARGET_MISSED, keep
from studies import PLACE, ROOT

LIST = Path(__file__).with_suffix(".toml")
PLANTED = ROOT / "target" / "planted"
COPY, BUILT = PLANTED / "copy", PLANTED / "cargo"
OWN = "tests/unit/benches/test_planted.py"
"""It looks for the texts that are replaced here."""

QUICK = ("tests/property", "tests/unit", "tests/golden", "tests/contract")
MEASURING = ("tests/conformance", "tests/e2e", "tests/real")
Lanes = tuple[tuple[str, ...], ...]
LANES: Lanes = (QUICK, ("tests/unmeasured",), MEASURING)
LONGEST_S = 3600


@dataclass(frozen=True)
class Fault:
    """What is wrong, in a sentence, and how the text of the file at `path` becomes so.

    `first`: tests that are run first, as far as they are there.
    """

    name: str
    path: str
    before: str
    after: str
    first: tuple[str, ...] = ()

    @property
    def part(self) -> Part:
        """What was tried of it is of this very text."""
        return Part(self.name, crc32(f"{self.path} {self.before} {self.after}".encode()))

    @property
    def crate(self) -> str | None:
        """The Cargo package of a fault of Rust."""
        folder, name = self.path.split("/")[:2]
        return f"stithy-{name}" if folder == "crates" else None


class NotPlanted(Exception):
    """The text is not in the file, or what became of it does not build."""


def read_list() -> tuple[list[Fault], int]:
    """The faults, and how many of them must be caught."""
    read = tomllib.loads(LIST.read_text())
    return [Fault(**each) for each in read["fault"]], int(read["caught_least"])


def main(words: Sequence[str]) -> int:
    """Try the faults that are missing, tell all, keep the result of a whole list; the exit code."""
    parser = argparse.ArgumentParser(prog="planted.py")
    parser.add_argument("--only", default="", metavar="WORDS")
    parser.add_argument("--tests", default="HEAD", metavar="REV")
    parser.add_argument("--near", action="store_true")
    asked = parser.parse_args(words)
    faults, least = read_list()
    with sole(PLANTED) as is_alone:
        if not is_alone:
            print(f"faults are being planted in {PLANTED}: wait for the end of that")
            return NOT_VALID
        names = (f"{asked.tests}:tests", "HEAD:python", "HEAD:crates")
        trees = {name: git("rev-parse", name) for name in names}
        book = Book(PLACE / f"planted-{'-'.join(each[:8] for each in trees.values())}.jsonl")
        missing = [f for f in faults if f.part not in book.done and asked.only in f.name]
        with copied(asked.tests) if missing else nullcontext():
            for fault in missing:
                done = tried(fault, () if asked.near else LANES)
                if done.sound or not asked.near:
                    book.add(done)
                else:
                    print(f"{fault.name}: not caught by the tests that are near")
    parts = [book.done[each.part] for each in faults if each.part in book.done]
    if len(parts) == len(faults):
        keep("planted", {"trees": trees, "caught_least": least}, {"parts": parts})
    return shown(parts, len(faults) - least)


def shown(parts: Sequence[Done], missed_most: int) -> int:
    """Say what came of it; the exit code."""
    for done in parts:
        by = done.seen.get("failed") or done.seen["caught_by"] or "NOT CAUGHT"
        print(f"{done.part.proof}: {by} ({done.seen['took_s']:.0f} s)")
    missed = sum(not done.sound for done in parts)
    print(f"{len(parts) - missed} of {len(parts)} faults were caught")
    if any("failed" in done.seen for done in parts):
        return NOT_VALID
    return TARGET_MISSED if missed > missed_most else os.EX_OK


def tried(fault: Fault, lanes: Lanes) -> Done:
    """A fault, planted until a test fails because of it; `lanes` are what is run at last."""
    began_s = time.monotonic()
    seen: dict[str, Any] = {"caught_by": None, "fails_anyway": []}
    try:
        for tests in _stages(fault, lanes):
            if (by := _caught_by(fault, tests, seen["fails_anyway"])) is not None:
                seen["caught_by"] = by
                break
    except NotPlanted as error:
        seen["failed"] = str(error)
    return Done(fault.part, bool(seen["caught_by"]), seen | {"took_s": time.monotonic() - began_s})


def _stages(fault: Fault, lanes: Lanes) -> Iterator[tuple[str, ...]]:
    """What is run of the tests, one after the other; nothing stands for those of the crate."""
    if fault.crate:
        yield ()
    for stage in (fault.first, () if fault.crate else _importers(fault), *lanes):
        if there := tuple(each for each in stage if (COPY / each).exists()):
            yield there


def _importers(fault: Fault) -> tuple[str, ...]:
    """The quick tests that import the faulty module."""
    *package, name = Path(fault.path).with_suffix("").parts[1:]
    folder = re.escape(".".join(package))
    asks = re.compile(rf"^ *from {folder}(\.{name} import | import .*\b{name}\b)", re.MULTILINE)
    paths = sorted(each for lane in QUICK for each in (COPY / lane).rglob("test_*.py"))
    return tuple(str(each.relative_to(COPY)) for each in paths if asks.search(each.read_text()))


def _caught_by(fault: Fault, tests: tuple[str, ...], anyway: list[str]) -> str | None:
    """The test that fails because of the fault; those that fail without it join `anyway`."""
    while True:
        with planted(fault):
            if fault.crate and tests:
                _build()
            failed = _failed(tests, anyway) if tests else _cargo(fault, *_skips(anyway))
        if failed is None:
            return None
        if (_failed((failed,), ()) if tests else _cargo(fault, failed)) is None:
            return failed
        anyway.append(failed)


def _failed(tests: tuple[str, ...], without: Sequence[str]) -> str | None:
    """The first of these tests that fails; what measures runs one at a time."""
    left_out = [f"--{'deselect' if '::' in each else 'ignore'}={each}" for each in without]
    together = [] if {*tests} & {*MEASURING} else ["--numprocesses=2", "--dist=worksteal"]
    words = [
        "-m",
        "pytest",
        "-q",
        "--tb=no",
        "--maxfail=1",
        *together,
        f"--ignore={OWN}",
        *left_out,
    ]
    ended = _run([str(COPY / ".venv/bin/python"), *words, *tests])
    found = re.search(r"^(?:FAILED|ERROR) (tests/.+?)(?: - .*)?$", ended.stdout, re.MULTILINE)
    if found is None and ended.returncode not in (0, 5):  # 5: there was no test
        raise NotPlanted(f"pytest ended with {ended.returncode}: {ended.stdout}{ended.stderr}")
    return found[1] if found else None


def _cargo(fault: Fault, *words: str) -> str | None:
    """The first test of the crate that fails."""
    command = ["cargo", "test", "--quiet", "--locked", "--profile=ci", f"--package={fault.crate}"]
    ended = _run([*command, "--", "--test-threads=2", *words])
    found = re.search(r"^---- (.+) stdout ----$", ended.stdout, re.MULTILINE)
    if found is None and ended.returncode != 0:
        raise NotPlanted(f"cargo ended with {ended.returncode}: {ended.stderr}")
    return found[1] if found else None


def _skips(tests: Sequence[str]) -> list[str]:
    return [word for each in tests for word in ("--skip", each)]


def _build() -> None:
    """Put programs that have the fault into the copy's `.venv`."""
    words = ["cargo", "build", "--quiet", "--locked", "--profile=ci", "--package=stithy-programs"]
    ended = _run(words)
    if ended.returncode != 0:
        raise NotPlanted(f"cargo ended with {ended.returncode}: {ended.stderr}")
    _take_programs(BUILT / "ci")


def _take_programs(folder: Path) -> None:
    for name in ("stithy-hammer", "stithy-drive"):
        (COPY / ".venv/bin" / name).unlink()  # it may be a link to the project's own
        shutil.copy2(folder / name, COPY / ".venv/bin" / name)


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """A command in the copy; a wide terminal keeps pytest from cutting names."""
    variables = {**os.environ, "CARGO_TARGET_DIR": str(BUILT), "COLUMNS": "1000"}
    return subprocess.run(
        command, cwd=COPY, env=variables, capture_output=True, text=True, timeout=LONGEST_S
    )


@contextmanager
def planted(fault: Fault) -> Iterator[None]:
    """Inside, the copy has the fault."""
    path = COPY / fault.path
    text = path.read_text()
    if text.count(fault.before) != 1:
        raise NotPlanted(f"the text stands {text.count(fault.before)} times in {fault.path}")
    path.write_text(text.replace(fault.before, fault.after))
    try:
        yield
    finally:
        path.write_text(text)
        if fault.crate:
            _take_programs(ROOT / ".venv/bin")


@contextmanager
def copied(tests: str) -> Iterator[None]:
    """Inside there is a copy of the last commit with the tests of another one."""
    _remove_copy()
    try:
        git("worktree", "add", "--quiet", "--detach", str(COPY), "HEAD")
        shutil.rmtree(COPY / "tests")
        git("-C", str(COPY), "checkout", "--quiet", tests, "--", "tests")
        shutil.copytree(ROOT / ".venv", COPY / ".venv", symlinks=True, copy_function=os.link)
        for pattern in ("pyvenv.cfg", "bin/*", "lib/python3*/site-packages/*.pth"):
            for path in (COPY / ".venv").glob(pattern):
                _name_the_copy(path)
        yield
    finally:
        _remove_copy()


def _name_the_copy(path: Path) -> None:
    """In a script or a list of paths; it is written anew, for it is a link to the project's own."""
    if path.is_symlink() or not path.is_file():
        return
    content, mode = path.read_bytes(), path.stat().st_mode
    if bytes(ROOT) in content and not content.startswith(b"\x7fELF"):
        path.unlink()
        path.write_bytes(content.replace(bytes(ROOT), bytes(COPY)))
        path.chmod(mode)


def _remove_copy() -> None:
    shutil.rmtree(COPY, ignore_errors=True)
    git("worktree", "prune")


def git(*words: str) -> str:
    """What git says of the project."""
    ended = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return ended.stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
