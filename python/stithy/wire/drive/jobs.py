"""What the drive program is asked to do: serve drives, tell what is shipped, judge a profile.

Types here decide nothing.
"""

from typing import Annotated, Literal

from pydantic import Field

from stithy.wire.jobs import U32, U64, WIRE_VERSION, Wire


class InMemory(Wire):
    """The bytes of a drive lie in memory, and are gone with the program."""

    kind: Literal["memory"] = "memory"


class InFile(Wire):
    """The bytes of a drive lie in a sparse file, made where there is none."""

    kind: Literal["file"] = "file"
    path: str


DriveBacking = Annotated[InMemory | InFile, Field(discriminator="kind")]
"""Where the bytes of a drive lie."""


class FromProfile(Wire):
    """As much as the profile's write cache holds; nothing where it is protected or there is none.

    Nothing as well without a profile.
    """

    kind: Literal["from-profile"] = "from-profile"


class Protected(Wire):
    """Nothing: what was answered is kept."""

    kind: Literal["protected"] = "protected"


class VolatileBytes(Wire):
    """The newest writes up to so many bytes; older ones have reached the medium."""

    kind: Literal["bytes"] = "bytes"
    limit_bytes: U64


DriveVolatile = Annotated[FromProfile | Protected | VolatileBytes, Field(discriminator="kind")]
"""What a power cut may take away of what was answered and not flushed."""


class WireDriveSpec(Wire):
    """One drive.

    `profile` is TOML, None takes no time; `scale` divides its capacity, IOPS and bandwidth and
    keeps latencies. `transport_s` is the transport's own time, by which answers are made earlier,
    `spin_s` how long before an answer is due waiting becomes spinning; None: as the program finds
    good. The interval log goes to `<hlog_stem>.latency.hlog`, None: there is none.
    """

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
    """Serve drives until told to stop.

    `control` is the path of the socket. `hold_off_idle` keeps CPUs out of deep idle states while
    drives have requests, which wakes them faster.
    """

    job: Literal["drive-up"] = "drive-up"
    wire: U32 = WIRE_VERSION
    control: str
    drives: tuple[WireDriveSpec, ...]
    hold_off_idle: bool


class CatalogueJob(Wire):
    """Tell what is shipped: drive profiles and schedules of faults."""

    job: Literal["catalogue"] = "catalogue"
    wire: U32 = WIRE_VERSION


class CheckProfileJob(Wire):
    """Judge a drive profile as a drive of it would be; `file` is what messages call it."""

    job: Literal["check-profile"] = "check-profile"
    wire: U32 = WIRE_VERSION
    file: str
    text: str
    scale: float


class LoadPoint(Wire):
    """One way of asking a drive: always `depth` requests of one size under way.

    `flushed_every`: after so many writes a flush is waited for; 0: never.
    """

    read_share: float
    length_bytes: U64
    depth: U64
    sequential: bool
    flushed_every: U64


class ProfileFiguresJob(Wire):
    """Simulate a fresh drive of a profile at each point: `requests` of them within `span_bytes`."""

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
