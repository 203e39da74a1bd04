"""I/O profiles of other tools' files: each word is used, decided by the study, or refused.

What a profile cannot say is refused with its line, so that nobody measures less than the file asks
for. The rest has its fate in one table (`tabulate`).
"""

from pathlib import Path

from stithy.errors import Refused, UserError
from stithy.fio.foreign import fiofile, vdbench
from stithy.fio.foreign.lines import Reader, tabulate
from stithy.fio.profile import Profile

TRANSLATORS = {".fio": fiofile.translate, ".vdb": vdbench.translate}
"""Each makes a profile of a text; the reader keeps what it cannot say, and the fate of the words.
"""

SUFFIXES = tuple(TRANSLATORS)


def parse(text: str, name: str, where: str) -> Profile:
    """The profile in a file called `where`. Raises UserError, or Refused with all its problems."""
    reader = Reader(where)
    profile = TRANSLATORS[Path(where).suffix](text, name, reader)
    problems = tuple(reader.problems)
    if problems:
        raise problems[0] if len(problems) == 1 else Refused(problems, where=where)
    if profile is None:
        raise UserError("it has no job", where=where, remedy="name a file with one at least")
    return profile.model_copy(update={"words": tabulate(reader.uses)})
