"""I/O profiles of other tools' files: each word is used, decided by the study, or refused.

What a profile cannot say is refused with its line, so that nobody measures less than the file asks
for. The rest has its fate in one table (`tabulate`).
"""

import re
from collections.abc import Callable

from stithy.errors import Refused, UserError
from stithy.fio.foreign import fiofile, vdbench
from stithy.fio.foreign.lines import Reader, list_fates
from stithy.fio.profile import IoProfile

Translate = Callable[[str, str, Reader], IoProfile | None]
"""Makes a profile of a text; the reader keeps what it cannot say, and the fate of the words."""

LANGUAGES: dict[str, tuple[str, Translate]] = {
    ".vdb": (r"^\s*(?:f?[sw]d|rd|hd)\s*=", vdbench.translate),
    ".fio": (r"^\s*\[[^\[\]]+\]", fiofile.translate),
}
"""Of each ending that hints at a tool's files a line that only they have."""

_TOML = re.compile(r"^\s*(?:\[\[|\[assumed\]|\[working_set\]|(?:title|note)\s*=\s*[\"'])", re.M)


def is_toml(text: str) -> bool:
    """Whether a text has what a profile in TOML has, and no file of another tool."""
    return _TOML.search(text) is not None


def find_translator(text: str, ending: str) -> Translate | None:
    """How a text is translated, by what it holds or else by its file's ending; None for TOML."""
    if is_toml(text):
        return None
    _, usual = LANGUAGES.get(ending, (None, None))
    by_content = (each for line, each in LANGUAGES.values() if re.search(line, text, re.M | re.I))
    return next(by_content, usual)


def parse(translate: Translate, text: str, name: str, where: str) -> IoProfile:
    """The profile in a file called `where`. Raises UserError, or Refused with all its problems."""
    reader = Reader(where)
    profile = translate(text, name, reader)
    problems = tuple(reader.problems)
    if problems:
        raise problems[0] if len(problems) == 1 else Refused(problems, where=where)
    if profile is None:
        raise UserError("it has no job", where=where, remedy="name a file with one at least")
    return profile.model_copy(update={"words": list_fates(reader.fates)})
