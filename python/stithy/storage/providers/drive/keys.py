"""What a study says about one emulated drive.

It does not touch the machine. What a profile's name or text means is the drive
program's to judge.
"""

from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)

from stithy.storage import sizes
from stithy.storage.layer import Layer, OneLayer, check_members, rule
from stithy.storage.sizes import FileSystem
from stithy.units import BytesOrNone, Scale, format_size

SIZE_BYTES_MIN = sizes.DEVICE_BYTES_MIN
SIZE_BYTES_MAX = 2**50
COUNT_MAX = 64
MEMORY = "memory"


def read_profile(value: Any) -> str:
    """For pydantic: the name or path of a drive profile."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        right = "the name of a shipped one, such as generic-nvme, or the path of a file"
        raise rule("not a drive profile", right)
    return value.strip()


def read_backing(value: Any) -> Path | None:
    """None is memory."""
    if value is None or value == MEMORY:
        return None
    if isinstance(value, str | Path) and Path(value).is_absolute() and str(value).isprintable():
        return Path(value)
    right = f"`{MEMORY}`, or a directory in full, such as /var/tmp/images"
    raise rule("not a place for a drive's bytes", right)


def read_size(value: int | None) -> int | None:
    """For pydantic: a size that a device can have, down to whole MiB."""
    if value is not None and not SIZE_BYTES_MIN <= value <= SIZE_BYTES_MAX:
        small = value < SIZE_BYTES_MIN
        bound = format_size(SIZE_BYTES_MIN if small else SIZE_BYTES_MAX)
        right = f"at {'least' if small else 'most'} {bound}"
        raise rule("too small" if small else "too large", right)
    return value and value // sizes.MIB * sizes.MIB


DriveProfile = Annotated[str, BeforeValidator(read_profile)]
Backing = Annotated[Path | None, BeforeValidator(read_backing), WithJsonSchema({"type": "string"})]
DriveBytes = Annotated[
    BytesOrNone,
    AfterValidator(read_size),
    PlainSerializer(lambda size: None if size is None else format_size(size)),
]
"""The size of a device, written as in a study."""


class DriveKeys(BaseModel):
    """One emulated drive, or an array of equal ones, with a file system of its own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    drive: DriveProfile = Field(
        description="The drive profile: the name of a shipped one, or the path of a file.",
        examples=["generic-nvme"],
    )
    count: int = Field(
        default=1,
        ge=1,
        le=COUNT_MAX,
        description="How many such drives there are. More than one need a `layer` over them.",
        examples=[4],
    )
    layer: Annotated[Layer | None, OneLayer()] = Field(
        default=None,
        json_schema_extra={"default": "none"},
        description="The array that makes one volume of the drives.",
    )
    size_bytes: DriveBytes = Field(
        alias="size",
        default=None,
        json_schema_extra={"default": "the space that the plan needs"},
        description=(
            "Size of each drive, at least 64 MiB. It may be smaller than the capacity of the "
            "profile."
        ),
        examples=["8 GiB"],
    )
    filesystem: FileSystem = Field(
        default="ext4",
        description=(
            "The file system that Stithy makes on it; `none` for the drive as it is, which no "
            "database can use."
        ),
        examples=["btrfs"],
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
    backing: Backing = Field(
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

    trace: bool = Field(
        default=False,
        description=(
            "Whether every request of each measurement is recorded, 32 bytes a request, for "
            "`stithy block --learn RUN`."
        ),
    )

    @model_validator(mode="after")
    def _layer_fits(self) -> Self:
        asked = self.filesystem if "filesystem" in self.model_fields_set else None
        check_members(self.layer, self.count, asked, "count", equal=True)
        return self

    def names(self, role: str) -> tuple[str, ...]:
        """What its drives are called: as their role, or `data-1` and on where there are several."""
        if self.count == 1:
            return (role,)
        return tuple(f"{role}-{number}" for number in range(1, self.count + 1))

    def drive_bytes(self, needed_bytes: int) -> int:
        """How large a drive is, bytes: as asked, or else large enough for `needed_bytes` on all."""
        if self.size_bytes is not None:
            return self.size_bytes
        if self.layer is not None:
            return self.layer.member_bytes(self.filesystem, needed_bytes, self.count)
        return sizes.device_bytes(self.filesystem, needed_bytes)

    def usable_bytes(self, drive_bytes: int) -> int:
        """How much files may take of drives of this size, bytes; an estimate on the safe side."""
        if self.layer is not None:
            return self.layer.usable_bytes(self.filesystem, [drive_bytes] * self.count)
        return sizes.usable_bytes(self.filesystem, drive_bytes)

    def image_bytes(self, needed_bytes: int) -> int:
        """The memory that the drives take, bytes: 0 where their bytes lie in files."""
        return self.count * self.drive_bytes(needed_bytes) if self.backing is None else 0

    def set_aside(self, needed_bytes: int) -> tuple[int, float]:
        """Bytes on all its drives, and how many of them a byte of files takes."""
        redundancy = 1.0 if self.layer is None else self.layer.redundancy(self.count)
        return self.count * self.drive_bytes(needed_bytes), redundancy
