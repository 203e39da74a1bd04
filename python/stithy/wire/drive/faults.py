"""What can go wrong with a drive, as it is told to the drive program.

Kinds add up; the same kind replaces the one before. Types here decide nothing.
"""

from typing import Annotated, Literal

from pydantic import Field

from stithy.wire.jobs import U32, U64, Wire


class NoFault(Wire):
    """Ends stall, slow, a schedule, errors, gone and lying flush."""

    kind: Literal["none"] = "none"


class Stall(Wire):
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
    """These phases, one after the other."""

    kind: Literal["phases"] = "phases"
    phases: tuple[SlowPhase, ...]


class Schedule(Wire):
    """Slow in phases, one after the other; ends by itself."""

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
    NoFault | Stall | Slow | Schedule | Errors | Gone | Corrupt | LyingFlush | PowerCut | PowerOn
)
"""What can go wrong with a drive."""

DriveFault = Annotated[AnyFault, Field(discriminator="kind")]
"""The same as a field of a message."""
