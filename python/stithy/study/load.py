"""From a file's path to a study that was checked, or to all that is wrong with it."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from stithy.study.document import Document, Place, position, read_document
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
        document.problems.append(_not_a_study(document))
        raise StudyError(name, document.problems)
    if document.data.keys().isdisjoint(_keys()):
        raise StudyError(name, [_some_other_file(name)])
    try:
        study = Study.model_validate(document.data)
        found: list[StudyProblem] = []
    except ValidationError as error:
        found = locate(document, error)
    if problems := document.problems + found:
        raise StudyError(name, sorted(problems, key=_place_of))
    return study


def _place_of(problem: StudyProblem) -> tuple[int, int]:
    _, line, column = problem.where.rsplit(":", 2)
    return int(line), int(column)


def _not_a_study(document: Document) -> StudyProblem:
    place = document.values.get((), Place(1, 1, 2))
    remedy = "start with `study: ` and the question; studies/demo.yaml is an example"
    if document.data is None:
        return document.problem(place, "an empty study file", remedy)
    return document.problem(place, "not a mapping of keys to values", remedy)


def _some_other_file(name: str) -> StudyProblem:
    """A mapping without any key of ours: what stands in such a file is not ours to show."""
    known = ", ".join(_keys())
    problem = "not a study file: it has none of a study's keys"
    remedy = f"name the right file; a study has {known}"
    return StudyProblem(problem, where=f"{name}:1:1", remedy=remedy)


def _keys() -> list[str]:
    return [info.alias or name for name, info in Study.model_fields.items()]


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
