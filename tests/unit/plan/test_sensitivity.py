"""The study of the sensitivity: the question alone, with other profiles; and when there is none."""

from dataclasses import replace
from pathlib import Path

import pytest

from stithy.errors import UserError
from stithy.plan.sensitivity import check, narrowed, profiles_of
from stithy.plan.steps import Question, question
from stithy.study.load import StudyFile, parse_study
from stithy.study.model import Study
from support.studies import study_text

DRIVES = (
    "  disk: {path: /var/tmp/stithy}\n  memory: {path: /dev/shm/stithy}\n",
    "  one: {drive: gp3, cost: 100 EUR, scale: 1/2}\n"
    "  two: {drive: io2, roles: {log: {drive: generic-nvme}}}\n"
    "  three: {path: /var/tmp/stithy}\n",
)
MORE = (
    "  duration: 3 s\n",
    "  duration: 3 s\n  find: max users with p95 of all <= 1 s\n"
    "primary: {blocks: 6, candidates: [one, two]}\n"
    "thresholds:\n  - one.p95_at_4 <= 1 s\n",
)


def study_file(*changes: tuple[str, str]) -> StudyFile:
    """A study with these changes, as if read."""
    content = study_text(*changes).encode()
    return StudyFile(Path("study.yaml"), content, parse_study("study.yaml", content))


def asked(study: Study) -> Question:
    """Its primary question."""
    found = question(study, tuple(study.candidates))
    assert found is not None
    return found


def test_the_question_alone_is_asked_again_with_other_profiles() -> None:
    """Its pair and level; what is not the question's stays as the study has it."""
    file = study_file(DRIVES, MORE)
    content = narrowed(
        file.content, ("one", "two"), asked(file.study), lambda *names: f"/x/{'.'.join(names)}.toml"
    )
    found = parse_study("narrowed", content)
    assert profiles_of(content) == {
        "one": {"data": "/x/one.data.gp3.toml"},
        "two": {"data": "/x/two.data.io2.toml", "log": "/x/two.log.generic-nvme.toml"},
    }
    before, after = asked(file.study), asked(found)
    assert replace(after, derived=before.derived) == before
    assert (found.load.users, found.load.find, found.thresholds) == ((4,), None, ())
    assert found.candidates["one"].cost == file.study.candidates["one"].cost
    assert (found.database, found.workload, found.seed) == (
        file.study.database, file.study.workload, file.study.seed,
    )  # fmt: skip


REFUSED = {
    "a null study": (study_file(DRIVES), True, {"one": 1}, "null study"),
    "one candidate": (
        study_file((DRIVES[0], "  one: {drive: gp3}\n")), False, {"one": 1}, "no primary question",
    ),
    "directories": (study_file(), False, {}, "no candidate is an emulated drive"),
    "measured profiles": (study_file(DRIVES), False, {"one": 0, "two": 0}, "assume no number"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_has_nothing_to_vary_is_refused_in_a_sentence(case: str) -> None:
    """With what to do instead."""
    file, null, assumed, problem = REFUSED[case]
    with pytest.raises(UserError, match=problem) as refused:
        check(replace(file, null=null), question(file.study, tuple(file.study.candidates)), assumed)
    assert refused.value.remedy
    assert refused.value.where == "--sensitivity"


def test_a_study_with_an_assumed_number_is_not_refused() -> None:
    """One of one candidate is enough."""
    file = study_file(DRIVES)
    check(file, asked(file.study), {"two": 1})
