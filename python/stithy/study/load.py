"""From a file's path to a study that was checked, or to all that is wrong with it."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from stithy.study.document import Place, position, read_document
from stithy.study.locate import locate
from stithy.study.model import Study
from stithy.study.problems import StudyError, StudyProblem
from stithy.suggest import printable, read_named

SIZE_BYTES_MAX = 2**20
"""A study is a page of text; more is some other file."""


@dataclass(frozen=True)
class StudyFile:
    """A study and the file it came from; `content` is that file, byte for byte.

    `null`: only its first candidate is measured, against itself.
    """

    path: Path
    content: bytes
    study: Study
    null: bool = False

    @property
    def sha256(self) -> str:
        """Hexadecimal SHA-256 of the file."""
        return hashlib.sha256(self.content).hexdigest()


def read_study(path: Path) -> StudyFile:
    """The study in a file.

    Raises StudyError with every problem in it, in the file's order; UserError where there is no
    file to read.
    """
    content = read_named(path, SIZE_BYTES_MAX, "study file")
    return StudyFile(path, content, parse_study(printable(str(path)), content))


def parse_study(name: str, content: bytes) -> Study:
    """The study in the bytes of a file that messages call `name`. Raises StudyError."""
    document = read_document(name, _decode(name, content))
    if not isinstance(document.data, dict):
        is_empty = document.data is None
        problem = "an empty study file" if is_empty else "not a mapping of keys to values"
        remedy = "start with `study: ` and the question; studies/demo.yaml is an example"
        place = document.values.get((), Place(1, 1, 2))
        document.problems.append(document.problem(place, problem, remedy))
        raise StudyError(name, document.problems)
    keys = [info.alias or field for field, info in Study.model_fields.items()]
    if document.data.keys().isdisjoint(keys):
        # What stands in such a file is not ours to show.
        problem = "not a study file: it has none of a study's keys"
        remedy = f"name the right file; a study has {', '.join(keys)}"
        raise StudyError(name, [StudyProblem(problem, where=f"{name}:1:1", remedy=remedy)])
    try:
        study = Study.model_validate(document.data)
        found: list[StudyProblem] = []
    except ValidationError as error:
        found = locate(document, error)
    if problems := document.problems + found:
        by_place = sorted(problems, key=lambda each: [*map(int, each.where.rsplit(":", 2)[1:])])
        raise StudyError(name, by_place)
    return study


def _decode(name: str, content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8", errors="replace")
        place = position(before, len(before))
        raise StudyError(name, [_not_text(name, place)]) from error
    if "\0" in text:
        raise StudyError(name, [_not_text(name, position(text, text.index("\0")))])
    return text


def _not_text(name: str, place: Place) -> StudyProblem:
    where = f"{name}:{place.line}:{place.column}"
    return StudyProblem("not a text in UTF-8", where=where, remedy="save the study file as UTF-8")
