"""What reading other tools' files needs everywhere: words with their lines, and their fates."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from stithy.errors import TextError, UserError
from stithy.fio.profile import size_text

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
_SIZE = re.compile(r"(\d+)([kmg]?)i?b?", re.IGNORECASE)
_FACTOR = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}

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


class Use(NamedTuple):
    """What becomes of a word; `note` says by which key of the study, or why."""

    word: Word
    fate: Fate
    note: str


def block_size(text: str) -> str:
    """A size of a request as profiles write it. Raises TextError."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise TextError(f"{text!r} is not a size of requests")
    return size_text(int(match[1]) * _FACTOR[match[2].lower()])


def parse_number(text: str) -> float:
    """A decimal number. Raises TextError, in words for a person."""
    try:
        return float(text)
    except ValueError:
        raise TextError(f"{text!r} is not a number") from None


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
    """Reads one file; keeps what a profile cannot say, and what becomes of each word.

    A value that is wrong is a problem at its line, and the default stands for it.
    """

    def __init__(self, where: str) -> None:
        """`where` is the file."""
        self.where = where
        self.problems: list[UserError] = []
        self._uses: dict[Word, Use] = {}

    @property
    def uses(self) -> tuple[Use, ...]:
        """What becomes of the words, in the order in which they were noted."""
        return tuple(self._uses.values())

    def refuse(self, line: Place, problem: str, remedy: str) -> None:
        """Note a problem, once."""
        where = f"{self.where}:{line}" if isinstance(line, int) else line
        error = UserError(problem, where=where, remedy=remedy)
        if str(error) not in map(str, self.problems):
            self.problems.append(error)

    def note(self, word: Word, fate: Fate, note: str = "") -> None:
        """Note what becomes of a word; the last note holds."""
        self._uses[word] = Use(word, fate, note)

    def value(self, word: Word | None, parse: Callable[[str], T], default: T) -> T:
        """What `parse` makes of a word, which is then used; the default where there is none."""
        if word is None:
            return default
        self.note(word, "used")
        try:
            return parse(word.text)
        except TextError as error:
            self.refuse(word.line, f"{_shown(word)} is not understood: {error}", "correct it")
        except ValueError:
            self.refuse(word.line, f"{_shown(word)} is not understood", "correct it")
        return default

    def model(self, kind: type[M], line: Place, values: dict[str, Any]) -> M | None:
        """A part of a profile; None where its rules forbid it."""
        try:
            return kind.model_validate(values)
        except ValidationError as error:
            for each in error.errors():
                problem, _, remedy = each["msg"].removeprefix("Value error, ").partition(": ")
                self.refuse(line, problem, remedy or "correct it")
            return None


def _shown(word: Word) -> str:
    return f"{word.key}={word.text}" if word.text else word.key


def tabulate(uses: Iterable[Use]) -> tuple[str, ...]:
    """A line for all words of one key that have the same fate: which lines, which words, the fate.

    Of many words the first two are shown.
    """
    rows: dict[tuple[Fate, str, str], list[Word]] = {}
    for use in sorted(uses, key=lambda use: list(FATES).index(use.fate)):
        rows.setdefault((use.fate, use.word.key or use.word.text, use.note), []).append(use.word)
    cells = [
        (
            f"line {_first([str(word.line) for word in words])}",
            _first(
                [_shown(words[0]), *(word.text for word in words if word.text != words[0].text)]
            ),
            f"{FATES[fate]}{': ' if note else ''}{note}",
        )
        for (fate, _, note), words in rows.items()
    ]
    widths = [max((len(row[column]) for row in cells), default=0) for column in (0, 1)]
    return tuple(f"{row[0]:{widths[0]}}  {row[1]:{widths[1]}}  {row[2]}" for row in cells)


def _first(texts: list[str], most: int = 3) -> str:
    """The texts that differ, of many the first ones."""
    known = list(dict.fromkeys(texts))
    left = len(known) - most + 1
    shown = known if len(known) <= most else [*known[: most - 1], f"{left} more"]
    return ", ".join(shown)
