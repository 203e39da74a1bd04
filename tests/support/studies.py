"""Small studies for tests, as text and as the checked model."""

import re
from pathlib import Path

from stithy.errors import FileProblem
from stithy.study.load import StudyFile, parse_study, read_study
from stithy.study.model import Study
from stithy.study.problems import StudyError

TEXT = """\
study: Does it matter?
candidates:
  disk: {path: /var/tmp/stithy}
  memory: {path: /dev/shm/stithy}
database:
  engine: postgresql
  memory: 1 GiB
workload: {name: order-entry, warehouses: 2}
load:
  users: [1, 4]
  ramp_up: 2 s
  duration: 3 s
"""


def study_text(*changes: tuple[str, str]) -> str:
    """`TEXT` with each of the changes (from, to); all of them must apply."""
    text = TEXT
    for old, new in changes:
        assert old in text, f"{old!r} is not in the study"
        text = text.replace(old, new)
    return text


def primary(text: str) -> tuple[str, str]:
    """A change that declares the primary question."""
    return "study:", f"primary: {text}\nstudy:"


def load(*lines: str) -> tuple[str, str]:
    """A change that adds these lines to the load."""
    return "  ramp_up", "".join(f"  {line}\n" for line in lines) + "  ramp_up"


def workload(*keys: str) -> tuple[str, str]:
    """A change that adds these keys to the workload."""
    return "warehouses: 2}", "".join(["warehouses: 2", *(f", {key}" for key in keys), "}"])


def study(*changes: tuple[str, str]) -> Study:
    """The checked study of `study_text`."""
    return parse_study("study.yaml", study_text(*changes).encode())


def problems(text: str | bytes) -> list[FileProblem]:
    """What is wrong with a study file; empty where nothing is."""
    try:
        parse_study("study.yaml", text if isinstance(text, bytes) else text.encode())
    except StudyError as error:
        return list(error.problems)
    return []


def refused(*changes: tuple[str, str]) -> list[str]:
    """The keys at which the study of `study_text` is wrong; its words are golden files' matter."""
    found = (re.search("`([^`]+)`", each.problem) for each in problems(study_text(*changes)))
    return [each[1] if each else "" for each in found]


def write_study(directory: Path, *changes: tuple[str, str]) -> StudyFile:
    """A study file in `directory`, read back."""
    path = directory / "study.yaml"
    path.write_text(study_text(*changes))
    return read_study(path)
