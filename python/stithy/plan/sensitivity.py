"""The study that asks a study's primary question again, with varied emulated drives.

It has the two candidates and the level of the question: no other level, no search, no threshold.
All else is as it was, so that the drives are the only difference. It is a study like any other, as
text: it is run, resumed, removed and judged as every study is.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from stithy.activity import get_level_factor
from stithy.errors import UserError
from stithy.plan.steps import Question
from stithy.storage.provider import ROLES
from stithy.study.document import read_document
from stithy.study.load import StudyFile, parse_study
from stithy.study.load_keys import LEVELS_KEY
from stithy.study.model import Study
from stithy.study.vary import place_values

DROPPED = ("find", "find_within", "find_width")
OPTION = "--sensitivity"
OWN_PROFILE = "leave it out, or repeat the study with a varied drive profile of your own"

SHARE = 0.25
"""By how much assumed numbers are varied."""

Rename = Callable[[str, str, str], str]
"""The profile instead of another: of candidate, role, profile."""


@dataclass(frozen=True)
class DriveNamed:
    """A drive that a candidate has by its study: `keys` is the mapping that names its profile."""

    role: str
    keys: dict[str, Any]


def narrow_study(content: bytes, pair: tuple[str, str], asked: Question, rename: Rename) -> bytes:
    """The study of the primary question alone, its drives renamed; JSON, which is YAML.

    `content` must be a study without problems, `pair` two of its candidates.
    """
    data = deepcopy(_read_data(content))
    data["candidates"] = {name: data["candidates"][name] for name in pair}
    for name, candidate in data["candidates"].items():
        for drive in _list_drives(candidate):
            drive.keys["drive"] = rename(name, drive.role, drive.keys["drive"])
    load = {key: value for key, value in data["load"].items() if key not in DROPPED}
    levels = get_level_factor().name
    data["load"] = {**load, levels: [asked.point.level]}
    primary = {key: each for key, each in (data.get("primary") or {}).items() if key != "at"}
    data["primary"] = {**primary, levels: asked.point.level, "metric": asked.metric,
                       "candidates": list(pair)}  # fmt: skip
    for name in ("thresholds", "vary", "cost"):
        data.pop(name, None)
    data = place_values(data, dict(asked.point.others))
    return (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode()


def list_profiles(content: bytes) -> dict[str, dict[str, str]]:
    """The drive profiles that a study names, by candidate and role; none for other storage."""
    return {
        name: {drive.role: drive.keys["drive"] for drive in _list_drives(candidate)}
        for name, candidate in _read_data(content)["candidates"].items()
    }


def choose_representative(file: StudyFile, asked: Question) -> Study:
    """A study that costs what each one with varied drives costs."""
    names = list(file.study.candidates)
    pair = asked.candidates or (names[0], names[1])
    kept = narrow_study(file.content, pair, asked, lambda _, __, profile: profile)
    return parse_study("the sensitivity's study", kept)


def check(file: StudyFile, asked: Question | None, assumed: Mapping[str, int]) -> None:
    """Raise UserError where there is nothing to vary, or no answer that could change.

    `assumed`: how many numbers each candidate's profiles assume.
    """
    if file.null:
        raise UserError(
            "a null study compares identical candidates, so no drive can be varied",
            where=OPTION,
            remedy="leave out --null or --sensitivity",
        )
    if file.study.given_load is None:
        raise UserError(
            f"the scenario {file.study.scenario.name} has no users who could feel another drive",
            where=OPTION,
            remedy=OWN_PROFILE,
        )
    if asked is None:
        raise UserError(
            "the study has no primary question whose answer could change",
            where=OPTION,
            remedy=f"compare two candidates at a level of `{LEVELS_KEY}`, or leave it out",
        )
    if own := [name for name, _ in asked.point.others if name not in file.study.vary]:
        raise UserError(
            f"the question is asked at a value of `{own[0]}`, which the scenario "
            f"{file.study.scenario.name} sets; it cannot be asked again of varied drives",
            where=OPTION,
            remedy=OWN_PROFILE,
        )
    named = asked.candidates or tuple(file.study.candidates)
    if not any(list_profiles(file.content)[name] for name in named):
        raise UserError(
            "no candidate is an emulated drive, so that there is no profile to vary",
            where=OPTION,
            remedy="leave it out: candidates without a profile have no assumed numbers",
        )
    if not any(assumed.get(name, 0) for name in named):
        raise UserError(
            "the drive profiles assume no number: each names its source",
            where=OPTION,
            remedy="leave it out; `stithy drive catalogue NAME` shows the sources",
        )


def _read_data(content: bytes) -> dict[str, Any]:
    document = read_document("the study", content.decode("utf-8-sig"))
    assert isinstance(document.data, dict)  # it was checked before
    return document.data


def _list_drives(value: Any, role: str = "data") -> Iterator[DriveNamed]:
    if isinstance(value, dict):
        if isinstance(value.get("drive"), str):
            yield DriveNamed(role, value)
        for key, inside in value.items():
            yield from _list_drives(inside, key if key in ROLES else role)
