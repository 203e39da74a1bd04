"""The keys of noisy neighbours in a study."""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer

from stithy.errors import UserError
from stithy.fio import library
from stithy.fio.jobfile import why_no_rate
from stithy.study.problems import Violation, refuse, rule_error, within
from stithy.units import Bytes, format_size

MIB = 2**20
TENANTS_MOST = 64
RATES_MOST = 10


def _pattern(name: str) -> str:
    try:
        patterns = library.find(name).patterns
    except UserError as error:
        raise rule_error("not an I/O profile", error.remedy) from error
    if len(patterns) != 1:
        names = ", ".join(f"{name}/{each.name}" for each in patterns)
        raise rule_error("a profile with several patterns", f"name one of them: {names}")
    if (why := why_no_rate(patterns[0])) is not None:
        raise rule_error(f"a rate cannot be asked of it: {why}", "name another pattern")
    return name


def _rising(rates: tuple[int, ...]) -> tuple[int, ...]:
    refuse(
        Violation("a rate given twice", "keep one of them", each, (i,))
        for i, each in enumerate(rates)
        if each in rates[:i]
    )
    return tuple(sorted(rates))


class Spec(BaseModel):
    """How many tenants share a candidate, and what the aggressor beside them does."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    FIXED: ClassVar = frozenset({"rate"})
    """Keys whose values `vary` cannot list."""

    IMPLIED: ClassVar = frozenset({"aggressor", "volume", "limit"})
    """Keys that are said only where they differ from their default."""

    tenants: Annotated[int, Field(ge=1, le=TENANTS_MOST)] = Field(
        default=2,
        description=(
            "Instances of the database on each candidate. Each has its own copy of the dataset, "
            "its own server with `database.memory`, and all users of `load`. All begin together."
        ),
        examples=[12],
    )
    aggressor: Literal["block-io"] = Field(
        default="block-io",
        description="What the neighbour does: `block-io` runs an I/O profile beside the databases.",
        examples=["block-io"],
    )
    profile: Annotated[str, AfterValidator(_pattern)] = Field(
        default="sql-80-20",
        description="The aggressor's I/O profile, with one pattern.",
        examples=["four-corners/random-read-4k"],
    )
    rate: Annotated[
        tuple[Annotated[int, Field(ge=1, le=10_000_000)], ...],
        Field(min_length=1, max_length=RATES_MOST),
        AfterValidator(_rising),
    ] = Field(
        description=(
            "What is asked of the aggressor, requests a second; several are several points. Each "
            "is measured in rounds with the tenants alone."
        ),
        examples=[[200, 800]],
    )
    limit: Annotated[int | None, Field(ge=1, le=10_000_000)] = Field(
        default=None,
        json_schema_extra={"default": "none"},
        description=(
            "Guard: the most requests a second that the aggressor gets, whatever it asks for, as "
            "a quota of the storage would have it."
        ),
        examples=[100],
    )
    size_bytes: Annotated[
        Bytes, within(16 * MIB, 2**50, format_size), PlainSerializer(format_size, when_used="json")
    ] = Field(
        alias="size",
        default=256 * MIB,
        json_schema_extra={"default": "256 MiB"},
        description="Size of the aggressor's file, which is written once before the first window.",
        examples=["1 GiB"],
    )
    volume: Literal["data", "backup"] = Field(
        default="data",
        description=(
            "Where the aggressor works: on the volume of the databases, or on that of the role "
            "`backup`. With separate drives the second is the control that must find nothing."
        ),
        examples=["backup"],
    )
