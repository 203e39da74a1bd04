"""Volumes on block devices: built, mounted and marked; and they go with their run.

All that gives a volume a block device shares this: what is made is recorded before, and mounted in
a folder of Stithy's own that the server's user can enter.
"""

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import uuid4

from stithy.drives import filesystems
from stithy.errors import PreconditionError
from stithy.hosts.devices import list_devices_under
from stithy.hosts.host import LocalHost
from stithy.hosts.processes import get_identity
from stithy.hosts.runner import LocalRunner, Runner
from stithy.needs import Need
from stithy.storage import provider
from stithy.storage.consent import EDGE_BYTES, DirectoryMark, read_content, write_mark
from stithy.storage.layer import BuildTask, Layer
from stithy.storage.provider import Array, Record, Site, Storage, Volume
from stithy.storage.volume import describe

PLACES = (Path("/run"), Path("/tmp"), Path("/var/tmp"))
PREFIX = "stithy-drives-"
MOUNT_OPTIONS = ("noatime",)
"""Else the first read of each restored file would write, in the first window more than later.
"""


def need_rights(rights: Sequence[Need], what: str, where: str, instead: str) -> None:
    """Raise PreconditionError where this machine or user lacks one of the rights for `what`."""
    here = LocalHost()
    for need in rights:
        if (judged := need.judge(here)).state == "missing":
            raise PreconditionError(
                f"{what} need {judged.what}, for {need.why}: {judged.found}",
                where=where,
                remedy=f"{judged.remedy}, {instead}",
            )


class MadeAnew(Storage):
    """What providers share whose volumes are made for a run, and go with it.

    Whatever is made has a name that no run had before. What serves it goes on until it is told to
    end, and nothing is held by this process.
    """

    def __init__(self, candidate: str, site: Site) -> None:
        self._candidate = candidate
        self._where = f"candidate {candidate}"
        self._site = site
        open_places = (folder for folder in PLACES if os.access(folder, os.W_OK | os.X_OK))
        # A folder for mount points that no run had before; it is not made.
        self._place = next(open_places, PLACES[-1]) / f"{PREFIX}{secrets.token_hex(4)}"

    def place(self) -> Path:
        """The folder that holds the mount points."""
        return self._place

    def _make_place(self, run_id: str, record: Record) -> None:
        record("directory", {"path": str(self._place), "run_id": run_id})
        self._place.mkdir(mode=0o755)
        self._place.chmod(0o755)


@dataclass(frozen=True)
class VolumeSpec:
    """What a volume is made of: devices that may be overwritten, a layer, a file system.

    Without a layer there is one device. `filesystem` is made on top, unless the layer brings its
    own. `identifier` is the UUID by which the devices are known afterwards. `whole`: the file
    system gives no block back to its device.
    """

    devices: tuple[str, ...]
    filesystem: str
    layer: Layer | None = None
    identifier: str = field(default_factory=lambda: str(uuid4()))
    whole: bool = False

    def check(self, where: str) -> None:
        """Raise PreconditionError where this machine cannot make it."""
        if self.layer is not None:
            what = f"volumes on the layer {self.layer.name}"
            need_rights(self.layer.needs, what, where, "or leave out `layer`")
        if not (self.raw or (self.layer and self.layer.filesystem)):
            filesystems.need_tools(self.filesystem)

    @property
    def raw(self) -> bool:
        """Whether nothing is made on it: the volume is the device."""
        return self.filesystem == provider.NO_FILE_SYSTEM


def build_volume(
    asked: VolumeSpec, point: Path, run_id: str, record: Record, runner: Runner
) -> Volume:
    """The volume of this run on devices, mounted at `point`, which is made; or the raw device."""
    device, layer = asked.devices[0], asked.layer
    if not asked.raw:
        record("directory", {"path": str(point), "run_id": run_id})
        point.mkdir(mode=0o755)
    if layer is not None:
        task = BuildTask(asked.identifier, run_id, record, runner)
        device = layer.spec.build(asked.devices, task)
    if asked.raw:
        found = describe(Path(device).resolve())
        unmounted = replace(found, filesystem=asked.filesystem, mount_options="", raw=True)
        return replace(unmounted, array=_describe_array(asked))
    kind = (layer.filesystem if layer else None) or asked.filesystem
    if layer is None or layer.filesystem is None:
        kept = filesystems.KINDS[kind].whole if asked.whole else ()
        filesystems.make(device, kind, uuid=asked.identifier, options=kept, runner=runner)
    every = " ".join(dict.fromkeys((device, *asked.devices)))
    record("mount", {"path": str(point), "device": every})
    options = (*MOUNT_OPTIONS, *(layer.spec.list_mount_options() if layer else ()))
    options += ("nodiscard",) if asked.whole else ()
    filesystems.mount(device, point, kind, options=options, runner=runner)
    # The server's user must be able to go through it, whatever the caller's umask is.
    point.chmod(0o755)
    record("mark", {"path": str(point), "run_id": run_id})
    write_mark(point, DirectoryMark(run_id, True, get_identity()))
    found = describe(point)
    # Of file systems with members, and of bridges, the kernel does not name what lies below.
    under = [name for each in asked.devices for name in list_devices_under(Path(each))]
    found = replace(found, devices=tuple(dict.fromkeys((*found.devices, *under))))
    return replace(found, array=_describe_array(asked))


def _describe_array(asked: VolumeSpec) -> Array | None:
    if asked.layer is None:
        return None
    names = tuple(Path(device).resolve().name for device in asked.devices)
    return Array(
        asked.layer.name, asked.layer.facts, names, asked.layer.spec.count_redundancy(len(names))
    )


CLAIM_AT_BYTES = 2**19
"""Where a claim lies: within what is zeroed when a device is left empty."""


def write_claim(device: Path, uuid: str) -> None:
    """Empty a device that may be overwritten, and write on it that this is Stithy's.

    A file system with this identifier is made over it. Whoever is killed meanwhile leaves one of
    both there. Raises OSError while the device is in use.
    """
    wipe_ends(device)
    descriptor = open_exclusively(device)
    try:
        os.pwrite(descriptor, _read_claim(uuid), CLAIM_AT_BYTES)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read_claim(uuid: str) -> bytes:
    """A whole sector of any device."""
    return f"Stithy makes a file system here: {uuid}".encode().ljust(4096, b"\0")


def erase_stithy_device(device: Path, uuid: str) -> None:
    """Leave a device empty on which Stithy made, or began, a file system with this identifier.

    Nothing is done where the device has gone or holds anything else. Raises OSError where something
    uses it.
    """
    if device.is_block_device() and _is_own(device, uuid):
        wipe_ends(device)


def _is_own(device: Path, uuid: str) -> bool:
    """By its identifier; or by the claim, while nothing known was made over it since."""
    real = device.resolve()
    if filesystems.read_tag(str(real), "UUID") == uuid:
        return True
    with device.open("rb", buffering=0) as file:
        file.seek(CLAIM_AT_BYTES)
        claimed = file.read(4096) == _read_claim(uuid)
    return claimed and not read_content(real, device, str(device), LocalRunner()).known


def open_exclusively(device: Path) -> int:
    """A descriptor of a device that nothing else uses, and can use while it is open.

    Raises OSError while something does: a mount, an array, another such descriptor.
    """
    return os.open(device, os.O_RDWR | os.O_EXCL)


def wipe_ends(device: Path) -> None:
    """Write zeros to both ends of a device, where signatures lie. Raises OSError while in use."""
    descriptor = open_exclusively(device)
    try:
        end = os.lseek(descriptor, 0, os.SEEK_END)
        for begin in (0, max(0, end - EDGE_BYTES)):
            os.pwrite(descriptor, bytes(min(EDGE_BYTES, end)), begin)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
