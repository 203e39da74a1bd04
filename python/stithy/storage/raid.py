"""Levels of RAID, which engines of arrays have alike: copies, parity and stripes."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from stithy.storage.layer import power_of_two, rule

Level = Literal["single", "raid0", "raid1", "raid1c3", "raid10", "raid5", "raid6"]
COPIES: dict[Level, int] = {"raid1": 2, "raid1c3": 3, "raid10": 2}
PARITY: dict[Level, int] = {"raid5": 1, "raid6": 2}
MEMBERS: dict[Level, tuple[int, int | None]] = {
    "single": (1, None), "raid0": (2, None), "raid1": (2, 2), "raid1c3": (3, 3),
    "raid10": (4, None), "raid5": (3, None), "raid6": (4, None),
}  # fmt: skip
"""The least and most devices of each level: a mirror has as many as copies."""

STRIPED = ("raid0", "raid10", "raid5", "raid6")
LEVELS = (
    "How data lie on the devices: one after the other (`single`), striped (`raid0`), in two or "
    "three copies (`raid1`, `raid1c3`), striped over pairs of copies (`raid10`), striped with "
    "parity (`raid5`, `raid6`)."
)
Chunk = Annotated[str | None, AfterValidator(power_of_two)]


def chunk_field(usual: str) -> Any:
    """The key `chunk` of an engine; `usual`: what it is where none is given."""
    return Field(
        default=None,
        json_schema_extra={"default": usual},
        description="How much of a stripe lies on one device.",
    )


class RaidSpec(BaseModel):
    """The keys that engines have alike; each says what its own `chunk` usually is."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    level: Level = Field(default="raid1", description=LEVELS, examples=["single"])
    chunk: Chunk = None

    @model_validator(mode="after")
    def _only_stripes_have_chunks(self) -> Self:
        if self.chunk is not None and self.level not in STRIPED:
            right = f"leave out `chunk`, or use {', '.join(STRIPED)}"
            raise rule(f"{self.level} has no stripes", right)
        return self


def cautions(spec: RaidSpec, *, synchronised: bool = False) -> tuple[str, ...]:
    """What a person must know of the time before the first window.

    `synchronised`: copies are, too. Source of the time: 1 TB at 150 MB/s, as disks write in order.
    """
    if spec.level not in PARITY and not synchronised:
        return ()
    what = "it is synchronised before the first window"
    return (f"{what}, which takes up to 2 hours for each TB of a disk",)


def bytes_for_one(level: Level, count: int) -> float:
    """On so many devices: copies, or the share of a stripe that is not parity, inverted."""
    if level in PARITY:
        return count / (count - PARITY[level])
    return float(COPIES.get(level, 1))
