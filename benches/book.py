"""What long proofs have in common: what is done is written down at once, and stays done.

Killed and started again, a proof does what is missing. What was wrong once stays so.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

Raw = Mapping[str, Any]


@dataclass(frozen=True)
class Part:
    """One part: which proof, with which seed."""

    proof: str
    seed: int


@dataclass(frozen=True)
class Done:
    """A part that was done: whether it is as it must be, and everything that was seen."""

    part: Part
    sound: bool
    seen: Raw


class Book:
    """What is done, in a file that each line reaches at once."""

    def __init__(self, path: Path) -> None:
        """Read what is there; a line that a kill tore is not."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self.done: dict[Part, Done] = {}
        with path.open("a+") as file:
            file.seek(0)
            text = file.read()
            if not text.endswith("\n"):
                file.write("\n")
        for line in text.splitlines():
            try:
                fields = json.loads(line)
            except ValueError:
                continue
            self._remember(Done(Part(**fields["part"]), fields["sound"], fields["seen"]))

    def _remember(self, done: Done) -> None:
        self.done[done.part] = done

    def missing(self, proof: str, count: int) -> list[int]:
        """The seeds of a proof that are not done."""
        return [seed for seed in range(count) if Part(proof, seed) not in self.done]

    def add(self, done: Done) -> None:
        """Write it down and tell it."""
        self._remember(done)
        with self._path.open("a") as file:
            file.write(json.dumps(asdict(done), default=plain) + "\n")
            file.flush()
            os.fsync(file.fileno())
        verdict = "as it must be" if done.sound else "WRONG"
        print(f"{done.part.proof}, seed {done.part.seed}: {verdict}", flush=True)
        if not done.sound:
            print(f"  {json.dumps(done.seen, default=plain)}", flush=True)


def plain(value: Any) -> Any:
    """What JSON does not know by itself: messages of the wire."""
    return value.model_dump(mode="json")


@contextmanager
def sole(folder: Path) -> Iterator[bool]:
    """Hold a folder, which is made, against others of the same proof; False while one has it."""
    folder.mkdir(mode=0o755, exist_ok=True)
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(lock)
