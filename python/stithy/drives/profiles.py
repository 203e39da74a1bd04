"""Drive profiles: which are shipped, and what one says or has wrong.

The drive program holds and judges them; nothing of a profile is understood here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from stithy.errors import InfrastructureError, StithyError, UserError
from stithy.hosts.runner import Command, LocalRunner, Runner
from stithy.names import find_closest, read_named
from stithy.wire.drive.jobs import (
    AnyDriveJob,
    CatalogueJob,
    CheckProfileJob,
    LoadPoint,
    ProfileFiguresJob,
)
from stithy.wire.drive.messages import (
    AnyDriveMessage,
    CheckProfileSummary,
    PointFigures,
    ProfileFacts,
    ProfileFiguresSummary,
    ProfileProblem,
    ShippedProfile,
    ShippedSchedule,
    parse_drive_message,
)
from stithy.wire.messages import Failure
from stithy.wire.program import DRIVE, failure_error, find_program

PROFILE_BYTES_MAX = 2**20
"""What a person writes is far smaller; a disk image named by mistake is not read whole."""

T = TypeVar("T")
_Summary = TypeVar("_Summary", CheckProfileSummary, ProfileFiguresSummary)

SIMULATED_REQUESTS = 50_000
"""At each point: enough for a 99th percentile to within a few percent."""


@dataclass(frozen=True)
class Catalogue:
    """All that is shipped."""

    profiles: tuple[ShippedProfile, ...]
    schedules: tuple[ShippedSchedule, ...]

    def profile(self, name: str) -> ShippedProfile:
        """The shipped profile of this name. Raises UserError with the nearest one."""
        known = {each.facts.name: each for each in self.profiles}
        return _find_named(
            "drive profile", name, known, "; a file is named with its folder: ./my.toml"
        )

    def schedule(self, name: str) -> ShippedSchedule:
        """The shipped schedule of this name. Raises UserError with the nearest one."""
        return _find_named("schedule", name, {each.name: each for each in self.schedules})


@dataclass(frozen=True)
class Profile:
    """A drive profile without problems: its TOML text, and what it says at a scale."""

    text: str
    facts: ProfileFacts


class WrongKey(UserError):
    """One thing wrong with a drive profile; `excerpt` is the line of the file."""

    def __init__(self, problem: str, *, where: str, remedy: str, excerpt: str) -> None:
        """`where` is `file:line`, or the file alone where no line is at fault."""
        super().__init__(problem, where=where, remedy=remedy)
        self.excerpt = excerpt


class ProfileError(UserError):
    """A drive profile that cannot be used: carries all its problems, in the order of the file."""

    def __init__(self, file: str, problems: Sequence[WrongKey]) -> None:
        """`problems` has at least one entry."""
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        super().__init__(
            f"{count} in this drive profile", where=file, remedy="fix the file; nothing was done"
        )
        self.problems = tuple(problems)

    def parts(self) -> tuple[StithyError, ...]:
        """The problems."""
        return self.problems


def catalogue(runner: Runner | None = None) -> Catalogue:
    """What the drive program brings along."""
    shown = _ask(CatalogueJob(), runner)
    return Catalogue(
        profiles=tuple(each for each in shown if isinstance(each, ShippedProfile)),
        schedules=tuple(each for each in shown if isinstance(each, ShippedSchedule)),
    )


def find_profile(name_or_path: str, *, scale: float = 1.0, runner: Runner | None = None) -> Profile:
    """A shipped profile by its name, or that of a file, judged; its rates divided by `scale`.

    Raises UserError for what is not there, ProfileError with all its problems.
    """
    text = profile_text(name_or_path, runner)
    return Profile(text, check_profile(text, name_or_path, scale=scale, runner=runner))


def profile_text(name_or_path: str, runner: Runner | None = None) -> str:
    """The TOML text of a shipped profile, or of a file: a name with `/`, or that ends in `.toml`.

    Raises UserError for an unknown name, and for a file that cannot be read as text.
    """
    if is_file_name(name_or_path):
        path = Path(name_or_path)
        content = read_named(path, PROFILE_BYTES_MAX, "drive profile")
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            where = f"{path}:{content.count(bytes([10]), 0, error.start) + 1}"
            raise UserError("not UTF-8", where=where, remedy="save it as UTF-8") from error
    return catalogue(runner).profile(name_or_path).text


def check_profile(
    text: str, file: str, *, scale: float = 1.0, runner: Runner | None = None
) -> ProfileFacts:
    """What a profile says, its capacity and rates divided by `scale`.

    Raises ProfileError with all its problems; `file` is what messages call it.
    """
    job = CheckProfileJob(file=file, text=text, scale=scale)
    summary = _asked_one(job, CheckProfileSummary, runner)
    if summary.facts is None:
        lines = text.splitlines()
        raise ProfileError(file, [_make_problem(file, lines, each) for each in summary.problems])
    return summary.facts


def own_figures(
    text: str, points: Sequence[LoadPoint], span_bytes: int, seed: int, runner: Runner | None = None
) -> tuple[PointFigures, ...]:
    """What a drive of a profile does by itself at some points, simulated.

    `text` must be a profile; `span_bytes` is how much of the drive is used.
    """
    job = ProfileFiguresJob(
        file="profile",
        text=text,
        scale=1.0,
        seed=seed,
        span_bytes=span_bytes,
        requests=SIMULATED_REQUESTS,
        points=tuple(points),
    )
    return _asked_one(job, ProfileFiguresSummary, runner).points


def is_file_name(name_or_path: str) -> bool:
    """Whether a profile is named by its file."""
    return "/" in name_or_path or name_or_path.endswith(".toml")


def _ask(job: AnyDriveJob, runner: Runner | None) -> list[AnyDriveMessage]:
    """Run a short job to its end; the failure it may tell is raised."""
    command = Command(argv=[str(find_program(DRIVE))])
    finished = (runner or LocalRunner()).run(command, stdin=job.model_dump_json())
    shown = [parse_drive_message(line) for line in finished.stdout.splitlines()]
    for each in shown:
        if isinstance(each, Failure):
            raise failure_error(each)
    if finished.code != 0:
        raise _silent(finished.stderr.strip())
    return shown


def _asked_one(job: AnyDriveJob, kind: type[_Summary], runner: Runner | None) -> _Summary:
    for each in _ask(job, runner):
        if isinstance(each, kind):
            return each
    raise _silent()


def _silent(words: str = "") -> InfrastructureError:
    return InfrastructureError(
        f"the program ended without an answer{': ' if words else ''}{words[-500:]}",
        where=DRIVE,
        remedy="make sure that Stithy and its native programs are of the same version",
    )


def _make_problem(file: str, lines: Sequence[str], found: ProfileProblem) -> WrongKey:
    seen = "" if found.value is None else f": {found.value}"
    problem, place, excerpt = f"{found.key}: {found.problem}{seen}", file, ""
    # What is missing is reported at a line on which nothing is wrong.
    if found.line is not None and found.value is not None and found.line <= len(lines):
        excerpt = f"{found.line:5} | {lines[found.line - 1]}"
    if found.line is not None:
        place = f"{file}:{found.line}"
    return WrongKey(problem, where=place, remedy=found.remedy, excerpt=excerpt)


def _find_named(what: str, name: str, known: Mapping[str, T], more: str = "") -> T:
    if name in known:
        return known[name]
    near = find_closest(name, known)
    meant = f"did you mean {near}? " if near else ""
    raise UserError(
        f"no {what} of this name is shipped",
        where=repr(name),
        remedy=f"{meant}known are {', '.join(known)}{more}",
    )
