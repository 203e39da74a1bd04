"""What a study says about one emulated drive.

Imports only pydantic and `stithy.units`. What a profile's name or text means is the drive program's
to judge.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    field_serializer,
)
from pydantic_core import PydanticCustomError

from stithy.units import BytesOrNone, Scale, format_scale, format_size

MIB = 2**20
SECTOR_BYTES = 4096
SIZE_BYTES_MIN = 64 * MIB
SIZE_BYTES_MAX = 2**50
USABLE_SHARE = 0.9
"""What a file system leaves of a drive for files; ext4 and XFS take 2 % to 6 % of a small one.
"""

OVERHEAD_BYTES: Mapping[str, int] = {"ext4": 192 * MIB, "xfs": 192 * MIB, "btrfs": 512 * MIB}
"""Journals, and for btrfs chunks of metadata that it keeps twice."""

FileSystem = Literal["ext4", "xfs", "btrfs"]
MEMORY = "memory"


def _profile(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        context = {
            "what": "not a drive profile",
            "right": "the name of a shipped one, such as generic-nvme, or the path of a file",
        }
        raise PydanticCustomError("profile", "{what}: {right}", context)
    return value.strip()


def _backing(value: Any) -> Path | None:
    """None is memory."""
    if value is None or value == MEMORY:
        return None
    if isinstance(value, str | Path) and Path(value).is_absolute() and str(value).isprintable():
        return Path(value)
    context = {
        "what": "not a place for a drive's bytes",
        "right": f"`{MEMORY}`, or a directory in full, such as /var/tmp/images",
    }
    raise PydanticCustomError("backing", "{what}: {right}", context)


def _size(value: int | None) -> int | None:
    if value is not None and not SIZE_BYTES_MIN <= value <= SIZE_BYTES_MAX:
        small = value < SIZE_BYTES_MIN
        bound = SIZE_BYTES_MIN if small else SIZE_BYTES_MAX
        context = {
            "what": "too small" if small else "too large",
            "right": f"at {'least' if small else 'most'} {format_size(bound)}",
        }
        raise PydanticCustomError("size", "{what}: {right}", context)
    return value


class DriveKeys(BaseModel):
    """One emulated drive, with a file system of its own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    drive: Annotated[str, BeforeValidator(_profile)] = Field(
        description="The drive profile: the name of a shipped one, or the path of a file.",
        examples=["generic-nvme"],
    )
    size_bytes: Annotated[BytesOrNone, AfterValidator(_size)] = Field(
        alias="size",
        default=None,
        json_schema_extra={"default": "the space that the plan needs"},
        description=(
            "Size of the drive, at least 64 MiB. It may be smaller than the capacity of the "
            "profile."
        ),
        examples=["8 GiB"],
    )
    filesystem: FileSystem = Field(
        default="ext4", description="The file system that Stithy makes on it.", examples=["xfs"]
    )
    scale: Scale = Field(
        default=1.0,
        json_schema_extra={"default": "1"},
        description=(
            "Scale model: capacity, IOPS and bandwidth of the profile are multiplied by this; "
            "latencies are not."
        ),
        examples=["1/8"],
    )
    backing: Annotated[
        Path | None, BeforeValidator(_backing), WithJsonSchema({"type": "string"})
    ] = Field(
        default=None,
        json_schema_extra={"default": MEMORY},
        description=(
            "Where the drive keeps its data: `memory`, or a directory, in which it makes a "
            "sparse file. The storage below must be faster than the drive."
        ),
        examples=["/var/tmp"],
    )
    seed: Annotated[int | None, Field(ge=0, lt=2**63), WithJsonSchema({"type": "integer"})] = Field(
        default=None,
        json_schema_extra={"default": "from the study's seed"},
        description="Seed of the drive's own random choices, such as its latencies.",
        examples=[7],
    )

    @field_serializer("size_bytes")
    def _size_as_written(self, value: int | None) -> str | None:
        return None if value is None else format_size(value)

    @field_serializer("scale")
    def _scale_as_written(self, value: float) -> str:
        return format_scale(value)

    def drive_bytes(self, needed_bytes: int) -> int:
        """How large the drive is, bytes: as asked, or else large enough for `needed_bytes`."""
        if self.size_bytes is not None:
            return self.size_bytes // SECTOR_BYTES * SECTOR_BYTES
        wanted = (needed_bytes + OVERHEAD_BYTES[self.filesystem]) / USABLE_SHARE
        return max(SIZE_BYTES_MIN, -(-round(wanted) // MIB) * MIB)

    def usable_bytes(self, drive_bytes: int) -> int:
        """How much of a drive files may take, bytes; an estimate on the safe side."""
        return max(0, round(drive_bytes * USABLE_SHARE) - OVERHEAD_BYTES[self.filesystem])

    def image_bytes(self, needed_bytes: int) -> int:
        """The memory that the drive takes, bytes: 0 where its bytes lie in a file."""
        return self.drive_bytes(needed_bytes) if self.backing is None else 0
