"""What a study says about one emulated drive.

Imports only pydantic, `stithy.units` and `stithy.storage.sizes`. What a profile's name or text
means is the drive program's to judge.
"""

from pathlib import Path
from typing import Annotated, Any

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

from stithy.storage import sizes
from stithy.storage.sizes import FileSystem
from stithy.units import BytesOrNone, Scale, format_scale, format_size

SECTOR_BYTES = 4096
SIZE_BYTES_MIN = sizes.DEVICE_BYTES_MIN
SIZE_BYTES_MAX = 2**50
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
        return sizes.device_bytes(self.filesystem, needed_bytes)

    def usable_bytes(self, drive_bytes: int) -> int:
        """How much of a drive files may take, bytes; an estimate on the safe side."""
        return sizes.usable_bytes(self.filesystem, drive_bytes)

    def image_bytes(self, needed_bytes: int) -> int:
        """The memory that the drive takes, bytes: 0 where its bytes lie in a file."""
        return self.drive_bytes(needed_bytes) if self.backing is None else 0
