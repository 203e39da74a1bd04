"""Faults of a volume: its file system runs full, or its quota is reached."""

import gzip
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stithy.errors import convert_machine_failures
from stithy.scenarios.failure.fault import Target
from stithy.scenarios.failure.faults.drives import OUTAGE, OutageFault
from stithy.storage.provider import NO_FILE_SYSTEM
from stithy.storage.providers.drive import DriveKeys

if TYPE_CHECKING:
    from stithy.study.model import Study

FILLER = "stithy-fills-this"
PIECE_BYTES, PIECE_BYTES_LEAST = 2**30, 2**12
BTRFS = "btrfs"
QUOTA_OPTIONS = {"ext4": "CONFIG_QFMT_V2", "xfs": "CONFIG_XFS_QUOTA"}
"""What kernels with quotas of a file system are built with. Source: super.c of ext4 and of XFS."""

KERNEL_OPTIONS = Path("/proc/config.gz")
FOREIGN = "its file system may be somebody's: Stithy fills only what it made on its drives"


class FullStorage(OutageFault):
    """A file takes all room of the data's volume, until it is removed."""

    name = "storage-full"
    text = "a full volume"
    explains = OUTAGE
    rank = 2

    def explain_refusal(self, study: "Study", candidate: str, keys: Any) -> str | None:
        """Refuse a volume on which others may have files."""
        filesystem = find_filesystem(study, candidate)
        return FOREIGN if filesystem in (None, NO_FILE_SYSTEM) else None

    def inject(self, target: Target, keys: Any) -> None:
        """Fill it, also with what is reserved for root, as whom a database may run."""
        folder = target.volume.path
        with convert_machine_failures(str(folder)):
            space = os.statvfs(folder)
            fill_file(folder / FILLER, space.f_bfree * space.f_frsize)

    def heal(self, target: Target, keys: Any) -> None:
        """Remove the file, and start a server that has ended over it."""
        with convert_machine_failures(str(target.volume.path)):
            (target.volume.path / FILLER).unlink(missing_ok=True)
        super().heal(target, keys)


class ReachedQuota(OutageFault):
    """The quota of the data's volume is what its files take, until it is lifted."""

    name = "quota-reached"
    text = "a quota that is reached"
    explains = OUTAGE
    rank = 2

    def explain_refusal(self, study: "Study", candidate: str, keys: Any) -> str | None:
        """Refuse a volume that is not Stithy's, and one whose quotas need another mount."""
        filesystem = find_filesystem(study, candidate)
        if filesystem is None:
            return FOREIGN
        return None if filesystem == BTRFS else explain_no_quota(filesystem)

    def inject(self, target: Target, keys: Any) -> None:
        """Limit it to what it holds: nothing can be written, as each write takes new room."""
        from stithy.storage.layers.btrfs import use_up_quota

        use_up_quota(target.volume.path, target.context.session.host.runner)

    def heal(self, target: Target, keys: Any) -> None:
        """Lift the limit, and start a server that has ended over it."""
        from stithy.storage.layers.btrfs import lift_quota

        lift_quota(target.volume.path, target.context.session.host.runner)
        super().heal(target, keys)


def find_filesystem(study: "Study", candidate: str) -> str | None:
    """Find what file system Stithy makes for the data; None: it may be somebody's."""
    spec = study.candidates[candidate].spec
    if not isinstance(spec, DriveKeys):
        return None
    layer = spec.layer.filesystem if spec.layer else None
    return layer or spec.filesystem


def explain_no_quota(filesystem: str, options: Path = KERNEL_OPTIONS) -> str:
    """Say why the quota of another file system than btrfs is not reached, as far as one knows.

    Not every kernel tells its options.
    """
    begin, option = f"its file system is {filesystem}", QUOTA_OPTIONS.get(filesystem)
    with suppress(OSError):
        if option and f"\n{option}=" not in gzip.decompress(options.read_bytes()).decode():
            return f"{begin}, of which this kernel has no quotas ({option})"
    return f"{begin}: only quotas of btrfs begin while it is in use"


def fill_file(file: Path, wanted_bytes: int) -> None:
    """Make a file of that size, or as large as there is room; nothing is written into it.

    A file system takes some of the room for itself, so that the last pieces become small.
    """
    descriptor = os.open(file, os.O_CREAT | os.O_WRONLY, 0o600)
    try:
        held, piece = 0, PIECE_BYTES
        while held < wanted_bytes and piece >= PIECE_BYTES_LEAST:
            size = min(piece, wanted_bytes - held)
            try:
                os.posix_fallocate(descriptor, held, size)
                held += size
            except OSError:
                piece //= 2
    finally:
        os.close(descriptor)


PLUGINS = (FullStorage(), ReachedQuota())
