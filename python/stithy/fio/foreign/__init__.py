"""I/O profiles of other tools' files: of what they say, the part that a profile can say, too.

What is left is refused with its line, so that nobody measures less than the file asks for. What a
study decides (place, size, length, engine, files of results) is not looked at.
"""

from collections.abc import Sequence
from pathlib import Path

from stithy.errors import Refused, UserError
from stithy.fio.foreign import fiofile, vdbench
from stithy.fio.foreign.lines import Problem
from stithy.fio.profile import Profile

TRANSLATORS = {".fio": fiofile.translate, ".vdb": vdbench.translate}
"""Each makes a profile of a text; what it cannot say it appends to the problems."""

SUFFIXES = tuple(TRANSLATORS)


def parse(text: str, name: str, where: str) -> Profile:
    """The profile in a file called `where`. Raises UserError, or Refused with all its problems."""
    found: list[Problem] = []
    profile = TRANSLATORS[Path(where).suffix](text, name, found)
    if found:
        raise _all(found, where)
    if profile is None:
        raise UserError("it has no job", where=where, remedy="name a file with one at least")
    return profile


def _all(found: Sequence[Problem], where: str) -> UserError | Refused:
    errors = tuple(
        UserError(each.problem, where=f"{where}:{each.line}", remedy=each.remedy) for each in found
    )
    return errors[0] if len(errors) == 1 else Refused(errors, where=where)
