"""Block I/O: what storage can do before a database uses it, by profiles of fio.

A file as large as the study says is written once on each candidate, or a block device is written
as far as that. Each window runs a pattern of a profile on it, as fast as it goes; patterns and
candidates are measured in rounds.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer

from stithy.errors import Refused, UserError
from stithy.fio import FIO, library
from stithy.needs import OwnProgram
from stithy.plan import loop
from stithy.plan.order import Block
from stithy.plan.scenario import Scene
from stithy.plan.steps import Cost, Step, WindowPlan, step_id
from stithy.point import Value
from stithy.storage.provider import ROLES, Role
from stithy.study.load_keys import Load
from stithy.study.model import Study
from stithy.study.problems import Violation, refuse, rule_error, within
from stithy.units import Bytes, Percent, Seconds, format_duration, format_size

NAME = "block-io"
NEEDS = (OwnProgram(name="stithy-hammer", why="it makes the baseline checks"), FIO)
SECTIONS: tuple[str, ...] = ()
METRIC = "fio.iops"
BLOCK_DEVICES = True

MIB = 2**20
SLACK_BYTES = 64 * MIB
"""What a file system takes for itself beside the file."""

WRITTEN_BYTES_PER_S = 100 * MIB
WRITTEN_BYTES_PER_S_MIN = 5 * MIB
"""How fast the target is written: likely, and at least."""


_SHOWN = PlainSerializer(format_duration, when_used="json")


def _profile(name: str) -> str:
    try:
        library.find(name)
    except UserError as error:
        raise rule_error("not an I/O profile", error.remedy) from error
    except Refused as error:
        raise rule_error("an I/O profile with faults", str(error)) from error
    return name


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    refuse(
        Violation("a profile given twice", "keep one of them", name, (i,))
        for i, name in enumerate(names)
        if name in names[:i]
    )
    return names


class Spec(BaseModel):
    """Which patterns of I/O are run on each candidate, on how much data, for how long."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    profiles: Annotated[
        tuple[Annotated[str, AfterValidator(_profile)], ...],
        Field(min_length=1, max_length=50),
        AfterValidator(_distinct),
    ] = Field(
        description=(
            "I/O profiles by name, such as `four-corners` or `sql-80-20`, one pattern of a profile "
            "(`four-corners/random-read-4k`), or files of your own (`./mine.toml`). Each pattern "
            "is measured by itself. docs/reference/io-profiles.md lists what is shipped."
        ),
        examples=[["four-corners", "sql"]],
    )
    size_bytes: Annotated[
        Bytes, within(16 * MIB, 2**50, format_size), PlainSerializer(format_size, when_used="json")
    ] = Field(
        alias="size",
        default=1024 * MIB,
        json_schema_extra={"default": "1 GiB"},
        description=(
            "How much of each candidate is used: the size of a file, or the first part of a block "
            "device. All of it is written once before the first window."
        ),
        examples=["8 GiB"],
    )
    ramp_up_s: Annotated[Seconds, within(0, 3600, format_duration), _SHOWN] = Field(
        alias="ramp_up",
        default=5.0,
        json_schema_extra={"default": "5 s"},
        description="I/O before each measurement.",
        examples=["30 s"],
    )
    duration_s: Annotated[Seconds, within(1, 86_400, format_duration), _SHOWN] = Field(
        alias="duration",
        default=30.0,
        json_schema_extra={"default": "30 s"},
        description="Length of each measurement.",
        examples=["2 min"],
    )
    compressible_percent: Annotated[Percent | None, Field(ge=0, le=100)] = Field(
        alias="compressible",
        default=None,
        json_schema_extra={"default": "that of the profile"},
        description="Share of the written data that compression saves.",
        examples=["50%"],
    )
    repeat: Annotated[int | None, Field(ge=1, le=100)] = Field(
        default=None,
        json_schema_extra={"default": "until the primary question is decided"},
        description="A fixed number of blocks at every point.",
        examples=[3],
    )


def spec_of(study: Study) -> Spec:
    """The keys of the scenario."""
    assert isinstance(study.scenario.spec, Spec)  # read by it
    return study.scenario.spec


def factors(spec: Spec, _: Load | None) -> Mapping[str, Sequence[Value]]:
    """Each pattern of each profile."""
    found: list[Value] = []
    for name in spec.profiles:
        patterns = library.find(name).patterns
        one = len(patterns) == 1
        found += [name] if one else [f"{name}/{each.name}" for each in patterns]
    return {"profile": found}


def needed_bytes(study: Study) -> dict[Role, int]:
    """The target, and a little for its file system."""
    size = spec_of(study).size_bytes + SLACK_BYTES
    return {role: size if role == "data" else SLACK_BYTES for role in ROLES}


def steps(study: Study, scene: Scene) -> Iterator[Step]:
    """Volumes, targets, windows in rounds, and nothing is left."""
    yield from loop.provisions(study, scene)
    size = spec_of(study).size_bytes
    for name in study.candidates:
        likely_s, most_s = size / WRITTEN_BYTES_PER_S, size / WRITTEN_BYTES_PER_S_MIN
        cost = Cost(1 + likely_s, 10 + most_s, scene.held, scene.pages(name))
        yield Step(step_id("lay-out", name), "lay-out", name, cost)
    yield from loop.windows(study, scene, windows_of, around, in_rounds=True)
    yield from loop.tear_downs(study, scene)


def windows_of(study: Study, block: Block, *, tried: bool = False) -> Iterator[WindowPlan]:
    """The windows of a block."""
    spec = spec_of(study.at(block.point))
    return loop.windows_of(block, spec.ramp_up_s, spec.duration_s, ("fio",), tried=tried)


def around(_: Study, scene: Scene, window: WindowPlan) -> Iterator[Step]:
    """The window, and the baseline check before its block."""
    yield from loop.baseline_check(scene, window)
    work_s = window.ramp_up_s + window.duration_s
    cost = Cost(work_s + 2, work_s + 60, scene.held, scene.pages(window.candidate))
    spared = loop.may_be_spared(scene, window)
    yield Step(window.id, "window", window.candidate, cost, window, if_undecided=spared)
