"""What reading other tools' files needs everywhere: words with their lines, and their fates."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from stithy.errors import TextError, UserError
from stithy.fio.profile import format_size, parse_size
from stithy.names import make_plain

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
_NUMBER = re.compile(r"(\d+(?:\.\d*)?|\.\d+)([kmgt]?)i?b?", re.IGNORECASE)
_FACTOR = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}

Place = int | str
"""A line of the file, from 1, or `file:line` of a file that it includes."""

Fate = Literal["used", "study", "none"]
FATES: dict[Fate, str] = {
    "used": "used",
    "study": "the study decides",
    "none": "no effect on storage",
}
"""What becomes of a word that is not refused, in the order in which a person reads it."""


@dataclass(frozen=True)
class Word:
    """A value and its line; with its `key` it is shown as it is written."""

    text: str
    line: Place
    key: str = ""

    @property
    def written(self) -> str:
        return f"{self.key}={self.text}" if self.key and self.text else self.key or self.text


def parse_number(text: str) -> float:
    """`8`, `0.5k` or `1gb`. Raises TextError, in words for a person."""
    if (match := _NUMBER.fullmatch(text.strip())) is None:
        raise TextError(f"{text!r} is not a number")
    return float(match[1]) * _FACTOR[match[2].lower()]


def block_size(text: str) -> str:
    """A size of a request as profiles write it. Raises TextError."""
    return format_size(parse_size(format_size(int(parse_number(text)))))


def parse_count(text: str) -> int:
    """A whole number from 1. Raises TextError, in words for a person."""
    if not text.isdecimal() or not int(text):
        raise TextError(f"{text!r} is not a whole number from 1")
    return int(text)


def percent(text: str) -> float:
    """A share of a number of percent, with or without its sign. Raises TextError."""
    share = parse_number(text.strip().removesuffix("%")) / 100
    if not 0 <= share <= 1:
        raise TextError(f"{text!r} is not a percentage")
    return round(share, 9)


def make_profile_name(text: str) -> str:
    """A name as profiles have them."""
    return make_plain(text) or "job"


class Reader:
    """Reads one file; keeps what a profile cannot say, and what becomes of each word.

    A value that is wrong is a problem at its line, and the default stands for it.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        self.problems: list[UserError] = []
        self.fates: dict[Word, tuple[Fate, str]] = {}

    def refuse(self, line: Place, problem: str, remedy: str) -> None:
        """Note a problem, once."""
        where = f"{self.where}:{line}" if isinstance(line, int) else line
        error = UserError(problem, where=where, remedy=remedy)
        if str(error) not in map(str, self.problems):
            self.problems.append(error)
            self.problems.sort(key=lambda each: int(each.where.rpartition(":")[2]))

    def note(self, word: Word, fate: Fate, note: str = "") -> None:
        """Note what becomes of a word, by which key of the study or why; the last note holds."""
        self.fates[word] = fate, note

    def read_value(self, word: Word | None, parse: Callable[[str], T], default: T) -> T:
        """What `parse` makes of a word, which is then used; the default where there is none."""
        if word is None:
            return default
        self.note(word, "used")
        try:
            return parse(word.text)
        except TextError as error:
            self.refuse(word.line, f"{word.written} is not understood: {error}", "correct it")
        except ValueError:
            self.refuse(word.line, f"{word.written} is not understood", "correct it")
        return default

    def make_part(self, kind: type[M], line: Place, values: dict[str, Any]) -> M | None:
        """A part of a profile; None where its rules forbid it."""
        try:
            return kind.model_validate(values)
        except ValidationError as error:
            for each in error.errors():
                problem, _, remedy = each["msg"].removeprefix("Value error, ").partition(": ")
                self.refuse(line, problem, remedy or "correct it")
            return None


def list_fates(fates: Mapping[Word, tuple[Fate, str]]) -> tuple[str, ...]:
    """A line for all words of one key that have the same fate: which lines, which words, the fate.

    Of many words the first two are shown.
    """
    rows: dict[tuple[Fate, str, str], list[Word]] = {}
    for word, (fate, note) in fates.items():
        rows.setdefault((fate, note, word.key or word.text), []).append(word)
    cells = [
        (f"line {_take_first(str(word.line) for word in words)}",
         _take_first(word.text if word.text != words[0].text else word.written for word in words),
         f"{FATES[fate]}{': ' if note else ''}{note}")
        for known in FATES
        for (fate, note, _), words in rows.items()
        if fate == known
    ]  # fmt: skip
    first, second = (max((len(row[column]) for row in cells), default=0) for column in (0, 1))
    return tuple(f"{row[0]:{first}}  {row[1]:{second}}  {row[2]}" for row in cells)


def _take_first(texts: Iterable[str], most: int = 3) -> str:
    known = list(dict.fromkeys(texts))
    rest = [f"{len(known) - most + 1} more"] if len(known) > most else []
    return ", ".join([*known[: most - len(rest)], *rest])
