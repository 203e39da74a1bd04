"""The keys of block I/O in a study."""

from typing import Annotated, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer

from stithy.errors import Refused, UserError
from stithy.fio import library
from stithy.study.problems import Violation, refuse, rule_error, within
from stithy.units import Bytes, Percent, Seconds, format_duration, format_size

MIB = 2**20

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

    FIXED: ClassVar = frozenset({"profiles", "repeat"})
    """Keys whose values `vary` cannot list."""

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
