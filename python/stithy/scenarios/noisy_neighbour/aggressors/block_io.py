"""A neighbour that reads and writes a file of its own, at rates."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, PlainSerializer

from stithy.fio import FIO, library
from stithy.fio.jobfile import explain_no_rate
from stithy.fio.load import align_bytes
from stithy.fio.profile import IoProfile
from stithy.scenarios.noisy_neighbour.aggressor import Aggressor, DifferentTenants, Levels
from stithy.storage.provider import Role
from stithy.study.model import Study
from stithy.units import Bytes, WholePerSecond, format_size, limit_quantity, make_rule_error

NAME = "block-io"

MIB = 2**20
SLACK_BYTES = 64 * MIB
"""What a file system takes for itself beside the aggressor's file."""


def _make_pattern(name: str) -> str:
    if fault := library.find_fault(name):
        raise make_rule_error(*fault)
    patterns = library.find(name).patterns
    if len(patterns) != 1:
        names = ", ".join(f"{name}/{pattern.name}" for pattern in patterns)
        raise make_rule_error("a profile with several patterns", f"name one of them: {names}")
    if (why := explain_no_rate(patterns[0])) is not None:
        raise make_rule_error(f"a rate cannot be asked of it: {why}", "name another pattern")
    return name


class BlockIoAggressorSpec(DifferentTenants):
    """How many tenants share a candidate, and which I/O the aggressor beside them does."""

    FIXED: ClassVar = frozenset({"rate"})
    IMPLIED: ClassVar = frozenset({"aggressor", *DifferentTenants.IMPLIED})

    aggressor: Literal["block-io"] = Field(
        default="block-io",
        description="What the neighbour does: `block-io` runs an I/O profile beside the databases.",
        examples=["block-io"],
    )
    profile: Annotated[str, AfterValidator(_make_pattern)] = Field(
        default="sql-80-20",
        description="The aggressor's I/O profile, with one pattern.",
        examples=["four-corners/random-read-4k"],
    )
    rate: Levels[WholePerSecond] = Field(
        description=(
            "What is asked of the aggressor, requests a second; several are several points. Each "
            "is measured in rounds with the tenants alone."
        ),
        examples=[[200, 800]],
    )
    limit: WholePerSecond | None = Field(
        default=None,
        json_schema_extra={"default": "none"},
        description=(
            "Guard: the most requests a second that the aggressor gets, whatever it asks for, as "
            "a quota of the storage would have it."
        ),
        examples=[100],
    )
    size_bytes: Annotated[
        Bytes,
        limit_quantity(16 * MIB, 2**50, format_size),
        AfterValidator(align_bytes),
        PlainSerializer(format_size, when_used="json"),
    ] = Field(
        alias="size",
        default=256 * MIB,
        json_schema_extra={"default": "256 MiB"},
        description="Size of the aggressor's file, which is written once before the first window.",
        examples=["1 GiB"],
    )

    def list_profiles(self) -> dict[str, IoProfile]:
        return {self.profile: library.find(self.profile)}


class BlockIo(Aggressor):
    """A neighbour that reads and writes a file of its own, at rates."""

    name = NAME
    keys = BlockIoAggressorSpec
    has_dataset = False
    needs = (FIO,)

    def list_levels(self, spec: BlockIoAggressorSpec) -> tuple[int, ...]:
        return spec.rate

    def describe(self, level: int) -> str:
        return f"{level:,} requests per second"

    def count_added_bytes(
        self, spec: BlockIoAggressorSpec, held: int, study: Study
    ) -> Mapping[Role, int]:
        return {spec.volume: spec.size_bytes + SLACK_BYTES}


PLUGINS = (BlockIo(),)
