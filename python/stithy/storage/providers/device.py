"""Whole block devices or partitions that are there, on which Stithy makes a file system of its own.

What they held is gone afterwards. That needs the person's consent (`stithy.storage.consent`), which
is asked for in a plan and once more when they are used. When the run ends they are left empty, but
for those that got no file system.
"""

import os
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from stithy.drives import filesystems
from stithy.errors import PreconditionError, UserError, give_reason
from stithy.hosts.devices import list_mounts
from stithy.needs import Need, ProgramNeed, Root
from stithy.storage import consent, formatted, provider
from stithy.storage.layer import Layer, OneLayer, check_members
from stithy.storage.provider import Provider, Record, Room, Site, Volume
from stithy.storage.space import Space, measure_space
from stithy.units import FrozenModel, format_size, make_rule_error

RIGHTS: tuple[Need, ...] = (Root(why="making file systems on devices and mounting them"),)
NEEDS: tuple[Need, ...] = (
    *RIGHTS,
    ProgramNeed(
        name="wipefs",
        package=filesystems.UTILITIES,
        asked=("--version",),
        why="seeing what a device holds before it is overwritten",
    ),
    *filesystems.list_needs(usual="ext4"),
)
INSTEAD = "or name a directory on it, which needs no rights, with `path`"
SECTOR_BYTES = 512
"""The unit of `size` in /sys, whatever the device's own sectors are.
Source: block/genhd.c of the kernel."""


def read_nodes(value: Any) -> tuple[Path, ...]:
    """One device, or several different ones."""
    given = value if isinstance(value, list | tuple) else [value]
    named = tuple(Path(name) for name in given if isinstance(name, str | Path))
    are_nodes = (
        path.is_relative_to("/dev") and path != Path("/dev") and str(path).isprintable()
        for path in named
    )
    if len(named) < len(given) or not all(are_nodes):
        right = "its path in full, such as /dev/disk/by-id/nvme-Example_S1234"
        raise make_rule_error("not a block device", right)
    if not named or len(set(named)) < len(named):
        raise make_rule_error("not a list of devices", "name at least one, and each once")
    return named


_NODES = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}


class DeviceSpec(FrozenModel):
    """A candidate of whole block devices or partitions. All that they hold is lost."""

    device: Annotated[
        tuple[Path, ...],
        BeforeValidator(read_nodes),
        PlainSerializer(lambda nodes: str(nodes[0]) if len(nodes) == 1 else [*map(str, nodes)]),
        WithJsonSchema(_NODES),
    ] = Field(
        description=(
            "The device, or a list of those that `layer` makes an array of. One that is not empty "
            "must be named in `/dev/disk/by-id` or `/dev/disk/by-partuuid`: other names may be "
            "another device's after a restart."
        ),
        examples=["/dev/disk/by-id/nvme-Example_S1234"],
    )
    layer: Annotated[Layer | None, OneLayer()] = Field(
        default=None,
        json_schema_extra={"default": "none"},
        description="The array that makes one volume of the devices.",
    )
    wipe: bool = Field(
        default=False,
        description=(
            "Consent to lose all that the device holds. Without it only an empty device is used. "
            "A device that is mounted, or in use in another way, is never overwritten."
        ),
        examples=[True],
    )
    filesystem: provider.FileSystem = Field(
        default="ext4",
        description=(
            "The file system that Stithy makes on it; `none` for the device as it is, which no "
            "database can use."
        ),
        examples=["btrfs"],
    )

    @model_validator(mode="after")
    def _check_layer(self) -> Self:
        asked = self.filesystem if "filesystem" in self.model_fields_set else None
        check_members(self.layer, len(self.device), asked, "device")
        return self

    @property
    def is_raw(self) -> bool:
        """Whether the volume is a block device without a file system."""
        return self.filesystem == provider.NO_FILE_SYSTEM


class DeviceStorage(formatted.MadeAnew):
    """One candidate's devices."""

    def __init__(self, spec: DeviceSpec, candidate: str, site: Site) -> None:
        super().__init__(candidate, site)
        self._spec = spec
        self._runner = site.runner
        self._run_id: str | None = None
        self._held: int | None = None

    def place(self) -> Path:
        """Where it will be mounted; the device itself where it gets no file system."""
        return self._spec.device[0].resolve() if self._spec.is_raw else self._place

    def check(self) -> None:
        formatted.need_rights(RIGHTS, "devices", self._where, INSTEAD)
        self._make_volume_spec().check(self._where)
        if len({device.resolve() for device in self._spec.device}) < len(self._spec.device):
            raise PreconditionError(
                "two of its devices are the same one by two names",
                where=self._where,
                remedy="name each device once",
            )
        if self.find_dead_run() is None:  # what a dead run left is removed before this one begins
            self._require_consent()

    def list_rooms(self) -> tuple[Room, ...]:
        """What files may take, said of the first device; no device is anybody else's."""
        spec, bytes_by_device = self._spec, list(self._sizes_bytes.values())
        usable = (
            provider.count_usable_bytes(spec.filesystem, bytes_by_device[0])
            if spec.layer is None
            else spec.layer.count_usable_bytes(spec.filesystem, bytes_by_device)
        )
        return tuple(
            Room(
                filesystem_id=f"device {device.resolve()}",
                free_bytes=usable,
                memory_backed=False,
                mount_point=device,
                takes_bytes=None if place == 0 else 0,
                exclusive=True,
            )
            for place, device in enumerate(spec.device)
        )

    def list_cautions(self) -> tuple[str, ...]:
        contents = {} if self.find_dead_run() is not None else self._require_consent()
        layer = self._spec.layer.spec.list_cautions() if self._spec.layer else ()
        return *(f"{self._where}: {caution}" for caution in layer), *(
            f"{self._where}: everything on {device} ({format_size(self._sizes_bytes[device])}) "
            f"will be lost: it holds {content}"
            for device, content in contents.items()
            if not content.is_empty
        )

    def describe_identity(self) -> str | None:
        """Sizes, and serial numbers or WWNs: they do not change with the content."""
        known = []
        for device in (each.resolve() for each in self._spec.device):
            if not device.is_block_device():  # `check` refuses it, and says why
                return None
            ids = consent.list_stable_ids(device, by_id=Path("/nowhere"))
            size = format_size(_read_size_bytes(device, self._where))
            known.append(", ".join([f"a device of {size}", *ids]))
        return "; ".join(known)

    def find_dead_run(self) -> str | None:
        devices = {str(device.resolve()) for device in self._spec.device}
        marks = [
            consent.read_mark(mount.point) for mount in list_mounts() if mount.source in devices
        ]
        return next((mark.run_id for mark in marks if mark and not mark.is_in_use), None)

    def provision(self, run_id: str, record: Record) -> Volume:
        self._require_consent()
        self._run_id = run_id
        asked = self._make_volume_spec()
        if self._spec.is_raw:
            if self._spec.layer or not self._site.as_found:
                for each in self._spec.device:
                    formatted.wipe_ends(each.resolve())
            volume = formatted.build_volume(asked, self._place, run_id, record, self._runner)
            self._held = formatted.open_exclusively(volume.path)
            return volume
        for device in self._spec.device:
            record("formatted", {"device": str(device), "uuid": asked.identifier})
            formatted.write_claim(device.resolve(), asked.identifier)
        return formatted.build_volume(asked, self._place, run_id, record, self._runner)

    def measure_space(self, volume: Volume) -> Space:
        return measure_space(volume, self._runner, devices_bytes=tuple(self._sizes_bytes.values()))

    def keep(self) -> None:
        """Leave the mark without a living owner, which means kept."""
        if self._run_id is not None and not self._spec.is_raw:
            consent.write_mark(self._place, consent.DirectoryMark(self._run_id, True, None))

    def release(self) -> None:
        """Let others have a device without a file system; one that is mounted keeps them out."""
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def _make_volume_spec(self) -> formatted.VolumeSpec:
        devices = tuple(str(device.resolve()) for device in self._spec.device)
        return formatted.VolumeSpec(devices, self._spec.filesystem, self._spec.layer)

    def _require_consent(self) -> dict[Path, consent.Content]:
        """What is lost of each. Raises PreconditionError where that is not allowed."""
        return {
            device: consent.may_format(device, self._where, self._runner, wipe=self._spec.wipe)
            for device in self._spec.device
        }

    @cached_property
    def _sizes_bytes(self) -> dict[Path, int]:
        return {
            device: _read_size_bytes(device.resolve(), self._where) for device in self._spec.device
        }


def _read_size_bytes(device: Path, where: str) -> int:
    try:
        text = (Path("/sys/class/block") / device.name / "size").read_text()
    except OSError as error:
        raise PreconditionError(
            f"the size of {device} is not known: {give_reason(error)}",
            where=where,
            remedy="list the devices that are there: ls -l /dev/disk/by-id",
        ) from error
    return int(text) * SECTOR_BYTES


class DeviceProvider(Provider):
    """Block devices that are there."""

    name = "device"
    needs = NEEDS
    spec = DeviceSpec
    handlers: ClassVar = {
        "formatted": lambda facts: formatted.erase_stithy_device(
            Path(facts["device"]), facts["uuid"]
        )
    }

    def create(self, spec: DeviceSpec, candidate: str, site: Site) -> DeviceStorage:
        return DeviceStorage(spec, candidate, site)

    def has_block_device(self, spec: DeviceSpec) -> bool:
        return spec.is_raw

    def is_overlapping(self, spec: DeviceSpec, other: DeviceSpec) -> bool:
        """Whether, by their names alone, they have a device or a part of one in common."""
        return any(
            a == b or b.startswith(f"{a}-part") or a.startswith(f"{b}-part")
            for a in map(str, spec.device)
            for b in map(str, other.device)
        )

    def make_like(self, spec: DeviceSpec, ending: str) -> DeviceSpec:
        raise UserError(
            "a device cannot be compared with itself: two candidates would share it",
            where="--null",
            remedy="put a directory or an emulated drive first among the candidates",
        )


PLUGINS = (DeviceProvider(),)
