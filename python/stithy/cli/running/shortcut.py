"""A study made of a command's words: what is to be measured, and which option says what.

Its text is a study file like any other. What is wrong with it is said of the option it came from.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os.path import isfile
from pathlib import Path
from typing import Any

from stithy.errors import Refused, StithyError, UserError
from stithy.names import find_free, instead
from stithy.study.document import quoted, read_document
from stithy.study.load import StudyFile, parse_study
from stithy.study.load import read_study as read_other
from stithy.study.model import name_candidate
from stithy.study.problems import StudyError, StudyProblem

STUDIES = (".yaml", ".yml")
PROFILES = ".toml"
DEVICES = Path("/dev")
MEMORY = Path("/dev/shm")
Keys = Mapping[str, Any]
_ONE = {"profiles": "profile"}
"""Lists, by the option that gives one entry."""


@dataclass(frozen=True)
class Shortcut:
    """The study: its text, and the option of each of its lines, from 1."""

    name: str
    text: str
    options: Mapping[int, str]

    def file(self) -> StudyFile:
        """The study as if it had been read. Raises UserError or Refused, by option."""
        path = Path(f"{self.name}.yaml")
        content = self.text.encode()
        try:
            return StudyFile(path, content, parse_study(path.name, content))
        except StudyError as error:
            found = tuple(self._of_option(each) for each in error.problems)
            if len(found) == 1:
                raise found[0] from error
            raise Refused(found, where=f"stithy {self.name}") from error

    def _of_option(self, problem: StudyProblem) -> StithyError:
        line = int(problem.where.rsplit(":", 2)[1])
        option = self.options.get(line, f"stithy {self.name}")
        return UserError(problem.problem, where=option, remedy=problem.remedy)


def shortcut(
    name: str, question: str, candidates: Mapping[str, Keys], scenario: str, keys: Keys
) -> Shortcut:
    """The study of a command; a key of the scenario is an option unless it is None."""
    rows = [(f"study: {_flow(question)}", ""), ("candidates:", "")]
    rows += [(f"  {each}: {_flow(spec)}", each) for each, spec in candidates.items()]
    rows += [("scenario:", ""), (f"  {scenario}:", "")]
    rows += [
        (f"    {key}: {_flow(value)}", f"--{_ONE.get(key, key).replace('_', '-')}")
        for key, value in keys.items()
        if value is not None
    ]
    options = {number: option for number, (_, option) in enumerate(rows, 1) if option}
    return Shortcut(name, "".join(f"{line}\n" for line, _ in rows), options)


def _flow(value: object) -> str:
    """A value on one line of YAML."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_flow(each) for each in value) + "]"
    return quoted(value) if isinstance(value, str) else json.dumps(value, default=str)


def candidates_of(targets: Sequence[str], *, wipe: bool) -> dict[str, Keys]:
    """The candidates that targets stand for, each with a name. Raises UserError.

    `wipe`: consent for the devices among them.
    """
    if not targets:
        remedy = "name a directory, a device, a drive profile, or a study's candidate"
        raise UserError("nothing is named to be measured", where="TARGETS", remedy=remedy)
    found: dict[str, Keys] = {}
    for target in targets:
        for name, keys in _meant(target, wipe=wipe):
            found[find_free(name, found)] = keys
    if wipe and not any("device" in each for each in found.values()):
        problem, remedy = "no target is a device", "leave it out: nothing else is overwritten"
        raise UserError(problem, where="--wipe", remedy=remedy)
    return found


def _meant(target: str, *, wipe: bool) -> Iterator[tuple[str, Keys]]:
    study, _, candidate = target.partition(":")
    if study.lower().endswith(STUDIES):
        yield from _of_study(Path(study), candidate)
    elif Path(target).is_relative_to(DEVICES) and not Path(target).is_relative_to(MEMORY):
        # As it is: no file system, and consent only from the person.
        keys = {"device": target, "filesystem": "none", **({"wipe": True} if wipe else {})}
        yield name_candidate(Path(target).name), keys
    elif "/" in target and not target.endswith(PROFILES) and not isfile(target):
        path = Path(target).absolute()
        yield name_candidate(path.name), {"path": str(path)}
    else:
        yield name_candidate(Path(target).name.removesuffix(PROFILES)), {"drive": target}


def _of_study(path: Path, wanted: str) -> Iterator[tuple[str, Keys]]:
    """The candidates of a study, or one of them, as that file says them."""
    file = read_other(path)
    known = list(file.study.candidates)
    if wanted and wanted not in known:
        remedy = instead(wanted, known)
        raise UserError(f"it has no candidate {wanted!r}", where=str(path), remedy=remedy)
    written: Any = read_document(path.name, file.content.decode("utf-8-sig")).data
    for name in [wanted] if wanted else known:
        yield name, written["candidates"][name]
