"""What a drive is to be: name, profile, size, where its bytes lie.

Whether a profile is sound and whether the machine has room is for the drive program to say; here
only what could not even be told to it is refused.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stithy.errors import UserError
from stithy.wire.drive.jobs import (
    DriveVolatile,
    FromProfile,
    InFile,
    InMemory,
    WireDriveSpec,
)

SIZE_BYTES_MAX = 2**53
"""8 PiB; beyond it no file system follows, and numbers in JSON lose their last digits."""

SEED_MAX = 2**64 - 1
SECTORS_BYTES = (512, 4096)

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
NAME_RULE = (
    "give letters, digits, `-`, `_` and `.`, at most 64 of them, the first a letter or a digit"
)


@dataclass(frozen=True)
class DriveSpec:
    """One drive.

    `profile` is the text of a drive profile (see `profiles.profile_text`), None takes no time.
    `backing` is the sparse file of its bytes, which stays when the drive goes down; None: they lie
    in memory, and are gone with it. `scale` is the divisor of its capacity, IOPS and bandwidth: 8
    for 1/8. `volatile`: what a power cut may take away. `transport_s` and `spin_s` None: as the
    program finds good. The interval log goes to `<hlog_stem>.latency.hlog`, None: there is none.
    Raises UserError for a name, size, sector, scale or seed that no drive can have.
    """

    name: str
    profile: str | None
    size_bytes: int
    sector_bytes: int = 4096
    backing: Path | None = None
    scale: float = 1.0
    seed: int = 0
    volatile: DriveVolatile = field(default_factory=FromProfile)
    transport_s: float | None = None
    spin_s: float | None = None
    hlog_stem: Path | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be told to the program."""
        check_name(self.name)
        self._refuse_unless(
            self.sector_bytes in SECTORS_BYTES,
            f"sectors of {self.sector_bytes} bytes cannot be",
            "give 512 or 4096",
        )
        self._refuse_unless(
            0 < self.size_bytes <= SIZE_BYTES_MAX,
            f"a drive of {self.size_bytes} bytes cannot be",
            "give a size from 1 MiB to 8192 TiB",
        )
        self._refuse_unless(
            self.size_bytes % self.sector_bytes == 0,
            f"{self.size_bytes} bytes are not a multiple of the sector, {self.sector_bytes} bytes",
            f"give {_whole(self.size_bytes, self.sector_bytes)}B",
        )
        self._refuse_unless(
            self.scale >= 1, f"a scale of {self.scale:g} divides nothing", "give 1 or more"
        )
        self._refuse_unless(
            0 <= self.seed <= SEED_MAX,
            f"{self.seed} cannot be a seed",
            f"give a whole number from 0 to {SEED_MAX}",
        )

    def on_wire(self) -> WireDriveSpec:
        """The same for the program, which works in a folder of its own: paths in full."""
        stem, backing = self.hlog_stem, self.backing
        in_full: dict[str, Any] = {
            "backing": InMemory() if backing is None else InFile(path=str(backing.absolute())),
            "hlog_stem": None if stem is None else str(stem.absolute()),
        }
        return WireDriveSpec(**vars(self) | in_full)

    def _refuse_unless(self, right: bool, problem: str, remedy: str) -> None:
        if not right:
            raise UserError(problem, where=f"drive {self.name}", remedy=remedy)


def check_name(name: str) -> None:
    """Raise UserError for what cannot be the name of a drive."""
    if not NAME.fullmatch(name):
        raise UserError("this cannot be the name of a drive", where=repr(name), remedy=NAME_RULE)


def _whole(size_bytes: int, sector_bytes: int) -> int:
    """The nearest size below that is a whole number of sectors, or one sector."""
    return max(size_bytes // sector_bytes, 1) * sector_bytes
