"""What reading other tools' files needs everywhere: words with their lines, numbers, problems."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from stithy.fio.profile import size_text

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
_SIZE = re.compile(r"(\d+)([kmg]?)i?b?", re.IGNORECASE)
_FACTOR = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}


class Problem(NamedTuple):
    """What cannot be said by a profile: in which line, from 1, and what to do."""

    line: int
    problem: str
    remedy: str


@dataclass(frozen=True)
class Word:
    """A value and its line."""

    text: str
    line: int


def block_size(text: str) -> str:
    """A size of a request as profiles write it. Raises ValueError."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a size of requests")
    return size_text(int(match[1]) * _FACTOR[match[2].lower()])


def percent(text: str) -> float:
    """A share of a number of percent, with or without its sign. Raises ValueError."""
    share = float(text.strip().removesuffix("%")) / 100
    if not 0 <= share <= 1:
        raise ValueError(f"{text!r} is not a percentage")
    return round(share, 9)


def plain_name(text: str) -> str:
    """A name as profiles have them."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "job"


def different(names: Iterable[str]) -> list[str]:
    """Names as profiles have them, of several alike each its own."""
    taken: list[str] = []
    for name in map(plain_name, names):
        endings = (f"{name}-{number}" for number in range(2, 10_000))
        taken.append(name if name not in taken else next(x for x in endings if x not in taken))
    return taken


class Reader:
    """Reads values; one that is wrong is a problem at its line, and the default stands for it."""

    def __init__(self, found: list[Problem]) -> None:
        """`found` gets the problems."""
        self._found = found

    def refuse(self, line: int, problem: str, remedy: str) -> None:
        """Note a problem, once."""
        if (found := Problem(line, problem, remedy)) not in self._found:
            self._found.append(found)

    def value(self, word: Word | None, parse: Callable[[str], T], default: T) -> T:
        """What `parse` makes of a word; the default where there is none."""
        if word is None:
            return default
        try:
            return parse(word.text)
        except ValueError as error:
            self.refuse(word.line, f"not understood: {error}", "correct it")
            return default

    def model(self, kind: type[M], line: int, values: dict[str, Any]) -> M | None:
        """A part of a profile; None where its rules forbid it."""
        try:
            return kind.model_validate(values)
        except ValidationError as error:
            for each in error.errors():
                problem, _, remedy = each["msg"].removeprefix("Value error, ").partition(": ")
                self.refuse(line, problem, remedy or "correct it")
            return None
