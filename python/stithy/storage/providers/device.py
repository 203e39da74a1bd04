"""A whole block device or partition that is there: a file system of Stithy's own is made on it.

What it held is gone afterwards. That needs the person's consent (`stithy.storage.consent`), which
is asked for in a plan and once more when it is used. When the run ends the device is left empty.
"""

import os
import uuid
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from stithy.drives import filesystems
from stithy.errors import PreconditionError
from stithy.hosts.devices import mounts
from stithy.hosts.runner import LocalRunner, Runner
from stithy.needs import Need, Program, Root
from stithy.storage import sizes
from stithy.storage.consent import Content, may_format, read_mark, stable_ids
from stithy.storage.formatted import (
    MadeOn,
    erase_ends,
    erase_own,
    fresh_place,
    held_alone,
    keep_mark,
    need_rights,
    raw_volume,
    volume_on,
)
from stithy.storage.provider import Record, Room, Site, Volume
from stithy.units import format_size

NAME = "device"
RIGHTS: tuple[Need, ...] = (Root(why="making file systems on devices and mounting them"),)
NEEDS: tuple[Need, ...] = (
    *RIGHTS,
    Program(
        name="wipefs",
        package=filesystems.UTILITIES,
        asked=("--version",),
        why="seeing what a device holds before it is overwritten",
    ),
    *filesystems.needs(usual="ext4"),
)
INSTEAD = "or name a directory on it, which needs no rights, with `path`"
SECTOR_BYTES = 512
"""The unit of `size` in /sys, whatever the device's own sectors are.
Source: block/genhd.c of the kernel."""


def _node(path: Path) -> Path:
    if not path.is_relative_to("/dev") or path == Path("/dev") or not str(path).isprintable():
        context = {
            "what": "not a block device",
            "right": "its path in full, such as /dev/disk/by-id/nvme-Example_S1234",
        }
        raise PydanticCustomError("device", "{what}: {right}", context)
    return path


class Spec(BaseModel):
    """A candidate that is a whole block device or partition. All that it holds is lost."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    device: Annotated[Path, AfterValidator(_node)] = Field(
        description=(
            "The device. One that is not empty must be named in `/dev/disk/by-id` or "
            "`/dev/disk/by-partuuid`, because other names may be another device's after a restart."
        ),
        examples=["/dev/disk/by-id/nvme-Example_S1234"],
    )
    wipe: bool = Field(
        default=False,
        description=(
            "Consent to lose all that the device holds. Without it only an empty device is used. "
            "A device that is mounted, or in use in another way, is never overwritten."
        ),
        examples=[True],
    )
    filesystem: sizes.FileSystem | Literal["none"] = Field(
        default="ext4",
        description=(
            "The file system that Stithy makes on it; `none` for the device as it is, which no "
            "database can use."
        ),
        examples=["xfs"],
    )


def raw(spec: Spec) -> bool:
    """Whether the volume is a block device without a file system."""
    return spec.filesystem == sizes.NO_FILE_SYSTEM


def overlap(one: Spec, other: Spec) -> bool:
    """Whether, by their names alone, one is the other or a partition of it."""
    first, second = str(one.device), str(other.device)
    return first == second or f"{first}-part" in second or f"{second}-part" in first


class DeviceProvider:
    """One candidate's device."""

    def __init__(self, spec: Spec, candidate: str, runner: Runner) -> None:
        """Nothing is asked of the machine yet."""
        self._spec = spec
        self._where = f"candidate {candidate}"
        self._runner = runner
        self._point = fresh_place()
        self._run_id: str | None = None
        self._held: int | None = None

    def place(self) -> Path:
        """Where it will be mounted; the device itself where it gets no file system."""
        return self._spec.device.resolve() if raw(self._spec) else self._point

    def check(self) -> None:
        """Raise PreconditionError for a device that may not be overwritten."""
        need_rights(RIGHTS, "devices", self._where, INSTEAD)
        if not raw(self._spec):
            filesystems.need_tools(self._spec.filesystem)
        if self.left_by() is None:  # what a dead run left is removed before this one begins
            self._consent()

    def rooms(self) -> tuple[Room]:
        """What files may take of the device, which is nobody else's."""
        usable = sizes.usable_bytes(self._spec.filesystem, self._size_bytes)
        return (
            Room(
                filesystem_id=f"device {self._spec.device.resolve()}",
                free_bytes=usable,
                memory_backed=False,
                mount_point=self._spec.device,
                exclusive=True,
            ),
        )

    def cautions(self) -> tuple[str, ...]:
        """What the device holds, which will be lost."""
        if self.left_by() is not None:
            return ()
        content = self._consent()
        if content.is_empty:
            return ()
        size = format_size(self._size_bytes)
        return (
            f"{self._where}: everything on {self._spec.device} ({size}) will be lost: it holds "
            f"{content}",
        )

    def fingerprint(self) -> str | None:
        """The device's size, and its serial number or WWN: neither changes with its content."""
        device = self._spec.device.resolve()
        if not device.is_block_device():  # `check` refuses it, and says why
            return None
        ids = stable_ids(device, by_id=Path("/nowhere"))
        return ", ".join([f"a device of {format_size(self._size_bytes)}", *ids])

    def asked_times_s(self) -> dict[tuple[str, str], float]:
        """None: it takes its own."""
        return {}

    def left_by(self) -> str | None:
        """The dead run that mounted it."""
        device = str(self._spec.device.resolve())
        marks = [read_mark(each.point) for each in mounts() if each.source == device]
        return next((mark.run_id for mark in marks if mark and not mark.in_use), None)

    def survives(self, run_id: str) -> None:
        """Never: its file system is made anew."""

    def provision(self, run_id: str, record: Record) -> Volume:
        """Make and mount the file system; or take the device as it is."""
        self._consent()
        self._run_id = run_id
        device = self._spec.device.resolve()
        if raw(self._spec):
            erase_ends(device)
            self._held = held_alone(device)
            return raw_volume(device)
        identifier = str(uuid.uuid4())
        record("formatted", {"device": str(self._spec.device), "uuid": identifier})
        found = MadeOn(str(device), self._spec.filesystem, uuid=identifier)
        return volume_on(found, self._point, run_id, record, self._runner)

    def keep(self) -> None:
        """Leave the mark without a living owner, which means kept."""
        if self._run_id is not None and not raw(self._spec):
            keep_mark(self._point, self._run_id)

    def release(self) -> None:
        """Let others have a device without a file system; one that is mounted keeps them out."""
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def _consent(self) -> Content:
        """What is lost. Raises PreconditionError where that is not allowed."""
        spec = self._spec
        return may_format(spec.device, self._where, self._runner, wipe=spec.wipe)

    @cached_property
    def _size_bytes(self) -> int:
        place = Path("/sys/class/block") / self._spec.device.resolve().name / "size"
        try:
            return int(place.read_text()) * SECTOR_BYTES
        except (OSError, ValueError) as error:
            raise PreconditionError(
                f"the size of {self._spec.device} is not known: {error}",
                where=self._where,
                remedy="list the devices that are there: ls -l /dev/disk/by-id",
            ) from error


def _erase(facts: Mapping[str, str]) -> None:
    erase_own(Path(facts["device"]), facts["uuid"])


HANDLERS = {"formatted": _erase}


def create(spec: Spec, candidate: str, site: Site | None = None) -> DeviceProvider:
    """The provider of one candidate."""
    return DeviceProvider(spec, candidate, site.runner if site else LocalRunner())
