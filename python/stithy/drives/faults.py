"""The faults of a drive by their names, with their options: in studies and on the command line.

Each is one class of options that makes what the drive program is asked. Faults of different kinds
add up.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import Field, PlainSerializer, TypeAdapter, model_validator

from stithy.units import (
    FinePercent,
    FrozenModel,
    ShownBytesOrNone,
    ShownSeconds,
    format_duration,
    make_rule_error,
)

if TYPE_CHECKING:
    from stithy.wire.drive.jobs import AnyFault

HANG_S = 3600.0
"""Longer than any fault lasts: it is ended when it is healed."""

FACTOR, FACTOR_MOST = 20.0, 1e6
BITS, BITS_MOST = 1_000, 1_000_000
"""As many as the drive program flips at once."""

LOST, TORN = 30.0, 40.0

ShownShare = Annotated[FinePercent, PlainSerializer(lambda value: f"{value:g}%", when_used="json")]


class DriveFaultOptions(FrozenModel):
    """The options of a fault of a drive."""

    def make_fault(self, size_bytes: int) -> "AnyFault":
        """Make what the drive program is asked, of a drive of this size."""
        raise NotImplementedError


class HungOptions(DriveFaultOptions):
    """A drive answers nothing."""

    duration_s: Annotated[ShownSeconds, Field(ge=0, le=HANG_S)] = Field(
        alias="duration", default=HANG_S, json_schema_extra={"default": "until it is healed"},
        description="How long it hangs.", examples=["6 s"],
    )  # fmt: skip

    def make_fault(self, size_bytes: int) -> "AnyFault":
        from stithy.wire.drive.jobs import StallFault

        return StallFault(duration_s=self.duration_s)


class ShareOptions(DriveFaultOptions):
    """How many requests suffer."""

    share: Annotated[ShownShare, Field(ge=0.1, le=100)] = Field(
        default=100.0, json_schema_extra={"default": "100%"}, examples=["5%"],
        description="Share of the requests that are slow, or fail; flushes are of every region.",
    )  # fmt: skip


class SlowOptions(ShareOptions):
    """How slow a drive becomes."""

    factor: float = Field(
        default=FACTOR, ge=1, le=FACTOR_MOST, examples=[5.0],
        description="By how much the time of each request of the share is multiplied.",
    )  # fmt: skip
    added_s: Annotated[ShownSeconds, Field(ge=0, le=60)] = Field(
        alias="added", default=0.0, json_schema_extra={"default": "0 s"}, examples=["5 ms"],
        description="Time that is added to each of these requests.",
    )  # fmt: skip

    def make_fault(self, size_bytes: int) -> "AnyFault":
        from stithy.wire.drive.jobs import Slow

        return Slow(factor=self.factor, added_s=self.added_s, share=self.share / 100)


class StutteringOptions(DriveFaultOptions):
    """How a drive stutters: it is slow for a while, again and again."""

    every_s: Annotated[ShownSeconds, Field(ge=0.01, le=3600)] = Field(
        alias="every", default=1.0, json_schema_extra={"default": "1 s"}, examples=["2 s"],
        description="From the begin of one slow time to that of the next.",
    )  # fmt: skip
    slow_s: Annotated[ShownSeconds, Field(ge=0.001, le=3600)] = Field(
        alias="slow", default=0.3, json_schema_extra={"default": "300 ms"}, examples=["500 ms"],
        description="How long each slow time lasts.",
    )  # fmt: skip
    added_s: Annotated[ShownSeconds, Field(ge=0.0001, le=60)] = Field(
        alias="added", default=0.1, json_schema_extra={"default": "100 ms"}, examples=["5 ms"],
        description="Time that is added to each request of a slow time.",
    )  # fmt: skip

    @model_validator(mode="after")
    def _refuse_always_slow(self) -> Self:
        if self.slow_s >= self.every_s:
            right = f"`slow` shorter than `every`, which is {format_duration(self.every_s)}"
            raise make_rule_error("never anything but slow", right)
        return self

    def make_fault(self, size_bytes: int) -> "AnyFault":
        from stithy.wire.drive.jobs import FaultSchedule, Phases, SlowPhase

        times_s = ((self.slow_s, self.added_s), (self.every_s - self.slow_s, 0.0))
        phases = tuple(
            SlowPhase(duration_s=lasts_s, factor=1, added_s=added_s, read_share=1, write_share=1)
            for lasts_s, added_s in times_s
        )
        return FaultSchedule(schedule=Phases(phases=phases, repeats=True))


class ScheduledOptions(DriveFaultOptions):
    """Which shipped schedule a drive follows."""

    schedule: Literal["decreasing", "increasing", "intermittent", "sustained"] = Field(
        default="increasing", examples=["sustained"],
        description="A shipped schedule, by its name in `stithy drive catalogue`.",
    )  # fmt: skip

    def make_fault(self, size_bytes: int) -> "AnyFault":
        from stithy.wire.drive.jobs import FaultSchedule, Shipped

        return FaultSchedule(schedule=Shipped(name=self.schedule))


class RangeOptions(DriveFaultOptions):
    """Which region of a drive is meant."""

    offset_bytes: ShownBytesOrNone = Field(
        alias="offset", default=None, json_schema_extra={"default": "0 B"}, examples=["1 GiB"],
        description="Where the region begins.",
    )  # fmt: skip
    length_bytes: ShownBytesOrNone = Field(
        alias="length", default=None, json_schema_extra={"default": "to the end"},
        description="How long the region is.", examples=["64 MiB"],
    )  # fmt: skip


class ErrorOptions(RangeOptions, ShareOptions):
    """Which requests of a drive fail."""

    only: Literal["reads", "writes"] | None = Field(
        default=None, json_schema_extra={"default": "both"}, examples=["reads"],
        description="Which requests fail: `reads`, or `writes` with flushes and discards.",
    )  # fmt: skip

    def make_fault(self, size_bytes: int) -> "AnyFault":
        from stithy.wire.drive.jobs import Errors

        return Errors(
            reads=self.only != "writes", writes=self.only != "reads",
            offset_bytes=self.offset_bytes or 0, length_bytes=self.length_bytes,
            share=self.share / 100,
        )  # fmt: skip


class SeededOptions(DriveFaultOptions):
    """What draws at random."""

    seed: int = Field(
        default=0, ge=0, lt=2**63, description="Seed of the random choice.", examples=[7]
    )


class CorruptingOptions(RangeOptions, SeededOptions):
    """How much of a drive is changed without any error; for good."""

    bits: int = Field(
        default=BITS, ge=1, le=BITS_MOST, description="Number of bits that flip.", examples=[100]
    )

    def make_fault(self, size_bytes: int) -> "AnyFault":
        from stithy.wire.drive.jobs import Corrupt

        offset = self.offset_bytes or 0
        length = size_bytes - offset if self.length_bytes is None else self.length_bytes
        return Corrupt(offset_bytes=offset, length_bytes=length, bits=self.bits, seed=self.seed)


class PowerCutOptions(SeededOptions):
    """What becomes of writes that no flush covers; the remaining share is kept."""

    lost: Annotated[ShownShare, Field(ge=0, le=100)] = Field(
        default=LOST, json_schema_extra={"default": f"{LOST:g}%"}, examples=["100%"],
        description="Share of the volatile writes that are lost.",
    )  # fmt: skip
    torn: Annotated[ShownShare, Field(ge=0, le=100)] = Field(
        default=TORN, json_schema_extra={"default": f"{TORN:g}%"}, examples=["0%"],
        description="Share of the volatile writes of which each unit is kept or lost by itself.",
    )  # fmt: skip
    unit: Literal[512, 4096] = Field(
        default=512, description="Bytes that are written whole or not at all.", examples=[4096]
    )

    @model_validator(mode="after")
    def _refuse_more_than_all(self) -> Self:
        if self.lost + self.torn > 100:
            right = "shares of lost and torn writes that are at most 100% together"
            raise make_rule_error("more than all writes", right)
        return self

    def make_fault(self, size_bytes: int) -> "AnyFault":
        from stithy.wire.drive.jobs import PowerCut

        return PowerCut(
            seed=self.seed, lost_share=self.lost / 100, torn_share=self.torn / 100,
            unit_bytes=self.unit,
        )  # fmt: skip


class PlainOptions(DriveFaultOptions):
    """None: there is one such fault only."""

    wire: ClassVar[Mapping[str, object]]

    def make_fault(self, size_bytes: int) -> "AnyFault":
        from stithy.wire.drive.jobs import DriveFault

        read: TypeAdapter[AnyFault] = TypeAdapter(DriveFault)
        return read.validate_python(self.wire)


class GoneOptions(PlainOptions):
    """All requests of a drive fail."""

    wire = {"kind": "gone"}


class LyingOptions(PlainOptions):
    """Flushes are answered at once, and make nothing durable."""

    wire = {"kind": "lying-flush"}


class ReadOnlyOptions(PlainOptions):
    """A drive refuses all writes."""

    wire = {"kind": "errors", "reads": False, "writes": True, "offset_bytes": 0,
            "length_bytes": None, "share": 1.0}  # fmt: skip


FAULTS: Mapping[str, type[DriveFaultOptions]] = {
    "drive-slow": SlowOptions, "drive-stuttering": StutteringOptions,
    "drive-scheduled": ScheduledOptions, "drive-hung": HungOptions, "drive-errors": ErrorOptions,
    "drive-read-only": ReadOnlyOptions, "drive-gone": GoneOptions,
    "drive-corrupting": CorruptingOptions, "drive-lying": LyingOptions,
    "drive-power-cut": PowerCutOptions,
}  # fmt: skip
"""By the names that studies and `stithy drive fault` have for them."""
