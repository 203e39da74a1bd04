"""Drive profiles: which are shipped, and what one says or has wrong.

The drive program holds and judges them; nothing of a profile is understood here.

A profile can be varied, each assumed number better or worse by a share: what if it was wrong?
Longer times are worse; higher rates and larger caches are better. Numbers with a source stay, and
so does the capacity, which decides no time. A number is varied no further than the rules of a
profile allow: a median stays below the 99th percentile.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from stithy.errors import FileError, FileProblem, InfrastructureError, UserError
from stithy.hosts.runner import Command, LocalRunner, Runner
from stithy.names import find_closest, read_named
from stithy.wire.drive import jobs, messages
from stithy.wire.messages import Failure
from stithy.wire.program import DRIVE, find_program, make_failure_error

PROFILE_BYTES_MAX = 2**20
"""What a person writes is far smaller; a disk image named by mistake is not read whole."""

T = TypeVar("T")
_Summary = TypeVar("_Summary", messages.CheckProfileSummary, messages.ProfileFiguresSummary)

SIMULATED_REQUESTS = 50_000
"""At each point: enough for a 99th percentile to within a few percent."""


@dataclass(frozen=True)
class Catalogue:
    """All that is shipped."""

    profiles: tuple[messages.ShippedProfile, ...]
    schedules: tuple[messages.ShippedSchedule, ...]

    def get_profile(self, name: str) -> messages.ShippedProfile:
        """The shipped profile of this name. Raises UserError with the nearest one."""
        known = {profile.facts.name: profile for profile in self.profiles}
        return _find_named(
            "drive profile", name, known, "; a file is named with its folder: ./my.toml"
        )

    def schedule(self, name: str) -> messages.ShippedSchedule:
        """The shipped schedule of this name. Raises UserError with the nearest one."""
        return _find_named("schedule", name, {each.name: each for each in self.schedules})


@dataclass(frozen=True)
class DriveProfileFile:
    """A drive profile without problems: its TOML text, and what it says at a scale."""

    text: str
    facts: messages.ProfileFacts


def load_catalogue(runner: Runner | None = None) -> Catalogue:
    """What the drive program brings along."""
    shown = _ask(jobs.CatalogueJob(), runner)
    return Catalogue(
        profiles=tuple(
            message for message in shown if isinstance(message, messages.ShippedProfile)
        ),
        schedules=tuple(each for each in shown if isinstance(each, messages.ShippedSchedule)),
    )


def find_profile(
    name_or_path: str, *, scale: float = 1.0, runner: Runner | None = None
) -> DriveProfileFile:
    """A shipped profile by its name, or that of a file, judged; its rates divided by `scale`.

    Raises UserError for what is not there, FileError with all its problems.
    """
    text = read_profile_text(name_or_path, runner)
    return DriveProfileFile(text, check_profile(text, name_or_path, scale=scale, runner=runner))


def read_profile_text(name_or_path: str, runner: Runner | None = None) -> str:
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
    return load_catalogue(runner).get_profile(name_or_path).text


def check_profile(
    text: str, file: str, *, scale: float = 1.0, runner: Runner | None = None
) -> messages.ProfileFacts:
    """What a profile says, its capacity and rates divided by `scale`.

    Raises FileError with all its problems; `file` is what messages call it.
    """
    job = jobs.CheckProfileJob(file=file, text=text, scale=scale)
    summary = _ask_program(job, messages.CheckProfileSummary, runner)
    if summary.facts is None:
        lines = text.splitlines()
        problems = [_make_problem(file, lines, problem) for problem in summary.problems]
        raise FileError(file, problems, "drive profile")
    return summary.facts


def own_figures(
    text: str, points: Sequence[jobs.LoadPoint], span_bytes: int, seed: int
) -> tuple[messages.PointFigures, ...]:
    """What a drive of a profile does by itself at some points, simulated.

    `text` must be a profile; `span_bytes` is how much of the drive is used.
    """
    job = jobs.ProfileFiguresJob(
        file="profile",
        text=text,
        scale=1.0,
        seed=seed,
        span_bytes=span_bytes,
        requests=SIMULATED_REQUESTS,
        points=tuple(points),
    )
    return _ask_program(job, messages.ProfileFiguresSummary, None).points


def is_file_name(name_or_path: str) -> bool:
    """Whether a profile is named by its file."""
    return "/" in name_or_path or name_or_path.endswith(".toml")


def _ask(job: jobs.AnyDriveJob, runner: Runner | None) -> list[messages.AnyDriveMessage]:
    """Run a short job to its end; the failure it may tell is raised."""
    command = Command(argv=[str(find_program(DRIVE))])
    finished = (runner or LocalRunner()).run(command, stdin=job.model_dump_json())
    shown = [messages.parse_drive_message(line) for line in finished.stdout.splitlines()]
    for message in shown:
        if isinstance(message, Failure):
            raise make_failure_error(message)
    if finished.code != 0:
        raise _make_silent_error(finished.stderr.strip())
    return shown


def _ask_program(job: jobs.AnyDriveJob, kind: type[_Summary], runner: Runner | None) -> _Summary:
    for each in _ask(job, runner):
        if isinstance(each, kind):
            return each
    raise _make_silent_error()


def _make_silent_error(words: str = "") -> InfrastructureError:
    return InfrastructureError(
        f"the program ended without an answer{': ' if words else ''}{words[-500:]}",
        where=DRIVE,
        remedy="make sure that Stithy and its native programs are of the same version",
    )


def _make_problem(file: str, lines: Sequence[str], found: messages.ProfileProblem) -> FileProblem:
    seen = "" if found.value is None else f": {found.value}"
    problem, place, excerpt = f"{found.key}: {found.problem}{seen}", file, ""
    # What is missing is reported at a line on which nothing is wrong.
    if found.line is not None and found.value is not None and found.line <= len(lines):
        excerpt = f"{found.line:5} | {lines[found.line - 1]}"
    if found.line is not None:
        place = f"{file}:{found.line}"
    return FileProblem(problem, where=place, remedy=found.remedy, excerpt=excerpt)


def _find_named(what: str, name: str, known: Mapping[str, T], more: str = "") -> T:
    if name in known:
        return known[name]
    near = find_closest(name, known)
    meant = f"did you mean {near}? " if near else ""
    remedy = f"{meant}known are {', '.join(known)}{more}"
    raise UserError(f"no {what} of this name is shipped", where=repr(name), remedy=remedy)


WHOLE = ("channels", "cache.size_bytes", "sustained.after_bytes", "disk.queue_depth",
         "disk.read_ahead_bytes")  # fmt: skip
"""Numbers that are counts."""

FIXED = ("version", "capacity_bytes", "read.load_shares", "write.load_shares")

ORDERED = (
    ("read.p50_us", "read.p99_us"),
    ("write.p50_us", "write.p99_us"),
    ("cap.read_iops", "cap.total_iops"),
    ("cap.write_iops", "cap.total_iops"),
    ("cap.read_bytes_per_s", "cap.total_bytes_per_s"),
    ("cap.write_bytes_per_s", "cap.total_bytes_per_s"),
    ("sustained.write_iops", "cap.write_iops"),
    ("sustained.write_bytes_per_s", "cap.write_bytes_per_s"),
    ("sustained.recovery_bytes_per_s", "cap.write_bytes_per_s"),
    ("cache.size_bytes", "capacity_bytes"),
    ("disk.seek_track_ms", "disk.seek_average_ms"),
    ("disk.seek_average_ms", "disk.seek_full_ms"),
)
"""Pairs of which the first is never above the second; crates/drive/src/profile/relations.rs."""

SEEKS = ("disk.seek_track_ms", "disk.seek_average_ms", "disk.seek_full_ms")
MEAN_SHARES = (1 / 3, 11 / 15)
"""Where a mean seek lies between a track's and a full one, as the same file has it."""

Number = Any
"""A number of a profile, or a list of them with the shares that they belong to."""


@dataclass(frozen=True)
class NumberChange:
    """A number of a profile by its path, such as `read.p50_us`: what it was, and what it is now."""

    key: str
    was: Number
    now: Number


@dataclass(frozen=True)
class Varied:
    """A varied profile: its TOML text, and all that changed; nothing where nothing is assumed."""

    text: str
    changes: tuple[NumberChange, ...]


def list_assumed_numbers(text: str) -> tuple[str, ...]:
    """The assumed numbers of a profile that decide its times and rates, without those that are 0.

    Raises TOMLDecodeError for what is no TOML.
    """
    return tuple(
        _change_numbers(_list_numbers(tomllib.loads(text)), _list_assumed(text), 0.0, worse=True)
    )


def make_varied(text: str, share: float, *, worse: bool) -> Varied:
    """The profile with each assumed number worse, or better, by `share`.

    `text` must be a profile.
    """
    profile, assumed = tomllib.loads(text), _list_assumed(text)
    before = _list_numbers(profile)
    after = _sort(
        {**before, **_change_numbers(before, assumed, share, worse=worse)}, before, assumed
    )
    changes = tuple(
        NumberChange(key, was, after[key]) for key, was in before.items() if after[key] != was
    )
    for change in changes:
        table, _, name = change.key.rpartition(".")
        (profile[table] if table else profile)[name] = change.now
    _name(profile, changes, share, worse=worse)
    return Varied(_write_toml(profile), changes)


def _list_assumed(text: str) -> tuple[str, ...]:
    return tuple(tomllib.loads(text).get("provenance", {}).get("assumed", ()))


def _list_numbers(profile: Mapping[str, Any]) -> dict[str, Number]:
    found = {}
    for name, value in profile.items():
        inside = value.items() if isinstance(value, dict) else [("", value)]
        for key, number in inside:
            if name != "provenance" and not isinstance(number, str | bool):
                found[f"{name}.{key}" if key else name] = number
    return found


def _change_numbers(
    numbers: Mapping[str, Number], assumed: Sequence[str], share: float, *, worse: bool
) -> dict[str, Number]:
    """The assumed ones, varied; 0 has no share."""
    return {
        key: _scale(key, number, 1 + share if key.endswith(("_us", "_ms")) == worse else 1 - share)
        for key, number in numbers.items()
        if _is_among(key, assumed) and key not in FIXED and number
    }


def _is_among(key: str, assumed: Sequence[str]) -> bool:
    return key in assumed or key.partition(".")[0] in assumed


def _scale(key: str, number: Number, by: float) -> Number:
    if key.endswith(".load_us"):  # size, depth, then a time for each share
        return [[*row[:2], *(_multiply(each, by) for each in row[2:])] for row in number]
    if isinstance(number, list):  # pairs of a share and a time or rate
        return [[share, _multiply(each, by)] for share, each in number]
    return max(1, round(number * by)) if key in WHOLE else _multiply(number, by)


def _multiply(number: float, by: float) -> float:
    """The product, without the digits that only binary fractions have; whole where it is."""
    product = float(f"{number * by:.12g}")
    return int(product) if product.is_integer() else product


def _sort(
    after: dict[str, Number], before: Mapping[str, Number], assumed: Sequence[str]
) -> dict[str, Number]:
    """The numbers where each is on its side of the other; the assumed one gives way."""
    for low, high in ORDERED:
        if low in after and high in after and after[low] > after[high]:
            if _is_among(low, assumed):
                after[low] = after[high]
            else:
                after[high] = after[low]
    if all(key in after for key in SEEKS):
        track, mean, full = (after[key] for key in SEEKS)
        low, high = (track + share * (full - track) for share in MEAN_SHARES)
        if not low <= mean <= high:
            after.update({key: before[key] for key in SEEKS})
    return after


def _name(
    profile: dict[str, Any], changes: Sequence[NumberChange], share: float, *, worse: bool
) -> None:
    original, way, percent = profile["name"], "worse" if worse else "better", f"{share * 100:.0f}"
    how = f"{percent} % {way}"
    profile["name"] = f"{original}-{percent}-{way}"
    profile["title"] = f"{profile['title']}, every assumed number {how}"
    shown = ", ".join(f"{change.key} {change.now} instead of {change.was}" for change in changes)
    provenance = profile.setdefault("provenance", {})
    known = provenance.get("note", "")
    provenance["note"] = f"{known} Varied from {original}, {how}: {shown or 'nothing'}.".strip()


def _write_toml(profile: Mapping[str, Any]) -> str:
    """The profile as TOML; its strings, numbers and lists are written as in JSON."""
    tables = {name: value for name, value in profile.items() if isinstance(value, dict)}
    lines = [
        f"{key} = {_write_value(value)}" for key, value in profile.items() if key not in tables
    ]
    for name, table in tables.items():
        lines += ["", f"[{name}]"]
        sources = [(key, value) for key, value in table.items() if _is_tables(value)]
        lines += [f"{key} = {_write_value(v)}" for key, v in table.items() if not _is_tables(v)]
        for key, entries in sources:
            for entry in entries:
                lines += ["", f"[[{name}.{key}]]"]
                lines += [f"{each} = {_write_value(value)}" for each, value in entry.items()]
    return "\n".join(lines) + "\n"


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _write_value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
