"""The interface of a storage provider: from a candidate's few lines to volumes and back to nothing.

A provider is one module in `providers/` with `NAME`, `Spec` (a pydantic model of the candidate's
mapping in the study file), `NEEDS` and `create(spec, candidate)`, which returns a `Provider`. It
may have `likely_memory_backed(spec)` and `overlap(spec, spec)`, which judge by the study's lines
alone: a volume in memory, two candidates in the same place.
`Spec` imports only pydantic and `stithy.units`: a study is read without touching the machine.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Needs:
    """What a provider asks of the machine; shown by messages and `doctor`."""

    root: bool
    why: str


@dataclass(frozen=True)
class Volume:
    """A directory on a candidate's storage that belongs to this run alone.

    `memory_backed`: its pages are memory (tmpfs), so that a memory limit must grow by its size.
    `devices`: block devices under it, by kernel name, as in /proc/diskstats; empty if none.
    """

    path: Path
    filesystem: str
    mount_point: Path
    mount_options: str
    devices: tuple[str, ...]
    memory_backed: bool


@dataclass(frozen=True)
class Room:
    """Room on the file system of a volume to be; volumes with equal `filesystem_id` share it."""

    filesystem_id: str
    free_bytes: int
    memory_backed: bool
    mount_point: Path


Record = Callable[[str, dict[str, str]], None]
"""Writes to the journal, durably, what is about to be made: a kind and its facts."""


class Provider(Protocol):
    """One candidate's storage."""

    def check(self) -> None:
        """Raise PreconditionError if this cannot work; changes nothing."""
        ...

    def place(self) -> Path:
        """The directory that the volume will be, links resolved."""
        ...

    def room(self) -> Room:
        """How much can be written; the caller sums up what shares a file system."""
        ...

    def left_by(self) -> str | None:
        """The id of the dead run that left something here, to be cleaned first; None if none."""
        ...

    def provision(self, run_id: str, record: Record) -> Volume:
        """Make the volume; everything made is told to `record` before it is made."""
        ...

    def keep(self) -> None:
        """The run ends but the volume stays in use, until `stithy clean`."""
        ...

    def release(self) -> None:
        """Give up what this process holds to keep others out. Idempotent."""
        ...
