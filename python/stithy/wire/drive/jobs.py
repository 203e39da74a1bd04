"""What the drive program is asked: serve drives, list what is shipped, judge a profile, fail.

Faults add up; the same kind replaces the one before. Types here decide nothing, and are described
once: in `crates/wire/src/drive/`.
"""

from typing import Annotated, Literal

from pydantic import Field

from stithy.wire.jobs import U32, U64, WIRE_VERSION, Wire


class InMemory(Wire):
    kind: Literal["memory"] = "memory"


class InFile(Wire):
    kind: Literal["file"] = "file"
    path: str


DriveBacking = Annotated[InMemory | InFile, Field(discriminator="kind")]
"""Where the bytes of a drive lie."""


class FromProfile(Wire):
    kind: Literal["from-profile"] = "from-profile"


class Protected(Wire):
    kind: Literal["protected"] = "protected"


class VolatileBytes(Wire):
    kind: Literal["bytes"] = "bytes"
    limit_bytes: U64


DriveVolatile = Annotated[FromProfile | Protected | VolatileBytes, Field(discriminator="kind")]
"""What a power cut may take away of what was answered and not flushed."""


class WireDriveSpec(Wire):
    name: str
    size_bytes: U64
    sector_bytes: U32
    backing: DriveBacking
    volatile: DriveVolatile
    profile: str | None
    scale: float
    seed: U64
    transport_s: float | None
    spin_s: float | None
    hlog_stem: str | None


class DriveUpJob(Wire):
    job: Literal["drive-up"] = "drive-up"
    wire: U32 = WIRE_VERSION
    control: str
    drives: tuple[WireDriveSpec, ...]
    hold_off_idle: bool


class CatalogueJob(Wire):
    job: Literal["catalogue"] = "catalogue"
    wire: U32 = WIRE_VERSION


class CheckProfileJob(Wire):
    job: Literal["check-profile"] = "check-profile"
    wire: U32 = WIRE_VERSION
    file: str
    text: str
    scale: float


class LoadPoint(Wire):
    read_share: float
    length_bytes: U64
    depth: U64
    sequential: bool
    flushed_every: U64


class ProfileFiguresJob(Wire):
    job: Literal["profile-figures"] = "profile-figures"
    wire: U32 = WIRE_VERSION
    file: str
    text: str
    scale: float
    seed: U64
    span_bytes: U64
    requests: U64
    points: tuple[LoadPoint, ...]


AnyDriveJob = DriveUpJob | CatalogueJob | CheckProfileJob | ProfileFiguresJob
"""One task for the drive program."""


class NoFault(Wire):
    kind: Literal["none"] = "none"


class StallFault(Wire):
    kind: Literal["stall"] = "stall"
    duration_s: float


class Slow(Wire):
    kind: Literal["slow"] = "slow"
    factor: float
    added_s: float
    share: float


class SlowPhase(Wire):
    duration_s: float
    factor: float
    added_s: float
    read_share: float
    write_share: float


class Shipped(Wire):
    kind: Literal["shipped"] = "shipped"
    name: str


class Phases(Wire):
    kind: Literal["phases"] = "phases"
    phases: tuple[SlowPhase, ...]
    repeats: bool


class FaultSchedule(Wire):
    kind: Literal["schedule"] = "schedule"
    schedule: Annotated[Shipped | Phases, Field(discriminator="kind")]


class Errors(Wire):
    kind: Literal["errors"] = "errors"
    reads: bool
    writes: bool
    offset_bytes: U64
    length_bytes: U64 | None
    share: float


class Gone(Wire):
    kind: Literal["gone"] = "gone"


class Corrupt(Wire):
    kind: Literal["corrupt"] = "corrupt"
    offset_bytes: U64
    length_bytes: U64
    bits: U64
    seed: U64


class LyingFlush(Wire):
    kind: Literal["lying-flush"] = "lying-flush"


class PowerCut(Wire):
    kind: Literal["power-cut"] = "power-cut"
    seed: U64
    lost_share: float
    torn_share: float
    unit_bytes: U32


class PowerOn(Wire):
    kind: Literal["power-on"] = "power-on"


AnyFault = (
    NoFault
    | StallFault
    | Slow
    | FaultSchedule
    | Errors
    | Gone
    | Corrupt
    | LyingFlush
    | PowerCut
    | PowerOn
)
"""What can go wrong with a drive."""

DriveFault = Annotated[AnyFault, Field(discriminator="kind")]
"""The same as a field of a message."""
