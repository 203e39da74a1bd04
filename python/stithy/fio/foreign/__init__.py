"""I/O profiles of other tools' files: each word is used, decided by the study, or refused.

What a profile cannot say is refused with its line, so that nobody measures less than the file asks
for. The rest has its fate in one table (`tabulate`).
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from stithy.errors import Refused, UserError
from stithy.fio.foreign import fiofile, vdbench
from stithy.fio.foreign.lines import Reader, tabulate
from stithy.fio.profile import Profile


class Language(NamedTuple):
    """What a tool's files are written in: an ending that hints at it, a line that only it has.

    `translate` makes a profile of a text; the reader keeps what it cannot say, and the fate of the
    words.
    """

    ending: str
    line: re.Pattern[str]
    translate: Callable[[str, str, Reader], Profile | None]


LANGUAGES = (
    Language(".vdb", re.compile(r"^\s*(?:f?[sw]d|rd|hd)\s*=", re.M | re.I), vdbench.translate),
    Language(".fio", re.compile(r"^\s*\[[^\[\]]+\]", re.M), fiofile.translate),
)
_TOML = re.compile(r"^\s*(?:\[\[|\[assumed\]|\[working_set\]|(?:title|note)\s*=\s*[\"'])", re.M)


def is_toml(text: str) -> bool:
    """Whether a text has what a profile in TOML has, and no file of another tool."""
    return _TOML.search(text) is not None


def language_of(text: str, ending: str) -> Language | None:
    """The language of a text, by what it holds, or else by its file's ending; None for TOML."""
    if is_toml(text):
        return None
    by_content = (each for each in LANGUAGES if each.line.search(text))
    return next(by_content, next((each for each in LANGUAGES if each.ending == ending), None))


def parse(language: Language, text: str, name: str, where: str) -> Profile:
    """The profile in a file called `where`. Raises UserError, or Refused with all its problems."""
    reader = Reader(where)
    profile = language.translate(text, name, reader)
    problems = tuple(reader.problems)
    if problems:
        raise problems[0] if len(problems) == 1 else Refused(problems, where=where)
    if profile is None:
        raise UserError("it has no job", where=where, remedy="name a file with one at least")
    return profile.model_copy(update={"words": tabulate(reader.fates)})
