"""What the drive program is asked: serve drives, list what is shipped, judge a profile, fail.

Faults add up; the same kind replaces the one before. Types here decide nothing.
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
    keeps latencies. `transport_s` is the transport latency, by which answers are made earlier,
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


class NoFault(Wire):
    """Ends stall, slow, a schedule, errors, gone and lying flush."""

    kind: Literal["none"] = "none"


class StallFault(Wire):
    """Nothing is answered for a while."""

    kind: Literal["stall"] = "stall"
    duration_s: float


class Slow(Wire):
    """A share of the requests takes `factor` times as long and `added_s` more."""

    kind: Literal["slow"] = "slow"
    factor: float
    added_s: float
    share: float


class SlowPhase(Wire):
    """One phase of a slow drive; flushes and discards count as writes. Shares are 0 to 1."""

    duration_s: float
    factor: float
    added_s: float
    read_share: float
    write_share: float


class Shipped(Wire):
    """A schedule that the program brings along; its catalogue tells which."""

    kind: Literal["shipped"] = "shipped"
    name: str


class Phases(Wire):
    """These phases, one after the other; `repeats`: again and again, until `none`."""

    kind: Literal["phases"] = "phases"
    phases: tuple[SlowPhase, ...]
    repeats: bool


class FaultSchedule(Wire):
    """Slow in phases, one after the other; one that does not repeat ends by itself."""

    kind: Literal["schedule"] = "schedule"
    schedule: Annotated[Shipped | Phases, Field(discriminator="kind")]


class Errors(Wire):
    """A share of the requests to a range fails; `length_bytes` None: to the end.

    `writes`: writes, flushes and discards; flushes have no range.
    """

    kind: Literal["errors"] = "errors"
    reads: bool
    writes: bool
    offset_bytes: U64
    length_bytes: U64 | None
    share: float


class Gone(Wire):
    """Every request fails, those under way too."""

    kind: Literal["gone"] = "gone"


class Corrupt(Wire):
    """So many bits of a range of the image flip, unknown to the drive."""

    kind: Literal["corrupt"] = "corrupt"
    offset_bytes: U64
    length_bytes: U64
    bits: U64
    seed: U64


class LyingFlush(Wire):
    """Flushes are answered at once and promise nothing."""

    kind: Literal["lying-flush"] = "lying-flush"


class PowerCut(Wire):
    """What was not flushed is decided about, and every request fails until power-on.

    `lost_share` of the volatile writes are lost whole; of `torn_share` each unit of `unit_bytes`
    (512 or 4096) is kept or lost by itself.
    """

    kind: Literal["power-cut"] = "power-cut"
    seed: U64
    lost_share: float
    torn_share: float
    unit_bytes: U32


class PowerOn(Wire):
    """The drive comes back after a power cut."""

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
