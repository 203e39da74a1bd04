"""Drive profiles: shipped ones by name, files, and everything that is wrong with one at once."""

from collections.abc import Sequence
from pathlib import Path
from typing import IO

import pytest
from pydantic import BaseModel

from stithy.drives import profiles
from stithy.drives.profiles import ProfileError, catalogue, check_profile, find_profile
from stithy.errors import InfrastructureError, PreconditionError, UserError
from stithy.hosts.runner import Command, Finished, Running
from stithy.wire.drive.jobs import AnyDriveJob, CheckProfileJob
from stithy.wire.drive.messages import AnyDriveMessage, parse_drive_message
from stithy.wire.messages import Failure
from support.heard import parse_drive_job

EXAMPLES = Path(__file__).resolve().parents[3] / "wire" / "examples" / "drive"


def example(name: str) -> AnyDriveMessage:
    """One of the protocol's examples."""
    return parse_drive_message((EXAMPLES / f"message.{name}.json").read_text())


class JobRunner:
    """A drive program that answers each job with the next messages, and ends with `code`."""

    def __init__(self, *answers: Sequence[BaseModel], code: int = 0) -> None:
        self.jobs: list[AnyDriveJob] = []
        self._answers = list(answers)
        self._code = code

    def run(self, command: Command, *, timeout_s: float = 600.0, stdin: str = "") -> Finished:
        """Read the job and answer it."""
        self.jobs.append(parse_drive_job(stdin))
        lines = [each.model_dump_json() for each in self._answers.pop(0)]
        return Finished(self._code, "\n".join(lines), "thread panicked")

    def start(self, command: Command, *, stderr: Path | IO[bytes] | None = None) -> Running:
        """Nothing goes on here."""
        raise NotImplementedError


@pytest.fixture(autouse=True)
def _program(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program need not be built for these tests."""
    monkeypatch.setattr(profiles, "find_program", lambda name: Path("/bin") / name)


def shipped() -> Sequence[BaseModel]:
    """What a catalogue tells: one profile, one schedule."""
    names = ("started", "shipped-profile", "shipped-schedule", "catalogue-summary")
    return [example(each) for each in names]


def test_the_catalogue_has_profiles_and_schedules() -> None:
    """Each by its name."""
    found = catalogue(JobRunner(shipped()))
    name = found.profiles[0].facts.name
    assert found.profile(name) is found.profiles[0]
    assert found.schedule(found.schedules[0].name) is found.schedules[0]


def test_an_unknown_name_is_refused_with_the_nearest_and_all() -> None:
    """A file is named with its folder."""
    found = catalogue(JobRunner(shipped()))
    name = found.profiles[0].facts.name
    with pytest.raises(UserError, match=f"did you mean {name}.*known are .*its folder: ./my.toml"):
        found.profile(name[:-1])
    with pytest.raises(UserError, match="no schedule of this name is shipped: known are [a-z]+$"):
        found.schedule("zz")


def test_a_file_is_read_and_judged_at_a_scale(tmp_path: Path) -> None:
    """What messages call it is what the person wrote."""
    path = tmp_path / "mine.toml"
    path.write_text("version = 1\n")
    runner = JobRunner([example("check-profile-summary")])
    found = find_profile(str(path), scale=8, runner=runner)
    assert found.text == "version = 1\n"
    assert runner.jobs == [CheckProfileJob(file=str(path), text=found.text, scale=8)]


def test_all_problems_of_a_profile_are_told_at_once() -> None:
    """Each with file, line, key, value and remedy, and the line itself."""
    told = example("check-profile-summary.problems")
    text = "\n".join(f"line {number}" for number in range(1, 100))
    with pytest.raises(ProfileError, match="in this drive profile: fix the file") as caught:
        check_profile(text, "mine.toml", runner=JobRunner([told]))
    parts = caught.value.parts()
    assert len(parts) > 1
    assert all(part.where.startswith("mine.toml") for part in parts)
    quoted = [part for part in parts if part.excerpt]
    assert quoted
    assert all(part.excerpt.endswith(f"line {part.where.split(':')[1]}") for part in quoted)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"\xff\xfe", "not text in UTF-8 \\(byte 0\\)"), (b"#" * 2**21, "too large to be a drive")],
)
def test_a_file_that_is_no_text_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    """Before the program hears of it."""
    path = tmp_path / "disk.img"
    path.write_bytes(content)
    with pytest.raises(UserError, match=words):
        find_profile(str(path), runner=JobRunner())


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """A missing file, a directory."""
    with pytest.raises(UserError, match="cannot be read: No such file"):
        find_profile(str(tmp_path / "none.toml"), runner=JobRunner())
    with pytest.raises(UserError, match="cannot be read: Is a directory"):
        find_profile(str(tmp_path), runner=JobRunner())


def test_what_the_program_refuses_is_raised() -> None:
    """Its own words; and where it says nothing, its last ones."""
    refused = Failure(code="x", problem="no", where="here", remedy="go", exit=3)
    with pytest.raises(PreconditionError, match="here: no: go"):
        catalogue(JobRunner([refused], code=3))
    with pytest.raises(InfrastructureError, match="without an answer: thread panicked"):
        catalogue(JobRunner([], code=101))
    with pytest.raises(InfrastructureError, match="without an answer: make sure"):
        check_profile("", "x", runner=JobRunner([]))
