"""What file systems leave of a block device for files: estimates on the safe side.

Imports nothing: the keys of a study are checked with it.
"""

from collections.abc import Mapping
from typing import Literal

MIB = 2**20
DEVICE_BYTES_MIN = 64 * MIB
USABLE_SHARE = 0.9
"""What a file system leaves of a device for files; ext4 and XFS take 2 % to 6 % of a small one.
"""

OVERHEAD_BYTES: Mapping[str, int] = {"ext4": 192 * MIB, "xfs": 192 * MIB, "btrfs": 512 * MIB}
"""Journals, and for btrfs chunks of metadata that it keeps twice. What other layers are, as file
systems, take is in their `capacity_bytes`."""

FileSystem = Literal["ext4", "xfs", "btrfs", "none"]
"""`none` stands in a study for a block device that is used as it is."""

NO_FILE_SYSTEM = "none"


def usable_bytes(filesystem: str, device_bytes: int) -> int:
    """How much of a device files may take, bytes."""
    if filesystem == NO_FILE_SYSTEM:
        return device_bytes
    return max(0, round(device_bytes * USABLE_SHARE) - OVERHEAD_BYTES.get(filesystem, 0))


def device_bytes(filesystem: str, needed_bytes: int) -> int:
    """How large a device is on which files of `needed_bytes` have room, bytes; whole MiB."""
    overhead = OVERHEAD_BYTES.get(filesystem, 0)
    share = 1.0 if filesystem == NO_FILE_SYSTEM else USABLE_SHARE
    wanted = round((needed_bytes + overhead) / share)
    return max(DEVICE_BYTES_MIN, -(-wanted // MIB) * MIB)
