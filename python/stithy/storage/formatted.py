"""Volumes on block devices: a file system is made, mounted and marked; and it goes with its run.

All that gives a volume a block device shares this: what is made is recorded before, and mounted in
a folder of Stithy's own that the server's user can enter.
"""

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stithy.drives import filesystems
from stithy.errors import PreconditionError
from stithy.hosts.here import LocalMachine
from stithy.hosts.processes import own_identity
from stithy.hosts.runner import Runner
from stithy.needs import Need
from stithy.storage.consent import EDGE_BYTES, Mark, write_mark
from stithy.storage.provider import Record, Volume
from stithy.storage.volume import describe

PLACES = (Path("/run"), Path("/tmp"), Path("/var/tmp"))
PREFIX = "stithy-drives-"
MOUNT_OPTIONS = ("noatime",)
"""Else the first read of each restored file would write, in the first window more than later.
"""


def fresh_place() -> Path:
    """A folder for mount points that no run had before; it is not made."""
    place = next((each for each in PLACES if os.access(each, os.W_OK | os.X_OK)), PLACES[-1])
    return place / f"{PREFIX}{secrets.token_hex(4)}"


def need_rights(rights: Sequence[Need], what: str, where: str, instead: str) -> None:
    """Raise PreconditionError where this machine or user lacks one of the rights for `what`."""
    here = LocalMachine()
    for need in rights:
        if (judged := need.judge(here)).state == "missing":
            raise PreconditionError(
                f"{what} need {judged.what}, for {need.why}: {judged.found}",
                where=where,
                remedy=f"{judged.remedy}, {instead}",
            )


@dataclass(frozen=True)
class MadeOn:
    """What a volume is made on: the device to be mounted, and all those of its file system.

    `made`: the file system is there already; `uuid` is the identifier that it is to have otherwise.
    """

    device: str
    filesystem: str
    members: tuple[str, ...] = ()
    made: bool = False
    uuid: str | None = None


def volume_on(
    found: MadeOn, point: Path, run_id: str, record: Record, runner: Runner | None
) -> Volume:
    """The volume of this run on a device, mounted at `point`, which is made."""
    record("directory", {"path": str(point), "run_id": run_id})
    point.mkdir(mode=0o755)
    if not found.made:
        filesystems.make(found.device, found.filesystem, uuid=found.uuid, runner=runner)
    devices = " ".join(found.members or (found.device,))
    record("mount", {"path": str(point), "device": devices})
    filesystems.mount(found.device, point, found.filesystem, options=MOUNT_OPTIONS, runner=runner)
    # The server's user must be able to go through it, whatever the caller's umask is.
    point.chmod(0o755)
    record("mark", {"path": str(point), "run_id": run_id})
    write_mark(point, Mark(run_id, True, own_identity()))
    return describe(point)


def keep_mark(point: Path, run_id: str) -> None:
    """Leave the mark without a living owner, which means kept."""
    write_mark(point, Mark(run_id, True, None))


def raw_volume(device: Path) -> Volume:
    """The volume that is a block device without a file system."""
    return replace(describe(device), filesystem="none", mount_options="", raw=True)


def erase_own(device: Path, uuid: str) -> None:
    """Leave a device empty on which Stithy made a file system with this identifier.

    Nothing is done where the device has gone or holds anything else. Raises OSError where something
    uses it.
    """
    if device.is_block_device() and filesystems.uuid_on(str(device.resolve())) == uuid:
        erase_ends(device)


def held_alone(device: Path) -> int:
    """A descriptor of a device that nothing else uses, and can use while it is open.

    Raises OSError while something does: a mount, an array, another such descriptor.
    """
    return os.open(device, os.O_RDWR | os.O_EXCL)


def erase_ends(device: Path) -> None:
    """Write zeros to both ends of a device, where signatures lie. Raises OSError while in use."""
    descriptor = held_alone(device)
    try:
        end = os.lseek(descriptor, 0, os.SEEK_END)
        for begin in (0, max(0, end - EDGE_BYTES)):
            os.pwrite(descriptor, bytes(min(EDGE_BYTES, end)), begin)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
