"""An empty drive takes the place of a lost one, in an array that rebuilds itself."""

from typing import TYPE_CHECKING

from stithy.drives.control import Control, DriveSpec, add_devices
from stithy.registry import plugins
from stithy.scenarios.failure.fault import Target
from stithy.storage.layer import LayerKind
from stithy.units import format_size

if TYPE_CHECKING:
    from stithy.storage.provider import EmulatedDrive


def replace_drive(target: Target, lost: "EmulatedDrive", number: int) -> str:
    """Bring up an empty drive like `lost`, and rebuild the array on it; say what was written.

    `number`: the lost one's in the array, from 1. The new one goes with the volume, which is made
    anew afterwards.
    """
    volume, session = target.volume, target.context.session
    assert volume.array is not None  # a single drive has nothing to be rebuilt from
    exchange = plugins(LayerKind)[volume.array.layer].exchange
    assert exchange is not None  # the plan refuses others
    control, name = Control(lost.control), f"{lost.name}-spare"
    ready = control.add_drive(
        DriveSpec(
            name=name, profile=lost.profile, size_bytes=lost.size_bytes,
            sector_bytes=lost.sector_bytes, scale=lost.scale, seed=(lost.seed + 1) % 2**64,
            transport_s=lost.transport_s, spin_s=lost.spin_s,
        )
    )  # fmt: skip
    add_devices(lost.control.parent, (ready.device,))
    every = " ".join((*(drive.device for drive in volume.emulated), ready.device))
    session.books.recorder(target.candidate)("mount", {"path": str(volume.path), "device": every})
    exchange(volume.path, number, ready.device, session.host.runner)
    written = next(
        operation.moved_bytes for operation in control.read_counters(name).operations
        if operation.name == "write"
    )  # fmt: skip
    return f"{format_size(written)} rebuilt"
