"""Where the parts of a candidate's database lie: all in one directory, or some on other volumes."""

from dataclasses import dataclass
from pathlib import Path

from stithy.storage.consent import DATA
from stithy.storage.provider import Role, Volume

LOG = "log"
TEMP = "temp"
"""The directories that hold a part of a database on a volume of its own."""


@dataclass(frozen=True)
class Parts:
    """The directories of a database; `log` and `temp` are None where they lie in `data`."""

    data: Path
    log: Path | None
    temp: Path | None


def parts_of(volume: Volume) -> Parts:
    """Where the parts of the database of the candidate with this volume lie, or are to be made."""
    return Parts(volume.path / DATA, _own(volume, "log", LOG), _own(volume, "temp", TEMP))


def _own(volume: Volume, role: Role, name: str) -> Path | None:
    other = volume.others.get(role)
    return None if other is None else other.path / name
